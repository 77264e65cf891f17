//! Whether two results are of one die, of two with the same layout, or of two layouts.

use std::collections::BTreeMap;

use super::comparison::Stated;
use super::content::Content;
use super::place::Place;
use super::statement::Statement;
use strata_model::attribute::{Attribute, Counts, Value};
use strata_model::topology::ElementName;

/// In one sentence; none, where one of the sides has no fingerprint of the die.
pub(super) fn sentence(a: &Statement, b: &Statement) -> Option<String> {
    let (print_a, print_b) = (stated(a, Attribute::Fingerprint)?, stated(b, Attribute::Fingerprint)?);
    let uuid = |side: &Statement| side.side.uuid.clone().filter(|uuid| !uuid.is_empty());
    let same_gpu = uuid(a).zip(uuid(b)).map(|(x, y)| x == y);
    // The fingerprint is that of the map. Where the maps themselves are there, they decide.
    let same_map = match map(a).zip(map(b)) {
        Some((x, y)) => x == y,
        None => print_a.value == print_b.value,
    };
    Some(match (same_gpu, same_map) {
        (Some(true), true) => "The same die: the UUIDs are equal, and so are the maps of the SMs".into(),
        (Some(true), false) => {
            "The UUIDs are equal, but the maps of the SMs differ: one of the results is of another die, or wrong".into()
        }
        (Some(false), true) => "Another die of the same layout, with the same map of the SMs".into(),
        (None, true) => "The same die, or another one of the same layout with the same map of the SMs".into(),
        (_, false) => match (gpcs(a), gpcs(b)) {
            (Some(x), Some(y)) if x == y => {
                format!("Another die of the same layout: GPCs of {x} SMs, which are numbered in another order")
            }
            (Some(x), Some(y)) => format!("Another layout of the die: GPCs of {x} SMs in A, and of {y} SMs in B"),
            _ => "Another die: the maps of the SMs differ".into(),
        },
    })
}

/// The layouts of the dies of several results, and how many results have each; none, where fewer than two results know theirs.
pub(super) fn layouts(sides: &[Statement]) -> Option<String> {
    let mut found: BTreeMap<String, Vec<&Option<Value>>> = BTreeMap::new();
    for (gpcs, print) in sides.iter().filter_map(|side| Some((gpcs(side)?, stated(side, Attribute::Fingerprint)?))) {
        found.entry(gpcs).or_default().push(&print.value);
    }
    if found.values().map(Vec::len).sum::<usize>() < 2 {
        return None;
    }
    let layout = |(gpcs, prints): (&String, &Vec<&Option<Value>>)| {
        let first = |at: usize| !prints[..at].contains(&prints[at]);
        let (results, places) = (prints.len(), (0..prints.len()).filter(|&at| first(at)).count());
        let several = if places > 1 { format!(", with {places} different maps") } else { String::new() };
        format!("GPCs of {gpcs} SMs in {results} of {} results{several}", sides.len())
    };
    Some(format!("Layouts of the dies: {}", found.iter().map(layout).collect::<Vec<_>>().join("; ")))
}

fn map(side: &Statement) -> Option<&Content> {
    side.known(&Place::of_element(ElementName::Die, Attribute::Map)).first().map(|(content, ..)| *content)
}

fn stated(side: &Statement, attribute: Attribute) -> Option<&Stated> {
    let known = side.known(&Place::of_element(ElementName::Die, attribute));
    known.first().map(|(_, stated, _)| *stated)
}

fn gpcs(side: &Statement) -> Option<String> {
    match &stated(side, Attribute::Gpcs)?.value {
        Some(Value::Counts(Counts(sizes))) if !sizes.is_empty() => {
            let mut sizes = sizes.clone();
            sizes.sort_unstable();
            Some(sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::attribute::{FINGERPRINT, GPCS, MAP, SmMap, SmPlace};
    use strata_model::facts::DeviceFacts;
    use strata_model::topology::{Element, Finding, RunInfo, SCHEMA, Topology};

    fn side(uuid: Option<&str>, print: &str, gpcs: &[u64]) -> Statement {
        let die = Element::default()
            .with(FINGERPRINT, Finding::measured(print.to_owned(), ""))
            .with(GPCS, Finding::measured(Counts(gpcs.to_vec()), ""));
        let topology = Topology {
            schema: SCHEMA.into(),
            device: DeviceFacts { uuid: uuid.map(str::to_owned), ..DeviceFacts::default() },
            run: RunInfo::default(),
            elements: [(ElementName::Die, die)].into_iter().collect(),
            replayed_from: None,
        };
        Statement::of_topology(&topology, "t")
    }

    #[test]
    fn dies_are_told_apart_by_uuid_places_and_sizes() {
        let a = side(Some("1"), "x", &[16, 18]);
        let beside = |uuid, print, gpcs: &[u64]| sentence(&a, &side(uuid, print, gpcs)).unwrap();
        assert!(beside(Some("1"), "x", &[16, 18]).starts_with("The same die: "));
        assert!(beside(Some("1"), "y", &[16, 18]).starts_with("The UUIDs are equal, but the maps"));
        assert_eq!(beside(Some("2"), "x", &[16, 18]), "Another die of the same layout, with the same map of the SMs");
        assert!(beside(None, "x", &[16, 18]).starts_with("The same die, or another one"));
        assert!(beside(Some("2"), "y", &[16, 18]).contains("GPCs of 16, 18 SMs, which are numbered in another order"));
        assert!(beside(None, "y", &[14, 18]).ends_with("GPCs of 16, 18 SMs in A, and of 14, 18 SMs in B"));
    }

    #[test]
    fn layouts_of_several_are_counted() {
        let sides = [
            side(Some("1"), "x", &[16, 18]),
            side(Some("2"), "y", &[16, 18]),
            side(Some("3"), "x", &[16, 18]),
            side(Some("4"), "z", &[14, 18]),
        ];
        let said = "Layouts of the dies: GPCs of 14, 18 SMs in 1 of 4 results; GPCs of 16, 18 SMs in 3 of 4 results, with 2 different \
                    maps";
        assert_eq!(layouts(&sides).as_deref(), Some(said));
        assert_eq!(layouts(&sides[..1]), None);
    }

    #[test]
    fn maps_decide_where_they_are_there() {
        let with_map = |gpc| {
            let mut side = side(Some("1"), "x", &[18, 16]);
            let map = SmMap(vec![SmPlace { sm: 0, gpc: Some(gpc), ..SmPlace::default() }]);
            let die = Element::default().with(MAP, Finding::measured(map, ""));
            let topology = Topology {
                schema: SCHEMA.into(),
                device: DeviceFacts::default(),
                run: RunInfo::default(),
                elements: [(ElementName::Die, die)].into_iter().collect(),
                replayed_from: None,
            };
            side.claims.extend(Statement::of_topology(&topology, "t").claims);
            side
        };
        assert!(sentence(&with_map(1), &with_map(1)).unwrap().starts_with("The same die: "));
        assert!(sentence(&with_map(1), &with_map(2)).unwrap().starts_with("The UUIDs are equal, but"));
        // Without a UUID, and with sizes in another order.
        let beside = sentence(&side(Some(""), "x", &[16, 18]), &side(Some("1"), "y", &[18, 16])).unwrap();
        assert!(beside.contains("GPCs of 16, 18 SMs, which"), "{beside}");
        assert_eq!(layouts(&[side(None, "x", &[]), side(None, "x", &[])]), None);
    }

    #[test]
    fn without_a_fingerprint_nothing_is_said() {
        let a = side(None, "x", &[16]);
        let mut b = side(None, "x", &[16]);
        b.claims.clear();
        assert_eq!(sentence(&a, &b), None);
    }
}
