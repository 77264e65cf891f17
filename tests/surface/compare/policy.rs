//! `strata compare --write-policy` and `--policy`: limits from good results, and which results pass them.

use serde_json::json;
use strata_report::compare::Document;
use strata_report::policy::{Acceptance, Policy};
use strata_report::report::{Terminal, acceptance, utc_now};

use crate::published;

use super::*;

/// A good result of another run: `latency` is that of the L2 in cycles.
fn good(dir: &TempDir, name: &str, seed: u64, latency: f64) -> String {
    changed(dir, name, |result| {
        result["run"]["seed"] = seed.into();
        result["device"]["uuid"] = format!("GPU-{seed}").into();
        set(&mut result["elements"]["l2"]["latency"]["cycles"], latency, latency - 1.0, latency + 1.0);
    })
}

fn set(finding: &mut Value, value: f64, low: f64, high: f64) {
    for (key, number) in [("value", value), ("low", low), ("high", high)] {
        finding[key] = number.into();
    }
}

/// A policy of five good results, whose L2 latencies are from 280 to 282 cycles.
fn policy(dir: &TempDir) -> String {
    let target = dir.path().join("h200.toml").to_str().unwrap().to_owned();
    let latencies = [280.0, 280.5, 281.0, 281.5, 282.0];
    let good: Vec<String> =
        (1..).zip(latencies).map(|(seed, x)| good(dir, &format!("good{seed}.json"), seed, x)).collect();
    let mut arguments = vec!["--write-policy", &target];
    arguments.extend(good.iter().map(String::as_str));
    let done = compare(&arguments).code(0);
    assert_eq!(stdout(&done), "");
    assert!(stderr(&done).contains("limits for NVIDIA H200 from 5 results"), "{}", stderr(&done));
    assert!(!stderr(&done).contains("warning"), "{}", stderr(&done));
    target
}

#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    let done = compare(arguments).code(2);
    let said = stderr(&done);
    assert_eq!(stdout(&done), "", "{arguments:?}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: no {word:?} in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

/// The tables of a policy file by their names.
fn tables(path: &str) -> toml::Table {
    fs::read_to_string(path).unwrap().parse().unwrap()
}

#[test]
fn a_policy_is_made_of_what_all_good_results_know() {
    let dir = TempDir::new().unwrap();
    let file = tables(&policy(&dir));
    assert_eq!(file["schema"].as_str(), Some("strata/policy/1"));
    assert_eq!((file["product"].as_str(), file["kind"].as_str()), (Some("NVIDIA H200"), Some("topology")));
    let from = file["made_from"].as_array().unwrap();
    assert_eq!(from.len(), 5);
    assert!(from[1]["file"].as_str().unwrap().ends_with("good2.json"));
    assert_eq!((from[1]["uuid"].as_str(), from[1]["seed"].as_integer()), (Some("GPU-2"), Some(2)));
    assert_eq!(from[1]["date"].as_str(), Some("2026-11-21T20:24:15Z"));
    let limits = &file["limits"];
    // s = 0.79 cycles, t(99.9 %, 4) · s · √1.2 = 7.5: beyond one per cent of the intervals' envelope from 279 to 283 cycles.
    let latency = &limits["l2.latency.cycles"];
    let (low, high) = (latency["low"].as_float().unwrap(), latency["high"].as_float().unwrap());
    assert!((273.4..273.6).contains(&low) && (288.4..288.6).contains(&high), "{low} {high}");
    assert_eq!((latency["unit"].as_str(), latency["required"].as_bool()), (Some("cycles"), Some(true)));
    // Without a spread, one per cent beyond the interval.
    assert_eq!(limits["l1.size"]["high"].as_integer(), Some(249_260));
    // What is counted or built is equal.
    assert_eq!(limits["l1.line_size"]["equals"].as_integer(), Some(128));
    assert_eq!(limits["l1.cached"]["equals"].as_bool(), Some(true));
    assert_eq!(limits["constant_l1.replacement"]["equals"].as_str(), Some("plru"));
    // Unknown in all, and a curve.
    assert!(limits.get("l1.sets").is_none() && limits.get("l1.staircase").is_none());
    let text = fs::read_to_string(dir.path().join("h200.toml")).unwrap();
    assert!(
        text.contains("# 280 to 282 in 5 results, spread 0.71 %; intervals 279 to 283 (in cycles).\n[limits."),
        "{text}"
    );
    // Read back, and written again, it is the same but for its comments.
    let values = |text: &str| text.parse::<toml::Table>().unwrap();
    assert_eq!(values(&Policy::parse("p", &text).unwrap().toml()), values(&text));
}

#[test]
fn what_good_results_disagree_about_is_left_out_and_the_file_says_why() {
    let dir = TempDir::new().unwrap();
    let (one, target) = (good(&dir, "one.json", 1, 280.0), dir.path().join("p.toml"));
    let two = changed(&dir, "two.json", |result| {
        result["run"]["seed"] = 2.into();
        for key in ["value", "low", "high"] {
            result["elements"]["l1"]["line_size"][key] = 64.into();
        }
        result["elements"]["l1"]["size"] = json!({"value": null, "reason": "no"});
        result["elements"]["l1"]["thrash_size"]["unit"] = "KiB".into();
        result["elements"]["l1"]["shared_with"]["value"] = json!(["read_only", "texture"]);
    });
    let done = compare(&["--write-policy", target.to_str().unwrap(), &one, &two]).code(0);
    assert!(stderr(&done).contains("so few results say little of the spread"), "{}", stderr(&done));
    let text = fs::read_to_string(&target).unwrap();
    for words in [
        "# not equal in all results, such as 128 B and 64 B: l1.line_size\n",
        "# known in 1 of 2 results: l1.size\n",
        "# not in the same unit in all results: l1.thrash_size\n",
        "l1.staircase",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    let limits = &tables(target.to_str().unwrap())["limits"];
    assert!(["l1.line_size", "l1.size", "l1.thrash_size"].iter().all(|key| limits.get(key).is_none()));
    // The order of a set says nothing.
    assert!(limits.get("l1.shared_with").is_some());
}

#[test]
fn a_result_passes_or_what_is_outside_comes_first() {
    let dir = TempDir::new().unwrap();
    let policy = policy(&dir);
    let passes = stdout(&compare(&["--policy", &policy, H200]).code(0));
    assert!(passes.contains("Passes: 0 outside, ") && !passes.contains("Outside"), "{passes}");
    let bad = changed(&dir, "bad.json", |result| {
        set(&mut result["elements"]["l2"]["latency"]["cycles"], 310.0, 309.0, 311.0);
        for key in ["value", "low", "high"] {
            result["elements"]["l1"]["line_size"][key] = 64.into();
        }
        result["elements"]["dram"]["latency"]["cycles"] = json!({"value": null, "reason": "the clock stood still"});
    });
    let text = stdout(&compare(&["--policy", &policy, &bad]).code(1));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let order = [
        "Outside the limits, furthest first l1 line_size: 64 B",
        "allowed 128 B; not equal l2 latency.cycles: 310 cycles [309 to 311], allowed 273.5",
        "6.9 % beyond",
        "Required, but unknown dram latency.cycles: the clock stood still",
        "Fails: 2 outside, 1 required but unknown, 83 within their limits.",
    ];
    let at: Vec<_> =
        order.iter().map(|part| words.find(part).unwrap_or_else(|| panic!("no {part:?} in {text}"))).collect();
    assert!(at.is_sorted(), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80 || line.contains('/')), "{text}");
    let quiet = compare(&["--policy", &policy, &bad, "--quiet"]).code(1);
    assert_eq!((stdout(&quiet), stderr(&quiet)), (String::new(), String::new()));
    // One of several that fails is enough.
    let several = stdout(&compare(&["--policy", &policy, H200, &bad, H200]).code(1));
    assert!(several.contains("3 results: 2 pass, 1 fail."), "{several}");
}

/// A run that says of itself that a value varies does not show that the GPU is bad.
#[test]
fn a_value_whose_interval_reaches_the_limits_passes() {
    let dir = TempDir::new().unwrap();
    let policy = policy(&dir);
    // The limits end at 288.5 cycles.
    for (low, status) in [(287.0, 0), (290.0, 1)] {
        let wide = changed(&dir, "wide.json", |result| {
            set(&mut result["elements"]["l2"]["latency"]["cycles"], 310.0, low, 335.0);
        });
        compare(&["--policy", &policy, &wide, "--quiet"]).code(status);
    }
}

#[test]
fn the_whole_answer_is_a_published_document() {
    let dir = TempDir::new().unwrap();
    let policy = policy(&dir);
    let bad = good(&dir, "bad.json", 9, 310.0);
    let out = dir.path().join("answer.json");
    let arguments = ["--policy", &policy, H200, &bad, "--format", "json", "--output", out.to_str().unwrap()];
    assert_eq!(stdout(&compare(&arguments).code(1)), "");
    let text = fs::read_to_string(&out).unwrap();
    published::conforms(&text);
    let answer: Acceptance = serde_json::from_str(&text).unwrap();
    let passes: Vec<bool> = answer.results.iter().map(|checked| checked.passes).collect();
    assert_eq!((answer.passes, passes, answer.policy.made_from), (false, vec![true, false], 5));
    let outside = &answer.results[1].outside;
    assert_eq!((outside.len(), outside[0].place.as_str()), (1, "l2 latency.cycles"));
    assert!(outside[0].low.is_some() && outside[0].beyond_percent.is_some_and(|percent| percent > 6.0));
    assert!(acceptance::text(&answer, &Terminal::PAPER).contains("l2 latency.cycles: 310 cycles"));
    refused(&["--policy", &policy, H200, "--format", "markdown"], &["text or json"]);
}

/// A file without a value for every limit, and a node that cannot be judged, never pass.
#[test]
fn what_cannot_be_judged_is_trouble() {
    let dir = TempDir::new().unwrap();
    let policy = policy(&dir);
    let other = changed(&dir, "other.json", |result| result["device"]["name"] = "NVIDIA H100 NVL".into());
    refused(&["--policy", &policy, H200, &other], &["other.json", "NVIDIA H100 NVL", "is for NVIDIA H200"]);
    let simulated = changed(&dir, "simulated.json", |result| result["run"]["simulated"] = true.into());
    refused(&["--policy", &policy, &simulated], &["simulated machine", "measure the GPU"]);
    refused(&["--policy", &policy, COSTS], &["is a characterization", "for a discovery"]);
    refused(&["--policy", &policy, "reference:gh100"], &["published values are no result"]);
    refused(&["--policy", &policy, "absent.json"], &["absent.json"]);
    refused(&["--policy", "absent.toml", H200], &["absent.toml", "cannot be opened"]);
    refused(&["--policy", &policy], &["required"]);
    // What was not measured is unknown, and what is unknown and required fails.
    let part = changed(&dir, "part.json", |result| drop(result["elements"].as_object_mut().unwrap().remove("l2")));
    let text = stdout(&compare(&["--policy", &policy, &part]).code(1));
    assert!(text.contains("l2 size: not among its elements"), "{text}");
    // Old, and without a date.
    let fresh = changed(&dir, "fresh.json", |result| result["run"]["started"] = utc_now().into());
    compare(&["--policy", &policy, &fresh, "--max-age", "1h", "--quiet"]).code(0);
    let old = changed(&dir, "old.json", |result| result["run"]["started"] = "2020-01-01T00:00:00Z".into());
    refused(&["--policy", &policy, &fresh, &old, "--max-age", "1h", "--quiet"], &["old.json", "--max-age allows 1h"]);
}

#[test]
fn a_policy_may_be_edited() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("p.toml");
    let status = |limits: &str| {
        let head = "schema = \"strata/policy/1\"\nproduct = \"NVIDIA H200\"\nkind = \"topology\"\n";
        fs::write(&path, format!("{head}{limits}")).unwrap();
        compare(&["--policy", path.to_str().unwrap(), H200]).get_output().status.code()
    };
    for (limit, expected) in [
        // 281.53 cycles from 280.35 to 282.69, 246784 B, and a bound of 64 KiB.
        ("[limits.\"l2.latency.cycles\"]\nlow = 281", 0),
        ("[limits.\"l2.latency.cycles\"]\nhigh = 281", 0),
        ("[limits.\"l2.latency.cycles\"]\nhigh = 280", 1),
        ("[limits.\"l2.latency.cycles\"]\nequals = 285\ntolerance = 2", 0),
        ("[limits.\"l2.latency.cycles\"]\nequals = 285\ntolerance = 1", 0),
        ("[limits.\"l2.latency.cycles\"]\nequals = 285\ntolerance = 0.5", 1),
        ("[limits.\"l2.latency.cycles\"]\nequals = 281.53", 0),
        ("[limits.\"l2.latency.cycles\"]\nequals = 281.5", 1),
        ("[limits.\"l1.size\"]\nequals = 246784\nunit = \"B\"", 0),
        ("[limits.\"l1.shared_with\"]\nequals = [\"read_only\", \"texture\"]", 0),
        ("[limits.\"l1.shared_with\"]\nequals = [\"texture\"]", 1),
        ("[limits.\"constant_l1.index\"]\nequals = {kind = \"bits\", bits = [6, 7, 8]}", 0),
        ("[limits.\"l2.conflicts\"]\nhigh = 1\nunit = \"loads\"", 1),
        // Unknown: fails, unless it may be.
        ("[limits.\"l1.sets\"]\nlow = 1", 1),
        ("[limits.\"l1.sets\"]\nlow = 1\nrequired = false", 0),
        ("[limits.\"shared.page_size\"]\nequals = 1", 1),
        // A bound excludes what lies below, and shows nothing else.
        ("[limits.\"constant_l15.size\"]\nlow = 32768", 1),
        ("[limits.\"constant_l15.size\"]\nlow = 32768\nrequired = false", 0),
        ("[limits.\"constant_l15.size\"]\nhigh = 32768\nrequired = false", 1),
    ] {
        assert_eq!(status(limit), Some(expected), "{limit}");
    }
}

#[test]
fn a_defect_of_the_file_is_named_with_its_line() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("p.toml");
    let head = "schema = \"strata/policy/1\"\nproduct = \"NVIDIA H200\"\nkind = \"topology\"\n";
    let limit = |key: &str, rest: &str| format!("{head}\n[limits.\"{key}\"]\n{rest}\n");
    let cases: [(String, &[&str]); 21] = [
        (format!("{head}colour = 1\n[limits.\"l1.size\"]\nlow = 1"), &[":4: colour", "unknown field `colour`"]),
        (limit("l1.size", "lo = 1"), &[":6: ", "lo", "unknown field `lo`", "`low`"]),
        (limit("l1.siz", "low = 1"), &[":5: ", "no attribute `siz`", "did you mean `size`?"]),
        (limit("l9.size", "low = 1"), &[":5: ", "no element or part `l9`"]),
        (limit("l1", "low = 1"), &[":5: ", "names no attribute"]),
        (limit("l2.latency", "low = 1"), &[":5: ", "write one attribute, such as latency.cycles"]),
        (limit("l1.staircase", "low = 1"), &[":5: ", "a curve by footprint"]),
        (limit("l1.least_configuration", "low = 1"), &[":5: ", "has parts"]),
        (limit("coalescing.ca_window", "low = 1"), &[":5: ", "this policy is for discoveries"]),
        (limit("l1.size", "low = 2\nhigh = 1"), &[":5: ", "low is greater than high"]),
        (limit("l1.size", "low = inf"), &[":5: ", "finite"]),
        (limit("l1.size", "low = \"2 KiB\""), &[":6: ", "low", "invalid type"]),
        (limit("l1.size", "low = 1\nequals = 1"), &[":5: ", "exclude"]),
        (limit("l1.size", "required = true"), &[":5: ", "no limit"]),
        (limit("l1.size", "tolerance = 1"), &[":5: ", "add `equals`"]),
        (limit("l1.size", "equals = 1\ntolerance = 101"), &[":5: ", "from 0 to 100"]),
        (limit("l1.size", "equals = true"), &[":5: ", "not a number of bytes"]),
        (limit("l1.cached", "low = 1"), &[":5: ", "yes or no", "write `equals`"]),
        (limit("l1.size", "low = 1\nunit = \"KiB\""), &[":5: ", "the unit is B, not KiB"]),
        (format!("{head}[limits]\n"), &[":4: ", "without a limit everything would pass"]),
        (limit("l1.size", "low = 1").replace("policy/1", "policy/2"), &[":1: schema", "strata/policy/1"]),
    ];
    for (text, words) in cases {
        fs::write(&path, text).unwrap();
        refused(&["--policy", path.to_str().unwrap(), H200], &[&["p.toml"], words].concat());
    }
    fs::write(&path, [0xff; 10]).unwrap();
    refused(&["--policy", path.to_str().unwrap(), H200], &["cannot be read"]);
    refused(&["--policy", "/dev/zero", H200], &["it is a device"]);
}

#[test]
fn good_results_must_belong_together() {
    let dir = TempDir::new().unwrap();
    let target = dir.path().join("p.toml");
    let of = |good: &[&str], words: &[&str]| {
        refused(&[&["--write-policy", target.to_str().unwrap()], good].concat(), words);
        assert!(!target.exists());
    };
    of(&[H200], &["two or more good results"]);
    of(&[H200, "recordings/2026-11-21-h200.strata"], &["are the same run"]);
    let other = changed(&dir, "other.json", |result| {
        result["run"]["seed"] = 2.into();
        result["device"]["name"] = "NVIDIA H100 NVL".into();
    });
    of(&[H200, &other], &["NVIDIA H100 NVL", "one product"]);
    let simulated = changed(&dir, "simulated.json", |result| {
        result["run"]["seed"] = 2.into();
        result["run"]["simulated"] = true.into();
    });
    of(&[H200, &simulated], &["different kinds"]);
    of(&[H200, COSTS], &["different kinds"]);
    of(&[H200, "reference"], &["published values are no result"]);
    let two = good(&dir, "two.json", 2, 281.0);
    of(&[H200, &two, "--only", "l1"], &["cannot be used with"]);
    of(&[H200, &two, "--max-age", "1h"], &["cannot be used with"]);
}

#[test]
fn no_file_that_is_read_is_written() {
    let dir = TempDir::new().unwrap();
    let (one, two) = (good(&dir, "one.json", 1, 280.0), good(&dir, "two.json", 2, 281.0));
    let before = fs::read(&one).unwrap();
    refused(&["--write-policy", &one, &one, &two], &["is one of the results"]);
    let link = dir.path().join("link.toml");
    std::os::unix::fs::symlink(&one, &link).unwrap();
    refused(&["--write-policy", link.to_str().unwrap(), &one, &two], &["is one of the results"]);
    // A forgotten name makes the first result the target.
    let three = good(&dir, "three.json", 3, 282.0);
    refused(&["--write-policy", &one, &two, &three], &["exists and is not a policy"]);
    refused(&["--write-policy", dir.path().to_str().unwrap(), &two, &three], &["is a folder"]);
    refused(&["--write-policy", "/nonexistent/p.toml", &two, &three], &["cannot write `/nonexistent/p.toml`"]);
    assert_eq!(fs::read(&one).unwrap(), before);
    // A policy is replaced, as a whole.
    let target = dir.path().join("p.toml");
    for _ in 0..2 {
        compare(&["--write-policy", target.to_str().unwrap(), &one, &two, "--quiet"]).code(0);
    }
    let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left = names.filter(|name| name.ends_with(".new")).count();
    assert_eq!(left, 0);
    // The answer, too, goes to a file of its own.
    let policy = target.to_str().unwrap();
    refused(&["--policy", policy, &one, "--output", policy], &["name another file with --output"]);
    refused(&[&one, &two, "--output", &two], &["name another file with --output"]);
    assert_eq!(fs::read(&one).unwrap(), before);
}

/// What parts of a characterization find has limits as well.
#[test]
fn a_policy_may_be_of_characterizations() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(COSTS)).unwrap();
    let result = |seed: u64, barrier: f64| {
        let mut result: Value = serde_json::from_str(&text).unwrap();
        result["run"]["seed"] = seed.into();
        set(&mut result["parts"]["synchronization"]["findings"]["grid_barrier"], barrier, barrier, barrier);
        (Document::Characterization(serde_json::from_value(result).unwrap()), format!("{seed}.json"))
    };
    let good: Vec<_> = (1..=5).map(|seed| result(seed, 1800.0 + seed as f64)).collect();
    let policy = Policy::of_good("p", &good).unwrap();
    let policy = Policy::parse("p", &policy.toml()).unwrap();
    let answer = policy.check(&[result(7, 1805.0), result(8, 2000.0)]).unwrap();
    assert!(answer.results[0].passes, "{:?}", answer.results[0].outside);
    let outside: Vec<&str> = answer.results[1].outside.iter().map(|judged| judged.place.as_str()).collect();
    assert_eq!(outside, ["synchronization grid_barrier"]);
}
