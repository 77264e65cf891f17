//! A discovery as XML of hwloc, which `lstopo -i FILE` draws.
//!
//! The GPU is a machine of one package. Each SM is a core. Its processing units are SMs as well, or where an SM has several
//! first-level caches, the parts of an SM that use one of them each; its memory is a NUMA node beside the L2. hwloc knows no texture path, constant
//! cache or shared memory: these, and all latencies, bandwidths, intervals and sources, are attributes (`info`) of what they belong
//! to. What the device's memory gives is hwloc's own `Bandwidth` and `Latency` besides.

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use strata_model::attribute::{Attribute, SM_MAP, Topic};
use strata_model::topology::{Element, ElementName, Topology};
use strata_model::units::MIB;

use super::said::said;

/// Version of the XML format.
const VERSION: &str = "2.0";
/// hwloc's number for caches of data and instructions, and for those of data.
const UNIFIED: &str = "0";
const DATA: &str = "1";
/// hwloc's number for groups that a user made, and one for all that are partitions: groups of one number are one level.
const GROUP: &str = "1001";
const PARTITION: &str = "0";
/// Most processing units that are drawn: a recording may claim any number.
const MOST_UNITS: usize = 1 << 14;
/// Attributes of an element that a page of boxes can say, besides all rates.
const SAID: [Attribute; 20] = [
    Attribute::Size,
    Attribute::NominalSize,
    Attribute::LineSize,
    Attribute::FetchGranularity,
    Attribute::LatencyCycles,
    Attribute::LatencyNs,
    Attribute::MissPenalty,
    Attribute::SharedWith,
    Attribute::InstancesPerSm,
    Attribute::Sets,
    Attribute::Ways,
    Attribute::Replacement,
    Attribute::Reach,
    Attribute::Entries,
    Attribute::PageSize,
    Attribute::Partitions,
    Attribute::NearLatency,
    Attribute::FarLatency,
    Attribute::Banks,
    Attribute::BankWidth,
];
/// What hwloc asks of its attributes of memory: whether more or less is better, and whether they depend on who accesses.
const HIGHER_FIRST: u32 = 1;
const LOWER_FIRST: u32 = 2;
const NEEDS_INITIATOR: u32 = 4;

/// The XML.
///
/// # Errors
///
/// If it cannot be written, which writing into memory cannot fail to be.
pub fn hwloc(topology: &Topology) -> std::io::Result<String> {
    let mut page = Page { writer: Writer::new_with_indent(Vec::new(), b' ', 2), next_index: 1, topology, node: None };
    page.document()?;
    let mut text = String::from_utf8_lossy(&page.writer.into_inner()).into_owned();
    text.push('\n');
    Ok(text)
}

/// A set of processing units, as hwloc writes it: words of 32 bits, the highest first.
#[derive(Clone, Debug, Default, PartialEq)]
struct Set(Vec<u32>);

impl Set {
    fn of(units: impl IntoIterator<Item = usize>) -> Self {
        let mut words = Vec::new();
        for unit in units {
            if words.len() <= unit / 32 {
                words.resize(unit / 32 + 1, 0);
            }
            words[unit / 32] |= 1 << (unit % 32);
        }
        Set(words)
    }

    fn text(&self) -> String {
        if self.0.is_empty() {
            return "0x0".into();
        }
        let words: Vec<String> = self.0.iter().rev().map(|word| format!("0x{word:08x}")).collect();
        words.join(",")
    }
}

/// SMs of one part of the L2.
struct Partition {
    /// Its number, if the L2 has several.
    number: Option<u32>,
    sms: Vec<usize>,
}

struct Page<'t> {
    writer: Writer<Vec<u8>>,
    next_index: u64,
    topology: &'t Topology,
    /// Number of the NUMA node, and the units that access it.
    node: Option<(u64, Set)>,
}

impl<'t> Page<'t> {
    fn element(&self, name: ElementName) -> Option<&'t Element> {
        self.topology.elements.get(&name)
    }

    fn number(&self, name: ElementName, attribute: Attribute) -> Option<u64> {
        let found = self.element(name)?.number(attribute)?;
        (found >= 0.0).then_some(found as u64)
    }

    fn document(&mut self) -> std::io::Result<()> {
        self.writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        self.writer.write_event(Event::DocType(BytesText::from_escaped("topology SYSTEM \"hwloc2.dtd\"")))?;
        self.writer.write_event(Event::Start(BytesStart::new("topology").with_attributes([("version", VERSION)])))?;
        self.machine()?;
        self.memory_attributes()?;
        self.writer.write_event(Event::End(BytesEnd::new("topology")))
    }

    fn machine(&mut self) -> std::io::Result<()> {
        let sms = self.topology.device.multiprocessors.max(1) as usize;
        // Units of one SM: one for each of its first-level caches.
        let (cache, instances) = self.first_level().map_or((None, 1), |name| {
            (Some(name), self.number(name, Attribute::InstancesPerSm).unwrap_or(1).clamp(1, 16) as usize)
        });
        let sms = sms.min(MOST_UNITS / instances);
        let all = Set::of(0..sms * instances);
        let nodes = [("nodeset", "0x00000001".to_owned()), ("complete_nodeset", "0x00000001".to_owned())];
        self.open(
            "Machine",
            &all,
            &[("os_index", "0".into()), ("allowed_cpuset", all.text()), ("allowed_nodeset", nodes[0].1.clone())],
        )?;
        self.info("Backend", "strata")?;
        self.info("StrataVersion", env!("CARGO_PKG_VERSION"))?;
        let started = &self.topology.run.started;
        if !started.is_empty() {
            self.info("Measured", started)?;
        }
        if self.topology.run.simulated {
            self.info("Simulated", "no hardware was measured")?;
        }
        if let Some(recording) = &self.topology.replayed_from {
            self.info("ReplayedFrom", recording)?;
        }
        self.open("Package", &all, &[("os_index", "0".into()), ("subtype", "GPU".into())])?;
        let facts = &self.topology.device;
        self.info("GPUVendor", "NVIDIA Corporation")?;
        self.info("GPUModel", &facts.name)?;
        let (major, minor) = facts.compute_capability;
        self.info("CUDAComputeCapability", &format!("{major}.{minor}"))?;
        for name in [ElementName::Host, ElementName::TlbL1, ElementName::TlbL2, ElementName::TlbL3] {
            self.infos(name)?;
        }
        self.memory(&all)?;
        self.l2(&all, sms, cache, instances)?;
        self.close()?;
        self.close()
    }

    fn memory(&mut self, all: &Set) -> std::io::Result<()> {
        let bytes = self.topology.device.total_memory.to_string();
        self.node = Some((self.next_index, all.clone()));
        self.open(
            "NUMANode",
            all,
            &[("os_index", "0".into()), ("subtype", "GPUMemory".into()), ("local_memory", bytes)],
        )?;
        self.infos(ElementName::Dram)?;
        self.close()
    }

    /// What hwloc's attributes of memory say: bandwidths of all units together, and the latency of one load without load.
    fn memory_attributes(&mut self) -> std::io::Result<()> {
        let Some((node, units)) = self.node.clone() else { return Ok(()) };
        let number = |attribute: Attribute| self.element(ElementName::Dram)?.number(attribute);
        // hwloc has MiB a second.
        let rate = |attribute: Attribute| number(attribute).map(|rate| rate / MIB as f64);
        let (higher, lower) = (HIGHER_FIRST | NEEDS_INITIATOR, LOWER_FIRST | NEEDS_INITIATOR);
        let all = [
            ("Bandwidth", higher, rate(Attribute::ReadBandwidth)),
            ("ReadBandwidth", higher, rate(Attribute::ReadBandwidth)),
            ("WriteBandwidth", higher, rate(Attribute::WriteBandwidth)),
            ("Latency", lower, number(Attribute::LatencyNs)),
            ("ReadLatency", lower, number(Attribute::LatencyNs)),
        ];
        for (name, flags, value) in all {
            let Some(value) = value else { continue };
            let outer = BytesStart::new("memattr").with_attributes([("name", name), ("flags", &flags.to_string())]);
            self.writer.write_event(Event::Start(outer))?;
            let inner = BytesStart::new("memattr_value").with_attributes([
                ("target_obj_gp_index", node.to_string().as_str()),
                ("target_obj_type", "NUMANode"),
                ("value", &format!("{value:.0}")),
                ("initiator_cpuset", &units.text()),
            ]);
            self.writer.write_event(Event::Empty(inner))?;
            self.writer.write_event(Event::End(BytesEnd::new("memattr")))?;
        }
        Ok(())
    }

    fn l2(&mut self, all: &Set, sms: usize, cache: Option<ElementName>, instances: usize) -> std::io::Result<()> {
        let size = self.number(ElementName::L2, Attribute::Size).unwrap_or(self.topology.device.l2_size);
        let attributes = self.cache(ElementName::L2, size, 2, UNIFIED);
        let partitions = self.partitions(sms);
        // What one SM can use is a partition's if that much fits in each of them.
        let each = size * partitions.len() as u64 <= self.topology.device.l2_size;
        if !each {
            self.open("L2Cache", all, &attributes)?;
            self.infos(ElementName::L2)?;
        }
        for Partition { number, sms } in partitions {
            let units = Set::of(sms.iter().flat_map(|sm| sm * instances..(sm + 1) * instances));
            let subtype = ("subtype", "L2 partition".to_owned());
            let partition = number.map(|_| subtype);
            if each {
                let attributes: Vec<_> = attributes.iter().cloned().chain(partition.clone()).collect();
                self.open("L2Cache", &units, &attributes)?;
                self.infos(ElementName::L2)?;
            } else if let Some(subtype) = partition.clone() {
                self.open("Group", &units, &[subtype, ("kind", GROUP.into()), ("subkind", PARTITION.into())])?;
            }
            for sm in sms {
                self.sm(sm, cache, instances)?;
            }
            if each || partition.is_some() {
                self.close()?;
            }
        }
        if each { Ok(()) } else { self.close() }
    }

    /// An SM is a core: with one first-level cache inside of that, otherwise above its parts.
    fn sm(&mut self, sm: usize, cache: Option<ElementName>, instances: usize) -> std::io::Result<()> {
        let units = sm * instances..(sm + 1) * instances;
        let core = [("os_index", sm.to_string()), ("subtype", "SM".into())];
        let several = instances > 1;
        if several {
            self.open("Core", &Set::of(units.clone()), &core)?;
            self.memories_of_sm()?;
        }
        for unit in units {
            let set = Set::of([unit]);
            if let Some(name) = cache {
                let size = self.number(name, Attribute::Size).unwrap_or(0);
                let mut attributes = self.cache(name, size, 1, DATA);
                attributes.push(("subtype", name.title().into()));
                self.open("L1Cache", &set, &attributes)?;
                self.infos(name)?;
            }
            if !several {
                self.open("Core", &set, &core)?;
                self.memories_of_sm()?;
            }
            self.open("PU", &set, &[("os_index", unit.to_string())])?;
            for _ in 0..1 + usize::from(!several) + usize::from(cache.is_some()) {
                self.close()?;
            }
        }
        if several { self.close() } else { Ok(()) }
    }

    /// What an SM has besides the cache that is drawn.
    fn memories_of_sm(&mut self) -> std::io::Result<()> {
        let drawn = self.first_level();
        let all = [
            ElementName::L1,
            ElementName::Texture,
            ElementName::ReadOnly,
            ElementName::ConstantL1,
            ElementName::ConstantL15,
            ElementName::Shared,
            ElementName::Local,
        ];
        for name in all.into_iter().filter(|name| Some(*name) != drawn) {
            self.infos(name)?;
        }
        Ok(())
    }

    /// The first-level cache that is drawn: the first of which the size is known, since hwloc has no word for an unknown one.
    fn first_level(&self) -> Option<ElementName> {
        let of_data = [ElementName::L1, ElementName::ReadOnly, ElementName::Texture];
        of_data.into_iter().find(|name| self.number(*name, Attribute::Size).is_some())
    }

    /// SMs by partition of the L2, as far as that is known of all of them.
    fn partitions(&self, sms: usize) -> Vec<Partition> {
        let whole = || vec![Partition { number: None, sms: (0..sms).collect() }];
        let map = self.element(ElementName::L2).and_then(|l2| l2.get(SM_MAP));
        let numbers: Option<Vec<u32>> = map.and_then(|all| all.0.iter().map(|sm| sm.partition).collect());
        let Some(numbers) = numbers.filter(|numbers| numbers.len() == sms) else { return whole() };
        let mut parts = numbers.clone();
        parts.sort_unstable();
        parts.dedup();
        if parts.len() < 2 {
            return whole();
        }
        let of = |part: u32| (0..sms).filter(|sm| numbers[*sm] == part).collect();
        parts.into_iter().map(|part| Partition { number: Some(part), sms: of(part) }).collect()
    }

    fn cache(&self, name: ElementName, size: u64, depth: u32, kind: &str) -> Vec<(&'static str, String)> {
        // 0 is hwloc's word for ways that are not known.
        let ways = self.number(name, Attribute::Ways).unwrap_or(0);
        vec![
            ("cache_size", size.to_string()),
            ("depth", depth.to_string()),
            ("cache_linesize", self.number(name, Attribute::LineSize).unwrap_or(0).to_string()),
            ("cache_associativity", ways.to_string()),
            ("cache_type", kind.into()),
        ]
    }

    /// Opens an object; all objects are near the one NUMA node.
    fn open(&mut self, kind: &str, units: &Set, attributes: &[(&str, String)]) -> std::io::Result<()> {
        let (cpuset, index) = (units.text(), self.next_index);
        self.next_index += 1;
        let mut start = BytesStart::new("object");
        start.push_attribute(("type", kind));
        for key in ["cpuset", "complete_cpuset"] {
            start.push_attribute((key, cpuset.as_str()));
        }
        for key in ["nodeset", "complete_nodeset"] {
            start.push_attribute((key, "0x00000001"));
        }
        for (key, value) in attributes {
            start.push_attribute((*key, value.as_str()));
        }
        start.push_attribute(("gp_index", index.to_string().as_str()));
        self.writer.write_event(Event::Start(start))
    }

    fn close(&mut self) -> std::io::Result<()> {
        self.writer.write_event(Event::End(BytesEnd::new("object")))
    }

    fn info(&mut self, name: &str, value: &str) -> std::io::Result<()> {
        let mut info = BytesStart::new("info");
        info.push_attribute(("name", printable(name).as_str()));
        info.push_attribute(("value", printable(value).as_str()));
        self.writer.write_event(Event::Empty(info))
    }

    /// The findings of an element, each with its interval and source.
    fn infos(&mut self, name: ElementName) -> std::io::Result<()> {
        let Some(element) = self.element(name) else { return Ok(()) };
        for (attribute, finding) in element.reported() {
            if let Some(value) = finding.value.as_ref().filter(|_| is_said(attribute)) {
                self.info(&format!("{name}.{attribute}"), &said(value, finding))?;
            }
        }
        Ok(())
    }
}

/// Whether a box can say the attribute.
fn is_said(attribute: Attribute) -> bool {
    SAID.contains(&attribute) || matches!(attribute.topic(), Topic::Bandwidth | Topic::Atomics)
}

/// XML has no way to write most control characters.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_words_with_the_highest_first() {
        assert_eq!(Set::of([]).text(), "0x0");
        assert_eq!(Set::of([0]).text(), "0x00000001");
        assert_eq!(Set::of(0..40).text(), "0x000000ff,0xffffffff");
        assert_eq!(Set::of([33]).text(), "0x00000002,0x00000000");
    }

    #[test]
    fn what_xml_cannot_say_is_left_out() {
        assert_eq!(printable("a\u{1}\n<\"b"), "a  <\"b");
    }
}
