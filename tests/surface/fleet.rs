//! `strata fleet` as its users meet it: who stands out, who changed, who is missing, and files that are no results.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{Run, command, strata};
use crate::published::conforms;
use crate::report::is_a_page;

/// A committed result of an H200 with bandwidths.
const H200: &str = "recordings/2026-11-25-h200-bandwidth.json";

/// Runs `strata fleet` in a folder.
fn fleet(dir: &TempDir, arguments: &[&str]) -> Run {
    let mut command = command(&[&["fleet"], arguments].concat());
    let done = command.current_dir(dir.path()).output().expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { status: done.status.code(), stdout: text(done.stdout), stderr: text(done.stderr) }
}

/// The answer as JSON, which its schema describes.
#[track_caller]
fn answer(dir: &TempDir, arguments: &[&str], status: i32) -> Value {
    let run = fleet(dir, &[arguments, &["--format", "json"]].concat());
    assert_eq!(run.status, Some(status), "{}{}", run.stdout, run.stderr);
    conforms(&run.stdout);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(answer["well"], status == 0);
    answer
}

/// The result of a GPU, with something changed.
fn result(gpu: usize, change: impl Fn(&mut Value)) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(H200);
    let mut result: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    result["device"]["uuid"] = json!(format!("GPU-{gpu}"));
    // Latencies differ a little from GPU to GPU.
    set(&mut result["elements"]["l2"]["latency"]["cycles"], 280.0 + gpu as f64 / 4.0);
    change(&mut result);
    result
}

/// A number with a narrow interval.
fn set(finding: &mut Value, value: f64) {
    for (key, value) in [("value", value), ("low", value * 0.999), ("high", value * 1.001)] {
        finding[key] = json!(value);
    }
}

/// A folder `results` with a result of each of so many GPUs on nodes of two. The fourth GPU has half the bandwidth of the L2.
fn results(gpus: usize) -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("results")).unwrap();
    for gpu in 0..gpus {
        let slow = |result: &mut Value| {
            if gpu == 3 {
                for key in ["bytes_per_s", "bytes_per_clk_per_sm"] {
                    let rate = &mut result["elements"]["l2"]["read_bandwidth"][key];
                    let half = rate["value"].as_f64().unwrap() / 2.0;
                    set(rate, half);
                }
            }
        };
        write(&dir, &format!("results/node{}-{}.json", gpu / 2, gpu % 2), &result(gpu, slow));
    }
    dir
}

fn write(dir: &TempDir, name: &str, result: &Value) {
    fs::write(dir.path().join(name), result.to_string()).unwrap();
}

/// The places in which a GPU stands out, by its file.
fn places<'a>(answer: &'a Value, file: &str) -> Vec<&'a str> {
    let all = answer["products"][0]["stand_out"].as_array().unwrap();
    let of = all.iter().filter(|one| one["gpu"]["file"] == file).flat_map(|one| one["outliers"].as_array().unwrap());
    of.map(|outlier| outlier["place"].as_str().unwrap()).collect()
}

fn row<'a>(answer: &'a Value, place: &str) -> &'a Value {
    let rows = answer["products"][0]["attributes"].as_array().unwrap();
    rows.iter().find(|row| row["place"] == place).unwrap_or_else(|| panic!("no {place}"))
}

#[test]
fn a_simulated_gpu_with_one_way_fewer_is_named() {
    let dir = TempDir::new().unwrap();
    let machine = strata(&["machines", "k20c", "--toml"]).stdout;
    let (before, cache) = machine.split_once("[cache.constant_l1]\n").unwrap();
    let cache = cache.replacen("size = \"2 KiB\"", "size = \"1536 B\"", 1).replacen("ways = 4", "ways = 3", 1);
    let worn = dir.path().join("worn.toml");
    fs::write(&worn, format!("{before}[cache.constant_l1]\n{cache}")).unwrap();
    let worn = format!("sim:{}", worn.display());
    std::thread::scope(|scope| {
        for seed in 1..=6 {
            let (device, dir) = (if seed == 4 { worn.as_str() } else { "sim:k20c" }, &dir);
            scope.spawn(move || {
                let file = dir.path().join(format!("node{seed}.json"));
                let seed = seed.to_string();
                let only = "constant_l1.size,constant_l1.ways,constant_l1.line_size";
                let arguments = ["discover", "--device", device, "--effort", "quick", "--only", only, "--seed", &seed];
                let to = ["--format", "json", "--output", file.to_str().unwrap()];
                assert_eq!(strata(&[&arguments[..], &to].concat()).status, Some(0));
            });
        }
    });
    let found = answer(&dir, &["."], 1);
    assert_eq!((&found["gpus"], &found["products"][0]["simulated"]), (&json!(6), &json!(true)));
    assert_eq!(places(&found, "./node4.json"), ["constant_l1 size", "constant_l1 ways"]);
    assert_eq!(found["products"][0]["stand_out"].as_array().unwrap().len(), 1, "{found}");
    let text = fleet(&dir, &["."]).stdout;
    assert!(text.contains("SIMULATED: no hardware was measured."), "{text}");
    assert!(text.contains("- constant_l1 ways 3 lines; 5 of 6 have 4 lines: -25 %"), "{text}");
    fs::remove_file(dir.path().join("node4.json")).unwrap();
    answer(&dir, &["."], 0);
}

#[test]
fn half_the_bandwidth_is_named_with_its_level_and_gpu() {
    let dir = results(8);
    let found = answer(&dir, &["results"], 1);
    let rates = ["l2 read_bandwidth.bytes_per_s", "l2 read_bandwidth.bytes_per_clk_per_sm"];
    let mut named = places(&found, "results/node1-1.json");
    named.sort_by_key(|place| std::cmp::Reverse(*place));
    assert_eq!(named, rates);
    assert_eq!(found["products"][0]["stand_out"].as_array().unwrap().len(), 1);
    let outlier = &found["products"][0]["stand_out"][0]["outliers"][0];
    assert_eq!(outlier["off_percent"].as_f64().unwrap().round(), -50.0);
    let latency = row(&found, "l2 latency.cycles");
    assert_eq!((latency["median"].as_f64(), latency["mad"].as_f64()), (Some(280.875), Some(0.5)));
    assert_eq!((&latency["known"], &latency["least"]), (&json!(8), &json!(280.0)));
    assert_eq!(row(&found, "l1 sets")["unknown"], 8, "they do not answer, and none stands out");
    // What is asked for decides.
    answer(&dir, &["results", "--only", "l1,l2.latency"], 0);
    answer(&dir, &["results", "--percent", "51"], 0);
    answer(&dir, &["results", "--only", "l2.read_bandwidth", "--sigmas", "0"], 1);
    let text = fleet(&dir, &["results"]).stdout;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!("fleet_text", text);
    let details = fleet(&dir, &["results", "--details"]).stdout;
    assert!(details.contains("\nl1 miss_penalty") && !text.contains("\nl1 miss_penalty"), "{details}");
}

#[test]
fn a_page_has_all_of_it_and_escapes_names() {
    let dir = results(6);
    write(
        &dir,
        "results/<b> & \"new\".json",
        &result(9, |result| {
            for key in ["value", "low", "high"] {
                result["elements"]["l2"]["partitions"][key] = json!(1);
            }
        }),
    );
    fs::write(dir.path().join("results/<i>.json"), "{").unwrap();
    let page = fleet(&dir, &["results", "--format", "html"]).stdout;
    is_a_page(&page);
    assert!(page.contains("<b>≠</b> 2 GPUs stand out; 1 file was skipped."), "the verdict");
    assert!(page.contains("&lt;b&gt; &amp; &quot;new&quot;.json, GPU-9") && !page.contains("<i>"), "names are escaped");
    assert!(page.contains("6 of 7 have 2"), "the majority");
    assert_eq!(
        page.matches("<td class=\"outlier\" data-value=\"1\"><b>▲ 1</b></td>").count(),
        3,
        "two rates and the partitions"
    );
}

#[test]
fn what_changed_of_a_gpu_is_named_with_both_times() {
    let dir = results(2);
    let later = |day: u32, latency: f64| {
        result(0, |result| {
            result["run"]["started"] = json!(format!("2026-12-{day:02}T08:00:00Z"));
            set(&mut result["elements"]["l2"]["latency"]["cycles"], latency);
        })
    };
    // Within the intervals, then beyond them, then back.
    write(&dir, "results/b.json", &later(2, 280.1));
    answer(&dir, &["results"], 0);
    write(&dir, "results/a.json", &later(3, 310.0));
    let found = answer(&dir, &["results"], 1);
    let [changed] = &found["changed"].as_array().unwrap()[..] else { panic!("{found}") };
    assert_eq!((&changed["gpu"]["uuid"], &changed["results"]), (&json!("GPU-0"), &json!(3)));
    let [change] = &changed["changes"].as_array().unwrap()[..] else { panic!("{changed}") };
    assert_eq!((&change["place"], &change["before"]["file"]), (&json!("l2 latency.cycles"), &json!("results/b.json")));
    assert_eq!(
        (&change["after"]["started"], &change["after"]["value"]),
        (&json!("2026-12-03T08:00:00Z"), &json!(310.0))
    );
    assert_eq!((&found["results"], &found["gpus"]), (&json!(4), &json!(2)), "the last result of each GPU counts");
    assert_eq!(row(&found, "l2 latency.cycles")["greatest"], 310.0);
    let text = fleet(&dir, &["results"]).stdout;
    assert!(text.contains("280.1 cycles on 2026-12-02 08:00:00"), "{text}");
    // Another die under the same UUID.
    let swapped = |result: &mut Value| {
        result["elements"]["die"] = json!({"fingerprint": {"value": "x", "source": "measured", "method": "m"}});
    };
    let (mut before, mut after) = (later(4, 310.0), later(5, 310.0));
    swapped(&mut before);
    swapped(&mut after);
    after["elements"]["die"]["fingerprint"]["value"] = json!("y");
    write(&dir, "results/c.json", &before);
    write(&dir, "results/d.json", &after);
    let found = answer(&dir, &["results", "--only", "die"], 1);
    assert_eq!(found["changed"][0]["changes"][0]["place"], "die fingerprint");
}

#[test]
fn layouts_of_dies_are_counted_and_the_rare_ones_named() {
    let dir = TempDir::new().unwrap();
    for gpu in 0..4 {
        let die = |result: &mut Value| {
            let known = |value: Value| json!({"value": value, "source": "measured", "method": "m"});
            let gpcs = if gpu == 2 { [14, 18] } else { [16, 16] };
            result["elements"]["die"] =
                json!({"gpcs": known(json!(gpcs)), "fingerprint": known(json!(gpu.to_string()))});
        };
        write(&dir, &format!("{gpu}.json"), &result(gpu, die));
    }
    let found = answer(&dir, &["."], 0);
    let layouts = &found["products"][0]["layouts"];
    assert_eq!(
        (&layouts[0]["gpcs"], &layouts[0]["gpus"], &layouts[0]["maps"]),
        (&json!([16, 16]), &json!(3), &json!(3))
    );
    assert_eq!((&layouts[1]["gpcs"], &layouts[1]["named"][0]["file"]), (&json!([14, 18]), &json!("./2.json")));
}

#[test]
fn expected_hosts_without_a_result_are_missing() {
    let dir = results(4);
    fs::write(dir.path().join("hosts"), "# rack 1\nnode0\nNode1\nnode2\nnode3\n").unwrap();
    fs::write(dir.path().join("results/node3-0.json"), "").unwrap();
    write(&dir, "results/visitor.json", &result(9, |_| {}));
    let found = answer(&dir, &["results", "--expect", "hosts"], 1);
    let hosts = &found["hosts"];
    let missing: Vec<&str> =
        hosts["missing"].as_array().unwrap().iter().map(|one| one["host"].as_str().unwrap()).collect();
    assert_eq!((missing, &hosts["unlisted"]), (vec!["node2", "node3"], &json!(["results/visitor.json"])));
    assert!(hosts["missing"][1]["skipped"].as_str().unwrap().contains("is empty"), "{hosts}");
    fs::write(dir.path().join("hosts"), "node0\nnode1\n").unwrap();
    answer(&dir, &["results", "--expect", "hosts", "--only", "l1"], 0);
    for (list, words) in [("", "no name"), ("node0 idle\n", "more than one name")] {
        fs::write(dir.path().join("hosts"), list).unwrap();
        let run = fleet(&dir, &["results", "--expect", "hosts"]);
        assert!(run.status == Some(2) && run.stderr.contains(words), "{}", run.stderr);
    }
    assert_eq!(fleet(&dir, &["results", "--expect", "none"]).status, Some(2));
}

#[test]
fn files_that_are_no_results_are_named_and_skipped() {
    let dir = results(3);
    let at = |name: &str| dir.path().join("results").join(name);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::copy(root.join("recordings/2026-11-25-h200-roofline.json"), at("costs.json")).unwrap();
    fs::copy(root.join("recordings/2026-11-26-h200-copies.strata"), at("run.json")).unwrap();
    fs::copy(at("node0-0.json"), at("node0-0-copy.json")).unwrap();
    symlink(at("node0-1.json"), at("link.json")).unwrap();
    for (name, content) in [
        ("empty.json", &b""[..]),
        ("cut.json", &fs::read(at("node0-0.json")).unwrap()[..5000]),
        ("list.json", b"[1, 2]"),
        ("other.json", b"{\"schema\": \"a/b\"}"),
        ("bytes.json", b"\xff\xfe"),
        ("notes.txt", b"{"),
    ] {
        fs::write(at(name), content).unwrap();
    }
    let damaged = result(7, |result| result["elements"]["l2"]["latency"]["cycles"]["low"] = json!(1e9));
    write(&dir, "results/damaged.json", &damaged);
    fs::write(at("secret.json"), "{}").unwrap();
    fs::set_permissions(at("secret.json"), fs::Permissions::from_mode(0o000)).unwrap();
    let may_read_all = fs::read(at("secret.json")).is_ok();
    let run = fleet(&dir, &["results"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("\n3 results by strata"), "{}", run.stdout);
    assert_eq!(run.stderr.lines().count(), 11, "ten warnings and a count: {}", run.stderr);
    assert!(run.stderr.ends_with("skipped: 1 more; the formats json and html name all of them\n"), "{}", run.stderr);
    let found = answer(&dir, &["results"], 0);
    let why = |name: &str| -> String {
        let all = found["skipped"].as_array().unwrap();
        let of: Vec<&Value> = all.iter().filter(|one| one["file"] == format!("results/{name}.json")).collect();
        assert_eq!(of.len(), 1, "{name}: {all:?}");
        of[0]["reason"].as_str().unwrap().to_owned()
    };
    for (name, words) in [
        ("costs", "is a result of `strata characterize`"),
        ("run", "is a recording; `strata replay FILE --format json`"),
        ("node0-0", "is the same run as `results/node0-0-copy.json`"),
        ("node0-1", "is named twice, or a link"),
        ("empty", "is empty"),
        ("cut", "is damaged or cut: EOF"),
        ("list", "is damaged or cut"),
        ("other", "has the schema \"a/b\""),
        ("bytes", "is no text"),
        ("damaged", "was changed or damaged: l2.latency.cycles: its interval begins at"),
        ("secret", if may_read_all { "has no schema" } else { "cannot be read: Permission denied" }),
    ] {
        assert!(why(name).contains(words), "{name}: {}", why(name));
    }
    assert_eq!(found["passed_over"], 1);
    assert_eq!(fleet(&dir, &["results", "--quiet"]).stderr, "");
}

#[test]
fn a_report_may_lie_among_the_results_and_no_result_is_lost() {
    let dir = results(3);
    for _ in 0..2 {
        let run = fleet(&dir, &["results", "--format", "json", "--output", "results/fleet.json"]);
        assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    }
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("results/fleet.json")).unwrap()).unwrap();
    assert_eq!((&kept["earlier_reports"], &kept["results"]), (&json!(1), &json!(3)));
    let text = fleet(&dir, &["results", "--output", "fleet.txt"]);
    assert_eq!(text.status, Some(0));
    let whole = fs::read_to_string(dir.path().join("fleet.txt")).unwrap();
    assert!(whole.contains("\nl1 miss_penalty"), "a file has all attributes: {whole}");
    let before = fs::read(dir.path().join("results/node0-0.json")).unwrap();
    let refused = fleet(&dir, &["results", "--output", "results/node0-0.json"]);
    assert!(refused.status == Some(2) && refused.stderr.contains("is read by this command"), "{}", refused.stderr);
    assert_eq!(fs::read(dir.path().join("results/node0-0.json")).unwrap(), before);
}

#[test]
fn without_a_result_it_says_what_to_do() {
    let dir = results(1);
    fs::create_dir(dir.path().join("empty")).unwrap();
    fs::write(dir.path().join("broken.json"), "{").unwrap();
    for (arguments, words) in [
        (&["empty"][..], "no file); write one for each GPU with `strata discover --format json --output FILE.json`"),
        (&["broken.json"], "`broken.json` is damaged"),
        (&["none"], "cannot read `none`"),
        (&["results", "none.json"], "cannot read `none.json`"),
        (&["results", "--only", "l9"], "no element or part `l9`"),
        (&["results", "--only", "instruction_l0"], "no result has anything of instruction_l0"),
        (&["results", "--sigmas", "-1"], "give a number from 0"),
        (&["results", "--percent", "NaN"], "give a number from 0"),
        (&[], "required"),
    ] {
        let run = fleet(&dir, arguments);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(run.stderr.contains(words), "{arguments:?}: {}", run.stderr);
    }
}
