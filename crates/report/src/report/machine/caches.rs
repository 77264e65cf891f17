//! Caches: the first-level caches of an SM, the constant L1.5, and the L2.

use std::collections::BTreeMap;

use toml_edit::Value;

use super::found::{Found, Sourced, assumed, named, not_found};
use super::structure::{Structure, few_sets, index_value, policy};
use super::table::{IntoToml, Table, inline};
use strata_model::attribute::{
    Attribute, BY_LAUNCH, CACHED, INSTANCES_PER_SM, LATENCY_CYCLES, LEAST_CONFIGURATION, Launches, SHARED_WITH, SIZE,
    SM_MAP, SmPlace, Ways,
};
use strata_model::topology::ElementName::{self, ConstantL1, ConstantL15, L1, L2, Local, ReadOnly, Texture};

/// Elements that may be the first cache on a path, in the order in which a cache is named.
const FIRST: [ElementName; 4] = [L1, Texture, ReadOnly, ConstantL1];
/// Line of a cache of data, and of a first constant cache, in bytes: the most common ones.
const LINE: u64 = 128;
const CONSTANT_LINE: u64 = 64;
/// Capacity of a cache of data of which only the latency is known, and of a first constant cache, in bytes: of the order of
/// the least that were ever measured.
const CAPACITY: u64 = 16 << 10;
const CONSTANT_CAPACITY: u64 = 2 << 10;
/// Most ways of an L2, whose structure does not show.
const L2_WAYS: u64 = 16;
/// Most partitions of an L2 that a machine may have.
const MOST_PARTITIONS: u64 = 8;
/// Size of the pieces in which lines go to the partitions of an L2.
const GRANULE: u64 = 4096;
/// Share of the L2 that one SM's loads must leave unused before its partitions are taken to keep copies.
const UNUSED: f64 = 0.75;

/// The caches of a machine, and which of them each element is.
pub(super) struct Caches {
    names: BTreeMap<ElementName, &'static str>,
    text: String,
}

impl Caches {
    /// What the findings say.
    pub fn of(found: &Found) -> Self {
        let mut caches = Caches { names: BTreeMap::new(), text: String::new() };
        for group in groups(found) {
            let name = group[0].0.key();
            caches.names.extend(group.iter().map(|(element, _)| (*element, name)));
            caches.text.push_str(&first(found, name, &group).render());
        }
        if found.get(Local, CACHED) == Some(&true) {
            let name = match caches.names.get(&L1) {
                Some(name) => name,
                None => {
                    let why = "local memory is cached, but by an unknown cache: modelled as a separate one";
                    caches.text.push_str(&first(found, "local", &[(Local, why)]).render());
                    "local"
                }
            };
            caches.names.insert(Local, name);
        }
        if found.known(ConstantL15, LATENCY_CYCLES).is_some() {
            caches.names.insert(ConstantL15, ConstantL15.key());
            let why = "sharing is not measured: modelled as private to the SM";
            caches.text.push_str(&first(found, ConstantL15.key(), &[(ConstantL15, why)]).render());
        }
        caches.text.push_str(&l2(found).render());
        caches
    }

    /// The cache of the SM that is asked first for this element.
    pub fn name(&self, element: ElementName) -> Option<&'static str> {
        self.names.get(&element).copied()
    }

    /// The tables.
    pub fn render(&self) -> &str {
        &self.text
    }
}

/// Elements that are one cache, each with the word of why it is among them.
type Group = Vec<(ElementName, &'static str)>;

/// What is one cache and what is another, as far as disturbance told.
fn groups(found: &Found) -> Vec<Group> {
    let cached = |element: &ElementName| match element {
        L1 => found.get(L1, CACHED) == Some(&true),
        other => found.known(*other, SIZE).is_some() || found.known(*other, INSTANCES_PER_SM).is_some(),
    };
    let names = |element: ElementName, other: ElementName| {
        found.get(element, SHARED_WITH).is_some_and(|elements| elements.contains(other))
    };
    let mut groups: Vec<Group> = Vec::new();
    let (told, untold): (Vec<_>, Vec<_>) = FIRST
        .into_iter()
        .filter(cached)
        .partition(|element| found.known(*element, SHARED_WITH).is_some() || found.known(*element, SIZE).is_some());
    for element in told {
        let shares = |group: &&mut Group| group.iter().any(|(one, _)| names(*one, element) || names(element, *one));
        match groups.iter_mut().find(shares) {
            Some(group) => group.push((element, "")),
            None => groups.push(vec![(element, "")]),
        }
    }
    for element in untold {
        let of_data = |group: &&mut Group| element != ConstantL1 && group.iter().any(|(one, _)| *one != ConstantL1);
        match groups.iter_mut().find(of_data) {
            Some(group) => group.push((element, "size and sharing were not found: modelled as the same cache")),
            None => groups.push(vec![(element, "sharing was not found: modelled as a separate cache")]),
        }
    }
    for group in &mut groups {
        group.sort();
    }
    groups
}

/// The cache that these elements are.
fn first(found: &Found, name: &str, group: &[(ElementName, &str)]) -> Table {
    let names: Vec<&str> = group.iter().map(|(element, _)| element.title()).collect();
    let mut table = Table::new(&format!("cache.{name}"), &names.join(", "));
    // Whichever member is known best speaks for all.
    let best = |attribute: Attribute| group.iter().map(|(e, _)| *e).find(|e| found.known(*e, attribute).is_some());
    let element = best(Attribute::Sets).or_else(|| best(Attribute::Size)).unwrap_or(group[0].0);
    let constant = [ConstantL1, ConstantL15].contains(&element);
    let whys: Vec<&str> = group.iter().map(|(_, why)| *why).filter(|why| !why.is_empty()).collect();
    let scope = match (whys.is_empty(), found.known(element, SHARED_WITH)) {
        (true, Some(finding)) => found.source(element, &[Attribute::SharedWith, Attribute::InstancesPerSm], finding),
        (true, None) => assumed("sharing was not found"),
        _ => assumed(&whys.join("; ")),
    };
    table.put("scope", Sourced::new("sm", scope));
    let one = || Sourced::new(1, not_found(element, Attribute::InstancesPerSm));
    let instances = found.whole(element, Attribute::InstancesPerSm);
    table.put("instances", instances.filter(|n| n.value > 0).unwrap_or_else(one));
    let sector = found.whole(element, Attribute::FetchGranularity);
    let line =
        found.whole(element, Attribute::LineSize).filter(|line| line.value.is_power_of_two()).unwrap_or_else(|| {
            let line = sector.as_ref().map_or(0, |s| s.value).max(if constant { CONSTANT_LINE } else { LINE });
            Sourced::new(line, not_found(element, Attribute::LineSize))
        });
    let size = size(found, element, line.value);
    let lines = (size.value / line.value).max(1);
    let structure =
        Structure::found(found, element, lines).unwrap_or_else(|| Structure::assumed(found, element, lines));
    table.put("size", size);
    let is_l1 = group.iter().any(|(element, _)| *element == L1);
    let configurations = is_l1.then(|| configurations(found, &structure, line.value)).flatten();
    sectors(&mut table, line, sector);
    structure.put(&mut table);
    if let Some(configurations) = configurations {
        table.put("configuration", configurations);
    }
    table
}

/// Line and sector; a sector that does not fit its line is the line.
fn sectors(table: &mut Table, line: Sourced<u64>, sector: Option<Sourced<u64>>) {
    let fits = sector.filter(|sector| sector.value.is_power_of_two() && sector.value <= line.value);
    table.put("line", line);
    if let Some(sector) = fits {
        table.put("sector", sector);
    }
}

/// Usable capacity in whole lines, at least one.
fn size(found: &Found, element: ElementName, line: u64) -> Sourced<u64> {
    let whole = |size: u64| (size / line).max(1) * line;
    if let Some(size) = found.whole(element, Attribute::Size) {
        return Sourced::new(whole(size.value), size.source);
    }
    let bound = found.topology.elements.get(&element).and_then(|e| e.finding(SIZE)).and_then(|size| size.low);
    match bound {
        Some(low) => Sourced::new(
            whole((2.0 * low) as u64),
            assumed(&format!("{} is more than {low} B: twice that", named(element, Attribute::Size))),
        ),
        None => {
            let size = if element == ConstantL1 { CONSTANT_CAPACITY } else { CAPACITY };
            Sourced::new(whole(size), not_found(element, Attribute::Size))
        }
    }
}

/// A cache that is smaller where shared memory is asked for: the first shape, those between, and the one beside all of it.
fn configurations(found: &Found, first: &Structure, line: u64) -> Option<Sourced<Value>> {
    let least = found.get(L1, LEAST_CONFIGURATION)?;
    let (size, most) = (least.size.0, found.topology.device.shared_per_multiprocessor);
    let (lines, all) = (size / line, first.lines());
    let [ways] = first.ways[..] else { return None };
    if lines == 0 || lines >= all {
        return None;
    }
    let one = |shared: u64, sets: u64, ways: u64| {
        inline([("shared", shared.into_toml()), ("sets", sets.into_toml()), ("ways", ways.into_toml())])
    };
    // One memory: what the cache has more, shared memory has less.
    let shared = most.saturating_add(size).saturating_sub(all.saturating_mul(line));
    let equal = match least.ways {
        Some(Ways::Equal(ways)) => Some(ways),
        _ => None,
    };
    let shape = least.sets.zip(equal).filter(|(sets, ways)| sets.checked_mul(*ways) == Some(lines));
    let (sets, ways_left) = shape.unwrap_or_else(|| {
        let sets = few_sets(lines, first.sets);
        (sets, lines / sets)
    });
    let mut second = one(most, sets, ways_left);
    if let Some(rows) = second.as_inline_table_mut() {
        // Sets of another number cannot go by the same bits.
        let index = least.index.as_ref().filter(|_| shape.is_some());
        let index = index.map_or_else(|| "modulo".into_toml(), index_value);
        rows.insert("index", index);
        if let Some(policy) = least.replacement.as_ref().and_then(policy).filter(|_| shape.is_some()) {
            rows.insert("replacement", policy);
        }
        rows.sort_values();
    }
    let divisions = divisions(found, most);
    let shared = divisions.first().map_or(shared.min(most.saturating_sub(1)), |(shared, _)| *shared);
    let between = divisions.iter().skip(1).filter(|(_, size)| *size / line >= first.sets);
    let between: Vec<Value> =
        between.map(|(shared, size)| one(*shared, first.sets, (size / line / first.sets).min(ways))).collect();
    let which = if divisions.is_empty() {
        "; those between are not known".to_owned()
    } else {
        format!(", and for those between {}", named(L1, Attribute::ByLaunch))
    };
    let all = std::iter::once(one(shared, first.sets, ways)).chain(between).chain([second]);
    let how = format!(
        "{} and {}{which}; that they are one memory with shared memory is assumed",
        named(L1, Attribute::Size),
        named(L1, Attribute::LeastConfiguration)
    );
    Some(Sourced::new(all.collect::<Vec<_>>().into_toml(), found.derived(&how)))
}

/// Shared memory that hints set aside, but for all of it, with the L1 beside it; nothing if not all of them are known.
fn divisions(found: &Found, most: u64) -> Vec<(u64, u64)> {
    let rows = found.get(L1, BY_LAUNCH).map_or(&[][..], |Launches(rows)| rows);
    let hinted = rows.iter().filter(|row| row.carveout_percent.is_some());
    let known: Option<Vec<(u64, u64)>> = hinted.map(|row| Some((row.shared_configured?.0, row.size.0))).collect();
    let mut known = known.unwrap_or_default();
    known.retain(|(shared, _)| *shared < most);
    known
}

/// The L2: what one SM can use of it, as often as there are partitions.
fn l2(found: &Found) -> Table {
    let facts = &found.topology.device;
    let mut table = Table::new("cache.l2", "L2: each partition has the size that the loads of one SM can use");
    table.put("scope", Sourced::new("device", assumed("all SMs share the L2")));
    let line = found.whole(L2, Attribute::LineSize).filter(|line| line.value.is_power_of_two());
    let line = line.unwrap_or_else(|| Sourced::new(LINE, not_found(L2, Attribute::LineSize)));
    let parts = found.whole(L2, Attribute::Partitions).map_or(1, |parts| parts.value).clamp(1, MOST_PARTITIONS);
    let usable = found.whole(L2, Attribute::Size);
    // Where one SM's loads use more than their own partition, the others are not copied into it.
    let copies = usable.as_ref().is_none_or(|size| (size.value as f64) < UNUSED * facts.l2_size as f64);
    let (each, source) = match usable {
        Some(size) if parts > 1 && copies => {
            (size.value, found.derived(&format!("{} in each of {parts} partitions", named(L2, Attribute::Size))))
        }
        Some(size) => (size.value / parts, size.source),
        None => (facts.l2_size / parts, found.driver("L2 size; the usable one was not found")),
    };
    let lines = (each / line.value).max(1);
    let ways = (1..=L2_WAYS).rev().find(|ways| lines.is_multiple_of(*ways)).unwrap_or(1);
    table.put("size", Sourced::new(lines * line.value * parts, source));
    sectors(&mut table, line, found.whole(L2, Attribute::FetchGranularity));
    let why = assumed("the structure of the L2 is unknown");
    table.put("sets", Sourced::new(lines / ways * parts, why.clone()));
    table.put("ways", Sourced::new(ways, why.clone()));
    table.put("index", Sourced::new("modulo", why.clone()));
    table.put("replacement", Sourced::new("lru", why));
    if let Some(partitions) = partitions(found, parts, copies) {
        table.put("partitions", partitions);
    }
    table
}

fn partitions(found: &Found, count: u64, copies: bool) -> Option<Sourced<Value>> {
    let map = found.get(L2, SM_MAP).filter(|_| count > 1)?;
    let digit = |sm: &SmPlace| sm.partition.filter(|part| u64::from(*part) < count).map(|part| part.to_string());
    let sms = map.0.iter().map(digit).collect::<Option<String>>()?;
    let far = far_cycles(found);
    let value = inline([
        ("count", count.into_toml()),
        ("sms", sms.into_toml()),
        ("granule", GRANULE.into_toml()),
        ("copies", copies.into_toml()),
        ("far_hit", far.into_toml()),
        ("far_memory", far.into_toml()),
    ]);
    let how = format!(
        "{}, {}; far_hit: {} minus {}; copies: whether {} is far below the driver's; far_memory assumed to be far_hit, granule \
         assumed",
        named(L2, Attribute::Partitions),
        named(L2, Attribute::SmMap),
        named(L2, Attribute::FarLatency),
        named(L2, Attribute::NearLatency),
        named(L2, Attribute::Size)
    );
    Some(Sourced::new(value, found.derived(&how)))
}

/// Cycles that another partition is farther away than the SM's own.
pub(super) fn far_cycles(found: &Found) -> u64 {
    let far = found.number(L2, Attribute::FarLatency).zip(found.number(L2, Attribute::NearLatency));
    far.map_or(0, |(far, near)| (far - near).max(0.0).round() as u64)
}
