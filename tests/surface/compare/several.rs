//! Three or more results beside each other.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{COSTS, H200, changed, compare, stderr, stdout};
use crate::published::defects;
use crate::report::is_a_page;

/// The committed result with another latency of the L2.
fn slower(dir: &TempDir, name: &str, cycles: f64) -> String {
    changed(dir, name, |result| {
        let latency = &mut result["elements"]["l2"]["latency"]["cycles"];
        for (key, value) in [("value", cycles), ("low", cycles - 1.0), ("high", cycles + 1.0)] {
            latency[key] = value.into();
        }
    })
}

/// The row of a place, in JSON.
fn row(arguments: &[&str], status: i32, place: &str) -> Value {
    let done = compare(&[arguments, &["--format", "json"]].concat()).code(status);
    let document: Value = serde_json::from_str(&stdout(&done)).unwrap();
    assert_eq!(defects(&document, true), Vec::<String>::new());
    assert_eq!(document["schema"], "strata/comparison-of-several/1");
    assert_eq!(document["same"], status == 0);
    document["rows"].as_array().unwrap().iter().find(|row| row["place"] == place).unwrap().clone()
}

fn outliers(row: &Value) -> Vec<bool> {
    row["cells"].as_array().unwrap().iter().map(|cell| cell["outlier"].as_bool().unwrap()).collect()
}

#[test]
fn the_one_that_stands_apart_is_marked() {
    let dir = TempDir::new().unwrap();
    let slow = slower(&dir, "slow.json", 310.0);
    compare(&[H200, H200, H200]).code(0);
    let all = [H200, &slow, H200, H200];
    let text = stdout(&compare(&all).code(1));
    let line = text.lines().find(|line| line.starts_with("l2 latency.cycles")).unwrap();
    let words: Vec<&str> = line.split_whitespace().skip(2).collect();
    assert_eq!(words, ["281.53", "cycles", "310", "cycles", "*", "281.53", "cycles"], "{text}");
    assert_eq!(text.matches(" *").count(), 2, "the explanation and the outlier: {text}");
    assert!(text.find("l2 latency.cycles").unwrap() < text.find("l1 size").unwrap(), "what differs is first: {text}");
    assert!(text.contains("The results differ: 1 different, "), "{text}");
    assert!(text.contains("\nD: ") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let row = row(&all, 1, "l2 latency.cycles");
    assert_eq!(
        (outliers(&row), &row["pairs_compared"], &row["pairs_differ"]),
        (vec![false, true, false, false], &json!(6), &json!(3))
    );
    let markdown = stdout(&compare(&[&all[..], &["--format", "markdown"]].concat()).code(1));
    assert!(
        markdown.contains("| what | A | B | C | D |") && markdown.contains("310 cycles \\[309 to 311"),
        "{markdown}"
    );
}

#[test]
fn a_page_marks_it_with_a_symbol_and_a_word() {
    let dir = TempDir::new().unwrap();
    let slow = slower(&dir, "<slow> & \"new\".json", 310.0);
    let page = stdout(&compare(&[H200, &slow, H200, "--format", "html"]).code(1));
    is_a_page(&page);
    assert_eq!(page.matches("<b>▲ outlier</b>").count(), 1, "one outlier");
    assert!(page.contains("<td class=\"outlier\">310 cycles [309 to 311] <b>▲ outlier</b></td>"));
    assert!(
        page.contains("&lt;slow&gt; &amp; &quot;new&quot;.json</dt>") && !page.contains("<slow>"),
        "names are escaped"
    );
    assert!(page.contains("<p class=\"verdict\"><b>≠</b> The results differ: 1 different, "));
    let uuid = "GPU-b6a131df-bddd-6789-6d3a-2aace1efa80b";
    assert_eq!(page.matches(uuid).count(), 3, "each result says its GPU");
    let same = stdout(&compare(&[H200, H200, H200, "--format", "html"]).code(0));
    assert!(same.contains("<b>=</b> Nothing differs") && !same.contains("<b>▲ outlier</b>"));
}

#[test]
fn without_a_majority_all_differ_or_none_stands_apart() {
    let dir = TempDir::new().unwrap();
    let (b, c) = (slower(&dir, "b.json", 310.0), slower(&dir, "c.json", 350.0));
    assert_eq!(outliers(&row(&[H200, &b, &c], 1, "l2 latency.cycles")), [true; 3], "three opinions");
    let two = row(&[H200, &b, H200, &b], 1, "l2 latency.cycles");
    assert_eq!(outliers(&two), [true; 4], "each differs from two of three others");
    let interval = slower(&dir, "wide.json", 282.0);
    assert_eq!(outliers(&row(&[H200, &interval, H200], 0, "l2 latency.cycles")), [false; 3], "intervals that meet");
}

#[test]
fn options_hold_for_all_results() {
    let dir = TempDir::new().unwrap();
    let slow = slower(&dir, "slow.json", 310.0);
    let unknown = changed(&dir, "unknown.json", |result| {
        result["elements"]["l2"]["latency"]["cycles"] = json!({"value": null, "reason": "the fan was loud"});
    });
    compare(&[H200, H200, &slow, "--tolerance", "9"]).code(0);
    compare(&[H200, H200, &slow, "--only", "l1,dram"]).code(0);
    compare(&[H200, H200, &unknown]).code(0);
    let required = row(&[H200, H200, &unknown, "--require", "l2.latency"], 1, "l2 latency.cycles");
    assert_eq!((&required["unmet"], &required["cells"][2]["reason"]), (&json!(true), &json!("the fan was loud")));
    let quiet = compare(&[H200, H200, &slow, "--quiet"]).code(1);
    assert_eq!((stdout(&quiet), stderr(&quiet)), (String::new(), String::new()));
    for (arguments, words) in [
        (&[H200, H200, "reference"][..], "published values"),
        (&[H200, COSTS, "recordings/none.json"], "recordings/none.json"),
        (&[H200, H200, H200, "--only", "l1.sizes"], "sizes"),
        (&[H200, H200, H200, "--max-age", "1s"], "--max-age"),
        (&[H200, H200, H200, "--output", H200], "is read"),
    ] {
        let refused = compare(arguments).code(2);
        assert!(stdout(&refused).is_empty() && stderr(&refused).contains(words), "{arguments:?}: {}", stderr(&refused));
    }
}

#[test]
fn many_results_fit_a_narrow_terminal() {
    let all = [H200; 28];
    let text = stdout(&compare(&all).code(0));
    assert!(text.contains("\nZ: ") && text.contains("\n#28: "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("l2 latency.cycles")).count(), 10, "three columns a block");
}
