//! Values of a machine file, each with its range. An error names the line of a value out of range.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use strata_model::units::Bytes;

/// A whole number from `LOW` to `HIGH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Whole<const LOW: u64, const HIGH: u64>(u64);

impl<const LOW: u64, const HIGH: u64> Whole<LOW, HIGH> {
    /// The number, if it is in range.
    pub fn new(value: u64) -> Option<Self> {
        (LOW..=HIGH).contains(&value).then_some(Whole(value))
    }

    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

/// The lowest allowed.
impl<const LOW: u64, const HIGH: u64> Default for Whole<LOW, HIGH> {
    fn default() -> Self {
        Whole(LOW)
    }
}

impl<'de, const LOW: u64, const HIGH: u64> Deserialize<'de> for Whole<LOW, HIGH> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = i64::deserialize(deserializer)?;
        let value = u64::try_from(found).ok().and_then(Self::new);
        value.ok_or_else(|| de::Error::custom(format_args!("found {found}, allowed are {LOW} to {HIGH}")))
    }
}

/// A number of cycles that something takes.
pub type Delay = Whole<1, 100_000>;
/// A number of cycles that may be none.
pub type Extra = Whole<0, 100_000>;

/// Bytes a cycle: a number from 1 to 65,536, with or without a fraction. Kept in parts of a byte, so that no rounding adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

impl Rate {
    /// Parts of a byte that are counted.
    pub const PARTS: u64 = 256;
    /// Most bytes a cycle.
    const MOST: f64 = 65536.0;

    /// So many bytes a cycle, if that is in range.
    pub fn new(bytes: f64) -> Option<Self> {
        (1.0..=Self::MOST).contains(&bytes).then(|| Rate((bytes * Self::PARTS as f64).round() as u64))
    }

    /// Parts of a byte a cycle.
    pub fn parts(self) -> u64 {
        self.0
    }

    /// Cycles that so many bytes take.
    pub fn cycles(self, bytes: u64) -> u64 {
        (bytes * Self::PARTS).div_ceil(self.0)
    }

    /// Bytes a cycle.
    pub fn bytes(self) -> f64 {
        self.0 as f64 / Self::PARTS as f64
    }
}

/// Cycles for which a request occupies something: a number from 0 to 100,000, with or without a fraction. Kept in parts of a cycle, so
/// that no rounding adds up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Busy(u64);

impl Busy {
    /// Parts of a cycle that are counted.
    pub const PARTS: u64 = 256;
    /// Most cycles.
    const MOST: f64 = 1e5;

    /// So many cycles, if that is in range.
    pub fn new(cycles: f64) -> Option<Self> {
        (0.0..=Self::MOST).contains(&cycles).then(|| Busy((cycles * Self::PARTS as f64).round() as u64))
    }

    /// Parts of a cycle.
    pub fn parts(self) -> u64 {
        self.0
    }

    /// Cycles.
    pub fn cycles(self) -> f64 {
        self.0 as f64 / Self::PARTS as f64
    }
}

impl<'de> Deserialize<'de> for Busy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number(deserializer, Busy::new, format_args!("0 to {} cycles", Busy::MOST))
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number(deserializer, Rate::new, format_args!("1 to {} B a cycle", Rate::MOST))
    }
}

/// A number with or without a fraction, of those that `of` takes: these are allowed.
fn number<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    of: impl FnOnce(f64) -> Option<T>,
    allowed: fmt::Arguments,
) -> Result<T, D::Error> {
    let found = f64::deserialize(deserializer)?;
    of(found).ok_or_else(|| de::Error::custom(format_args!("found {found}, allowed are {allowed}")))
}

/// Largest memory that a machine may have: 1 TiB.
const LARGEST: u64 = 1 << 40;

/// A size: a number of bytes, or a text such as `"48 KiB"`. At most 1 TiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u64);

impl Size {
    fn parse(text: &str) -> Option<u64> {
        // A file is stricter than a command line: a unit stands apart, and is one that means powers of two everywhere.
        let unit = text.split_once(' ').map_or("B", |(_, unit)| unit.trim());
        let is_apart = text.contains(' ') || text.ends_with(|c: char| c.is_ascii_digit());
        let is_strict = is_apart && ["B", "KiB", "MiB", "GiB", "TiB"].contains(&unit);
        text.parse().ok().filter(|_| is_strict).map(Bytes::get).filter(|&bytes| bytes <= LARGEST)
    }
}

struct SizeVisitor;

impl de::Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size in bytes, or a text such as \"48 KiB\", of 0 B to 1 TiB")
    }

    fn visit_i64<E: de::Error>(self, found: i64) -> Result<Size, E> {
        let bytes = u64::try_from(found).ok().filter(|&b| b <= LARGEST);
        bytes.map(Size).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(found), &self))
    }

    fn visit_str<E: de::Error>(self, found: &str) -> Result<Size, E> {
        Size::parse(found).map(Size).ok_or_else(|| E::invalid_value(de::Unexpected::Str(found), &self))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

/// A share, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(pub f64);

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number(deserializer, |found| (0.0..=1.0).contains(&found).then_some(Share(found)), format_args!("0 to 1"))
    }
}

/// A compute capability, such as `"3.5"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capability(pub u32, pub u32);

impl<'de> Deserialize<'de> for Capability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = String::deserialize(deserializer)?;
        let parsed = found.split_once('.').and_then(|(major, minor)| {
            let (major, minor) = (major.parse().ok()?, minor.parse().ok()?);
            ((2..=99).contains(&major) && minor <= 9).then_some(Capability(major, minor))
        });
        parsed.ok_or_else(|| {
            de::Error::custom(format_args!(
                "found \"{found}\", allowed is a compute capability such as \"3.5\", from 2.0 on"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_numbers_or_texts_with_a_unit() {
        let read = |text| Size::parse(text);
        assert_eq!(read("48 KiB"), Some(48 << 10));
        assert_eq!(read("1.5 MiB"), Some(3 << 19));
        assert_eq!(read("96"), Some(96));
        assert_eq!(read("1 TiB"), Some(LARGEST));
        for bad in ["", "KiB", "1.3 B", "2 TiB", "-1 KiB", "48KB", "48 KB", "nan KiB", "1e30 GiB"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
