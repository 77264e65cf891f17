//! The options of `strata compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use gpu_strata::attribute::Attribute;
use gpu_strata::{Choice, MaxAge, Requirement};

/// The options that are about a class of GPUs.
const CLASS: &str = "class";

/// What counts as a difference.
const COMPARED: &str = "Exit status, like that of diff: 0 nothing differs; 1 something differs; 2 trouble (bad usage, a name \
    that does not exist, a file that is unreadable or too old, nothing to compare). These are not differences: a value that only one \
    side knows (unless --require names it), a value published for another product of the same architecture, and contradicting \
    sources if at least one agrees. With --policy: 0 every result passes; 1 a value is outside its limits, or a required one is \
    unknown; 2 trouble, such as a result of another product.";

/// The same, with the attributes that can be compared.
fn compared() -> String {
    let attributes = Attribute::in_report_order().into_iter();
    let lines = attributes.map(|attribute| format!("\n  {attribute}: {}", attribute.about()));
    format!("{COMPARED}\n\nAttributes of elements:{}", lines.collect::<String>())
}

/// `strata compare`
#[derive(Args, Debug)]
#[command(after_help = COMPARED, after_long_help = compared())]
pub struct Compare {
    /// A result as JSON, a recording, a JSON result of MT4G or nvbandwidth (other tools), or published values: `reference` for those of the
    /// other side's GPU, `reference:NAME` for those of another one (--list-references lists them). `-` is standard input
    #[arg(value_name = "A", value_hint = ValueHint::FilePath, required_unless_present = "list_references")]
    pub a: Option<String>,
    /// What A is compared with, of the same kinds [default: reference]
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub b: Option<String>,
    /// Further results. Three or more stand side by side in one table. It marks outliers: values that differ from more than half
    /// of the others, of which there are two or more
    #[arg(value_name = "RESULT", value_hint = ValueHint::FilePath)]
    pub more: Vec<String>,
    /// Check each result against a policy: a file of limits for one GPU product, made by --write-policy
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = CLASS,
        conflicts_with_all = ["only", "require", "tolerance"])]
    pub policy: Option<PathBuf>,
    /// Make a policy from results that are known to be good, and write it to this file: two or more, better five, of different
    /// runs of one GPU product
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = CLASS,
        conflicts_with_all = ["only", "require", "tolerance", "max_age", "format", "output"])]
    pub write_policy: Option<PathBuf>,
    /// Accept two numbers as equal if their distance is at most this many per cent of the larger one
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_tolerance)]
    pub tolerance: f64,
    /// Compare only these elements, parts or attributes, separated by commas, such as l2,l1.latency; --help lists the attributes
    /// [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = str::parse::<Choice>)]
    pub only: Vec<Choice>,
    /// Attributes that must be known on both sides, separated by commas, such as l1.size,l2.latency. An unknown one counts as a
    /// difference [default: none]
    #[arg(long, value_name = "ELEMENT.ATTRIBUTE,…", value_delimiter = ',', value_parser = str::parse::<Requirement>)]
    pub require: Vec<Requirement>,
    /// Refuse a result whose run started longer ago than this, such as 30m, 1h or 7d; also one whose time is unknown or more than
    /// five minutes in the future. Of two results this checks B; against published values the one result; of three or more, and
    /// with --policy, each [default: any age]
    #[arg(long, value_name = "DURATION", value_parser = str::parse::<MaxAge>)]
    pub max_age: Option<MaxAge>,
    /// Output format
    #[arg(long, value_enum, default_value_t = ComparisonFormat::Text)]
    pub format: ComparisonFormat,
    /// Write the comparison to this file; `-` is standard output, the default
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Print nothing; only set the exit status
    #[arg(long, short)]
    pub quiet: bool,
    /// List the GPUs whose published values come with strata
    #[arg(long, exclusive = true)]
    pub list_references: bool,
}

/// Output formats of a comparison.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonFormat {
    /// Lines for people
    Text,
    /// The whole comparison, for programs. Its schema: `strata schema comparison`; of three or more results `strata schema
    /// several`; with --policy `strata schema acceptance`
    Json,
    /// Tables, as GitHub-flavoured Markdown; not with --policy
    Markdown,
    /// Tables, as one page for a browser; not with --policy
    Html,
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| format!("`{text}` is not a tolerance: give a number from 0 to 100 (per cent)"))
}
