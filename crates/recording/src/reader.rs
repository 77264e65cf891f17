//! Reads a recording in bounded memory. The file may be cut, damaged, of another version, or not a recording.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use serde::de::DeserializeOwned;
use zstd::bulk::Decompressor;
use zstd::zstd_safe::compress_bound;

use super::experiments::{Kinds, Recorded};
use super::legacy::Legacy;
use super::wire::{Block, FRAME, MAGIC, PREAMBLE, Unpacked};
use super::{
    BOARD, Code, Cut, Entries, Entry, Error, HOST, Header, MAX_BLOCK, MAX_HELD, OLDEST, OLDEST_OF_KINDS, Recording,
    VERSION,
};
use strata_model::characterization::Suite;
use strata_model::disturbance::Disturbance;
use strata_model::facts::{BoardFacts, HostFacts};
use strata_model::topology::RunInfo;
use strata_model::units::Bytes;

impl Recording {
    /// Reads a recording from a file; every error names it.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|source| Error::Open { path: path.to_owned(), source })?;
        Recording::from_reader(BufReader::new(file))
            .map_err(|error| Error::In { path: path.to_owned(), error: Box::new(error) })
    }

    /// Reads a recording from anything that gives bytes.
    pub fn from_reader(input: impl Read) -> Result<Self, Error> {
        let mut input = Input { input, offset: 0, block: 0 };
        let version = input.preamble()?;
        let mut content = Content::default();
        let cut = loop {
            let offset = input.offset;
            let damaged = |block, what| Error::Damaged { block, offset, what };
            match input.frame()? {
                Frame::Complete(plain) => {
                    content.take(version, &plain, offset, |what| damaged(input.block, what))?;
                }
                Frame::Cut(_) if content.header.is_none() => return Err(Error::NoHeader { length: input.offset }),
                Frame::Cut(reason) => break Some(Cut { offset, reason }),
            }
            if content.end.is_some() {
                let end = input.offset;
                break if input.bytes(1)?.is_empty() { None } else { return Err(Error::Trailing { offset: end }) };
            }
            input.block += 1;
        };
        let Content { header, asked, codes, entries, impossible, seen, host, board, end, .. } = content;
        let header = header.unwrap_or_default();
        Ok(Recording {
            header,
            asked,
            codes,
            entries: Entries::new(entries),
            impossible,
            seen,
            host,
            board,
            end,
            cut,
            bytes: input.offset,
        })
    }
}

/// What the blocks so far held.
#[derive(Default)]
struct Content {
    header: Option<Header>,
    asked: Option<Suite>,
    codes: Vec<Code>,
    entries: Vec<Entry>,
    impossible: Vec<(u32, String)>,
    seen: Option<Vec<Disturbance>>,
    host: Option<HostFacts>,
    board: Option<BoardFacts>,
    end: Option<RunInfo>,
    held: u64,
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
            Block::Header(header) if self.header.is_none() => self.header = Some(*header),
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
                HOST => self.host = Some(part(&json).map_err(damaged)?),
                BOARD => self.board = Some(part(&json).map_err(damaged)?),
                // Of a later version.
                _ => {}
            },
            Block::End(run) => self.end = Some(*run),
        }
        Ok(())
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

/// A block as the file has it.
enum Frame {
    /// Decompressed.
    Complete(Vec<u8>),
    /// The file ends before the block does; what is missing.
    Cut(String),
}

/// The file, and how much of it has been read.
struct Input<R> {
    input: R,
    offset: u64,
    block: u64,
}

impl<R: Read> Input<R> {
    /// The next `count` bytes, fewer at the end of the file.
    fn bytes(&mut self, count: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let offset = self.offset;
        self.input.by_ref().take(count).read_to_end(&mut bytes).map_err(|source| Error::Read { offset, source })?;
        self.offset += bytes.len() as u64;
        Ok(bytes)
    }

    /// Reads the preamble, and gives the version of the format.
    fn preamble(&mut self) -> Result<u16, Error> {
        let bytes = self.bytes(PREAMBLE as u64)?;
        if bytes.is_empty() {
            return Err(Error::Empty);
        }
        let magic = bytes.len().min(MAGIC.len());
        if bytes[..magic] != MAGIC[..magic] {
            return Err(Error::NotARecording { hint: hint(&bytes) });
        }
        let Ok([.., low, high, r0, r1, r2, r3, r4, r5]) = <[u8; PREAMBLE]>::try_from(bytes) else {
            return Err(Error::NoHeader { length: self.offset });
        };
        match u16::from_le_bytes([low, high]) {
            version @ OLDEST..=VERSION if [r0, r1, r2, r3, r4, r5] == [0; 6] => Ok(version),
            OLDEST..=VERSION => {
                Err(Error::Damaged { block: 0, offset: 10, what: "the reserved bytes are not zero".into() })
            }
            found => Err(Error::Version { found }),
        }
    }

    /// The next block, checked and decompressed. Its lengths are checked before a byte of it is read.
    fn frame(&mut self) -> Result<Frame, Error> {
        let (block, offset) = (self.block, self.offset);
        let damaged = |what: String| Err(Error::Damaged { block, offset, what });
        let frame = self.bytes(FRAME as u64)?;
        let (numbers, _) = frame.as_chunks::<4>();
        let &[packed, plain, crc] = numbers else {
            return Ok(Frame::Cut(match frame.len() {
                0 => "the block that ends a recording is missing".into(),
                present => format!("{present} of the {FRAME} bytes before a block are there"),
            }));
        };
        let [packed, plain, crc] = [packed, plain, crc].map(u32::from_le_bytes);
        if plain as usize > MAX_BLOCK {
            let (claim, limit) = (Bytes(plain.into()), Bytes(MAX_BLOCK as u64));
            return damaged(format!("it claims to hold {claim}, more than the {limit} allowed"));
        }
        if packed as usize > compress_bound(plain as usize) {
            return damaged(format!("it claims {packed} bytes for a content of {plain}"));
        }
        let bytes = self.bytes(packed.into())?;
        if bytes.len() < packed as usize {
            return Ok(Frame::Cut(format!("{} of the {packed} bytes of a block are there", bytes.len())));
        }
        if crc32fast::hash(&bytes) != crc {
            return damaged("its checksum does not fit".into());
        }
        match Decompressor::new().and_then(|mut zstd| zstd.decompress(&bytes, plain as usize)) {
            Ok(content) if content.len() == plain as usize => Ok(Frame::Complete(content)),
            Ok(content) => damaged(format!("it holds {} bytes and claims {plain}", content.len())),
            Err(error) => damaged(format!("it does not decompress to the {plain} bytes it claims ({error})")),
        }
    }
}

/// What a file without the magic bytes looks like.
fn hint(bytes: &[u8]) -> String {
    let text = bytes.trim_ascii_start();
    match bytes {
        _ if text.starts_with(b"{") || text.starts_with(b"[") => {
            "it looks like JSON, not like what `strata discover --record FILE` writes; `strata compare` takes JSON"
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "it is compressed by zstd; decompress it first, with `zstd -d`",
        [0x1f, 0x8b, ..] => "it is compressed by gzip; decompress it first, with `gunzip`",
        [b'P', b'K', 3, 4, ..] => "it is a zip archive; unpack it first",
        _ if bytes.windows(3).take(4).any(|w| w == b"STR") => {
            "it was changed by a transfer as text; copy it again, as binary"
        }
        _ => "it does not begin as one; `strata discover --record FILE` makes one",
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
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
