//! What is drawn: boxes with what is known of each, and the loads that lead to them.

use serde_json::Value;

use crate::experiment::LoadPath;
use crate::report::svg::Label;
use crate::report::words::{self, Detail, UNKNOWN};
use crate::topology::{Element, ElementName, Finding, Topology};
use crate::units::Bytes;

/// Paths of loads that may turn out to share one cache.
const MAY_SHARE: [ElementName; 4] =
    [ElementName::L1, ElementName::ReadOnly, ElementName::Texture, ElementName::ConstantL1];
/// Levels of translation, from the SM on.
const TRANSLATION: [ElementName; 3] = [ElementName::TlbL1, ElementName::TlbL2, ElementName::TlbL3];

/// What a box is drawn as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A cache of data.
    Data,
    /// A cache of constants.
    Constant,
    /// Memory of an SM.
    Shared,
    /// A path of which no cache of its own was found.
    Path,
    /// A level of translation.
    Translation,
    /// The cache of all SMs, or a part of it.
    L2,
    /// Memory beyond the caches.
    Memory,
}

/// A load that leads to a box.
pub(super) struct Lane {
    /// The instruction.
    pub instruction: &'static str,
    /// Whose path it is, where several share a box.
    pub name: String,
    /// What it takes.
    pub latency: Vec<Label>,
    /// What is said of this path alone.
    pub facts: Vec<Label>,
}

/// A box.
pub(super) struct Memory {
    /// Elements that it stands for, by their keys.
    pub of: Vec<&'static str>,
    /// What it is drawn as.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its size, where it has one.
    pub size: Option<Label>,
    /// What else is known.
    pub facts: Vec<Label>,
    /// The loads that lead to it.
    pub lanes: Vec<Lane>,
}

/// Boxes that belong together.
pub(super) enum Group {
    /// One by itself.
    Single(Memory),
    /// What misses one asks the next.
    Chain(Vec<Memory>),
    /// Parts of one memory that is divided as a program asks, and what shows it.
    Divided(Vec<Memory>, Label),
}

/// The whole drawing.
pub(super) struct Drawing {
    /// What it is of.
    pub title: String,
    /// Said of a model.
    pub simulated: bool,
    /// SMs that there are.
    pub multiprocessors: u32,
    /// What an SM has.
    pub sm: Vec<Group>,
    /// Levels of translation.
    pub translation: Vec<Memory>,
    /// The L2, and the parts of it.
    pub l2: Option<(Memory, Vec<Memory>)>,
    /// What lies beyond.
    pub memories: Vec<Memory>,
}

impl Drawing {
    /// What is drawn of a topology; nothing of one without elements.
    pub fn of(topology: &Topology) -> Option<Self> {
        if topology.elements.is_empty() {
            return None;
        }
        let all = Found(topology);
        let alone = |name, kind| all.get(name).map(|element| memory(name, kind, element));
        let translation = TRANSLATION.into_iter().filter_map(|name| alone(name, Kind::Translation));
        let memories = [ElementName::Dram, ElementName::Host].into_iter().filter_map(|name| alone(name, Kind::Memory));
        Some(Drawing {
            title: format!("Memory hierarchy of {}", topology.device.name),
            simulated: topology.run.simulated,
            multiprocessors: topology.device.multiprocessors,
            sm: all.sm(),
            translation: translation.collect(),
            l2: all
                .get(ElementName::L2)
                .map(|element| (memory(ElementName::L2, Kind::L2, element), partitions(element))),
            memories: memories.collect(),
        })
    }

    /// The same in a sentence, for those who cannot see it.
    pub fn description(&self) -> String {
        let named = |memory: &Memory| match &memory.size {
            Some(size) => format!("{} {}", memory.name, size.text),
            None => memory.name.clone(),
        };
        let list = |boxes: &mut dyn Iterator<Item = &Memory>| boxes.map(named).collect::<Vec<_>>().join(", ");
        let sm = list(&mut self.sm.iter().flat_map(Group::memories));
        let beyond = list(&mut self.l2.iter().map(|(l2, _)| l2).chain(&self.memories));
        let sm = if sm.is_empty() { sm } else { format!("One SM of {} with {sm}", self.multiprocessors) };
        let translation = list(&mut self.translation.iter());
        let translation = if translation.is_empty() { translation } else { format!("TLBs {translation}") };
        let parts = [sm, beyond, translation];
        parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("; ") + "."
    }
}

impl Group {
    /// The boxes of the group.
    pub fn memories(&self) -> &[Memory] {
        match self {
            Group::Single(memory) => std::slice::from_ref(memory),
            Group::Chain(all) | Group::Divided(all, _) => all,
        }
    }
}

/// The elements of a topology, to look up.
struct Found<'t>(&'t Topology);

impl<'t> Found<'t> {
    fn get(&self, name: ElementName) -> Option<&'t Element> {
        self.0.elements.get(&name)
    }

    /// What an SM has: caches of data, shared memory with them or beside, local memory, constants.
    fn sm(&self) -> Vec<Group> {
        let mut caches = self.caches();
        let with_l1 = |memory: &Memory| memory.of.contains(&ElementName::L1.key());
        let shared = self.get(ElementName::Shared).map(|element| memory(ElementName::Shared, Kind::Shared, element));
        let mut groups = Vec::new();
        let constants = caches.iter().position(|cache| cache.of == [ElementName::ConstantL1.key()]);
        let constants = constants.map(|at| caches.remove(at));
        let mut shared = shared;
        for cache in caches {
            match (self.divided(), with_l1(&cache), shared.take()) {
                (Some(label), true, Some(shared)) => groups.push(Group::Divided(vec![cache, shared], label)),
                (_, _, kept) => {
                    shared = kept;
                    groups.push(Group::Single(cache));
                }
            }
        }
        let alone = |name, kind| self.get(name).map(|element| memory(name, kind, element));
        groups.extend(shared.map(Group::Single));
        groups.extend(alone(ElementName::Local, Kind::Path).map(Group::Single));
        let chain: Vec<Memory> = constants.into_iter().chain(alone(ElementName::ConstantL15, Kind::Constant)).collect();
        if !chain.is_empty() {
            groups.push(Group::Chain(chain));
        }
        groups.extend(alone(ElementName::ConstantUniform, Kind::Path).map(Group::Single));
        groups
    }

    /// First-level caches, one for all paths that share it.
    fn caches(&self) -> Vec<Memory> {
        let present: Vec<(ElementName, &Element)> =
            MAY_SHARE.into_iter().filter_map(|name| Some((name, self.get(name)?))).collect();
        let mut groups: Vec<Vec<(ElementName, &Element)>> = Vec::new();
        for one in present {
            // A path may tie two groups together that had nothing in common before.
            let (mut with, without): (Vec<_>, Vec<_>) =
                groups.into_iter().partition(|group: &Vec<_>| group.iter().any(|other| share(*other, one)));
            with.push(vec![one]);
            groups = without;
            groups.push(with.concat());
        }
        groups.sort_by_key(|group| MAY_SHARE.iter().position(|name| *name == group[0].0));
        groups.iter().map(|group| cache(group)).collect()
    }

    /// Whether the L1 gives way where a program asks for all the shared memory there is, and by how much.
    fn divided(&self) -> Option<Label> {
        let l1 = self.get(ElementName::L1)?;
        let least = l1.least_configuration.as_ref()?;
        let (most, left) = (l1.size.as_ref()?.number()?, least.value.get("size")?.as_f64()?);
        (left < most).then(|| Label {
            text: format!("one memory: the L1 gives way to {}", Bytes(left as u64)),
            // The value has its structure and its curve, too, which are not for here.
            hint: Detail::without_value(least, &format!("l1 least_configuration: {}", Bytes(left as u64))).to_string(),
        })
    }
}

/// Whether two paths go through one cache, as either says.
fn share(a: (ElementName, &Element), b: (ElementName, &Element)) -> bool {
    let names = |element: &Element, other: ElementName| {
        let list = element.shared_with.as_ref().and_then(|finding| finding.value.as_array());
        list.is_some_and(|list| list.iter().any(|name| name.as_str() == Some(other.key())))
    };
    names(a.1, b.0) || names(b.1, a.0)
}

/// The box of paths that share a cache; what they agree on is said once.
fn cache(paths: &[(ElementName, &Element)]) -> Memory {
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
fn memory(name: ElementName, kind: Kind, element: &Element) -> Memory {
    let bytes = |f: &Finding| Bytes(f.number().unwrap_or(0.0) as u64).to_string();
    let number = |f: &Finding| f.number().unwrap_or(0.0).to_string();
    let label = |attribute, finding: &Option<Finding>, show: &dyn Fn(&Finding) -> String| {
        finding.as_ref().map(|finding| shown(name, attribute, finding, show))
    };
    let named = |before: &str, after: &str, label: Option<Label>| {
        label.map(|label| Label { text: format!("{before}{}{after}", label.text), ..label })
    };
    // Where loads pass a cache by, nothing of it can be known, and one word says so.
    let passed = element.cached.as_ref().filter(|finding| finding.value == Value::Bool(false));
    let size = match (&element.size, &element.reach) {
        (Some(_), _) => label("size", &element.size, &bytes),
        (None, reach) => label("reach", reach, &bytes),
    };
    let mut facts = Vec::new();
    if let Some(cached) = &element.cached {
        let text = match &cached.value {
            Value::Bool(true) if kind == Kind::Path => "cached before the L2",
            Value::Bool(true) => "",
            Value::Bool(false) if kind == Kind::Path => "not cached before the L2",
            Value::Bool(false) => "loads pass it by",
            _ => "cached ?",
        };
        let label = Label { text: text.into(), hint: hint(name, "cached", cached) };
        facts.extend((!text.is_empty()).then_some(label));
    }
    if passed.is_none() || kind == Kind::Path {
        facts.extend(named("nominal ", "", label("nominal_size", &element.nominal_size, &bytes)));
        facts.extend(named("line ", "", label("line_size", &element.line_size, &bytes)));
        facts.extend(named("fetch ", "", label("fetch_granularity", &element.fetch_granularity, &bytes)));
        // What is one or none needs no words.
        let several = element.instances_per_sm.as_ref().filter(|f| f.number() != Some(1.0));
        facts.extend(named("", " per SM", label("instances_per_sm", &several.cloned(), &number)));
        let unknown = element.shared_with.as_ref().filter(|f| !f.is_known());
        facts.extend(named("shared with ", "", label("shared_with", &unknown.cloned(), &number)));
        facts.extend(both(
            label("entries", &element.entries, &number),
            " × ",
            label("page_size", &element.page_size, &bytes),
        ));
        let tlb = element.miss_penalty.clone().filter(|_| kind == Kind::Translation);
        facts.extend(named("+", " cycles", label("miss_penalty", &tlb, &number)));
        let banks = named("", " banks", label("banks", &element.banks, &number));
        facts.extend(both(banks, " of ", label("bank_width", &element.bank_width, &bytes)));
        let parts = element.partitions.as_ref().filter(|f| f.number().is_none_or(|n| n < 2.0));
        facts.extend(named("partitions: ", "", label("partitions", &parts.cloned(), &number)));
    }
    if name == ElementName::Host {
        // Its name goes on with what it loads from, which the box says.
        let instruction = LoadPath::Host.instruction().split(' ').next().unwrap_or_default();
        facts.push(Label::plain(format!("by {instruction}")));
    }
    let latency = if passed.is_some() && kind != Kind::Path { Vec::new() } else { latency(name, element) };
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
    let Some(latency) = &element.latency else { return Vec::new() };
    let cycles = shown(name, "latency.cycles", &latency.cycles, &tenths);
    let ns = shown(name, "latency.ns", &latency.ns, &tenths);
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
        _ => "",
    }
}

/// Parts of the L2 as an SM sees them: its own, and the others.
fn partitions(l2: &Element) -> Vec<Memory> {
    let Some(count) = l2.partitions.as_ref().and_then(Finding::number).filter(|n| *n >= 2.0) else {
        return Vec::new();
    };
    let name = ElementName::L2;
    let whole = |f: &Finding| format!("{:.0}", f.number().unwrap_or(0.0));
    let part = |title: String, word, attribute, finding: &Option<Finding>| {
        let took = finding.as_ref().map(|f| shown(name, attribute, f, &whole));
        let took = took.map(|label| Label { text: format!("{word}, atomics {} cycles", label.text), ..label });
        Memory {
            of: vec![attribute],
            kind: Kind::L2,
            name: title,
            size: None,
            facts: took.into_iter().collect(),
            lanes: Vec::new(),
        }
    };
    let others = if count == 2.0 { "The other partition".into() } else { format!("{} other partitions", count - 1.0) };
    vec![
        part("The SM’s partition".into(), "near", "near_latency", &l2.near_latency),
        part(others, "far", "far_latency", &l2.far_latency),
    ]
}

/// A finding as the table has it, with all that is known of it.
fn shown(name: ElementName, attribute: &str, finding: &Finding, show: &dyn Fn(&Finding) -> String) -> Label {
    Label { text: words::cell(finding, show), hint: hint(name, attribute, finding) }
}

/// All that is known of a finding, or why nothing is.
fn hint(name: ElementName, attribute: &str, finding: &Finding) -> String {
    if finding.is_known() {
        format!("{name} {attribute}: {}", Detail::of(finding))
    } else {
        format!("{name} {attribute}: unknown: {}", words::reason(finding))
    }
}
