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
    /// The GPU: auto (the first one), cuda:N (N counts from 0), a UUID or a PCI address (`strata devices` lists them); or a
    /// simulated one: sim:NAME or sim:FILE.toml (`strata machines` lists them). `discover` measures several at the same time: all, or
    /// a list such as cuda:0,cuda:2
    #[arg(long, default_value = "auto", value_parser = names::Devices::ONE_OR_SEVERAL, hide_possible_values = true)]
    pub device: String,
    /// How much to measure: quick, standard or thorough. More effort measures more allocations on more SMs and takes longer;
    /// standard takes some seconds
    #[arg(long, default_value = "standard", value_parser = names::efforts(), hide_possible_values = true)]
    pub effort: Effort,
    /// Seed of the random numbers, such as the order of loads; the same seed makes the same choices
    #[arg(long, default_value_t = 1, value_parser = parse_seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// If the GPU is in use by another strata or another program, wait for it up to this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = parse_wait, allow_negative_numbers = true)]
    pub wait: Duration,
    /// Leave the host's CPU, memory, operating system and kernel out of the result and the recording
    #[arg(long)]
    pub no_host_facts: bool,
    /// Print to standard error how long each step of the run took
    #[arg(long)]
    pub timings: bool,
}

/// Under which conditions the GPUs of a node are measured.
#[derive(Args, Debug)]
pub struct Conditions {
    /// Seed of the random numbers, such as the order of loads
    #[arg(long, default_value_t = 1, value_parser = parse_seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// If a GPU is in use by another strata or another program, wait for it up to this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = parse_wait, allow_negative_numbers = true)]
    pub wait: Duration,
    /// Leave the host's CPU, memory, operating system and kernel out of the results
    #[arg(long)]
    pub no_host_facts: bool,
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
    parsed.ok_or_else(|| format!("`{seconds}` is no number of seconds: give one such as 60 or 0.5"))
}

pub(super) fn parse_seed(seed: &str) -> Result<u64, String> {
    seed.parse().map_err(|_| format!("`{seed}` is no seed: give a whole number from 0 to {}", u64::MAX))
}
