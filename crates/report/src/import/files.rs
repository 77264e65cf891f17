//! Finds the files of a folder, and the series that each contains.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::Error;
use strata_model::import::{Level, Question, Series};

/// Most entries of a folder that are looked at: a whole set of MT4G's files is some thirty.
const MAX_ENTRIES: usize = 4096;
/// How the files name the levels.
const LEVELS: [(&str, Level); 9] = [
    ("L1", Level::L1),
    ("Texture", Level::Texture),
    ("Read Only", Level::ReadOnly),
    ("Constant L1", Level::ConstantL1),
    ("Constant L1.5", Level::ConstantL15),
    ("Scalar L1", Level::ScalarL1),
    ("Shared Memory", Level::Shared),
    ("L2", Level::L2),
    ("Main Memory", Level::Dram),
];
/// How they name the questions.
const QUESTIONS: [(&str, Question); 5] = [
    ("Size", Question::Size),
    ("Segment Size", Question::Size),
    ("Line Size", Question::LineSize),
    ("Fetch Granularity", Question::FetchGranularity),
    ("Latency", Question::Latency),
];
/// What stands between the name of the GPU and that of the series; newer versions write blanks as underscores.
const SEPARATORS: [&str; 2] = [" - ", "__"];

/// The series of a folder.
#[derive(Debug, PartialEq)]
pub struct Found {
    /// The GPU as the files name it.
    pub gpu: String,
    /// The files.
    pub series: BTreeMap<Series, PathBuf>,
    /// Text files that are none of these.
    pub others: Vec<String>,
}

/// What a folder holds.
///
/// # Errors
///
/// If it cannot be read, holds no series, those of several GPUs, or one of them twice.
pub fn find(folder: &Path) -> Result<Found, Error> {
    let mut of: BTreeMap<String, BTreeMap<Series, PathBuf>> = BTreeMap::new();
    let mut others = Vec::new();
    let mut folders = Vec::new();
    for (seen, entry) in entries(folder)?.enumerate() {
        let path = entry.map_err(|source| Error::Read { path: folder.to_owned(), source })?.path();
        if seen == MAX_ENTRIES {
            return Err(Error::TooMuch {
                path: folder.to_owned(),
                what: format!("holds more than {MAX_ENTRIES} files; give the folder of one GPU's timings"),
            });
        }
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if path.is_dir() {
            folders.push(path);
            continue;
        }
        let Some((gpu, series)) = name.strip_suffix(".txt").and_then(parse) else {
            if name.ends_with(".txt") {
                others.push(name.to_owned());
            }
            continue;
        };
        if let Some(first) = of.entry(gpu).or_default().insert(series, path.clone()) {
            let series = format!("{} of the {}", series.question.name(), series.level.name());
            return Err(Error::Twice { first, second: path, series });
        }
    }
    others.sort();
    if of.len() > 1 {
        return Err(Error::Several { path: folder.to_owned(), names: of.into_keys().collect() });
    }
    match of.pop_first() {
        Some((gpu, series)) => Ok(Found { gpu, series, others }),
        None => Err(Error::Nothing { path: folder.to_owned(), hint: hint(folders) }),
    }
}

fn entries(folder: &Path) -> Result<fs::ReadDir, Error> {
    fs::read_dir(folder).map_err(|source| Error::Read { path: folder.to_owned(), source })
}

/// Which of the folders within one would do.
fn hint(mut folders: Vec<PathBuf>) -> String {
    folders.sort();
    let holds = |folder: &PathBuf| {
        let names = entries(folder).into_iter().flatten().flatten().take(MAX_ENTRIES);
        names.into_iter().any(|entry| {
            entry.file_name().to_str().and_then(|n| n.strip_suffix(".txt")).is_some_and(|n| parse(n).is_some())
        })
    };
    let found: Vec<String> = folders.iter().filter(|f| holds(f)).map(|f| format!("`{}`", f.display())).collect();
    if found.is_empty() { String::new() } else { format!("; give one of the folders in it: {}", found.join(", ")) }
}

/// The GPU and the series that a file's name, without its ending, says.
fn parse(stem: &str) -> Option<(String, Series)> {
    let (gpu, rest) = SEPARATORS.iter().find_map(|separator| stem.rsplit_once(separator))?;
    let rest = rest.replace('_', " ");
    let series = LEVELS.iter().find_map(|(name, level)| {
        let question = rest.strip_prefix(name)?.strip_prefix(' ')?;
        let (_, question) = QUESTIONS.iter().find(|(name, _)| *name == question)?;
        Some(Series { level: *level, question: *question })
    })?;
    Some((gpu.to_owned(), series))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_say_what_they_hold() {
        let named = |stem| parse(stem).map(|(gpu, s)| (gpu, s.level, s.question));
        let is = |gpu: &str, level, question| Some((gpu.to_owned(), level, question));
        assert_eq!(named("Tesla V100 - L1 Size"), is("Tesla V100", Level::L1, Question::Size));
        assert_eq!(named("A - B - Constant L1.5 Latency"), is("A - B", Level::ConstantL15, Question::Latency));
        assert_eq!(named("A100__L1_Fetch_Granularity"), is("A100", Level::L1, Question::FetchGranularity));
        assert_eq!(named("A100__Read_Only_Line_Size"), is("A100", Level::ReadOnly, Question::LineSize));
        assert_eq!(named("A100 - L2 Segment Size"), is("A100", Level::L2, Question::Size));
        assert_eq!(named("A100 - L2 Segment"), None);
        assert_eq!(named("A100 - L3 Latency"), None);
        assert_eq!(named("notes"), None);
    }
}
