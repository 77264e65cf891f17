//! The options of the commands that measure a GPU.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use gpu_strata::Effort;

use super::names;

use super::Output;

/// What is measured, and how.
#[derive(Args, Debug)]
pub struct Measuring {
    /// Device: auto (the first GPU), cuda:N, a UUID or a PCI address (`strata devices` lists them), or a simulated machine:
    /// sim:NAME or sim:FILE.toml (`strata machines` lists them)
    #[arg(long, default_value = "auto", value_parser = names::Devices, hide_possible_values = true)]
    pub device: String,
    /// How much to measure: quick, standard or thorough. More effort means more allocations and more SMs
    #[arg(long, default_value = "standard", value_parser = names::efforts(), hide_possible_values = true)]
    pub effort: Effort,
    /// Seed for all random choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Wait up to this many seconds for a GPU that is in use: by another strata, or by a program that computes on it
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = parse_wait)]
    pub wait: Duration,
    /// Leave the host's CPU, memory, operating system and kernel out of the result and the recording
    #[arg(long)]
    pub no_host_facts: bool,
    /// Print where the time went, to standard error
    #[arg(long)]
    pub timings: bool,
}

/// Options of all commands that report what they measure.
#[derive(Args, Debug)]
pub struct Run {
    #[command(flatten)]
    pub measuring: Measuring,
    /// Record every sample in this file, for `strata replay`
    #[arg(long, value_name = "FILE.strata", value_hint = ValueHint::FilePath)]
    pub record: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

pub(super) fn parse_wait(seconds: &str) -> Result<Duration, String> {
    let parsed = seconds.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    parsed.ok_or_else(|| format!("`{seconds}` is no number of seconds"))
}
