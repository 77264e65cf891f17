//! The pictures of what findings were read from: Größler's plots of the mean load, of the reduction, and of the disturbance.

use super::super::plot::{Axis, Curves, Draw, Mark, Series};
use super::{Drawn, crowded, span, usable};
use crate::report::plot::Measure;
use crate::report::words;
use strata_model::topology::{AVERAGE_LOAD, DISTANCE, DISTURBANCE, Element, ElementName, Finding, SeriesPoint};

/// What a series shows.
struct Shape {
    /// Its name in a finding.
    name: &'static str,
    /// The title of its picture, after the element's.
    title: &'static str,
    /// The axis to the right: footprints in bytes, or threads.
    footprints: bool,
    /// The axis upwards.
    y: &'static str,
    /// The points in words.
    points: &'static str,
    /// How they are joined.
    draw: Draw,
}

const SHAPES: [Shape; 3] = [
    Shape {
        name: AVERAGE_LOAD,
        title: "average load by footprint",
        footprints: true,
        y: "cycles per load, with the timing overhead",
        points: "footprints",
        draw: Draw::Line,
    },
    Shape {
        name: DISTANCE,
        title: "geometric distance by footprint",
        footprints: true,
        y: "distance of the loads from hits, cycles",
        points: "footprints",
        draw: Draw::Line,
    },
    Shape {
        name: DISTURBANCE,
        title: "disturbance by thread",
        footprints: false,
        y: "average load after the partner's walk, cycles above a hit",
        points: "warps",
        draw: Draw::Steps,
    },
];

/// The pictures of the series of an element's findings.
pub(in crate::report) fn of(name: ElementName, element: &Element) -> Vec<Drawn> {
    let size = words::capacity(element).and_then(Finding::number);
    let of_finding = |(attribute, finding)| {
        let finding: &Finding = finding;
        SHAPES.iter().filter_map(move |shape| {
            let curves = curves(name, shape, finding.series.get(shape.name)?, size)?;
            Drawn::new(attribute, Some(shape.name), curves)
        })
    };
    element.reported().flat_map(of_finding).collect()
}

fn curves(name: ElementName, shape: &Shape, points: &[SeriesPoint], size: Option<f64>) -> Option<Curves> {
    if points.is_empty() {
        return None;
    }
    let (x, y) = (span(points.iter().map(|p| p.x)), span(points.iter().map(|p| p.value)));
    let show = |y| Measure::Number.show(y);
    let places = if shape.footprints { Measure::Bytes } else { Measure::Number };
    let from = format!("{} to {}", places.show(x.0), places.show(x.1));
    let mark = size.filter(|_| shape.footprints).map(usable);
    let series = if points.iter().all(|p| p.band.is_some()) {
        let banded = |p: &SeriesPoint| (p.x, p.band.map_or([p.value; 3], |(low, high)| [p.value, low, high]));
        Series::banded(shape.title, shape.draw, points.iter().map(banded))
    } else {
        Series::new(shape.title, shape.draw, points.iter().map(|p| (p.x, p.value)))
    };
    Some(Curves {
        title: format!("{}: {}", name.title(), shape.title),
        description: format!(
            "{} {}, {} {from}; {} to {} cycles{}.",
            points.len(),
            shape.points,
            if shape.footprints { "from" } else { "with first threads" },
            show(y.0),
            show(y.1),
            mark.as_ref().map_or(String::new(), |mark: &Mark| format!("; {} is marked", mark.label))
        ),
        x: match shape.footprints {
            true => Axis::bytes("footprint", crowded(points.iter().map(|p| p.x))),
            false => Axis::of("thread of the partner"),
        },
        y: Axis::of(shape.y),
        series: vec![series],
        marks: mark.into_iter().collect(),
        ..Curves::default()
    })
}
