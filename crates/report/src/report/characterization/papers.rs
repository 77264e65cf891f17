//! The figures of a paper, for the GPUs at hand: Fuchs et al., "Characterization of GPGPU memory" (figures 2 to 9 and 11 to 18).
//!
//! Figures 2 to 5 have a line for each GPU, in nanoseconds, since GPUs have clocks of their own. Of the others the paper has a
//! picture for each GPU, and so has the page.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;

use super::figure::{Grid, description, numbers, plot};
use crate::report::album::{Album, Markdown, Pictures};
use crate::report::markdown::{folded, list, plain};
use crate::report::svg;
use crate::report::words::{self, Detail};
use strata_model::characterization::{Axis, Characterization, Figure, Line, PartName, Point};
use strata_model::topology::Finding;

/// A figure of the paper.
struct Printed {
    /// Its number, or the first and the last of one figure for each GPU.
    numbers: (u32, u32),
    /// What it shows.
    title: &'static str,
    /// What the paper says of it, in our words.
    said: &'static str,
    /// Our part and figure.
    of: (PartName, &'static str),
    /// The line of our figure that is a GPU's line of the paper's; all lines, where the paper has a figure for each GPU.
    line: Option<&'static str>,
    /// The findings that say the same in numbers.
    findings: &'static [&'static str],
}

const FIGURES: [Printed; 7] = [
    Printed {
        numbers: (2, 2),
        title: "Shared memory by the distance of two loads",
        said: "The time is the same at all distances, so nothing caches shared memory. On the K20 it is about 70 % longer than on \
               older GPUs.",
        of: (PartName::Locality, "mean"),
        line: Some("ld.shared"),
        findings: &["shared_steps", "shared_off_formula"],
    },
    Printed {
        numbers: (3, 3),
        title: "Texture memory by the distance of two loads",
        said: "Loads take longer from a distance of 32 B on, so a line of the first level has 32 B.",
        of: (PartName::Locality, "mean"),
        line: Some("tex.1d"),
        findings: &["texture_steps", "texture_off_formula"],
    },
    Printed {
        numbers: (4, 4),
        title: "Constant memory by the distance of two loads",
        said: "The time changes at 64 B and at 256 B: there are two levels of cache, with lines of 64 B and of 256 B.",
        of: (PartName::Locality, "mean"),
        line: Some("ld.const"),
        findings: &["constant_steps", "constant_off_formula"],
    },
    Printed {
        numbers: (5, 5),
        title: "Global memory by the distance of two loads",
        said: "On GPUs of compute capability 2.x the time steps at 64 B. On those of 3.x it has no step, since they do not cache \
               global loads in the L1.",
        of: (PartName::Locality, "mean"),
        line: Some("ld.global.ca"),
        findings: &["global_ca_steps", "global_ca_off_formula"],
    },
    Printed {
        numbers: (6, 9),
        title: "1024 writes of global memory, by the number of barriers",
        said: "A barrier after each write takes 178 % longer (C2070), 163 % (Quadro 2000), 223 % (GTX 680) or 281 % (K20) than one \
               barrier. More threads take at most 11 %, 13 %, 6 % or 38 % longer.",
        of: (PartName::Synchronization, "block"),
        line: None,
        findings: &["slowdown_by_barriers", "slowdown_by_threads"],
    },
    Printed {
        numbers: (11, 14),
        title: "1024 reads of each thread, by the distance from thread to thread",
        said: "The greatest distance takes 898 % longer (C2070), 770 % (Quadro 2000), 443 % (GTX 680) or 263 % (K20). The time \
               stays from 16 threads on (2.x) or from 32 (3.x). On 2.x it grows again from 128 threads on.",
        of: (PartName::Coalescing, "cold"),
        line: None,
        findings: &["slowdown_from_memory", "plateau_threads", "rise_threads"],
    },
    Printed {
        numbers: (15, 18),
        title: "4096 statements, by the number of variables",
        said: "From 64 variables of 64 bits on, 512 B, the time grows: the compiler spills. With 2048 variables one thread takes \
               1140 % longer.",
        of: (PartName::Spilling, "latency"),
        line: None,
        findings: &["first_spilled_256_threads", "first_spilled_256_threads_bytes", "slowdown_fewest_threads"],
    },
];

/// Name of the page within its folder.
pub const PAGE: &str = "figures.md";

/// The page of all figures, [`PAGE`], and their pictures, which lie beside it. GPUs are in the order given.
pub fn papers(answers: &[&Characterization]) -> Markdown {
    let gpus = named(answers);
    let mut album = Album::new(Pictures::Beside(OsStr::new(".")));
    let mut out = String::from("# Figures of the papers, measured here\n\n");
    let _ = writeln!(
        out,
        "Fuchs et al., \"Characterization of GPGPU memory\": what the paper says of each figure, and the same figure of {}.\n",
        plain(&gpus.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "))
    );
    for printed in &FIGURES {
        chapter(&mut out, &mut album, printed, &gpus);
    }
    album.finished(out)
}

/// Each answer with the name of its GPU; of several with one name the later get a number.
fn named<'a>(answers: &[&'a Characterization]) -> Vec<(String, &'a Characterization)> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut name = |answer: &Characterization| {
        let simulated = if answer.run.simulated { ", simulated" } else { "" };
        let name = format!("{}{simulated}", answer.device.name);
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name } else { format!("{name} ({count})") }
    };
    answers.iter().map(|&answer| (name(answer), answer)).collect()
}

/// Our figure of a paper's, if it was measured.
fn measured<'a>(answer: &'a Characterization, printed: &Printed) -> Option<&'a Figure> {
    answer.parts.get(&printed.of.0)?.figures.iter().find(|figure| figure.name == printed.of.1)
}

// Writing to a string cannot fail, so the results are dropped.
fn chapter(out: &mut String, album: &mut Album<'_>, printed: &Printed, gpus: &[(String, &Characterization)]) {
    let (first, last) = printed.numbers;
    let numbered = if first == last { format!("Figure {first}") } else { format!("Figures {first} to {last}") };
    let _ = writeln!(out, "## {numbered}: {}\n", printed.title);
    let _ = writeln!(out, "*The paper*: {}\n", printed.said);
    let key = if first == last { format!("fuchs-{first:02}") } else { format!("fuchs-{first:02}-to-{last:02}") };
    if let Some(label) = printed.line {
        if let Some(figure) = together(printed, label, gpus) {
            picture(out, album, &key, &figure);
        }
    } else {
        for (name, answer) in gpus {
            let Some(figure) = measured(answer, printed) else { continue };
            let own = Figure { title: format!("{}: {name}", figure.title), ..in_ns(figure).unwrap_or(figure.clone()) };
            picture(out, album, &format!("{key}-{name}"), &own);
        }
    }
    let said = gpus.iter().flat_map(|(name, answer)| here(name, answer, printed));
    list(out, said.collect::<Vec<_>>().into_iter());
}

/// What was found of a GPU; why nothing was, where nothing is known.
fn here(name: &str, answer: &Characterization, printed: &Printed) -> Vec<String> {
    let Some(part) = answer.parts.get(&printed.of.0) else {
        return vec![format!("{name}: {} was not measured", printed.of.0.key())];
    };
    if let Some(reason) = super::unanswered(part) {
        return vec![format!("{name}: {reason}")];
    }
    let found = printed.findings.iter().filter_map(|key| Some((key, part.findings.get(*key)?)));
    let words = |(key, finding): (&&str, &Finding)| {
        let words = if finding.is_known() { Detail::of(finding).to_string() } else { words::reason(finding) };
        format!("{name}, {key}: {words}")
    };
    found.map(words).collect()
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

/// One figure with a line for each GPU that has it; in nanoseconds, unless the clock of one of them is not known.
fn together(printed: &Printed, label: &str, gpus: &[(String, &Characterization)]) -> Option<Figure> {
    let own = |(name, answer): &(String, &Characterization)| {
        let figure = measured(answer, printed)?;
        let line = figure.lines.iter().find(|line| line.label == label)?;
        Some(Figure { lines: vec![Line { label: name.clone(), ..line.clone() }], ..figure.clone() })
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
