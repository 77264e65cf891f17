//! `strata links`, on simulated GPUs that a machine file gives a link.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{Run, refused, strata};
use crate::published;

const ONLY: &str = "peer_l2.latency,peer_l2.kept_by,peer_dram.latency,peer_dram.from_peer_bandwidth";

/// The name of a simulated GPU whose machine file, in this folder, has a link of so many bytes a cycle.
fn gpu(dir: &TempDir, name: &str, bandwidth: u32) -> String {
    let machine = include_str!("../../machines/quadro2000.toml");
    let link = format!("[link]\ncycles = 900\nmemory_cycles = 1300\nbandwidth = {bandwidth}\ncached = true\n");
    let file = dir.path().join(format!("{name}.toml"));
    fs::write(&file, machine.replacen("\n[memory]\n", &format!("\n{link}\n[memory]\n"), 1)).unwrap();
    format!("sim:{}", file.display())
}

fn links(devices: &[&str], more: &[&str]) -> Run {
    strata(&[&["links", "--effort", "quick", "--only", ONLY, "--device", &devices.join(",")], more].concat())
}

#[test]
fn a_slow_link_is_in_its_row_of_each_matrix() {
    let dir = TempDir::new().unwrap();
    let [fast, slow] = [("fast", 16), ("slow", 8)].map(|(name, width)| gpu(&dir, name, width));
    let file = dir.path().join("links.json");
    let found = links(&[&fast, &slow, &fast], &["--format", "json", "--output", file.to_str().unwrap()]);
    assert_eq!((found.status, found.stdout.as_str()), (Some(0), ""), "{}", found.stderr);
    let text = fs::read_to_string(file).unwrap();
    published::conforms(&text);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], json!("strata/links/1"));
    let names: Vec<&str> =
        document["gpus"].as_array().unwrap().iter().map(|gpu| gpu["device"].as_str().unwrap()).collect();
    assert_eq!(names, [format!("{fast}#0").as_str(), &slow, &format!("{fast}#2")]);
    let pairs = document["links"].as_array().unwrap();
    let ends: Vec<[&Value; 2]> = pairs.iter().map(|link| [&link["from"], &link["to"]]).collect();
    let [a, b, c] = [0, 1, 2].map(|at| &document["gpus"][at]["device"]);
    assert_eq!(ends, [[a, b], [a, c], [b, a], [b, c], [c, a], [c, b]]);
    let rate =
        |link: &Value| link["topology"]["elements"]["peer_dram"]["from_peer_bandwidth"]["value"].as_f64().unwrap();
    for link in pairs {
        // The link is that of the GPU that works.
        let share = rate(link) / rate(&pairs[0]);
        let expected = if link["from"] == *b { 0.5 } else { 1.0 };
        assert!((share / expected - 1.0).abs() < 0.01, "{share} of {}", link["from"]);
        assert_eq!(link["topology"]["elements"]["peer_l2"]["kept_by"]["value"], json!(["l1"]));
    }
}

#[test]
fn a_text_has_matrices_and_a_page_has_heat_maps() {
    let dir = TempDir::new().unwrap();
    let name = gpu(&dir, "m", 16);
    let text = links(&[&name, &name], &[]);
    assert_eq!(text.status, Some(0), "{}", text.stderr);
    let lines: Vec<&str> = text.stdout.lines().collect();
    assert_eq!(lines[..2], ["SIMULATED: no hardware was measured.", "Links of 2 x Quadro 2000"]);
    let at = lines.iter().position(|line| line.starts_with("Latency of the other GPU's L2")).unwrap();
    let cells = |line: &str| line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!([cells(lines[at + 2]), cells(lines[at + 3])], [["-", "900"], ["900", "-"]], "{}", text.stdout);
    assert!(text.stdout.contains("are kept by: L1 data."), "{}", text.stdout);
    let page = links(&[&name, &name], &["--format", "html"]);
    assert_eq!(page.status, Some(0), "{}", page.stderr);
    assert_eq!(page.stdout.matches("<table class=\"heat\">").count(), 3);
    assert!(page.stdout.contains("style=\"background: #") && page.stdout.contains("SIMULATED"));
}

#[test]
fn a_pair_without_a_link_does_not_lose_the_others() {
    let dir = TempDir::new().unwrap();
    let name = gpu(&dir, "m", 16);
    let some = links(&[&name, "sim:840m"], &[]);
    assert_eq!(some.status, Some(4), "{}", some.stderr);
    assert!(some.stdout.contains("Not measured") && some.stdout.contains("no link to another GPU"), "{}", some.stdout);
    let all = links(&["all"], &[]);
    assert_eq!((all.status, all.stdout.as_str()), (Some(3), ""), "{}", all.stderr);
}

#[test]
fn what_cannot_be_is_refused() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("there.strata");
    fs::write(&file, "kept").unwrap();
    let there = file.to_str().unwrap();
    refused(&["links", "--device", "sim:h200"], &["name two GPUs"]);
    refused(&["links", "--device", "sim:h200,sim:h200", "--only", "l2"], &["nothing of a link", "peer_l2"]);
    refused(&["links", "--device", "sim:840m,sim:840m"], &["describes no link"]);
    refused(&["links", "--device", "sim:h200,K20"], &["unknown device `K20`"]);
    refused(&["links", "--device", "sim:h200,sim:h200", "--record", there], &["give a folder"]);
    refused(&["links", "--device", &format!("sim:h200,sim:{there}"), "--output", there], &["would be lost"]);
    assert_eq!(fs::read_to_string(file).unwrap(), "kept");
}
