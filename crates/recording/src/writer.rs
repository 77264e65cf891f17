//! Writes a recording during the measurement: one write per block, so that a killed run loses at most one block.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use strata_files::{Growing, STANDARD};
use zstd::bulk::Compressor;

use super::experiments::Kinds;
use super::wire::{self, Block, FRAME, MAGIC, PREAMBLE, WireEntry};
use super::{BOARD, Code, Entry, Error, HOST, Header, MAX_BLOCK, MAX_FACTS, MAX_HELD, PEER, SELECTION, VERSION};
use strata_model::characterization::Suite;
use strata_model::disturbance::Disturbance;
use strata_model::facts::{BoardFacts, HostFacts, PeerFacts};
use strata_model::topology::{RunInfo, Selection};

/// Effort of the compression. Level 6 takes four times as long for 4 % less; five million latencies take 0.05 s at 3.
const LEVEL: i32 = 3;

/// A batch is divided into blocks of about this many bytes, so that reading needs little memory at a time.
const TARGET: u64 = 4 << 20;

/// Writes a recording.
pub struct Writer<W: Write = Sink> {
    out: W,
    compressor: Compressor<'static>,
    bytes: u64,
    held: u64,
    stage: Stage,
}

/// What has been written so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Preamble,
    Header,
    Measurements,
    End,
    Broken,
}

/// Where a recording is written by default.
pub enum Sink {
    /// A file, which has its name once it is complete.
    File(Growing),
    /// Standard output.
    Standard(io::Stdout),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::File(file) => file.write(bytes),
            Sink::Standard(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::File(file) => file.flush(),
            Sink::Standard(out) => out.flush(),
        }
    }
}

impl Writer {
    /// Starts a recording in a file, or on standard output for `-`. The file is `NAME.partial` until [`Writer::complete`]; one
    /// that has its name stays until then.
    pub fn create(path: &Path) -> Result<Self, Error> {
        if path == Path::new(STANDARD) {
            return Writer::new(Sink::Standard(io::stdout()));
        }
        let create = |source: io::Error| match source.kind() {
            io::ErrorKind::WouldBlock => Error::Taken { path: path.to_owned() },
            _ => Error::Create { path: path.to_owned(), source },
        };
        Writer::new(Sink::File(Growing::begin(path).map_err(create)?))
    }

    /// Where the blocks are before the recording is complete; nowhere, if that is no plain file.
    pub fn partial(&self) -> Option<PathBuf> {
        match &self.out {
            Sink::File(file) => file.partial().map(Path::to_owned),
            Sink::Standard(_) => None,
        }
    }

    /// Gives the file its name; how many bytes it has.
    pub fn complete(self) -> Result<u64, Error> {
        let bytes = self.bytes;
        match self.out {
            Sink::File(file) => file.commit().map_err(|source| Error::Write { offset: bytes, source })?,
            Sink::Standard(_) => {}
        }
        Ok(bytes)
    }

    /// Removes the file, which holds nothing of use.
    pub fn discard(self) {
        if let Sink::File(file) = self.out {
            file.discard();
        }
    }
}

impl<W: Write> Writer<W> {
    /// Starts a recording in anything that takes bytes, with the preamble.
    pub fn new(out: W) -> Result<Self, Error> {
        let compressor = Compressor::new(LEVEL).map_err(|source| Error::Write { offset: 0, source })?;
        let mut writer = Writer { out, compressor, bytes: 0, held: 0, stage: Stage::Preamble };
        let mut preamble = [0; PREAMBLE];
        preamble[..8].copy_from_slice(&MAGIC);
        preamble[8..10].copy_from_slice(&VERSION.to_le_bytes());
        writer.write(&preamble)?;
        Ok(writer)
    }

    /// Writes what is known before the first sample. To be called once, before anything else.
    pub fn header(&mut self, header: &Header) -> Result<(), Error> {
        self.expect(Stage::Preamble, "a second header")?;
        self.block(&Block::Header(Box::new(header.clone())), MAX_FACTS, || "the header".into())?;
        self.stage = Stage::Header;
        Ok(())
    }

    /// Writes what a characterization was asked for. To be called right after the header; a recording without it is one of
    /// a discovery, or of experiments by themselves.
    pub fn asked(&mut self, suite: &Suite) -> Result<(), Error> {
        self.expect(Stage::Header, "a question that does not follow the header")?;
        let (lists, counts) = wire::asked(suite);
        self.block(&Block::Asked(lists), MAX_FACTS, || "the question".into())?;
        if let Some(counts) = counts {
            self.block(&Block::AskedCounts(counts), MAX_FACTS, || "the question's counts".into())?;
        }
        self.stage = Stage::Measurements;
        Ok(())
    }

    /// Writes what a discovery was asked for. To be called right after the header.
    pub fn selection(&mut self, selection: &Selection) -> Result<(), Error> {
        self.part(SELECTION, selection)
    }

    /// Writes what is known of the other GPU of a link. To be called right after the header.
    pub fn peer(&mut self, peer: &PeerFacts) -> Result<(), Error> {
        self.part(PEER, peer)
    }

    /// Writes a kernel that was loaded.
    pub fn code(&mut self, code: &Code) -> Result<(), Error> {
        self.measurements("machine code outside of the measurements")?;
        self.hold(code.held())?;
        self.block(&Block::Code(code.clone()), MAX_BLOCK, || format!("the machine code of `{}`", code.kernel))
    }

    /// Writes a batch.
    pub fn measured(&mut self, batch: &[Entry]) -> Result<(), Error> {
        self.measurements("samples outside of the measurements")?;
        let mut rest = batch;
        while !rest.is_empty() {
            let mut held = 0;
            let fitting = rest.iter().take_while(|entry| {
                held += wire::held(entry);
                held <= TARGET
            });
            let (block, after) = rest.split_at(fitting.count().max(1));
            self.hold(block.iter().map(wire::held).sum())?;
            let wire = Block::Measured(block.iter().map(WireEntry::from).collect());
            self.block(&wire, MAX_BLOCK, || format!("experiment {}", block[0].number))?;
            rest = after;
        }
        Ok(())
    }

    /// Writes what else used the device, once the run knows. To be called only if the run watched for that.
    pub fn seen(&mut self, disturbances: &[Disturbance]) -> Result<(), Error> {
        self.measurements("disturbances outside of the measurements")?;
        self.block(&Block::Seen(disturbances.to_vec()), MAX_FACTS, || "the disturbances".into())
    }

    /// Writes the facts of the host.
    pub fn host(&mut self, host: &HostFacts) -> Result<(), Error> {
        self.part(HOST, host)
    }

    /// Writes the facts of the board.
    pub fn board(&mut self, board: &BoardFacts) -> Result<(), Error> {
        self.part(BOARD, board)
    }

    fn part(&mut self, name: &'static str, part: &impl Serialize) -> Result<(), Error> {
        self.measurements("a part of the run outside of the measurements")?;
        let json = serde_json::to_string(part)
            .map_err(|error| Error::Write { offset: self.bytes, source: io::Error::other(error.to_string()) })?;
        self.block(&Block::Part(name.into(), json), MAX_FACTS, || format!("the {name}"))
    }

    /// Writes what is known at the end of the run. Nothing can be written after it.
    pub fn end(&mut self, run: &RunInfo) -> Result<(), Error> {
        self.measurements("an end without a header, or a second one")?;
        self.block(&Block::End(Box::new(run.clone())), MAX_FACTS, || "the end".into())?;
        self.stage = Stage::End;
        Ok(())
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What the recording was written to.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn expect(&self, stage: Stage, what: &'static str) -> Result<(), Error> {
        match self.stage {
            Stage::Broken => Err(Error::Broken { offset: self.bytes }),
            now if now == stage => Ok(()),
            _ => Err(Error::OutOfOrder { what }),
        }
    }

    /// What may stand behind the header as well as further on; from here on no question may.
    fn measurements(&mut self, what: &'static str) -> Result<(), Error> {
        if self.stage != Stage::Header {
            return self.expect(Stage::Measurements, what);
        }
        self.stage = Stage::Measurements;
        Ok(())
    }

    fn hold(&mut self, bytes: u64) -> Result<(), Error> {
        if self.held + bytes > MAX_HELD {
            return Err(Error::Full { offset: self.bytes });
        }
        self.held += bytes;
        Ok(())
    }

    fn block(&mut self, block: &Block<'_, Kinds>, limit: usize, what: impl FnOnce() -> String) -> Result<(), Error> {
        let failed = |offset, error| Error::Write { offset, source: error };
        let plain =
            postcard::to_stdvec(block).map_err(|error| failed(self.bytes, io::Error::other(error.to_string())))?;
        if plain.len() > limit {
            return Err(Error::Oversized { what: what(), size: plain.len() as u64, limit: limit as u64 });
        }
        let packed = self.compressor.compress(&plain).map_err(|error| failed(self.bytes, error))?;
        let mut framed = Vec::with_capacity(FRAME + packed.len());
        framed.extend((packed.len() as u32).to_le_bytes());
        framed.extend((plain.len() as u32).to_le_bytes());
        framed.extend(crc32fast::hash(&packed).to_le_bytes());
        framed.extend(packed);
        self.write(&framed)
    }

    /// Writes and flushes. After a failure the file ends in the middle of a block, so that nothing may follow.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if let Err(source) = self.out.write_all(bytes).and_then(|()| self.out.flush()) {
            self.stage = Stage::Broken;
            return Err(Error::Write { offset: self.bytes, source });
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::experiment::Clock;
    use strata_model::samples::Failure;

    #[test]
    fn a_recording_that_could_not_be_read_is_not_written() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.header(&Header::default()).unwrap();
        let entry = Entry::new(0, Clock { span_us: 1, sm: 0, repeat: 0 }.into(), Err(Failure::Interrupted), 0.0);
        writer.held = MAX_HELD - wire::held(&entry);
        writer.measured(std::slice::from_ref(&entry)).unwrap();
        let offset = writer.bytes();
        assert!(matches!(writer.measured(&[entry]), Err(Error::Full { offset: at }) if at == offset));
        writer.end(&RunInfo::default()).unwrap();
    }
}
