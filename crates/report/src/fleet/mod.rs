//! Many results at once: what the GPUs of each product have in common, which of them stand out, which changed, and which hosts
//! are missing.
//!
//! Files (`files`) are read by a quick reader (`light`) on all cores (`read`), which keeps some hundred numbers of each
//! result. From these come the spread of each attribute and what stands out (`spread`, `product`), what changed of a GPU
//! over time (`changes`), and which hosts are missing (`expected`). The answer is a [`Fleet`].
//! `docs/fleet.md` says where the thresholds lie and why.

mod changes;
mod document;
mod expected;
mod files;
mod light;
mod places;
mod product;
mod read;
mod spread;

pub use document::{
    Change, Changed, Common, Counted, Fleet, Gpu, Hosts, Layout, Missing, Moment, Outlier, Product, SCHEMA, Skipped,
    Spread, StandsOut,
};
pub use expected::Expected;

use std::cmp::Reverse;
use std::io;
use std::path::PathBuf;

use crate::compare::Choice;
use files::Listed;
use places::TABLE;

/// What counts as far, and what is looked at.
#[derive(Clone, Debug)]
pub struct Options {
    /// A number stands out from this many robust standard deviations on …
    pub least_sigmas: f64,
    /// … and from this many per cent of the median on.
    pub least_percent: f64,
    /// What alone is looked at; all when empty.
    pub only: Vec<Choice>,
    /// The hosts that should have a result.
    pub expected: Option<Expected>,
}

impl Options {
    /// Robust standard deviations. A fleet of 10,000 GPUs has more than a million numbers: of normal ones, one in 500 million lies
    /// further away than six.
    pub const SIGMAS: f64 = 6.0;
    /// Per cent of the median. DRAM latency of good GPUs of one product differs by 3 % (docs/evidence/h200.md).
    pub const PERCENT: f64 = 5.0;
}

impl Default for Options {
    fn default() -> Self {
        Options { least_sigmas: Options::SIGMAS, least_percent: Options::PERCENT, only: Vec::new(), expected: None }
    }
}

/// Why nothing can be said of a fleet.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A path that is not there, or cannot be seen.
    #[error("cannot read `{}`; give results of `strata discover --format json`, or folders with them", path.display())]
    NotThere {
        /// The path.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// None of the files is a result.
    #[error(
        "there is no result of `strata discover` in what was given ({why}); write one for each GPU with `strata discover \
         --format json --output FILE.json`, and give their folder"
    )]
    Nothing {
        /// What was found instead.
        why: String,
    },
    /// Names of which no result has anything.
    #[error("no result has anything of {0}; give other names to --only")]
    NotAsked(String),
}

/// A fleet, and what it was read from.
#[derive(Clone, Debug)]
pub struct Merged {
    /// What is said of it.
    pub fleet: Fleet,
    /// The files of the results that count.
    pub files: Vec<PathBuf>,
}

/// Reads results and says what they have in common. `paths` are files and folders; of folders, all files count whose names end
/// in `.json`, at any depth. A file that is no result is skipped, and the answer names it.
///
/// # Errors
///
/// If a path is not there, if there is no result at all, or if no result has what alone is asked for.
pub fn merge(paths: &[PathBuf], options: &Options) -> Result<Merged, Error> {
    let Listed { files, mut skipped, passed_over, .. } = Listed::of(paths)?;
    let mut all = read::read(&files);
    skipped.append(&mut all.skipped);
    skipped.sort_by(|a, b| a.file.cmp(&b.file));
    if all.results.is_empty() {
        return Err(Error::Nothing { why: instead(&skipped, all.earlier, passed_over) });
    }
    let chosen = TABLE.chosen(|place| options.only.is_empty() || options.only.iter().any(|choice| choice.has(place)));
    let cells = || all.results.iter().flat_map(|found| &found.cells);
    let absent = |choice: &&Choice| !cells().any(|cell| choice.has(&TABLE.entry(cell.id).place));
    if let Some(choice) = options.only.iter().find(absent) {
        return Err(Error::NotAsked(choice.to_string()));
    }
    let by_gpu = product::by_gpu(&all.results);
    let products = by_gpu.iter().map(|(key, gpus)| product::product(key, gpus, &all, &chosen, options));
    let mut products: Vec<Product> = products.collect();
    products.sort_by_key(|product| Reverse(product.gpus));
    let changed = changes::changes(&by_gpu, &all, &chosen, options);
    let results = all.results.iter().map(|found| found.file.as_path());
    let hosts = options.expected.as_ref().map(|expected| expected.missing(results, &skipped));
    let count =
        |of_links| by_gpu.iter().filter(|(key, _)| key.is_of_links() == of_links).map(|(_, all)| all.len()).sum();
    let dates = || all.results.iter().filter_map(|found| Some((product::time(found)?, found.run.started.as_ref()?)));
    let fleet = Fleet {
        schema: SCHEMA.into(),
        well: changed.is_empty()
            && products.iter().all(|product| product.stand_out.is_empty())
            && hosts.as_ref().is_none_or(|hosts| hosts.missing.is_empty()),
        results: all.results.len(),
        gpus: count(false),
        links: count(true),
        first: dates().min().map(|(_, started)| started.clone()),
        last: dates().max().map(|(_, started)| started.clone()),
        versions: product::counted(all.results.iter().map(|found| found.run.tool_version.as_str())),
        least_sigmas: options.least_sigmas,
        least_percent: options.least_percent,
        only: options.only.iter().map(Choice::to_string).collect(),
        products,
        changed,
        hosts,
        skipped,
        earlier_reports: all.earlier,
        passed_over,
    };
    Ok(Merged { fleet, files: all.results.into_iter().map(|found| found.file).collect() })
}

/// What was found where no result is.
fn instead(skipped: &[Skipped], earlier: usize, passed_over: usize) -> String {
    let mut found = Vec::new();
    if let [first, others @ ..] = skipped {
        let more = if others.is_empty() { String::new() } else { format!(", and {} more were skipped", others.len()) };
        found.push(format!("`{}` {}{more}", first.file, first.reason));
    }
    for (count, what) in
        [(earlier, "reports of earlier fleets"), (passed_over, "files whose names do not end in .json")]
    {
        if count > 0 {
            found.push(format!("{count} {what}"));
        }
    }
    if found.is_empty() { "no file".into() } else { found.join("; ") }
}
