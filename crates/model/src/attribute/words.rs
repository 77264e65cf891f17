//! Values in words.

use std::fmt;

use super::{
    BankPoint, Configuration, Curve, Effect, FetchRow, Fetches, Hints, IndexFunction, LaunchRow, PaddingRow, Policy,
    SmPlace, SpectrumRow, Value, Ways,
};
use crate::units::{Bytes, Cycles, Nanoseconds};

/// Equal counts that are written out.
const MOST_IN_A_ROW: usize = 8;
/// Stands for a part that is unknown.
const UNKNOWN: &str = "unknown";

impl fmt::Display for Value {
    /// On one line; numbers without their unit, but for bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&words(self))
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Value::Text(text) => text.clone(),
        Value::Bytes(bytes) => bytes.to_string(),
        Value::Count(count) => count.to_string(),
        Value::Cycles(Cycles(x)) | Value::Nanoseconds(Nanoseconds(x)) | Value::Number(x) => x.to_string(),
        Value::Rate(rate) => rate.to_string(),
        Value::ClockRate(rate) => rate.to_string(),
        Value::OperationRate(rate) => rate.to_string(),
        Value::OperationClockRate(rate) => rate.to_string(),
        Value::Sizes(sizes) => list(sizes.0.iter().map(|size| size.0)),
        Value::Ways(ways) => list(ways.list()),
        Value::Counts(counts) => joined(counts.0.chunk_by(PartialEq::eq).flat_map(run), ", "),
        Value::Elements(elements) => list(elements.keys()),
        Value::Policy(policy) => replacement(policy),
        Value::Index(function) => index(function),
        Value::Curve(curve) => list(curve.0.iter().map(|step| format!("[{},{:?}]", step.footprint.0, step.share))),
        Value::Configuration(parts) => configuration(parts),
        Value::Spectrum(rows) => table(rows.0.iter().map(|row| format!("{} {:.0}", row.met(), row.cycles))),
        Value::SmMap(map) => table(map.0.iter().map(place)),
        Value::Padding(rows) => table(rows.0.iter().map(padding)),
        Value::BankCurve(points) => table(points.0.iter().map(bank_point)),
        Value::Launches(rows) => table(rows.0.iter().map(launch)),
        Value::Hints(rows) => hints(rows),
        Value::Fetches(Fetches(rows)) => table(rows.iter().map(FetchRow::to_string)),
    }
}

fn joined(items: impl Iterator<Item = String>, by: &str) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "none".to_owned() } else { items.join(by) }
}

fn list(items: impl IntoIterator<Item = impl ToString>) -> String {
    joined(items.into_iter().map(|item| item.to_string()), ", ")
}

/// Equal counts in a row: one by one, or how many there are where they would fill a line.
fn run(equal: &[u64]) -> Vec<String> {
    match equal {
        [count, ..] if equal.len() > MOST_IN_A_ROW => vec![format!("{} x {count}", equal.len())],
        few => few.iter().map(u64::to_string).collect(),
    }
}

fn table(rows: impl Iterator<Item = String>) -> String {
    joined(rows, "; ")
}

impl SpectrumRow {
    /// What the loads of the row meet, in words.
    pub fn met(&self) -> String {
        format!("{}: {}, TLB {}", self.path.name(), self.data.name(), self.translation)
    }
}

/// The accesses by what becomes of their lines.
fn hints(Hints(rows): &Hints) -> String {
    let mut effects: Vec<Effect> = rows.iter().map(|row| row.effect).collect();
    effects.sort_unstable();
    effects.dedup();
    let of = |effect: Effect| {
        let accesses = rows.iter().filter(|row| row.effect == effect).map(|row| row.access);
        format!("{effect}: {}", list(accesses))
    };
    table(effects.into_iter().map(of))
}

fn replacement(policy: &Policy) -> String {
    match policy {
        Policy::Weighted(odds) => {
            let all: Vec<String> = odds.probabilities.iter().map(|share| format!("{share:?}")).collect();
            format!("policy {}, probabilities [{}]", policy.name(), all.join(","))
        }
        other => other.name().to_owned(),
    }
}

fn index(function: &IndexFunction) -> String {
    let numbers = |all: &[u32]| all.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    match function {
        IndexFunction::Bits { bits } => format!("kind bits, bits [{}]", numbers(bits)),
        IndexFunction::Parity { masks } => {
            let masks: Vec<String> = masks.iter().map(|mask| format!("\"{:#x}\"", mask.0)).collect();
            format!("kind parity, masks [{}]", masks.join(","))
        }
        IndexFunction::Modulo { sets } => format!("kind modulo, sets {sets}"),
    }
}

fn configuration(parts: &Configuration) -> String {
    let Configuration { size, sets, ways, index: function, replacement: policy, misses } = parts;
    let or_unknown = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.to_owned());
    let ways = ways.as_ref().map(|ways| match ways {
        Ways::Equal(ways) => ways.to_string(),
        Ways::Each(all) => format!("[{}]", all.iter().map(u64::to_string).collect::<Vec<_>>().join(",")),
    });
    let points = |Curve(points): &Curve| format!("{} points", points.len());
    format!(
        "size {}, sets {}, ways {}, index {}, replacement {}, misses {}",
        size.0,
        or_unknown(sets.map(|sets| sets.to_string())),
        or_unknown(ways),
        or_unknown(function.as_ref().map(index)),
        or_unknown(policy.as_ref().map(replacement)),
        or_unknown(misses.as_ref().map(points)),
    )
}

fn place(of: &SmPlace) -> String {
    let or_unknown = |number: Option<u32>| number.map_or(UNKNOWN.to_owned(), |number| number.to_string());
    let named = |what: &str, number: Option<u32>| number.map_or(String::new(), |number| format!(", {what} {number}"));
    let (sm, partition, group) = (of.sm, or_unknown(of.partition), or_unknown(of.group));
    let latency: String =
        of.latency.iter().map(|to| format!(", {} to partition {}", to.cycles, to.partition)).collect();
    format!("sm {sm}, partition {partition}, group {group}{}{}{latency}", named("tpc", of.tpc), named("gpc", of.gpc))
}

fn mode(mode: Option<Bytes>) -> String {
    mode.map_or(String::new(), |Bytes(mode)| format!(", mode {mode}"))
}

fn padding(row: &PaddingRow) -> String {
    let words = row.words.map_or(UNKNOWN.to_owned(), |words| words.to_string());
    format!("width {}, words {words}{}", row.width.0, mode(row.mode))
}

fn bank_point(point: &BankPoint) -> String {
    let ways = point.ways.map_or(UNKNOWN.to_owned(), |ways| ways.to_string());
    let BankPoint { width: Bytes(width), stride, cycles, mode: bank_mode, .. } = point;
    format!("width {width}, stride {stride}, cycles {cycles:?}, ways {ways}{}", mode(*bank_mode))
}

fn launch(row: &LaunchRow) -> String {
    format!("{}: {}", row.launch(), row.size)
}

impl LaunchRow {
    /// The launch in words.
    pub fn launch(&self) -> String {
        let LaunchRow { threads_per_block: threads, shared_per_block: shared, .. } = self;
        let carveout = self.carveout_percent.map_or(String::new(), |percent| format!(", carveout {percent} %"));
        let shared = if *shared == Bytes(0) { "no".to_owned() } else { format!("{shared} of") };
        format!("{threads} threads a block, {shared} shared memory{carveout}")
    }
}
