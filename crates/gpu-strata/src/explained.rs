//! What attributes, elements and terms mean.

use strata_report::report;

use crate::answer::Terminal;
use crate::error::{Error, Result};

/// Explains an attribute (`size`, `l1.size`), an element (`l1`) or a term of the glossary, fitted to a terminal.
///
/// # Errors
///
/// [`Error::Input`], if there is none of this name; with names that are near to it.
pub fn explain(name: &str, terminal: &Terminal) -> Result<String> {
    report::explained::explained(name, terminal).map_err(Error::Input)
}

/// The terms of the field as strata uses them, fitted to a terminal.
pub fn glossary(terminal: &Terminal) -> String {
    report::explained::glossary(terminal)
}
