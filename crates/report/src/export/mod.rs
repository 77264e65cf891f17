//! Exports a recording as CSV tables.
//!
//! Comma-separated values as in RFC 4180, units in the header of each column. Rows are written as they are made, so
//! that memory is that of the recording and of one chain's order.

mod table;

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Serialize;
use serde_json::Value;

use self::table::{Maybe, Rows, table};
use strata_model::experiment::{
    BankWidth, COUNTER, Chain, Experiment, Launched, LoadPath, Order, Prepare, Timing, Walk,
};
use strata_model::order;
use strata_model::samples::{ProgramFacts, Samples};
use strata_model::units::Bytes;
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

/// Writes `experiments.csv`, `latencies.csv`, `laps.csv`, `clocks.csv`, `programs.csv` and `device.csv` into a folder,
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

const EXPERIMENTS: &[&str] = &[
    "number",
    "kernel",
    "kernel_version",
    "path",
    "footprint_B",
    "stride_B",
    "order",
    "granule_B",
    "page_B",
    "lines_per_page",
    "first_page",
    "offsets_B",
    "bank_width_B",
    "pattern",
    "warm_laps",
    "timed_loads",
    "rounds",
    "walk",
    "prepare",
    "fill_passes",
    "alone",
    "sm_asked",
    "allocation",
    "carveout_percent",
    "partner_path",
    "partner_footprint_B",
    "partner_stride_B",
    "partner_thread",
    "partner_block_threads",
    "seed",
    "repeat",
    "at_s",
    "outcome",
    "failure",
    "smid",
    "base_address",
    "threads_per_block",
    "shared_per_block_B",
    "laps_between_windows",
];

fn experiment(rows: &mut Rows, entry: &Entry) -> io::Result<()> {
    let e = &entry.experiment;
    let own = Own::of(e)?;
    let prepare = match e {
        Experiment::Clock(_) | Experiment::Watch(_) | Experiment::Warp(_) | Experiment::Imported(_) => None,
        other => Some(other.prepare()),
    };
    let (prepare, passes) = match prepare {
        None => (None, None),
        Some(Prepare::Nothing) => (Some("nothing"), None),
        Some(Prepare::FlushL2) => (Some("flush_l2"), None),
        Some(Prepare::Fill { passes }) => (Some("fill"), Some(passes)),
    };
    let (partner, place) = (e.partner(), e.place());
    let launched = match e {
        Experiment::Launched(launched) => Some(launched),
        _ => None,
    };
    let (outcome, failure) = match &entry.outcome {
        Ok(_) => ("measured", String::new()),
        Err(failure) => ("failed", failure.to_string()),
    };
    let samples = entry.outcome.as_ref().ok();
    let list = |all: &[u64]| all.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    rows.row(&[
        &entry.number,
        &e.name(),
        &entry.kernel_version,
        &Maybe(e.path().map(LoadPath::name)),
        &Maybe(e.footprint().map(Bytes::get)),
        &Maybe(own.stride.map(Bytes::get)),
        &Maybe(own.order),
        &Maybe(own.granule.map(Bytes::get)),
        &Maybe(own.page.map(Bytes::get)),
        &Maybe(own.lines_per_page),
        &Maybe(own.first),
        &Maybe(own.offsets.map(list)),
        &Maybe(own.bank_width.map(Bytes::get)),
        &Maybe(own.pattern),
        &Maybe(own.warm_laps),
        &Maybe(own.timed_loads),
        &Maybe(own.rounds),
        &Maybe(own.walk),
        &Maybe(prepare),
        &Maybe(passes),
        &e.alone(),
        &Maybe(e.sm()),
        &Maybe(place.filter(|_| e.chain().is_some()).map(|place| place.allocation)),
        &Maybe(e.carveout_percent()),
        &Maybe(partner.map(|p| p.path.name())),
        &Maybe(partner.map(|p| p.footprint.0)),
        &Maybe(partner.map(|p| p.stride.0)),
        &Maybe(partner.map(|p| p.thread)),
        &Maybe(partner.map(|p| p.block_threads)),
        &Maybe(own.seed),
        &e.repeat(),
        &entry.at_s,
        &outcome,
        &failure,
        &Maybe(samples.map(|s| s.sm)),
        &Maybe(samples.filter(|s| s.base != 0).map(|s| format!("{:#x}", s.base))),
        &Maybe(launched.map(|l| l.threads_per_block)),
        &Maybe(launched.map(|l| l.shared_per_block.get())),
        &Maybe(own.laps_between),
    ])
}

/// Cells that only some kinds of experiments have.
#[derive(Default)]
struct Own<'e> {
    /// Distance of neighbouring elements; of a warp, the width of an access.
    stride: Option<Bytes>,
    order: Option<&'static str>,
    granule: Option<Bytes>,
    page: Option<Bytes>,
    lines_per_page: Option<u32>,
    first: Option<u64>,
    offsets: Option<&'e [u64]>,
    bank_width: Option<Bytes>,
    pattern: Option<String>,
    warm_laps: Option<u32>,
    /// Loads or pairs of them that are timed, of whole laps those of the shorter measurement; operations of a pattern;
    /// microseconds of the clock.
    timed_loads: Option<u32>,
    rounds: Option<u32>,
    walk: Option<&'static str>,
    laps_between: Option<u32>,
    seed: Option<u64>,
}

impl<'e> Own<'e> {
    fn of(experiment: &'e Experiment) -> io::Result<Self> {
        Ok(match experiment {
            Experiment::Clock(clock) => Own { timed_loads: Some(clock.span_us), ..Own::default() },
            Experiment::Watch(watch) => Own { timed_loads: Some(watch.span_us), ..Own::default() },
            Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => {
                let (timed_loads, rounds, walk) = match chase.timing {
                    Timing::EachLoad { loads, walk } => (loads, None, Some(walk)),
                    Timing::EachPair { pairs } => (pairs, None, Some(Walk::Straight)),
                    Timing::Laps { loads, rounds } => (loads, Some(rounds), None),
                };
                let (warm_laps, timed_loads) = (Some(chase.warm_laps), Some(timed_loads));
                let laps_between = walk.map(Walk::laps_between);
                let walk = walk.map(|walk| if walk == Walk::Straight { "straight" } else { "resident" });
                Own { warm_laps, timed_loads, rounds, walk, laps_between, ..Own::of_chain(chase.chain()) }
            }
            Experiment::Disturb(disturb) => Own {
                warm_laps: Some(disturb.warm_laps),
                timed_loads: Some(disturb.loads),
                ..Own::of_chain(disturb.chain())
            },
            Experiment::Warp(warp) => Own {
                stride: Some(warp.width.bytes()),
                order: Some("lanes"),
                offsets: Some(warp.offsets.as_slice()),
                bank_width: warp.bank_width.map(BankWidth::bytes),
                warm_laps: Some(warp.warm_loads),
                timed_loads: Some(warp.loads),
                rounds: Some(warp.rounds),
                ..Own::default()
            },
            Experiment::Pattern(run) => Own {
                order: Some("pattern"),
                pattern: Some(serde_json::to_string(&run.pattern)?),
                timed_loads: Some(run.pattern.operations()),
                rounds: Some(run.rounds),
                seed: Some(run.seed),
                ..Own::default()
            },
            Experiment::Stream(stream) => Own {
                stride: Some(stream.width.bytes()),
                order: Some("stream"),
                pattern: Some(serde_json::to_string(stream)?),
                timed_loads: Some(stream.timed_cycles),
                ..Own::default()
            },
            Experiment::LoadedChase(chase) => Own {
                pattern: Some(serde_json::to_string(chase)?),
                timed_loads: Some(chase.stream.timed_cycles),
                ..Own::of_chain(chase.chain())
            },
            Experiment::Transfer(transfer) => {
                Own { order: Some("copy"), pattern: Some(serde_json::to_string(transfer)?), ..Own::default() }
            }
            Experiment::Atomics(atomics) => Own {
                stride: Some(COUNTER),
                order: Some("atomics"),
                pattern: Some(serde_json::to_string(atomics)?),
                timed_loads: Some(atomics.timed_cycles),
                ..Own::default()
            },
            Experiment::Imported(imported) => Own {
                stride: imported.stride,
                order: Some(imported.series.name()),
                timed_loads: Some(imported.loads),
                ..Own::default()
            },
        })
    }

    fn of_chain(chain: Chain<'e>) -> Self {
        let own = Own { stride: Some(chain.stride), seed: Some(chain.seed), ..Own::default() };
        match chain.order {
            Order::Sequential => Own { order: Some("sequential"), ..own },
            Order::Random => Own { order: Some("random"), ..own },
            Order::Scattered { granule } => Own { order: Some("scattered"), granule: Some(*granule), ..own },
            Order::Paged { page, lines } => {
                Own { order: Some("paged"), page: Some(*page), lines_per_page: Some(*lines), ..own }
            }
            Order::Listed { offsets } => Own { order: Some("listed"), offsets: Some(offsets), ..own },
            Order::Pages { granule, lines, shuffled } => Own {
                order: Some(if *shuffled { "pages_shuffled" } else { "pages" }),
                granule: Some(*granule),
                lines_per_page: Some(*lines),
                ..own
            },
            Order::Window { granule, first } => Own {
                order: Some("window"),
                granule: Some(*granule),
                lines_per_page: Some(1),
                first: Some(*first),
                ..own
            },
        }
    }
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
