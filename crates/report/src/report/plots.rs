//! Which findings become pictures.
//!
//! The values are JSON, and a report may be made of a file from elsewhere: a row that has not the shape it should have is left
//! out and counted, and where no row is left there is no picture.

use std::collections::BTreeMap;

use serde_json::Value;

use super::plot::{Axis, Bar, Bars, Curves, Draw, Mark, Measure, Plot, Series, Tile, TileGroup, TileRow, Tiles};
use super::svg::{self, Picture};
use super::words;
use strata_model::topology::{Element, ElementName};
use strata_model::units::Bytes;

/// Attributes that are curves or maps: pictures and programs show them, a line of text cannot.
pub(super) const PICTURED: [&str; 4] = ["staircase", SPECTRUM, "bank_curve", "sm_map"];
/// The one of them that is short enough for a text.
pub(super) const SPECTRUM: &str = "spectrum";

/// A finding that is drawn.
pub(super) struct Drawn {
    /// The attribute that it shows.
    pub attribute: &'static str,
    /// The picture.
    pub picture: Picture,
    /// What it is drawn from, for its numbers and for the script of a page.
    pub plot: Plot,
}

/// The pictures of an element.
pub(super) fn of(name: ElementName, element: &Element) -> Vec<Drawn> {
    let size = element.size.as_ref().or(element.reach.as_ref()).and_then(|f| f.number());
    let findings = element.findings();
    findings.into_iter().filter_map(|(attribute, finding)| draw(name, attribute, &finding.value, size)).collect()
}

/// The picture of an attribute of an element of this usable capacity; `None` if it is none that is drawn, or cannot be.
fn draw(name: ElementName, attribute: &'static str, value: &Value, size: Option<f64>) -> Option<Drawn> {
    let rows = value.as_array()?;
    let plot: Plot = match attribute {
        "staircase" => staircase(name, rows, size)?.into(),
        SPECTRUM => spectrum(name, rows)?.into(),
        "bank_curve" => bank_curve(name, rows)?.into(),
        "sm_map" => sm_map(name, rows)?.into(),
        _ => return None,
    };
    Some(Drawn { attribute, picture: svg::picture(&plot)?, plot })
}

/// Misses of a lap by footprint: rows of footprint and share.
fn staircase(name: ElementName, rows: &[Value], size: Option<f64>) -> Option<Curves> {
    let point = |row: &Value| match row.as_array()?.as_slice() {
        [footprint, share] => Some((footprint.as_f64()?, share.as_f64()?)),
        _ => None,
    };
    let (points, left_out) = readable(rows, point)?;
    let (x, y) = (span(points.iter().map(|p| p.0)), span(points.iter().map(|p| p.1)));
    let (bytes, share) = (|b| Measure::Bytes.show(b), |s| Measure::Share.show(s));
    let mark = size.map(|at| Mark::new(at, format!("usable {}", Bytes(at as u64))));
    let usable = mark.as_ref().map_or(String::new(), |m| format!("; {} is marked", m.label));
    Some(Curves {
        title: format!("{}: misses by footprint", name.title()),
        description: format!(
            "{} footprints from {} to {}, of whose loads {} to {} miss{usable}{left_out}.",
            points.len(),
            bytes(x.0),
            bytes(x.1),
            share(y.0),
            share(y.1)
        ),
        x: Axis { label: "footprint".into(), measure: Measure::Bytes, log2: crowded(points.iter().map(|p| p.0)) },
        y: Axis { label: "misses of a lap".into(), measure: Measure::Share, log2: false },
        series: vec![Series::new("misses", Draw::Steps, points)],
        marks: mark.into_iter().collect(),
        ..Curves::default()
    })
}

/// Latencies by what answered a load and how its address was translated.
fn spectrum(name: ElementName, rows: &[Value]) -> Option<Bars> {
    let bar = |row: &Value| Some(Bar { label: words::met(row)?, value: row.get("cycles")?.as_f64()?, series: 0 });
    let (bars, left_out) = readable(rows, bar)?;
    let (low, high) = span(bars.iter().map(|b| b.value));
    Some(Bars {
        title: format!("{}: latency by pattern", name.title()),
        description: format!(
            "{} patterns of what a load meets, {} to {} cycles{left_out}.",
            bars.len(),
            Measure::Number.show(low),
            Measure::Number.show(high)
        ),
        labels: "path: data, translation".into(),
        axis: Axis { label: "cycles".into(), measure: Measure::Number, log2: false },
        bars,
    })
}

/// Width of an access, and the mode of the banks, where they have modes; both in bytes.
type Access = (u64, Option<u64>);

/// Cycles by stride, a curve for each width of access and, where the banks have modes, each mode.
fn bank_curve(name: ElementName, rows: &[Value]) -> Option<Curves> {
    let point = |row: &Value| {
        let number = |key: &str| row.get(key)?.as_f64();
        // An optional mode may also be written as null.
        let mode = row.get("mode").and_then(Value::as_u64);
        Some(((row.get("width")?.as_u64()?, mode), (number("stride")?, number("cycles")?)))
    };
    let (all, left_out) = readable(rows, point)?;
    let (x, y) = (span(all.iter().map(|(_, p)| p.0)), span(all.iter().map(|(_, p)| p.1)));
    let log2 = crowded(all.iter().map(|(_, p)| p.0));
    let mut series: BTreeMap<Access, Vec<(f64, f64)>> = BTreeMap::new();
    for (key, point) in all {
        series.entry(key).or_default().push(point);
    }
    let named = |((width, mode), points): (Access, Vec<(f64, f64)>)| {
        // Short, so that two stand side by side in the legend.
        let name = mode.map_or(format!("{width} B a thread"), |mode| format!("{width} B, banks of {mode} B"));
        Series::new(name, Draw::Line, points)
    };
    let show = |x| Measure::Number.show(x);
    Some(Curves {
        title: format!("{}: cycles by stride", name.title()),
        description: format!(
            "{} kinds of access, strides of {} to {} elements, {} to {} cycles{left_out}.",
            series.len(),
            show(x.0),
            show(x.1),
            show(y.0),
            show(y.1)
        ),
        x: Axis { label: "stride, elements".into(), measure: Measure::Number, log2 },
        y: Axis { label: "cycles".into(), measure: Measure::Number, log2: false },
        series: series.into_iter().map(named).collect(),
        ..Curves::default()
    })
}

/// Where the SMs are: a group for each partition, a row for each group. What is unknown comes last.
fn sm_map(name: ElementName, rows: &[Value]) -> Option<Tiles> {
    struct Sm {
        partition: Option<u64>,
        group: Option<u64>,
        tpc: Option<u64>,
        sm: u64,
    }
    let place = |row: &Value| {
        let number = |key: &str| row.get(key).and_then(Value::as_u64);
        Some(Sm { partition: number("partition"), group: number("group"), tpc: number("tpc"), sm: number("sm")? })
    };
    let (mut sms, left_out) = readable(rows, place)?;
    let last = |x: Option<u64>| (x.is_none(), x);
    sms.sort_by_key(|s| (last(s.partition), last(s.group), last(s.tpc), s.sm));
    let named = |what: &str, x: Option<u64>| x.map_or(format!("{what} unknown"), |x| format!("{what} {x}"));
    let tile = |s: &Sm| Tile {
        label: s.sm.to_string(),
        hint: format!(
            "SM {}: {}, {}, {}",
            s.sm,
            named("partition", s.partition),
            named("group", s.group),
            named("TPC", s.tpc)
        ),
    };
    let row = |same: &[Sm]| TileRow { name: named("group", same[0].group), tiles: same.iter().map(tile).collect() };
    let group = |same: &[Sm]| TileGroup {
        name: named("Partition", same[0].partition),
        rows: same.chunk_by(|a, b| a.group == b.group).map(row).collect(),
    };
    let groups: Vec<TileGroup> = sms.chunk_by(|a, b| a.partition == b.partition).map(group).collect();
    Some(Tiles {
        title: format!("{}: SMs by partition and group", name.title()),
        description: format!("{} SMs in {} groups by partition{left_out}.", sms.len(), groups.len()),
        labels: "SMs".into(),
        groups,
    })
}

/// What the rows hold, and words about those that were left out; `None` if none can be read.
fn readable<T>(rows: &[Value], read: impl Fn(&Value) -> Option<T>) -> Option<(Vec<T>, String)> {
    let read: Vec<T> = rows.iter().filter_map(read).collect();
    let words = match rows.len() - read.len() {
        0 => String::new(),
        n => format!("; {n} of {} rows could not be read", rows.len()),
    };
    (!read.is_empty()).then_some((read, words))
}

/// Least and greatest.
fn span(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    numbers.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)))
}

/// Whether most of the numbers lie in the lowest quarter of what they span, so that an axis of doublings shows more.
pub(super) fn crowded(numbers: impl Iterator<Item = f64>) -> bool {
    let numbers: Vec<f64> = numbers.collect();
    let (low, high) = span(numbers.iter().copied());
    let below = numbers.iter().filter(|x| **x < low + (high - low) / 4.0).count();
    low >= 1.0 && below * 2 > numbers.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use strata_model::topology::Finding;

    fn drawn(attribute: &'static str, value: Value) -> Option<String> {
        draw(ElementName::L2, attribute, &value, Some(2048.0)).map(|p| p.picture.inline())
    }

    #[test]
    fn each_curve_has_its_picture() {
        let stairs = drawn("staircase", json!([[2112, 0.15], [2176, 0.29], [2560, 1.0]])).unwrap();
        assert!(
            stairs.contains("3 footprints from 2.062 KiB to 2.5 KiB, of whose loads 15 % to 100 % miss"),
            "{stairs}"
        );
        assert!(stairs.contains("class=\"mark\"") && stairs.contains("usable 2 KiB"), "{stairs}");
        let spectrum = json!([{"path": "cg", "data": "l2", "translation": "hit", "cycles": 371.0, "loads": 40}]);
        assert!(drawn("spectrum", spectrum).unwrap().contains(">cg: l2, TLB hit</text>"));
        let banks = json!([
            {"width": 4, "stride": 1, "cycles": 23.0, "ways": 1}, {"width": 4, "stride": 2, "cycles": 25.0, "ways": 2},
            {"width": 8, "stride": 1, "cycles": 25.0, "ways": 2, "mode": 8}, {"width": 8, "stride": 2, "cycles": 29.0}
        ]);
        let banks = drawn("bank_curve", banks).unwrap();
        for series in ["4 B a thread", "8 B a thread", "8 B, banks of 8 B"] {
            assert!(banks.contains(&format!(">{series}</text>")), "{banks}");
        }
        let map = json!([
            {"sm": 0, "partition": 1, "group": 1, "tpc": 5}, {"sm": 1, "partition": 0, "group": null, "tpc": null},
            {"sm": 2, "partition": null}, {"sm": 3, "partition": 0, "group": 2, "tpc": 0}
        ]);
        let map = drawn("sm_map", map).unwrap();
        let order = ["Partition 0", "group 2", "group unknown", "Partition 1", "Partition unknown"];
        let at: Vec<usize> = order.iter().map(|n| map.find(&format!(">{n}</text>")).unwrap()).collect();
        assert!(at.is_sorted(), "{map}");
        assert!(map.contains("<title>SM 0: partition 1, group 1, TPC 5</title>"), "{map}");
    }

    #[test]
    fn what_cannot_be_read_is_left_out_and_counted() {
        let stairs = drawn("staircase", json!([[1024, 0.5], [2048], "x", [4096, null], [4096, 1.0, 2]])).unwrap();
        assert!(stairs.contains("4 of 5 rows could not be read"), "{stairs}");
        let wrong =
            [json!(null), json!(7), json!("x"), json!({}), json!([]), json!([[]]), json!([{}]), json!([["a", "b"]])];
        for (attribute, value) in PICTURED.iter().flat_map(|a| wrong.iter().map(move |v| (*a, v))) {
            assert!(drawn(attribute, value.clone()).is_none(), "{attribute} of {value}");
        }
        assert!(drawn("size", json!([[1024, 0.5]])).is_none(), "not a curve");
        assert!(drawn("staircase", json!([[1024, 1e300]])).is_none());
        assert!(drawn("spectrum", json!([{"path": "cg", "data": "l2", "translation": "hit", "cycles": -1}])).is_none());
    }

    #[test]
    fn words_of_a_recording_are_escaped() {
        let row = json!([{"path": "cg", "data": "<script>&\"", "translation": "]]>", "cycles": 1}]);
        let picture = drawn("spectrum", row).unwrap();
        assert!(
            picture.contains("cg: &lt;script&gt;&amp;&quot;, TLB ]]&gt;") && !picture.contains("<script"),
            "{picture}"
        );
    }

    #[test]
    fn an_element_gives_the_pictures_of_its_findings() {
        let staircase = Finding::measured(vec![json!([2112, 0.15])], "by hand");
        let element = Element { staircase: Some(staircase), ..Element::default() };
        let attributes: Vec<&str> = of(ElementName::L1, &element).iter().map(|p| p.attribute).collect();
        assert_eq!(attributes, ["staircase"]);
        assert!(of(ElementName::L1, &Element::default()).is_empty());
    }

    #[test]
    fn doublings_have_an_axis_of_doublings() {
        assert!(crowded([1.0, 2.0, 4.0, 8.0, 16.0, 32.0].into_iter()));
        assert!(!crowded((1..=32).map(f64::from)));
        assert!(!crowded([0.0, 1.0, 2.0, 4.0, 64.0].into_iter()), "zero has no place there");
    }
}
