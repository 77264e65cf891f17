//! What discovery should say of a machine, and how its findings are held against that.

use serde_json::{Value, json};
use strata_model::topology::{ElementName, Finding, Topology};
use strata_model::units::Bytes;

use super::cache::{self, Policy, Shape};
use super::machine::{Machine, SPIKE};
use super::{BASE, CLOCK_GHZ, CONSTANT_LIMIT};

/// What a finding must be.
#[derive(Clone, Debug)]
pub enum Expect {
    /// This, exactly.
    Is(Value),
    /// This number, no further off than the second.
    Near(f64, f64),
    /// A number from the first to the second.
    Within(f64, f64),
    /// A number whose interval covers this, or misses it by no more than twice its width: intervals may fail, not far.
    Covers(f64),
    /// These names; one that is left out must be said to be undecided.
    Names(&'static [&'static str]),
    /// Unknown, for a reason that contains this.
    Unknown(&'static str),
}

/// One attribute of one element and what it must be.
pub type Row = (ElementName, &'static str, Expect);

/// Whether a finding is as expected; `None` for an unknown with a reason where there is something to know.
///
/// # Errors
///
/// What is wrong with the finding.
pub fn check(finding: &Finding, expect: &Expect) -> Result<Option<()>, String> {
    let reason = finding.reason.as_deref().unwrap_or_default();
    let found_value = super::json(finding);
    if finding.failed {
        return Err(format!("failed: {reason}"));
    }
    match expect {
        Expect::Unknown(part) if finding.is_known() => Err(format!("{}, to be unknown: {part}", found_value)),
        Expect::Unknown(part) if reason.contains(part) => Ok(Some(())),
        Expect::Unknown(part) => Err(format!("unknown because `{reason}`, not because of `{part}`")),
        _ if !finding.is_known() && reason.is_empty() => Err("unknown without a reason".into()),
        _ if !finding.is_known() => Ok(None),
        Expect::Is(value) if *value == found_value => Ok(Some(())),
        Expect::Near(value, off) if finding.number().is_some_and(|n| (n - value).abs() <= *off) => Ok(Some(())),
        Expect::Within(low, high) if finding.number().is_some_and(|n| (*low..=*high).contains(&n)) => Ok(Some(())),
        Expect::Covers(value)
            if finding.low.zip(finding.high).is_some_and(|(low, high)| {
                let width = high - low;
                (low - 2.0 * width..=high + 2.0 * width).contains(value)
            }) =>
        {
            Ok(Some(()))
        }
        Expect::Names(names) => {
            let found: Vec<&str> = found_value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let undecided = |name| finding.note.as_ref().is_some_and(|note| note.contains(&format!("{name}: ")));
            let right = found.iter().all(|name| names.contains(name))
                && names.iter().all(|name| found.contains(name) || undecided(name));
            if right { Ok(Some(())) } else { Err(format!("{}, not {names:?}", found_value)) }
        }
        other => Err(format!("{} [{:?} to {:?}], not {other:?}", found_value, finding.low, finding.high)),
    }
}

/// The rows that a topology contradicts, and those on which it says nothing.
pub fn compare<'r>(topology: &Topology, rows: &'r [Row]) -> (Vec<String>, Vec<(&'r Row, String)>) {
    let (mut wrong, mut unknown) = (Vec::new(), Vec::new());
    for row in rows {
        let (name, attribute, expect) = row;
        let finding = super::finding(topology, *name, attribute);
        match check(finding, expect) {
            Ok(Some(())) => {}
            Ok(None) => unknown.push((row, finding.reason.clone().unwrap_or_default())),
            Err(what) => wrong.push(format!("{name}.{attribute}: {what}")),
        }
    }
    (wrong, unknown)
}

/// Loads of the shorter whole-lap measurement and how many measurements the median is of, as docs/methods/latency.md gives them.
const LAP_LOADS: f64 = 512.0;
const LAP_ROUNDS: f64 = 5.0;

impl Machine {
    /// Mean latency of a level whose clean latency is this, and how far off a whole-lap measurement on so many SMs may
    /// be: a cycle, and where loads spike four standard deviations of a mean of medians besides.
    fn lap_latency(&self, clean: u32, sms: f64) -> Expect {
        let mean = f64::from(clean) + f64::from(self.jitter) / 2.0;
        if self.spike_every == 0 {
            return Expect::Near(mean, 1.0);
        }
        let (share, spike) = (1.0 / f64::from(self.spike_every), f64::from(SPIKE));
        let round = (3.0 * LAP_LOADS * share).sqrt() * spike / LAP_LOADS;
        Expect::Near(mean + share * spike, 1.0 + 4.0 * 1.25 * round / (LAP_ROUNDS * sms).sqrt())
    }

    fn latency_rows(&self, name: ElementName, clean: u32, sms: f64) -> [Row; 2] {
        let cycles = self.lap_latency(clean, sms);
        let Expect::Near(mean, off) = cycles else { unreachable!("a latency is a number") };
        let ns = Expect::Near(mean / CLOCK_GHZ, off / CLOCK_GHZ + 0.01);
        [(name, "latency.cycles", cycles), (name, "latency.ns", ns)]
    }

    /// How far off the difference of two medians may be: of the few loads of a small footprint that of the jitter is
    /// anything.
    fn median_off(&self) -> f64 {
        1.0 + f64::from(self.jitter) / 2.0
    }

    /// What a measured capacity must be: exact, but where spikes hide the first misses.
    fn capacity(&self, shape: &Shape, granule: u64) -> Expect {
        let size = (cache::usable(shape, BASE) / granule * granule) as f64;
        if self.spike_every == 0 { Expect::Within(size, size) } else { Expect::Covers(size) }
    }

    /// As [`Machine::capacity`], of a sample of the L2: misses of the first lines beyond may all be outside it.
    fn sampled_capacity(&self) -> Expect {
        let shape = &self.l2;
        let size = (cache::usable(shape, BASE) / PIECE.0 * PIECE.0) as f64;
        let more = (PIECE.0 * if shape.policy == Policy::Random { 2 } else { 1 }) as f64;
        if self.spike_every == 0 {
            return Expect::Within(size, size + more);
        }
        let (low, high) = if shape.policy == Policy::Random { RANDOM_AMONG_SPIKES } else { ORDERED_AMONG_SPIKES };
        let lines = (4 * shape.line) as f64;
        Expect::Within(size * (1.0 - low) - lines, size * (1.0 + high) + lines + more)
    }

    /// What discovery should say of it, attribute by attribute.
    pub fn expected(&self) -> Vec<Row> {
        use ElementName::*;
        let texture = self.texture.unwrap_or(self.l1);
        let names: [&'static [&'static str]; 3] = match self.texture {
            None => [&["texture", "read_only"], &["l1", "read_only"], &["l1", "texture"]],
            Some(_) => [&[], &["read_only"], &["texture"]],
        };
        let l1_instances = if self.texture.is_some() { 1 } else { self.instances };
        let mut rows: Vec<Row> =
            vec![(L1, "cached", Expect::Is(json!(true))), (Local, "cached", Expect::Is(json!(true)))];
        let caches = [
            (L1, &self.l1, names[0], l1_instances, self.l2.latency),
            (Texture, &texture, names[1], self.instances, self.l2.latency),
            (ReadOnly, &texture, names[2], self.instances, self.l2.latency),
            (ConstantL1, &self.constant_l1, &[][..], 1, self.constant_l15.latency),
        ];
        for (name, shape, shared_with, instances, behind) in caches {
            rows.extend([
                (name, "size", self.capacity(shape, shape.sector)),
                (name, "line_size", Expect::Is(json!(shape.line))),
                (name, "fetch_granularity", Expect::Is(json!(shape.sector))),
                (name, "miss_penalty", Expect::Near(f64::from(behind - shape.latency), self.median_off())),
                (name, "shared_with", Expect::Names(shared_with)),
                (name, "instances_per_sm", Expect::Is(json!(instances))),
            ]);
            if self.spike_every == 0 {
                rows.push((name, "conflicts", Expect::Near(0.0, 0.0)));
            }
            rows.extend(self.latency_rows(name, shape.latency, 4.0));
        }
        let second = &self.constant_l15;
        if cache::usable(second, BASE) < CONSTANT_LIMIT.0 {
            rows.extend([
                (ConstantL15, "size", self.capacity(second, self.constant_l1.sector)),
                (ConstantL15, "line_size", Expect::Is(json!(second.line))),
                (
                    ConstantL15,
                    "miss_penalty",
                    Expect::Near(f64::from(self.l2.latency - second.latency), self.median_off()),
                ),
            ]);
        } else {
            // Among spikes there are other reasons.
            let reason = if self.spike_every == 0 { BEYOND } else { "" };
            rows.extend(["size", "line_size", "miss_penalty"].map(|a| (ConstantL15, a, Expect::Unknown(reason))));
        }
        rows.push((ConstantL15, "fetch_granularity", Expect::Is(json!(second.sector))));
        rows.extend(self.latency_rows(ConstantL15, second.latency, 4.0));
        for (name, clean, sms) in
            [(Shared, self.shared_latency, 4.0), (Local, self.l1.latency, 4.0), (Host, self.host_latency, 1.0)]
        {
            rows.extend(self.latency_rows(name, clean, sms));
        }
        rows.extend([
            (L2, "size", self.sampled_capacity()),
            (L2, "nominal_size", Expect::Is(json!(self.l2.size()))),
            (L2, "line_size", Expect::Is(json!(self.l2.line))),
            (L2, "fetch_granularity", Expect::Is(json!(self.l2.sector))),
        ]);
        rows.extend(self.latency_rows(L2, self.l2.latency, 4.0));
        // By single loads, of which the slowest and the overhead are taken off.
        let dram = f64::from(self.dram_latency) + f64::from(self.jitter) / 2.0;
        rows.push((Dram, "latency.cycles", Expect::Near(dram, 1.0)));
        let Expect::Near(hit, off) = self.lap_latency(self.l2.latency, 4.0) else {
            unreachable!("a latency is a number")
        };
        rows.push((L2, "miss_penalty", Expect::Near(dram - hit, off + 1.0)));
        rows
    }
}

/// The L2 is measured in steps of this.
pub const PIECE: Bytes = Bytes::kib(64);
/// Why an attribute of a second constant cache of more than that is unknown.
const BEYOND: &str = "a module may declare";
/// How far too low and too high a size may come out where loads spike, as shares of it.
const ORDERED_AMONG_SPIKES: (f64, f64) = (0.02, 0.03);
const RANDOM_AMONG_SPIKES: (f64, f64) = (0.02, 0.10);
