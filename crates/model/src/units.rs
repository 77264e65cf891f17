//! Units as types, so that a size cannot be added to a latency.
//!
//! Everything that is counted is an integer ([`Bytes`]); everything that is measured is a float ([`Cycles`],
//! [`Nanoseconds`], [`BytesPerSecond`], [`BytesPerClock`], [`OperationsPerSecond`], [`OperationsPerClock`]).

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Div, Mul, Sub};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Bytes(pub u64);

/// One kibibyte, 1024 bytes.
pub const KIB: u64 = 1 << 10;
/// One mebibyte, 1024 kibibytes.
pub const MIB: u64 = 1 << 20;
/// One gibibyte, 1024 mebibytes.
pub const GIB: u64 = 1 << 30;
/// Largest whole number below which a `f64` holds every one.
const EXACT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

impl Bytes {
    /// `n` kibibytes.
    pub const fn kib(n: u64) -> Self {
        Bytes(n * KIB)
    }

    /// `n` mebibytes.
    pub const fn mib(n: u64) -> Self {
        Bytes(n * MIB)
    }

    /// The number itself, for arithmetic.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Rounded down to a multiple of `granule` (which must not be zero).
    pub const fn round_down(self, granule: Bytes) -> Self {
        Bytes(self.0 / granule.0 * granule.0)
    }

    /// Rounded up to a multiple of `granule` (which must not be zero).
    pub const fn round_up(self, granule: Bytes) -> Self {
        Bytes(self.0.div_ceil(granule.0) * granule.0)
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, factor: u64) -> Bytes {
        Bytes(self.0 * factor)
    }
}

impl Div<u64> for Bytes {
    type Output = Bytes;
    fn div(self, divisor: u64) -> Bytes {
        Bytes(self.0 / divisor)
    }
}

impl Div for Bytes {
    type Output = u64;
    fn div(self, other: Bytes) -> u64 {
        self.0 / other.0
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        Bytes(iter.map(|b| b.0).sum())
    }
}

impl FromStr for Bytes {
    type Err = String;

    /// A whole number of bytes, or a number with a unit: `4096`, `48 KiB`, `1.5MiB`, `16K`. Units are powers of two, however they
    /// are written.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is no size: use a number of bytes, or one with a unit, such as 16KiB");
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let scale = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" | "kib" => KIB,
            "m" | "mb" | "mib" => MIB,
            "g" | "gb" | "gib" => GIB,
            "t" | "tb" | "tib" => GIB << 10,
            _ => return Err(wrong()),
        };
        let bytes = number.parse::<f64>().map_err(|_| wrong())? * scale as f64;
        // What a fraction gives must be whole bytes, and the number must be exact.
        if bytes.fract() == 0.0 && (0.0..=EXACT).contains(&bytes) { Ok(Bytes(bytes as u64)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Bytes {
    /// In the largest binary unit that leaves at least one: `512 B`, `2 KiB`, `233.25 KiB`, `59.6 MiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            0..KIB => return f.pad(&format!("{} B", self.0)),
            KIB..MIB => (KIB, "KiB"),
            MIB..GIB => (MIB, "MiB"),
            _ => (GIB, "GiB"),
        };
        let number = format!("{:.3}", self.0 as f64 / unit as f64);
        let number = number.trim_end_matches('0').trim_end_matches('.');
        f.pad(&format!("{number} {name}"))
    }
}

macro_rules! measured {
    ($(#[$doc:meta])* $name:ident, $suffix:literal, $digits:literal) => {
        measured!($(#[$doc])* $name);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&format!(concat!("{:.", $digits, "} ", $suffix), self.0))
            }
        }
    };
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        #[schemars(inline)]
        pub struct $name(pub f64);

        impl $name {
            /// The number itself, for arithmetic.
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl Add for $name {
            type Output = $name;
            fn add(self, other: $name) -> $name {
                $name(self.0 + other.0)
            }
        }

        impl Sub for $name {
            type Output = $name;
            fn sub(self, other: $name) -> $name {
                $name(self.0 - other.0)
            }
        }
    };
}

measured!(
    /// Cycles of the SM's clock.
    Cycles, "cycles", "1"
);
measured!(
    /// Nanoseconds of the GPU's global timer.
    Nanoseconds, "ns", "1"
);
measured!(
    /// A throughput.
    BytesPerSecond
);
measured!(
    /// A throughput by the SM's clock: bytes a cycle.
    BytesPerClock, "B/clk", "1"
);
measured!(
    /// A throughput of operations, such as the additions that atomics make.
    OperationsPerSecond
);
measured!(
    /// A throughput of operations by the SM's clock.
    OperationsPerClock, "op/clk", "2"
);

impl fmt::Display for BytesPerSecond {
    /// With a decimal prefix and four digits: `9.563 TB/s`, `312.0 GB/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&with_prefix(self.0, "B/s"))
    }
}

impl fmt::Display for OperationsPerSecond {
    /// With a decimal prefix and four digits: `1.271 Top/s`, `2.540 Gop/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&with_prefix(self.0, "op/s"))
    }
}

/// A rate with a decimal prefix and four digits.
fn with_prefix(rate: f64, unit: &str) -> String {
    const PREFIXES: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let found = PREFIXES.into_iter().find(|(scale, _)| rate.abs() >= *scale);
    let (scale, prefix) = found.unwrap_or((1.0, ""));
    let number = rate / scale;
    let digits = if number >= 100.0 {
        1
    } else if number >= 10.0 {
        2
    } else {
        3
    };
    format!("{number:.digits$} {prefix}{unit}")
}

/// The rate of the SM's clock, measured as `%clock64` over `%globaltimer`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gigahertz(pub f64);

impl Gigahertz {
    /// How long `cycles` take at this rate.
    pub fn duration(self, cycles: Cycles) -> Nanoseconds {
        Nanoseconds(cycles.0 / self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_in_the_largest_unit_that_fits() {
        let shown = |n| Bytes(n).to_string();
        assert_eq!(shown(0), "0 B");
        assert_eq!(shown(1023), "1023 B");
        assert_eq!(shown(2048), "2 KiB");
        assert_eq!(shown(238_848), "233.25 KiB");
        assert_eq!(shown(62_914_560), "60 MiB");
        assert_eq!(shown(150_000_000_000), "139.698 GiB");
    }

    #[test]
    fn rounding_is_to_whole_granules() {
        assert_eq!(Bytes(100).round_down(Bytes(32)), Bytes(96));
        assert_eq!(Bytes(100).round_up(Bytes(32)), Bytes(128));
        assert_eq!(Bytes(96).round_up(Bytes(32)), Bytes(96));
    }

    #[test]
    fn rates_have_decimal_prefixes() {
        let shown = |rate| BytesPerSecond(rate).to_string();
        assert_eq!(shown(9.5634e12), "9.563 TB/s");
        assert_eq!(shown(32.91e12), "32.91 TB/s");
        assert_eq!(shown(160.0e9), "160.0 GB/s");
        assert_eq!(shown(12.0), "12.00 B/s");
        assert_eq!(BytesPerClock(127.42).to_string(), "127.4 B/clk");
        assert_eq!(OperationsPerSecond(2.5401e9).to_string(), "2.540 Gop/s");
        assert_eq!(OperationsPerClock(0.644).to_string(), "0.64 op/clk");
    }

    #[test]
    fn a_clock_turns_cycles_into_time() {
        assert_eq!(Gigahertz(2.0).duration(Cycles(30.0)), Nanoseconds(15.0));
    }
}
