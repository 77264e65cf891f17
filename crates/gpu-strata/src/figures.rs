//! The figures of the papers, made of results.

use strata_report::compare::Document;
use strata_report::report::characterization::papers;

use crate::answer::Markdown;
use crate::comparison::{Loaded, Side};
use crate::error::{Error, Result};

/// Name of the page of [`figures`] within its folder.
pub use strata_report::report::characterization::PAGE as FIGURES_PAGE;

/// The figures of Fuchs et al. for the GPUs of these results of `strata characterize`: a page in Markdown that belongs into a
/// folder as [`FIGURES_PAGE`], and pictures that belong beside it. Where the paper has several GPUs in one figure, so has this.
///
/// # Errors
///
/// [`Error::Unreadable`], [`Error::Recording`] or [`Error::Document`] for a file that is no result; [`Error::Input`] for a result
/// of another kind, or without any.
pub fn figures(results: Vec<Side>) -> Result<Markdown> {
    let mut answers = Vec::new();
    for side in results {
        match side.load()? {
            Loaded::Document(Document::Characterization(answer), _) => answers.push(answer),
            Loaded::Document(_, name) => return Err(other(&format!("`{name}` is"))),
            Loaded::Published(_) | Loaded::PublishedOfOther => return Err(other("published values are")),
        }
    }
    if answers.is_empty() {
        return Err(Error::Input("no results; give results of `strata characterize`, as JSON or as recordings".into()));
    }
    Ok(papers(&answers.iter().map(AsRef::as_ref).collect::<Vec<_>>()))
}

fn other(what: &str) -> Error {
    Error::Input(format!("{what} no characterization; give results of `strata characterize`, as JSON or as recordings"))
}
