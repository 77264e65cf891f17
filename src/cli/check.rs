//! The options of `strata check`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use gpu_strata::Effort;

use super::run::{Conditions, parse_wait};
use super::{ListFormat, NodeFiles, names};

/// What the exit status says.
const STATUS: &str = "A GPU has passed, is untested (in use by others, no driver, no policy for it), is incomplete (a value that the \
    policy requires is unknown), or has failed (a value is outside its limits, it gave no answer in time, its driver crashed). The node \
    has the worst of these; failed is the worst and passed the best. It has failed, too, if a GPU of --gpus is missing.\n\n\
    Exit status:\n  \
    --exit-style  passed  untested  incomplete  failed\n  \
    diff               0         2           1       1\n  \
    nagios             0         3           1       2\n  \
    npd                0         2           1       1\n\n\
    A file that cannot be used is untested. A misspelt option is untested, too.\n\n\
    The first line is that of the node. Each GPU is measured by a process of its own. One that gives no answer in time is killed, and \
    the others keep their results. If a policy was made from results of `strata links`, each pair of GPUs is measured after that, one \
    pair after the other; a link has a verdict, too.";

/// `strata check`
#[derive(Args, Debug)]
#[command(after_help = STATUS)]
pub struct Check {
    /// Limits for one GPU product, or for the links between GPUs of it, as `strata compare --write-policy` makes them. Give the option once
    /// for each product of the node
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, required = true)]
    pub policy: Vec<PathBuf>,
    /// The GPUs: all, or a list of names such as cuda:0,cuda:2 or sim:k20c; `strata devices` lists them
    #[arg(long, default_value = "all", value_parser = names::Devices::ONE_OR_SEVERAL, hide_possible_values = true)]
    pub device: String,
    /// How many GPUs the node should have. If there are fewer, the node has failed
    #[arg(long, value_name = "N")]
    pub gpus: Option<usize>,
    /// Kill what has given no answer after this many seconds. Slurm gives its health check 60
    #[arg(long, value_name = "SECONDS", default_value = "50", value_parser = parse_wait, allow_negative_numbers = true)]
    pub timeout: Duration,
    /// Whose exit status this command has; see below
    #[arg(long, value_enum, default_value_t = ExitStyle::Diff)]
    pub exit_style: ExitStyle,
    /// How much to measure: quick, standard or thorough; as much as for the results that the policy was made from
    #[arg(long, default_value = "standard", value_parser = names::efforts(), hide_possible_values = true)]
    pub effort: Effort,
    #[command(flatten)]
    pub conditions: Conditions,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    pub format: ListFormat,
    /// Write the report to this file; `-` is standard output, the default
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Keep the measured values of all GPUs in this file, as JSON, for `strata fleet` and `strata compare`
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub result: Option<PathBuf>,
    #[command(flatten)]
    pub node: NodeFiles,
}

/// Programs that run health checks and read their exit status.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStyle {
    /// As diff and `strata compare --policy`
    Diff,
    /// As plugins of Nagios and its relatives; the first line begins with OK, WARNING, CRITICAL or UNKNOWN
    Nagios,
    /// As plugins of Kubernetes' Node Problem Detector
    Npd,
}
