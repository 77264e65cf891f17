//! Simulated machines: their descriptions, read from files and checked.
//!
//! A description declares mechanism: sizes, sets, ways, index functions, policies, latencies, who is asked after whom. What
//! an experiment will find is nowhere in it.

mod check;
pub mod spec;
pub mod value;

use std::path::Path;

pub use check::sets_of;
pub use spec::Spec;
pub use strata_model::locate::Defect;
use strata_model::names::{advice, sentence};

/// The machines that come with this program: name and text.
const BUILT_IN: [(&str, &str); 13] = [
    ("gtx560ti", include_str!("../../../../machines/gtx560ti.toml")),
    ("c2070", include_str!("../../../../machines/c2070.toml")),
    ("quadro2000", include_str!("../../../../machines/quadro2000.toml")),
    ("gtx780", include_str!("../../../../machines/gtx780.toml")),
    ("gtx680", include_str!("../../../../machines/gtx680.toml")),
    ("k20", include_str!("../../../../machines/k20.toml")),
    ("k20c", include_str!("../../../../machines/k20c.toml")),
    ("840m", include_str!("../../../../machines/840m.toml")),
    ("p6000", include_str!("../../../../machines/p6000.toml")),
    ("v100", include_str!("../../../../machines/v100.toml")),
    ("rtx2080ti", include_str!("../../../../machines/rtx2080ti.toml")),
    ("a100", include_str!("../../../../machines/a100.toml")),
    ("h200", include_str!("../../../../machines/h200.toml")),
];

/// Longest file that is read: the longest of ours has some twenty thousand bytes.
const LONGEST: u64 = 1 << 20;

/// A machine that has passed every check.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name, or the file that it is from.
    pub origin: String,
    /// What it is.
    pub spec: Spec,
    /// The text that it was read from.
    pub text: String,
}

/// Names of the machines that come with this program.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// Whether a name asks for a file.
pub fn is_file(wanted: &str) -> bool {
    wanted.ends_with(".toml") || wanted.contains(['/', '\\'])
}

impl Machine {
    /// One of the machines that come with this program, by name.
    ///
    /// # Errors
    ///
    /// If there is none of this name, with those that there are.
    pub fn named(name: &str) -> Result<Self, Defect> {
        let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) else {
            let what = format!("no such machine; {} A file is sim:FILE.toml", sentence(advice(name, names())));
            return Err(Defect::of_file(&format!("sim:{name}"), what));
        };
        Self::parse(name, text)
    }

    /// The machine that a device name asks for: what follows `sim:`, a name or a file.
    ///
    /// # Errors
    ///
    /// As [`Machine::named`] and [`Machine::read`].
    pub fn find(wanted: &str) -> Result<Self, Defect> {
        if is_file(wanted) { Self::read(Path::new(wanted)) } else { Self::named(wanted) }
    }

    /// A machine from a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is too long, or is no machine.
    pub fn read(path: &Path) -> Result<Self, Defect> {
        use std::io::Read;
        let origin = path.display().to_string();
        let defect = |what: String| Defect::of_file(&origin, what);
        let mut text = String::new();
        let file = strata_files::open(path).map_err(|e| defect(format!("cannot be opened: {e}")))?;
        file.take(LONGEST + 1).read_to_string(&mut text).map_err(|e| defect(format!("cannot be read: {e}")))?;
        if text.len() as u64 > LONGEST {
            return Err(defect(format!("longer than {LONGEST} bytes; a machine file is shorter")));
        }
        Self::parse(&origin, &text)
    }

    /// A machine from text; `origin` names it in errors.
    ///
    /// # Errors
    ///
    /// The first key that is unknown, missing, out of range or at odds with others.
    pub fn parse(origin: &str, text: &str) -> Result<Self, Defect> {
        let syntax = |error: toml::de::Error| Defect::at(origin, text, error.span(), error.message());
        let spec: Spec = toml::from_str(text).map_err(syntax)?;
        check::check(&spec).map_err(|(key, what)| Defect::of_key(origin, text, key, what))?;
        Ok(Machine { origin: origin.to_owned(), spec, text: text.to_owned() })
    }
}
