//! Reads many results at once and keeps the numbers that they are compared by.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use strata_model::attribute::Value;

use super::document::{SCHEMA, Skipped};
use super::light::{Light, Run, Said};
use super::places::Id;
use crate::compare::{self, Document, LONGEST};

/// A word or unit by its number.
pub type Word = u32;

/// What a result says at a place, in a few bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Short {
    /// No value.
    Unknown,
    /// A number, its interval and its level; NaN stands for what is not there.
    Number {
        /// The value.
        value: f64,
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
        /// Level.
        level: f32,
    },
    /// Anything else, by its number among all words.
    Word(Word),
}

/// A place, its unit, and what is said there.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The place.
    pub id: Id,
    /// The unit, by its number; 0 where there is none.
    pub unit: u16,
    /// What is said.
    pub said: Short,
}

/// The GPU at the other end of a link.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// As its driver names it.
    pub product: String,
    /// UUID.
    pub uuid: Option<String>,
}

/// A result.
#[derive(Debug)]
pub struct Found {
    /// Its file.
    pub file: PathBuf,
    /// The GPU or link of a node, by the name in its result.
    pub device: Option<String>,
    /// The GPU, as its driver names it.
    pub product: String,
    /// UUID of the GPU.
    pub uuid: Option<String>,
    /// Of a link, the GPU whose memory it is.
    pub peer: Option<Peer>,
    /// Version of the driver.
    pub driver: Option<String>,
    /// SMs that the process could use; 0 where nobody says.
    pub multiprocessors: u32,
    /// How it was made.
    pub run: Run,
    /// Its values, in the order of their places.
    pub cells: Box<[Cell]>,
}

/// Words and units that occur in results, each once.
#[derive(Debug, Default)]
pub struct Words {
    values: Vec<Value>,
    by_text: HashMap<String, Word>,
    units: Vec<String>,
}

impl Words {
    /// A word by its number.
    pub fn value(&self, word: Word) -> &Value {
        &self.values[word as usize]
    }

    /// A unit by its number.
    pub fn unit(&self, unit: u16) -> Option<&str> {
        self.units.get(usize::from(unit).checked_sub(1)?).map(String::as_str)
    }

    fn word(&mut self, value: Value) -> Word {
        // A number in a word is finite, and its keys are texts, so this cannot fail.
        let text = serde_json::to_string(&value).unwrap_or_default();
        *self.by_text.entry(text).or_insert_with(|| {
            self.values.push(value);
            (self.values.len() - 1) as Word
        })
    }

    fn number_of(&mut self, unit: &str) -> u16 {
        let known = self.units.iter().position(|known| known == unit);
        let at = known.unwrap_or_else(|| {
            self.units.push(unit.to_owned());
            self.units.len() - 1
        });
        // Results have a dozen units. Those of a hand-made result beyond that are one.
        u16::try_from(at + 1).unwrap_or(u16::MAX)
    }
}

/// All that was read.
#[derive(Debug, Default)]
pub struct All {
    /// The results, in the order of their files.
    pub results: Vec<Found>,
    /// What could not be used, in the order of the files.
    pub skipped: Vec<Skipped>,
    /// Reports of earlier fleets among the files.
    pub earlier: usize,
    /// The words.
    pub words: Words,
}

/// What came of a file.
enum Outcome {
    /// A result, or one of each GPU of a node.
    Found(Vec<Found>),
    Earlier,
    Skipped(String),
}

/// Reads all files, on all cores of the host.
pub fn read(files: &[PathBuf]) -> All {
    let next = AtomicUsize::new(0);
    let words = Mutex::new(Words::default());
    let work = || {
        let (mut done, mut bytes, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = files.get(at) else { return done };
            done.push((at, one(path, &mut bytes, &mut scratch, &words)));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(files.len());
    let mut outcomes: Vec<(usize, Outcome)> = thread::scope(|scope| {
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for worker in workers {
            match worker.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    outcomes.sort_by_key(|(at, _)| *at);
    let mut all = All { words: words.into_inner().unwrap_or_else(PoisonError::into_inner), ..All::default() };
    let mut runs: HashMap<u64, usize> = HashMap::new();
    for (at, outcome) in outcomes {
        let file = files[at].display().to_string();
        match outcome {
            Outcome::Earlier => all.earlier += 1,
            Outcome::Skipped(reason) => all.skipped.push(Skipped { file, reason }),
            Outcome::Found(all_found) => {
                for (place, found) in all_found.into_iter().enumerate() {
                    let run = fingerprint(&found, place);
                    match runs.get(&run) {
                        Some(first) => {
                            let first = all.results[*first].file.display();
                            let reason = format!("is the same run as `{first}`; it counts once");
                            all.skipped.push(Skipped { file: file.clone(), reason });
                        }
                        None => {
                            runs.insert(run, all.results.len());
                            all.results.push(found);
                        }
                    }
                }
            }
        }
    }
    all
}

/// Equal for two copies of a result, also where one of them is compact. Simulated GPUs have no UUID: those of one file are told apart by their
/// place in it.
fn fingerprint(found: &Found, place: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    found.uuid.is_none().then_some(place).hash(&mut hasher);
    (&found.product, &found.uuid, &found.peer, &found.run.started, found.run.seed).hash(&mut hasher);
    for cell in &found.cells {
        (cell.id, cell.unit).hash(&mut hasher);
        match cell.said {
            Short::Unknown => 0.hash(&mut hasher),
            Short::Word(word) => word.hash(&mut hasher),
            Short::Number { value, low, high, .. } => [value, low, high].map(f64::to_bits).hash(&mut hasher),
        }
    }
    hasher.finish()
}

fn one(path: &Path, bytes: &mut Vec<u8>, scratch: &mut Vec<u8>, words: &Mutex<Words>) -> Outcome {
    bytes.clear();
    let read = strata_files::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(bytes));
    match read {
        Err(error) => return Outcome::Skipped(format!("cannot be read: {error}")),
        Ok(length) if length as u64 > LONGEST => {
            return Outcome::Skipped("is longer than any result".into());
        }
        Ok(_) => {}
    }
    if bytes.starts_with(strata_recording::MAGIC.as_slice()) {
        let what = "is a recording; `strata replay FILE --format json` makes a result of it";
        return Outcome::Skipped(what.into());
    }
    let all = match Light::quick(bytes, scratch) {
        Some(light) => vec![(light, None)],
        None => match strictly(bytes) {
            Ok(all) => all,
            Err(outcome) => return outcome,
        },
    };
    Outcome::Found(all.into_iter().map(|(light, device)| short(path, light, device, words)).collect())
}

/// What the reader of a comparison says of the bytes: each result, of a node with the name of its GPU or link.
fn strictly(bytes: &[u8]) -> Result<Vec<(Light, Option<String>)>, Outcome> {
    let not = |what: &str| Outcome::Skipped(format!("{what}; a fleet is made of results of `strata discover`"));
    match compare::parse_all("", bytes) {
        Ok(documents) if documents.is_empty() => Err(Outcome::Skipped("has no GPU or link that was measured".into())),
        Ok(documents) => documents
            .into_iter()
            .map(|(document, device)| match document {
                Document::Topology(topology) => Ok((Light::of(&topology), device)),
                Document::Characterization(_) => Err(not("is a result of `strata characterize`")),
                Document::Mt4g(_) => Err(not("is a summary of MT4G")),
            })
            .collect(),
        Err(compare::Error::Empty { .. }) => Err(not("is empty")),
        Err(compare::Error::NotText { .. }) => Err(not("is no text")),
        Err(compare::Error::OfNvbandwidth { .. }) => Err(not("is of nvbandwidth")),
        Err(compare::Error::Schema { found, .. }) if found.contains(SCHEMA) => Err(Outcome::Earlier),
        Err(compare::Error::Schema { found, .. }) => Err(not(&found)),
        Err(compare::Error::Impossible { what, .. }) => {
            Err(Outcome::Skipped(format!("was changed or damaged: {what}")))
        }
        Err(compare::Error::Syntax { line, column, what, .. }) => {
            Err(Outcome::Skipped(format!("is damaged or cut: {what} in line {line}, column {column}")))
        }
    }
}

fn short(path: &Path, light: Light, device: Option<String>, words: &Mutex<Words>) -> Found {
    let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
    let cells = light.cells.into_iter().map(|cell| {
        let unit = cell.unit.as_deref().map_or(0, |unit| words.number_of(unit));
        let said = match cell.said {
            Said::Unknown => Short::Unknown,
            Said::Word(value) => Short::Word(words.word(value)),
            Said::Number(number) => Short::Number {
                value: number.value,
                low: number.low.unwrap_or(f64::NAN),
                high: number.high.unwrap_or(f64::NAN),
                level: number.level.map_or(f32::NAN, |level| level as f32),
            },
        };
        Cell { id: cell.id, unit, said }
    });
    let cells = cells.collect();
    let known = |uuid: Option<String>| uuid.filter(|uuid| !uuid.is_empty());
    Found {
        file: path.to_owned(),
        device,
        product: light.device.name,
        uuid: known(light.device.uuid),
        peer: light.device.peer.map(|peer| Peer { product: peer.name, uuid: known(peer.uuid) }),
        driver: light.device.driver_version,
        multiprocessors: light.device.multiprocessors,
        run: light.run,
        cells,
    }
}
