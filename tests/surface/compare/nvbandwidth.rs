//! Results of nvbandwidth beside those of `strata links`.

use serde_json::json;

use super::*;

/// A link between two H200s: GPU 0 works at the memory of GPU 1.
const LINK: &str = "recordings/2026-11-28-h200-link.strata";

/// What nvbandwidth writes. The recorded link is from GPU 1 to GPU 0 by the addresses, if there are any.
fn results(dir: &TempDir, name: &str, has_addresses: bool) -> String {
    let mut content = json!({
        "CUDA Runtime Version": 12080, "Driver Version": "570.1", "git_version": "v0.8", "version": "v0.8",
        "testcases": [
            {"name": "device_to_device_memcpy_read_ce", "status": "Passed", "sum": 697.7,
             "bandwidth_matrix": [["N/A", "300.5"], ["397.2", "N/A"]]},
            {"name": "device_to_device_bidirectional_memcpy_read_ce", "status": "Passed", "bandwidth_matrix": [
                ["N/A", "1"], ["2", "N/A"], ["N/A", "3"], ["4", "N/A"], ["N/A", "5"], ["700", "N/A"]]},
            {"name": "device_to_device_memcpy_write_sm", "status": "Passed",
             "bandwidth_matrix": [["N/A", "251"], ["250", "N/A"]]},
            {"name": "device_to_device_latency_sm", "status": "Passed", "bandwidth_matrix": [["N/A", "820"], ["900", "N/A"]]},
            {"name": "device_local_copy", "status": "Passed", "bandwidth_matrix": [["1000", "1000"]]},
            {"name": "host_to_device_memcpy_ce", "status": "Waived"},
        ],
    });
    if has_addresses {
        content["GPU Device list"] =
            json!(["0: NVIDIA H200 (00000000:00:07): (node)", "1: NVIDIA H200 (00000000:00:06): (node)"]);
    }
    written(dir, name, &json!({"nvbandwidth": content}))
}

fn written(dir: &TempDir, name: &str, document: &Value) -> String {
    let path = dir.path().join(name);
    fs::write(&path, document.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn json_of(done: &Assert) -> Value {
    serde_json::from_str(&stdout(done)).unwrap()
}

/// The places of these rows, and what B says of each.
fn rows(document: &Value, list: &str) -> Vec<(String, f64)> {
    let row = |row: &Value| (row["place"].as_str().unwrap().to_owned(), row["b"]["value"].as_f64().unwrap());
    document[list].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn a_link_is_found_by_the_addresses_of_its_gpus() {
    let dir = TempDir::new().unwrap();
    let theirs = results(&dir, "nvbandwidth.json", true);
    let document = json_of(&compare(&[LINK, &theirs, "--format", "json"]).code(1));
    assert_eq!(
        rows(&document, "differs"),
        [("peer_dram write_bandwidth.bytes_per_s".into(), 250e9), ("peer_l2 latency.ns".into(), 900.0)]
    );
    assert_eq!(
        rows(&document, "agrees"),
        [("peer_dram both_ways_bandwidth".into(), 700e9), ("peer_dram from_peer_bandwidth".into(), 397.2e9)]
    );
    assert_eq!(document["b"]["kind"], json!("nvbandwidth"));
    let remarks = document["remarks"].to_string();
    for said in ["nothing like it: device_local_copy", "no numbers of host_to_device_memcpy_ce"] {
        assert!(remarks.contains(said), "{remarks}");
    }
    assert!(!remarks.contains("Different GPUs"), "{remarks}");
}

/// Files of earlier versions of nvbandwidth have no addresses, and a file of ours has several links.
#[test]
fn links_of_a_file_are_found_by_their_names() {
    let dir = TempDir::new().unwrap();
    let link = Command::cargo_bin("strata").unwrap().args(["replay", LINK, "--format", "json"]).assert().success();
    let topology: Value = serde_json::from_str(&stdout(&link)).unwrap();
    let of = |from: &str, to: &str| json!({"from": from, "to": to, "topology": topology});
    let links = |ends: [&str; 2]| {
        json!({"schema": "strata/links/1", "tool_version": "0.1.0", "started": "2026-11-28T11:14:38Z", "duration_s": 2.0,
               "gpus": [], "links": [of(ends[0], ends[1]), of(ends[1], ends[0])]})
    };
    let ours = written(&dir, "links.json", &links(["cuda:0", "cuda:1"]));
    let theirs = results(&dir, "nvbandwidth.json", false);
    let arguments = [&theirs, &ours, "--only", "peer_dram.write_bandwidth,peer_l2.latency", "--format", "json"];
    let document = json_of(&compare(&arguments).code(1));
    let [differs, agrees] = ["differs", "agrees"].map(|list| rows(&document, list).into_iter().map(|(place, _)| place));
    assert_eq!(
        differs.collect::<Vec<_>>(),
        [
            "cuda:1 to cuda:0 peer_dram write_bandwidth.bytes_per_s",
            "cuda:0 to cuda:1 peer_dram write_bandwidth.bytes_per_s",
            "cuda:1 to cuda:0 peer_l2 latency.ns",
        ]
    );
    assert_eq!(agrees.collect::<Vec<_>>(), ["cuda:0 to cuda:1 peer_l2 latency.ns"]);

    let others = written(&dir, "others.json", &links(["cuda:2", "cuda:3"]));
    let refused = |arguments: &[&str], said: &str| {
        let error = stderr(&compare(arguments).code(2));
        assert!(error.contains(said), "{error}");
    };
    refused(&[&others, &theirs], "have no attribute in common");
    let elsewhere = written(&dir, "elsewhere.json", &links(["sim:h200", "sim:a100"]));
    refused(&[&elsewhere, &theirs], "none of the GPUs of");
    for arguments in [&[theirs.as_str()][..], &[&theirs, &theirs], &[&ours, &theirs, &theirs], &[&theirs, "reference"]]
    {
        refused(arguments, "compared with one file of the same node");
    }
    let broken =
        json!({"nvbandwidth": {"testcases": [{"name": "x", "status": "Passed", "bandwidth_matrix": [["fast"]]}]}});
    refused(&[&ours, &written(&dir, "broken.json", &broken)], "`fast` is no bandwidth");
}
