//! Results, and the formats in which they can be written.

use strata_infer::characterize::Characterized as FoundParts;
use strata_infer::discover::Discovery as FoundElements;
use strata_model::characterization::{Characterization, Suite};
use strata_model::evidence::Evidence;
use strata_model::facts::DeviceFacts;
use strata_model::topology::{RunInfo, Topology};
use strata_report::compare::{self, Document};
use strata_report::report;

pub use strata_report::report::{Extent, Markdown, PictureFile, Pictures, Terminal};

use crate::error::{Error, Result};
use crate::exchange::{Exchange, no_discovery};
use crate::run::Timings;

/// What a discovery found, with the samples that its findings rest on.
#[derive(Debug)]
#[non_exhaustive]
pub struct Discovery {
    /// The result.
    pub topology: Topology,
    /// Where the time went; absent from a replay.
    pub timings: Option<Timings>,
    evidence: Evidence,
}

impl Discovery {
    pub(crate) fn new(
        facts: DeviceFacts,
        run: RunInfo,
        mut found: FoundElements,
        replayed_from: Option<&str>,
        timings: Option<Timings>,
    ) -> Self {
        let evidence = std::mem::take(&mut found.evidence);
        Discovery { topology: found.into_topology(facts, run, replayed_from), timings, evidence }
    }
}

/// What a characterization found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Characterized {
    /// The result.
    pub characterization: Characterization,
    /// Where the time went; absent from a replay.
    pub timings: Option<Timings>,
}

impl Characterized {
    pub(crate) fn new(
        facts: DeviceFacts,
        run: RunInfo,
        suite: Suite,
        found: FoundParts,
        replayed_from: Option<&str>,
        timings: Option<Timings>,
    ) -> Self {
        Characterized { characterization: found.into_characterization(facts, run, suite, replayed_from), timings }
    }
}

/// A result of either kind, as a recording gives it.
#[derive(Debug)]
pub enum Answer {
    /// Of [`Device::discover`](crate::Device::discover).
    Discovery(Box<Discovery>),
    /// Of [`Device::characterize`](crate::Device::characterize).
    Characterized(Box<Characterized>),
}

impl From<Discovery> for Answer {
    fn from(found: Discovery) -> Self {
        Answer::Discovery(Box::new(found))
    }
}

impl From<Characterized> for Answer {
    fn from(found: Characterized) -> Self {
        Answer::Characterized(Box::new(found))
    }
}

impl Answer {
    /// A result that was written as JSON. Reports call it `name` where it cannot be read. The samples behind it are not in JSON, so a
    /// page made of it shows none.
    ///
    /// ```
    /// use gpu_strata::{Answer, Recording};
    ///
    /// let json = Recording::example("h200")?.replay_only(&["shared"])?.json()?;
    /// assert_eq!(Answer::from_json(json.as_bytes(), "h200.json")?.json()?, json);
    /// # Ok::<(), gpu_strata::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Document`] for what is no result; [`Error::Input`] for a summary of MT4G.
    pub fn from_json(json: &[u8], name: &str) -> Result<Self> {
        match compare::parse(name, json)? {
            Document::Topology(topology) => {
                Ok(Discovery { topology: *topology, timings: None, evidence: Evidence::default() }.into())
            }
            Document::Characterization(characterization) => {
                Ok(Characterized { characterization: *characterization, timings: None }.into())
            }
            Document::Mt4g(_) => {
                Err(Error::Input(format!("`{name}` is a summary of MT4G, of which there is no report")))
            }
        }
    }

    /// Whether a probe failed, as opposed to finding that something cannot be known.
    pub fn is_partial(&self) -> bool {
        match self {
            Answer::Discovery(found) => found.topology.is_partial(),
            Answer::Characterized(found) => found.characterization.is_partial(),
        }
    }

    /// How the run was made.
    pub fn run(&self) -> &RunInfo {
        match self {
            Answer::Discovery(found) => &found.topology.run,
            Answer::Characterized(found) => &found.characterization.run,
        }
    }

    /// Where the time went; absent from a replay.
    pub fn timings(&self) -> Option<&Timings> {
        match self {
            Answer::Discovery(found) => found.timings.as_ref(),
            Answer::Characterized(found) => found.timings.as_ref(),
        }
    }

    /// As a text for people, fitted to a terminal: in short, or with all details.
    pub fn text(&self, terminal: &Terminal, extent: Extent) -> String {
        match self {
            Answer::Discovery(found) => report::text(&found.topology, terminal, extent),
            Answer::Characterized(found) => report::characterization::text(&found.characterization, terminal, extent),
        }
    }

    /// The whole result as JSON; [`Schema`] describes it.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if a value cannot be written as JSON, which no finding holds.
    pub fn json(&self) -> Result<String> {
        match self {
            Answer::Discovery(found) => report::json(&found.topology),
            Answer::Characterized(found) => report::json(&found.characterization),
        }
        .map_err(Error::report("the result as JSON"))
    }

    /// As [`Answer::json`] in one line and without the numbers of the experiments, which take most of the space.
    ///
    /// # Errors
    ///
    /// As [`Answer::json`].
    pub fn compact_json(&self) -> Result<String> {
        match self {
            Answer::Discovery(found) => report::compact_json(&found.topology),
            Answer::Characterized(found) => report::compact_json(&found.characterization),
        }
        .map_err(Error::report("the result as JSON"))
    }

    /// As GitHub-flavoured Markdown with pictures.
    pub fn markdown(&self, pictures: Pictures<'_>) -> Markdown {
        match self {
            Answer::Discovery(found) => report::markdown(&found.topology, pictures),
            Answer::Characterized(found) => report::characterization::markdown(&found.characterization, pictures),
        }
    }

    /// As one page for a browser, with the samples behind the findings of a discovery.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if the page cannot be made.
    pub fn html(&self) -> Result<String> {
        match self {
            Answer::Discovery(found) => report::html(&found.topology, &found.evidence),
            Answer::Characterized(found) => report::characterization::html(&found.characterization),
        }
        .map_err(Error::report("the page"))
    }

    /// In a format of another program.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for a characterization, of which there is no such format.
    pub fn exchange(&self, format: Exchange) -> Result<String> {
        match self {
            Answer::Discovery(found) => format.write(&found.topology),
            Answer::Characterized(_) => Err(no_discovery()),
        }
    }
}

/// The JSON documents that this library writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Schema {
    /// Of a discovery.
    Topology,
    /// Of a characterization.
    Characterization,
    /// Of a comparison.
    Comparison,
    /// Of a comparison of three or more results.
    Several,
    /// Of results that were held against a policy.
    Acceptance,
    /// Of a discovery of several GPUs.
    Node,
    /// Of many results.
    Fleet,
    /// Of the check of a node.
    Health,
    /// Of the links of a node.
    Links,
}

impl Schema {
    /// The JSON schema as text.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if the schema cannot be written as JSON.
    pub fn json(self) -> Result<String> {
        match self {
            Schema::Topology => report::schema::<Topology>(),
            Schema::Characterization => report::schema::<Characterization>(),
            Schema::Comparison => report::schema::<strata_report::compare::Comparison>(),
            Schema::Several => report::schema::<strata_report::compare::Several>(),
            Schema::Acceptance => report::schema::<strata_report::policy::Acceptance>(),
            Schema::Node => report::schema::<strata_model::node::Node>(),
            Schema::Fleet => report::schema::<strata_report::fleet::Fleet>(),
            Schema::Health => report::schema::<strata_report::health::Health>(),
            Schema::Links => report::schema::<strata_model::links::Links>(),
        }
        .map_err(Error::report("the schema"))
    }
}
