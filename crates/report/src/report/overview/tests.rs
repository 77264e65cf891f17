use std::rc::Rc;

use super::*;
use strata_model::attribute::REACH;
use strata_model::experiment::{Place, Walk as Windows};
use strata_model::samples::Samples;
use strata_model::topology::{Finding, SCHEMA, SeriesPoint};
use strata_model::units::Cycles;

/// Loads of a hit and of a miss, with the timing overhead, in cycles.
const HIT: u32 = 40;
const MISS: u32 = 300;
/// What the cache of these tests holds.
const USABLE: u64 = 4096;

fn chase(footprint: u64, stride: u64) -> Chase {
    let warm = Chase::each_load(LoadPath::GlobalCa, Bytes(footprint), Bytes(stride));
    Chase {
        warm_laps: 2,
        order: Order::Sequential,
        timing: Timing::EachLoad { loads: 64, walk: Windows::Resident },
        ..warm
    }
}

/// All hit up to the usable capacity; beyond it all miss.
fn walked(chase: &Chase) -> Samples {
    let load = if chase.footprint.0 <= USABLE { HIT } else { MISS };
    Samples { latencies: vec![load; 8], ..Samples::default() }
}

fn evidence(chases: &[Chase]) -> Evidence {
    let answer = |chase: &Chase| Rc::new(Ok(walked(chase)));
    (1..).zip(chases).map(|(number, chase)| (number, chase.clone().into(), answer(chase))).collect()
}

fn topology(elements: impl IntoIterator<Item = (ElementName, Element)>) -> Topology {
    Topology {
        schema: SCHEMA.into(),
        device: Default::default(),
        run: Default::default(),
        elements: elements.into_iter().collect(),
        replayed_from: None,
    }
}

/// A cache whose size cites the first experiments.
fn cache(experiments: u32) -> Element {
    Element::default()
        .with(SIZE, Finding::measured(Bytes(USABLE), "by hand").from_experiments(1..=experiments))
        .with(LATENCY_CYCLES, Finding::measured(Cycles(32.0), "by hand"))
}

#[test]
fn every_point_is_a_chase_that_a_finding_cites() {
    let with_shared = Chase { place: Place { carveout_percent: Some(100), ..Place::default() }, ..chase(512, 32) };
    let cold = Chase { warm_laps: 0, ..chase(256, 32) };
    let uncited = chase(1 << 20, 32);
    let chases = [
        chase(1024, 32),
        chase(2048, 32),
        chase(4096, 32),
        chase(8192, 32),
        // Of another stride: between the others it has nothing to add, beyond them it has.
        chase(3072, 128),
        chase(16384, 128),
        with_shared,
        cold,
        uncited,
    ];
    let shared = Element::default().with(LATENCY_CYCLES, Finding::measured(Cycles(23.0), "by hand"));
    let topology = topology([(ElementName::L1, cache(8)), (ElementName::Shared, shared)]);
    let overview = of(&topology, &evidence(&chases)).unwrap();
    let [series] = overview.plot.series.as_slice() else { panic!("one path has a curve") };
    assert_eq!(series.name, "ld.global.ca");
    let points: Vec<(f64, f64)> = series.values().collect();
    assert_eq!(points, [(1024.0, 40.0), (2048.0, 40.0), (4096.0, 40.0), (8192.0, 300.0), (16384.0, 300.0)]);
    assert_eq!(overview.left_out, "Shared");
    assert_eq!(overview.plot.marks.iter().map(|m| m.label.as_str()).collect::<Vec<_>>(), ["L1 data 4 KiB"]);
    let level = Level { at: 32.0, label: "L1 data 32".into() };
    assert_eq!(overview.plot.levels, [level], "shared memory has no curve, so its latency is no level of one");
}

#[test]
fn without_samples_there_are_the_points_that_a_finding_keeps() {
    let mut element = cache(4);
    assert!(of(&topology([(ElementName::L1, element.clone())]), &Evidence::default()).is_none());
    let point = |x: f64| SeriesPoint { x, value: 40.0, band: None };
    let kept = [1024.0, 2048.0, 4096.0, 8192.0].map(point).to_vec();
    let size =
        Finding { series: [(AVERAGE_LOAD.to_owned(), kept)].into(), ..Finding::measured(Bytes(USABLE), "by hand") };
    element = element.with(SIZE, size);
    let overview = of(&topology([(ElementName::L1, element)]), &Evidence::default()).unwrap();
    assert_eq!(overview.plot.series[0].points.len(), 4);
    assert_eq!(overview.left_out, "");
}

#[test]
fn what_is_equal_shares_a_line() {
    let shown: BTreeSet<ElementName> =
        [ElementName::L1, ElementName::Texture, ElementName::ReadOnly, ElementName::TlbL1].into();
    let tlb = Element::default().with(REACH, Finding::measured(Bytes(1 << 21), "by hand"));
    let slow = cache(0).with(LATENCY_CYCLES, Finding::measured(Cycles(88.0), "by hand"));
    let all = [
        (ElementName::L1, cache(0)),
        (ElementName::Texture, slow),
        (ElementName::ReadOnly, cache(0)),
        (ElementName::TlbL1, tlb),
    ];
    let topology = topology(all);
    let labels: Vec<String> = knees(&topology, &shown).into_iter().map(|mark| mark.label).collect();
    assert_eq!(labels, ["L1 data and 2 more 4 KiB", "TLB L1 2 MiB"]);
    let labels: Vec<String> = levels(&topology, &shown).into_iter().map(|level| level.label).collect();
    assert_eq!(labels, ["L1 data, Read-only 32", "Texture 88"]);
}
