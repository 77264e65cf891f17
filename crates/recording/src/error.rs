//! The errors of reading and writing recordings.

use std::io;
use std::path::PathBuf;

use super::{MAX_HELD, OLDEST, VERSION};
use strata_model::units::Bytes;

/// Why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be created.
    #[error(
        "cannot write the recording `{}`: {source}; choose another file, or a folder that you may write to",
        .path.display()
    )]
    Create {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another process records to the file.
    #[error("another strata is recording to `{}` now; choose another file, or wait for its end", .path.display())]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be opened.
    #[error("cannot open the recording `{}`: {source}{}", .path.display(), advice(.source))]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is no whole recording.
    #[error("`{}`: {error}", .path.display())]
    In {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: Box<Error>,
    },
    /// Writing failed.
    #[error("cannot write the recording at byte {offset}: {source}")]
    Write {
        /// Bytes that were written before.
        offset: u64,
        /// What the system says.
        source: io::Error,
    },
    /// An earlier write failed, so that what is written now would not be found.
    #[error("the recording ends at byte {offset}, where writing failed before; record to another file")]
    Broken {
        /// Bytes that were written before.
        offset: u64,
    },
    /// A block was asked for out of order; a fault of the program.
    #[error("a recording has its header first, then what was asked, its measurements and its end: {what}")]
    OutOfOrder {
        /// What was asked for.
        what: &'static str,
    },
    /// One experiment is larger than a block may be.
    #[error("{what} takes {}, more than the {} of a block; time fewer loads at once", Bytes(*.size), Bytes(*.limit))]
    Oversized {
        /// What was to be written.
        what: String,
        /// Its size, in bytes.
        size: u64,
        /// The most allowed, in bytes.
        limit: u64,
    },
    /// The recording as a whole is larger than one may be.
    #[error(
        "at byte {offset} the recording holds {}, the most that is replayed; record fewer elements or with less effort",
        Bytes(MAX_HELD)
    )]
    Full {
        /// Where the block begins that would exceed the limit.
        offset: u64,
    },
    /// Reading failed.
    #[error("cannot read the recording at byte {offset}: {source}")]
    Read {
        /// Bytes that were read before.
        offset: u64,
        /// What the system says.
        source: io::Error,
    },
    /// There is nothing in the file.
    #[error("the file is empty, so it is not a strata recording; make one with `strata discover --record FILE`")]
    Empty,
    /// Another kind of file.
    #[error("this is not a strata recording: {hint}")]
    NotARecording {
        /// What it looks like, and what to do.
        hint: String,
    },
    /// Another version of the format.
    #[error(
        "the recording has format version {found} and this program reads versions {OLDEST} to {VERSION}; use the strata \
         that recorded it, or record again"
    )]
    Version {
        /// The file's version.
        found: u16,
    },
    /// The file ends before the header does.
    #[error("the recording ends at byte {length}, inside its header, so it holds no samples; record again")]
    NoHeader {
        /// Length of the file.
        length: u64,
    },
    /// A block is not what was written.
    #[error("the recording is damaged: block {block} at byte {offset}: {what}; take another copy, or record again")]
    Damaged {
        /// Number of the block, the header being 0.
        block: u64,
        /// Where it begins.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// Something follows the last block.
    #[error(
        "the recording ends at byte {offset} and something follows; if two recordings were joined, split the file there"
    )]
    Trailing {
        /// Where the recording ends.
        offset: u64,
    },
}

/// What makes a recording, where there is none.
fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "; `strata discover --record FILE` makes one",
        _ => "",
    }
}
