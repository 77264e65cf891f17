//! Which findings become pictures.

pub(super) mod series;
mod sm_map;

use std::collections::BTreeMap;

use super::plot::{Axis, Bar, Bars, Curves, Draw, Mark, Measure, Plot, Series};
use super::svg::{self, Picture};
use super::words;
use strata_model::attribute::{
    Attribute, BankCurve, BankPoint, Curve, LaunchRow, Launches, SmMap, Spectrum, SpectrumRow, Step, Value,
};
use strata_model::topology::{Element, ElementName, Finding};
use strata_model::units::Bytes;

/// A plot of misses begins at this part of the usable capacity, so that the knee is seen from its flat side.
const FLAT: f64 = 0.5;

/// The series of what was measured below the knee.
const BELOW: &str = "below the knee, in the search for the size";

/// A finding that is drawn.
pub(super) struct Drawn {
    /// The attribute that it shows.
    pub attribute: Attribute,
    /// The series of the finding that it shows, where it is not the value.
    pub series: Option<&'static str>,
    /// The picture.
    pub picture: Picture,
    /// What it is drawn from, for its numbers and for the script of a page.
    pub plot: Plot,
}

impl Drawn {
    /// The picture of a plot, if it can be drawn.
    fn new(attribute: Attribute, series: Option<&'static str>, plot: impl Into<Plot>) -> Option<Self> {
        let plot = plot.into();
        Some(Drawn { attribute, series, picture: svg::picture(&plot)?, plot })
    }

    /// What it shows, by the keys of the result, joined by this.
    pub fn name(&self, joint: &str) -> String {
        self.series.map_or(self.attribute.to_string(), |series| format!("{}{joint}{series}", self.attribute))
    }

    /// A curve of misses with what else was measured below its knee, which `flat` has for footprints from one to another.
    pub fn with_flat(mut self, flat: impl FnOnce(f64, f64) -> Vec<(f64, f64)>) -> Self {
        let (Plot::Curves(curves), Attribute::Staircase) = (&mut self.plot, self.attribute) else { return self };
        let first = curves.series.iter().flat_map(Series::values).map(|(x, _)| x).reduce(f64::min);
        let points = curves.from.zip(first).map(|(from, first)| flat(from, first)).unwrap_or_default();
        if points.is_empty() {
            return self;
        }
        curves.series.push(Series::new(BELOW, Draw::Points, points));
        match svg::picture(&self.plot) {
            Some(picture) => Drawn { picture, ..self },
            None => self,
        }
    }

    /// The same of one GPU among several.
    pub fn of_gpu(self, gpu: &str) -> Option<Self> {
        let mut plot = self.plot;
        plot.title_mut().push_str(&format!(", {gpu}"));
        Drawn::new(self.attribute, self.series, plot)
    }
}

/// The pictures of the values of an element's findings.
pub(super) fn of(name: ElementName, element: &Element) -> Vec<Drawn> {
    let size = words::capacity(element).and_then(Finding::number);
    let draw = |(attribute, finding): (Attribute, &Finding)| draw(name, attribute, finding.value.as_ref()?, size);
    element.reported().filter_map(draw).collect()
}

/// The picture of an attribute of an element of this usable capacity; `None` if it is none that is drawn, or cannot be.
fn draw(name: ElementName, attribute: Attribute, value: &Value, size: Option<f64>) -> Option<Drawn> {
    let plot: Plot = match value {
        Value::Curve(Curve(points)) => staircase(name, points, size)?.into(),
        Value::Spectrum(Spectrum(rows)) => spectrum(name, rows)?.into(),
        Value::BankCurve(BankCurve(points)) => bank_curve(name, points)?.into(),
        Value::Launches(Launches(rows)) => launches(name, rows)?.into(),
        Value::SmMap(SmMap(sms)) => sm_map::places(name, sms)?.into(),
        _ => return None,
    };
    Drawn::new(attribute, None, plot)
}

/// Misses of a lap by footprint.
fn staircase(name: ElementName, steps: &[Step], size: Option<f64>) -> Option<Curves> {
    let series = match steps.iter().all(|step| step.interval.is_some()) {
        true => Series::banded(
            "misses",
            Draw::Steps,
            steps.iter().map(|step| {
                let (low, high) = step.interval.unwrap_or((step.share, step.share));
                (step.footprint.0 as f64, [step.share, low, high])
            }),
        ),
        false => Series::new("misses", Draw::Steps, steps.iter().map(|step| (step.footprint.0 as f64, step.share))),
    };
    if steps.is_empty() {
        return None;
    }
    let (x, y) = (span(steps.iter().map(|step| step.footprint.0 as f64)), span(steps.iter().map(|step| step.share)));
    let (bytes, share) = (|b| Measure::Bytes.show(b), |s| Measure::Share.show(s));
    let mark = size.map(usable);
    let usable = mark.as_ref().map_or(String::new(), |m| format!("; {} is marked", m.label));
    Some(Curves {
        title: format!("{}: misses by footprint", name.title()),
        description: format!(
            "{} footprints from {} to {}; {} to {} of the loads miss{usable}.",
            steps.len(),
            bytes(x.0),
            bytes(x.1),
            share(y.0),
            share(y.1)
        ),
        x: Axis {
            label: "footprint".into(),
            measure: Measure::Bytes,
            log2: crowded(steps.iter().map(|step| step.footprint.0 as f64)),
        },
        y: Axis { label: "miss rate of a lap".into(), measure: Measure::Share, log2: false },
        series: vec![series],
        from: size.map(|size| size * FLAT),
        marks: mark.into_iter().collect(),
        ..Curves::default()
    })
}

/// The mark of a usable capacity.
fn usable(size: f64) -> Mark {
    Mark::new(size, format!("usable {}", Bytes(size as u64)))
}

/// Latencies by what answered a load and how its address was translated.
fn spectrum(name: ElementName, rows: &[SpectrumRow]) -> Option<Bars> {
    let bar = |row: &SpectrumRow| Bar { label: row.met(), value: row.cycles, series: 0 };
    let bars: Vec<Bar> = rows.iter().map(bar).collect();
    if bars.is_empty() {
        return None;
    }
    let (low, high) = span(bars.iter().map(|b| b.value));
    Some(Bars {
        title: format!("{}: latency by pattern", name.title()),
        description: format!(
            "{} combinations of cache level and TLB level, {} to {} cycles.",
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
fn bank_curve(name: ElementName, points: &[BankPoint]) -> Option<Curves> {
    let point = |p: &BankPoint| ((p.width.0, p.mode.map(|mode| mode.0)), (p.stride as f64, p.cycles));
    let all: Vec<(Access, (f64, f64))> = points.iter().map(point).collect();
    if all.is_empty() {
        return None;
    }
    let (x, y) = (span(all.iter().map(|(_, p)| p.0)), span(all.iter().map(|(_, p)| p.1)));
    let log2 = crowded(all.iter().map(|(_, p)| p.0));
    let mut series: BTreeMap<Access, Vec<(f64, f64)>> = BTreeMap::new();
    for (key, point) in all {
        series.entry(key).or_default().push(point);
    }
    let named = |((width, mode), points): (Access, Vec<(f64, f64)>)| {
        // Short, so that two stand side by side in the legend.
        let name = mode.map_or(format!("{width} B per thread"), |mode| format!("{width} B, banks of {mode} B"));
        Series::new(name, Draw::Line, points)
    };
    let show = |x| Measure::Number.show(x);
    Some(Curves {
        title: format!("{}: cycles by stride", name.title()),
        description: format!(
            "{} kinds of access, strides of {} to {} elements, {} to {} cycles.",
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

/// Usable capacity by the shared memory of a block, a curve for each number of threads; only launches without a hint.
fn launches(name: ElementName, rows: &[LaunchRow]) -> Option<Curves> {
    let mut series: BTreeMap<u32, Vec<(f64, [f64; 3])>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.carveout_percent.is_none()) {
        let sizes = [row.size, row.low, row.high].map(|Bytes(size)| size as f64);
        series.entry(row.threads_per_block).or_default().push((row.shared_per_block.0 as f64, sizes));
    }
    let sizes = || series.values().flatten().map(|(_, [size, ..])| *size);
    if series.is_empty() {
        return None;
    }
    let ((least, most), bytes) = (span(sizes()), |b| Measure::Bytes.show(b));
    let description =
        format!("{} launches without a carveout hint; {} to {} of L1.", sizes().count(), bytes(least), bytes(most));
    let named = |(threads, points)| Series::banded(format!("{threads} threads a block"), Draw::Line, points);
    Some(Curves {
        title: format!("{}: usable capacity by launch", name.title()),
        description,
        x: Axis { label: "shared memory of a block".into(), measure: Measure::Bytes, log2: false },
        y: Axis { label: "usable capacity".into(), measure: Measure::Bytes, log2: false },
        series: series.into_iter().map(named).collect(),
        ..Curves::default()
    })
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
    use strata_model::attribute::STAIRCASE;

    /// The picture of a value as JSON has it.
    fn drawn(attribute: Attribute, json: serde_json::Value) -> Option<String> {
        let value = attribute.kind().read(json).unwrap();
        draw(ElementName::L2, attribute, &value, Some(2048.0)).map(|p| p.picture.inline())
    }

    #[test]
    fn each_curve_has_its_picture() {
        let stairs = drawn(Attribute::Staircase, json!([[2112, 0.15], [2176, 0.29], [2560, 1.0]])).unwrap();
        assert!(stairs.contains("3 footprints from 2.062 KiB to 2.5 KiB; 15 % to 100 % of the loads miss"), "{stairs}");
        assert!(stairs.contains("class=\"mark\"") && stairs.contains("usable 2 KiB"), "{stairs}");
        let spectrum = json!([{"path": "cg", "data": "l2", "translation": "hit", "cycles": 371.0, "loads": 40}]);
        assert!(drawn(Attribute::Spectrum, spectrum).unwrap().contains(">cg: l2, TLB hit</text>"));
        let banks = json!([
            {"width": 4, "stride": 1, "cycles": 23.0, "ways": 1}, {"width": 4, "stride": 2, "cycles": 25.0, "ways": 2},
            {"width": 8, "stride": 1, "cycles": 25.0, "ways": 2, "mode": 8}, {"width": 8, "stride": 2, "cycles": 29.0}
        ]);
        let banks = drawn(Attribute::BankCurve, banks).unwrap();
        for series in ["4 B per thread", "8 B per thread", "8 B, banks of 8 B"] {
            assert!(banks.contains(&format!(">{series}</text>")), "{banks}");
        }
        let map = json!([
            {"sm": 0, "partition": 1, "group": 1, "tpc": 5}, {"sm": 1, "partition": 0, "group": null, "tpc": null},
            {"sm": 2, "partition": null}, {"sm": 3, "partition": 0, "group": 2, "tpc": 0}
        ]);
        let map = drawn(Attribute::SmMap, map).unwrap();
        let order = ["Partition 0", "group 2", "group unknown", "Partition 1", "Partition unknown"];
        let at: Vec<usize> = order.iter().map(|n| map.find(&format!(">{n}</text>")).unwrap()).collect();
        assert!(at.is_sorted(), "{map}");
        assert!(map.contains("<title>SM 0: partition 1, group 1, TPC 5</title>"), "{map}");
    }

    #[test]
    fn what_cannot_be_drawn_is_no_picture() {
        for attribute in Attribute::ALL.iter().filter(|attribute| attribute.is_pictured()) {
            assert!(drawn(*attribute, json!([])).is_none(), "{attribute} of nothing");
        }
        assert!(drawn(Attribute::Size, json!(4096)).is_none(), "not a curve");
        assert!(drawn(Attribute::Staircase, json!([[1024, 1e300]])).is_none());
        let negative = json!([{"path": "cg", "data": "l2", "translation": "hit", "cycles": -1}]);
        assert!(drawn(Attribute::Spectrum, negative).is_none());
    }

    #[test]
    fn an_element_gives_the_pictures_of_its_findings() {
        let staircase = Finding::measured(Curve(vec![Step::new(2112, 0.15)]), "by hand");
        let element = Element::default().with(STAIRCASE, staircase);
        let attributes: Vec<Attribute> = of(ElementName::L1, &element).iter().map(|p| p.attribute).collect();
        assert_eq!(attributes, [Attribute::Staircase]);
        assert!(of(ElementName::L1, &Element::default()).is_empty());
    }

    #[test]
    fn doublings_have_an_axis_of_doublings() {
        assert!(crowded([1.0, 2.0, 4.0, 8.0, 16.0, 32.0].into_iter()));
        assert!(!crowded((1..=32).map(f64::from)));
        assert!(!crowded([0.0, 1.0, 2.0, 4.0, 64.0].into_iter()), "zero has no place there");
    }
}
