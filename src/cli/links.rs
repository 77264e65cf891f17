//! The options of `strata links`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use gpu_strata::Effort;
use gpu_strata::topology::Wanted;

use super::names;
use super::run::Conditions;

/// What is measured, and what the exit status says.
const AFTER: &str = "Of each ordered pair of GPUs, one after the other: the latency of the other GPU's L2 and of its memory, which caches keep \
    its lines, and what SMs and copy engines read and write over the link.\n\n\
    Exit status: 0 all links were measured; 1 the run failed; 2 bad usage; 3 no such device, or it is busy; 4 some links, or \
    some of their values, were not measured; 130 interrupted.";

/// `strata links`
#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub struct Links {
    /// The GPUs: all, or a list of two or more names such as cuda:0,cuda:2 or sim:h200,sim:h200; `strata devices` lists them
    #[arg(long, default_value = "all", value_parser = names::Devices::ONE_OR_SEVERAL, hide_possible_values = true)]
    pub device: String,
    /// Measure only these elements or attributes, separated by commas: of peer_l2 and peer_dram, such as peer_dram.latency [default: all of
    /// both]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = Wanted::of_a_gpu)]
    pub only: Vec<Wanted>,
    /// How much to measure: quick, standard or thorough
    #[arg(long, default_value = "standard", value_parser = names::efforts(), hide_possible_values = true)]
    pub effort: Effort,
    #[command(flatten)]
    pub conditions: Conditions,
    /// Record every sample in this folder, one file for each link, for `strata replay`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub record: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = LinksFormat::Text)]
    pub format: LinksFormat,
    /// Write the report to this file; `-` is standard output, the default
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

/// Output formats of links.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinksFormat {
    /// A matrix of each quantity, for people
    Text,
    /// Everything, for programs; `strata schema links` describes it
    Json,
    /// The matrices as tables of GitHub-flavoured Markdown
    Markdown,
    /// The matrices as heat maps, as one page for a browser
    Html,
}
