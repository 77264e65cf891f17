//! The command line: its options and the text of `--help`.

mod compare;
mod explain;
mod names;
mod run;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use gpu_strata::characterization::{PartName, Suite};
use gpu_strata::topology::ElementName;
use gpu_strata::units::Bytes;

pub use compare::{Compare, ComparisonFormat};
pub use explain::Explain;
use run::parse_wait;
pub use run::{Measuring, Run};

/// Measures the memory hierarchy of a GPU: sizes, latencies, sharing, TLBs, and what access patterns cost.
#[derive(Parser, Debug)]
#[command(name = "strata", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Exit status:\n  \
    0    all questions were answered; \"unknown\" with a reason is an answer\n  \
    1    the run failed, or its result could not be written;\n       \
    `compare`: something differs\n  \
    2    bad usage, or a file that cannot be used; `compare`: any trouble\n  \
    3    no such device, no driver, or the device is busy\n  \
    4    only some questions were answered: a probe failed, a recording is\n       \
    cut or damaged, or this run's recording could not be written\n  \
    130  interrupted\n\nSet STRATA_CUDA_LIBRARY to the path of the driver's library (libcuda.so.1) if it is in an unusual \
    place, and STRATA_LOCK_DIR to a folder that all who measure a GPU share, for the locks that keep them apart.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Print no progress, no warnings and no notes; errors are printed
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Measure the memory topology of a GPU
    Discover(Discover),
    /// Measure what access patterns cost on a GPU
    Characterize(Characterize),
    /// Show the report of a recorded run; needs no GPU
    Replay(Replay),
    /// Make a recording from the raw timings of another tool
    Import(Import),
    /// Compare results with each other, with published values, or with a policy
    Compare(Compare),
    /// Draw the figures of the papers: for the GPUs of results, or for a GPU that is measured now
    Figures(Figures),
    /// Say how much L1 a kernel gets, by its threads and shared memory
    L1(L1),
    /// List the GPUs that the driver sees
    Devices {
        /// Output format
        #[arg(long, value_enum, default_value_t = ListFormat::Text)]
        format: ListFormat,
    },
    /// List the simulated machines, or explain one
    Machines(Machines),
    /// Explain an attribute of a result, an element or a term
    Explain(Explain),
    /// Print the terms of the field as strata uses them
    Glossary,
    /// Run experiments from a JSON file, or run those of a recording again
    Measure(Measure),
    /// Write the samples of a recording as CSV files
    Export(Export),
    /// Print the JSON schema of a result
    Schema {
        /// Which result
        #[arg(value_enum, default_value_t = Document::Topology)]
        of: Document,
    },
    /// Print a completion script
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages to a folder
    Man {
        /// The folder, which is made if it is missing; `man -l DIR/strata.1` shows the first page
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
}

/// Output formats of a report.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table for people
    Text,
    /// The whole result; `strata schema` describes it
    Json,
    /// The report with pictures, as GitHub-flavoured Markdown; with --output FILE.md the pictures go to the folder FILE-figures
    /// beside it
    Markdown,
    /// The report with pictures, as one page for a browser
    Html,
    /// A discovery as JSON, with the keys of MT4G's results
    Mt4g,
    /// A discovery as XML, which hwloc's `lstopo -i` draws
    Hwloc,
    /// A discovery as a machine file, which `--device sim:FILE.toml` simulates
    Machine,
}

impl Format {
    /// Whether a characterization has this format; a discovery has all formats.
    pub const fn is_of_characterizations(self) -> bool {
        matches!(self, Format::Text | Format::Json | Format::Markdown | Format::Html)
    }
}

/// The kinds of results.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// The result of `strata discover`
    Topology,
    /// The result of `strata characterize`
    Characterization,
    /// The result of `strata compare`
    Comparison,
    /// The result of `strata compare` of three or more results
    Several,
    /// The result of `strata compare --policy`
    Acceptance,
}

/// Output formats of a list.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFormat {
    /// A table for people
    Text,
    /// The same for programs
    Json,
}

/// The format of a report and where it goes.
#[derive(Args, Debug)]
pub struct Output {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write the result to this file instead of standard output; `-` is standard output. A file that is there is replaced once the
    /// result is complete
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// JSON in one line, without the numbers of the experiments behind each finding
    #[arg(long)]
    pub compact: bool,
    /// With all intervals, methods, reasons and figures; a text in a file has them anyway, other formats always
    #[arg(long)]
    pub details: bool,
}

/// `strata discover`
#[derive(Args, Debug)]
pub struct Discover {
    /// Elements to report, separated by commas: l1, texture, read_only, constant_l1, constant_l15, constant_uniform,
    /// shared, local, l2, dram, host, tlb_l1, tlb_l2, tlb_l3
    #[arg(long, value_name = "ELEMENT,…", value_delimiter = ',', value_parser = names::elements(), hide_possible_values = true)]
    pub only: Vec<ElementName>,
    #[command(flatten)]
    pub run: Run,
}

/// `strata characterize`
#[derive(Args, Debug)]
pub struct Characterize {
    /// Parts to measure, separated by commas: locality, synchronization, coalescing, spilling, banks, constant, read_only,
    /// texture_2d, histogram, intensity, texture_3d, operands
    #[arg(long, value_name = "PART,…", value_delimiter = ',', value_parser = names::parts(), hide_possible_values = true)]
    pub only: Vec<PartName>,
    /// Threads per block, each from 1 to 1024 [default: the powers of two from 1 to 1024]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_threads,
        default_values_t = Suite::default().threads, hide_default_value = true, allow_negative_numbers = true)]
    pub threads: Vec<u32>,
    /// Distances between the addresses of neighbouring threads, in bytes: multiples of 4 from 4 to 4096 [default: the powers of
    /// two from 4 to 1024]
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', value_parser = parse_distance,
        default_values_t = Suite::default().distances, hide_default_value = true, allow_negative_numbers = true)]
    pub distances: Vec<u64>,
    /// Distances between the two loads of a pair, in bytes, each from 1 to 2048 [default: the powers of two from 1 to 512]
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', value_parser = parse_jump,
        default_values_t = Suite::default().jumps, hide_default_value = true, allow_negative_numbers = true)]
    pub jumps: Vec<u64>,
    /// Barriers among 1024 writes: powers of two from 1 to 1024 [default: all of them]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_barriers,
        default_values_t = Suite::default().barriers, hide_default_value = true, allow_negative_numbers = true)]
    pub barriers: Vec<u32>,
    /// Variables of 64 bits in a thread, each from 2 to 2048 [default: the powers of two from 2 to 2048; to 256 with
    /// --effort quick]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_variables, allow_negative_numbers = true)]
    pub variables: Vec<u32>,
    /// Statements that add these variables up: a multiple of 256 from 256 to 65536
    #[arg(long, value_name = "N", value_parser = parse_statements, default_value_t = Suite::default().statements,
        allow_negative_numbers = true)]
    pub statements: u32,
    #[command(flatten)]
    pub run: Run,
}

impl Characterize {
    /// The parts and values to measure.
    pub fn suite(&self) -> Suite {
        let Characterize { only, threads, distances, jumps, barriers, variables, statements, .. } = self;
        let suite = Suite {
            parts: only.clone(),
            threads: threads.clone(),
            distances: distances.clone(),
            jumps: jumps.clone(),
            barriers: barriers.clone(),
            variables: variables.clone(),
            statements: *statements,
        };
        suite.sorted()
    }
}

/// `strata replay`
#[derive(Args, Debug)]
pub struct Replay {
    /// The recording; `-` is standard input
    #[arg(value_name = "FILE.strata", value_hint = ValueHint::FilePath, required_unless_present = "example")]
    pub file: Option<PathBuf>,
    /// A recorded run of a real GPU that comes with this program
    #[arg(long, value_name = "GPU", value_parser = names::examples(), conflicts_with = "file")]
    pub example: Option<String>,
    /// Elements of a discovery, or parts of a characterization, separated by commas; `strata discover --help` and `strata
    /// characterize --help` list them
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub only: Vec<String>,
    #[command(flatten)]
    pub output: Output,
}

/// `strata import`
#[derive(Args, Debug)]
pub struct Import {
    /// The tool that made the timings
    #[arg(value_enum, value_name = "TOOL")]
    pub tool: Tool,
    /// The folder with the raw timings of one GPU; the tool's summary may be inside it or beside it
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// The recording to write; `strata replay` shows its report
    #[arg(long, value_name = "FILE.strata", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
}

/// Tools whose timings can be imported.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// MT4G: its files named like `GPU - L1 Size.txt`
    Mt4g,
}

/// `strata measure`
#[derive(Args, Debug)]
pub struct Measure {
    /// Experiments: a JSON list of them, or a recording
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Only the experiments with these numbers (as in the recording; in a JSON list, counted from 1)
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub number: Vec<u32>,
    /// Print the experiments as JSON instead of running them
    #[arg(long)]
    pub print: bool,
    /// Device: auto (the first GPU), cuda:N, a UUID or a PCI address, or a simulated machine: sim:NAME or sim:FILE.toml
    #[arg(long, default_value = "auto", value_parser = names::Devices, hide_possible_values = true)]
    pub device: String,
    /// Record every sample in this file
    #[arg(long, value_name = "FILE.strata", value_hint = ValueHint::FilePath)]
    pub record: Option<PathBuf>,
    /// Wait up to this many seconds for a GPU that is in use: by another strata, or by a program that computes on it
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = parse_wait)]
    pub wait: Duration,
    /// Leave the host's CPU, memory, operating system and kernel out of the recording
    #[arg(long)]
    pub no_host_facts: bool,
}

/// `strata l1`
#[derive(Args, Debug)]
pub struct L1 {
    /// A result of `strata discover`: its JSON or its recording. Without one, the L1 of a GPU is measured now
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Threads of a block
    #[arg(long, value_name = "N")]
    pub threads: u32,
    /// Shared memory of a block, static and dynamic: a number of bytes, or one with a unit, such as 16KiB
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = str::parse::<Bytes>)]
    pub shared: Bytes,
    /// Device to measure without a file: auto (the first GPU), cuda:N, a UUID or a PCI address, or a simulated machine
    #[arg(long, default_value = "auto", value_parser = names::Devices, hide_possible_values = true, conflicts_with = "file")]
    pub device: String,
    /// Wait up to this many seconds for a GPU that is in use
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = parse_wait, conflicts_with = "file")]
    pub wait: Duration,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    pub format: ListFormat,
}

/// `strata machines`
#[derive(Args, Debug)]
pub struct Machines {
    /// The machine to explain: a name or a file
    #[arg(value_name = "NAME", value_parser = names::Machines, hide_possible_values = true)]
    pub name: Option<String>,
    /// Print its machine file instead
    #[arg(long, requires = "name")]
    pub toml: bool,
}

/// `strata figures`
#[derive(Args, Debug)]
pub struct Figures {
    /// The folder that gets the page and its pictures; it is made if it is missing
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Results of `strata discover` and `strata characterize`, as JSON or as recordings, of one GPU or of several. Without any, a
    /// GPU is discovered and characterized now
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "Measuring")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub measuring: Measuring,
}

/// `strata export`
#[derive(Args, Debug)]
pub struct Export {
    /// The recording
    #[arg(value_name = "FILE.strata", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Write the CSV files to this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present = "code")]
    pub csv: Option<PathBuf>,
    /// Write the machine code of the recorded kernels to this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub code: Option<PathBuf>,
}

fn parse_threads(text: &str) -> Result<u32, String> {
    alone(text, "whole numbers from 1 to 1024", |n| Suite { threads: vec![n], ..Suite::default() })
}

fn parse_distance(text: &str) -> Result<u64, String> {
    alone(text, "multiples of 4 B from 4 to 4096", |n| Suite { distances: vec![n], ..Suite::default() })
}

fn parse_jump(text: &str) -> Result<u64, String> {
    alone(text, "whole numbers from 1 to 2048 B", |n| Suite { jumps: vec![n], ..Suite::default() })
}

fn parse_barriers(text: &str) -> Result<u32, String> {
    alone(text, "powers of two from 1 to 1024", |n| Suite { barriers: vec![n], ..Suite::default() })
}

fn parse_variables(text: &str) -> Result<u32, String> {
    alone(text, "whole numbers from 2 to 2048", |n| Suite { variables: vec![n], ..Suite::default() })
}

fn parse_statements(text: &str) -> Result<u32, String> {
    alone(text, "multiples of 256 from 256 to 65536", |n| Suite { statements: n, ..Suite::default() })
}

/// A number of a suite. It is allowed if a suite with this number alone is.
fn alone<T: FromStr + Copy>(text: &str, allowed: &str, suite: impl FnOnce(T) -> Suite) -> Result<T, String> {
    let number = text.parse().map_err(|_| format!("`{text}` is not allowed: use {allowed}"))?;
    suite(number).defect().map_or(Ok(number), Err)
}
