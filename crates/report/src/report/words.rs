//! The words that all reports for people share: the head, the cells of the table, a finding in words.

use std::fmt;

use strata_model::attribute::{Attribute, BY_LAUNCH, Elements, Launches};
use strata_model::facts::DeviceFacts;
use strata_model::import;
use strata_model::topology::{Element, ElementName, Finding, Provenance, RunInfo, Topology, Wanted};
use strata_model::units::{Bytes, BytesPerSecond, OperationsPerSecond};

/// The first line of the report of a simulated machine.
pub(super) const SIMULATED: &str = "SIMULATED: no hardware was measured.";
/// Marks a value that the driver gave.
pub(super) const FROM_DRIVER: &str = "†";
/// Stands where an attribute does not apply.
const NOT_APPLICABLE: &str = "-";
/// Stands where an attribute was not asked for.
const NOT_ASKED: &str = "";
/// Stands in place of a curve or a map.
const PICTURED: &str = "a picture in the formats html and markdown, and numbers in json";
/// Stands where a value is unknown; its reason follows below the table.
pub(super) const UNKNOWN: &str = "?";

/// A column of the table: its heading, the second line of that, whether it holds numbers, and of what.
pub(super) struct Column {
    /// The heading.
    pub title: &'static str,
    /// The unit, or the rest of the heading.
    pub unit: &'static str,
    /// It holds numbers, which stand at the right.
    pub numeric: bool,
    /// What it shows: of these attributes the first that an element has.
    attributes: &'static [Attribute],
}

const fn column(title: &'static str, unit: &'static str, numeric: bool, attributes: &'static [Attribute]) -> Column {
    Column { title, unit, numeric, attributes }
}

/// How much an element holds: of a TLB, what it translates.
const CAPACITY: &[Attribute] = &[Attribute::Size, Attribute::Reach];

/// The columns of the table, in the order of the cells of a [`row`].
pub(super) const COLUMNS: [Column; 8] = [
    column("", "", false, &[]),
    column("Size", "", true, CAPACITY),
    column("Line", "B", true, &[Attribute::LineSize]),
    column("Fetch", "B", true, &[Attribute::FetchGranularity]),
    column("Latency", "cycles", true, &[Attribute::LatencyCycles]),
    column("Latency", "ns", true, &[Attribute::LatencyNs]),
    column("Shared", "with", false, &[Attribute::SharedWith]),
    column("#/SM", "", false, &[Attribute::InstancesPerSm]),
];

/// The signs in the table, and what they mean.
pub(super) const SIGNS: [(&str, &str); 5] = [
    (UNKNOWN, "unknown"),
    (">", "lower bound"),
    ("≤", "upper bound"),
    (NOT_APPLICABLE, "does not apply"),
    (FROM_DRIVER, "from the driver, not measured"),
];

/// Stands where no picture of a curve or map could be made.
pub(super) const NO_PICTURE: &str = "no picture available; see the JSON format";
/// What the signs in the table mean.
const LEGEND: &str = "? unknown, > lower bound, ≤ upper bound, - does not apply, † from the driver; all \
                                 other values are measured. The size of a TLB is its reach: the memory that its entries \
                                 cover.";

/// Below the table: what the signs in it mean, and of which launch the size of the L1 is.
pub(super) fn legend(topology: &Topology) -> String {
    [Some(LEGEND.to_owned()), of_launch(topology)].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Of which launch the size of the L1 is, where that matters.
pub(super) fn of_launch(topology: &Topology) -> Option<String> {
    let (most, least) = topology.l1().finding(BY_LAUNCH)?.get::<Launches>()?.extremes()?;
    Some(format!(
        "The size of the L1 is that of a launch with, for example, {}. Other launches have as little as {}; `strata l1` says how much.",
        most.launch(),
        least.size
    ))
}

/// The lines of the head; the first says whether the machine is simulated.
pub(super) fn head(device: &DeviceFacts, run: &RunInfo, replayed_from: Option<&str>) -> Vec<String> {
    let (major, minor) = device.compute_capability;
    let clock = run.measured_clock_mhz.map_or("SM clock not measured".to_owned(), clock);
    let mut lines = Vec::new();
    if run.simulated {
        lines.push(SIMULATED.to_owned());
    }
    let capability =
        if (major, minor) == (0, 0) { String::new() } else { format!(", compute capability {major}.{minor}") };
    lines.push(format!("{}{capability}; {clock}", device.name));
    if let Some(tool) = import::tool(&run.backend) {
        let when = if run.started.is_empty() { " at an unknown time".to_owned() } else { format!(", {}", run.started) };
        lines.push(format!("Timings by {tool}{when}; imported and analysed by strata {}", run.tool_version));
        lines.push(format!("Scope: {}", run.scope));
        lines.extend(asked_for(run));
        lines.extend(replayed_from.map(|file| format!("Replayed from {file}")));
        return lines;
    }
    let driver = device.driver_version.as_deref().map_or(String::new(), |v| format!("driver {v}, "));
    lines.push(format!(
        "strata {}, {} effort, seed {}, {}, {:.1} s; {driver}CUDA {}",
        run.tool_version, run.effort, run.seed, run.started, run.duration_s, device.driver_api
    ));
    lines.push(format!("Scope: {}", run.scope));
    lines.extend(asked_for(run));
    if let Some(file) = replayed_from {
        lines.push(format!("Replayed from {file}"));
    }
    lines
}

/// The values of attributes that were asked for by name: the table has no place for most of them.
pub(super) fn by_name(topology: &Topology) -> Vec<(ElementName, Attribute, String)> {
    let mut values = Vec::new();
    for (name, element) in &topology.elements {
        let is_named = |attribute| topology.run.only.iter().any(|wanted| wanted.names(*name, attribute));
        for (attribute, finding) in element.reported() {
            if finding.is_known() && is_named(attribute) {
                let value = if attribute.is_pictured() { PICTURED.to_owned() } else { Detail::of(finding).value };
                values.push((*name, attribute, value));
            }
        }
    }
    values
}

/// What alone was asked for.
fn asked_for(run: &RunInfo) -> Option<String> {
    let only: Vec<String> = run.only.iter().map(Wanted::to_string).collect();
    (!only.is_empty()).then(|| format!("Asked for: only {}", only.join(", ")))
}

/// The measured clock, lowest and highest in MHz, and how long its cycle is.
fn clock((low, high): (f64, f64)) -> String {
    let ns = |mhz: f64| 1e3 / mhz;
    if (high - low).round() < 1.0 {
        format!("SM clock {low:.0} MHz, measured: 1 cycle is {:.3} ns", ns(low))
    } else {
        format!("SM clock {low:.0} to {high:.0} MHz, measured: 1 cycle is {:.3} to {:.3} ns", ns(high), ns(low))
    }
}

/// The facts of the device from the driver (Größler, section 4.1).
pub(super) fn device(device: &DeviceFacts) -> Vec<String> {
    let or_unknown = |value: Option<String>| value.unwrap_or_else(|| "unknown".into());
    let mhz = |khz: u32| if khz == 0 { "unknown".to_owned() } else { format!("{:.0} MHz", f64::from(khz) / 1e3) };
    let cores = or_unknown(device.cores_per_multiprocessor.map(|c| c.to_string()));
    let blocks = or_unknown(device.max_blocks_per_multiprocessor.map(|b| b.to_string()));
    let optin = device.shared_per_block_optin.map_or(String::new(), |b| format!(" ({} on request)", Bytes(b)));
    let ecc = match device.ecc {
        Some(true) => "on",
        Some(false) => "off",
        None => "unknown",
    };
    // A device that was not asked, as of imported timings, leaves zeros.
    let known = |count: u32| if count == 0 { "unknown".to_owned() } else { count.to_string() };
    let bytes = |bytes: u64| if bytes == 0 { "unknown".to_owned() } else { Bytes(bytes).to_string() };
    vec![
        format!(
            "{} SMs with {cores} cores each (number of cores from a table by compute capability)",
            known(device.multiprocessors)
        ),
        format!(
            "threads: {} per warp, {} per block, {} per SM; blocks: {blocks} per SM, {} per grid",
            known(device.warp_size),
            known(device.max_threads_per_block),
            known(device.max_threads_per_multiprocessor),
            known(device.max_grid_blocks)
        ),
        format!(
            "registers: {} per block, {} per SM; shared memory: {} per block{optin}, {} per SM",
            known(device.registers_per_block),
            known(device.registers_per_multiprocessor),
            bytes(device.shared_per_block),
            bytes(device.shared_per_multiprocessor)
        ),
        format!(
            "constant memory {}, L2 {}, device memory {}, ECC {ecc}",
            bytes(device.constant_memory),
            bytes(device.l2_size),
            bytes(device.total_memory)
        ),
        format!(
            "peak clocks: SM {}, memory {}; memory bus {} bits",
            mhz(device.clock_khz),
            mhz(device.memory_clock_khz),
            known(device.memory_bus_bits)
        ),
    ]
}

/// A finding in short, as `show` has its value: with the driver's mark, or as what is unknown is written.
pub(super) fn cell(finding: &Finding, show: &dyn Fn(&Finding) -> String) -> String {
    match finding {
        f if !f.is_known() => f.low.map_or(UNKNOWN.to_owned(), |low| format!(">{}", Bytes(low as u64))),
        f if f.source == Some(Provenance::Driver) => format!("{}{FROM_DRIVER}", show(f)),
        f => show(f),
    }
}

/// The cells of the elements, by [`COLUMNS`], without those of which nothing was asked for that has a column.
pub(super) fn rows(topology: &Topology) -> impl Iterator<Item = (ElementName, &Element, [String; 8])> {
    let cells = |(name, element): (&ElementName, _)| (*name, element, row(&topology.run, *name, element));
    // Of the die, no column says anything.
    let has_columns =
        |name: &ElementName| name.attributes().any(|of| COLUMNS.iter().any(|c| c.attributes.contains(&of)));
    let elements = topology.elements.iter().filter(move |(name, _)| has_columns(name));
    elements.map(cells).filter(|(.., cells)| !cells[1..].iter().all(String::is_empty))
}

/// The cells of an element in a result of this run, by [`COLUMNS`].
fn row(run: &RunInfo, name: ElementName, element: &Element) -> [String; 8] {
    let plain = |column: usize, show: &dyn Fn(&Finding) -> String| {
        let attributes = COLUMNS[column].attributes;
        let asked_for = || attributes.iter().any(|attribute| run.asked_for(name, *attribute));
        match first(element, attributes) {
            Some(finding) => cell(finding, show),
            None => if asked_for() { NOT_APPLICABLE } else { NOT_ASKED }.to_owned(),
        }
    };
    let bytes = |f: &Finding| Bytes(f.number().unwrap_or(0.0) as u64).to_string();
    let number = |f: &Finding| format!("{}", f.number().unwrap_or(0.0));
    let tenths = |f: &Finding| format!("{}{:.1}", at_most(f), f.number().unwrap_or(0.0));
    let list = |f: &Finding| {
        let names: Vec<&str> = f.get::<Elements>().into_iter().flat_map(Elements::keys).map(short).collect();
        if names.is_empty() { "none".into() } else { names.join(", ") }
    };
    [
        name.title().to_owned(),
        plain(1, &bytes),
        plain(2, &number),
        plain(3, &number),
        plain(4, &tenths),
        plain(5, &tenths),
        plain(6, &list),
        plain(7, &number),
    ]
}

/// The key of an element, so short that several fit into a column.
fn short(key: &str) -> &str {
    match key.parse() {
        Ok(ElementName::Texture) => "tex",
        Ok(ElementName::ReadOnly) => "ro",
        _ => key,
    }
}

/// Stands before a value of which only an upper bound is known.
fn at_most(finding: &Finding) -> &'static str {
    if finding.low.is_none() && finding.high.is_some() { "≤" } else { "" }
}

/// How much an element holds.
pub(super) fn capacity(element: &Element) -> Option<&Finding> {
    first(element, CAPACITY)
}

/// The finding of the first of these attributes that an element has.
fn first<'e>(element: &'e Element, attributes: &[Attribute]) -> Option<&'e Finding> {
    attributes.iter().find_map(|attribute| element.finding(*attribute))
}

/// The findings behind the cells of a [`row`]; its name has none.
pub(super) fn behind(element: &Element) -> [Option<&Finding>; 8] {
    COLUMNS.map(|column| first(element, column.attributes))
}

/// A finding in words.
#[derive(Clone)]
pub(super) struct Detail {
    /// Value and interval, with the unit.
    pub value: String,
    /// Where it is from.
    pub source: Option<&'static str>,
    /// How it was found.
    pub method: Option<String>,
    /// What the reader should know besides.
    pub note: Option<String>,
}

impl Detail {
    /// Of a finding that has a value, which a picture shows or cannot show.
    pub fn without_value(finding: &Finding, instead: &str) -> Self {
        Detail { value: instead.to_owned(), ..Detail::of(finding) }
    }

    /// Of a finding that has a value.
    pub fn of(finding: &Finding) -> Self {
        let source = finding.source.map(|source| match source {
            Provenance::Measured => "measured",
            Provenance::Driver => "driver",
            Provenance::Derived => "derived",
        });
        Detail { value: value(finding), source, method: finding.method.clone(), note: finding.note.clone() }
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.value)?;
        if let Some(source) = self.source {
            write!(f, ", {source}")?;
        }
        if let Some(method) = &self.method {
            write!(f, ": {method}")?;
        }
        if let Some(note) = &self.note {
            write!(f, " ({note})")?;
        }
        Ok(())
    }
}

/// What an element's own section says, attribute by attribute. Nanoseconds are left to the table: they repeat cycles.
pub(super) fn attributes(element: &Element) -> impl Iterator<Item = (Attribute, &Finding)> {
    element.reported().filter(|(attribute, _)| *attribute != Attribute::LatencyNs)
}

/// A number in the unit of a finding; only bytes and rates have theirs beside it, with a prefix.
pub(super) fn amount(finding: &Finding, x: f64) -> String {
    match finding.unit.as_deref() {
        Some("B") => Bytes(x as u64).to_string(),
        Some("B/s") => BytesPerSecond(x).to_string(),
        Some("op/s") => OperationsPerSecond(x).to_string(),
        _ => format!("{x}"),
    }
}

/// Value and interval.
fn value(finding: &Finding) -> String {
    let value = alone(finding);
    match (finding.low, finding.high) {
        (Some(low), Some(high)) if low < high => {
            let level = finding.level.map_or(String::new(), |l| format!(" at {:.0} %", l * 100.0));
            format!("{value} [{} to {}{level}]", amount(finding, low), amount(finding, high))
        }
        (None, Some(high)) => format!("{value} [at most {}]", amount(finding, high)),
        _ => value,
    }
}

/// The value without its interval.
pub(super) fn alone(finding: &Finding) -> String {
    let unit = match finding.unit.as_deref() {
        Some("B" | "B/s" | "op/s") | None => String::new(),
        Some(unit) => format!(" {unit}"),
    };
    match (&finding.value, finding.number()) {
        (_, Some(x)) => format!("{}{unit}", amount(finding, x)),
        (Some(value), None) => value.to_string(),
        (None, None) => "unknown".to_owned(),
    }
}

/// Stands before the reason of a measurement that failed.
pub(super) const FAILED: &str = "failed: ";

/// Why a finding has no value.
pub(super) fn reason(finding: &Finding) -> String {
    let mark = if finding.failed { FAILED } else { "" };
    format!("{mark}{}", finding.reason.as_deref().unwrap_or("no reason was given"))
}

/// Text from outside (the names of devices and files, whatever a recording holds) as one line without invisible characters:
/// some are no XML, and some reverse what is read.
pub fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        // Marks of direction, and the two code points that XML leaves out.
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => {
            char::REPLACEMENT_CHARACTER
        }
        c => c,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_replaced() {
        assert_eq!(printable("a\nb\tc\0d\u{202e}e\u{ffff}é"), "a b c\u{fffd}d\u{fffd}e\u{fffd}é");
    }

    #[test]
    fn a_finding_in_words_has_all_that_is_known() {
        let finding = Finding::measured(Bytes(2048), "by hand").interval(1024.0, 4096.0, 0.95).note("twice");
        assert_eq!(Detail::of(&finding.any()).to_string(), "2 KiB [1 KiB to 4 KiB at 95 %], measured: by hand (twice)");
        assert_eq!(reason(&Finding::failed("no load came back")), "failed: no load came back");
    }
}
