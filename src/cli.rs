//! The command line: what can be asked, in the words of `--help`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use gpu_strata::attribute::Attribute;
use gpu_strata::characterization::{PartName, Suite};
use gpu_strata::topology::ElementName;
use gpu_strata::{Choice, Effort, check_device_name};

/// Finds out, by measuring, what memory a GPU has and how it behaves.
#[derive(Parser, Debug)]
#[command(name = "strata", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Exit status: 0 all that was asked for was answered (a reasoned \"unknown\" is an answer); \
    1 the run failed; 2 bad usage or bad input file; 3 no such device or driver; 4 answered in part; \
    130 interrupted.\n\nSTRATA_CUDA_LIBRARY names the driver's library (libcuda.so.1) where it lies in an unusual place.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Measure the memory topology of a GPU
    Discover(Discover),
    /// Measure what access patterns cost on a GPU
    Characterize(Characterize),
    /// Give the report of a recorded run, without a GPU
    Replay(Replay),
    /// Make a recording of the timings that another tool took
    Import(Import),
    /// Compare two results, or a result with what is published of its GPU
    Compare(Compare),
    /// List the GPUs that the driver offers
    Devices {
        /// Output format
        #[arg(long, value_enum, default_value_t = ListFormat::Text)]
        format: ListFormat,
    },
    /// List the simulated machines, or explain one
    Machines(Machines),
    /// Run experiments that are given as data, or those of a recording again
    Measure(Measure),
    /// Write the samples of a recording as CSV files
    Export(Export),
    /// Print the JSON schema of a result
    Schema {
        /// The result that it is for
        #[arg(value_enum, default_value_t = Document::Topology)]
        of: Document,
    },
    /// Print a completion script
    Completions {
        /// The shell that it is for
        shell: clap_complete::Shell,
    },
}

/// Output formats of a report.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table for people
    Text,
    /// The whole result; `strata schema` describes it
    Json,
    /// The report with pictures, as GitHub-flavoured Markdown; with --output FILE.md the pictures are files in the folder
    /// FILE-figures beside it
    Markdown,
    /// The report with pictures, as one page for a browser
    Html,
    /// JSON with the keys of MT4G's results, of a discovery
    Mt4g,
    /// XML that hwloc's `lstopo -i` draws, of a discovery
    Hwloc,
    /// A machine that `--device sim:FILE.toml` simulates, of a discovery
    Machine,
}

impl Format {
    /// Whether a characterization has it; a discovery has all.
    pub const fn is_of_characterizations(self) -> bool {
        matches!(self, Format::Text | Format::Json | Format::Markdown | Format::Html)
    }
}

/// The results that there are.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// Of `strata discover`
    Topology,
    /// Of `strata characterize`
    Characterization,
    /// Of `strata compare`
    Comparison,
}

/// Output formats of a list.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFormat {
    /// A table for people
    Text,
    /// The same for programs
    Json,
}

/// In which format a report is made and where it goes.
#[derive(Args, Debug)]
pub struct Output {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write the result here instead of to standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

/// How a command that measures does it, whatever it asks.
#[derive(Args, Debug)]
pub struct Run {
    /// Device: auto (the first), cuda:N, a UUID or a PCI address; `strata devices` lists them. Or a simulated one: sim:NAME or
    /// sim:FILE.toml; `strata machines` lists them
    #[arg(long, default_value = "auto", value_parser = parse_device)]
    pub device: String,
    /// How much to measure: quick, standard or thorough
    #[arg(long, default_value = "standard", value_parser = parse_effort)]
    pub effort: Effort,
    /// Seed of every random choice
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Keep everything that is measured in this file
    #[arg(long, value_name = "FILE.strata", value_hint = ValueHint::FilePath)]
    pub record: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
    /// Say where the time went, on standard error
    #[arg(long)]
    pub timings: bool,
    /// No progress and no warnings on standard error
    #[arg(long, short)]
    pub quiet: bool,
}

/// `strata discover`
#[derive(Args, Debug)]
pub struct Discover {
    /// Elements to report, separated by commas: l1, texture, read_only, constant_l1, constant_l15, constant_uniform,
    /// shared, local, l2, dram, host, tlb_l1, tlb_l2, tlb_l3
    #[arg(long, value_name = "ELEMENT,…", value_delimiter = ',', value_parser = parse_element)]
    pub only: Vec<ElementName>,
    #[command(flatten)]
    pub run: Run,
}

/// `strata characterize`
#[derive(Args, Debug)]
pub struct Characterize {
    /// Parts to ask, separated by commas: locality, synchronization, coalescing, spilling, banks, constant, read_only,
    /// texture_2d, histogram, intensity
    #[arg(long, value_name = "PART,…", value_delimiter = ',', value_parser = str::parse::<PartName>)]
    pub only: Vec<PartName>,
    /// Thread counts of a block, each 1 to 1024; by default the powers of two from 1 to 1024
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_threads,
        default_values_t = Suite::default().threads, hide_default_value = true, allow_negative_numbers = true)]
    pub threads: Vec<u32>,
    /// Distances from thread to thread in bytes, each a multiple of 4 from 4 to 4096; by default the powers of two from 4 to
    /// 1024
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', value_parser = parse_distance,
        default_values_t = Suite::default().distances, hide_default_value = true, allow_negative_numbers = true)]
    pub distances: Vec<u64>,
    /// Jumps within a pair of loads in bytes, each 1 to 2048; by default the powers of two from 1 to 512
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', value_parser = parse_jump,
        default_values_t = Suite::default().jumps, hide_default_value = true, allow_negative_numbers = true)]
    pub jumps: Vec<u64>,
    #[command(flatten)]
    pub run: Run,
}

impl Characterize {
    /// What is asked for.
    pub fn suite(&self) -> Suite {
        let Characterize { only, threads, distances, jumps, .. } = self;
        let suite =
            Suite { parts: only.clone(), threads: threads.clone(), distances: distances.clone(), jumps: jumps.clone() };
        suite.sorted()
    }
}

/// `strata replay`
#[derive(Args, Debug)]
pub struct Replay {
    /// The recording
    #[arg(value_name = "FILE.strata", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Elements to report, separated by commas, or of a characterization parts: `strata discover --help` and `strata
    /// characterize --help` name them
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub only: Vec<String>,
    #[command(flatten)]
    pub output: Output,
}

/// `strata import`
#[derive(Args, Debug)]
pub struct Import {
    /// The tool that took them
    #[arg(value_enum, value_name = "TOOL")]
    pub tool: Tool,
    /// The folder of one GPU's raw timings; the tool's summary lies in it or beside it
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// The recording to write; `strata replay` reports what it shows
    #[arg(long, value_name = "FILE.strata", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
}

/// Tools whose timings can be imported.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// MT4G: its files named like `GPU - L1 Size.txt`
    Mt4g,
}

/// What counts as a difference.
const COMPARED: &str = "Exit status, as of diff: 0 nothing differs; 1 something differs; 2 trouble (bad usage, a file that cannot \
    be read, nothing to compare). Not a difference: what one side does not know, values published for another product of \
    the same architecture, and sources of which at least one agrees.";

/// That, and the attributes that can be compared.
fn compared() -> String {
    let attributes = Attribute::in_report_order().into_iter();
    let lines = attributes.map(|attribute| format!("\n  {attribute}: {}", attribute.about()));
    format!("{COMPARED}\n\nAttributes of elements:{}", lines.collect::<String>())
}

/// `strata compare`
#[derive(Args, Debug)]
#[command(after_help = COMPARED, after_long_help = compared())]
pub struct Compare {
    /// A result as JSON, a recording, a summary of MT4G, `reference` (what is published of the other's GPU) or
    /// `reference:NAME`
    #[arg(value_name = "A", value_hint = ValueHint::FilePath, required_unless_present = "list_references")]
    pub a: Option<String>,
    /// The same; `reference` if it is left out
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub b: Option<String>,
    /// Distances of up to this many per cent of the larger value are no difference
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_tolerance)]
    pub tolerance: f64,
    /// Elements or parts to compare, separated by commas, each alone or with an attribute: l2, l1.latency
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = str::parse::<Choice>)]
    pub only: Vec<Choice>,
    /// Output format
    #[arg(long, value_enum, default_value_t = ComparisonFormat::Text)]
    pub format: ComparisonFormat,
    /// Write the comparison here instead of to standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// No comparison, only the exit status
    #[arg(long, short)]
    pub quiet: bool,
    /// List the GPUs of which published values are built in
    #[arg(long, exclusive = true)]
    pub list_references: bool,
}

/// Output formats of a comparison.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonFormat {
    /// Lines for people
    Text,
    /// The whole comparison; `strata schema comparison` describes it
    Json,
    /// Tables, as GitHub-flavoured Markdown
    Markdown,
}

/// `strata measure`
#[derive(Args, Debug)]
pub struct Measure {
    /// Experiments: a JSON list of them, or a recording
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Only the experiments of these numbers (of a recording, or counted from 1 in a JSON list)
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub number: Vec<u32>,
    /// Print the experiments as JSON instead of running them
    #[arg(long)]
    pub print: bool,
    /// Device: auto (the first), cuda:N, a UUID or a PCI address; or a simulated one, sim:NAME or sim:FILE.toml
    #[arg(long, default_value = "auto", value_parser = parse_device)]
    pub device: String,
    /// Keep what is measured in this file
    #[arg(long, value_name = "FILE.strata", value_hint = ValueHint::FilePath)]
    pub record: Option<PathBuf>,
}

/// `strata machines`
#[derive(Args, Debug)]
pub struct Machines {
    /// Explain this one: a name, or a file
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Print its file instead
    #[arg(long, requires = "name")]
    pub toml: bool,
}

/// `strata export`
#[derive(Args, Debug)]
pub struct Export {
    /// The recording
    #[arg(value_name = "FILE.strata", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Folder for the CSV files
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present = "code")]
    pub csv: Option<PathBuf>,
    /// Folder for the machine code of the recorded kernels
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub code: Option<PathBuf>,
}

fn parse_element(text: &str) -> Result<ElementName, String> {
    let element: ElementName = text.parse()?;
    if element.is_asked() {
        return Ok(element);
    }
    Err(format!("`{text}` is no element of an NVIDIA GPU; only timings of another tool have it"))
}

fn parse_threads(text: &str) -> Result<u32, String> {
    let threads = number(text, "1 to 1024")?;
    possible(threads, Suite { threads: vec![threads], ..Suite::default() })
}

fn parse_distance(text: &str) -> Result<u64, String> {
    let distance = number(text, "multiples of 4 B from 4 to 4096")?;
    possible(distance, Suite { distances: vec![distance], ..Suite::default() })
}

fn parse_jump(text: &str) -> Result<u64, String> {
    let jump = number(text, "1 to 2048 B")?;
    possible(jump, Suite { jumps: vec![jump], ..Suite::default() })
}

fn number<T: FromStr>(text: &str, allowed: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no such whole number: allowed are {allowed}"))
}

/// The value, if a suite that has it alone can be asked.
fn possible<T>(value: T, alone: Suite) -> Result<T, String> {
    alone.defect().map_or(Ok(value), Err)
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| format!("`{text}` is no tolerance: allowed are 0 to 100 per cent"))
}

fn parse_effort(name: &str) -> Result<Effort, String> {
    Effort::from_name(name).ok_or_else(|| format!("no effort `{name}`; there are quick, standard, thorough"))
}

/// What cannot be a device at all is bad usage; whether the device is there, the driver says.
fn parse_device(name: &str) -> Result<String, String> {
    check_device_name(name).map(|()| name.to_owned()).map_err(|error| error.to_string())
}
