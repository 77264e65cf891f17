use std::rc::Rc;

use serde_json::Value;

use super::loads::{groups, miss_share, scatter, thinned};
use super::*;
use crate::report::plot::{Curves, Series};
use strata_model::attribute::{Elements, Key, LATENCY_CYCLES, PARTITIONS, SHARED_WITH, SIZE, Typed};
use strata_model::experiment::{AccessWidth, Chase, Clock, Disturb, Partner, PatternRun, Place, WARP, Warp};
use strata_model::samples::Lap;
use strata_model::units::Cycles;

/// Loads of a hit and of a miss, in cycles.
const HIT: u32 = 40;
const MISS: u32 = 300;
/// What the cache of these tests holds.
const USABLE: u64 = 4096;

fn chase(footprint: u64) -> Chase {
    Chase::each_load(LoadPath::GlobalCa, Bytes(footprint), Bytes(32))
}

/// A chain in a cache of [`USABLE`] bytes: what is beyond misses, at the end of the lap; each load a little different.
fn walked(chase: &Chase) -> Samples {
    let fits = USABLE / chase.stride.0;
    let load = |i: u32| if u64::from(i) < fits { HIT + i % 3 } else { MISS + i % 3 };
    Samples { latencies: (0..chase.lap() as u32).map(load).collect(), ..Samples::default() }
}

fn evidence<E: Into<Experiment>>(all: impl IntoIterator<Item = (E, Samples)>) -> Evidence {
    (1..).zip(all).map(|(number, (experiment, samples))| (number, experiment.into(), Rc::new(Ok(samples)))).collect()
}

/// The plots of a finding that cites all of the evidence.
fn plots<T: Typed>(evidence: &Evidence, count: u32, key: Key<T>, finding: Finding<T>) -> (Shown, Vec<Value>) {
    let element = Element::default()
        .with(SIZE, Finding::measured(Bytes(USABLE), "by hand"))
        .with(key, finding.from_experiments(1..=count));
    let mut exhibits = Exhibits::new(evidence);
    let shown = exhibits.of(key.attribute(), element.finding(key).unwrap(), &element).unwrap();
    (shown, serde_json::from_str(&exhibits.store.json()).unwrap())
}

fn points(series: &Value) -> Vec<(u64, u32)> {
    let numbers = |key: &str| series[key].as_array().unwrap().iter().map(|x| x.as_u64().unwrap()).collect::<Vec<_>>();
    let places = numbers("dx").into_iter().scan(0, |sum, d| {
        *sum += d;
        Some(*sum)
    });
    places.zip(numbers("y")).map(|(x, y)| (x, y as u32)).collect()
}

#[test]
fn a_capacity_shows_its_curve_with_the_change_and_the_loads_on_both_sides() {
    let footprints = [1024, 2048, 4096, 6144, 8192];
    let evidence = evidence(footprints.map(|f| (chase(f), walked(&chase(f)))));
    let size = Finding::measured(Bytes(USABLE), "by hand").range(3072.0, 4096.0);
    let (shown, plots) = plots(&evidence, 5, SIZE, size);
    assert_eq!(shown.experiments, "experiments 1 to 5");
    assert_eq!(shown.panels.len(), 2);
    let mark = &shown.panels[0].marks[0];
    assert_eq!((mark.at, mark.low, mark.high), (4096.0, 3072.0, 4096.0));
    assert_eq!(mark.label, "usable 4 KiB");
    let curve = &plots[shown.panels[0].plots[0]]["series"];
    let footprints_drawn: Vec<u64> = points(&curve[0]).iter().map(|p| p.0).collect();
    assert_eq!(footprints_drawn, footprints);
    assert_eq!(curve[1]["name"], "misses");
    assert_eq!(curve[1]["y"], serde_json::json!([0, 0, 0, 0.333_333, 0.5]));
    assert!(shown.panels[1].marks.is_empty(), "loads are no footprints");
    let choices: Vec<&str> = shown.panels[1].plots.iter().map(|&n| plots[n]["choice"].as_str().unwrap()).collect();
    let expected = ["6 KiB", "4 KiB", "1 KiB", "8 KiB"];
    assert!(choices.iter().zip(expected).all(|(c, e)| c.starts_with(&format!("{e} by 32 B"))), "{choices:?}");
    let beyond = &plots[shown.panels[1].plots[0]]["series"];
    assert_eq!((beyond[0]["name"].as_str(), beyond[1]["name"].as_str()), (Some("hits (128)"), Some("misses (64)")));
}

#[test]
fn every_point_of_a_scatter_is_a_load_in_the_group_that_the_clusters_say() {
    // Many misses, hits enough for a group of their own.
    let chase = chase(1 << 17);
    let mut samples = walked(&chase);
    samples.latencies[77] = 5000;
    let experiment = Experiment::from(chase);
    let measurement = Measurement { number: 1, experiment: &experiment, samples: &samples };
    let levels = groups(&[measurement]);
    assert_eq!(levels.levels.len(), 2);
    let Plot::Curves(Curves { series, .. }) = scatter(&Kind::of(&experiment), &measurement, &levels) else {
        panic!("no scatter")
    };
    let mut drawn = 0;
    for (level, series) in series.iter().enumerate() {
        for (x, y) in points(&serde_json::to_value(series).unwrap()) {
            assert_eq!(samples.latencies[x as usize], y);
            assert_eq!(levels.level_of(y), level);
            drawn += 1;
        }
    }
    assert!(drawn <= loads::MOST_POINTS && drawn > loads::MOST_POINTS / 2, "{drawn}");
    let slowest = series.iter().flat_map(Series::values).map(|(_, y)| y).fold(0.0, f64::max);
    assert_eq!(slowest, 5000.0, "the spike was thinned away");
    assert_eq!(miss_share(&levels, &samples.latencies), 1.0 - 127.0 / 4096.0);
}

#[test]
fn thinning_keeps_extremes_and_order() {
    let loads: Vec<u32> = (0..10_000).map(|i| i * 7919 % 1000).collect();
    let kept = thinned(&loads, 100);
    assert!(kept.len() <= 100 && kept.is_sorted_by(|a, b| a < b));
    for end in [0, 999] {
        assert!(kept.iter().any(|&i| loads[i] == end));
    }
    assert_eq!(thinned(&loads[..50], 100), (0..50).collect::<Vec<_>>());
    assert!(thinned(&[], 100).is_empty());
}

#[test]
fn atomics_on_many_sms_are_a_map() {
    let atomic = |sm: u32| Chase {
        place: Place::on(sm),
        timing: Timing::resident(12),
        ..Chase::each_load(LoadPath::Atomic, Bytes(48), Bytes(8))
    };
    // Even SMs are near to even lines, visited twice; one visit is slow.
    let near = |sm: u32, i: u32| if (sm + i % 6).is_multiple_of(2) { 200 } else { 500 };
    let samples = |sm: u32| Samples { latencies: (0..12).map(|i| near(sm, i)).collect(), sm, ..Samples::default() };
    let evidence = evidence((0..4).map(|sm| (atomic(sm), samples(sm))));
    let (shown, plots) = plots(&evidence, 4, PARTITIONS, Finding::measured(2, "by hand"));
    let map = &plots[shown.panels[0].plots[0]];
    assert_eq!(map["rows"], serde_json::json!(["SM 0", "SM 2", "SM 1", "SM 3"]));
    let (same, other) =
        (serde_json::json!([200, 200, 200, 500, 500, 500]), serde_json::json!([500, 500, 500, 200, 200, 200]));
    assert_eq!(map["cells"], serde_json::json!([same, same, other, other]));
}

#[test]
fn laps_and_partners_have_figures_of_their_own() {
    let lap = Chase::laps(LoadPath::GlobalCa, Bytes(1024), Bytes(32));
    let laps = |sm: u32| {
        let of = |loads: u32, overhead: u64| Lap { loads, cycles: u64::from(loads * HIT) + overhead };
        (
            Chase { place: Place::on(sm), ..lap.clone() },
            Samples { laps: vec![of(32, 9), of(64, 9)], sm, ..Samples::default() },
        )
    };
    let (shown, drawn) =
        plots(&evidence((0..5).map(laps)), 5, LATENCY_CYCLES, Finding::measured(Cycles(HIT.into()), "by hand"));
    let series = &drawn[shown.panels[0].plots[0]]["series"][0];
    assert_eq!(points(series), (0..5).map(|sm| (sm, HIT)).collect::<Vec<_>>());

    let partner = Partner {
        path: LoadPath::Texture,
        footprint: Bytes(64),
        stride: Bytes(32),
        laps: 1,
        thread: 1,
        block_threads: 64,
    };
    let disturbed = Disturb::new(LoadPath::GlobalCa, Bytes(1024), Bytes(32), partner);
    let gone = Samples { latencies: vec![MISS; 32], ..Samples::default() };
    let both: [(Experiment, Samples); 2] = [(chase(1024).into(), walked(&chase(1024))), (disturbed.into(), gone)];
    let both = evidence(both);
    let (shown, drawn) =
        plots(&both, 2, SHARED_WITH, Finding::measured(["texture"].into_iter().collect::<Elements>(), "by hand"));
    let series = drawn[shown.panels[0].plots[0]]["series"].as_array().unwrap();
    let names: Vec<&str> = series.iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["undisturbed", "after tex.1d, thread 1 (experiment 2)"]);
}

#[test]
fn hostile_samples_and_missing_ones_make_no_trouble() {
    let element = Element::default();
    let finding = Finding::measured(Bytes(1), "by hand").from_experiments([3, 9]).any();
    let nothing = Evidence::default();
    let shown = Exhibits::new(&nothing).of(Attribute::Size, &finding, &element).unwrap();
    assert_eq!((shown.experiments.as_str(), shown.panels.len()), ("2 experiments, 3 to 9", 0));
    assert!(Exhibits::new(&nothing).of(Attribute::Size, &Finding::unknown("x"), &element).is_none());
    // Samples that are none, laps that are no pairs, lanes all over memory.
    let strange = Samples { laps: vec![Lap { loads: 0, cycles: u64::MAX }; 3], ..Samples::default() };
    let mut offsets = [0; WARP];
    (offsets[0], offsets[2]) = (u64::MAX, 3);
    let operands =
        strata_model::pattern::Pattern::Operands { operand: strata_model::pattern::Operand::Immediate, operations: 1 };
    for path in [LoadPath::GlobalCa, LoadPath::Atomic] {
        let random = |chase: Chase| Experiment::from(Chase { order: Order::Random, ..chase });
        let partner = Partner { path, footprint: Bytes(0), stride: Bytes(0), laps: 1, thread: 1, block_threads: 0 };
        let kinds: [&dyn Fn(Bytes) -> Experiment; 7] = [
            &|f| random(Chase::each_load(path, f, Bytes(32))),
            &|f| random(Chase::each_pair(path, f, Bytes(32))),
            &|f| random(Chase::laps(path, f, Bytes(32))),
            &|_| Clock { span_us: 0, sm: 0, repeat: 0 }.into(),
            &|f| Warp::new(AccessWidth::B4, offsets, f, 0).into(),
            &|f| Disturb::new(path, f, Bytes(32), partner).into(),
            &|_| PatternRun::new(operands, path, 0).into(),
        ];
        for (number, experiment) in kinds.iter().enumerate() {
            let all = evidence((0..6).map(|i| (experiment(Bytes(i << 60)), strange.clone())));
            let (shown, _) = plots(&all, 6, SIZE, Finding::measured(Bytes(u64::MAX), "by hand"));
            assert!(shown.panels.is_empty(), "a plot of nothing: kind {number}");
        }
    }
}

#[test]
fn below_the_knee_there_are_the_footprints_of_the_search() {
    let warm = |footprint| Chase { order: Order::Sequential, warm_laps: 2, ..chase(footprint) };
    let chases = [1024, 2048, 3072, 4096, 8192].map(warm);
    let evidence = evidence(chases.map(|chase| (chase.clone(), walked(&chase))));
    let size = Finding::measured(Bytes(USABLE), "by hand").from_experiments(1..=5).any();
    let exhibits = Exhibits::new(&evidence);
    assert_eq!(exhibits.misses_below(&size, 2048.0, 4096.0), [(2048.0, 0.0), (3072.0, 0.0)]);
    assert_eq!(exhibits.misses_below(&size, 8000.0, 9000.0), [(8192.0, 0.5)], "a share of the loads, not only zero");
    assert_eq!(exhibits.misses_below(&Finding::unknown("nothing cited"), 0.0, 1e9), []);
}
