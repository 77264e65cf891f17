//! The figures of three papers, for the GPUs at hand: Fuchs et al. (from characterizations), Größler's thesis and Mei et al. (from
//! discoveries).
//!
//! What a paper prints is a table (`fuchs`, `groessler`, `mei`); `draw` makes the figure of it, with the pictures of the
//! reports.

mod draw;
mod fuchs;
mod groessler;
mod mei;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;

use super::album::{Album, Markdown, Pictures};
use super::markdown::{list, plain};
use draw::Drawing;
use strata_model::attribute::Attribute;
use strata_model::characterization::{Characterization, PartName};
use strata_model::facts::DeviceFacts;
use strata_model::topology::{ElementName, RunInfo, Topology};

/// Name of the page within its folder.
pub const PAGE: &str = "figures.md";

/// A result of which figures are made.
#[derive(Clone, Copy, Debug)]
pub enum Measured<'a> {
    /// Of `strata discover`.
    Discovery(&'a Topology),
    /// Of `strata characterize`.
    Characterization(&'a Characterization),
}

/// A paper with its figures.
struct Paper {
    /// Authors and title.
    title: &'static str,
    /// What the names of its pictures begin with.
    key: &'static str,
    /// The figures that are measured here.
    figures: &'static [Printed],
    /// The others, and why they are not here.
    others: &'static [(&'static str, &'static str)],
}

/// A figure of a paper, or figures of the paper that are one for each GPU.
struct Printed {
    /// "Figure 2".
    number: &'static str,
    /// The number in the name of its picture.
    file: &'static str,
    /// What it shows.
    title: &'static str,
    /// What the paper says of it, in our words.
    said: &'static str,
    /// What it is here.
    here: Here,
}

/// What a figure of a paper is here.
enum Here {
    /// A figure of a part of a characterization.
    Part {
        part: PartName,
        figure: &'static str,
        /// The line of it that is a GPU's line of the paper's; all lines, where the paper has a figure for each GPU.
        line: Option<&'static str>,
        /// The findings that say the same in numbers.
        findings: &'static [&'static str],
    },
    /// A picture of a discovery.
    Element { picture: Pictured, findings: &'static [(ElementName, Attribute)] },
}

/// A picture of a discovery.
enum Pictured {
    /// The drawing of all memories and caches.
    Hierarchy,
    /// That of the value of an attribute.
    Value(ElementName, Attribute),
    /// That of a series of a finding.
    Series(ElementName, Attribute, &'static str),
    /// None: the paper draws a structure, and the findings say it in words.
    Words,
}

const PAPERS: [&Paper; 3] = [&fuchs::PAPER, &groessler::PAPER, &mei::PAPER];

/// A GPU with its results.
struct Gpu<'a> {
    name: String,
    device: &'a DeviceFacts,
    topology: Option<&'a Topology>,
    characterization: Option<&'a Characterization>,
}

/// The page of all figures, [`PAGE`], and their pictures, which lie beside it. GPUs are in the order given; results of one GPU stand
/// together.
pub fn papers(results: &[Measured<'_>]) -> Markdown {
    let gpus = named(results);
    let mut album = Album::new(Pictures::Beside(OsStr::new(".")));
    let mut out = String::from("# Figures of the papers, measured here\n\n");
    let names: Vec<&str> = gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    // Writing to a string cannot fail, so the results are dropped.
    let _ = writeln!(
        out,
        "What a paper says of each figure, and the same figure of {}. A result of `strata characterize` gives those of Fuchs et al., \
         a result of `strata discover` those of the others.\n",
        plain(&names.join(", "))
    );
    for paper in PAPERS {
        let _ = writeln!(out, "## {}\n", paper.title);
        for printed in paper.figures {
            Drawing { paper, printed, gpus: &gpus }.chapter(&mut out, &mut album);
        }
        let _ = writeln!(out, "### Figures that are not here\n");
        list(&mut out, paper.others.iter().map(|(numbers, why)| format!("{numbers}: {why}")));
    }
    album.finished(out)
}

/// The GPUs of the results. A discovery and a characterization of one name are of one GPU, unless the driver tells the two apart; of
/// several GPUs with one name the later get a number.
fn named<'a>(results: &[Measured<'a>]) -> Vec<Gpu<'a>> {
    let mut gpus: Vec<(String, Gpu<'a>)> = Vec::new();
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for &result in results {
        let (device, run): (&DeviceFacts, &RunInfo) = match result {
            Measured::Discovery(answer) => (&answer.device, &answer.run),
            Measured::Characterization(answer) => (&answer.device, &answer.run),
        };
        let alone = format!("{}{}", device.name, if run.simulated { ", simulated" } else { "" });
        let is_same = |(name, gpu): &(String, Gpu<'_>)| {
            let lacks = match result {
                Measured::Discovery(_) => gpu.topology.is_none(),
                Measured::Characterization(_) => gpu.characterization.is_none(),
            };
            *name == alone && lacks && gpu.device.uuid == device.uuid
        };
        let at = gpus.iter().position(is_same).unwrap_or_else(|| {
            let count = seen.entry(alone.clone()).or_default();
            *count += 1;
            let name = if *count == 1 { alone.clone() } else { format!("{alone} ({count})") };
            gpus.push((alone, Gpu { name, device, topology: None, characterization: None }));
            gpus.len() - 1
        });
        match result {
            Measured::Discovery(answer) => gpus[at].1.topology = Some(answer),
            Measured::Characterization(answer) => gpus[at].1.characterization = Some(answer),
        }
    }
    gpus.into_iter().map(|(_, gpu)| gpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_picture_has_a_name_of_its_own() {
        let names = |paper: &'static Paper| paper.figures.iter().map(|f| format!("{}-{}", paper.key, f.file));
        let mut all: Vec<String> = PAPERS.into_iter().flat_map(names).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
