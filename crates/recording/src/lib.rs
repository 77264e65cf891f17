//! The recording: every experiment with its raw samples, so that a run can be analysed again.
//!
//! [`Writer`] appends to a file while the device is measured, [`Recording`] reads it back and answers experiments by
//! their content, as the device did. Nothing here knows how a device is driven or what is inferred from a sample.
//!
//! # Format, version 4
//!
//! All numbers of the framing are unsigned and little-endian. The file begins with a preamble of 16 bytes:
//!
//! | bytes | meaning |
//! |---|---|
//! | 0–7 | magic, `89 53 54 52 0D 0A 1A 0A`: `\x89STR\r\n\x1A\n`; as PNG's, it shows a transfer in text mode |
//! | 8–9 | version of the format, 4 |
//! | 10–15 | zero |
//!
//! Blocks follow until the end of the file, without gaps:
//!
//! | bytes | meaning |
//! |---|---|
//! | 0–3 | length of the compressed bytes |
//! | 4–7 | length of what they decompress to, at most [`MAX_BLOCK`] |
//! | 8–11 | CRC-32 (IEEE, as in zip) of the compressed bytes |
//! | 12– | a zstd frame: the [postcard](https://postcard.jamesmunns.com/wire-format) encoding of one block |
//!
//! In postcard an integer of more than one byte is a varint (7 bits a byte, lowest first; signed ones do not occur),
//! `f64` is 8 bytes, an `Option` is a 0 or 1 and the value, a string or list is its length and its items, an enum is
//! the number of its variant (from 0, in the order of the source) and the variant's fields, a structure or fixed array
//! is its fields and nothing else. A block is an enum:
//!
//! | variant | content |
//! |---|---|
//! | 0 `Header` | [`Header`]: device ([`DeviceFacts`]), run ([`RunInfo`] as known at the start) |
//! | 1 `Code` | [`Code`]: kernel (string), SHA-256 of its PTX (32 bytes), machine code and its SHA-256 (options) |
//! | 2 `Measured` | list of entries |
//! | 3 `End` | [`RunInfo`] as known at the end |
//! | 4 `Asked` | [`Suite`]: parts, thread counts, distances and jumps that a characterization was asked for, as four lists |
//! | 5 `Seen` | list of [`Disturbance`]s: from and to in seconds (f64), sign (enum), option of microseconds (f64), option of processes (u32), experiments (u32), consequence (enum) |
//! | 6 `Part` | a part of the run: its name and its JSON, as two strings. `selection` is [`Selection`], `host` is [`HostFacts`], `board` is [`BoardFacts`], `peer` is [`PeerFacts`](strata_model::facts::PeerFacts); other names are of later versions and are passed over |
//! | 7 `AskedCounts` | the rest of the [`Suite`]: list of numbers of barriers, list of numbers of variables, number of statements (u32 each) |
//!
//! The first block is the only `Header`. `Asked` is the second, if the run was a characterization; a replay gives then
//! the report of one. `AskedCounts` follows it, where they are not the default ones. `Code` and `Measured` follow in any order. `Seen` says that the run
//! watched for other users of the device, and what it saw; a file without it is of a run that did not watch, or that was cut. A
//! discovery writes the part `selection`, what it was asked for, behind the header: a [`RunInfo`] holds only the elements of that. In
//! older files all that the `RunInfo` names was asked for, with bandwidth if there is a `Stream`. A run
//! that measured a link writes `peer` there, too. A run writes its other `Part`s at its end. A file without one is of a run that left it out or could not have it, or it was cut. Of
//! several with one name the last counts. `End` is the last block; where it is missing the run
//! was interrupted or the file cut, and all complete blocks still count. Bytes after `End` are an error.
//!
//! A block whose lengths, checksum or compression are wrong is lost, and reading goes on at the next whole block: where the magic
//! number of a zstd frame follows lengths and a checksum that fit. Without the header nothing is read. A block that is whole and
//! does not hold what one holds is an error: no flipped bit makes one.
//!
//! An entry is: number (u32), [`Experiment`], version of its kernel (u16), outcome, time since the start in seconds
//! (f64). The outcome is variant 0 with samples, variant 1 with a [`Failure`], variant 2 `WithProgram` with samples and
//! what the compiler made of the kernel, [`ProgramFacts`](strata_model::samples::ProgramFacts): registers (u32), bytes of local memory (u32), microseconds of
//! compilation (u64), and an option of [`CodeFacts`](strata_model::samples::CodeFacts): bytes, loads and stores of local memory (u32 each). Variant 3
//! `WithSms` is samples and the SM of each block, in the form of latencies.
//! Samples are: latencies, list of laps (loads u32, cycles u64), list of clock readings (cycles u64, nanoseconds u64), SM
//! (u32), base address (u64).
//! Latencies are a length in bytes and that many bytes, of which the first is the number of planes `p` (1 to 4). The
//! rest is `p` planes of `n` bytes: the lowest byte of each of the `n` latencies, then the next higher byte of each,
//! and so on; `p` is as small as the largest latency allows. No latencies is length 0. High bytes hardly change from
//! one load to the next, so a plane of them compresses to almost nothing.
//!
//! An experiment is an enum of kinds:
//!
//! | variant | content |
//! |---|---|
//! | 0 `Clock` | [`Clock`](strata_model::experiment::Clock): span in microseconds, SM, repeat |
//! | 1 `Chase` | [`Chase`](strata_model::experiment::Chase): path, footprint, stride, order, timing, warm laps, preparation of the L2, place, seed, repeat |
//! | 2 `Disturb` | [`Disturb`](strata_model::experiment::Disturb): path, footprint, stride, order, loads, warm laps, partner, preparation, place, seed, repeat |
//! | 3 `Warp` | [`Warp`](strata_model::experiment::Warp): 32 offsets, width of an access (bytes), option of the width of a bank (bytes), footprint, warm loads, loads, rounds, place, repeat |
//! | 4 `Pattern` | [`PatternRun`](strata_model::experiment::PatternRun): pattern, path, rounds, preparation, option of the carveout in per cent, seed, repeat |
//! | 5 `Imported` | [`Imported`](strata_model::experiment::Imported): series, path, options of footprint and stride, loads, repeat |
//! | 6 `Watch` | [`Watch`](strata_model::experiment::Watch): span in microseconds, SM, repeat |
//! | 7 `Launched` | [`Launched`](strata_model::experiment::Launched): the chase, threads of a block, shared memory of a block |
//! | 8 `Stream` | [`Stream`](strata_model::experiment::Stream): traffic, path, width of an access (bytes), accesses in a pass, threads of a block, blocks of an SM, list of SMs, footprint, region, content, preparation, warm cycles, timed cycles, repeat |
//! | 9 `LoadedChase` | [`LoadedChase`](strata_model::experiment::LoadedChase): the stream, SM, footprint, stride, seed, pause in cycles |
//! | 10 `Transfer` | [`Transfer`](strata_model::experiment::Transfer): direction, bytes, repeat |
//! | 11 `Atomics` | [`Atomics`](strata_model::experiment::Atomics): memory, target, atomics in a pass, threads of a block, blocks of an SM, list of SMs, warm cycles, timed cycles, repeat |
//! | 12 `Clusters` | [`Clusters`](strata_model::experiment::Clusters): blocks of a cluster, clusters, shared memory of a block, microseconds, repeat |
//! | 13 `Distributed` | [`Distributed`](strata_model::experiment::Distributed): blocks of a cluster, clusters, shared memory of a block, work, distance, steps, rounds, alone, repeat |
//! | 14 `PartitionStream` | [`PartitionStream`](strata_model::experiment::PartitionStream): the stream, mask (u64), list of the pages' partitions (u8), list of the SMs' partitions (u8), far |
//! | 15 `PartitionChase` | [`PartitionChase`](strata_model::experiment::PartitionChase): the loaded chase, order |
//! | 16 `ClusterStream` | [`ClusterStream`](strata_model::experiment::ClusterStream): the stream, whose path says whether it is multicast, blocks of a cluster, clusters, shared memory of a block, distance |
//! | 17 `AsyncCopy` | [`AsyncCopy`](strata_model::experiment::AsyncCopy): work, bytes, place, SM, steps, rounds, repeat |
//! | 18 `CopyStream` | [`CopyStream`](strata_model::experiment::CopyStream): the stream, by which copies |
//! | 19 `CodeWalk` | [`CodeWalk`](strata_model::experiment::CodeWalk): of blocks of 1 KiB: bytes of code, options of the SM and of the partner's SM, warm laps, laps, repeat |
//! | 20 `PageWalk` | [`PageWalk`](strata_model::experiment::PageWalk): pages, distance, list of the walkers' SMs, list of the partners' SMs, laps, parts, seed, repeat |
//! | 21 `WindowStream` | [`WindowStream`](strata_model::experiment::WindowStream): the stream, windows, list of the SMs' windows (u8), pieces, seed |
//! | 22 `Residency` | [`Residency`](strata_model::experiment::Residency): path, access, lines, distance, beside, before, after, step, seed, repeat; an access is a number, in the order of [`Access`](strata_model::experiment::Access) |
//! | 23 `Displacement` | [`Displacement`](strata_model::experiment::Displacement): traffic, first, before, after, step, pause, repeat |
//! | 24 `CodeWalk` | [`CodeWalk`](strata_model::experiment::CodeWalk): of other blocks: bytes of code, bytes of a block, options of the SM and of the partner's SM, warm laps, laps, repeat |
//! | 25 `Contention` | [`Contention`](strata_model::experiment::Contention): SM, warps, the contended place, bytes that are loaded there, list of places, passes, repeat |
//!
//! The fields are those of the structures, in their order. Sizes and offsets are in bytes (u64), counts are u32, a seed is u64.
//! A test holds the layout.
//!
//! # Versions 2 and 3
//!
//! They differ in the experiment, which was one structure for all kinds: kernel, path, footprint, stride, order, warm laps, timed
//! loads (microseconds of the clock), rounds, walk, preparation, alone, option of the SM, allocation, option of the carveout, option
//! of the partner, seed, repeat. The order of a warp held its offsets and the width of its banks, that of a pattern the
//! pattern, that of imported timings the series. Such an experiment is read as the kind that it was. Fields that its kernel did not
//! use are dropped; one that no kernel could run is left out, and [`Recording::impossible`] says why. Version 2 has no `Asked`, no
//! `WithProgram` and no patterns. Older versions cannot be written.
//!
//! # Limits
//!
//! A recording may come from anyone, so nothing is allocated on the word of the file. A block's lengths are checked
//! against [`MAX_BLOCK`] before its bytes are read; it is decompressed into a buffer of the stated length, which can
//! neither grow nor be left short; facts ([`MAX_FACTS`]) have a limit of their own, because small strings and
//! numbers grow in memory; and the samples of all blocks together may take [`MAX_HELD`]. A file made to do harm was seen to take 1.3
//! GiB, a common one of 5 MB with ten million latencies 43 MB. The writer keeps to the same limits, so what was written
//! can be read.

mod error;
mod experiments;
mod input;
mod legacy;
mod reader;
mod replay;
mod wire;
mod writer;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use error::Error;
pub use replay::Entries;
pub use wire::MAGIC;
pub use writer::{Sink, Writer};

use strata_model::characterization::Suite;
use strata_model::disturbance::Disturbance;
use strata_model::experiment::Experiment;
use strata_model::facts::{BoardFacts, DeviceFacts, HostFacts};
use strata_model::samples::{Failure, Samples};
use strata_model::topology::{RunInfo, Selection};

/// The version of the format that is written here. Raised when anything in a block changes its layout, which includes the
/// structures of other modules that blocks are made of.
pub const VERSION: u16 = 4;

/// The oldest version that is read here.
pub const OLDEST: u16 = 2;

/// The first version that has experiments by kind; older ones had one structure for all.
const OLDEST_OF_KINDS: u16 = 4;

/// The name of the part that says what a discovery was asked for.
const SELECTION: &str = "selection";
/// The same of the other GPU of a link.
const PEER: &str = "peer";

/// The name of the part that describes the host.
const HOST: &str = "host";

/// The name of the part that describes the board.
const BOARD: &str = "board";

/// Most bytes of one block, uncompressed: 32 MiB holds ten million latencies, seconds of one launch.
pub const MAX_BLOCK: usize = 32 << 20;

/// Most bytes of a header's or end's facts, uncompressed; real ones have about a kilobyte.
pub const MAX_FACTS: usize = 1 << 20;

/// Most bytes that the samples and machine code of a recording may take in memory: 1 GiB holds 250 million latencies.
pub const MAX_HELD: u64 = 1 << 30;

/// What is known before the first sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// What the driver says of the device.
    pub device: DeviceFacts,
    /// How the run is made, as known at its start.
    pub run: RunInfo,
}

/// A kernel that the run loaded, so that what ran can be checked later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// Name of the entry point.
    pub kernel: String,
    /// SHA-256 of the PTX text.
    pub ptx_sha256: [u8; 32],
    /// What the driver's compiler made of it (a cubin), where the driver gives it.
    pub machine_code: Option<Vec<u8>>,
    /// SHA-256 of the machine code.
    pub code_sha256: Option<[u8; 32]>,
}

impl Code {
    /// A kernel with the hashes of its text and of its machine code.
    pub fn new(kernel: impl Into<String>, ptx: &str, machine_code: Option<Vec<u8>>) -> Self {
        let code_sha256 = machine_code.as_deref().map(|code| Sha256::digest(code).into());
        Code { kernel: kernel.into(), ptx_sha256: Sha256::digest(ptx).into(), machine_code, code_sha256 }
    }

    /// Bytes that it takes in memory.
    fn held(&self) -> u64 {
        let bytes = size_of::<Code>() + self.kernel.len() + self.machine_code.as_ref().map_or(0, Vec::len);
        bytes as u64
    }
}

/// One experiment and what came back.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Number of the experiment in its run; findings name it.
    pub number: u32,
    /// What was done.
    pub experiment: Experiment,
    /// [`Experiment::kernel_version`] of the program that measured.
    pub kernel_version: u16,
    /// What came back.
    pub outcome: Result<Samples, Failure>,
    /// When it came back, in seconds since the start of the run.
    pub at_s: f64,
}

impl Entry {
    /// What was measured by this program now, with the version of the kernel that it has.
    pub fn new(number: u32, experiment: Experiment, outcome: Result<Samples, Failure>, at_s: f64) -> Self {
        Entry { number, kernel_version: experiment.kernel_version(), experiment, outcome, at_s }
    }

    /// Whether this program's kernel measures what the recorded one did.
    pub fn is_current(&self) -> bool {
        self.kernel_version == self.experiment.kernel_version()
    }
}

/// Where and why a recording ends before its run did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Byte at which the first incomplete block begins.
    pub offset: u64,
    /// What is missing there.
    pub reason: String,
}

/// A part of the file that is damaged and was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Byte at which the first damaged block begins.
    pub offset: u64,
    /// Byte at which the next whole block begins.
    pub end: u64,
    /// What is wrong with it.
    pub what: String,
    /// Which experiments are missing there.
    pub missing: Missing,
}

/// Which experiments are missing where a recording is damaged, by the numbers before and behind that place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// None: the numbers go on. Something else was lost, such as machine code.
    Nothing,
    /// All of these.
    Experiments {
        /// The first.
        first: u32,
        /// The last.
        last: u32,
    },
    /// No experiment comes behind, so that the last ones of the run may be missing.
    PerhapsLast,
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the recording is damaged from byte {} to {} ({}): ", self.offset, self.end, self.what)?;
        match self.missing {
            Missing::Nothing => f.write_str("no experiment is missing"),
            Missing::Experiments { first, last } if first == last => write!(f, "experiment {first} is missing"),
            Missing::Experiments { first, last } => write!(f, "experiments {first} to {last} are missing"),
            Missing::PerhapsLast => f.write_str("the last experiments may be missing"),
        }
    }
}

/// A recording that was read.
#[derive(Debug)]
#[non_exhaustive]
pub struct Recording {
    /// Device, and the run as known at its start.
    pub header: Header,
    /// What a characterization was asked for; absent from a recording of anything else. Not checked: see
    /// [`Suite::defect`].
    pub asked: Option<Suite>,
    /// What a discovery was asked for; absent from older recordings and from a recording of anything else.
    pub selection: Option<Selection>,
    /// The kernels that were loaded.
    pub codes: Vec<Code>,
    /// The experiments, as they were taken.
    pub entries: Entries,
    /// What an older recording holds of experiments that no kernel could run: their numbers, and why. They are left out of
    /// `entries`.
    pub impossible: Vec<(u32, String)>,
    /// What else used the device; absent if the run did not watch for that.
    pub seen: Option<Vec<Disturbance>>,
    /// The host; absent if the run left it out or did not come to its end.
    pub host: Option<HostFacts>,
    /// The board; absent if the run could not have it or did not come to its end.
    pub board: Option<BoardFacts>,
    /// The run as known at its end; absent if it did not come to that.
    pub end: Option<RunInfo>,
    /// Why `end` is absent.
    pub cut: Option<Cut>,
    /// What is damaged between whole blocks.
    pub lost: Vec<Lost>,
    /// Length of the file, in bytes.
    pub bytes: u64,
}
