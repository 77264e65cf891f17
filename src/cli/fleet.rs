//! The options of `strata fleet`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use gpu_strata::{Choice, FleetOptions};

/// What the exit status says.
const STATUS: &str = "Exit status: 0 nothing stands out; 1 a GPU stands out or changed, or an expected host has no result; 2 trouble \
    (bad usage, a path that is not there, no result at all). A file that is no result is skipped with a warning, and does not change \
    the status: --expect names its host.\n\nOn a cluster, write a result for each GPU into one folder, with the host in its name, \
    such as\n  srun --ntasks-per-node=8 sh -c 'strata discover --device cuda:$SLURM_LOCALID\n    --format json --compact \
    --output results/$SLURMD_NODENAME-$SLURM_LOCALID.json'\nand then `strata fleet results/`.";

/// `strata fleet`
#[derive(Args, Debug)]
#[command(after_help = STATUS)]
pub struct Fleet {
    /// Results of `strata discover --format json`, and folders with results. Of a folder, all files are read whose names end in
    /// .json, at any depth
    #[arg(value_name = "FILE|DIR", value_hint = ValueHint::AnyPath, required = true)]
    pub paths: Vec<PathBuf>,
    /// Name the hosts of this list that have no result. The list has one host name on each line; `-` is standard input. A result
    /// is of the host whose name stands in the path of its file, as in results/node07-gpu3.json
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub expect: Option<PathBuf>,
    /// A measured number stands out only if it is at least this many robust standard deviations (1.4826 times the median absolute
    /// deviation) away from the median of its product
    #[arg(long, value_name = "N", default_value_t = FleetOptions::SIGMAS, value_parser = parse_least, allow_negative_numbers = true)]
    pub sigmas: f64,
    /// A measured number stands out only if it is also at least this many per cent away from the median
    #[arg(long, value_name = "PERCENT", default_value_t = FleetOptions::PERCENT, value_parser = parse_least, allow_negative_numbers = true)]
    pub percent: f64,
    /// Look only at these elements or attributes, separated by commas, such as l2,l1.latency; `strata compare --help` lists the
    /// attributes [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = str::parse::<Choice>)]
    pub only: Vec<Choice>,
    /// Output format
    #[arg(long, value_enum, default_value_t = FleetFormat::Text)]
    pub format: FleetFormat,
    /// Write the report to this file; `-` is standard output, the default. The file may be in a folder that is read
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Print the whole text: all attributes, GPUs and files. Without this option a text on standard output is short; files and other
    /// formats are always whole
    #[arg(long)]
    pub details: bool,
}

/// Output formats of a fleet.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetFormat {
    /// Lines and tables for people
    Text,
    /// Everything, for programs; `strata schema fleet` describes it
    Json,
    /// Everything, as one page for a browser
    Html,
}

fn parse_least(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("`{text}` is no threshold: give a number from 0"))
}
