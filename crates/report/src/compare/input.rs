//! Recognising a JSON document by its content.

use std::str;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::comparison::{self, Kind};
use super::mt4g::Summary;
use super::nvbandwidth::Results;
use super::statement::Statement;
use strata_model::characterization::{self, Characterization};
use strata_model::facts::PeerFacts;
use strata_model::links::{self, Link, Links};
use strata_model::node::{self, Node};
use strata_model::topology::{self, RunInfo, Topology};

/// Longest document that is read, in bytes: the longest of ours has half a million, and one that was made to do harm takes
/// some forty times its length in memory.
pub const LONGEST: u64 = 16 << 20;

/// Longest message of the parser that is passed on: it quotes what it did not expect, which may be the whole file.
const LONGEST_MESSAGE: usize = 200;

/// A document that can be compared.
#[derive(Debug)]
pub enum Document {
    /// A result of `strata discover`.
    Topology(Box<Topology>),
    /// A result of `strata characterize`.
    Characterization(Box<Characterization>),
    /// The summary that MT4G writes.
    Mt4g(Box<Summary>),
}

impl Document {
    /// What it says. `name` is shown for it.
    pub fn statement(&self, name: &str) -> Statement {
        match self {
            Document::Topology(topology) => Statement::of_topology(topology, name),
            Document::Characterization(answer) => Statement::of_characterization(answer, name),
            Document::Mt4g(summary) => summary.statement(name),
        }
    }

    /// The GPU at the other end, of a result of a link.
    pub fn peer(&self) -> Option<&PeerFacts> {
        match self {
            Document::Topology(topology) => topology.device.peer.as_ref(),
            Document::Characterization(_) | Document::Mt4g(_) => None,
        }
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        match self {
            Document::Topology(_) => Kind::Topology,
            Document::Characterization(_) => Kind::Characterization,
            Document::Mt4g(_) => Kind::Mt4g,
        }
    }

    /// How the run was made, of a result of ours.
    pub fn run(&self) -> Option<&RunInfo> {
        match self {
            Document::Topology(topology) => Some(&topology.run),
            Document::Characterization(answer) => Some(&answer.run),
            Document::Mt4g(_) => None,
        }
    }

    /// When the run started, as it says: RFC 3339 in UTC.
    pub fn started(&self) -> Option<&str> {
        self.run().map(|run| run.started.as_str())
    }

    /// The GPU: its name, and its compute capability if it is one of NVIDIA's.
    pub fn device(&self) -> (&str, Option<(u32, u32)>) {
        let (name, capability) = match self {
            Document::Topology(topology) => (&topology.device.name, topology.device.compute_capability),
            Document::Characterization(answer) => (&answer.device.name, answer.device.compute_capability),
            Document::Mt4g(summary) => (&summary.general.name, summary.general.capability()),
        };
        // MT4G numbers AMD's architectures in the same way: 9.0 is an Instinct as well.
        (name, (!name.to_ascii_uppercase().contains("AMD")).then_some(capability))
    }
}

/// Why a text is no document that can be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing is there.
    #[error("`{name}` is empty; give a result of `strata discover --format json`, or a recording")]
    Empty {
        /// The file.
        name: String,
    },
    /// Bytes that are no text.
    #[error("`{name}`:{line}: neither a recording nor text; give a recording, or a result as JSON")]
    NotText {
        /// The file.
        name: String,
        /// Line of the first byte that is none, from 1.
        line: usize,
    },
    /// Not JSON, or not what its schema says.
    #[error("`{name}`:{line}:{column}: {what}; give a result of `strata discover --format json`, or a recording")]
    Syntax {
        /// The file.
        name: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1; 0 at the end of the line before.
        column: usize,
        /// What was found.
        what: String,
    },
    /// A result that says what cannot be.
    #[error("`{name}`: {what}; it was changed or damaged, take another copy")]
    Impossible {
        /// The file.
        name: String,
        /// Where, and what.
        what: String,
    },
    /// A file of nvbandwidth, which is no result of ours.
    #[error(
        "`{name}` is of nvbandwidth, which is compared with one file of the same node: give a result of `strata links` or of `strata \
         discover --device all`"
    )]
    OfNvbandwidth {
        /// The file.
        name: String,
    },
    /// JSON that is something else.
    #[error(
        "`{name}` {found}; give a result of schema {} or {}, a recording, or a summary of MT4G",
        topology::SCHEMA,
        characterization::SCHEMA
    )]
    Schema {
        /// The file.
        name: String,
        /// What it is.
        found: String,
    },
}

/// What a document is of, and nothing else of it.
#[derive(Deserialize)]
struct Label {
    schema: Option<Value>,
    memory: Option<serde::de::IgnoredAny>,
    general: Option<serde::de::IgnoredAny>,
    nvbandwidth: Option<serde::de::IgnoredAny>,
}

/// Reads a document; `name` is its file's, for errors. The schema it names, or MT4G's two main keys, decide what it is.
///
/// # Errors
///
/// If it is no JSON, of another schema or version, or not what its schema says; with line and column.
pub fn parse(name: &str, bytes: &[u8]) -> Result<Document, Error> {
    if bytes.is_empty() {
        return Err(Error::Empty { name: name.to_owned() });
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        Error::NotText { name: name.to_owned(), line: before.iter().filter(|b| **b == b'\n').count() + 1 }
    })?;
    let text = without_mark(text);
    let label: Label = typed(name, text)?;
    let other = |found: String| Err(Error::Schema { name: name.to_owned(), found });
    match label.schema {
        Some(Value::String(schema)) if schema == topology::SCHEMA => {
            let topology: Box<Topology> = typed(name, text)?;
            possible(name, topology.defect()).map(|()| Document::Topology(topology))
        }
        Some(Value::String(schema)) if schema == characterization::SCHEMA => {
            let answer: Box<Characterization> = typed(name, text)?;
            possible(name, answer.defect()).map(|()| Document::Characterization(answer))
        }
        Some(Value::String(schema)) if schema == node::SCHEMA => {
            other("is of several GPUs, and one is wanted here".to_owned())
        }
        Some(Value::String(schema)) if schema == links::SCHEMA => {
            other("is of the links of several GPUs, and a result of one GPU is wanted here".to_owned())
        }
        Some(Value::String(schema)) if schema == comparison::SCHEMA => other("is already a comparison".to_owned()),
        Some(schema) => other(format!("has the schema {}", shortened(&schema.to_string()))),
        None if label.memory.is_some() && label.general.is_some() => typed(name, text).map(Document::Mt4g),
        None if label.nvbandwidth.is_some() => Err(Error::OfNvbandwidth { name: name.to_owned() }),
        None => other("has no schema".to_owned()),
    }
}

/// Reads the documents in a text, each with the name of its GPU or link if it is one of a node: those of all GPUs and links that were
/// measured, or the one that it is.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_all(name: &str, bytes: &[u8]) -> Result<Vec<(Document, Option<String>)>, Error> {
    let text = without_mark(str::from_utf8(bytes).unwrap_or_default());
    let label = serde_json::from_str::<Label>(text).ok();
    match label.as_ref().and_then(|label| label.schema.as_ref()).and_then(Value::as_str) {
        Some(node::SCHEMA) => {
            let of_node: Node = typed(name, text)?;
            possible(name, of_node.defect())?;
            let measured = of_node.gpus.into_iter().filter_map(|gpu| Some((boxed(gpu.topology?), Some(gpu.device))));
            Ok(measured.chain(measured_links(of_node.links)).collect())
        }
        Some(links::SCHEMA) => {
            let of_links: Links = typed(name, text)?;
            possible(name, of_links.defect())?;
            Ok(measured_links(of_links.links).collect())
        }
        _ => Ok(vec![(parse(name, bytes)?, None)]),
    }
}

/// Reads a file that is of nvbandwidth by [`Error::OfNvbandwidth`].
///
/// # Errors
///
/// If it is not what nvbandwidth writes, with line and column.
pub fn of_nvbandwidth(name: &str, bytes: &[u8]) -> Result<Results, Error> {
    typed(name, without_mark(str::from_utf8(bytes).unwrap_or_default()))
}

/// The text without the mark of its byte order, which some editors write.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The links that were measured, each with its name.
fn measured_links(links: Vec<Link>) -> impl Iterator<Item = (Document, Option<String>)> {
    links.into_iter().filter_map(|link| {
        let name = link.name();
        Some((boxed(link.topology?), Some(name)))
    })
}

fn boxed(topology: Topology) -> Document {
    Document::Topology(Box::new(topology))
}

/// Refuses what no run has written.
fn possible(name: &str, defect: Option<String>) -> Result<(), Error> {
    defect.map_or(Ok(()), |what| Err(Error::Impossible { name: name.to_owned(), what: shortened(&what) }))
}

fn typed<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let what = error.to_string();
        let place = format!(" at line {line} column {column}");
        let what = shortened(what.strip_suffix(place.as_str()).unwrap_or(&what));
        Error::Syntax { name: name.to_owned(), line, column, what }
    })
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST_MESSAGE {
        return text.to_owned();
    }
    let kept: String = text.chars().take(LONGEST_MESSAGE).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let message = parse("f.json", text.as_bytes()).unwrap_err().to_string();
        assert!(message.contains("f.json") && message.chars().count() < 500, "{message}");
        message
    }

    #[test]
    fn what_is_no_document_is_named_with_its_place() {
        assert!(refused("").contains("empty"));
        assert!(refused("abc\nabc").contains(":1:1: expected value"));
        assert!(refused("{\n \"schema\": \"strata/topology/1\",\n").contains(":3:0: EOF"));
        assert!(refused("{\"schema\": \"strata/topology/1\",\n \"device\": 7}").contains(":2:12: invalid type"));
        assert!(refused("[1, 2]").contains("1:"));
        assert!(refused("{}").contains("has no schema"));
        let other = refused("{\"schema\": \"strata/topology/2\"}");
        assert!(other.contains("topology/2") && other.contains("strata/topology/1"), "{other}");
        assert!(refused("{\"schema\": 1}").contains("schema 1;"));
        assert!(refused("{\"schema\": \"strata/comparison/1\"}").contains("already a comparison"));
        let bytes = parse("f", b"a\nb\xff").unwrap_err();
        assert_eq!(bytes, Error::NotText { name: "f".into(), line: 2 });
    }

    #[test]
    fn depth_and_long_lines_end_in_a_short_message() {
        refused(&"[".repeat(100_000));
        refused(&format!("{{\"schema\": {}", "[".repeat(100_000)));
        refused(&format!("{{\"schema\": \"{}\"}}", "x".repeat(10_000_000)));
        refused(&format!("{{\"schema\": \"strata/topology/1\", \"device\": \"{}\"}}", "x".repeat(10_000_000)));
    }
}
