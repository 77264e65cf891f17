//! Reads a recording in bounded memory. The file may be cut, damaged, of another version, or not a recording.

use std::io::{BufReader, Read};
use std::path::Path;

use serde::de::DeserializeOwned;

use super::experiments::{Kinds, Recorded};
use super::input::{Frame, Input};
use super::legacy::Legacy;
use super::wire::{Block, Unpacked};
use super::{
    BOARD, Code, Cut, Entries, Entry, Error, HOST, Header, Lost, MAX_HELD, Missing, OLDEST_OF_KINDS, PEER, Recording,
    SELECTION,
};
use strata_model::characterization::Suite;
use strata_model::disturbance::Disturbance;
use strata_model::experiment::Experiment;
use strata_model::facts::{BoardFacts, HostFacts};
use strata_model::topology::{RunInfo, Selection};

impl Recording {
    /// Reads a recording from a file; every error names it.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = strata_files::open(path).map_err(|source| Error::Open { path: path.to_owned(), source })?;
        Recording::from_reader(BufReader::new(file))
            .map_err(|error| Error::In { path: path.to_owned(), error: Box::new(error) })
    }

    /// Reads a recording from anything that gives bytes.
    pub fn from_reader(input: impl Read) -> Result<Self, Error> {
        let mut input = Input::new(input);
        let version = input.preamble()?;
        let mut content = Content::default();
        let cut = loop {
            let (block, offset) = (input.block, input.offset);
            let plain = match input.frame()? {
                Frame::Complete(plain) => plain,
                Frame::Cut(_) if content.header.is_none() => {
                    input.drain()?;
                    return Err(Error::NoHeader { length: input.offset });
                }
                Frame::Damaged(what) if content.header.is_none() => return Err(Error::Damaged { block, offset, what }),
                Frame::Cut(what) | Frame::Damaged(what) => {
                    let Some(plain) = input.next_whole()? else {
                        input.drain()?;
                        break Some(Cut { offset, reason: what });
                    };
                    content.lost.push(Gap { before: content.entries.len(), offset, end: input.begin, what });
                    plain
                }
            };
            let offset = input.begin;
            content.take(version, &plain, offset, |what| Error::Damaged { block, offset, what })?;
            if content.end.is_some() {
                let end = input.offset;
                break if input.bytes(1)?.is_empty() { None } else { return Err(Error::Trailing { offset: end }) };
            }
            input.block += 1;
        };
        let lost = content.located();
        let Content { header, asked, selection, codes, entries, impossible, seen, host, board, end, .. } = content;
        let header = header.unwrap_or_default();
        Ok(Recording {
            header,
            asked,
            selection,
            codes,
            entries: Entries::new(entries),
            impossible,
            seen,
            host,
            board,
            end,
            cut,
            lost,
            bytes: input.offset,
        })
    }
}

/// What the blocks so far held.
#[derive(Default)]
struct Content {
    header: Option<Header>,
    asked: Option<Suite>,
    selection: Option<Selection>,
    codes: Vec<Code>,
    entries: Vec<Entry>,
    impossible: Vec<(u32, String)>,
    seen: Option<Vec<Disturbance>>,
    host: Option<HostFacts>,
    board: Option<BoardFacts>,
    end: Option<RunInfo>,
    lost: Vec<Gap>,
    held: u64,
}

/// What is damaged between whole blocks, and how many experiments were read before.
struct Gap {
    before: usize,
    offset: u64,
    end: u64,
    what: String,
}

impl Content {
    /// Decodes a block of this version and adds what it holds.
    fn take(
        &mut self,
        version: u16,
        plain: &[u8],
        offset: u64,
        damaged: impl Fn(String) -> Error,
    ) -> Result<(), Error> {
        if version < OLDEST_OF_KINDS {
            self.add(Block::<Legacy>::decode(plain).map_err(&damaged)?, offset, damaged)
        } else {
            self.add(Block::<Kinds>::decode(plain).map_err(&damaged)?, offset, damaged)
        }
    }

    fn add<E: Recorded>(
        &mut self,
        block: Block<'_, E>,
        offset: u64,
        damaged: impl Fn(String) -> Error,
    ) -> Result<(), Error> {
        match block {
            Block::Header(header) if self.header.is_none() => {
                if let Some(defect) = header.device.defect() {
                    return Err(damaged(defect));
                }
                self.header = Some(*header);
            }
            Block::Header(_) => return Err(damaged("it is a second header".into())),
            _ if self.header.is_none() => return Err(damaged("it comes before the header".into())),
            Block::Asked(suite) => {
                if self.asked.is_some() || !self.codes.is_empty() || !self.entries.is_empty() {
                    return Err(damaged("it is a question that does not follow the header".into()));
                }
                self.asked = Some(suite.suite());
            }
            Block::AskedCounts(counts) => match self.asked.take() {
                Some(suite) if self.codes.is_empty() && self.entries.is_empty() => {
                    self.asked = Some(counts.added_to(suite));
                }
                // The question is what was lost.
                None if !self.lost.is_empty() => {}
                _ => return Err(damaged("it has counts that do not follow a question".into())),
            },
            Block::Code(code) => {
                self.hold(code.held(), offset)?;
                self.codes.push(code);
            }
            Block::Measured(batch) => {
                for entry in batch {
                    self.hold(entry.held(), offset)?;
                    match entry.unpack().map_err(&damaged)? {
                        Unpacked::Entry(entry) => self.entries.push(*entry),
                        Unpacked::Impossible(number, why) => self.impossible.push((number, why)),
                    }
                }
            }
            Block::Seen(seen) => self.seen.get_or_insert_default().extend(seen),
            Block::Part(name, json) => match name.as_str() {
                PEER => {
                    let Some(header) = &mut self.header else { return Ok(()) };
                    header.device.peer = Some(part(&json).map_err(&damaged)?);
                    if let Some(defect) = header.device.defect() {
                        return Err(damaged(defect));
                    }
                }
                SELECTION => self.selection = Some(part(&json).map_err(damaged)?),
                HOST => self.host = Some(part(&json).map_err(damaged)?),
                BOARD => self.board = Some(part(&json).map_err(damaged)?),
                // Of a later version.
                _ => {}
            },
            Block::End(run) => self.end = Some(*run),
        }
        Ok(())
    }

    /// What is lost, with the experiments that are missing there. Where that was the question of a characterization, the default
    /// one is assumed.
    fn located(&mut self) -> Vec<Lost> {
        let is_pattern = |entry: &Entry| matches!(entry.experiment, Experiment::Pattern(_));
        let is_characterization = self.asked.is_some() || self.entries.iter().any(is_pattern);
        let mut lost = Vec::new();
        for Gap { before, offset, end, what } in std::mem::take(&mut self.lost) {
            let (first, behind) = self.entries.split_at(before);
            // Runs count from 1.
            let next = first.iter().map(|entry| entry.number).max().unwrap_or(0).saturating_add(1);
            let missing = match behind.first() {
                None => Missing::PerhapsLast,
                Some(entry) if entry.number <= next => Missing::Nothing,
                Some(entry) => Missing::Experiments { first: next, last: entry.number - 1 },
            };
            let what = if before == 0 && is_characterization && self.asked.is_none() {
                self.asked = Some(Suite::default());
                format!("{what}; it held what was asked, and the default is assumed")
            } else {
                what
            };
            lost.push(Lost { offset, end, what, missing });
        }
        lost
    }

    fn hold(&mut self, bytes: u64, offset: u64) -> Result<(), Error> {
        self.held += bytes;
        if self.held > MAX_HELD { Err(Error::Full { offset }) } else { Ok(()) }
    }
}

/// A part of the run, from its JSON; an error says what is wrong with it.
fn part<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| format!("its part of the run is not what one holds ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VERSION;
    use crate::wire::WireEntry;
    use strata_model::experiment::Clock;
    use strata_model::samples::Failure;

    #[test]
    fn what_is_held_is_limited() {
        let entry = Entry::new(0, Clock { span_us: 1, sm: 0, repeat: 0 }.into(), Err(Failure::failed("because")), 0.0);
        let wire = WireEntry::from(&entry);
        assert_eq!(wire.held(), size_of::<Entry>() as u64 + 7);
        let held = MAX_HELD - wire.held();
        let plain = postcard::to_stdvec(&Block::Measured(vec![wire])).unwrap();
        let mut content = Content { header: Some(Header::default()), held, ..Content::default() };
        let mut take = || content.take(VERSION, &plain, 77, |what| panic!("{what}"));
        take().unwrap();
        assert!(matches!(take(), Err(Error::Full { offset: 77 })));
        assert_eq!(content.entries, [entry]);
    }
}
