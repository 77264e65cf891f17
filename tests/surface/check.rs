//! `strata check`: all GPUs of a node against a policy, in bounded time.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{Run, command, strata};
use crate::published;

/// What is measured: an attribute with a limit that must be equal, and two with a range.
const ONLY: &str = "constant_l1.size,l1.latency";

/// A folder with the policy of healthy simulated K20c, and a machine file of a sick one: its constant L1 has a way less.
struct Node {
    dir: TempDir,
}

impl Node {
    fn new() -> Self {
        let node = Node { dir: TempDir::new().unwrap() };
        let results: Vec<String> = (1..4).map(|seed| node.file(&format!("good{seed}.json"))).collect();
        for (seed, result) in (1..4).zip(&results) {
            let seed = seed.to_string();
            let run = ["discover", "--device", "sim:k20c", "--effort", "quick", "--only", ONLY, "--seed", &seed];
            assert_eq!(strata(&[&run[..], &["--format", "json", "--output", result]].concat()).status, Some(0));
        }
        let [a, b, c] = &results[..] else { unreachable!() };
        assert_eq!(strata(&["compare", a, b, c, "--write-policy", &node.file("policy.toml")]).status, Some(0));
        let healthy = strata(&["machines", "k20c", "--toml"]).stdout;
        let (before, cache) = healthy.split_once("[cache.constant_l1]").unwrap();
        let sick = cache.replacen("size = \"2 KiB\"", "size = \"1536 B\"", 1).replacen("ways = 4", "ways = 3", 1);
        assert_ne!(sick, cache);
        fs::write(node.file("sick.toml"), format!("{before}[cache.constant_l1]{sick}")).unwrap();
        node
    }

    fn file(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn arguments<'a>(policy: &'a str, devices: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["check", "--policy", policy, "--device", devices, "--effort", "quick"], more].concat()
    }

    fn check(&self, devices: &str, more: &[&str]) -> Run {
        strata(&Node::arguments(&self.file("policy.toml"), devices, more))
    }

    fn sick(&self) -> String {
        format!("sim:{}", self.file("sick.toml"))
    }

    /// As [`Node::check`] with a driver that never answers: the program that opens it waits for somebody to write to a pipe.
    fn check_hanging(&self, devices: &str, more: &[&str]) -> Run {
        let driver = self.file("libcuda.so.1");
        if !Path::new(&driver).exists() {
            nix::unistd::mkfifo(driver.as_str(), nix::sys::stat::Mode::S_IRWXU).unwrap();
        }
        let policy = self.file("policy.toml");
        let done =
            command(&Node::arguments(&policy, devices, more)).env("STRATA_CUDA_LIBRARY", driver).output().unwrap();
        Run {
            status: done.status.code(),
            stdout: String::from_utf8(done.stdout).unwrap(),
            stderr: String::from_utf8(done.stderr).unwrap(),
        }
    }
}

fn lines(run: &Run) -> Vec<&str> {
    run.stdout.lines().collect()
}

#[test]
fn the_sick_gpu_is_named_with_its_level() {
    let node = Node::new();
    let well = node.check("sim:k20c,sim:k20c", &["--exit-style", "nagios"]);
    assert_eq!((well.status, lines(&well)[0]), (Some(0), "OK: all 2 GPUs passed"), "{}", well.stderr);
    let devices = format!("sim:k20c,{}", node.sick());
    for (style, status, word) in [("diff", 1, ""), ("nagios", 2, "CRITICAL: "), ("npd", 1, "")] {
        let run = node.check(&devices, &["--exit-style", style]);
        assert_eq!(run.status, Some(status), "{style}: {}", run.stderr);
        let lines = lines(&run);
        let summary = format!("{word}1 of 2 GPUs failed: {} constant_l1 size is 24 % below its limit", node.sick());
        assert_eq!(lines.len(), 3, "{}", run.stdout);
        assert_eq!(lines[0], summary);
        assert!(lines[1].starts_with("sim:k20c Tesla K20c passed: "), "{}", lines[1]);
        assert!(lines[2].contains("failed: constant_l1 size: 1.5 KiB, allowed 1.98 KiB to "), "{}", lines[2]);
    }
}

#[test]
fn the_result_is_kept_and_the_report_is_a_document() {
    let node = Node::new();
    let [result, metrics] = ["node.json", "node.prom"].map(|name| node.file(name));
    let devices = format!("sim:k20c,{}", node.sick());
    let more = ["--format", "json", "--gpus", "2", "--result", &result, "--prometheus", &metrics];
    let run = node.check(&devices, &more);
    assert_eq!(run.status, Some(1), "{}", run.stderr);
    published::conforms(&run.stdout);
    let health: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&health["schema"], &health["verdict"]), (&json!("strata/health/1"), &json!("failed")));
    assert_eq!(health["count"], json!({"expected": 2, "found": 2}));
    let gpus = health["gpus"].as_array().unwrap();
    assert_eq!(gpus.iter().map(|gpu| &gpu["verdict"]).collect::<Vec<_>>(), [&json!("passed"), &json!("failed")]);
    assert_eq!(gpus[1]["checked"]["outside"][0]["place"], json!("constant_l1 size"));
    // What was measured is what the policy needs, and `fleet` reads it.
    let kept = fs::read_to_string(&result).unwrap();
    published::conforms(&kept);
    let kept: Value = serde_json::from_str(&kept).unwrap();
    let elements = kept["gpus"][0]["topology"]["elements"].as_object().unwrap();
    assert_eq!(elements.keys().collect::<Vec<_>>(), ["l1", "constant_l1"]);
    assert_eq!(strata(&["fleet", &result]).status, Some(0));
    assert!(fs::read_to_string(metrics).unwrap().contains("strata_size_bytes{gpu=\"1\""));
}

#[test]
fn a_driver_that_never_answers_costs_its_time_and_no_other_result() {
    let node = Node::new();
    let started = Instant::now();
    let all = node.check_hanging("all", &["--timeout", "0.5", "--gpus", "8", "--exit-style", "nagios"]);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let why = "no answer within 0.5 s; its process was killed";
    let expected =
        [format!("CRITICAL: 8 of 8 GPUs are missing; driver failed: {why}"), format!("driver failed: {why}")];
    assert_eq!((all.status, lines(&all)), (Some(2), expected.iter().map(String::as_str).collect()));
    let some = node.check_hanging("sim:k20c,cuda:0", &["--timeout", "20"]);
    let lines = lines(&some);
    assert_eq!(some.status, Some(1), "{}", some.stderr);
    assert_eq!(lines[0], "1 of 2 GPUs failed: cuda:0 no answer within 20 s; its process was killed");
    assert!(lines[1].starts_with("sim:k20c Tesla K20c passed: "), "{}", lines[1]);
}

#[test]
fn what_says_nothing_of_the_gpu_is_untested() {
    let node = Node::new();
    let no_driver = node.check("all", &["--exit-style", "nagios"]);
    assert_eq!(no_driver.status, Some(3), "{}", no_driver.stderr);
    assert!(lines(&no_driver)[0].starts_with("UNKNOWN: driver untested: the CUDA driver"), "{}", no_driver.stdout);
    let other = node.check("sim:k20c,sim:p6000", &[]);
    assert_eq!(other.status, Some(2), "{}", other.stderr);
    let why = "no policy is for the simulated Quadro P6000; give one with --policy";
    assert_eq!(lines(&other)[0], format!("1 of 2 GPUs untested: sim:p6000 {why}"));
    // A file that cannot be used is no fault of the node.
    for (style, status) in [("diff", 2), ("nagios", 3), ("npd", 2)] {
        let run = strata(&["check", "--policy", "/nonexistent.toml", "--device", "sim:k20c", "--exit-style", style]);
        assert_eq!((run.status, run.stdout.as_str()), (Some(status), ""));
        assert!(run.stderr.contains("/nonexistent.toml"), "{}", run.stderr);
    }
    // Nor is a misspelt option, wherever the style stands.
    for (line, status) in [
        (&["check", "--polcy", "x", "--exit-style", "nagios"][..], 3),
        (&["-q", "check", "--exit-style=nagios", "--polcy", "x"], 3),
        (&["check", "--exit-style", "npd", "--polcy", "x"], 2),
        (&["check", "--exit-style", "nagio"], 2),
        (&["links", "--exit-style", "nagios"], 2),
    ] {
        let run = strata(line);
        assert_eq!((run.status, run.stdout.as_str()), (Some(status), ""), "{line:?}: {}", run.stderr);
    }
    let lost = node.check("sim:k20c", &["--result", &node.file("policy.toml")]);
    assert!(lost.status == Some(2) && lost.stderr.contains("would be lost"), "{}", lost.stderr);
}

#[test]
fn a_required_value_that_is_unknown_is_incomplete() {
    let node = Node::new();
    // GPUs of this age have no such cache.
    let policy = fs::read_to_string(node.file("policy.toml")).unwrap();
    let extended = policy + "[limits.\"constant_uniform.size\"]\nlow = 1024\nunit = \"B\"\n";
    fs::write(node.file("policy.toml"), extended).unwrap();
    for (style, status) in [("diff", 1), ("nagios", 1), ("npd", 1)] {
        let run = node.check("sim:k20c", &["--exit-style", style]);
        assert_eq!(run.status, Some(status), "{} {}", run.stdout, run.stderr);
        assert!(run.stdout.contains("incomplete: "), "{}", run.stdout);
    }
}

/// The processes that a process started, as the kernel lists them.
fn children(of: u32) -> Vec<i32> {
    let listed = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    listed.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Waits until something is so.
#[track_caller]
fn until<T>(mut is_so: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = is_so() {
            return found;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "it did not become so");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn hanging(node: &Node) -> (Child, i32) {
    let driver = node.file("libcuda.so.1");
    nix::unistd::mkfifo(driver.as_str(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let policy = node.file("policy.toml");
    let mut command = command(&Node::arguments(&policy, "cuda:0", &["--timeout", "60"]));
    let check = command.env("STRATA_CUDA_LIBRARY", driver).stdout(Stdio::piped()).spawn().unwrap();
    let child = until(|| children(check.id()).first().copied());
    (check, child)
}

#[test]
fn a_process_that_crashes_is_the_gpus_fault_and_one_that_is_ended_is_not() {
    for (signal, status, words) in [
        // Neither has a handler in the process.
        (Signal::SIGABRT, 1, "cuda:0 failed: its process crashed (signal 6)"),
        (Signal::SIGKILL, 2, "cuda:0 untested: its process was ended from outside (signal 9)"),
    ] {
        let node = Node::new();
        let (check, child) = hanging(&node);
        kill(Pid::from_raw(child), signal).unwrap();
        let done = check.wait_with_output().unwrap();
        let stdout = String::from_utf8(done.stdout).unwrap();
        assert_eq!(done.status.code(), Some(status), "{stdout}");
        assert!(stdout.contains(words), "{stdout}");
    }
}

#[test]
fn nothing_goes_on_when_the_check_is_killed() {
    let node = Node::new();
    let (mut check, child) = hanging(&node);
    let proc = PathBuf::from(format!("/proc/{child}/stat"));
    // Once it waits for the driver it has asked to end with the check.
    until(|| fs::read_to_string(&proc).ok().filter(|stat| stat.contains(") S ")));
    check.kill().unwrap();
    check.wait().unwrap();
    until(|| (!proc.exists() || fs::read_to_string(&proc).is_ok_and(|stat| stat.contains(") Z "))).then_some(()));
    // A pipe without a reader refuses one who writes: nobody has it open.
    let mut open = fs::OpenOptions::new();
    let writer = open.write(true).custom_flags(nix::libc::O_NONBLOCK).open(node.file("libcuda.so.1"));
    assert!(writer.is_err(), "the driver is still open");
}
