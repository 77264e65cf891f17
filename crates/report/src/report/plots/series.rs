//! The pictures of what findings were read from: Größler's plots of the mean load, of the reduction, and of the disturbance; and
//! bandwidth by what it depends on.

use super::super::plot::{Axis, Curves, Draw, Mark, Series};
use super::{Drawn, crowded, sm_map, span, usable};
use crate::report::plot::Measure;
use crate::report::words;
use strata_model::topology::{
    AVERAGE_LOAD, BANDWIDTH_BY_BYTES_IN_FLIGHT, BANDWIDTH_BY_CLUSTER_SIZE, BANDWIDTH_BY_FOOTPRINT, BANDWIDTH_BY_SMS,
    BANDWIDTH_BY_SMS_OF_ONE_PARTITION_FIRST, DISTANCE, DISTURBANCE, Element, ElementName, Finding,
    LATENCY_BY_COPIED_BYTES, LATENCY_BY_COPY_BANDWIDTH, LATENCY_BY_READ_BANDWIDTH, LATENCY_BY_WRITE_BANDWIDTH,
    SeriesPoint, TIME_BY_LOADS,
};

/// What a series shows.
struct Shape {
    /// Its name in a finding.
    name: &'static str,
    /// The title of its picture, after the element's.
    title: &'static str,
    /// The axis to the right.
    x: &'static str,
    /// Whether that is in bytes.
    bytes: bool,
    /// The axis upwards, and its unit.
    y: (&'static str, &'static str),
    /// The points in words, up to the numbers on the axis to the right.
    points: &'static str,
    /// How they are joined.
    draw: Draw,
}

/// The axis of a cache's footprints, on which its capacity is marked.
const FOOTPRINT: &str = "footprint";

const SHAPES: [Shape; 13] = [
    Shape {
        name: AVERAGE_LOAD,
        title: "average load by footprint",
        x: FOOTPRINT,
        bytes: true,
        y: ("cycles per load, with the timing overhead", "cycles"),
        points: "footprints, from",
        draw: Draw::Line,
    },
    Shape {
        name: DISTANCE,
        title: "geometric distance by footprint",
        x: FOOTPRINT,
        bytes: true,
        y: ("distance of the loads from hits, cycles", "cycles"),
        points: "footprints, from",
        draw: Draw::Line,
    },
    Shape {
        name: DISTURBANCE,
        title: "disturbance by thread",
        x: "thread of the partner",
        bytes: false,
        y: ("average load after the partner's walk, cycles above a hit", "cycles"),
        points: "warps, with first threads",
        draw: Draw::Steps,
    },
    Shape {
        name: BANDWIDTH_BY_BYTES_IN_FLIGHT,
        title: "bandwidth by bytes in flight",
        x: "bytes in flight of an SM",
        bytes: true,
        y: ("bytes a cycle of an SM", "B/clk"),
        points: "launches, with",
        draw: Draw::Points,
    },
    Shape {
        name: BANDWIDTH_BY_CLUSTER_SIZE,
        title: "bandwidth by size of the clusters",
        x: "blocks of a cluster",
        bytes: false,
        y: ("bytes a cycle of an SM", "B/clk"),
        points: "sizes, from",
        draw: Draw::Line,
    },
    Shape {
        name: BANDWIDTH_BY_SMS,
        title: "bandwidth by number of SMs",
        x: "SMs that read, from all partitions in turn",
        bytes: false,
        y: ("bytes a cycle of all of them", "B/clk"),
        points: "launches, on SMs from",
        draw: Draw::Line,
    },
    Shape {
        name: BANDWIDTH_BY_SMS_OF_ONE_PARTITION_FIRST,
        title: "bandwidth by number of SMs, one partition first",
        x: "SMs that read, one partition after the other",
        bytes: false,
        y: ("bytes a cycle of all of them", "B/clk"),
        points: "launches, on SMs from",
        draw: Draw::Line,
    },
    Shape {
        name: BANDWIDTH_BY_FOOTPRINT,
        title: "bandwidth by footprint of all SMs",
        x: FOOTPRINT,
        bytes: true,
        y: ("bytes a cycle of all SMs", "B/clk"),
        points: "footprints, from",
        draw: Draw::Line,
    },
    Shape {
        name: TIME_BY_LOADS,
        title: "time of a burst of loads",
        x: "loads of an SM at once",
        bytes: false,
        y: ("cycles from the first load to the last answer", "cycles"),
        points: "bursts, with loads from",
        draw: Draw::Points,
    },
    Shape {
        name: LATENCY_BY_COPIED_BYTES,
        title: "latency by bytes of a copy",
        x: "bytes of a copy",
        bytes: true,
        y: ("cycles of a copy", "cycles"),
        points: "sizes, from",
        draw: Draw::Line,
    },
    latency(LATENCY_BY_READ_BANDWIDTH, "latency under reads", "bytes a cycle that other SMs read"),
    latency(LATENCY_BY_WRITE_BANDWIDTH, "latency under writes", "bytes a cycle that other SMs write"),
    latency(LATENCY_BY_COPY_BANDWIDTH, "latency under copies", "bytes a cycle that other SMs read and write"),
];

/// A curve of the latency under load.
const fn latency(name: &'static str, title: &'static str, x: &'static str) -> Shape {
    Shape {
        name,
        title,
        x,
        bytes: false,
        y: ("cycles of a load", "cycles"),
        points: "launches, with",
        draw: Draw::Line,
    }
}

/// The pictures of the series of an element's findings, and of the latencies of a map of SMs.
pub(in crate::report) fn of(name: ElementName, element: &Element) -> Vec<Drawn> {
    let size = words::capacity(element).and_then(Finding::number);
    let of_finding = |(attribute, finding)| {
        let finding: &Finding = finding;
        let curves = SHAPES.iter().filter_map(move |shape| {
            let curves = curves(name, shape, finding.series.get(shape.name)?, size)?;
            Drawn::new(attribute, Some(shape.name), curves)
        });
        curves.chain(finding.value.as_ref().and_then(|value| sm_map::floor_plan(name, attribute, value)))
    };
    element.reported().flat_map(of_finding).collect()
}

fn curves(name: ElementName, shape: &Shape, points: &[SeriesPoint], size: Option<f64>) -> Option<Curves> {
    if points.is_empty() {
        return None;
    }
    let (x, y) = (span(points.iter().map(|p| p.x)), span(points.iter().map(|p| p.value)));
    let show = |y| Measure::Number.show(y);
    let places = if shape.bytes { Measure::Bytes } else { Measure::Number };
    let from = format!("{} to {}", places.show(x.0), places.show(x.1));
    let mark = size.filter(|_| shape.x == FOOTPRINT).map(usable);
    let series = if points.iter().all(|p| p.band.is_some()) {
        let banded = |p: &SeriesPoint| (p.x, p.band.map_or([p.value; 3], |(low, high)| [p.value, low, high]));
        Series::banded(shape.title, shape.draw, points.iter().map(banded))
    } else {
        Series::new(shape.title, shape.draw, points.iter().map(|p| (p.x, p.value)))
    };
    Some(Curves {
        title: format!("{}: {}", name.title(), shape.title),
        description: format!(
            "{} {} {from}; {} to {} {}{}.",
            points.len(),
            shape.points,
            show(y.0),
            show(y.1),
            shape.y.1,
            mark.as_ref().map_or(String::new(), |mark: &Mark| format!("; {} is marked", mark.label))
        ),
        x: match shape.bytes {
            true => Axis::bytes(shape.x, crowded(points.iter().map(|p| p.x))),
            false => Axis::of(shape.x),
        },
        y: Axis::of(shape.y.0),
        series: vec![series],
        marks: mark.into_iter().collect(),
        ..Curves::default()
    })
}
