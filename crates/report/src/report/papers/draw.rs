//! A figure of a paper, of the GPUs at hand: what the paper says, the pictures, and what was found.

use std::fmt::Write;

use super::{Gpu, Here, Paper, Pictured, Printed};
use crate::report::album::Album;
use crate::report::characterization::figure::{Grid, description, numbers, plot};
use crate::report::characterization::unanswered;
use crate::report::diagram;
use crate::report::markdown::{folded, list, plain};
use crate::report::plots;
use crate::report::svg;
use crate::report::words::{self, Detail};
use strata_model::attribute::Attribute;
use strata_model::characterization::{Axis, Characterization, Figure, Line, PartName, Point};
use strata_model::topology::{ElementName, Finding, Topology};

/// A figure of a paper that is made of these GPUs.
pub(super) struct Drawing<'g> {
    pub paper: &'static Paper,
    pub printed: &'static Printed,
    pub gpus: &'g [Gpu<'g>],
}

// Writing to a string cannot fail, so the results are dropped.
impl Drawing<'_> {
    /// Its section on the page; its pictures go to the album.
    pub fn chapter(&self, out: &mut String, album: &mut Album<'_>) {
        let Printed { number, title, said, here, .. } = self.printed;
        let _ = writeln!(out, "### {number}: {title}\n\n*The paper*: {said}\n");
        let mut lines: Vec<String> = match here {
            Here::Part { part, figure, line, findings } => {
                self.figures(out, album, (*part, figure), *line);
                self.gpus.iter().flat_map(|gpu| of_part(gpu, *part, findings)).collect()
            }
            Here::Element { picture, findings } => {
                let mut of_gpu = |gpu| {
                    let why_not = self.picture(out, album, gpu, picture);
                    why_not.into_iter().chain(of_elements(gpu, findings)).collect::<Vec<String>>()
                };
                self.gpus.iter().flat_map(&mut of_gpu).collect()
            }
        };
        // A finding without a value has one reason, which may be why there is no picture.
        lines.dedup();
        list(out, lines.into_iter());
    }

    /// The name of the picture of one GPU, or of all.
    fn key(&self, gpu: Option<&Gpu<'_>>) -> String {
        let all = format!("{}-{}", self.paper.key, self.printed.file);
        gpu.map_or(all.clone(), |gpu| format!("{all}-{}", gpu.name))
    }

    /// The figures of a part.
    fn figures(&self, out: &mut String, album: &mut Album<'_>, of: (PartName, &str), line: Option<&str>) {
        if let Some(label) = line {
            if let Some(figure) = together(self.printed, of, label, self.gpus) {
                picture(out, album, &self.key(None), &figure);
            }
            return;
        }
        for gpu in self.gpus {
            let Some(figure) = gpu.characterization.and_then(|answer| measured(answer, of)) else { continue };
            let title = format!("{}: {}", figure.title, gpu.name);
            let own = Figure { title, ..in_ns(figure).unwrap_or(figure.clone()) };
            picture(out, album, &self.key(Some(gpu)), &own);
        }
    }

    /// The picture of a GPU's discovery; why there is none, where that is no finding's reason.
    fn picture(&self, out: &mut String, album: &mut Album<'_>, gpu: &Gpu<'_>, picture: &Pictured) -> Option<String> {
        let Some(topology) = gpu.topology else { return Some(format!("{}: {}", gpu.name, no_result("discover"))) };
        let key = self.key(Some(gpu));
        let (element, attribute, series) = match *picture {
            Pictured::Words => return None,
            Pictured::Hierarchy => {
                album.place(out, &key, &diagram::picture(topology)?);
                return None;
            }
            Pictured::Value(element, attribute) => (element, attribute, None),
            Pictured::Series(element, attribute, series) => (element, attribute, Some(series)),
        };
        let content = topology.element(element);
        let drawn = match series {
            None => plots::of(element, content),
            Some(_) => plots::series::of(element, content),
        };
        let mut drawn = drawn.into_iter().filter(|drawn| drawn.attribute == attribute && drawn.series == series);
        let Some(drawn) = drawn.next().and_then(|drawn| drawn.of_gpu(&gpu.name)) else {
            return without(topology, element, attribute, series)
                .map(|why| format!("{}, {element}.{attribute}: {why}", gpu.name));
        };
        album.place(out, &key, &drawn.picture);
        let _ = writeln!(out, "{}\n", plain(drawn.picture.description()));
        folded(out, "The numbers of this figure", &drawn.plot.numbers());
        None
    }
}

fn no_result(command: &str) -> String {
    format!("no result of `strata {command}` is given")
}

/// Why there is no picture of a finding.
fn without(topology: &Topology, element: ElementName, attribute: Attribute, series: Option<&str>) -> Option<String> {
    if !topology.elements.contains_key(&element) {
        return Some(format!("{element} was not measured"));
    }
    Some(match topology.element(element).finding(attribute) {
        None => "this GPU has nothing of the kind, or it was not asked".to_owned(),
        Some(finding) if !finding.is_known() => words::reason(finding),
        Some(_) if series.is_some() => {
            "the result holds no points of it: it is of an older version; a replay of its recording holds them"
                .to_owned()
        }
        Some(_) => words::NO_PICTURE.to_owned(),
    })
}

/// What a discovery found; why nothing was, where nothing is known.
fn of_elements(gpu: &Gpu<'_>, findings: &[(ElementName, Attribute)]) -> Vec<String> {
    let found = findings.iter().filter_map(|(element, attribute)| {
        let finding = gpu.topology?.element(*element).finding(*attribute)?;
        Some(format!("{}, {element}.{attribute}: {}", gpu.name, said(finding)))
    });
    found.collect()
}

/// What was found of a part; why nothing was, where nothing is known.
fn of_part(gpu: &Gpu<'_>, part: PartName, findings: &[&str]) -> Vec<String> {
    let name = &gpu.name;
    let Some(answer) = gpu.characterization else { return vec![format!("{name}: {}", no_result("characterize"))] };
    let Some(content) = answer.parts.get(&part) else {
        return vec![format!("{name}: {} was not measured", part.key())];
    };
    if let Some(reason) = unanswered(content) {
        return vec![format!("{name}: {reason}")];
    }
    let found = findings.iter().filter_map(|key| Some((key, content.findings.get(*key)?)));
    found.map(|(key, finding)| format!("{name}, {key}: {}", said(finding))).collect()
}

fn said(finding: &Finding) -> String {
    if finding.is_known() { Detail::of(finding).to_string() } else { words::reason(finding) }
}

fn picture(out: &mut String, album: &mut Album<'_>, key: &str, figure: &Figure) {
    if let Some(picture) = svg::picture(&plot(figure)) {
        album.place(out, key, &picture);
    }
    let _ = writeln!(out, "{}\n", plain(&description(figure)));
    let missing = Grid::of(figure).missing();
    if !missing.is_empty() {
        list(out, missing.into_iter());
    }
    folded(out, "The numbers of this figure, with the range of what was observed", &numbers(figure));
}

/// A figure of a part, if it was measured.
fn measured<'a>(answer: &'a Characterization, (part, name): (PartName, &str)) -> Option<&'a Figure> {
    answer.parts.get(&part)?.figures.iter().find(|figure| figure.name == name)
}

/// One figure with a line for each GPU that has it; in nanoseconds, since GPUs have clocks of their own, unless the clock of one of
/// them is not known.
fn together(printed: &Printed, of: (PartName, &str), label: &str, gpus: &[Gpu<'_>]) -> Option<Figure> {
    let own = |gpu: &Gpu<'_>| {
        let figure = measured(gpu.characterization?, of)?;
        let line = figure.lines.iter().find(|line| line.label == label)?;
        Some(Figure { lines: vec![Line { label: gpu.name.clone(), ..line.clone() }], ..figure.clone() })
    };
    let all: Vec<Figure> = gpus.iter().filter_map(own).collect();
    let timed: Option<Vec<Figure>> = all.iter().map(in_ns).collect();
    let mut all = timed.unwrap_or(all).into_iter();
    let mut figure = all.next()?;
    figure.lines.extend(all.flat_map(|other| other.lines));
    Some(Figure { title: printed.title.to_owned(), ..figure })
}

/// A figure of cycles in nanoseconds, if all of its points are times.
fn in_ns(figure: &Figure) -> Option<Figure> {
    let point = |point: &Point| {
        let time = point.ns?;
        Some(Point { value: time.value, low: time.low, high: time.high, ns: None, ..point.clone() })
    };
    let line = |line: &Line| {
        let points: Option<Vec<Point>> = line.points.iter().map(point).collect();
        Some(Line { points: points?, ..line.clone() })
    };
    let lines: Option<Vec<Line>> = figure.lines.iter().map(line).collect();
    let y = Axis { label: figure.y.label.replace("cycles", "ns"), unit: Some("ns".into()), ..figure.y.clone() };
    Some(Figure { lines: lines?, y, ..figure.clone() })
}
