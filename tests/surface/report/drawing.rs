//! The drawing of a topology, read back as XML: what stands where.

use std::fmt::Write;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use strata_gpu::DeviceFacts;
use strata_model::attribute::{
    BANKS, CACHED, Configuration, Curve, ENTRIES, Elements, FETCH_GRANULARITY, INSTANCES_PER_SM, LEAST_CONFIGURATION,
    LINE_SIZE, MISS_PENALTY, NEAR_LATENCY, NOMINAL_SIZE, PAGE_SIZE, PARTITIONS, Policy, REACH, SHARED_WITH, SIZE,
};
use strata_model::topology::{Element, ElementName, Finding, SCHEMA, Topology};
use strata_model::units::{Bytes, Cycles};
use strata_report::report::{self, Pictures};

use super::machines;
use super::*;

/// Width of a character of these drawings as they reckon with it, in units.
const CHARACTER: f64 = 7.0;
const SMALL_CHARACTER: f64 = 6.4;

/// A shape: a box with what it is of, or a line of text; where it is, in units.
#[derive(Clone, Debug)]
pub struct Shape {
    pub what: String,
    hints: Vec<String>,
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Shape {
    fn holds(&self, other: &Shape) -> bool {
        self.left <= other.left && self.top <= other.top && self.right >= other.right && self.bottom >= other.bottom
    }

    fn meets(&self, other: &Shape) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }
}

/// What is seen of a drawing.
pub struct Seen {
    boxes: Vec<Shape>,
    pub texts: Vec<Shape>,
    page: Shape,
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> String {
    let found = tag.attributes().map(|a| a.expect("attributes are well formed")).find(|a| a.key.as_ref() == name);
    found.map_or(String::new(), |a| a.value.into_owned())
}

fn number(tag: &BytesStart<'_>, name: &str) -> f64 {
    attribute(tag, name).parse().unwrap_or_else(|_| panic!("{name} is a number"))
}

/// Reads an SVG document, every byte of it.
///
/// # Panics
///
/// If it is not well-formed XML.
pub fn read(svg: &str) -> Seen {
    let mut reader = Reader::from_str(svg);
    let (mut boxes, mut texts) = (Vec::new(), Vec::<Shape>::new());
    let mut page = None;
    let mut open: Vec<(String, String)> = Vec::new();
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error} at {}: {svg}", reader.error_position())) {
            Event::Start(tag) => {
                let name = tag.name().as_ref().to_owned();
                if name == "svg" && page.is_none() {
                    let all: Vec<f64> = attribute(&tag, "viewBox").split(' ').map(|n| n.parse().unwrap()).collect();
                    page = Some(Shape {
                        what: "page".into(),
                        hints: Vec::new(),
                        left: all[0],
                        top: all[1],
                        right: all[2],
                        bottom: all[3],
                    });
                }
                if name == "text" {
                    let (x, y) = (number(&tag, "x"), number(&tag, "y"));
                    // The text's width is known when it has been read; until then its class and anchor stand here.
                    let what = String::new();
                    let hints = Vec::new();
                    texts.push(Shape { what, hints, left: x, right: x, top: y - 9.0, bottom: y + 3.0 });
                }
                open.push((name, format!("{} {}", attribute(&tag, "class"), attribute(&tag, "text-anchor"))));
            }
            Event::Empty(tag) if tag.name().as_ref() == "rect" && !attribute(&tag, "data-of").is_empty() => {
                let (left, top) = (number(&tag, "x"), number(&tag, "y"));
                boxes.push(Shape {
                    what: attribute(&tag, "data-of"),
                    hints: Vec::new(),
                    left,
                    top,
                    right: left + number(&tag, "width"),
                    bottom: top + number(&tag, "height"),
                });
            }
            Event::Text(text) => note(&open, &mut texts, &text.into_inner()),
            Event::GeneralRef(name) => {
                let name = name.into_inner().into_owned();
                let known = [("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'")];
                let (_, text) = known.into_iter().find(|(key, _)| *key == name).unwrap_or_else(|| panic!("&{name};"));
                note(&open, &mut texts, text);
            }
            Event::End(_) => {
                let (name, how) = open.pop().expect("it was opened");
                if let ("text", Some(text)) = (name.as_str(), texts.last_mut()) {
                    let each = if how.contains("small") { SMALL_CHARACTER } else { CHARACTER };
                    let width = text.what.chars().count() as f64 * each;
                    let before = if how.contains("end") {
                        1.0
                    } else if how.contains("middle") {
                        0.5
                    } else {
                        0.0
                    };
                    text.left -= width * before;
                    text.right += width * (1.0 - before);
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    Seen { boxes, texts, page: page.expect("it is an SVG document") }
}

/// Adds text to the line that it stands in, or to its hint.
fn note(open: &[(String, String)], texts: &mut [Shape], text: &str) {
    let within = |name: &str| open.iter().any(|(tag, _)| tag == name);
    match texts.last_mut() {
        Some(line) if within("text") && within("title") => line.hints.push(text.into()),
        Some(line) if within("text") => line.what.push_str(text),
        _ => {}
    }
}

/// The drawing of a topology, as a file of its own.
pub fn drawn(topology: &Topology) -> Option<String> {
    let report = report::markdown(topology, Pictures::Beside("figures".as_ref()));
    report.pictures.into_iter().find(|picture| picture.name == "topology.svg").map(|picture| picture.svg)
}

/// What is in what, and what is written there: a line for each box.
pub fn outline(svg: &str) -> String {
    let seen = read(svg);
    let mut out = String::new();
    let depth = |shape: &Shape| seen.boxes.iter().filter(|b| b.what != "sm behind" && b.holds(shape)).count();
    let mut words = vec![Vec::new(); seen.boxes.len()];
    for text in seen.texts.iter().filter(|text| !text.what.is_empty()) {
        let within = seen.boxes.iter().enumerate().filter(|(_, b)| b.what != "sm behind" && b.holds(text));
        match within.max_by_key(|(_, b)| depth(b)) {
            Some((at, _)) => words[at].push(text.what.as_str()),
            None => writeln!(out, "{}", text.what).unwrap(),
        }
    }
    for (shape, words) in seen.boxes.iter().zip(words).filter(|(shape, _)| shape.what != "sm behind") {
        writeln!(out, "{}[{}] {}", "    ".repeat(depth(shape) - 1), shape.what, words.join(" | ")).unwrap();
    }
    out
}

/// All that a drawing must keep to.
#[track_caller]
fn sound(name: &str, topology: &Topology) {
    let svg = drawn(topology).unwrap_or_else(|| panic!("{name} has no drawing"));
    let seen = read(&svg);
    for text in &seen.texts {
        assert!(seen.page.holds(text), "{name}: not on the page: {text:?}");
        for frame in seen.boxes.iter().filter(|frame| frame.what != "sm behind" && frame.meets(text)) {
            assert!(frame.holds(text), "{name}: {text:?} leaves {frame:?}");
        }
    }
    let boxes: Vec<&Shape> = seen.boxes.iter().filter(|frame| frame.what != "sm behind").collect();
    for (i, one) in boxes.iter().enumerate() {
        assert!(seen.page.holds(one), "{name}: not on the page: {one:?}");
        for other in &boxes[i + 1..] {
            assert!(!one.meets(other) || one.holds(other) || other.holds(one), "{name}: {one:?} meets {other:?}");
        }
    }
    for element in topology.elements.keys() {
        let drawn = boxes.iter().filter(|frame| frame.what.split(' ').any(|of| of == element.key())).count();
        assert_eq!(drawn, 1, "{name}: {element}");
    }
    for text in seen.texts.iter().filter(|text| text.what.contains('?') && !text.what.starts_with("? unknown")) {
        assert!(!text.hints.is_empty(), "{name}: {} has no reason", text.what);
    }
}

/// Every result that there is, by a name.
pub fn all() -> Vec<(String, Topology)> {
    let recorded = recorded_of::<Topology>(SCHEMA).into_iter().map(|topology| {
        let file = topology.replayed_from.as_deref().expect("reports of recordings are replayed");
        let name = Path::new(file).file_stem().expect("it has a name").display().to_string();
        (format!("recorded-{name}"), topology)
    });
    recorded.chain(machines::found().into_iter().map(|(name, topology)| (name.into(), topology))).collect()
}

#[test]
fn every_result_has_a_sound_drawing() {
    for (name, topology) in all() {
        sound(&name, &topology);
    }
}

#[test]
fn few_elements_are_drawn_as_well() {
    for (name, whole) in all().into_iter().take(3) {
        for kept in ElementName::ALL {
            let mut topology = whole.clone();
            topology.elements.retain(|element, _| *element == kept);
            if !topology.elements.is_empty() {
                sound(&format!("{name}, only {kept}"), &topology);
            }
            let mut topology = whole.clone();
            topology.elements.remove(&kept);
            sound(&format!("{name} without {kept}"), &topology);
        }
    }
}

#[test]
fn nothing_is_drawn_of_nothing() {
    let (_, mut topology) = all().remove(0);
    topology.elements.clear();
    assert_eq!(drawn(&topology), None);
    assert!(!report::html(&topology, &strata_model::evidence::Evidence::default()).unwrap().contains("<svg"));
}

/// A topology of these elements.
fn of(elements: BTreeMap<ElementName, Element>) -> Topology {
    Topology {
        schema: SCHEMA.into(),
        device: DeviceFacts { name: MISCHIEF.repeat(20), ..DeviceFacts::default() },
        run: run("device", false),
        elements,
        replayed_from: None,
    }
}

#[test]
fn values_of_any_size_stay_in_their_boxes() {
    let unknown = |reason: &str| {
        Element::default().with(SIZE, Finding::unknown(reason)).with(LEAST_CONFIGURATION, Finding::unknown(reason))
    };
    let of_number = |count: u64, number: f64| {
        let least = Configuration {
            size: Bytes(count / 2),
            sets: Some(count),
            ways: None,
            index: None,
            replacement: Some(Policy::Other("x".repeat(500))),
            misses: Some(Curve::default()),
        };
        let sharers: Elements = [MISCHIEF, "l1"].into_iter().collect();
        let by = || MISCHIEF.to_owned();
        Element::default()
            .with(SIZE, Finding::from_driver(Bytes(count), by()))
            .with(LINE_SIZE, Finding::from_driver(Bytes(count), by()))
            .with(FETCH_GRANULARITY, Finding::from_driver(Bytes(count), by()))
            .with(NOMINAL_SIZE, Finding::from_driver(Bytes(count), by()))
            .with(REACH, Finding::from_driver(Bytes(count), by()))
            .with(ENTRIES, Finding::from_driver(count, by()))
            .with(PAGE_SIZE, Finding::from_driver(Bytes(count), by()))
            .with(MISS_PENALTY, Finding::from_driver(Cycles(number), by()))
            .with(SHARED_WITH, Finding::from_driver(sharers, by()))
            .with(INSTANCES_PER_SM, Finding::from_driver(count, by()))
            .with(PARTITIONS, Finding::from_driver(count, by()))
            .with(NEAR_LATENCY, Finding::from_driver(Cycles(number), by()))
            .with(BANKS, Finding::from_driver(count, by()))
            .with(CACHED, Finding::from_driver(count > 0, by()))
            .with(LEAST_CONFIGURATION, Finding::from_driver(least, by()))
    };
    for (name, element) in [
        ("nothing", of_number(0, 0.0)),
        ("one", of_number(1, -1.0)),
        ("the most", of_number(u64::MAX, 1e300)),
        ("unknown", unknown(MISCHIEF)),
    ] {
        // The die is no memory, the shared memory of other blocks is in the picture anyway, and another GPU is not.
        let drawn_apart = |name: &ElementName| {
            !matches!(
                name,
                ElementName::Die
                    | ElementName::DistributedShared
                    | ElementName::AsyncCopy
                    | ElementName::InstructionL0
                    | ElementName::InstructionL1
                    | ElementName::InstructionL15
                    | ElementName::PeerL2
                    | ElementName::PeerDram
            )
        };
        let memories = ElementName::ALL.into_iter().filter(drawn_apart);
        let topology = of(memories.map(|name| (name, element.clone())).collect());
        sound(name, &topology);
        assert!(!drawn(&topology).unwrap().contains("<script"));
    }
}

#[test]
fn paths_of_one_cache_share_a_box_and_keep_their_differences() {
    let path = |size: u64, with: &[&str]| {
        Element::default()
            .with(SIZE, Finding::measured(Bytes(size), "by hand"))
            .with(LINE_SIZE, Finding::measured(Bytes(128), "by hand"))
            .with(SHARED_WITH, Finding::measured(with.iter().copied().collect::<Elements>(), "by hand"))
    };
    let one = of(BTreeMap::from([
        (ElementName::L1, path(24576, &["texture"])),
        (ElementName::Texture, path(20480, &[])),
        (ElementName::ReadOnly, path(4096, &[])),
    ]));
    let outline = outline(&drawn(&one).unwrap());
    assert!(outline.contains("[l1 texture] One cache"), "{outline}");
    assert!(outline.contains("line 128 B | L1 data | 24 KiB | Texture | 20 KiB"), "{outline}");
    assert!(outline.contains("[read_only] Read-only | 4 KiB"), "{outline}");
}

#[test]
fn shared_memory_is_drawn_with_the_l1_where_one_takes_from_the_other() {
    let configuration = |size: u64| Configuration {
        size: Bytes(size),
        sets: None,
        ways: None,
        index: None,
        replacement: None,
        misses: None,
    };
    let l1 = |least: u64| {
        Element::default()
            .with(SIZE, Finding::measured(Bytes(49152), "by hand"))
            .with(LEAST_CONFIGURATION, Finding::measured(configuration(least), "by hand"))
    };
    let with = |least| of(BTreeMap::from([(ElementName::L1, l1(least)), (ElementName::Shared, Element::default())]));
    let divided = outline(&drawn(&with(16384)).unwrap());
    assert!(divided.contains("[divided] one memory: the L1 shrinks to 16 KiB"), "{divided}");
    assert!(!outline(&drawn(&with(49152)).unwrap()).contains("one memory"));
}
