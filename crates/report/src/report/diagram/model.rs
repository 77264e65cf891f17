//! The content of the diagram: boxes with their values, and the loads that lead to them.

use super::facts::{cache, memory, partitions};
use crate::report::svg::Label;
use crate::report::words::Detail;
use strata_model::attribute::{Configuration, LEAST_CONFIGURATION, SHARED_WITH, SIZE};
use strata_model::topology::{Element, ElementName, Topology};

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
        // The die is no memory, the memory of other blocks is drawn where it is, as shared memory, and no data goes through instruction caches, and what another GPU has is not of this one.
        let is_drawn = |name: &ElementName| {
            use ElementName::{
                AsyncCopy, Die, DistributedShared, InstructionL0, InstructionL1, InstructionL15, PeerDram, PeerL2,
            };
            let apart = matches!(
                name,
                Die | DistributedShared
                    | AsyncCopy
                    | InstructionL0
                    | InstructionL1
                    | InstructionL15
                    | PeerL2
                    | PeerDram
            );
            !apart
        };
        if !topology.elements.keys().any(is_drawn) {
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
        groups.extend(alone(ElementName::ScalarL1, Kind::Constant).map(Group::Single));
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
        let least = l1.finding(LEAST_CONFIGURATION)?;
        let (most, left) = (l1.get(SIZE)?, least.get::<Configuration>()?.size);
        (left < *most).then(|| Label {
            text: format!("one memory: the L1 shrinks to {left}"),
            // The value has its structure and its curve, too, which are not for here.
            hint: Detail::without_value(least, &format!("l1 {}: {left}", LEAST_CONFIGURATION.key())).to_string(),
        })
    }
}

/// Whether two paths go through one cache, as either says.
fn share(a: (ElementName, &Element), b: (ElementName, &Element)) -> bool {
    let names = |element: &Element, other: ElementName| {
        element.get(SHARED_WITH).is_some_and(|elements| elements.contains(other))
    };
    names(a.1, b.0) || names(b.1, a.0)
}
