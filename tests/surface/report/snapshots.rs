//! Reports of every recording and of every simulated machine, kept to be read: text, the skeleton of the Markdown, what stands
//! where in the drawing. The texts of recordings are kept beside them (`tests/surface/golden.rs`).

use std::collections::BTreeMap;

use strata_model::characterization::{self, Characterization};
use strata_report::report::{self, Pictures, Terminal};

use super::drawing::{all, drawn, outline, read};
use super::*;

/// Widths that a text is tried at, in columns.
const WIDTHS: [usize; 5] = [40, 60, 80, 120, 160];

fn beside<'a>() -> Pictures<'a> {
    Pictures::Beside("figures".as_ref())
}

#[test]
fn texts() {
    for (name, topology) in all().into_iter().filter(|(_, topology)| topology.run.simulated) {
        insta::assert_snapshot!(
            format!("{name}-text"),
            report::text(&topology, &Terminal::PAPER, report::Extent::Details)
        );
    }
}

#[test]
fn drawings() {
    for (name, topology) in all() {
        insta::assert_snapshot!(format!("{name}-drawing"), outline(&drawn(&topology).unwrap()));
    }
}

/// Two of them to the last unit: caches of their own and one cache for all.
#[test]
fn whole_drawings() {
    for (name, topology) in
        all().into_iter().filter(|(name, _)| ["k20c", "recorded-2026-11-21-h200"].contains(&name.as_str()))
    {
        insta::assert_snapshot!(format!("{name}-svg"), drawn(&topology).unwrap());
    }
}

/// The Markdown without what the text says in the same words: findings, and the numbers of pictures.
#[test]
fn markdown_skeletons() {
    for (name, topology) in all() {
        let report = report::markdown(&topology, beside());
        let mut folded = false;
        let mut skeleton = Vec::new();
        for line in report.text.lines().filter(|line| !line.is_empty() && !line.starts_with("- **")) {
            folded = line.starts_with("<details>") || folded && line != "</details>";
            if !folded && !line.starts_with("**") {
                skeleton.push(line);
            }
        }
        insta::assert_snapshot!(format!("{name}-markdown"), skeleton.join("\n"));
    }
}

#[test]
fn no_line_of_a_text_is_longer_than_the_terminal() {
    let topologies = all();
    let costs: Vec<Characterization> = recorded_of(characterization::SCHEMA);
    for width in WIDTHS {
        let terminal = Terminal::new(width, false);
        let texts = topologies.iter().map(|(_, topology)| report::text(topology, &terminal, report::Extent::Details));
        for text in texts.chain(
            costs.iter().map(|answer| report::characterization::text(answer, &terminal, report::Extent::Details)),
        ) {
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width} columns: {line}");
            }
        }
    }
}

#[test]
fn a_narrow_text_says_what_a_wide_one_says() {
    for (name, topology) in all() {
        let words = |width| {
            let text = report::text(&topology, &Terminal::new(width, false), report::Extent::Details);
            let list = text.split("Intervals and sources").nth(1).unwrap().to_owned();
            // Latency under load has no column of its own: its nanoseconds are in the list at any width.
            list.split_whitespace().collect::<String>().replace("loaded_latency.ns:", "")
        };
        assert_eq!(words(80), words(160), "{name}");
        let (narrow, wide) = (words(40), words(80));
        assert!(narrow.len() > wide.len(), "{name}: nanoseconds moved to the list");
        assert!(narrow.contains("latency.ns:") && !wide.contains("latency.ns:"), "{name}");
    }
}

#[test]
fn styles_are_all_that_a_terminal_adds() {
    for (name, topology) in all() {
        let plain = report::text(&topology, &Terminal::new(80, false), report::Extent::Details);
        assert!(!plain.contains('\u{1b}'));
        let mut styled = report::text(&topology, &Terminal::new(80, true), report::Extent::Details);
        assert!(styled.contains("\u{1b}[1m"), "{name}");
        for style in ["\u{1b}[1m", "\u{1b}[2m", "\u{1b}[0m"] {
            styled = styled.replace(style, "");
        }
        assert_eq!(plain, styled, "{name}");
    }
}

#[test]
fn every_picture_is_a_file_of_its_own_and_xml() {
    let costs: Vec<Characterization> = recorded_of(characterization::SCHEMA);
    let topologies = all();
    let reports = topologies.iter().map(|(_, topology)| report::markdown(topology, beside()));
    for report in reports.chain(costs.iter().map(|answer| report::characterization::markdown(answer, beside()))) {
        let mut files = BTreeMap::new();
        for picture in &report.pictures {
            read(&picture.svg);
            assert!(files.insert(picture.name.as_str(), 0).is_none(), "{} twice", picture.name);
        }
        assert!(!files.is_empty() && !report.text.contains("data:image"));
        for (at, link) in report.text.match_indices("](figures/") {
            let name = report.text[at + link.len()..].split(')').next().unwrap();
            *files.get_mut(name).unwrap_or_else(|| panic!("{name} is no file")) += 1;
        }
        assert!(files.values().all(|links| *links == 1), "{files:?}");
    }
}
