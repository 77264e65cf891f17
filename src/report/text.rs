//! The table for people: one row an element, then what the table cannot hold.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use super::small::trimmed;
use crate::topology::{Element, ElementName, Finding, Provenance, Topology};
use crate::units::Bytes;

/// Width that a report keeps to.
const WIDTH: usize = 80;
/// Marks a value that the driver gave.
const FROM_DRIVER: &str = "†";
/// Stands where an attribute does not apply.
const NOT_APPLICABLE: &str = "-";
/// Stands where a value is unknown; its reason follows below the table.
const UNKNOWN: &str = "?";

/// The whole report.
pub fn text(topology: &Topology) -> String {
    let mut out = head(topology);
    out.push('\n');
    out.push_str(&table(topology));
    section(&mut out, "Device, from the driver", &device(topology));
    section(&mut out, "Intervals and sources", &details(topology));
    section(&mut out, "Unknown", &unknown(topology));
    section(&mut out, "Warnings", &topology.run.warnings);
    out
}

fn head(topology: &Topology) -> String {
    let (device, run) = (&topology.device, &topology.run);
    let (major, minor) = device.compute_capability;
    let clock = run.measured_clock_mhz.map_or("SM clock not measured".to_owned(), |(low, high)| {
        if (high - low).round() < 1.0 {
            format!("SM clock {low:.0} MHz, measured")
        } else {
            format!("SM clock {low:.0} to {high:.0} MHz, measured")
        }
    });
    let mut lines = Vec::new();
    if run.simulated {
        lines.push("SIMULATED: no hardware was measured.".to_owned());
    }
    lines.push(format!("{}, compute capability {major}.{minor}; {clock}", device.name));
    let driver = device.driver_version.as_deref().map_or(String::new(), |v| format!("driver {v}, "));
    lines.push(format!(
        "strata {}, {} effort, seed {}, {}, {:.1} s; {driver}CUDA {}",
        run.tool_version, run.effort, run.seed, run.started, run.duration_s, device.driver_api
    ));
    lines.push(format!("Scope: {}", run.scope));
    if let Some(file) = &topology.replayed_from {
        lines.push(format!("Replayed from {file}"));
    }
    lines.iter().map(|line| wrapped(line, "", "  ")).collect()
}

/// What the driver says of the device (Größler, section 4.1).
fn device(topology: &Topology) -> Vec<String> {
    let device = &topology.device;
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
    vec![
        format!("{} SMs of {cores} cores (cores by a table of compute capabilities)", device.multiprocessors),
        format!(
            "threads: {} a warp, {} a block, {} a SM; blocks: {blocks} a SM, {} a grid",
            device.warp_size,
            device.max_threads_per_block,
            device.max_threads_per_multiprocessor,
            device.max_grid_blocks
        ),
        format!(
            "registers: {} a block, {} a SM; shared memory: {} a block{optin}, {} a SM",
            device.registers_per_block,
            device.registers_per_multiprocessor,
            Bytes(device.shared_per_block),
            Bytes(device.shared_per_multiprocessor)
        ),
        format!(
            "constant memory {}, L2 {}, device memory {}, ECC {ecc}",
            Bytes(device.constant_memory),
            Bytes(device.l2_size),
            Bytes(device.total_memory)
        ),
        format!(
            "peak clocks: SM {}, memory {}; memory bus {} bits",
            mhz(device.clock_khz),
            mhz(device.memory_clock_khz),
            device.memory_bus_bits
        ),
    ]
}

fn table(topology: &Topology) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["", "Size", "Line", "Fetch", "Latency", "", "Shared", "#/SM"]);
    table.add_row(["", "", "B", "B", "cycles", "ns", "with", ""]);
    for (name, element) in &topology.elements {
        table.add_row(row(*name, element));
    }
    for column in 1..=5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    trimmed(&table)
}

fn row(name: ElementName, element: &Element) -> [String; 8] {
    let plain = |finding: &Option<Finding>, show: &dyn Fn(&Finding) -> String| match finding {
        None => NOT_APPLICABLE.to_owned(),
        Some(f) if !f.is_known() => f.low.map_or(UNKNOWN.to_owned(), |low| format!(">{}", Bytes(low as u64))),
        Some(f) if f.source == Some(Provenance::Driver) => format!("{}{FROM_DRIVER}", show(f)),
        Some(f) => show(f),
    };
    let bytes = |f: &Finding| Bytes(f.number().unwrap_or(0.0) as u64).to_string();
    let number = |f: &Finding| format!("{}", f.number().unwrap_or(0.0));
    let tenths = |f: &Finding| format!("{:.1}", f.number().unwrap_or(0.0));
    let list = |f: &Finding| {
        let names: Vec<&str> = f.value.as_array().into_iter().flatten().filter_map(|v| v.as_str()).collect();
        let short = |name: &&str| match *name {
            "texture" => "tex".to_owned(),
            "read_only" => "ro".to_owned(),
            other => other.to_owned(),
        };
        if names.is_empty() { "none".into() } else { names.iter().map(short).collect::<Vec<_>>().join(", ") }
    };
    let latency = |pick: fn(&crate::topology::Latency) -> &Finding| {
        plain(&element.latency.as_ref().map(|l| pick(l).clone()), &tenths)
    };
    [
        name.title().to_owned(),
        plain(&element.size, &bytes),
        plain(&element.line_size, &number),
        plain(&element.fetch_granularity, &number),
        latency(|l| &l.cycles),
        latency(|l| &l.ns),
        plain(&element.shared_with, &list),
        plain(&element.instances_per_sm, &number),
    ]
}

fn details(topology: &Topology) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, element) in &topology.elements {
        for (attribute, finding) in element.findings() {
            // The curves are for programs and pictures, and ns repeat cycles.
            if !finding.is_known() || ["staircase", "bank_curve", "latency.ns"].contains(&attribute) {
                continue;
            }
            lines.push(format!("{} {}: {}", name.key(), attribute, detail(finding)));
        }
    }
    if topology.elements.values().any(|e| e.size.as_ref().is_some_and(|s| s.source == Some(Provenance::Driver))) {
        lines.push(format!("{FROM_DRIVER} from the driver, not measured"));
    }
    lines
}

/// One item of a list in words; an object as its keys and values.
fn item(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Object(fields) => {
            fields.iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// A finding in words: value, interval, source, method, note.
fn detail(finding: &Finding) -> String {
    let is_bytes = finding.unit.as_deref() == Some("B");
    let show = |x: f64| if is_bytes { Bytes(x as u64).to_string() } else { format!("{x}") };
    let unit = match finding.unit.as_deref() {
        Some("B") | None => String::new(),
        Some(unit) => format!(" {unit}"),
    };
    let value = match (&finding.value, finding.number()) {
        (_, Some(x)) => format!("{}{unit}", show(x)),
        (serde_json::Value::Bool(b), _) => if *b { "yes" } else { "no" }.to_owned(),
        (serde_json::Value::Array(list), _) if list.is_empty() => "none".to_owned(),
        (serde_json::Value::Array(list), _) => {
            let objects = list.iter().any(serde_json::Value::is_object);
            list.iter().map(item).collect::<Vec<_>>().join(if objects { "; " } else { ", " })
        }
        (other, _) => other.to_string(),
    };
    let mut text = value;
    if let (Some(low), Some(high)) = (finding.low, finding.high)
        && low < high
    {
        let level = finding.level.map_or(String::new(), |l| format!(" at {:.0} %", l * 100.0));
        let _ = write!(text, " [{} to {}{level}]", show(low), show(high));
    }
    match finding.source {
        Some(Provenance::Measured) => text.push_str(", measured"),
        Some(Provenance::Driver) => text.push_str(", driver"),
        Some(Provenance::Derived) => text.push_str(", derived"),
        None => {}
    }
    if let Some(method) = &finding.method {
        let _ = write!(text, ": {method}");
    }
    if let Some(note) = &finding.note {
        let _ = write!(text, " ({note})");
    }
    text
}

/// Each reason once, with all that it is the reason for.
fn unknown(topology: &Topology) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (name, element) in &topology.elements {
        for (attribute, finding) in element.findings() {
            if finding.is_known() || attribute == "latency.ns" {
                continue;
            }
            let mark = if finding.failed { "failed: " } else { "" };
            let reason = format!("{mark}{}", finding.reason.as_deref().unwrap_or("no reason was given"));
            let what = format!("{} {}", name.key(), attribute);
            match reasons.iter_mut().find(|(r, _)| *r == reason) {
                Some((_, all)) => all.push(what),
                None => reasons.push((reason, vec![what])),
            }
        }
    }
    reasons.into_iter().map(|(reason, what)| format!("{}: {reason}", what.join(", "))).collect()
}

fn section(out: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    out.push('\n');
    out.push_str(title);
    out.push('\n');
    for line in lines {
        out.push_str(&wrapped(line, "  ", "    "));
    }
}

/// Breaks a line at blanks so that it keeps to [`WIDTH`]; a word that is longer stands alone.
fn wrapped(line: &str, first: &str, rest: &str) -> String {
    let mut out = String::new();
    let mut current = first.to_owned();
    let mut empty = true;
    for word in line.split_whitespace() {
        let width = current.chars().count() + usize::from(!empty) + word.chars().count();
        if !empty && width > WIDTH {
            out.push_str(&current);
            out.push('\n');
            current = rest.to_owned();
            empty = true;
        }
        if !empty {
            current.push(' ');
        }
        current.push_str(word);
        empty = false;
    }
    out + &current + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_to_the_width() {
        let long = "word ".repeat(60);
        let text = wrapped(&long, "  ", "    ");
        assert!(text.lines().all(|l| l.chars().count() <= WIDTH));
        assert_eq!(text.split_whitespace().count(), 60);
        assert!(text.starts_with("  word") && text.lines().nth(1).unwrap().starts_with("    word"));
    }
}
