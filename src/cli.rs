//! The command line: its options and the text of `--help`.

mod characterize;
mod check;
mod compare;
mod explain;
mod fleet;
mod links;
mod names;
mod node;
mod run;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum, ValueHint};
use gpu_strata::topology::Wanted;
use gpu_strata::units::Bytes;

pub use characterize::{Characterize, Roofline};
pub use check::{Check, ExitStyle};
pub use compare::{Compare, ComparisonFormat};
pub use explain::Explain;
pub use fleet::{Fleet, FleetFormat};
pub use links::{Links, LinksFormat};
pub use node::NodeFiles;
use run::parse_wait;
pub use run::{Measuring, Run};

/// Measures the memory hierarchy of an NVIDIA GPU: caches, TLBs and memories, and what access patterns cost.
#[derive(Parser, Debug)]
#[command(name = "strata", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Begin with:\n  \
    strata replay --example h200        the report of a recorded run; needs no GPU\n  \
    strata discover                     measure the first GPU\n  \
    strata discover --device sim:k20c   measure a simulated GPU\n  \
    strata help COMMAND                 all options of a command\n\nExit status:\n  \
    0    all questions were answered; \"unknown\" with a reason is an answer\n  \
    1    the run failed, or its result could not be written;\n       \
    `compare`: something differs; `fleet`: something stands out;\n       \
    `check`: a GPU has failed (--exit-style changes the numbers)\n  \
    2    bad usage, or a file that cannot be used; `compare`, `fleet`,\n       \
    `check`: any trouble\n  \
    3    no such device, no driver, or the device is busy\n  \
    4    only some questions were answered: a probe failed, a recording is\n       \
    cut or damaged, or this run's recording could not be written\n  \
    130  interrupted\n\nEnvironment:\n  \
    STRATA_CUDA_LIBRARY  path of the driver's library, if strata does not find\n                       \
    libcuda.so.1 by itself\n  \
    STRATA_LOCK_DIR      folder of the lock files by which only one strata at a\n                       \
    time measures a GPU [default: /run/lock]. Containers that\n                       \
    share a GPU need a common folder.")]
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
    /// Measure the caches, TLBs and memories of a GPU: sizes, lines, latencies, sharing
    Discover(Discover),
    /// Measure what access patterns cost on a GPU, such as strides, bank conflicts and spilling
    Characterize(Characterize),
    /// Measure how many operations a kernel must do for each byte that it reads from each memory
    Roofline(Roofline),
    /// Report a recorded run again; needs no GPU
    Replay(Replay),
    /// Make a recording from the raw timings of another tool (MT4G)
    Import(Import),
    /// Compare results with each other, with published values, or with limits (a policy)
    Compare(Compare),
    /// Check all GPUs of a node against limits (a policy): a line for each, an exit status, and never longer than --timeout
    Check(Check),
    /// Measure the links between the GPUs of a node: latency of another GPU's memory, and bandwidth by SMs and copy engines
    Links(Links),
    /// Merge many results: name the GPUs that stand out or changed, and the hosts that are missing
    Fleet(Fleet),
    /// Draw figures as three papers have them (Fuchs et al., Größler, Mei et al.), for one GPU or several
    Figures(Figures),
    /// Say how much L1 cache is left for a kernel, by its threads and shared memory
    L1(L1),
    /// List the GPUs that the driver sees, with the names for --device
    Devices {
        /// Output format
        #[arg(long, value_enum, default_value_t = ListFormat::Text)]
        format: ListFormat,
    },
    /// List the simulated GPUs (machines), or describe one
    Machines(Machines),
    /// Explain a word of a result: an attribute, an element (a cache, TLB or memory) or a term
    Explain(Explain),
    /// Explain all terms that strata uses, such as stride, footprint and miss penalty
    Glossary,
    /// Run single experiments (kernel launches): from a JSON file, or those of a recording again
    Measure(Measure),
    /// Write the samples of a recording as CSV files, its kernels as machine code, or a result as metrics of a node
    Export(Export),
    /// Print the JSON schema of a kind of result
    Schema {
        /// The kind of result
        #[arg(value_enum, default_value_t = Document::Topology)]
        of: Document,
    },
    /// Print a completion script for a shell
    #[command(after_help = "To complete in every session:\n  \
        bash  add `source <(strata completions bash)` to ~/.bashrc\n  \
        zsh   add `source <(strata completions zsh)` to ~/.zshrc, after compinit\n  \
        fish  add `strata completions fish | source` to ~/.config/fish/config.fish")]
    Completions {
        /// The shell
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
    /// A table and its explanations, for people
    Text,
    /// The whole result, for programs; `strata schema` describes it
    Json,
    /// The report with pictures, as GitHub-flavoured Markdown; with --output FILE.md the pictures go to the folder FILE-figures
    /// beside it
    Markdown,
    /// The report with pictures, as one page for a browser
    Html,
    /// A discovery as JSON, with the keys of the results of MT4G, another tool
    Mt4g,
    /// A discovery as XML, which hwloc's `lstopo -i` draws
    Hwloc,
    /// A discovery as a machine file (TOML), which `--device sim:FILE.toml` simulates
    Machine,
    /// A discovery as options of Accel-Sim (GPGPU-Sim 4.x), to append to the gpgpusim.config that the file names
    Accelsim,
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
    /// The result of `strata discover` of several GPUs
    Node,
    /// The result of `strata fleet`
    Fleet,
    /// The result of `strata check`
    Health,
    /// The result of `strata links`
    Links,
}

/// Output formats of a list.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFormat {
    /// Lines for people
    Text,
    /// The same as JSON, for programs
    Json,
}

/// The format of a report and where it goes.
#[derive(Args, Debug)]
pub struct Output {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write the result to this file; `-` is standard output, the default. An existing file is replaced when the result is
    /// complete
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Write the JSON in one line, without the lists of experiments behind the findings; needs --format json
    #[arg(long)]
    pub compact: bool,
    /// Print the whole text: all intervals, methods, reasons and figures. Without this option a text on standard output is
    /// short; files and other formats are always whole
    #[arg(long)]
    pub details: bool,
}

/// When bandwidth is measured
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bandwidth {
    /// On a GPU, at standard and thorough effort
    Auto,
    /// Always
    On,
    /// Never
    Off,
}

/// `strata discover`
#[derive(Args, Debug)]
pub struct Discover {
    /// Measure and report only these elements (caches, TLBs and memories), or attributes of elements, separated by commas, such as
    /// l1.size,l2.latency,dram. Elements are l1, texture, read_only, constant_l1, constant_l15, constant_uniform, shared, local, l2,
    /// dram, host, tlb_l1, tlb_l2, tlb_l3. `strata explain ELEMENT` says what each is and lists its attributes [default: all]
    #[arg(
        long,
        value_name = "ELEMENT[.ATTRIBUTE],…",
        value_delimiter = ',',
        value_parser = names::Elements,
        hide_possible_values = true
    )]
    pub only: Vec<Wanted>,
    /// Measure bandwidth, too (L1, read-only cache, shared memory, L2, DRAM, pinned host memory), atomics a second and latency
    /// under load. `auto` does so on a GPU unless the effort is quick: it takes about a second there, and minutes in a simulation.
    /// What --only names, such as l1.read_bandwidth, is measured anyway
    #[arg(
        long,
        value_name = "WHEN",
        num_args = 0..=1,
        require_equals = true,
        default_value = "auto",
        default_missing_value = "on"
    )]
    pub bandwidth: Bandwidth,
    /// With several GPUs: measure the links between them as well, after the GPUs, as `strata links` does. The result has both.
    /// Of --only, what begins with peer_l2 or peer_dram is measured of the links
    #[arg(long)]
    pub links: bool,
    #[command(flatten)]
    pub node: NodeFiles,
    #[command(flatten)]
    pub run: Run,
}

/// `strata replay`
#[derive(Args, Debug)]
pub struct Replay {
    /// The recording, as --record writes it; `-` is standard input
    #[arg(value_name = "FILE.strata", value_hint = ValueHint::FilePath, required_unless_present = "example")]
    pub file: Option<PathBuf>,
    /// Report a recorded run of this GPU that comes with strata, in place of a file
    #[arg(long, value_name = "GPU", value_parser = names::examples(), conflicts_with = "file")]
    pub example: Option<String>,
    /// Report only these elements or attributes (l1.size) of a discovery, or parts of a characterization, separated by commas; `strata
    /// discover --help` and `strata characterize --help` list them [default: all that the run was asked for]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub only: Vec<String>,
    #[command(flatten)]
    pub node: NodeFiles,
    #[command(flatten)]
    pub output: Output,
}

/// `strata import`
#[derive(Args, Debug)]
pub struct Import {
    /// The tool that made the timings
    #[arg(value_enum, value_name = "TOOL")]
    pub tool: Tool,
    /// The folder with the raw timings of one GPU; the tool's summary (its JSON result) may be in it or beside it
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
    /// A recording, or a JSON list of experiments as --print writes it
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Run only the experiments with these numbers, separated by commas; numbers are those of the recording, or count from 1 in a
    /// JSON list [default: all]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub number: Vec<u32>,
    /// Print the experiments as a JSON list, and run none
    #[arg(long)]
    pub print: bool,
    /// The GPU: auto (the first one), cuda:N (N counts from 0), a UUID or a PCI address (`strata devices` lists them); or a
    /// simulated one: sim:NAME or sim:FILE.toml (`strata machines` lists them)
    #[arg(long, default_value = "auto", value_parser = names::Devices::ONE, hide_possible_values = true)]
    pub device: String,
    /// Record every sample in this file
    #[arg(long, value_name = "FILE.strata", value_hint = ValueHint::FilePath)]
    pub record: Option<PathBuf>,
    /// If the GPU is in use by another strata or another program, wait for it up to this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = parse_wait, allow_negative_numbers = true)]
    pub wait: Duration,
    /// Leave the host's CPU, memory, operating system and kernel out of the recording
    #[arg(long)]
    pub no_host_facts: bool,
}

/// `strata l1`
#[derive(Args, Debug)]
pub struct L1 {
    /// A result of `strata discover`, as JSON or as a recording. Without a file, strata measures the L1 now
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Threads per block of the kernel, at most 1024
    #[arg(long, value_name = "N")]
    pub threads: u32,
    /// Shared memory per block of the kernel, static and dynamic: a number of bytes, or one with a unit, such as 16KiB
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = str::parse::<Bytes>)]
    pub shared: Bytes,
    /// Without a file, the GPU to measure: auto (the first one), cuda:N (N counts from 0), a UUID or a PCI address (`strata
    /// devices` lists them); or a simulated one: sim:NAME or sim:FILE.toml (`strata machines` lists them)
    #[arg(long, default_value = "auto", value_parser = names::Devices::ONE, hide_possible_values = true, conflicts_with = "file")]
    pub device: String,
    /// If the GPU is in use by another strata or another program, wait for it up to this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = parse_wait, allow_negative_numbers = true, conflicts_with = "file")]
    pub wait: Duration,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    pub format: ListFormat,
}

/// `strata machines`
#[derive(Args, Debug)]
pub struct Machines {
    /// The machine to describe: a name from the list, or a machine file (TOML)
    #[arg(value_name = "NAME", value_parser = names::Machines, hide_possible_values = true)]
    pub name: Option<String>,
    /// Print its machine file (TOML) instead: a copy of it can be changed and simulated with --device sim:FILE.toml
    #[arg(long, requires = "name")]
    pub toml: bool,
}

/// `strata figures`
#[derive(Args, Debug)]
pub struct Figures {
    /// The folder for the HTML page and its pictures; it is made if it is missing
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Results of `strata discover` and `strata characterize`, as JSON or as recordings, of one GPU or of several. Without files,
    /// strata measures a GPU now
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "Measuring")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub measuring: Measuring,
}

/// `strata export`
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("what").args(["csv", "code", "prometheus", "nfd"]).required(true).multiple(true))]
#[command(override_usage = "strata export [OPTIONS] <FILE>")]
pub struct Export {
    /// The recording, as --record writes it; for --prometheus and --nfd alone also a result as JSON; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Write the samples and the experiments as CSV files to this folder, which is made if it is missing
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub csv: Option<PathBuf>,
    /// Write the machine code of the recorded kernels to this folder, which is made if it is missing
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub code: Option<PathBuf>,
    #[command(flatten)]
    pub node: NodeFiles,
}
