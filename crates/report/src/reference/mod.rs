//! Published values: one file per chip, each value with its source and its certainty.
//!
//! They are for comparison only: no finding is taken from them.

mod fact;
mod table;
mod unit;

pub use fact::{DEVICE, Fact};
pub use table::{Defect, Of, Published, Reference, Sure, WaysAt};
pub use unit::Unit;

/// The files that come with this program: name and text.
const BUILT_IN: [(&str, &str); 15] = [
    ("gt200", include_str!("../../../../reference/gt200.toml")),
    ("gf100", include_str!("../../../../reference/gf100.toml")),
    ("gf106", include_str!("../../../../reference/gf106.toml")),
    ("gf114", include_str!("../../../../reference/gf114.toml")),
    ("gk104", include_str!("../../../../reference/gk104.toml")),
    ("gk110", include_str!("../../../../reference/gk110.toml")),
    ("gk210", include_str!("../../../../reference/gk210.toml")),
    ("gm108", include_str!("../../../../reference/gm108.toml")),
    ("gp100", include_str!("../../../../reference/gp100.toml")),
    ("gp102", include_str!("../../../../reference/gp102.toml")),
    ("gv100", include_str!("../../../../reference/gv100.toml")),
    ("tu102", include_str!("../../../../reference/tu102.toml")),
    ("ga100", include_str!("../../../../reference/ga100.toml")),
    ("ga102", include_str!("../../../../reference/ga102.toml")),
    ("gh100", include_str!("../../../../reference/gh100.toml")),
];

/// Names of the references, oldest chip first.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// All references, oldest chip first.
///
/// # Errors
///
/// If a file is not as it should be, which the tests see before anybody else does.
pub fn all() -> Result<Vec<Reference>, Defect> {
    BUILT_IN.iter().map(|(name, text)| Reference::parse(name, text)).collect()
}

#[cfg(test)]
mod tests;
