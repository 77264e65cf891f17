//! Merges many results: which GPUs stand out, which changed, which hosts are missing.

use std::path::{Path, PathBuf};

use strata_report::fleet;
use strata_report::report;

use crate::answer::{Extent, Terminal};
use crate::error::{Error, Result};

pub use strata_report::fleet::{Expected as ExpectedHosts, Options as FleetOptions};

/// Longest list of hosts that is read, in bytes: names of a million hosts.
const LONGEST_LIST: u64 = 64 << 20;
/// Most files that warnings name; of more, one warning gives the number.
const MOST_WARNINGS: usize = 10;

/// What many results say.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// All of it, as the JSON document has it.
    pub document: fleet::Fleet,
    files: Vec<PathBuf>,
}

/// Merges results of `strata discover` as JSON. `paths` are files and folders; of a folder, all files count whose names end in
/// `.json`, at any depth. A file that is no result is skipped and named ([`Fleet::warnings`]).
///
/// ```no_run
/// use gpu_strata::{FleetOptions, fleet};
///
/// let fleet = fleet(&["results".into()], &FleetOptions::default())?;
/// for gpu in fleet.document.products.iter().flat_map(|product| &product.stand_out) {
///     println!("{}: {} values stand out", gpu.gpu.file, gpu.outliers.len());
/// }
/// # Ok::<(), gpu_strata::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Fleet`] if a path is not there, if there is no result at all, or if no result has what alone is asked for.
pub fn fleet(paths: &[PathBuf], options: &FleetOptions) -> Result<Fleet> {
    let fleet::Merged { fleet, files } = fleet::merge(paths, options)?;
    Ok(Fleet { document: fleet, files })
}

/// Reads a list of hosts, a name on each line; `-` is standard input.
///
/// # Errors
///
/// [`Error::Unreadable`] for a file that cannot be read, and [`Error::Input`] for one that is no list of names.
pub fn expected_hosts(path: impl AsRef<Path>) -> Result<ExpectedHosts> {
    let path = path.as_ref();
    let bytes = strata_files::read(path, LONGEST_LIST).map_err(|source| Error::Unreadable {
        path: path.to_owned(),
        advice: "; give a file with one host name on each line",
        source,
    })?;
    let refused = |why: &str| Error::Input(format!("`{}` is no list of hosts: {why}", path.display()));
    if bytes.len() as u64 > LONGEST_LIST {
        return Err(refused("it is too long; write one host name on each line"));
    }
    let text = String::from_utf8(bytes).map_err(|_| refused("it is no text; write one host name on each line"))?;
    ExpectedHosts::parse(&text).map_err(|why| refused(&why))
}

impl Fleet {
    /// Whether nothing stands out, nothing changed, and no host is missing.
    pub fn is_well(&self) -> bool {
        self.document.well
    }

    /// A warning for each of the first ten files that were skipped, and one for the others.
    pub fn warnings(&self) -> Vec<String> {
        let skipped = &self.document.skipped;
        let mut warnings: Vec<String> =
            skipped.iter().take(MOST_WARNINGS).map(|one| format!("skipped: `{}` {}", one.file, one.reason)).collect();
        if skipped.len() > MOST_WARNINGS {
            let more = skipped.len() - MOST_WARNINGS;
            warnings.push(format!("skipped: {more} more; the formats json and html name all of them"));
        }
        warnings
    }

    /// The files of the results that count.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// As lines and tables for people.
    pub fn text(&self, terminal: &Terminal, extent: Extent) -> String {
        report::fleet::text(&self.document, terminal, extent)
    }

    /// As one HTML page that needs no network.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if the page cannot be made.
    pub fn html(&self) -> Result<String> {
        report::fleet::html(&self.document).map_err(Error::report("the fleet as HTML"))
    }

    /// All of it as JSON.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if a value cannot be written as JSON.
    pub fn json(&self) -> Result<String> {
        report::json(&self.document).map_err(Error::report("the fleet as JSON"))
    }
}
