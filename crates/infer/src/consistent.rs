//! Whether what was found agrees with itself: rules over a whole hierarchy, checked in every run. What breaks one is unknown, and the
//! run says so in a warning.
//!
//! A rule is broken only where the intervals cannot both be right. Nanoseconds need no rule, since they follow from cycles.

use std::collections::BTreeMap;

use strata_model::attribute::{Attribute, LATENCY_CYCLES, MISS_PENALTY, PAGE_SIZE, REACH, SIZE};
use strata_model::experiment::LARGE_PAGE;
use strata_model::topology::Element;
use strata_model::topology::ElementName::{self, ConstantL1, ConstantL15, Dram, L1, L2, TlbL1, TlbL2, TlbL3};

type Elements = BTreeMap<ElementName, Element>;

/// A level and the one behind it, and what cannot fall from the first to the second.
const RISES: [(ElementName, ElementName, Rises); 6] = [
    (L1, L2, Rises::Size),
    (ConstantL1, ConstantL15, Rises::Size),
    (L1, L2, Rises::Latency),
    (L2, Dram, Rises::Latency),
    (TlbL1, TlbL2, Rises::Reach),
    (TlbL2, TlbL3, Rises::Reach),
];

/// What rises from level to level.
#[derive(Clone, Copy)]
enum Rises {
    Size,
    Latency,
    Reach,
}

impl Rises {
    fn attribute(self) -> Attribute {
        match self {
            Rises::Size => SIZE.into(),
            Rises::Latency => LATENCY_CYCLES.into(),
            Rises::Reach => REACH.into(),
        }
    }
}

/// An attribute of an element that breaks a rule, and how.
struct Broken {
    element: ElementName,
    attribute: Attribute,
    why: String,
}

/// Makes unknown what breaks a rule. Gives a warning for each.
pub fn enforce(elements: &mut Elements) -> Vec<String> {
    let broken: Vec<Broken> = rising(elements).chain(translation_in_dram(elements)).collect();
    let mut warnings = Vec::new();
    for Broken { element, attribute, why } in broken {
        if elements.get_mut(&element).is_some_and(|found| found.retract(attribute, why.clone())) {
            warnings.push(format!("{element}.{attribute} is unknown: {why}"));
        }
    }
    warnings
}

/// Lowest and highest that a finding may be.
fn ends(elements: &Elements, element: ElementName, attribute: Attribute) -> Option<(f64, f64)> {
    let finding = elements.get(&element)?.known(attribute)?;
    let value = finding.number()?;
    Some((finding.low.unwrap_or(value), finding.high.unwrap_or(value)))
}

/// What is less than in the level before.
fn rising(elements: &Elements) -> impl Iterator<Item = Broken> {
    RISES.into_iter().filter_map(|(before, behind, rises)| {
        let attribute = rises.attribute();
        let (first, second) = (ends(elements, before, attribute)?, ends(elements, behind, attribute)?);
        (second.1 < first.0).then(|| Broken {
            element: behind,
            attribute,
            why: format!(
                "{} at most was found, less than the {} at least of {before}, so one of the two is wrong",
                second.1, first.0
            ),
        })
    })
}

/// What TLB misses are part of: DRAM is measured over large pages, of which each but the first load should find its translation.
fn translation_in_dram(elements: &Elements) -> impl Iterator<Item = Broken> {
    let page = elements.get(&TlbL1).and_then(|tlb| tlb.get(PAGE_SIZE)).filter(|page| **page < LARGE_PAGE).copied();
    page.into_iter().flat_map(|page| {
        let why = format!(
            "an entry of the first TLB maps {page}, less than the {LARGE_PAGE} over which DRAM is measured page by page, so TLB \
             misses are part of the latency"
        );
        [(Dram, Attribute::from(LATENCY_CYCLES)), (L2, MISS_PENALTY.into())]
            .map(|(element, attribute)| Broken { element, attribute, why: why.clone() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::topology::Finding;
    use strata_model::units::{Bytes, Cycles, KIB};

    fn reach(low: u64, high: u64) -> Element {
        Element::default().with(REACH, Finding::measured(Bytes(low), "walks").range(low as f64, high as f64))
    }

    fn latency(cycles: f64) -> Element {
        Element::default().with(LATENCY_CYCLES, Finding::measured(Cycles(cycles), "a chase").from_experiments([7]))
    }

    #[test]
    fn a_level_that_reaches_less_far_is_unknown() {
        let mut elements = Elements::from([(TlbL1, reach(64, 72)), (TlbL2, reach(48, 60)), (TlbL3, reach(50, 90))]);
        let warnings = enforce(&mut elements);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with("tlb_l2.reach is unknown: 60 at most was found"), "{warnings:?}");
        assert!(elements[&TlbL1].get(REACH).is_some());
        assert!(elements[&TlbL2].get(REACH).is_none());
        assert!(elements[&TlbL3].get(REACH).is_some());
    }

    #[test]
    fn what_may_both_be_right_stays() {
        let mut elements = Elements::from([(TlbL1, reach(64, 72)), (TlbL2, reach(60, 66)), (L2, latency(200.0))]);
        assert_eq!(enforce(&mut elements), Vec::<String>::new());
    }

    #[test]
    fn small_pages_are_part_of_dram() {
        let small = Element::default().with(PAGE_SIZE, Finding::measured(Bytes(64 * KIB), "walks"));
        let mut elements = Elements::from([(TlbL1, small), (Dram, latency(700.0))]);
        assert_eq!(enforce(&mut elements).len(), 1);
        let dram = elements[&Dram].finding(LATENCY_CYCLES).unwrap();
        assert!(dram.reason.as_deref().unwrap().contains("64 KiB"), "{dram:?}");
        assert_eq!(dram.experiments, [7]);
    }
}
