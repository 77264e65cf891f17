//! The files that monitoring and scheduling of a node read.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use gpu_strata::Expiry;

/// Files for the programs that look after a node, beside the report.
#[derive(Args, Debug)]
pub struct NodeFiles {
    /// Write the numbers of a discovery as metrics to this file (FILE.prom in the folder of node_exporter's textfile collector);
    /// the file is replaced at once
    #[arg(long, value_name = "FILE.prom", value_hint = ValueHint::FilePath)]
    pub prometheus: Option<PathBuf>,
    /// Write the numbers of a discovery as features of a Kubernetes node to this file (in the folder features.d of Node Feature
    /// Discovery); the file is replaced at once
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub nfd: Option<PathBuf>,
    /// How long after the measurement the features of --nfd are valid, such as 12h or 30d; `never`: they do not expire
    #[arg(long, value_name = "DURATION", default_value = "30d", value_parser = str::parse::<Expiry>)]
    pub nfd_expiry: Expiry,
}
