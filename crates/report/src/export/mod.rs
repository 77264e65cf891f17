//! Exports a recording as CSV tables.
//!
//! Comma-separated values as in RFC 4180, units in the header of each column. Rows are written as they are made, so
//! that memory is that of the recording and of one chain's order.

mod experiment;
mod table;

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Serialize;
use serde_json::Value;

use self::experiment::{EXPERIMENTS, experiment};
use self::table::{Maybe, Rows, table};
use strata_model::experiment::Experiment;
use strata_model::order;
use strata_model::samples::{ProgramFacts, Samples};
use strata_recording::{Entry, Recording};

/// Why a recording cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder cannot be made.
    #[error("cannot make the folder `{}`: {source}; name a folder with write permission", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write `{}`: {source}; free some space or name another folder", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// Rows below the header of a table; 0 for machine code.
    pub rows: u64,
    /// Its length, in bytes.
    pub bytes: u64,
}

/// The files that were written, in the order of writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The files.
    pub files: Vec<Written>,
}

/// Writes `experiments.csv`, `latencies.csv`, `laps.csv`, `clocks.csv`, `blocks.csv`, `programs.csv` and `device.csv` into a folder,
/// which is made if it is missing. Files of these names that are there already are replaced.
pub fn csv(recording: &Recording, dir: &Path) -> Result<Summary, Error> {
    make(dir)?;
    let samples = || recording.entries.iter().filter_map(|e| Some((e, e.outcome.as_ref().ok()?)));
    let files = vec![
        table(dir, "experiments.csv", EXPERIMENTS, |rows| {
            recording.entries.iter().try_for_each(|e| experiment(rows, e))
        })?,
        table(dir, "latencies.csv", LATENCIES, |rows| samples().try_for_each(|(e, s)| latencies(rows, e, s)))?,
        table(dir, "laps.csv", &["number", "lap", "loads", "duration_cycles"], |rows| {
            samples().try_for_each(|(e, s)| {
                let mut laps = s.laps.iter().enumerate();
                laps.try_for_each(|(i, lap)| rows.row(&[&e.number, &i, &lap.loads, &lap.cycles]))
            })
        })?,
        table(dir, "clocks.csv", &["number", "reading", "sm_clock_cycles", "global_timer_ns"], |rows| {
            samples().try_for_each(|(e, s)| {
                let mut clocks = s.clocks.iter().enumerate();
                clocks.try_for_each(|(i, clock)| rows.row(&[&e.number, &i, &clock.cycles, &clock.nanoseconds]))
            })
        })?,
        table(dir, "blocks.csv", &["number", "block", "sm"], |rows| {
            samples().try_for_each(|(e, s)| {
                let mut blocks = s.sms.iter().enumerate();
                blocks.try_for_each(|(block, sm)| rows.row(&[&e.number, &block, sm]))
            })
        })?,
        table(dir, "programs.csv", PROGRAMS, |rows| {
            samples().filter_map(|(e, s)| Some((e, s.program?))).try_for_each(|(e, p)| program(rows, e, &p))
        })?,
        table(dir, "device.csv", &["key", "value"], |rows| {
            facts(rows, "device", &recording.header.device)?;
            facts(rows, "run", &recording.run_info())
        })?,
    ];
    Ok(Summary { files })
}

/// Writes the machine code of each kernel that has any as `NAME.cubin` into a folder, which is made if it is missing.
/// Characters that a file name cannot have everywhere become `_`; of kernels of one name the later gets a number.
pub fn code(recording: &Recording, dir: &Path) -> Result<Summary, Error> {
    make(dir)?;
    let mut files: Vec<Written> = Vec::new();
    for code in &recording.codes {
        let Some(bytes) = &code.machine_code else { continue };
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
        let stem: String = code.kernel.chars().take(100).map(plain).collect();
        let mut path = dir.join(format!("{stem}.cubin"));
        let mut copy = 2;
        while files.iter().any(|file| file.path == path) {
            path = dir.join(format!("{stem}-{copy}.cubin"));
            copy += 1;
        }
        strata_files::replace(&path, bytes).map_err(|source| Error::Write { path: path.clone(), source })?;
        files.push(Written { path, rows: 0, bytes: bytes.len() as u64 });
    }
    Ok(Summary { files })
}

fn make(dir: &Path) -> Result<(), Error> {
    fs::create_dir_all(dir).map_err(|source| Error::Folder { path: dir.to_owned(), source })
}

const PROGRAMS: &[&str] = &["number", "registers", "local_B", "compile_us", "code_B", "local_loads", "local_stores"];

fn program(rows: &mut Rows, entry: &Entry, program: &ProgramFacts) -> io::Result<()> {
    let ProgramFacts { registers, local_bytes, compile_us, code } = program;
    rows.row(&[
        &entry.number,
        registers,
        local_bytes,
        compile_us,
        &Maybe(code.map(|c| c.bytes)),
        &Maybe(code.map(|c| c.local_loads)),
        &Maybe(code.map(|c| c.local_stores)),
    ])
}

const LATENCIES: &[&str] = &["number", "load", "offset_B", "latency_cycles"];

fn latencies(rows: &mut Rows, entry: &Entry, samples: &Samples) -> io::Result<()> {
    if samples.latencies.is_empty() {
        return Ok(());
    }
    let offsets = offsets(&entry.experiment);
    let mut lap = offsets.iter().cycle();
    let mut loads = samples.latencies.iter().enumerate();
    loads.try_for_each(|(i, latency)| rows.row(&[&entry.number, &i, &Maybe(lap.next()), latency]))
}

/// Byte offsets of a lap; none where the experiment describes no chain that can be built, which a recording of
/// another's making may hold.
fn offsets(experiment: &Experiment) -> Vec<u64> {
    experiment.chain().filter(|chain| chain.defect().is_none()).map_or(Vec::new(), order::offsets)
}

/// Every leaf of a structure as a row: `device.l2_size_B`.
fn facts(rows: &mut Rows, key: &str, facts: &impl Serialize) -> io::Result<()> {
    leaves(rows, key, &serde_json::to_value(facts)?)
}

fn leaves(rows: &mut Rows, key: &str, value: &Value) -> io::Result<()> {
    match value {
        Value::Object(fields) => {
            fields.iter().try_for_each(|(name, value)| leaves(rows, &format!("{key}.{name}"), value))
        }
        Value::Array(items) => {
            items.iter().enumerate().try_for_each(|(i, value)| leaves(rows, &format!("{key}.{i}"), value))
        }
        Value::Null => rows.row(&[&with_unit(key), &""]),
        Value::String(text) => rows.row(&[&with_unit(key), text]),
        other => rows.row(&[&with_unit(key), other]),
    }
}

/// The key, with `_B` where the fact is a number of bytes and its name does not say so.
fn with_unit(key: &str) -> String {
    const BYTES: [&str; 9] = [
        "device.shared_per_block",
        "device.shared_per_block_optin",
        "device.shared_per_multiprocessor",
        "device.shared_reserved_per_block",
        "device.constant_memory",
        "device.total_memory",
        "device.free_memory",
        "device.l2_size",
        "run.host.memory",
    ];
    if BYTES.contains(&key) { format!("{key}_B") } else { key.to_owned() }
}
