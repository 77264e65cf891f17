use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use strata_model::attribute::{
    Configuration, Curve, Elements, Key, LATENCY_CYCLES, LATENCY_NS, LEAST_CONFIGURATION, LINE_SIZE, NOMINAL_SIZE,
    Policy, REPLACEMENT, SHARED_WITH, SIZE, STAIRCASE, Step, Typed, WAYS, Ways,
};
use strata_model::characterization::PartName;
use strata_model::facts::DeviceFacts;
use strata_model::topology::{Element, ElementName, Entry, Finding, RunInfo, SCHEMA as TOPOLOGY, Topology};
use strata_model::units::{Bytes, Cycles, Nanoseconds};

fn topology(elements: impl IntoIterator<Item = (ElementName, Element)>) -> Topology {
    Topology {
        schema: TOPOLOGY.into(),
        device: DeviceFacts { name: "GPU".into(), ..DeviceFacts::default() },
        run: RunInfo::default(),
        elements: elements.into_iter().collect(),
        replayed_from: None,
    }
}

/// An element of which nothing but the latency in cycles is known.
fn latency_of(cycles: f64) -> Element {
    Element::default()
        .with(LATENCY_CYCLES, Finding::measured(Cycles(cycles), ""))
        .with(LATENCY_NS, Finding::unknown("no clock"))
}

fn statement(topology: &Topology) -> Statement {
    Statement::of_topology(topology, "t")
}

fn against(a: Finding<Bytes>, b: Finding<Bytes>) -> Comparison {
    let of = |size| statement(&topology([(ElementName::L1, Element::default().with(SIZE, size))]));
    compare(&of(a), &of(b), &Options::default())
}

fn bytes(value: u64) -> Finding<Bytes> {
    Finding::measured(Bytes(value), "")
}

#[test]
fn sizes_agree_where_their_intervals_meet() {
    assert!(against(bytes(2048).range(1984.0, 2048.0), bytes(1984)).same);
    let apart = against(bytes(2048).range(2000.0, 2048.0), bytes(1000));
    assert!(!apart.same);
    assert_eq!(apart.differs[0].apart_percent, Some(1000.0 / 2048.0 * 100.0));
}

#[test]
fn units_and_kinds_are_not_converted() {
    let units = against(bytes(2), bytes(2).unit("cycles"));
    assert!(!units.same && units.differs[0].because.as_ref().unwrap().contains("B and cycles"));
    let ways =
        |ways| statement(&topology([(ElementName::L1, Element::default().with(WAYS, Finding::measured(ways, "")))]));
    assert!(!compare(&ways(Ways::Equal(2)), &ways(Ways::Each(vec![2])), &Options::default()).same);
}

#[test]
fn what_is_unknown_to_one_is_no_difference() {
    let answer = against(bytes(2), Finding::unknown("nobody asked").unit("B"));
    assert!(answer.same && !answer.compared());
    assert_eq!(answer.only_a[0].reason, "nobody asked");
    let neither = against(Finding::unknown("x"), Finding::failed("y"));
    assert_eq!(neither.unknown, ["l1 size"]);
    // A bound is known: it speaks against what lies below.
    let bound = || Finding::unknown("more than 64 KiB").unit("B").at_least(65536.0);
    assert!(!against(bound(), bytes(2048)).same);
    assert!(against(bound(), bytes(131_072)).compared());
}

#[test]
fn elements_that_were_not_asked_for_are_told_from_attributes_that_are_not_there() {
    let l1 = Element::default().with(SIZE, bytes(2)).with(LINE_SIZE, bytes(1));
    let a = topology([(ElementName::L1, l1.clone()), (ElementName::L2, l1)]);
    let mut b = topology([(ElementName::L1, Element::default().with(SIZE, bytes(2)))]);
    b.run.only = vec![ElementName::L1.into()];
    let answer = compare(&statement(&a), &statement(&b), &Options::default());
    let reasons: Vec<(&str, &str)> = answer.only_a.iter().map(|s| (s.place.as_str(), s.reason.as_str())).collect();
    assert_eq!(
        reasons,
        [
            ("l1 line_size", "not an attribute of it there"),
            ("l2 line_size", "not asked for there"),
            ("l2 size", "not asked for there")
        ]
    );
    b.run.only = vec!["l1.size".parse().unwrap()];
    let answer = compare(&statement(&a), &statement(&b), &Options::default());
    assert!(answer.only_a.iter().all(|silent| silent.reason == "not asked for there"), "{:?}", answer.only_a);
    let only = Options { only: vec!["l1.size".parse().unwrap()], ..Options::default() };
    let answer = compare(&statement(&a), &statement(&b), &only);
    assert_eq!((answer.agrees.len(), answer.only_a.len()), (1, 0));
}

#[test]
fn lists_of_sharers_have_no_order_and_others_do() {
    let of = |shared: &[&str], ways: &[u64]| {
        let shared: Elements = shared.iter().copied().collect();
        let element = Element::from([
            Entry::new(SHARED_WITH, Finding::measured(shared, "")),
            Entry::new(WAYS, Finding::measured(Ways::Each(ways.to_vec()), "")),
        ]);
        statement(&topology([(ElementName::L1, element)]))
    };
    let answer = compare(&of(&["texture", "l1"], &[8, 9]), &of(&["l1", "texture"], &[9, 8]), &Options::default());
    assert_eq!(answer.differs.iter().map(|row| row.place.as_str()).collect::<Vec<_>>(), ["l1 ways"]);
}

#[test]
fn a_curve_is_one_row_and_a_configuration_several() {
    let of = |share: f64, size: u64| {
        let misses = Some(Curve(vec![Step::new(1, 0.5)]));
        let least = Configuration { size: Bytes(size), sets: None, ways: None, index: None, replacement: None, misses };
        let element = Element::from([
            Entry::new(STAIRCASE, Finding::measured(Curve(vec![Step::new(100, 0.1), Step::new(200, share)]), "")),
            Entry::new(LEAST_CONFIGURATION, Finding::measured(least, "")),
        ]);
        statement(&topology([(ElementName::L1, element)]))
    };
    let answer = compare(&of(0.5, 64), &of(0.4, 32), &Options::default());
    let rows: Vec<_> = answer.differs.iter().map(|r| (r.place.as_str(), r.points_differ, r.points_compared)).collect();
    assert_eq!(
        rows,
        [("l1 least_configuration.size", None, None), ("l1 staircase", Some(1), Some(2))],
        "the furthest apart stands first"
    );
    let parts = ["index", "replacement", "sets", "ways"];
    assert_eq!(answer.unknown, parts.map(|part| format!("l1 least_configuration.{part}")));
    assert_eq!(answer.agrees[0].place, "l1 least_configuration.misses");
}

#[test]
fn a_gpu_is_compared_with_its_own_values_and_beside_others() {
    let element = |latency: f64| latency_of(latency).with(NOMINAL_SIZE, bytes(60 << 20));
    let mut h200 = topology([(ElementName::L2, element(280.0))]);
    h200.device.name = "NVIDIA H200".into();
    h200.device.compute_capability = (9, 0);
    let reference = |asked| published(asked, Kind::Topology).unwrap();
    let own = reference(Asked::Device("NVIDIA H200", Some((9, 0))));
    let answer = compare(&statement(&h200), &own, &Options::default());
    assert!(answer.same);
    assert_eq!(answer.agrees[0].place, "l2 nominal_size");
    assert!(answer.context.iter().any(|row| row.place == "l2 nominal_size" && row.agrees == Some(false)));
    // Named, they decide.
    let h100 = reference(Asked::Named("h100"));
    let answer = compare(&statement(&h200), &h100, &Options::default());
    assert!(answer.context.is_empty() && !answer.same);
    // Another product of the architecture has context alone.
    let other = reference(Asked::Device("NVIDIA H20", Some((9, 0))));
    let answer = compare(&statement(&h200), &other, &Options::default());
    assert!(answer.same && answer.compared() && answer.agrees.is_empty());
    assert!(matches!(
        published(Asked::Device("AMD Instinct MI210", None), Kind::Topology),
        Err(NoReference::Device(_))
    ));
    assert!(matches!(published(Asked::Named("gh9"), Kind::Topology), Err(NoReference::Named { .. })));
}

/// Sources that contradict each other cannot all be met.
#[test]
fn one_source_that_agrees_is_enough() {
    let a100 = published(Asked::Named("a100"), Kind::Topology).unwrap();
    let of = |cycles: f64| statement(&topology([(ElementName::L1, latency_of(cycles))]));
    let answer = compare(&of(33.0), &a100, &Options::default());
    assert!(answer.same);
    assert_eq!(answer.contested.iter().map(|row| row.agrees).collect::<Vec<_>>(), [Some(false), Some(true)]);
    let neither = compare(&of(36.0), &a100, &Options::default());
    assert_eq!((neither.same, neither.differs.len()), (false, 2));
    assert!(compare(&a100, &a100, &Options::default()).same, "each source is compared with itself");
}

#[test]
fn parts_are_for_characterizations() {
    let place = Place::of_part(PartName::Synchronization, "slowdown_by_barriers");
    let of = |kind| published(Asked::Named("gtx-680"), kind).or(published(Asked::Named("gk104"), kind)).unwrap();
    assert!(!of(Kind::Characterization).known(&place).is_empty());
    assert!(of(Kind::Topology).known(&place).is_empty());
}

/// Findings of an attribute, if it applies: with a value of these, unknown, or a bound.
fn any_of<T: Typed + std::fmt::Debug + 'static>(
    key: Key<T>,
    values: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Option<Entry>> {
    let ends = prop::option::of((0.0..2.0f64, 0.0..2.0f64));
    let known = (values, ends, any::<bool>()).prop_map(|(value, ends, unit)| {
        let number = value.clone().into().number();
        let finding = Finding::measured(value, "");
        let finding = if unit { finding.unit("B") } else { finding };
        match ends.zip(number) {
            Some(((down, up), number)) => finding.range(number - down, number + up),
            None => finding,
        }
    });
    let finding = prop_oneof![
        4 => known,
        1 => Just(Finding::unknown("no reason")),
        1 => (0u32..3).prop_map(|low| Finding::unknown("a bound").at_least(f64::from(low))),
    ];
    prop::option::of(finding.prop_map(move |finding| Entry::new(key, finding)))
}

fn any_element() -> impl Strategy<Value = Element> {
    let steps = prop::collection::btree_map(0u64..4, 0.0..3.0f64, 0..4);
    let names = prop::collection::btree_set(prop::sample::select(ElementName::ALL.to_vec()), 0..3);
    let entries = (
        any_of(SIZE, (0u64..5).prop_map(Bytes)),
        any_of(LATENCY_NS, (0.0..5.0f64).prop_map(Nanoseconds)),
        any_of(STAIRCASE, steps.prop_map(|steps| Curve(steps.into_iter().map(|(x, y)| Step::new(x, y)).collect()))),
        any_of(SHARED_WITH, names.prop_map(|names| names.into_iter().collect::<Elements>())),
        any_of(
            REPLACEMENT,
            prop::sample::select(vec![Policy::Lru, Policy::Random, Policy::Weighted(vec![0.5, 0.5].into())]),
        ),
    );
    entries.prop_map(|(a, b, c, d, e)| [a, b, c, d, e].into_iter().flatten().collect())
}

fn any_topology() -> impl Strategy<Value = Topology> {
    let elements = [ElementName::L1, ElementName::L2, ElementName::TlbL1];
    prop::collection::btree_map(prop::sample::select(elements.to_vec()), any_element(), 0..3).prop_map(topology)
}

proptest! {
    #[test]
    fn a_result_is_the_same_as_itself(a in any_topology(), tolerance in 0.0..10.0f64) {
        let options = Options { tolerance_percent: tolerance, ..Options::default() };
        let answer = compare(&statement(&a), &statement(&a), &options);
        prop_assert!(answer.same && answer.only_a.is_empty() && answer.only_b.is_empty() && answer.incomparable.is_empty());
    }

    #[test]
    fn swapping_the_sides_swaps_what_they_know_and_nothing_else(a in any_topology(), b in any_topology()) {
        let there = compare(&statement(&a), &statement(&b), &Options::default());
        let back = compare(&statement(&b), &statement(&a), &Options::default());
        prop_assert_eq!(there.same, back.same);
        let swapped = |rows: &[Row]| -> BTreeMap<String, (Option<f64>, Option<usize>)> {
            rows.iter().map(|row| (row.place.clone(), (row.apart_percent, row.points_differ))).collect()
        };
        prop_assert_eq!(swapped(&there.differs), swapped(&back.differs));
        prop_assert_eq!(&there.only_a, &back.only_b);
        prop_assert_eq!(&there.only_b, &back.only_a);
        prop_assert_eq!(&there.unknown, &back.unknown);
    }

    /// Every place is said once: as a row, as known to one, or as unknown.
    #[test]
    fn no_place_is_lost(a in any_topology(), b in any_topology()) {
        let (a, b) = (statement(&a), statement(&b));
        let answer = compare(&a, &b, &Options::default());
        let rows = [&answer.differs, &answer.contested, &answer.incomparable, &answer.context, &answer.agrees];
        let said = rows.iter().map(|rows| rows.len()).sum::<usize>()
            + answer.only_a.len() + answer.only_b.len() + answer.unknown.len();
        let places: BTreeSet<_> = a.claims.keys().chain(b.claims.keys()).collect();
        prop_assert_eq!(said, places.len());
    }
}

/// `read_only` is the key of an element and of a part.
#[test]
fn a_published_value_has_one_place() {
    let costs = published(Asked::Named("gh100"), Kind::Characterization);
    assert!(costs.unwrap().claims.is_empty());
    let place = Place::of_element(ElementName::ReadOnly, LATENCY_CYCLES);
    assert!(!published(Asked::Named("gh100"), Kind::Topology).unwrap().known(&place).is_empty());
}
