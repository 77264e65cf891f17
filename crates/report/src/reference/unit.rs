//! Units of published numbers.

use serde::Deserialize;

/// Unit of a published number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Unit {
    /// Bytes.
    B,
    /// 1024 bytes. Sources write KB for it, too.
    KiB,
    /// 1024 KiB.
    MiB,
    /// 1024 MiB.
    GiB,
    /// Cycles of the SM's clock.
    #[serde(rename = "cycles")]
    Cycles,
    /// Entries of a TLB, or of a set of one.
    #[serde(rename = "entries")]
    Entries,
    /// Sets of a cache or TLB.
    #[serde(rename = "sets")]
    Sets,
    /// Lines of a set.
    #[serde(rename = "lines")]
    Lines,
    /// Per cent.
    #[serde(rename = "%")]
    Percent,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Millions of clock cycles a second.
    MHz,
    /// 1000 MHz.
    GHz,
    /// Bits of a bus.
    #[serde(rename = "bits")]
    Bits,
    /// 10^9 bytes a second.
    #[serde(rename = "GB/s")]
    GigabytesPerSecond,
    /// 1024 MiB a second.
    #[serde(rename = "GiB/s")]
    GibibytesPerSecond,
    /// 10^12 bytes a second.
    #[serde(rename = "TB/s")]
    TerabytesPerSecond,
    /// Bytes for each cycle of the SM's clock.
    #[serde(rename = "B/clk")]
    BytesPerClock,
    /// 10^12 floating-point operations a second.
    #[serde(rename = "TFLOPS")]
    Teraflops,
}

impl Unit {
    /// The unit that findings have, and how many of it this one is.
    pub fn base(self) -> (&'static str, f64) {
        match self {
            Unit::B => ("B", 1.0),
            Unit::KiB => ("B", 1024.0),
            Unit::MiB => ("B", 1024.0 * 1024.0),
            Unit::GiB => ("B", 1024.0 * 1024.0 * 1024.0),
            Unit::Cycles => ("cycles", 1.0),
            Unit::Entries => ("entries", 1.0),
            Unit::Sets => ("sets", 1.0),
            Unit::Lines => ("lines", 1.0),
            Unit::Percent => ("%", 1.0),
            Unit::Nanoseconds => ("ns", 1.0),
            Unit::MHz => ("MHz", 1.0),
            Unit::GHz => ("MHz", 1000.0),
            Unit::Bits => ("bits", 1.0),
            Unit::GigabytesPerSecond => ("B/s", 1e9),
            Unit::GibibytesPerSecond => ("B/s", 1024.0 * 1024.0 * 1024.0),
            Unit::TerabytesPerSecond => ("B/s", 1e12),
            Unit::BytesPerClock => ("B/clk", 1.0),
            Unit::Teraflops => ("TFLOPS", 1.0),
        }
    }
}
