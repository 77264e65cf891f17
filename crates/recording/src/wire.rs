//! The layout of a block on disk, which is independent of its layout in memory; the encoding is described in the parent module.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::{Deserialize as DeserializeDerive, Serialize, Serializer};

use super::experiments::{Kinds, Recorded, listed_of};
use super::{Code, Entry, Header, MAX_FACTS};
use strata_model::characterization::{PartName, Suite};
use strata_model::disturbance::Disturbance;
use strata_model::samples::{ClockSpan, Failure, Lap, ProgramFacts, Samples};
use strata_model::topology::RunInfo;

/// First bytes of every recording.
pub const MAGIC: [u8; 8] = *b"\x89STR\r\n\x1A\n";

/// Bytes before the first block.
pub const PREAMBLE: usize = 16;

/// Bytes before the compressed bytes of a block.
pub const FRAME: usize = 12;

/// One block, whose experiments are as `E` has them.
#[derive(Serialize, DeserializeDerive)]
pub enum Block<'a, E> {
    Header(Box<Header>),
    Code(Code),
    #[serde(borrow)]
    Measured(Vec<WireEntry<'a, E>>),
    End(Box<RunInfo>),
    Asked(AskedLists),
    Seen(Vec<Disturbance>),
    Part(String, String),
    AskedCounts(AskedCounts),
}

/// The lists of a [`Suite`] that every recording of a characterization has.
#[derive(Serialize, DeserializeDerive)]
pub struct AskedLists {
    parts: Vec<PartName>,
    threads: Vec<u32>,
    distances: Vec<u64>,
    jumps: Vec<u64>,
}

/// The counts of a [`Suite`], where they are not the default ones. Older recordings have none.
#[derive(PartialEq, Serialize, DeserializeDerive)]
pub struct AskedCounts {
    barriers: Vec<u32>,
    variables: Vec<u32>,
    statements: u32,
}

/// A question as its two blocks.
pub fn asked(suite: &Suite) -> (AskedLists, Option<AskedCounts>) {
    let Suite { parts, threads, distances, jumps, barriers, variables, statements } = suite.clone();
    let counts = AskedCounts { barriers, variables, statements };
    let usual = counts == AskedCounts::default();
    (AskedLists { parts, threads, distances, jumps }, (!usual).then_some(counts))
}

impl AskedLists {
    /// The question with the default counts.
    pub fn suite(self) -> Suite {
        let AskedLists { parts, threads, distances, jumps } = self;
        Suite { parts, threads, distances, jumps, ..Suite::default() }
    }
}

impl AskedCounts {
    /// The question with these counts.
    pub fn added_to(self, suite: Suite) -> Suite {
        let AskedCounts { barriers, variables, statements } = self;
        Suite { barriers, variables, statements, ..suite }
    }
}

impl Default for AskedCounts {
    fn default() -> Self {
        let Suite { barriers, variables, statements, .. } = Suite::default();
        AskedCounts { barriers, variables, statements }
    }
}

impl<'a, E: Deserialize<'a>> Block<'a, E> {
    /// The block that these bytes are; an error says what is wrong with them.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, String> {
        // The first byte is the variant. Other than code (1) and entries (2) are facts, which hold lists: empty
        // strings take 24 times as much memory as bytes here, numbers up to 8 times.
        if bytes.len() > MAX_FACTS && !matches!(bytes.first(), Some(1 | 2)) {
            return Err(format!("{} bytes of facts are more than the {MAX_FACTS} allowed", bytes.len()));
        }
        match postcard::take_from_bytes(bytes) {
            Ok((block, [])) => Ok(block),
            Ok((_, rest)) => Err(format!("{} bytes follow its content", rest.len())),
            Err(error) => Err(format!("its content is not what one holds ({error})")),
        }
    }
}

/// An [`Entry`] on disk.
#[derive(Serialize, DeserializeDerive)]
pub struct WireEntry<'a, E> {
    number: u32,
    experiment: E,
    kernel_version: u16,
    #[serde(borrow)]
    outcome: Outcome<'a>,
    at_s: f64,
}

/// What came back, on disk. The first two variants are all that version 2 of the format has. No kernel tells of its SMs and of its program.
#[derive(Serialize, DeserializeDerive)]
enum Outcome<'a> {
    #[serde(borrow)]
    Samples(WireSamples<'a>),
    Failure(Failure),
    WithProgram(#[serde(borrow)] WireSamples<'a>, ProgramFacts),
    WithSms(#[serde(borrow)] WireSamples<'a>, #[serde(borrow)] Planes<'a>),
}

/// [`Samples`] on disk.
#[derive(Serialize, DeserializeDerive)]
struct WireSamples<'a> {
    #[serde(borrow)]
    latencies: Planes<'a>,
    laps: Vec<Lap>,
    clocks: Vec<ClockSpan>,
    sm: u32,
    base: u64,
}

impl From<&Entry> for WireEntry<'static, Kinds> {
    fn from(entry: &Entry) -> Self {
        let wire = |samples: &Samples| WireSamples {
            latencies: Planes::pack(&samples.latencies),
            laps: samples.laps.clone(),
            clocks: samples.clocks.clone(),
            sm: samples.sm,
            base: samples.base,
        };
        let outcome = match &entry.outcome {
            Ok(samples) if !samples.sms.is_empty() => Outcome::WithSms(wire(samples), Planes::pack(&samples.sms)),
            Ok(samples) => match samples.program {
                Some(program) => Outcome::WithProgram(wire(samples), program),
                None => Outcome::Samples(wire(samples)),
            },
            Err(failure) => Outcome::Failure(failure.clone()),
        };
        WireEntry {
            number: entry.number,
            experiment: Kinds::from(&entry.experiment),
            kernel_version: entry.kernel_version,
            outcome,
            at_s: entry.at_s,
        }
    }
}

/// What an entry on disk turns out to be.
pub enum Unpacked {
    Entry(Box<Entry>),
    /// No experiment can be so: its number, and why.
    Impossible(u32, String),
}

impl<E: Recorded> WireEntry<'_, E> {
    /// Bytes that the entry takes in memory.
    pub fn held(&self) -> u64 {
        let content = match &self.outcome {
            Outcome::Samples(samples) | Outcome::WithProgram(samples, _) => {
                size(samples.latencies.len(), &samples.laps, &samples.clocks)
            }
            Outcome::WithSms(samples, sms) => size(samples.latencies.len() + sms.len(), &samples.laps, &samples.clocks),
            Outcome::Failure(failure) => failure_size(failure),
        };
        content + self.experiment.listed() + size_of::<Entry>() as u64
    }

    /// The entry in memory; an error says what is wrong with the latencies.
    pub fn unpack(self) -> Result<Unpacked, String> {
        let samples = |wire: WireSamples, program| -> Result<Samples, String> {
            Ok(Samples {
                latencies: wire.latencies.unpack()?,
                laps: wire.laps,
                clocks: wire.clocks,
                sm: wire.sm,
                base: wire.base,
                program,
                sms: Vec::new(),
            })
        };
        let outcome = match self.outcome {
            Outcome::Samples(wire) => Ok(samples(wire, None)?),
            Outcome::WithProgram(wire, program) => Ok(samples(wire, Some(program))?),
            Outcome::WithSms(wire, sms) => Ok(Samples { sms: sms.unpack()?, ..samples(wire, None)? }),
            Outcome::Failure(failure) => Err(failure),
        };
        let WireEntry { number, kernel_version, at_s, .. } = self;
        Ok(match self.experiment.experiment() {
            Ok(experiment) => Unpacked::Entry(Box::new(Entry { number, experiment, kernel_version, outcome, at_s })),
            Err(why) => Unpacked::Impossible(number, why),
        })
    }
}

/// Bytes that an entry takes in memory; the same as [`WireEntry::held`] of its wire form.
pub fn held(entry: &Entry) -> u64 {
    let content = match &entry.outcome {
        Ok(samples) => size(samples.latencies.len() + samples.sms.len(), &samples.laps, &samples.clocks),
        Err(failure) => failure_size(failure),
    };
    content + listed_of(&entry.experiment) + size_of::<Entry>() as u64
}

fn size(latencies: usize, laps: &[Lap], clocks: &[ClockSpan]) -> u64 {
    (latencies * size_of::<u32>() + size_of_val(laps) + size_of_val(clocks)) as u64
}

fn failure_size(failure: &Failure) -> u64 {
    match failure {
        Failure::Unsupported { reason } | Failure::Failed { reason } => reason.len() as u64,
        Failure::NotRecorded | Failure::Interrupted => 0,
    }
}

/// Latencies as planes of bytes behind the number of planes, or nothing at all.
///
/// Planes, because with them the compressed size is within 5 % of the latencies' entropy where they scatter: 0.64 bytes
/// a load of an L2 with a spread of 48 cycles, 0.87 of a DRAM with 160, against 0.81 and 1.05 as varints (zstd level
/// 3). A single outlier of 100,000 cycles costs nothing, while it would double 16-bit numbers.
struct Planes<'a>(Cow<'a, [u8]>);

impl Planes<'_> {
    fn pack(latencies: &[u32]) -> Planes<'static> {
        let Some(&largest) = latencies.iter().max() else { return Planes(Cow::Borrowed(&[])) };
        let planes = (4 - largest.leading_zeros() / 8).max(1);
        let mut bytes = Vec::with_capacity(1 + latencies.len() * planes as usize);
        bytes.push(planes as u8);
        for plane in 0..planes {
            bytes.extend(latencies.iter().map(|latency| (latency >> (8 * plane)) as u8));
        }
        Planes(Cow::Owned(bytes))
    }

    /// Number of latencies, if the bytes are well formed.
    fn len(&self) -> usize {
        match self.0.split_first() {
            Some((&planes @ 1..=4, rest)) => rest.len() / usize::from(planes),
            _ => 0,
        }
    }

    fn unpack(&self) -> Result<Vec<u32>, String> {
        let Some((&planes, bytes)) = self.0.split_first() else { return Ok(Vec::new()) };
        if !(1..=4).contains(&planes) || bytes.len() % usize::from(planes) != 0 {
            return Err(format!("{} bytes of latencies are not {planes} planes", bytes.len()));
        }
        let mut latencies = vec![0; self.len()];
        for (plane, bytes) in bytes.chunks_exact(latencies.len().max(1)).enumerate() {
            for (latency, &byte) in latencies.iter_mut().zip(bytes) {
                *latency |= u32::from(byte) << (8 * plane);
            }
        }
        Ok(latencies)
    }
}

impl Serialize for Planes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Planes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowed;
        impl<'de> Visitor<'de> for Borrowed {
            type Value = &'de [u8];

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                Ok(bytes)
            }
        }
        deserializer.deserialize_bytes(Borrowed).map(|bytes| Planes(Cow::Borrowed(bytes)))
    }
}
