//! What a discovery is asked for: elements, and attributes of elements.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::ElementName;
use crate::attribute::{Attribute, Topic};
use crate::names::advice;

/// An element (`l1`), or an attribute of one (`l1.size`; `l1.latency` for cycles and nanoseconds, `l1.latency.ns` for one of them).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    element: ElementName,
    /// The name of an attribute; one that was read may be of a later version.
    attribute: Option<String>,
}

impl Wanted {
    /// An attribute of an element.
    pub fn attribute(element: ElementName, attribute: impl Into<Attribute>) -> Self {
        Wanted { element, attribute: Some(attribute.into().key().to_owned()) }
    }

    /// All that a GPU can be asked for: each element, and each attribute by its field in JSON.
    pub fn all() -> impl Iterator<Item = Wanted> {
        of_gpus().flat_map(|element| {
            let attribute = move |field: &str| Wanted { element, attribute: Some(field.to_owned()) };
            std::iter::once(element.into()).chain(fields(element).into_iter().map(attribute))
        })
    }

    /// As [`str::parse`], of what a GPU can be asked for: imported timings have other elements, too.
    ///
    /// # Errors
    ///
    /// What does not exist, with what does.
    pub fn of_a_gpu(text: &str) -> Result<Self, String> {
        let element = text.split_once('.').map_or(text, |(element, _)| element);
        match of_gpus().any(|known| known.key() == element) {
            true => text.parse(),
            false => Err(format!("no element `{element}`; {}", advice(element, of_gpus().map(ElementName::key)))),
        }
    }

    /// The element.
    pub const fn element(&self) -> ElementName {
        self.element
    }

    /// Whether it is all of the element.
    pub const fn is_whole(&self) -> bool {
        self.attribute.is_none()
    }

    /// Whether it is this attribute, or the element of it.
    pub fn has(&self, element: ElementName, attribute: Attribute) -> bool {
        self.element == element && self.attribute.as_ref().is_none_or(|name| attribute.is_called(name))
    }

    /// Whether it is this attribute and not the whole element.
    pub fn names(&self, element: ElementName, attribute: Attribute) -> bool {
        !self.is_whole() && self.has(element, attribute)
    }

    /// Whether it names what is measured with the bandwidth of the memories.
    pub fn is_bandwidth(&self) -> bool {
        let is_rate = |attribute: Attribute| matches!(attribute.topic(), Topic::Bandwidth | Topic::Atomics);
        self.element.attributes().any(|attribute| is_rate(attribute) && self.names(self.element, attribute))
    }
}

/// The elements that a GPU can be asked for.
fn of_gpus() -> impl Iterator<Item = ElementName> {
    ElementName::ALL.into_iter().filter(|element| element.is_asked())
}

/// The names of an element's attributes: the fields of its JSON.
fn fields(element: ElementName) -> Vec<&'static str> {
    let mut fields: Vec<&str> = element.attributes().map(|attribute| attribute.path().0).collect();
    // The fields of one object stand together.
    fields.dedup();
    fields
}

impl From<ElementName> for Wanted {
    fn from(element: ElementName) -> Self {
        Wanted { element, attribute: None }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.element.key())?;
        self.attribute.iter().try_for_each(|attribute| write!(f, ".{attribute}"))
    }
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((element, name)) = text.split_once('.') else { return text.parse().map(ElementName::into) };
        let element: ElementName = element.parse()?;
        if element.attributes().any(|attribute| attribute.is_called(name)) {
            return Ok(Wanted { element, attribute: Some(name.to_owned()) });
        }
        let has = |other: &ElementName| other.attributes().any(|attribute| attribute.is_called(name));
        let others: Vec<&str> = of_gpus().filter(has).map(ElementName::key).collect();
        let advice = match others.is_empty() {
            true => advice(name, fields(element)),
            false => format!("it is an attribute of {}", others.join(", ")),
        };
        Err(format!("no attribute `{name}` of {element}; {advice}"))
    }
}

/// A recording keeps the element, as it did before attributes could be asked for; it has the attribute in a part of its own.
impl Serialize for Wanted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { self.element.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for Wanted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return ElementName::deserialize(deserializer).map(Wanted::from);
        }
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        let (element, attribute) = text.split_once('.').map_or((&*text, None), |(element, name)| (element, Some(name)));
        let element = element.parse().map_err(de::Error::custom)?;
        // Newer versions may have more attributes.
        Ok(Wanted { element, attribute: attribute.map(str::to_owned) })
    }
}

impl JsonSchema for Wanted {
    fn schema_name() -> Cow<'static, str> {
        "Wanted".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let element = generator.subschema_for::<ElementName>();
        let elements = ElementName::ALL.map(ElementName::key).join("|");
        json_schema!({
            "description": "An element (`l1`), or an attribute of one (`l1.size`).",
            "anyOf": [element, { "type": "string", "pattern": format!(r"^({elements})(\.[a-z0-9_]+){{1,2}}$") }],
        })
    }
}

/// Steps by which more came to be measured. The first: the bandwidth of textures and constants, and the loads that are outstanding. The
/// second: how an address chooses the partition of the L2, and the latency of near and far memory. The third: the GPCs. The
/// fourth: the fingerprint of the die, and distributed shared memory. The fifth: bandwidth and latency under load by partition,
/// the outstanding loads of a warp, and why the uniform path of
/// constants has no bandwidth. The sixth: bandwidth and atomics of distributed shared memory, and
/// asynchronous copies. The seventh: the bandwidth of those. The eighth: instruction caches. The ninth: which
/// SMs share a TLB, which instance each SM uses, and reads at random. The tenth: what stores and cache hints leave in a cache. The eleventh:
/// whether the L2 is write-back. The twelfth: multicast copies, and
/// whether the L1 is write-back. The thirteenth: the slices of the L2, and atomics over a link.
pub const STEPS: u8 = 13;

/// The step that brought an attribute of an element; 0 for what was there before.
fn step_of(element: ElementName, attribute: Attribute) -> u8 {
    let of_first = [ElementName::Texture, ElementName::ConstantL1, ElementName::ConstantL15];
    match attribute {
        Attribute::NearReadBandwidth
        | Attribute::FarReadBandwidth
        | Attribute::NearWriteBandwidth
        | Attribute::FarWriteBandwidth
        | Attribute::NearLoadedLatency
        | Attribute::FarLoadedLatency
        | Attribute::OutstandingLoadsOfAWarp => 5,
        _ if element == ElementName::ConstantUniform && attribute.topic() == Topic::Bandwidth => 5,
        Attribute::WritePolicy | Attribute::Hints | Attribute::FetchByHint => 10,
        Attribute::WriteBack if element == ElementName::L1 => 12,
        Attribute::WriteBack => 11,
        Attribute::Slices | Attribute::SliceHash => 13,
        Attribute::MulticastBandwidth | Attribute::MulticastBandwidthPerSm => 12,
        Attribute::AtomicLatency if element == ElementName::PeerL2 => 13,
        Attribute::AtomicLatency => 6,
        _ if element == ElementName::DistributedShared && attribute.topic() == Topic::Bandwidth => 6,
        Attribute::Fingerprint => 4,
        Attribute::InstanceOfSms | Attribute::RandomReadBandwidth | Attribute::WindowedReadBandwidth => 9,
        Attribute::SmsOfAnInstance
            if matches!(element, ElementName::TlbL1 | ElementName::TlbL2 | ElementName::TlbL3) =>
        {
            9
        }
        _ if matches!(
            element,
            ElementName::InstructionL0 | ElementName::InstructionL1 | ElementName::InstructionL15
        ) =>
        {
            8
        }
        _ if element == ElementName::AsyncCopy && attribute.topic() == Topic::Bandwidth => 7,
        _ if element == ElementName::AsyncCopy => 6,
        _ if element == ElementName::DistributedShared => 4,
        Attribute::Gpcs | Attribute::Map => 3,
        Attribute::PartitionHash => 2,
        Attribute::NearLatency | Attribute::FarLatency if element == ElementName::Dram => 2,
        Attribute::OutstandingLoads => 1,
        _ if attribute.topic() == Topic::Bandwidth && of_first.contains(&element) => 1,
        _ => 0,
    }
}

/// What a discovery is asked for, besides how much it measures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Elements and attributes; all when empty.
    pub only: Vec<Wanted>,
    /// Whether the bandwidth of whole elements is asked for, too. An attribute that [`Selection::only`] names is asked for anyway.
    pub bandwidth: bool,
    /// Whether atomics a second are, too: where bandwidth is, but in a recording that was made before they were measured.
    #[serde(default)]
    pub atomics: bool,
    /// How many of the [`STEPS`] there were when it was written down: a replay does not ask for what came later. By default none, as in
    /// the oldest recordings; [`Selection::of`] asks for all.
    #[serde(default)]
    pub step: u8,
}

impl Selection {
    /// These elements and attributes of all that this version measures, each once, and no bandwidth but what they name.
    pub fn of(only: impl IntoIterator<Item = Wanted>) -> Self {
        let mut selection = Selection { step: STEPS, ..Selection::default() };
        for wanted in only {
            if !selection.only.contains(&wanted) {
                selection.only.push(wanted);
            }
        }
        selection
    }

    /// Whether anything of an element is asked for.
    pub fn has(&self, element: ElementName) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted.element() == element)
    }

    /// Whether an attribute of an element is asked for.
    pub fn asks(&self, element: ElementName, attribute: Attribute) -> bool {
        let is_whole = self.only.is_empty() || self.only.contains(&element.into());
        let is_asked = match attribute.topic() {
            Topic::Bandwidth => self.bandwidth,
            Topic::Atomics => self.atomics,
            _ => true,
        };
        let is_known = step_of(element, attribute) <= self.step;
        is_whole && is_asked && is_known || self.only.iter().any(|wanted| wanted.names(element, attribute))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(text: &str) -> Wanted {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// What is asked for, of two elements.
    fn asked(only: &[&str], bandwidth: bool) -> String {
        let twice = only.iter().chain(only).copied().map(wanted);
        let selection = Selection { bandwidth, atomics: bandwidth, ..Selection::of(twice) };
        assert_eq!(selection.only.len(), only.len());
        let mut asked = Vec::new();
        for element in [ElementName::Local, ElementName::Host] {
            let of_element = element.attributes().filter(|attribute| selection.asks(element, *attribute));
            let of_element: Vec<String> = of_element.map(|attribute| format!("{element}.{attribute}")).collect();
            assert_eq!(selection.has(element), !of_element.is_empty());
            asked.extend(of_element);
        }
        asked.join(" ")
    }

    #[test]
    fn an_element_is_all_of_it_and_an_attribute_is_alone() {
        let local = "local.cached local.latency.cycles local.latency.ns";
        assert_eq!(asked(&[], false), format!("{local} host.latency.cycles host.latency.ns"));
        assert_eq!(asked(&["local"], false), local);
        assert_eq!(asked(&["local.cached"], false), "local.cached");
        assert_eq!(
            asked(&["host.latency", "local.latency.ns"], false),
            "local.latency.ns host.latency.cycles host.latency.ns"
        );
        assert_eq!(asked(&["local.cached", "local"], false), local);
        assert_eq!(asked(&["l1"], true), "");
    }

    #[test]
    fn what_came_later_is_asked_for_by_name_only() {
        let of = |only: &[&str]| Selection { bandwidth: true, ..Selection::of(only.iter().copied().map(wanted)) };
        let older = |only: &[&str]| Selection { step: 0, ..of(only) };
        let asks = |selection: &Selection, element| selection.asks(element, Attribute::ReadBandwidth);
        assert!(asks(&older(&[]), ElementName::L1) && !asks(&older(&[]), ElementName::Texture));
        assert!(asks(&older(&["texture.read_bandwidth"]), ElementName::Texture));
        assert!(asks(&of(&[]), ElementName::ConstantL15));
        let sides = |selection: &Selection, element| selection.asks(element, Attribute::FarLatency);
        assert!(sides(&older(&[]), ElementName::L2) && !sides(&older(&[]), ElementName::Dram));
        assert!(sides(&of(&[]), ElementName::Dram));
    }

    #[test]
    fn bandwidth_is_asked_for_by_name_or_for_all() {
        let reads = "host.read_bandwidth.bytes_per_s host.read_bandwidth.bytes_per_clk_per_sm";
        assert_eq!(asked(&["host.read_bandwidth"], false), reads);
        assert_eq!(
            asked(&["host", "host.read_bandwidth"], false),
            format!("host.latency.cycles host.latency.ns {reads}")
        );
        assert!(
            asked(&["host"], true).contains("write_bandwidth") && !asked(&["host.latency"], true).contains("width")
        );
        assert!(wanted("host.read_bandwidth.bytes_per_s").is_bandwidth() && wanted("l2.loaded_latency").is_bandwidth());
        assert!(!wanted("host").is_bandwidth() && !wanted("host.latency").is_bandwidth());
    }

    #[test]
    fn a_name_that_does_not_exist_is_refused_with_what_does() {
        for (text, words) in [
            ("l11", "no element `l11`; did you mean `l1`?"),
            ("l11.size", "no element `l11`; did you mean `l1`?"),
            ("l1.siz", "no attribute `siz` of l1; did you mean `size`?"),
            ("l1.latency.cycle", "no attribute `latency.cycle` of l1; did you mean `latency`?"),
            ("texture.sm_map", "no attribute `sm_map` of texture; it is an attribute of l2"),
            ("local.volume", "no attribute `volume` of local; there are cached, latency"),
            ("local.", "no attribute `` of local; there are cached, latency"),
        ] {
            assert_eq!(text.parse::<Wanted>().unwrap_err(), words);
        }
    }

    #[test]
    fn all_that_can_be_asked_for_is_read_as_it_is_written() {
        let all: Vec<Wanted> = Wanted::all().collect();
        assert!(all.contains(&ElementName::L1.into()) && all.contains(&wanted("l1.latency")));
        assert!(!all.contains(&ElementName::ScalarL1.into()));
        for one in all {
            assert_eq!(wanted(&one.to_string()), one);
            let json = serde_json::to_string(&one).unwrap();
            assert_eq!((json.as_str(), serde_json::from_str(&json).ok()), (&*format!("\"{one}\""), Some(one)));
        }
    }

    #[test]
    fn what_only_imported_timings_have_is_not_proposed() {
        assert_eq!(Wanted::of_a_gpu("l1.size"), Ok(Wanted::attribute(ElementName::L1, Attribute::Size)));
        assert!(wanted("scalar_l1.size").element() == ElementName::ScalarL1);
        for text in ["scalar_l1", "scalar_l1.size", "lds"] {
            let refused = Wanted::of_a_gpu(text).unwrap_err();
            assert!(refused.contains("there are l1, texture") && !refused.contains(", scalar_l1"), "{refused}");
        }
    }

    /// A result of a later version may name what this one does not know.
    #[test]
    fn a_result_may_name_attributes_of_later_versions() {
        let later: Wanted = serde_json::from_str(r#""l1.colour""#).unwrap();
        assert_eq!((later.element(), later.to_string().as_str()), (ElementName::L1, "l1.colour"));
        assert!(serde_json::from_str::<Wanted>(r#""colour.l1""#).is_err());
    }
}
