//! What attributes, elements and terms mean, as the command says it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use strata_model::attribute::Attribute;
use strata_model::glossary::GLOSSARY;
use strata_model::topology::{ElementName, Topology};

fn strata(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_strata")).args(arguments).output().expect("the binary runs")
}

#[track_caller]
fn explained(name: &str) -> String {
    let run = strata(&["explain", name]);
    assert_eq!((run.status.code(), run.stderr.as_slice()), (Some(0), &[][..]), "{name}");
    String::from_utf8(run.stdout).unwrap()
}

/// The text in one line.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_attribute_of_an_element_reads_well() {
    insta::assert_snapshot!("l1_size", explained("l1.size"));
    insta::assert_snapshot!("tlb_l1", explained("tlb_l1"));
}

#[test]
fn every_attribute_and_every_element_is_explained() {
    for attribute in Attribute::ALL {
        let (text, known) = (words(&explained(attribute.key())), attribute.explained());
        for part in [attribute.about(), known.found, known.fails, known.used] {
            assert!(text.contains(part), "{attribute}: {text}");
        }
    }
    for element in ElementName::ALL {
        let text = words(&explained(element.key()));
        assert!(text.contains(element.about()) && text.contains(element.used()), "{text}");
        assert!(element.attributes().all(|attribute| text.contains(&format!("{element}.{attribute}: "))), "{text}");
    }
    let both = explained("l2.latency");
    assert!(both.contains("(l2.latency.cycles)") && both.contains("(l2.latency.ns)"), "{both}");
    assert_eq!(explained("least_configuration.sets"), explained("least_configuration"));
}

#[test]
fn what_recorded_results_have_is_what_elements_may_have() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = files
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| fs::read_to_string(path).unwrap());
    let results: Vec<Topology> = texts.filter_map(|text| serde_json::from_str(&text).ok()).collect();
    assert!(!results.is_empty());
    let elements = results.iter().flat_map(|result| &result.elements);
    for (name, attribute) in elements.flat_map(|(name, element)| element.findings().map(move |(a, _)| (name, a))) {
        assert!(name.attributes().any(|known| known == attribute), "{name}.{attribute}");
        assert!(!explained(&format!("{name}.{attribute}")).contains("looks for no such"), "{name}.{attribute}");
    }
    assert!(explained("l2.bank_width").contains("strata looks for no such attribute of l2."));
}

#[test]
fn near_misses_are_corrected() {
    for (name, near) in [
        ("l1.siz", "no attribute `siz`; did you mean `size`"),
        ("l1.latency.cycle", "`latency.cycles`"),
        ("textur.size", "no element `textur`; did you mean `texture`?"),
        ("sise", "`size`"),
        ("txture", "`texture`"),
        ("foot-print", "`footprint`"),
        ("", "l1, texture, read_only"),
        ("l1.", "there are "),
    ] {
        let run = strata(&["explain", name]);
        let message = String::from_utf8(run.stderr).unwrap();
        assert_eq!((run.status.code(), run.stdout.as_slice()), (Some(2), &[][..]), "{name}");
        assert!(message.starts_with("strata: no ") && message.contains(near), "{name}: {message}");
    }
}

#[test]
fn the_glossary_has_the_terms_of_the_field() {
    let run = strata(&["glossary"]);
    let text = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.status.code(), Some(0));
    for term in ["pointer chase", "footprint", "sector", "set", "way", "reach", "resident blocks", "carveout", "warp"] {
        assert!(text.lines().any(|line| line == term), "{term}: {text}");
        assert!(words(&explained(term)).to_lowercase().contains(term));
    }
    assert_eq!(text.lines().filter(|line| !line.starts_with(' ')).count(), GLOSSARY.len());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
