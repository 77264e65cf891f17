//! Compares three or more results beside each other.

use strata_report::compare::several::FEWEST;
use strata_report::compare::{self, Statement};
use strata_report::report;

use crate::answer::Terminal;
use crate::comparison::{CompareOptions, Comparison, Held, Loaded, Side, beside_nvbandwidth, pair};
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
    among(load(sides)?, options)
}

/// All documents of the sides.
fn load(sides: Vec<Side>) -> Result<Vec<Loaded>> {
    let mut all = Vec::new();
    for side in sides {
        all.extend(side.load_all()?);
    }
    Ok(all)
}

fn among(sides: Vec<Loaded>, options: &CompareOptions) -> Result<ComparisonOfSeveral> {
    if sides.len() < FEWEST {
        return Err(Error::Input(format!("{} results to compare beside each other; give three or more", sides.len())));
    }
    let statements: Vec<Statement> = sides
        .into_iter()
        .map(|side| {
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

/// What came of comparing results, by how many they are.
#[derive(Clone, Debug)]
pub enum Compared {
    /// Of two, or of one and published values.
    Two(Box<Comparison>),
    /// Of three or more.
    Several(ComparisonOfSeveral),
}

/// Compares results with each other: two as [`compare`](crate::compare), three or more as [`compare_several`], and one with the
/// published values of its GPU. A file of several GPUs counts as a result of each. Beside a file of nvbandwidth, the GPUs and links of one
/// file of ours are compared with those of the same node.
///
/// # Errors
///
/// As those two.
pub fn compare_all(sides: Vec<Side>, options: &CompareOptions) -> Result<Compared> {
    let held = sides.into_iter().map(Side::hold).collect::<Result<Vec<_>>>()?;
    if let [a, b] = held.as_slice() {
        let beside = |documents: &[_], file: &str, results, theirs: &str, leads| {
            let of_two = beside_nvbandwidth((documents, file), (results, theirs), leads, options)?;
            Ok(Compared::Two(Box::new(of_two)))
        };
        match (a, b) {
            (Held::File { documents, name: file }, Held::Nvbandwidth { results, name }) => {
                return beside(documents, file, results, name, false);
            }
            (Held::Nvbandwidth { results, name }, Held::File { documents, name: file }) => {
                return beside(documents, file, results, name, true);
            }
            _ => {}
        }
    }
    let all: Vec<Loaded> =
        held.into_iter().map(Held::documents).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    if all.len() >= FEWEST {
        return among(all, options).map(Compared::Several);
    }
    let mut all = all.into_iter();
    let mut next = || all.next().unwrap_or(Loaded::PublishedOfOther);
    pair(next(), next(), options).map(|of_two| Compared::Two(Box::new(of_two)))
}

impl Compared {
    /// Whether nothing differs.
    pub fn same(&self) -> bool {
        match self {
            Compared::Two(of_two) => of_two.same(),
            Compared::Several(of_several) => of_several.same(),
        }
    }

    /// As lines for people.
    pub fn text(&self, terminal: &Terminal) -> String {
        match self {
            Compared::Two(of_two) => of_two.text(terminal),
            Compared::Several(of_several) => of_several.text(terminal),
        }
    }

    /// As tables in GitHub-flavoured Markdown.
    pub fn markdown(&self) -> String {
        match self {
            Compared::Two(of_two) => of_two.markdown(),
            Compared::Several(of_several) => of_several.markdown(),
        }
    }

    /// As one HTML page that needs no network.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if the page cannot be made.
    pub fn html(&self) -> Result<String> {
        match self {
            Compared::Two(of_two) => of_two.html(),
            Compared::Several(of_several) => of_several.html(),
        }
    }

    /// The whole comparison as JSON.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if a value cannot be written as JSON.
    pub fn json(&self) -> Result<String> {
        match self {
            Compared::Two(of_two) => of_two.json(),
            Compared::Several(of_several) => of_several.json(),
        }
    }
}
