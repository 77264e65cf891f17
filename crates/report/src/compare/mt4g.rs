//! The summary that MT4G writes, as one side of a comparison.
//!
//! Keys that are missing are unknown, others than those below are passed over; a value of another type or unit is an error
//! with its line. Its `confidence` is 1 - p of a test for any change in the timings and no interval, so that its values
//! have none.

use serde::Deserialize;

use super::comparison::{Kind, Side, Stated};
use super::place::Place;
use super::statement::{Claim, Statement, content};
use strata_model::attribute::{
    Elements, FETCH_GRANULARITY, INSTANCES_PER_SM, Key, LATENCY_CYCLES, LINE_SIZE, MISS_PENALTY, NOMINAL_SIZE,
    PARTITIONS, READ_BANDWIDTH, SHARED_WITH, SIZE, Typed, WRITE_BANDWIDTH,
};
use strata_model::import;
use strata_model::topology::{ElementName, Finding};
use strata_model::units::{Bytes as InBytes, BytesPerSecond, Cycles, GIB};

/// A summary, as far as it is compared.
#[derive(Debug, Deserialize)]
pub struct Summary {
    /// The GPU.
    pub general: General,
    #[serde(default)]
    compute: Compute,
    memory: Memory,
    #[serde(default)]
    meta: Meta,
}

/// The GPU of a summary.
#[derive(Debug, Deserialize)]
pub struct General {
    /// Its name, as the runtime gives it.
    pub name: String,
    #[serde(rename = "computeCapability", default)]
    capability: Capability,
}

impl General {
    /// Major and minor.
    pub fn capability(&self) -> (u32, u32) {
        (self.capability.major, self.capability.minor)
    }
}

#[derive(Debug, Default, Deserialize)]
struct Capability {
    major: u32,
    minor: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Compute {
    multi_processor_count: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    timestamp: Option<String>,
    gpu_compiler: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Memory {
    l1: Option<Element>,
    texture: Option<Element>,
    read_only: Option<Element>,
    shared: Option<Element>,
    l2: Option<Element>,
    main: Option<Element>,
    #[serde(rename = "scalarL1")]
    scalar_l1: Option<Element>,
    constant: Option<Constant>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Constant {
    l1: Option<Element>,
    #[serde(rename = "l1.5")]
    l15: Option<Element>,
    total_const_mem: Option<Bytes>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Element {
    size: Option<Bytes>,
    segment_size: Option<Bytes>,
    line_size: Option<Bytes>,
    fetch_granularity: Option<Bytes>,
    latency: Option<Latency>,
    miss_penalty: Option<Penalty>,
    shared_with: Option<Vec<String>>,
    amount_per_multiprocessor: Option<u32>,
    amount: Option<u32>,
    total_global_mem: Option<Bytes>,
    shared_mem_per_multi_processor: Option<Bytes>,
    shared_mem_per_block: Option<Bytes>,
    read_bandwidth: Option<Rate>,
    write_bandwidth: Option<Rate>,
}

/// A bandwidth of all SMs together.
#[derive(Debug, Deserialize)]
struct Rate {
    value: f64,
    #[serde(rename = "unit")]
    _unit: RateUnit,
}

impl Rate {
    fn finding(&self) -> Finding<BytesPerSecond> {
        Finding::measured(BytesPerSecond(self.value * GIB as f64), "")
    }
}

#[derive(Debug, Deserialize)]
enum RateUnit {
    #[serde(rename = "GiB/s")]
    GibibytesPerSecond,
}

/// A size: `size` where it was measured, `value` where the runtime gave it.
#[derive(Debug, Deserialize)]
struct Bytes {
    #[serde(alias = "value")]
    size: u64,
    #[serde(rename = "unit")]
    _unit: ByteUnit,
}

#[derive(Debug, Deserialize)]
enum ByteUnit {
    #[serde(rename = "bytes")]
    Bytes,
}

#[derive(Debug, Deserialize)]
enum CycleUnit {
    #[serde(rename = "cycles")]
    Cycles,
}

#[derive(Debug, Deserialize)]
struct Latency {
    p50: Option<f64>,
    mean: Option<f64>,
    #[serde(rename = "unit")]
    _unit: CycleUnit,
}

#[derive(Debug, Deserialize)]
struct Penalty {
    value: f64,
    #[serde(rename = "unit")]
    _unit: CycleUnit,
}

/// MT4G's names in `sharedWith`, and ours.
const NAMES: [(&str, ElementName); 5] = [
    ("L1", ElementName::L1),
    ("Texture", ElementName::Texture),
    ("Read Only", ElementName::ReadOnly),
    ("Constant L1", ElementName::ConstantL1),
    ("Constant L1.5", ElementName::ConstantL15),
];

/// MT4G's names as a set of elements; a name that has none stays as it is.
fn sharers(theirs: &[String]) -> Elements {
    let mut all = Elements::default();
    for name in theirs {
        match NAMES.iter().find(|(theirs, _)| theirs == name) {
            Some((_, element)) => all.names.push(*element),
            None => all.others.push(name.clone()),
        }
    }
    all
}

/// Where the claims about one element go.
struct OfElement<'s> {
    statement: &'s mut Statement,
    name: ElementName,
}

impl OfElement<'_> {
    /// Adds what is said of an attribute, if anything is.
    fn add<T: Typed>(&mut self, key: Key<T>, finding: Option<Finding<T>>, statistic: Option<&str>) {
        let Some(finding) = finding.map(Finding::any) else { return };
        let Some(content) = content(&finding) else { return };
        let Finding { value, unit, low, high, .. } = finding;
        let statistic = statistic.map(str::to_owned);
        let stated = Box::new(Stated { value, unit, low, high, statistic, ..Stated::default() });
        self.statement.add(Place::of_element(self.name, key), Claim::Known { content, stated, context: false });
    }
}

impl Summary {
    /// What it says. `name` is shown for it.
    pub fn statement(&self, name: &str) -> Statement {
        let made: Vec<&str> =
            [self.meta.timestamp.as_deref(), self.meta.gpu_compiler.as_deref()].into_iter().flatten().collect();
        let side = Side {
            name: name.to_owned(),
            kind: Kind::Mt4g,
            device: self.general.name.clone(),
            uuid: None,
            simulated: false,
            driver: None,
            host: None,
            made: (!made.is_empty()).then(|| format!("MT4G, {}", made.join(", "))),
        };
        let mut statement = Statement::new(side, "not in MT4G's summary");
        let memory = &self.memory;
        let constant =
            |pick: fn(&Constant) -> &Option<Element>| memory.constant.as_ref().and_then(|c| pick(c).as_ref());
        let elements = [
            (ElementName::L1, memory.l1.as_ref()),
            (ElementName::Texture, memory.texture.as_ref()),
            (ElementName::ReadOnly, memory.read_only.as_ref()),
            (ElementName::ConstantL1, constant(|c| &c.l1)),
            (ElementName::ConstantL15, constant(|c| &c.l15)),
            (ElementName::ScalarL1, memory.scalar_l1.as_ref()),
            (ElementName::Shared, memory.shared.as_ref()),
            (ElementName::L2, memory.l2.as_ref()),
            (ElementName::Dram, memory.main.as_ref()),
        ];
        for (name, element) in elements {
            if let Some(element) = element {
                self.element(&mut OfElement { statement: &mut statement, name }, element);
            }
        }
        statement
    }

    /// Shared memory of one multiprocessor, if it is no sum of all.
    fn shared(&self, element: &Element) -> Option<Finding<InBytes>> {
        let stated = element.shared_mem_per_multi_processor.as_ref()?.size;
        let of_block = element.shared_mem_per_block.as_ref().map_or(0, |block| block.size);
        (!import::is_sum(stated, of_block, self.compute.multi_processor_count))
            .then(|| Finding::measured(InBytes(stated), ""))
    }

    fn element(&self, to: &mut OfElement<'_>, element: &Element) {
        let bytes = |bytes: &Option<Bytes>| bytes.as_ref().map(|b| Finding::measured(InBytes(b.size), ""));
        // The L2's own size is the driver's; what one SM can use is a segment.
        let (size, nominal) = if to.name == ElementName::L2 {
            (bytes(&element.segment_size), bytes(&element.size))
        } else {
            (self.size(to.name, element), None)
        };
        let driver = bytes(&element.total_global_mem).or_else(|| self.shared(element));
        to.add(SIZE, size.or(driver), None);
        to.add(NOMINAL_SIZE, nominal, None);
        to.add(LINE_SIZE, bytes(&element.line_size), None);
        to.add(FETCH_GRANULARITY, bytes(&element.fetch_granularity), None);
        if let Some(latency) = &element.latency {
            for (statistic, cycles) in [("p50", latency.p50), ("mean", latency.mean)] {
                // MT4G has cycles of the SM's clock and no time.
                let finding = cycles.map(|cycles| Finding::measured(Cycles(cycles), ""));
                to.add(LATENCY_CYCLES, finding, Some(statistic));
            }
        }
        let penalty = element.miss_penalty.as_ref().map(|p| Finding::measured(Cycles(p.value), ""));
        to.add(MISS_PENALTY, penalty, None);
        to.add(READ_BANDWIDTH, element.read_bandwidth.as_ref().map(Rate::finding), None);
        to.add(WRITE_BANDWIDTH, element.write_bandwidth.as_ref().map(Rate::finding), None);
        to.add(SHARED_WITH, element.shared_with.as_ref().map(|names| Finding::measured(sharers(names), "")), None);
        let amount = |amount: Option<u32>| amount.map(|n| Finding::measured(u64::from(n), ""));
        to.add(INSTANCES_PER_SM, amount(element.amount_per_multiprocessor), None);
        to.add(PARTITIONS, amount(element.amount), None);
    }

    /// The measured size. One that is larger than all constant memory says that no change was found up to there.
    fn size(&self, key: ElementName, element: &Element) -> Option<Finding<InBytes>> {
        let size = element.size.as_ref()?.size;
        let declared = self.memory.constant.as_ref().and_then(|c| c.total_const_mem.as_ref()).map(|total| total.size);
        Some(match declared {
            Some(declared) if key == ElementName::ConstantL15 && size > declared => {
                Finding::unknown("").at_least(declared as f64).unit("B")
            }
            _ => Finding::measured(InBytes(size), ""),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::content::{Content, Range};
    use super::super::input::{Document, parse};
    use super::*;

    fn statement(memory: &str) -> Result<Statement, String> {
        let text = format!("{{\"general\": {{\"name\": \"x\"}},\n\"memory\": {memory}}}");
        match parse("s.json", text.as_bytes()) {
            Ok(document @ Document::Mt4g(_)) => Ok(document.statement("s.json")),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    fn stated<T>(statement: &Statement, element: ElementName, key: Key<T>) -> Vec<Stated> {
        statement.known(&Place::of_element(element, key)).into_iter().map(|(_, stated, _)| stated.clone()).collect()
    }

    #[test]
    fn a_latency_is_two_statistics_and_a_size_is_one_number() {
        let statement = statement(
            r#"{"l1": {"size": {"size": 100, "unit": "bytes", "confidence": 0.9}, "sharedWith": ["Read Only"],
                "latency": {"p50": 30.0, "mean": 31.5, "unit": "cycles"}, "future": {"a": [1]}},
                "l2": {"size": {"value": 400, "unit": "bytes"}, "segmentSize": {"size": 200, "unit": "bytes"}, "amount": 2,
                       "readBandwidth": {"unit": "GiB/s", "value": 2000.0}}}"#,
        )
        .unwrap();
        let latency = stated(&statement, ElementName::L1, LATENCY_CYCLES);
        let numbers: Vec<_> = latency
            .iter()
            .map(|s| (s.statistic.as_deref().unwrap(), s.value.as_ref().unwrap().number().unwrap()))
            .collect();
        assert_eq!(numbers, [("p50", 30.0), ("mean", 31.5)]);
        assert_eq!(stated(&statement, ElementName::L1, SIZE)[0].low, None);
        let shared: Elements = [ElementName::ReadOnly].into_iter().collect();
        assert_eq!(stated(&statement, ElementName::L1, SHARED_WITH)[0].value, Some(shared.into()));
        assert_eq!(stated(&statement, ElementName::L2, SIZE)[0].value, Some(InBytes(200).into()));
        assert_eq!(stated(&statement, ElementName::L2, NOMINAL_SIZE)[0].value, Some(InBytes(400).into()));
        let rate = BytesPerSecond(2000.0 * (1u64 << 30) as f64);
        assert_eq!(stated(&statement, ElementName::L2, READ_BANDWIDTH)[0].value, Some(rate.into()));
        assert_eq!(stated(&statement, ElementName::L2, PARTITIONS)[0].value, Some(2_u64.into()));
        assert!(stated(&statement, ElementName::Texture, SIZE).is_empty());
    }

    #[test]
    fn a_constant_cache_without_an_end_is_a_bound() {
        let statement = statement(
            r#"{"constant": {"totalConstMem": {"value": 65536, "unit": "bytes"},
                "l1.5": {"size": {"size": 65537, "unit": "bytes"}}}}"#,
        )
        .unwrap();
        let size = &stated(&statement, ElementName::ConstantL15, SIZE)[0];
        assert_eq!((&size.value, size.low, size.high), (&None, Some(65536.0), None));
        let (content, ..) = statement.known(&Place::of_element(ElementName::ConstantL15, SIZE))[0];
        assert_eq!(*content, Content::Number(Range::new(None, Some(65536.0), None).unwrap()));
    }

    #[test]
    fn other_types_and_units_are_refused_with_their_line() {
        for memory in [
            r#"{"l1": {"size": {"size": "100", "unit": "bytes"}}}"#,
            r#"{"l1": {"size": {"size": -1, "unit": "bytes"}}}"#,
            r#"{"l1": {"size": {"size": 100, "unit": "KiB"}}}"#,
            r#"{"l1": {"latency": {"p50": 3.0, "unit": "ns"}}}"#,
            r#"{"l1": {"sharedWith": "L2"}}"#,
            r#"{"l2": {"readBandwidth": {"value": 1.0, "unit": "GB/s"}}}"#,
            r#"[]"#,
        ] {
            let error = statement(memory).unwrap_err();
            assert!(error.starts_with("`s.json`:2:"), "{error}");
        }
    }
}
