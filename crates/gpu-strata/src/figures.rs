//! The figures of the papers, made of results.

use strata_report::compare::Document;
use strata_report::report::papers::{Measured, papers};

use crate::answer::Markdown;
use crate::comparison::{Loaded, Side};
use crate::error::{Error, Result};

/// Name of the page of [`figures`] within its folder.
pub use strata_report::report::papers::PAGE as FIGURES_PAGE;

/// The figures of Fuchs et al. for the GPUs of these results of `strata characterize`, and those of Größler and of Mei et al. for
/// the GPUs of these results of `strata discover`: a page in Markdown that belongs into a folder as [`FIGURES_PAGE`], and pictures
/// that belong beside it. Where a paper has several GPUs in one figure, so has this.
///
/// # Errors
///
/// [`Error::Unreadable`], [`Error::Recording`] or [`Error::Document`] for a file that is no result; [`Error::Input`] for what is no
/// result of strata, or without any.
pub fn figures(results: Vec<Side>) -> Result<Markdown> {
    let mut documents = Vec::new();
    for side in results {
        match side.load()? {
            Loaded::Document(Document::Mt4g(_), name) => return Err(other(&format!("`{name}` is a summary of MT4G"))),
            Loaded::Document(document, _) => documents.push(document),
            Loaded::Published(_) | Loaded::PublishedOfOther => return Err(other("published values have no figures")),
        }
    }
    if documents.is_empty() {
        return Err(other("no results"));
    }
    let measured = documents.iter().filter_map(|document| match document {
        Document::Topology(answer) => Some(Measured::Discovery(answer)),
        Document::Characterization(answer) => Some(Measured::Characterization(answer)),
        Document::Mt4g(_) => None,
    });
    Ok(papers(&measured.collect::<Vec<_>>()))
}

fn other(what: &str) -> Error {
    Error::Input(format!(
        "{what}; give results of `strata discover` or of `strata characterize`, as JSON or as recordings"
    ))
}
