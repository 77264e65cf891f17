//! What device memory holds: pages that exist once they are written to. Memory that was never written reads as zero.

use rustc_hash::FxHashMap;

/// Bytes of a page.
const PAGE: u64 = 1 << 12;
/// Most memory that a simulated machine may have written to.
const MOST: u64 = 1 << 30;

/// The pages.
#[derive(Default)]
pub struct Memory {
    places: FxHashMap<u64, u32>,
    pages: Vec<Box<[u8]>>,
    free: Vec<u32>,
    /// The page that was used last.
    last: Option<(u64, u32)>,
}

/// More memory was written than a simulation may take.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

/// Up to eight bytes, little-endian, as a number.
#[inline]
pub(crate) fn word(bytes: &[u8]) -> u64 {
    // The lengths of nearly all accesses, so that they are one load each.
    if let Ok(eight) = <[u8; 8]>::try_from(bytes) {
        return u64::from_le_bytes(eight);
    }
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return u64::from(u32::from_le_bytes(four));
    }
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Puts the low bytes of a number, little-endian, where they belong.
#[inline]
pub(crate) fn put_word(place: &mut [u8], value: u64) {
    if let Ok(eight) = <&mut [u8; 8]>::try_from(&mut *place) {
        *eight = value.to_le_bytes();
    } else if let Ok(four) = <&mut [u8; 4]>::try_from(&mut *place) {
        *four = (value as u32).to_le_bytes();
    } else {
        place.iter_mut().zip(value.to_le_bytes()).for_each(|(byte, new)| *byte = new);
    }
}

impl Memory {
    #[inline]
    fn place(&mut self, number: u64) -> Option<u32> {
        if let Some((last, place)) = self.last
            && last == number
        {
            return Some(place);
        }
        let place = *self.places.get(&number)?;
        self.last = Some((number, place));
        Some(place)
    }

    /// Reads up to eight bytes, little-endian, from an address that is a multiple of their number.
    pub fn load(&mut self, address: u64, bytes: u8) -> u64 {
        let Some(place) = self.place(address / PAGE) else { return 0 };
        let at = (address % PAGE) as usize;
        word(&self.pages[place as usize][at..at + bytes as usize])
    }

    /// Bytes of one page, if they are there; none, if they are in several pages.
    pub fn row(&mut self, address: u64, bytes: usize) -> Option<&[u8]> {
        let at = (address % PAGE) as usize;
        let place = if at + bytes <= PAGE as usize { self.place(address / PAGE)? } else { return None };
        Some(&self.pages[place as usize][at..at + bytes])
    }

    /// Writes up to eight bytes, little-endian, to an address that is a multiple of their number.
    ///
    /// # Errors
    ///
    /// If that needs more memory than a simulation may take.
    pub fn store(&mut self, address: u64, bytes: u8, value: u64) -> Result<(), Full> {
        let (at, bytes) = ((address % PAGE) as usize, usize::from(bytes));
        match self.place(address / PAGE) {
            Some(place) if at + bytes <= PAGE as usize => {
                put_word(&mut self.pages[place as usize][at..at + bytes], value);
                Ok(())
            }
            _ => self.write(address, &value.to_le_bytes()[..bytes]),
        }
    }

    /// Writes bytes.
    ///
    /// # Errors
    ///
    /// As [`Memory::store`].
    pub fn write(&mut self, mut address: u64, mut data: &[u8]) -> Result<(), Full> {
        while !data.is_empty() {
            let at = (address % PAGE) as usize;
            let here = data.len().min(PAGE as usize - at);
            let place = match self.place(address / PAGE) {
                Some(place) => place,
                None => self.create(address / PAGE)?,
            };
            self.pages[place as usize][at..at + here].copy_from_slice(&data[..here]);
            data = &data[here..];
            address += here as u64;
        }
        Ok(())
    }

    fn create(&mut self, number: u64) -> Result<u32, Full> {
        let place = match self.free.pop() {
            Some(place) => {
                self.pages[place as usize].fill(0);
                place
            }
            None if (self.pages.len() as u64 + 1) * PAGE > MOST => return Err(Full),
            None => {
                self.pages.push(vec![0; PAGE as usize].into_boxed_slice());
                (self.pages.len() - 1) as u32
            }
        };
        self.places.insert(number, place);
        self.last = Some((number, place));
        Ok(place)
    }

    /// Reads bytes.
    pub fn read(&mut self, mut address: u64, mut data: &mut [u8]) {
        while !data.is_empty() {
            let at = (address % PAGE) as usize;
            let here = data.len().min(PAGE as usize - at);
            let (now, rest) = data.split_at_mut(here);
            match self.place(address / PAGE) {
                Some(place) => now.copy_from_slice(&self.pages[place as usize][at..at + here]),
                None => now.fill(0),
            }
            data = rest;
            address += here as u64;
        }
    }

    /// Sets bytes to zero; whole pages are given back.
    pub fn clear(&mut self, address: u64, bytes: u64) {
        let end = address + bytes;
        let (first, last) = (address.div_ceil(PAGE), end / PAGE);
        for number in first..last.max(first) {
            if let Some(place) = self.places.remove(&number) {
                self.free.push(place);
            }
        }
        self.last = None;
        let mut edge = |from: u64, to: u64| {
            if from < to && self.place(from / PAGE).is_some() {
                let place = self.place(from / PAGE).expect("there") as usize;
                let at = (from % PAGE) as usize;
                self.pages[place][at..at + (to - from) as usize].fill(0);
            }
        };
        if first > last {
            edge(address, end);
        } else {
            edge(address, first * PAGE);
            edge(last * PAGE, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_holds_what_was_written_last(
            steps in prop::collection::vec((0u64..5 * PAGE, 1u64..2 * PAGE, any::<u8>(), any::<bool>()), 1..20),
        ) {
            let mut memory = Memory::default();
            let mut model = vec![0u8; 8 * PAGE as usize];
            for (address, bytes, value, clears) in steps {
                let range = address as usize..(address + bytes) as usize;
                if clears {
                    memory.clear(address, bytes);
                    model[range].fill(0);
                } else {
                    memory.write(address, &vec![value; bytes as usize]).unwrap();
                    model[range].fill(value);
                }
            }
            let mut seen = vec![1u8; model.len()];
            memory.read(0, &mut seen);
            prop_assert!(seen == model);
        }
    }

    #[test]
    fn it_has_an_end() {
        let mut memory = Memory::default();
        let full = (0..).find(|&page| memory.store(page * PAGE, 8, 1).is_err());
        assert_eq!(full, Some(MOST / PAGE));
    }
}
