//! Published values are compared with what they are published of.

use super::published::{Asked, published};
use super::{Comparison, Kind, Options, Statement, compare};
use strata_model::attribute::{
    BANK_CURVE, BankCurve, BankPoint, Configuration, FETCH_GRANULARITY, LEAST_CONFIGURATION, LINE_SIZE, MISS_OVERHEAD,
    Policy, SIZE,
};
use strata_model::facts::DeviceFacts;
use strata_model::topology::{Element, ElementName, Entry, Finding, RunInfo, SCHEMA, Topology};
use strata_model::units::{Bytes, Cycles};

fn device(name: &str, elements: impl IntoIterator<Item = (ElementName, Element)>) -> Topology {
    Topology {
        schema: SCHEMA.into(),
        device: DeviceFacts { name: name.into(), ..DeviceFacts::default() },
        run: RunInfo::default(),
        elements: elements.into_iter().collect(),
        replayed_from: None,
    }
}

/// Compares with what is published of the device.
fn with_published(topology: &Topology) -> Comparison {
    let published = published(Asked::Device(&topology.device.name, None), Kind::Topology).unwrap();
    compare(&Statement::of_topology(topology, "t"), &published, &Options::default())
}

fn places(rows: &[super::Row]) -> Vec<&str> {
    rows.iter().map(|row| row.place.as_str()).collect()
}

fn bytes(value: u64) -> Finding<Bytes> {
    Finding::measured(Bytes(value), "")
}

fn least(size: u64, replacement: Option<Policy>) -> Finding<Configuration> {
    let least = Configuration { size: Bytes(size), sets: None, ways: None, index: None, replacement, misses: None };
    Finding::measured(least, "")
}

/// The thesis measures beside the most shared memory: 16 KiB of the K20c's 48.
#[test]
fn a_size_beside_the_most_shared_memory_is_the_smallest_configuration() {
    let l1 = |most: u64, smallest: u64| {
        Element::from([Entry::new(SIZE, bytes(most)), Entry::new(LEAST_CONFIGURATION, least(smallest, None))])
    };
    let same = with_published(&device("Tesla K20c", [(ElementName::L1, l1(48 << 10, 16 << 10))]));
    assert_eq!(places(&same.differs), [""; 0]);
    assert!(places(&same.agrees).contains(&"l1 least_configuration.size"));
    let other = with_published(&device("Tesla K20c", [(ElementName::L1, l1(48 << 10, 32 << 10))]));
    assert_eq!(places(&other.differs), ["l1 least_configuration.size"]);
}

#[test]
fn a_distance_between_misses_is_no_cache_line() {
    let l2 = |line: u64, fetch: u64| {
        Element::from([Entry::new(LINE_SIZE, bytes(line)), Entry::new(FETCH_GRANULARITY, bytes(fetch))])
    };
    let same = with_published(&device("Tesla K20c", [(ElementName::L2, l2(128, 32))]));
    assert_eq!((places(&same.differs), places(&same.agrees)), (vec![], vec!["l2 fetch_granularity"]));
    let other = with_published(&device("Tesla K20c", [(ElementName::L2, l2(128, 64))]));
    assert_eq!(places(&other.differs), ["l2 fetch_granularity"]);
}

#[test]
fn sizes_agree_to_what_their_source_resolves() {
    let of = |size| {
        with_published(&device("Tesla K20c", [(ElementName::ReadOnly, Element::from([Entry::new(SIZE, bytes(size))]))]))
    };
    let same = of(12 << 10);
    assert_eq!((places(&same.differs), places(&same.agrees)), (vec![], vec!["read_only size"]));
    assert_eq!((same.agrees[0].b.low, same.agrees[0].b.high), (Some(12279.712), Some(12560.288)));
    assert_eq!(places(&of(13 << 10).differs), ["read_only size"]);
}

/// Mei et al. state how many rows a bank gives, and no cycles.
#[test]
fn ways_are_compared_where_nothing_else_is_published() {
    let curve = |ways| {
        let at = |mode, ways| BankPoint {
            width: Bytes(4),
            stride: 6,
            cycles: 47.0,
            low: None,
            high: None,
            ways: Some(ways),
            mode: Some(Bytes(mode)),
        };
        let curve = BankCurve(vec![at(4, 2), at(8, ways)]);
        let shared = Element::from([Entry::new(BANK_CURVE, Finding::measured(curve, ""))]);
        with_published(&device("GeForce GTX 780", [(ElementName::Shared, shared)]))
    };
    let same = curve(1);
    assert_eq!((places(&same.differs), same.agrees[0].points_compared), (vec![], Some(2)));
    assert_eq!(curve(2).differs[0].points_differ, Some(1));
}

/// A load through the L1 that misses it costs 6 cycles more if the L2 has the line, and 15 if memory has.
#[test]
fn either_published_overhead_agrees() {
    let overhead = |cycles| Element::from([Entry::new(MISS_OVERHEAD, Finding::measured(Cycles(cycles), ""))]);
    let of = |cycles| with_published(&device("GeForce GTX 560 Ti", [(ElementName::L1, overhead(cycles))]));
    assert!(of(6.0).same && of(15.0).same && !of(9.0).same);
}

#[test]
fn facts_are_compared_with_those_of_the_driver_and_others_are_listed() {
    let mut c2070 = device("Tesla C2070", []);
    c2070.device.multiprocessors = 14;
    c2070.device.clock_khz = 1_147_000;
    c2070.device.warp_size = 16;
    let answer = with_published(&c2070);
    assert_eq!(places(&answer.differs), ["device warp_size"]);
    assert_eq!(places(&answer.agrees), ["device clock", "device multiprocessors"]);
    let registers = answer.only_b.iter().find(|single| single.place == "device registers_per_block").unwrap();
    assert_eq!(registers.reason, "the driver does not state it");
    // Of two results the head says which devices they are of.
    let other = device("Tesla C2070", []);
    let results = [&c2070, &other].map(|topology| Statement::of_topology(topology, "t"));
    assert!(!compare(&results[0], &results[1], &Options::default()).compared());
    // What the driver never states is there to be read.
    let titan = with_published(&device("GeForce GTX TITAN Black", []));
    let rates: Vec<&str> =
        titan.only_b.iter().map(|single| single.place.as_str()).filter(|p| p.contains("peak")).collect();
    assert_eq!(rates, ["device peak_bandwidth", "device peak_flops"]);
}
