//! Converts the timings of other tools into experiments with samples, so that they can be recorded and analysed like our own.
//!
//! Nothing is inferred here. What a file does not say (its kernel's overhead, a footprint, a stride) stays unsaid.

mod files;
mod mt4g;
mod rows;
mod summary;

use std::path::PathBuf;

pub use mt4g::mt4g;
pub use rows::{MAX_LINE, MAX_VALUES, Row, rows};
pub use summary::Summary;

use strata_model::experiment::Imported;
use strata_model::facts::DeviceFacts;
use strata_model::samples::Samples;
use strata_model::topology::RunInfo;

/// What was imported.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// What the tool's summary says of the device; empty where it says nothing.
    pub device: DeviceFacts,
    /// How the run was made, as far as it is known, and what a reader should know.
    pub run: RunInfo,
    /// The series, in the order of a report.
    pub measured: Vec<(Imported, Samples)>,
    /// How many files they are from.
    pub files: usize,
}

/// Why timings cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder or a file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// What was to be read.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is nothing to import in the folder.
    #[error("`{}` contains no timings of MT4G: their files have names like `GPU - L1 Size.txt`{hint}", path.display())]
    Nothing {
        /// The folder.
        path: PathBuf,
        /// What to try instead.
        hint: String,
    },
    /// Files of several GPUs lie in one folder.
    #[error("`{}` contains timings of more than one GPU ({}); put each GPU into its own folder", path.display(), names.join(", "))]
    Several {
        /// The folder.
        path: PathBuf,
        /// The GPUs that its files name.
        names: Vec<String>,
    },
    /// Two files hold one series.
    #[error("`{}` and `{}` both contain the {series}; remove one of them", first.display(), second.display())]
    Twice {
        /// The one.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// What they hold.
        series: String,
    },
    /// A line is not what such a file holds.
    #[error("`{}`, line {line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Its line, counted from 1.
        line: usize,
        /// What is wrong, and what was expected.
        what: String,
    },
    /// A file holds no row.
    #[error("`{}` is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A file is larger than any that is made.
    #[error("`{}` {what}", path.display())]
    TooMuch {
        /// The file or folder.
        path: PathBuf,
        /// Of what there is too much.
        what: String,
    },
    /// The summary is no JSON that MT4G writes.
    #[error("`{}`, line {line}, column {column}: {what}; give MT4G's summary, or remove the file", path.display())]
    Summary {
        /// The file.
        path: PathBuf,
        /// Its line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
}
