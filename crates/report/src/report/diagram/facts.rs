//! The text in the boxes: short values, each with its whole finding as a hint under the pointer.

use super::model::{Kind, Lane, Memory};
use crate::report::svg::Label;
use crate::report::words::{self, Detail, UNKNOWN};
use strata_model::attribute::{
    Attribute, BANK_WIDTH, BANKS, CACHED, ENTRIES, FAR_LATENCY, FETCH_GRANULARITY, INSTANCES_PER_SM, LATENCY_CYCLES,
    LATENCY_NS, LINE_SIZE, MISS_PENALTY, NEAR_LATENCY, NOMINAL_SIZE, PAGE_SIZE, PARTITIONS, REACH, SHARED_WITH, SIZE,
};
use strata_model::experiment::LoadPath;
use strata_model::topology::{Element, ElementName, Finding};
use strata_model::units::Bytes;

/// The box of paths that share a cache; what they agree on is said once.
pub(super) fn cache(paths: &[(ElementName, &Element)]) -> Memory {
    if let [(name, element)] = paths {
        let kind = if *name == ElementName::ConstantL1 { Kind::Constant } else { Kind::Data };
        return memory(*name, kind, element);
    }
    let all: Vec<Memory> = paths.iter().map(|(name, element)| memory(*name, Kind::Data, element)).collect();
    let words = |label: &Option<Label>| label.as_ref().map(|label| label.text.clone());
    let same_size = all.iter().all(|one| words(&one.size) == words(&all[0].size));
    let common: Vec<Label> =
        all[0].facts.iter().filter(|fact| all.iter().all(|one| has(&one.facts, fact))).cloned().collect();
    let lane = |one: &Memory| {
        let size = one.size.clone().filter(|_| !same_size);
        let own = one.facts.iter().filter(|fact| !has(&common, fact)).cloned();
        one.lanes
            .iter()
            .map(|lane| Lane {
                instruction: lane.instruction,
                name: one.name.clone(),
                latency: lane.latency.clone(),
                facts: size.clone().into_iter().chain(own.clone()).collect(),
            })
            .collect::<Vec<_>>()
    };
    Memory {
        of: all.iter().flat_map(|one| one.of.clone()).collect(),
        kind: Kind::Data,
        name: "One cache".into(),
        size: all[0].size.clone().filter(|_| same_size),
        lanes: all.iter().flat_map(lane).collect(),
        facts: common,
    }
}

fn has(facts: &[Label], fact: &Label) -> bool {
    facts.iter().any(|other| other.text == fact.text)
}

/// The box of one element.
pub(super) fn memory(name: ElementName, kind: Kind, element: &Element) -> Memory {
    let bytes = |f: &Finding| Bytes(f.number().unwrap_or(0.0) as u64).to_string();
    let number = |f: &Finding| f.number().unwrap_or(0.0).to_string();
    let only = |attribute: Attribute, finding: Option<&Finding>, show: &dyn Fn(&Finding) -> String| {
        finding.map(|finding| shown(name, attribute, finding, show))
    };
    let label =
        |attribute: Attribute, show: &dyn Fn(&Finding) -> String| only(attribute, element.finding(attribute), show);
    let named = |before: &str, after: &str, label: Option<Label>| {
        label.map(|label| Label { text: format!("{before}{}{after}", label.text), ..label })
    };
    // Where loads pass a cache by, nothing of it can be known, and one word says so.
    let passed = element.get(CACHED) == Some(&false);
    let size = label(SIZE.attribute(), &bytes).or_else(|| label(REACH.attribute(), &bytes));
    let mut facts = Vec::new();
    if let Some(cached) = element.finding(CACHED) {
        let text = match cached.get() {
            Some(true) if kind == Kind::Path => "cached in the SM",
            Some(true) => "",
            Some(false) if kind == Kind::Path => "not cached in the SM",
            Some(false) => "these loads bypass it",
            None => "cached ?",
        };
        let label = Label { text: text.into(), hint: hint(name, CACHED.attribute(), cached) };
        facts.extend((!text.is_empty()).then_some(label));
    }
    if !passed || kind == Kind::Path {
        facts.extend(named("nominal ", "", label(NOMINAL_SIZE.attribute(), &bytes)));
        facts.extend(named("line ", "", label(LINE_SIZE.attribute(), &bytes)));
        facts.extend(named("fetch ", "", label(FETCH_GRANULARITY.attribute(), &bytes)));
        // What is one or none needs no words.
        let several = element.finding(INSTANCES_PER_SM).filter(|f| f.get() != Some(&1_u64));
        facts.extend(named("", " per SM", only(INSTANCES_PER_SM.attribute(), several, &number)));
        let unknown = element.finding(SHARED_WITH).filter(|f| !f.is_known());
        facts.extend(named("shared with ", "", only(SHARED_WITH.attribute(), unknown, &number)));
        facts.extend(both(label(ENTRIES.attribute(), &number), " × ", label(PAGE_SIZE.attribute(), &bytes)));
        let tlb = element.finding(MISS_PENALTY).filter(|_| kind == Kind::Translation);
        facts.extend(named("+", " cycles", only(MISS_PENALTY.attribute(), tlb, &number)));
        let banks = named("", " banks", label(BANKS.attribute(), &number));
        facts.extend(both(banks, " of ", label(BANK_WIDTH.attribute(), &bytes)));
        let whole = |f: &&Finding| !f.is_known() || f.number().is_some_and(|n| n < 2.0);
        let parts = element.finding(PARTITIONS).filter(whole);
        let before = if parts.is_some_and(Finding::is_known) { "" } else { "partitions " };
        facts.extend(named(before, "", only(PARTITIONS.attribute(), parts, &|_| "undivided".into())));
    }
    if name == ElementName::Host {
        // Its name goes on with what it loads from, which the box says.
        let instruction = LoadPath::Host.instruction().split(' ').next().unwrap_or_default();
        facts.push(Label::plain(format!("by {instruction}")));
    }
    let latency = if passed && kind != Kind::Path { Vec::new() } else { latency(name, element) };
    Memory {
        of: vec![name.key()],
        kind,
        name: match name {
            ElementName::Shared => "Shared memory".into(),
            ElementName::Local => "Local memory".into(),
            // They stand under a title of their own, and have little room.
            ElementName::TlbL1 => "L1".into(),
            ElementName::TlbL2 => "L2".into(),
            ElementName::TlbL3 => "L3".into(),
            other => other.title().into(),
        },
        size,
        facts,
        lanes: vec![Lane { instruction: instruction(name), name: String::new(), latency, facts: Vec::new() }],
    }
}

/// Two labels as one; what is known of one alone stands alone.
fn both(first: Option<Label>, between: &str, second: Option<Label>) -> Option<Label> {
    match (first, second) {
        (Some(a), Some(b)) => {
            Some(Label { text: format!("{}{between}{}", a.text, b.text), hint: format!("{}; {}", a.hint, b.hint) })
        }
        (first, second) => first.or(second),
    }
}

/// Latency in both units.
fn latency(name: ElementName, element: &Element) -> Vec<Label> {
    let tenths = |f: &Finding| format!("{:.1}", f.number().unwrap_or(0.0));
    let label = |attribute: Attribute| Some(shown(name, attribute, element.finding(attribute)?, &tenths));
    let (Some(cycles), Some(ns)) = (label(LATENCY_CYCLES.attribute()), label(LATENCY_NS.attribute())) else {
        return Vec::new();
    };
    if cycles.text == UNKNOWN && ns.text == UNKNOWN {
        return vec![Label { text: format!("latency {UNKNOWN}"), ..cycles }];
    }
    vec![Label { text: format!("{} cycles", cycles.text), ..cycles }, Label { text: format!("{} ns", ns.text), ..ns }]
}

/// The load that leads to an element of an SM; nothing for what lies behind others.
const fn instruction(name: ElementName) -> &'static str {
    match name {
        ElementName::L1 => LoadPath::GlobalCa.instruction(),
        ElementName::Texture => LoadPath::Texture.instruction(),
        ElementName::ReadOnly => LoadPath::GlobalNc.instruction(),
        ElementName::ConstantL1 | ElementName::ConstantUniform => LoadPath::Constant.instruction(),
        ElementName::Shared => LoadPath::Shared.instruction(),
        ElementName::Local => LoadPath::Local.instruction(),
        // AMD's; nothing here has it.
        ElementName::ScalarL1 => "s_load_dword",
        _ => "",
    }
}

/// Parts of the L2 as an SM sees them: its own, and the others.
pub(super) fn partitions(l2: &Element) -> Vec<Memory> {
    let Some(count) = l2.get(PARTITIONS).filter(|count| **count >= 2) else {
        return Vec::new();
    };
    let name = ElementName::L2;
    let whole = |f: &Finding| format!("{:.0}", f.number().unwrap_or(0.0));
    let part = |title: String, word, attribute: Attribute| {
        let took = l2.finding(attribute).map(|f| shown(name, attribute, f, &whole));
        let took = took.map(|label| Label { text: format!("{word}, atomics {} cycles", label.text), ..label });
        Memory {
            of: vec![attribute.key()],
            kind: Kind::L2,
            name: title,
            size: None,
            facts: took.into_iter().collect(),
            lanes: Vec::new(),
        }
    };
    let others = if *count == 2 { "The other partition".into() } else { format!("{} other partitions", count - 1) };
    vec![
        part("The SM’s partition".into(), "near", NEAR_LATENCY.attribute()),
        part(others, "far", FAR_LATENCY.attribute()),
    ]
}

/// A finding as the table has it, with all that is known of it.
fn shown(name: ElementName, attribute: Attribute, finding: &Finding, show: &dyn Fn(&Finding) -> String) -> Label {
    Label { text: words::cell(finding, show), hint: hint(name, attribute, finding) }
}

/// All that is known of a finding, or why nothing is.
fn hint(name: ElementName, attribute: Attribute, finding: &Finding) -> String {
    if finding.is_known() {
        format!("{name} {attribute}: {}", Detail::of(finding))
    } else {
        format!("{name} {attribute}: unknown: {}", words::reason(finding))
    }
}
