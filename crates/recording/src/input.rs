//! The blocks of a file, checked and decompressed. A damaged one is passed over.

use std::io::Read;

use zstd::bulk::Decompressor;
use zstd::zstd_safe::compress_bound;

use super::wire::{FRAME, MAGIC, PREAMBLE};
use super::{Error, MAX_BLOCK, OLDEST, VERSION};
use strata_model::units::Bytes;

/// How a zstd frame begins.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Bytes that are read at a time when a block is looked for.
const CHUNK: u64 = 64 << 10;
/// Places that look like a block and are none, before no further one is tried. Chance makes hardly one, and each may take as
/// long as [`MAX_BLOCK`] does.
const MOST_TRIED: u32 = 32;

/// A block as the file has it.
pub(super) enum Frame {
    /// Decompressed.
    Complete(Vec<u8>),
    /// The file ends before the block does; what is missing.
    Cut(String),
    /// Its lengths, checksum or compression are wrong, and how.
    Damaged(String),
}

/// The file, and how much of it has been read.
pub(super) struct Input<R> {
    input: R,
    /// Bytes that were read and given back.
    ahead: Vec<u8>,
    /// Byte at which the next read begins.
    pub offset: u64,
    /// Number of the next block.
    pub block: u64,
    /// Byte at which the last whole block began.
    pub begin: u64,
}

impl<R: Read> Input<R> {
    pub fn new(input: R) -> Self {
        Input { input, ahead: Vec::new(), offset: 0, block: 0, begin: 0 }
    }

    /// The next `count` bytes, fewer at the end of the file.
    pub fn bytes(&mut self, count: u64) -> Result<Vec<u8>, Error> {
        let known = self.ahead.len().min(usize::try_from(count).unwrap_or(usize::MAX));
        let after = self.ahead.split_off(known);
        let mut bytes = std::mem::replace(&mut self.ahead, after);
        let offset = self.offset + known as u64;
        let missing = count - known as u64;
        self.input.by_ref().take(missing).read_to_end(&mut bytes).map_err(|source| Error::Read { offset, source })?;
        self.offset += bytes.len() as u64;
        Ok(bytes)
    }

    /// Gives bytes back that were the last to be read.
    fn give_back(&mut self, mut bytes: Vec<u8>) {
        self.offset -= bytes.len() as u64;
        bytes.append(&mut self.ahead);
        self.ahead = bytes;
    }

    /// Reads the preamble, and gives the version of the format.
    pub fn preamble(&mut self) -> Result<u16, Error> {
        let bytes = self.bytes(PREAMBLE as u64)?;
        if bytes.is_empty() {
            return Err(Error::Empty);
        }
        let magic = bytes.len().min(MAGIC.len());
        if bytes[..magic] != MAGIC[..magic] {
            return Err(Error::NotARecording { hint: hint(&bytes) });
        }
        let Ok([.., low, high, r0, r1, r2, r3, r4, r5]) = <[u8; PREAMBLE]>::try_from(bytes) else {
            return Err(Error::NoHeader { length: self.offset });
        };
        match u16::from_le_bytes([low, high]) {
            version @ OLDEST..=VERSION if [r0, r1, r2, r3, r4, r5] == [0; 6] => Ok(version),
            OLDEST..=VERSION => {
                Err(Error::Damaged { block: 0, offset: 10, what: "the reserved bytes are not zero".into() })
            }
            found => Err(Error::Version { found }),
        }
    }

    /// The next block. Its lengths are checked before a byte of it is read. Of one that is not complete all bytes are given back.
    pub fn frame(&mut self) -> Result<Frame, Error> {
        let begin = self.offset;
        let frame = self.bytes(FRAME as u64)?;
        let (numbers, _) = frame.as_chunks::<4>();
        let &[packed, plain, crc] = numbers else {
            let reason = match frame.len() {
                0 => "the block that ends a recording is missing".into(),
                present => format!("{present} of the {FRAME} bytes before a block are there"),
            };
            self.give_back(frame);
            return Ok(Frame::Cut(reason));
        };
        let [packed, plain, crc] = [packed, plain, crc].map(u32::from_le_bytes);
        if let Some(what) = impossible(packed, plain) {
            self.give_back(frame);
            return Ok(Frame::Damaged(what));
        }
        let bytes = self.bytes(packed.into())?;
        let checked = if bytes.len() < packed as usize {
            Frame::Cut(format!("{} of the {packed} bytes of a block are there", bytes.len()))
        } else {
            content(&bytes, plain, crc)
        };
        if matches!(checked, Frame::Complete(_)) {
            self.begin = begin;
        } else {
            self.give_back([frame, bytes].concat());
        }
        Ok(checked)
    }

    /// Passes over what is damaged, and gives the next block that is whole; nothing, if there is none.
    pub fn next_whole(&mut self) -> Result<Option<Vec<u8>>, Error> {
        for _ in 0..MOST_TRIED {
            self.bytes(1)?;
            if !self.seek()? {
                return Ok(None);
            }
            if let Frame::Complete(plain) = self.frame()? {
                return Ok(Some(plain));
            }
        }
        Ok(None)
    }

    /// Reads to the end of the file.
    pub fn drain(&mut self) -> Result<(), Error> {
        while !self.bytes(CHUNK)?.is_empty() {}
        Ok(())
    }

    /// Goes to the next place that looks like a block, if there is one.
    fn seek(&mut self) -> Result<bool, Error> {
        loop {
            let missing = (FRAME + ZSTD.len()).saturating_sub(self.ahead.len()) as u64;
            if missing > 0 {
                let known = self.ahead.len() as u64;
                let more = self.bytes(known + missing.max(CHUNK))?;
                let is_end = more.len() as u64 <= known;
                self.give_back(more);
                if is_end {
                    return Ok(false);
                }
                continue;
            }
            let found = self.ahead[FRAME..].windows(ZSTD.len()).position(|window| window == ZSTD);
            // Where none is, the last bytes may be the first of one.
            let pass = found.unwrap_or(self.ahead.len() - FRAME - ZSTD.len() + 1);
            self.bytes(pass as u64)?;
            if found.is_some() {
                return Ok(true);
            }
        }
    }
}

/// What is wrong with the lengths of a block.
fn impossible(packed: u32, plain: u32) -> Option<String> {
    if plain as usize > MAX_BLOCK {
        let (claim, limit) = (Bytes(plain.into()), Bytes(MAX_BLOCK as u64));
        return Some(format!("it claims to hold {claim}, more than the {limit} allowed"));
    }
    (packed as usize > compress_bound(plain as usize))
        .then(|| format!("it claims {packed} bytes for a content of {plain}"))
}

/// What a block holds, or what is wrong with it.
fn content(bytes: &[u8], plain: u32, crc: u32) -> Frame {
    if crc32fast::hash(bytes) != crc {
        return Frame::Damaged("its checksum does not fit".into());
    }
    match Decompressor::new().and_then(|mut zstd| zstd.decompress(bytes, plain as usize)) {
        Ok(content) if content.len() == plain as usize => Frame::Complete(content),
        Ok(content) => Frame::Damaged(format!("it holds {} bytes and claims {plain}", content.len())),
        Err(error) => Frame::Damaged(format!("it does not decompress to the {plain} bytes it claims ({error})")),
    }
}

/// What a file without the magic bytes looks like.
fn hint(bytes: &[u8]) -> String {
    let text = bytes.trim_ascii_start();
    match bytes {
        _ if text.starts_with(b"{") || text.starts_with(b"[") => {
            "it looks like JSON, not like what `strata discover --record FILE` writes; `strata compare` takes JSON"
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "it is compressed by zstd; decompress it first, with `zstd -d`",
        [0x1f, 0x8b, ..] => "it is compressed by gzip; decompress it first, with `gunzip`",
        [b'P', b'K', 3, 4, ..] => "it is a zip archive; unpack it first",
        _ if bytes.windows(3).take(4).any(|w| w == b"STR") => {
            "it was changed by a transfer as text; copy it again, as binary"
        }
        _ => "it does not begin as one; `strata discover --record FILE` makes one",
    }
    .into()
}
