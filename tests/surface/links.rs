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
    let tables = links(&[&name, &name], &["--format", "markdown"]);
    assert_eq!(tables.status, Some(0), "{}", tables.stderr);
    let numbers = tables.stdout.split("\n## Latency of the other GPU's L2 (cycles)\n").nth(1).unwrap();
    let rows: Vec<&str> = numbers.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows[2].ends_with("#0 | - | 900 |") && rows[3].ends_with("#1 | 900 | - |"), "{rows:?}");
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

/// Results of `strata links` between two healthy GPUs, with seeds 1 to 3.
fn good(dir: &TempDir, name: &str) -> Vec<String> {
    let file = |seed: &str| dir.path().join(format!("good{seed}.json")).to_str().unwrap().to_owned();
    let run = |seed: &str| {
        let run = links(&[name, name], &["--seed", seed, "--format", "json", "--output", &file(seed)]);
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        file(seed)
    };
    ["1", "2", "3"].map(run).to_vec()
}

#[test]
fn a_slow_link_is_named_by_a_check_and_in_a_fleet() {
    let dir = TempDir::new().unwrap();
    let [fast, slow] = [("fast", 16), ("slow", 8)].map(|(name, width)| gpu(&dir, name, width));
    let results = good(&dir, &fast);
    let [of_links, of_gpus, node] =
        ["links.toml", "gpus.toml", "node.json"].map(|name| dir.path().join(name).to_str().unwrap().to_owned());
    let results: Vec<&str> = results.iter().map(String::as_str).collect();
    let made = strata(&[&["compare"], &results[..], &["--write-policy", &of_links]].concat());
    assert_eq!(made.status, Some(0), "{}", made.stderr);

    // A check measures the links alone, if its only policy is for links.
    let devices = format!("{fast},{slow}");
    let check = |policies: &[&str], more: &[&str]| {
        let policies: Vec<&str> = policies.iter().flat_map(|policy| ["--policy", policy]).collect();
        strata(&[&["check", "--effort", "quick", "--seed", "4", "--device", &devices], &policies[..], more].concat())
    };
    let run = check(&[&of_links], &["--result", &node]);
    assert_eq!(run.status, Some(1), "{}{}", run.stdout, run.stderr);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{}", run.stdout);
    let begins = format!("1 of 2 links failed: {slow} to {fast} peer_dram from_peer_bandwidth is ");
    assert!(lines[0].starts_with(&begins) && lines[0].ends_with(" % below its limit"), "{}", lines[0]);
    assert!(lines[1].starts_with(&format!("{fast} to {slow} passed: ")), "{}", lines[1]);
    assert!(lines[2].starts_with(&format!("{slow} to {fast} failed: peer_dram from_peer_bandwidth: ")), "{}", lines[2]);

    // Its result is one of a fleet, beside the results of `strata links`.
    let kept = fs::read_to_string(&node).unwrap();
    published::conforms(&kept);
    let fleet = strata(&[&["fleet"], &results[..], &[&node, "--format", "json"]].concat());
    assert_eq!(fleet.status, Some(1), "{}", fleet.stderr);
    published::conforms(&fleet.stdout);
    let fleet: Value = serde_json::from_str(&fleet.stdout).unwrap();
    assert_eq!([&fleet["gpus"], &fleet["links"], &fleet["results"]], [&json!(0), &json!(8), &json!(8)]);
    let product = &fleet["products"][0];
    assert_eq!([&product["name"], &product["is_of_links"]], [&json!("Quadro 2000 to Quadro 2000"), &json!(true)]);
    let stands_out = product["stand_out"].as_array().unwrap();
    assert_eq!(stands_out.len(), 1, "{stands_out:?}");
    assert_eq!(stands_out[0]["gpu"]["device"], json!(format!("{slow} to {fast}")));
    assert_eq!(stands_out[0]["outliers"][0]["place"], json!("peer_dram from_peer_bandwidth"));
    let text = strata(&[&["fleet"], &results[..], &[&node]].concat());
    assert!(text.stdout.contains("Fleet of 8 links: Quadro 2000 to Quadro 2000"), "{}", text.stdout);
    assert!(text.stdout.contains("1 link stands out."), "{}", text.stdout);

    // With a policy for the GPUs both are checked, and neither policy is used for the other's results.
    let good: Vec<String> =
        ["1", "2"].map(|seed| dir.path().join(format!("gpu{seed}.json")).display().to_string()).to_vec();
    for (seed, file) in ["1", "2"].iter().zip(&good) {
        let only = ["--only", "constant_l1.size", "--effort", "quick", "--seed", seed];
        let to = ["--format", "json", "--output", file];
        assert_eq!(strata(&[&["discover", "--device", &fast], &only[..], &to[..]].concat()).status, Some(0));
    }
    let made = strata(&["compare", &good[0], &good[1], "--write-policy", &of_gpus]);
    assert_eq!(made.status, Some(0), "{}", made.stderr);
    let both = check(&[&of_links, &of_gpus], &["--format", "json"]);
    assert_eq!(both.status, Some(1), "{}", both.stderr);
    published::conforms(&both.stdout);
    let both: Value = serde_json::from_str(&both.stdout).unwrap();
    let verdicts =
        |key: &str| both[key].as_array().unwrap().iter().map(|one| one["verdict"].clone()).collect::<Vec<_>>();
    assert_eq!(
        (verdicts("gpus"), verdicts("links")),
        (vec![json!("passed"); 2], vec![json!("passed"), json!("failed")])
    );
    refused(
        &["compare", "--policy", &of_links, &good[0]],
        &["is of Quadro 2000, and", "is for links from Quadro 2000 to Quadro 2000; give the policy for it"],
    );
    let mixed = ["compare", results[0], &good[0], "--write-policy", "/nowhere/policy.toml"];
    refused(&mixed, &["is of links from Quadro 2000 to Quadro 2000 and", "so make one of each"]);
}

#[test]
fn a_check_says_why_a_pair_of_gpus_has_no_links() {
    let dir = TempDir::new().unwrap();
    let fast = gpu(&dir, "fast", 16);
    let policy = dir.path().join("links.toml").to_str().unwrap().to_owned();
    let results = good(&dir, &fast);
    let results: Vec<&str> = results.iter().map(String::as_str).collect();
    assert_eq!(strata(&[&["compare"], &results[..2], &["--write-policy", &policy]].concat()).status, Some(0));
    let check = |devices: &str| strata(&["check", "--effort", "quick", "--policy", &policy, "--device", devices]);
    let run = check(&format!("{fast},sim:840m"));
    assert_eq!(run.status, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("sim:840m to ") && run.stdout.contains("no link to another GPU"), "{}", run.stdout);
    // One GPU has no link, so nobody can tell.
    let run = check(&fast);
    assert_eq!((run.status, run.stdout.as_str()), (Some(2), "nothing was found to check\n"), "{}", run.stderr);
}

#[test]
fn a_discovery_of_several_gpus_has_their_links_if_asked() {
    let dir = TempDir::new().unwrap();
    let name = gpu(&dir, "m", 16);
    let only = ["--effort", "quick", "--only", "constant_l1.size,peer_l2.latency"];
    let discover = |devices: &str, more: &[&str]| {
        strata(&[&["discover", "--links", "--device", devices], &only[..], more].concat())
    };
    let both = format!("{name},{name}");
    let run = discover(&both, &["--format", "json"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    published::conforms(&run.stdout);
    let node: Value = serde_json::from_str(&run.stdout).unwrap();
    let of = |key: &str| -> Vec<Vec<String>> {
        let elements = |one: &Value| one["topology"]["elements"].as_object().unwrap().keys().cloned().collect();
        node[key].as_array().unwrap().iter().map(elements).collect()
    };
    assert_eq!(
        (of("gpus"), of("links")),
        (vec![vec!["constant_l1".to_owned()]; 2], vec![vec!["peer_l2".to_owned()]; 2])
    );
    assert_eq!(node["links"][0]["topology"]["elements"]["peer_l2"]["latency"]["cycles"]["value"], json!(900.0));

    // Two simulated GPUs that say the same are no copies of one run.
    let file = dir.path().join("node.json");
    fs::write(&file, run.stdout).unwrap();
    let fleet = strata(&["fleet", file.to_str().unwrap(), "--format", "json"]);
    let fleet_of: Value = serde_json::from_str(&fleet.stdout).unwrap();
    assert_eq!([&fleet_of["gpus"], &fleet_of["links"]], [&json!(2), &json!(2)], "{}", fleet.stderr);

    let text = discover(&both, &[]);
    assert_eq!(text.status, Some(0), "{}", text.stderr);
    assert!(text.stdout.contains("Latency of the other GPU's L2 (cycles)"), "{}", text.stdout);
    // GPUs without a link keep their result, and the status says that something lacks.
    let none = discover("sim:k20c,sim:k20c", &["--format", "json"]);
    assert_eq!(none.status, Some(4), "{}", none.stderr);
    assert!(none.stderr.contains("no link was measured"), "{}", none.stderr);
    let node: Value = serde_json::from_str(&none.stdout).unwrap();
    assert_eq!((node["gpus"].as_array().unwrap().len(), &node["links"]), (2, &Value::Null));
    refused(&["discover", "--links", "--device", "sim:k20c"], &["--links", "a link has two ends"]);
    let alone = ["discover", "--links", "--device", &both, "--only", "peer_l2.latency"];
    refused(&alone, &["nothing of a GPU is named", "`strata links`"]);
}
