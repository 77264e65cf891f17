//! Compares two results, or a result and the published values of its GPU.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use strata_files::STANDARD;
use strata_model::units::Bytes;
use strata_report::compare::{self, Asked, Document, Kind, LONGEST, Statement, nvbandwidth, published};
use strata_report::reference;
use strata_report::report;

pub use strata_report::compare::{Choice, MaxAge, Options as CompareOptions, Requirement};

use crate::answer::{Answer, Terminal};
use crate::error::{Error, Result};
use crate::recording::Recording;

/// One side of a comparison.
#[derive(Debug)]
#[non_exhaustive]
pub enum Side {
    /// A file: a result as JSON, a recording, a summary of MT4G, or a file of nvbandwidth beside one result of the same node.
    File(PathBuf),
    /// Standard input: what a file could hold.
    Standard,
    /// A result, and the name to show for it.
    Answer(Box<Answer>, String),
    /// A result as JSON, and the name to show for it.
    Text(Vec<u8>, String),
    /// What is published of a GPU, by the name of a chip or product.
    Published(String),
    /// What is published of the other side's GPU.
    PublishedOfOther,
}

/// The word that asks for published values.
const REFERENCE: &str = "reference";
/// The name of standard input in reports and errors.
const STANDARD_INPUT: &str = "standard input";

impl Side {
    /// The documents of this side: of a file of several GPUs, that of each.
    pub(crate) fn load_all(self) -> Result<Vec<Loaded>> {
        self.hold()?.documents()
    }

    /// All that this side holds.
    pub(crate) fn hold(self) -> Result<Held> {
        let (input, path): (Box<dyn Read>, PathBuf) = match self {
            Side::File(path) => (Box::new(open(&path)?), path),
            Side::Standard => (Box::new(io::stdin().lock()), STANDARD_INPUT.into()),
            other => return Ok(Held::Other(other.load()?)),
        };
        let name = path.display().to_string();
        let documents = match content(input, &path)? {
            Content::Recorded(document) => vec![(*document, None)],
            Content::Text(bytes) => match compare::parse_all(&name, &bytes) {
                Err(compare::Error::OfNvbandwidth { .. }) => {
                    return Ok(Held::Nvbandwidth { results: compare::of_nvbandwidth(&name, &bytes)?, name });
                }
                documents => documents?,
            },
        };
        Ok(Held::File { documents, name })
    }

    /// The side that an argument of `strata compare` names: `reference`, `reference:NAME`, `-` for standard input, or a file.
    pub fn named(argument: &str) -> Self {
        match argument.strip_prefix(REFERENCE) {
            Some("") => Side::PublishedOfOther,
            Some(rest) if rest.starts_with(':') => Side::Published(rest[1..].to_owned()),
            _ if argument == STANDARD => Side::Standard,
            _ => Side::File(argument.into()),
        }
    }

    /// The document of this side, if it is one, with its name.
    pub(crate) fn load(self) -> Result<Loaded> {
        match self {
            Side::File(path) => {
                let name = path.display().to_string();
                Ok(Loaded::Document(read(open(&path)?, &path)?, name))
            }
            Side::Standard => {
                let path = Path::new(STANDARD_INPUT);
                Ok(Loaded::Document(read(io::stdin().lock(), path)?, STANDARD_INPUT.to_owned()))
            }
            Side::Answer(answer, name) => Ok(Loaded::Document(document(*answer), name)),
            Side::Text(text, name) => Ok(Loaded::Document(compare::parse(&name, &text)?, name)),
            Side::Published(name) => Ok(Loaded::Published(name)),
            Side::PublishedOfOther => Ok(Loaded::PublishedOfOther),
        }
    }
}

/// What a side holds.
pub(crate) enum Held {
    /// A file of ours: its documents, each with the name of its GPU or link if it has several.
    File { documents: Vec<(Document, Option<String>)>, name: String },
    /// A file of nvbandwidth, which is only compared with one of the same node.
    Nvbandwidth { results: nvbandwidth::Results, name: String },
    /// What was read before, or published values.
    Other(Loaded),
}

impl Held {
    /// The documents, each with a name of its own.
    pub(crate) fn documents(self) -> Result<Vec<Loaded>> {
        match self {
            Held::File { documents, name } => {
                let named = |(document, gpu): (Document, Option<String>)| {
                    let name = gpu.map_or_else(|| name.clone(), |gpu| format!("{name}, {gpu}"));
                    Loaded::Document(document, name)
                };
                Ok(documents.into_iter().map(named).collect())
            }
            Held::Nvbandwidth { name, .. } => Err(compare::Error::OfNvbandwidth { name }.into()),
            Held::Other(loaded) => Ok(vec![loaded]),
        }
    }
}

/// A side whose file was read.
pub(crate) enum Loaded {
    Document(Document, String),
    Published(String),
    PublishedOfOther,
}

impl Loaded {
    /// Refuses what is too old, from the future or without a date.
    pub(crate) fn check_age(&self, max_age: Option<MaxAge>) -> Result<()> {
        let Some(max_age) = max_age else { return Ok(()) };
        let (name, started) = match self {
            Loaded::Document(document, name) => (name.as_str(), document.started()),
            Loaded::Published(name) => (name.as_str(), None),
            Loaded::PublishedOfOther => (REFERENCE, None),
        };
        max_age.check(name, started, SystemTime::now()).map_err(Error::Input)
    }

    fn statement(&self, other: &Loaded) -> Result<Statement> {
        match (self, other) {
            (Loaded::Document(document, name), _) => Ok(document.statement(name)),
            (Loaded::Published(name), Loaded::Document(other, _)) => Ok(published(Asked::Named(name), other.kind())?),
            (Loaded::Published(name), _) => Ok(published(Asked::Named(name), Kind::Reference)?),
            (Loaded::PublishedOfOther, Loaded::Document(other, _)) => {
                let (device, capability) = other.device();
                Ok(published(Asked::Device(device, capability), other.kind())?)
            }
            (Loaded::PublishedOfOther, _) => Err(Error::Input(
                "`reference` needs a result on the other side; give a result, or reference:NAME (`strata compare \
                 --list-references` lists the names)"
                    .into(),
            )),
        }
    }
}

fn document(answer: Answer) -> Document {
    match answer {
        Answer::Discovery(found) => Document::Topology(Box::new(found.topology)),
        Answer::Characterized(found) => Document::Characterization(Box::new(found.characterization)),
    }
}

/// What came of a comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Everything that was compared, as the JSON document has it.
    pub document: compare::Comparison,
}

/// Compares two sides. Two values differ if their intervals exclude each other. What is required and unknown on a side counts as
/// a difference.
///
/// # Errors
///
/// [`Error::Unreadable`], [`Error::Recording`] or [`Error::Document`] for a file that is no result,
/// [`Error::NoReference`] if nothing is published, [`Error::Input`] if the two have no attribute in common, if a name that is
/// asked for does not exist, or if the side that is judged is older than allowed.
pub fn compare(a: Side, b: Side, options: &CompareOptions) -> Result<Comparison> {
    pair(a.load()?, b.load()?, options)
}

/// Compares two sides that were read.
pub(crate) fn pair(a: Loaded, b: Loaded, options: &CompareOptions) -> Result<Comparison> {
    let judged = if matches!(b, Loaded::Document(..)) { &b } else { &a };
    judged.check_age(options.max_age)?;
    let (a, b) = (a.statement(&b)?, b.statement(&a)?);
    compare::check_names(&options.only, &options.required, &[&a, &b]).map_err(Error::Input)?;
    answered(compare::compare(&a, &b, options))
}

/// Compares the GPUs and links of one file with what nvbandwidth measured of them, which is the first side if it `leads`.
pub(crate) fn beside_nvbandwidth(
    (documents, name): (&[(Document, Option<String>)], &str),
    results: (&nvbandwidth::Results, &str),
    leads: bool,
    options: &CompareOptions,
) -> Result<Comparison> {
    if let Some(max_age) = options.max_age {
        for (document, _) in documents {
            max_age.check(name, document.started(), SystemTime::now()).map_err(Error::Input)?;
        }
    }
    answered(nvbandwidth::beside((documents, name), results, leads, options).map_err(Error::Input)?)
}

/// A comparison in which anything was compared.
fn answered(document: compare::Comparison) -> Result<Comparison> {
    let (a, b) = (&document.a, &document.b);
    if !document.compared() && document.unmet.is_empty() {
        let only = if document.only.is_empty() { String::new() } else { format!(" in {}", document.only.join(", ")) };
        return Err(Error::Input(format!(
            "`{}` and `{}` have no attribute in common{only}; give two results of the same kind, or other names to --only",
            a.name, b.name
        )));
    }
    Ok(Comparison { document })
}

impl Comparison {
    /// Whether nothing differs.
    pub fn same(&self) -> bool {
        self.document.same
    }

    /// As lines for people.
    pub fn text(&self, terminal: &Terminal) -> String {
        report::comparison::text(&self.document, terminal)
    }

    /// As tables in GitHub-flavoured Markdown.
    pub fn markdown(&self) -> String {
        report::comparison::markdown(&self.document)
    }

    /// As one HTML page that needs no network.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if the page cannot be made.
    pub fn html(&self) -> Result<String> {
        report::comparison::html(&self.document).map_err(Error::report("the comparison as HTML"))
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

/// The chips of which published values come with the library, a line each.
///
/// # Errors
///
/// [`Error::Reference`], if a built-in file has a defect.
pub fn references() -> Result<String> {
    let mut text = String::new();
    for reference in reference::all()? {
        let products: Vec<&str> = reference.products().collect();
        text.push_str(&format!(
            "{:<6} {:<8} {:>3} values  {}\n",
            reference.name,
            reference.architecture,
            reference.values.len(),
            products.join(", ")
        ));
    }
    Ok(text)
}

fn open(path: &Path) -> Result<File> {
    strata_files::open(path).map_err(|source| {
        // What is no plain file has its own advice.
        let advice = match source.kind() {
            io::ErrorKind::InvalidInput => "",
            _ => "; give a result as JSON or a recording (`strata compare` takes reference:NAME, too)",
        };
        Error::Unreadable { path: path.to_owned(), advice, source }
    })
}

/// The document in a result as JSON or in a recording. A recording begins with its magic bytes, whatever its file is called.
fn read(input: impl Read, path: &Path) -> Result<Document> {
    let name = path.display().to_string();
    match content(input, path)? {
        Content::Recorded(document) => Ok(*document),
        Content::Text(bytes) => Ok(compare::parse(&name, &bytes)?),
    }
}

enum Content {
    Recorded(Box<Document>),
    Text(Vec<u8>),
}

fn content(mut input: impl Read, path: &Path) -> Result<Content> {
    let name = path.display().to_string();
    let mut begin = Vec::new();
    let length = strata_recording::MAGIC.len() as u64;
    input.by_ref().take(length).read_to_end(&mut begin).map_err(|error| unread(path, error))?;
    if begin == strata_recording::MAGIC {
        let whole = begin.as_slice().chain(input);
        let answer = Recording::from_reader(BufReader::new(whole), &name)?.replay()?;
        return Ok(Content::Recorded(Box::new(document(answer))));
    }
    let mut bytes = begin;
    input.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| unread(path, error))?;
    if bytes.len() as u64 > LONGEST {
        return Err(Error::Input(format!(
            "`{name}` is longer than {}, so it is not a result (the longest has half a MiB); give a result as JSON, or a recording",
            Bytes(LONGEST)
        )));
    }
    Ok(Content::Text(bytes))
}

fn unread(path: &Path, source: std::io::Error) -> Error {
    Error::Unreadable { path: path.to_owned(), advice: "; take another copy", source }
}
