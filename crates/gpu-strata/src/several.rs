//! Compares three or more results beside each other.

use strata_report::compare::several::FEWEST;
use strata_report::compare::{self, Statement};
use strata_report::report;

use crate::answer::Terminal;
use crate::comparison::{CompareOptions, Loaded, Side};
use crate::error::{Error, Result};

/// What came of a comparison of several results.
#[derive(Clone, Debug)]
pub struct ComparisonOfSeveral {
    /// Everything that was compared, as the JSON document has it.
    pub document: compare::Several,
}

/// Compares each of three or more results with each other one. A value that differs from more than half of the others is an
/// outlier.
///
/// # Errors
///
/// As [`compare`](crate::compare); and [`Error::Input`] for fewer than three, or for published values among them.
pub fn compare_several(sides: Vec<Side>, options: &CompareOptions) -> Result<ComparisonOfSeveral> {
    if sides.len() < FEWEST {
        return Err(Error::Input(format!("{} results to compare beside each other; give three or more", sides.len())));
    }
    let statements: Vec<Statement> = sides
        .into_iter()
        .map(|side| {
            let side = side.load()?;
            side.check_age(options.max_age)?;
            match side {
                Loaded::Document(document, name) => Ok(document.statement(&name)),
                Loaded::Published(_) | Loaded::PublishedOfOther => Err(Error::Input(
                    "published values can only be compared with one result; give two sides, or three or more results"
                        .into(),
                )),
            }
        })
        .collect::<Result<_>>()?;
    let all: Vec<&Statement> = statements.iter().collect();
    compare::check_names(&options.only, &options.required, &all).map_err(Error::Input)?;
    let document = compare::several(&statements, options);
    if !document.compared() && document.same {
        return Err(Error::Input(
            "no two of these results have an attribute in common; give results of the same kind, or other names to --only"
                .into(),
        ));
    }
    Ok(ComparisonOfSeveral { document })
}

impl ComparisonOfSeveral {
    /// Whether nothing differs.
    pub fn same(&self) -> bool {
        self.document.same
    }

    /// As a table for people.
    pub fn text(&self, terminal: &Terminal) -> String {
        report::comparison::several::text(&self.document, terminal)
    }

    /// As a table in GitHub-flavoured Markdown.
    pub fn markdown(&self) -> String {
        report::comparison::several::markdown(&self.document)
    }

    /// As one HTML page that needs no network.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if the page cannot be made.
    pub fn html(&self) -> Result<String> {
        report::comparison::several::html(&self.document).map_err(Error::report("the comparison as HTML"))
    }

    /// The whole comparison as JSON.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if a value cannot be written as JSON.
    pub fn json(&self) -> Result<String> {
        report::json(&self.document).map_err(Error::report("the comparison as JSON"))
    }
}
