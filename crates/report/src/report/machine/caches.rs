//! Caches of an SM: those of the first level, and the constant L1.5.

use std::collections::BTreeMap;

use super::configurations::configurations;
use super::found::{Found, Sourced, assumed, named, not_found};
use super::kept;
use super::l2::l2;
use super::structure::Structure;
use super::table::Table;
use strata_model::attribute::{Attribute, CACHED, INSTANCES_PER_SM, LATENCY_CYCLES, SHARED_WITH, SIZE};
use strata_model::topology::ElementName::{self, ConstantL1, ConstantL15, L1, L2, Local, ReadOnly, Texture};

/// Elements that may be the first cache on a path, in the order in which a cache is named.
const FIRST: [ElementName; 4] = [L1, Texture, ReadOnly, ConstantL1];
/// Line of a cache of data, and of a first constant cache, in bytes: the most common ones.
pub(super) const LINE: u64 = 128;
const CONSTANT_LINE: u64 = 64;
/// Capacity of a cache of data of which only the latency is known, and of a first constant cache, in bytes: of the order of
/// the least that were ever measured.
const CAPACITY: u64 = 16 << 10;
const CONSTANT_CAPACITY: u64 = 2 << 10;
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
        if found.get(Local, CACHED).map_or_else(|| found.is_faster(Local, L2), |cached| *cached) {
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
        other => {
            found.known(*other, SIZE).is_some()
                || found.known(*other, INSTANCES_PER_SM).is_some()
                // Something of the SM answers these loads, even if nothing else is known of it.
                || found.is_faster(*other, L2)
        }
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
    let usable = size(found, element, line.value);
    let structure = Structure::of(found, element, usable.value, line.value);
    let is_l1 = group.iter().any(|(element, _)| *element == L1);
    let configurations = is_l1.then(|| configurations(found, &structure, usable.value, line.value)).flatten();
    table.put("size", structure.size(usable, line.value));
    sectors(&mut table, line, sector);
    structure.put(&mut table);
    if is_l1 {
        kept::of_l1(found, &mut table);
    }
    if let Some(configurations) = configurations {
        table.put("configuration", configurations);
    }
    // What an SM reads, its instances of the cache read together. What limits textures and constants is not the cache.
    let instances = found.number(element, Attribute::InstancesPerSm).filter(|count| *count >= 1.0).unwrap_or(1.0);
    let each =
        |(element, _): &(ElementName, &str)| found.rate(*element, Attribute::ReadBandwidthPerSm, 1.0 / instances);
    let loaded = |(element, _): &&(ElementName, &str)| matches!(element, L1 | ReadOnly);
    if let Some(bandwidth) = group.iter().filter(loaded).find_map(each) {
        table.put("bandwidth", bandwidth);
    }
    table
}

/// Line and sector; a sector that does not fit its line is the line.
pub(super) fn sectors(table: &mut Table, line: Sourced<u64>, sector: Option<Sourced<u64>>) {
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
