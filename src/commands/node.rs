//! Files that monitoring and scheduling of a node read, beside the report: each is the former one or the whole new one.

use std::path::Path;
use std::time::SystemTime;

use anyhow::anyhow;
use gpu_strata::topology::Topology;
use gpu_strata::{Exchange, Expiry};
use strata_files::STANDARD;

use super::files::Files;
use super::output::{self, Destination};
use super::{Call, Fault};
use crate::cli;

/// What asks for the metrics, and for the features.
const PROMETHEUS: &str = "--prometheus";
const NFD: &str = "--nfd";

/// The files of a run, reserved before anything is measured.
#[derive(Default)]
pub struct NodeFiles {
    prometheus: Option<Destination>,
    nfd: Option<(Destination, Expiry)>,
}

impl NodeFiles {
    /// Reserves the files. What is there stays until there is a result.
    ///
    /// # Errors
    ///
    /// Bad usage, if one of them cannot be written.
    pub fn open(arguments: &cli::NodeFiles) -> Result<Self, Fault> {
        let at = |path: &Option<_>, option| path.as_deref().map(|path| Destination::at(Some(path), option)).transpose();
        let nfd = at(&arguments.nfd, NFD)?.map(|destination| (destination, arguments.nfd_expiry));
        Ok(NodeFiles { prometheus: at(&arguments.prometheus, PROMETHEUS)?, nfd })
    }

    /// Whether there are any.
    pub fn is_none(&self) -> bool {
        self.prometheus.is_none() && self.nfd.is_none()
    }

    /// Writes them. One that fails does not keep the other from being written.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub fn write(self, topology: &Topology, call: Call) -> Result<(), Fault> {
        if let Some((_, expiry)) = &self.nfd {
            warn_if_expired(topology, *expiry, call);
        }
        self.write_by(|format| format.write(topology))
    }

    /// Writes what `text` gives in their formats, as [`NodeFiles::write`].
    ///
    /// # Errors
    ///
    /// The first failure.
    pub fn write_by(self, text: impl Fn(Exchange) -> gpu_strata::Result<String>) -> Result<(), Fault> {
        let prometheus = self.prometheus.map_or(Ok(()), |file| file.write(&text(Exchange::Prometheus)?));
        let nfd = self.nfd.map_or(Ok(()), |(file, expiry)| file.write(&text(Exchange::Nfd { expiry })?));
        prometheus.and(nfd)
    }
}

/// Says so if the features are not valid any more.
fn warn_if_expired(topology: &Topology, expiry: Expiry, call: Call) {
    if expiry.end(topology).is_some_and(|end| end < SystemTime::now()) {
        let measured = &topology.run.started;
        let what = format!(
            "the features of {NFD} have expired: this is of {measured}; measure again, or give a longer --nfd-expiry"
        );
        output::warn(call, &[what]);
    }
}

/// With the files of a node, of which none may be one that is read or written otherwise.
pub fn checked(files: Files, arguments: &cli::NodeFiles) -> Files {
    files.written(arguments.prometheus.as_deref(), PROMETHEUS).written(arguments.nfd.as_deref(), NFD)
}

/// Where the report goes, if that matters: to standard output, which only one of a command's results may go to.
pub fn report<'a>(output: Option<&'a Path>, arguments: &cli::NodeFiles) -> Option<&'a Path> {
    let standard = Path::new(STANDARD);
    let is_taken = [&arguments.prometheus, &arguments.nfd].into_iter().flatten().any(|path| path == standard);
    output.or(is_taken.then_some(standard))
}

/// Refuses these files for a characterization.
pub fn of_discovery() -> Fault {
    Fault::usage(anyhow!("{PROMETHEUS} and {NFD} are of a discovery; this is a recording of a characterization"))
}
