//! The L2, and its partitions.

use toml_edit::Value;

use super::caches::{LINE, sectors};
use super::found::{Found, RATES, Sourced, assumed, named, not_found};
use super::kept;
use super::structure::can_be;
use super::table::{IntoToml, Table, inline};
use strata_model::attribute::{Attribute, Data, PARTITION_HASH, SM_MAP, SmPlace, Translation};
use strata_model::experiment::LoadPath;
use strata_model::topology::ElementName::{Dram, L2, TlbL1};

/// Most ways of an L2, whose structure does not show.
const WAYS: u64 = 16;
/// Most partitions of an L2 that a machine may have.
const MOST_PARTITIONS: u64 = 8;
/// Size of the pieces in which lines go to the partitions of an L2, where it was not found.
const GRANULE: u64 = 4096;
/// Cycles between near and far below which the spread of single loads does not tell whether both are among them.
const LEAST_FAR: u64 = 4;
/// One SM can use so many times its own partition of an L2 that keeps copies at most.
const OWN: f64 = 1.25;

/// Far lines are written at a lower rate than near ones, if it is below this share of theirs.
const LIMITED: f64 = 0.9;

/// The partitions of an L2, each of which has SMs.
pub(super) struct Partitions {
    count: u64,
    /// Partition of each SM, as digits.
    sms: String,
    /// What a hit in another partition takes more.
    far: u64,
    /// Whether a partition keeps copies of lines of others, and how that is known.
    copies: (bool, String),
}

impl Partitions {
    /// As they were found; `None` for an L2 of one part, and where SMs are not known to belong to parts.
    pub fn of(found: &Found) -> Option<Self> {
        let count = found.whole(L2, Attribute::Partitions)?.value;
        let map = found.get(L2, SM_MAP).filter(|_| (2..=MOST_PARTITIONS).contains(&count))?;
        let digit = |sm: &SmPlace| sm.partition.filter(|part| u64::from(*part) < count).map(|part| part.to_string());
        let sms = map.0.iter().map(digit).collect::<Option<String>>().filter(|sms| !sms.is_empty())?;
        let far = found.number(L2, Attribute::FarLatency).zip(found.number(L2, Attribute::NearLatency));
        let far = far.map_or(0, |(far, near)| (far - near).max(0.0).round() as u64);
        Some(Partitions { count, sms, far, copies: copies(found, count, far) })
    }

    /// What the other partitions add to the mean over all lines, in cycles.
    pub fn far_in_mean(&self) -> f64 {
        self.far as f64 * (self.count - 1) as f64 / self.count as f64
    }

    /// Whether an SM finds the lines of the other partitions in its own from the second load on.
    pub fn has_copies(&self) -> bool {
        self.copies.0
    }

    fn value(&self, found: &Found, line: u64) -> Sourced<Value> {
        let hash = found.get(L2, PARTITION_HASH).filter(|hash| can_be(hash, self.count, line));
        let (by, which, source) = match hash.and_then(|hash| hash.masks()) {
            Some(masks) => {
                let source = format!("{}, bits above 2 MiB assumed not to matter", named(L2, Attribute::PartitionHash));
                ("parity", masks.into_toml(), source)
            }
            None => ("granule", GRANULE.into_toml(), "assumed".to_owned()),
        };
        let sides = found.number(Dram, Attribute::NearLatency).zip(found.number(Dram, Attribute::FarLatency));
        let (far_memory, memory) = match sides {
            Some((near, far)) => {
                let how =
                    format!("{} minus {}", named(Dram, Attribute::FarLatency), named(Dram, Attribute::NearLatency));
                ((far - near).max(0.0).round() as u64, how)
            }
            None => (self.far, "assumed to be far_hit".to_owned()),
        };
        let crossing = crossing(found, self.sms.len());
        let mut value = vec![
            ("count", self.count.into_toml()),
            ("sms", self.sms.as_str().into_toml()),
            (by, which),
            ("copies", self.copies.0.into_toml()),
            ("far_hit", self.far.into_toml()),
            ("far_memory", far_memory.into_toml()),
        ];
        let mut crossed = String::new();
        if let Some(bytes) = crossing {
            value.push(("crossing", bytes.into_toml()));
            crossed = format!("; crossing: {}, half of it in each direction", named(L2, Attribute::FarWriteBandwidth));
        }
        let value = inline(value);
        let how = format!(
            "{}, {}; far_hit: {} minus {}; copies: {}; far_memory: {memory}{crossed}; {by}: {source}",
            named(L2, Attribute::Partitions),
            named(L2, Attribute::SmMap),
            named(L2, Attribute::FarLatency),
            named(L2, Attribute::NearLatency),
            self.copies.1
        );
        Sourced::new(value, found.derived(&how))
    }
}

/// Bytes a cycle that cross from one partition to the other: half of what all SMs write to far lines, if that is clearly less than they
/// write to near ones.
fn crossing(found: &Found, sms: usize) -> Option<f64> {
    let rate = |attribute| found.number(L2, attribute);
    let (near, far) = rate(Attribute::NearWriteBandwidth).zip(rate(Attribute::FarWriteBandwidth))?;
    // By the clock of writes to all lines.
    let (all, each) = rate(Attribute::WriteBandwidth).zip(rate(Attribute::WriteBandwidthPerSm))?;
    let crossing = (far / all * each * sms as f64 / 2.0 * 100.0).round() / 100.0;
    Some(crossing).filter(|rate| far < LIMITED * near && RATES.contains(rate))
}

/// Whether hits of one SM are all near, or some of them far. No attribute says so: the latency spectrum does, by the spread of
/// loads that hit, unless it divided near and far ones; so does a mean latency above that of a near atomic; otherwise the share
/// of the L2 that one SM can use.
fn copies(found: &Found, count: u64, far: u64) -> (bool, String) {
    let spectrum = named(TlbL1, Attribute::Spectrum);
    let row = found.row(LoadPath::GlobalCg, Data::L2, Translation::Hit);
    let spread = row.and_then(|row| Some(row.high? - row.low?)).filter(|_| far >= LEAST_FAR);
    if let Some(spread) = spread.filter(|spread| 2.0 * spread >= far as f64) {
        return (false, format!("hits differ by {spread:.0} cycles in {spectrum}, so some of them are far"));
    }
    // An atomic takes as long as a load or longer, and its time includes the overhead of timing.
    let (latency, near) = (found.number(L2, Attribute::LatencyCycles), found.number(L2, Attribute::NearLatency));
    let above = latency.zip(near).map(|(latency, near)| latency > near);
    if above == Some(true) && far >= LEAST_FAR {
        let how = format!("{L2}.latency is above {}, so some hits are far", named(L2, Attribute::NearLatency));
        return (false, how);
    }
    if let Some(spread) = spread.filter(|_| above.is_some()) {
        return (true, format!("hits differ by {spread:.0} cycles in {spectrum}, so none of them is far"));
    }
    let (size, stated) = (named(L2, Attribute::Size), found.topology.device.l2_size);
    match found.whole(L2, Attribute::Size) {
        Some(usable) if stated > 0 => {
            let own = (usable.value as f64) < OWN * stated as f64 / count as f64;
            let which = if own { "no more than" } else { "more than" };
            (own, format!("{size} is {which} one of {count} parts of the driver's"))
        }
        _ => (false, format!("not known, because neither {spectrum} nor {size} was found; none are assumed")),
    }
}

/// The L2: with copies what one SM can use of it, as often as there are partitions.
pub(super) fn l2(found: &Found) -> Table {
    let partitions = Partitions::of(found);
    let parts = partitions.as_ref().map_or(1, |parts| parts.count);
    let has_copies = partitions.as_ref().is_some_and(Partitions::has_copies);
    let about = if has_copies { "L2: each partition has the size that the loads of one SM can use" } else { "L2" };
    let mut table = Table::new("cache.l2", about);
    table.put("scope", Sourced::new("device", assumed("all SMs share the L2")));
    let line = found.whole(L2, Attribute::LineSize).filter(|line| line.value.is_power_of_two());
    let line = line.unwrap_or_else(|| Sourced::new(LINE, not_found(L2, Attribute::LineSize)));
    let stated = found.topology.device.l2_size;
    let (each, source) = match found.whole(L2, Attribute::Size) {
        Some(size) if has_copies => {
            (size.value, found.derived(&format!("{} in each of {parts} partitions", named(L2, Attribute::Size))))
        }
        // Lines do not fill partitions evenly, so that one is full before all are.
        Some(size) if parts > 1 && (size.value..=2 * size.value).contains(&stated) => {
            let how = format!(
                "L2 size; {} is less, because one partition is full before the others",
                named(L2, Attribute::Size)
            );
            (stated / parts, found.driver(&how))
        }
        Some(size) => (size.value / parts, size.source),
        None => (stated / parts, found.driver("L2 size; the usable one was not found")),
    };
    let line_bytes = line.value;
    let lines = (each / line_bytes).max(1);
    let ways = (1..=WAYS).rev().find(|ways| lines.is_multiple_of(*ways)).unwrap_or(1);
    table.put("size", Sourced::new(lines * line_bytes * parts, source));
    sectors(&mut table, line, found.whole(L2, Attribute::FetchGranularity));
    let why = assumed("the structure of the L2 is unknown");
    table.put("sets", Sourced::new(lines / ways * parts, why.clone()));
    table.put("ways", Sourced::new(ways, why.clone()));
    table.put("index", Sourced::new("modulo", why.clone()));
    table.put("replacement", Sourced::new("lru", why));
    kept::of_l2(found, &mut table);
    match partitions {
        Some(partitions) => table.put("partitions", partitions.value(found, line_bytes)),
        None => table.remark(&no_partitions(found)),
    }
    if let Some(bandwidth) = found.rate_of_all(L2, Attribute::ReadBandwidthPerSm) {
        table.put("bandwidth", bandwidth);
    }
    if let Some(bandwidth) = found.rate_of_all(L2, Attribute::WriteBandwidthPerSm) {
        table.put("write_bandwidth", bandwidth);
    }
    table
}

/// Why there are none, unless none were found.
fn no_partitions(found: &Found) -> String {
    match found.whole(L2, Attribute::Partitions) {
        Some(count) if count.value == 1 => String::new(),
        Some(count) if count.value > MOST_PARTITIONS => {
            format!("Not modelled: {} partitions, a machine has {MOST_PARTITIONS} at most.", count.value)
        }
        Some(count) => {
            format!("Not modelled: {} partitions, because {} was not found.", count.value, named(L2, Attribute::SmMap))
        }
        None => format!("Modelled as one part: {} was not found.", named(L2, Attribute::Partitions)),
    }
}
