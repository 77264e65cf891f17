//! How numbers are shown beside an axis.

use strata_model::units::Bytes;

/// How the numbers of an axis are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::report) enum Measure {
    /// Bytes, in binary units; round numbers are powers of two.
    Bytes,
    /// A share, in percent.
    Share,
    /// A number; its unit stands in the axis' label.
    #[default]
    Number,
}

impl Measure {
    /// A number as a reader sees it.
    pub fn show(self, x: f64) -> String {
        match self {
            Measure::Bytes if x >= 0.0 => Bytes(x as u64).to_string(),
            Measure::Share => format!("{} %", short(x * 100.0)),
            _ => short(x),
        }
    }
}

/// Up to four digits, without zeros that say nothing; very large and very small numbers with their power of ten.
fn short(x: f64) -> String {
    let size = x.abs();
    if size != 0.0 && !(1e-3..1e6).contains(&size) {
        let text = format!("{x:.3e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", without_zeros(digits));
    }
    let decimals = if size >= 1000.0 { 0 } else { 3 - (size.max(1.0).log10() as usize) };
    without_zeros(&format!("{x:.decimals$}"))
}

fn without_zeros(digits: &str) -> String {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.').to_owned() } else { digits.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_shortly() {
        let shown: Vec<String> =
            [0.0, 0.25, 371.04, 1999.6, 123_456.0, 1e18, 2.5e-7, -12.5].into_iter().map(short).collect();
        assert_eq!(shown, ["0", "0.25", "371", "2000", "123456", "1e18", "2.5e-7", "-12.5"]);
        assert_eq!(Measure::Bytes.show(-5.0), "-5", "no count of bytes, and no panic");
    }
}
