//! The raw timings of MT4G, the tool that grew out of Größler's thesis.
//!
//! A folder holds a file for each level and question (`GPU - L1 Size.txt`); the summary (`GPU.json`) lies in it or beside it. Its
//! rows are: of a size, a footprint and the latencies of the first loads of the second lap over it; of a line size, a stride, a
//! footprint and latencies; of a fetch granularity, a stride and the latencies of a cold chase; of a latency, one a line.
//! Every latency includes what timing it took, which no file says.

use std::fs;
use std::io::{BufReader, Read};
use std::path::Path;

use super::files::{self, Found};
use super::{Error, Import, Summary, rows};
use strata_model::experiment::{Imported, LoadPath};
use strata_model::import::{self, Level, Question, Series};
use strata_model::samples::Samples;
use strata_model::topology::RunInfo;
use strata_model::units::Bytes;

/// Largest summary that is read, in bytes; real ones have ten thousand.
const MAX_SUMMARY: u64 = 4 << 20;

/// Reads the timings in a folder.
///
/// # Errors
///
/// [`Error`], which names the file and, where there is one, the line.
pub fn mt4g(folder: &Path) -> Result<Import, Error> {
    let Found { gpu, series, others } = files::find(folder)?;
    let (summary, warning) = match summary(folder, &gpu)? {
        Some(summary) => (summary, None),
        None => (Summary::default(), Some(format!("`{gpu}.json` is missing, so the facts of the device are unknown"))),
    };
    let mut measured = Vec::new();
    let mut files = 0;
    let mut faults = Vec::new();
    for (series, path) in series {
        match read(series, &path) {
            Ok(experiments) => {
                files += 1;
                measured.extend(experiments);
            }
            // What one file holds says nothing of the others.
            Err(fault @ (Error::Line { .. } | Error::Empty { .. })) => faults.push((series, fault)),
            Err(error) => return Err(error),
        }
    }
    if measured.is_empty() && !faults.is_empty() {
        return Err(faults.swap_remove(0).1);
    }
    let faults = faults.iter().map(|(series, fault)| {
        format!(
            "left out the series for the {} of the {}: {fault}; correct the file and import again, or remove it",
            series.question.name(),
            series.level.name()
        )
    });
    let unread = (!others.is_empty()).then(|| format!("ignored files with unknown names: {}", others.join(", ")));
    let no_calibration = "these timings come without a calibration: each latency includes the overhead of reading the \
                          clock and storing its value, so it is an upper bound; differences of latencies do not include \
                          the overhead";
    let beginning = "only the first loads of each lap were timed: later misses are not seen";
    let run = RunInfo {
        tool_version: env!("CARGO_PKG_VERSION").into(),
        backend: import::MT4G.into(),
        effort: "imported".into(),
        started: summary.timestamp().unwrap_or_default().into(),
        scope: format!(
            "timings from the files of MT4G{}; strata measured nothing",
            summary.compiler().map_or(String::new(), |compiler| format!(" (kernels by {compiler})"))
        ),
        warnings: [
            Some(no_calibration.to_owned()),
            Some(beginning.to_owned()),
            warning,
            unread,
            summary.doubt(),
            summary.no_date(),
        ]
        .into_iter()
        .flatten()
        .chain(faults)
        .collect(),
        ..RunInfo::default()
    };
    Ok(Import { device: summary.facts(&gpu), run, measured, files })
}

/// The experiments of one file.
fn read(series: Series, path: &Path) -> Result<Vec<(Imported, Samples)>, Error> {
    let file = strata_files::open(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let keys = match series.question {
        Question::Latency => 0,
        Question::Size | Question::FetchGranularity => 1,
        Question::LineSize => 2,
    };
    let found =
        rows(BufReader::new(file), keys).map_err(|(line, what)| Error::Line { path: path.to_owned(), line, what })?;
    if found.is_empty() {
        return Err(Error::Empty { path: path.to_owned() });
    }
    // The footprint and the stride of a row, as far as the file says.
    type Of = (Option<Bytes>, Option<Bytes>);
    let mut all: Vec<(Of, Vec<u32>)> = Vec::with_capacity(found.len());
    for row in found {
        let keys: Vec<Bytes> = row.keys.into_iter().map(Bytes).collect();
        match (series.question, keys.as_slice()) {
            (Question::Size, [footprint]) => all.push(((Some(*footprint), None), row.latencies)),
            (Question::FetchGranularity, [stride]) => all.push(((None, Some(*stride)), row.latencies)),
            (Question::LineSize, [stride, footprint]) => all.push(((Some(*footprint), Some(*stride)), row.latencies)),
            // A latency a line: all are one series.
            _ => match all.last_mut() {
                Some((_, latencies)) => latencies.extend(row.latencies),
                None => all.push(((None, None), row.latencies)),
            },
        }
    }
    let mut experiments: Vec<(Imported, Samples)> = Vec::with_capacity(all.len());
    for (of, latencies) in all {
        // Rows that say the same follow each other.
        let repeat = match experiments.last() {
            Some((before, _)) if (before.footprint, before.stride) == of => before.repeat + 1,
            _ => 0,
        };
        let (footprint, stride) = of;
        let (path, loads) = (nearest(series.level), latencies.len() as u32);
        let experiment = Imported { series, path, footprint, stride, loads, repeat };
        experiments.push((experiment, Samples { latencies, ..Samples::default() }));
    }
    Ok(experiments)
}

/// The nearest load path that there is here.
const fn nearest(level: Level) -> LoadPath {
    match level {
        Level::L1 => LoadPath::GlobalCa,
        Level::Texture => LoadPath::Texture,
        Level::ReadOnly => LoadPath::GlobalNc,
        // AMD's scalar loads are those of what all lanes want alike, as constants are.
        Level::ConstantL1 | Level::ConstantL15 | Level::ScalarL1 => LoadPath::Constant,
        Level::Shared => LoadPath::Shared,
        Level::L2 | Level::Dram => LoadPath::GlobalCg,
    }
}

/// The summary, in the folder or beside it.
fn summary(folder: &Path, gpu: &str) -> Result<Option<Summary>, Error> {
    let name = format!("{gpu}.json");
    // Of a folder that is named `.` or `..` only the whole path has a parent.
    let whole = fs::canonicalize(folder).map_err(|source| Error::Read { path: folder.to_owned(), source })?;
    let beside = whole.parent().map(|parent| parent.join(&name));
    let Some(path) = [Some(folder.join(&name)), beside].into_iter().flatten().find(|path| path.is_file()) else {
        return Ok(None);
    };
    parse_summary(&path).map(Some)
}

fn parse_summary(path: &Path) -> Result<Summary, Error> {
    let read = |source| Error::Read { path: path.to_owned(), source };
    let mut text = Vec::new();
    strata_files::open(path).map_err(read)?.take(MAX_SUMMARY + 1).read_to_end(&mut text).map_err(read)?;
    if text.len() as u64 > MAX_SUMMARY {
        return Err(Error::TooMuch {
            path: path.to_owned(),
            what: format!("is larger than {}, so it is not a summary of MT4G", Bytes(MAX_SUMMARY)),
        });
    }
    serde_json::from_slice(&text).map_err(|error| Error::Summary {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
        what: error.to_string().split(" at line ").next().unwrap_or_default().to_owned(),
    })
}
