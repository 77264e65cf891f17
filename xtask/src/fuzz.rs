//! `cargo xtask fuzz`: every parser of foreign bytes under libFuzzer for a given time.
//!
//! The fuzzer's program is built by the compiler that builds strata: the instrumentation is LLVM's and needs no nightly release. What a
//! parser breaks on is kept in `fuzz/crashes/NAME/`, where `tests/surface/parsers.rs` gives it to the parser in every test run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, bail};
use clap::{Args, value_parser};

/// Seconds for each parser, if nothing else is asked for.
const SECONDS: u32 = 20;
/// Most memory that a parser may take, in MiB: a recording may hold a gibibyte of samples; fifteen hundred are no parser's right.
const MEMORY_MIB: u32 = 1536;
/// Longest that one input may take, in seconds.
const SLOWEST: u32 = 10;
/// What instruments the program, as `cargo fuzz` has it.
const INSTRUMENTATION: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=3",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];
/// Where the instrumented program is built for; naming it keeps build scripts from being instrumented.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A parser, its longest input in bytes, and where inputs to begin with lie besides `fuzz/seeds/NAME`.
const PARSERS: [(&str, u32, &str); 10] = [
    ("machine", 20_000, "machines"),
    ("ptx", 20_000, "crates/kernels/src/ptx"),
    ("recording", 20_000, ""),
    ("recording_block", 20_000, ""),
    ("recording_repaired", 60_000, ""),
    ("experiments", 8_000, ""),
    ("results", 40_000, ""),
    ("policy", 20_000, ""),
    ("mt4g", 8_000, ""),
    ("cubin", 20_000, ""),
];

/// What the command line asks for.
#[derive(Args, Debug, PartialEq)]
pub struct Request {
    /// Seconds for each parser
    #[arg(long, value_name = "N", default_value_t = SECONDS, value_parser = value_parser!(u32).range(1..))]
    pub seconds: u32,
    /// Parsers; all, if none is named
    #[arg(value_name = "PARSER", value_parser = PARSERS.map(|(name, ..)| name))]
    pub only: Vec<String>,
}

/// Fuzzes, as many parsers at once as there are processors.
///
/// # Errors
///
/// If the program cannot be built or one of the parsers broke.
pub fn fuzz(root: &Path, request: &Request) -> Result<()> {
    let program = build(root)?;
    let wanted =
        PARSERS.into_iter().filter(|(name, ..)| request.only.is_empty() || request.only.iter().any(|n| n == name));
    let todo = Mutex::new(wanted);
    let broken = Mutex::new(Vec::new());
    let next = || todo.lock().ok()?.next();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((name, longest, more)) = next() {
                    match run(root, &program, name, longest, more, request.seconds) {
                        Ok(words) => println!("{name}: {words}"),
                        Err(error) => {
                            println!("{name}: BROKEN: {error:#}");
                            if let Ok(mut broken) = broken.lock() {
                                broken.push(name);
                            }
                        }
                    }
                }
            });
        }
    });
    let broken = broken.into_inner().unwrap_or_default();
    if !broken.is_empty() {
        bail!(
            "{} broke; the inputs are in fuzz/crashes: mend the parser and keep them, `cargo test --test surface parsers` gives them to it again",
            broken.join(", ")
        );
    }
    Ok(())
}

/// Builds the instrumented program.
fn build(root: &Path) -> Result<PathBuf> {
    let target = root.join("target/fuzz");
    let status = Command::new("cargo")
        .args(["build", "--release", "--locked", "--target", TARGET, "--manifest-path"])
        .arg(root.join("fuzz/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .env("RUSTFLAGS", INSTRUMENTATION.join(" "))
        .status()
        .context("cargo cannot be run")?;
    if !status.success() {
        bail!("the fuzzer's program cannot be built");
    }
    Ok(target.join(TARGET).join("release/parsers"))
}

/// Fuzzes one parser; gives the last line of what the fuzzer says.
fn run(root: &Path, program: &Path, name: &str, longest: u32, more: &str, seconds: u32) -> Result<String> {
    let corpus = root.join("target/fuzz/corpus").join(name);
    let crashes = root.join("fuzz/crashes").join(name);
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&crashes)?;
    let mut folders = vec![corpus];
    folders
        .extend([root.join("fuzz/seeds").join(name), root.join(more)].into_iter().filter(|f| f.is_dir() && f != root));
    let output = Command::new(program)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={longest}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
        .arg(format!("-timeout={SLOWEST}"))
        .arg(format!("-artifact_prefix={}/", crashes.display()))
        .args(folders)
        .env("STRATA_PARSER", name)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} cannot be run", program.display()))?;
    // A folder that nothing was put in says nothing.
    let _ = fs::remove_dir(&crashes);
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let last = said.lines().rev().find(|line| line.starts_with("Done")).unwrap_or("done");
        return Ok(last.to_owned());
    }
    let wrong = |line: &&str| ["panicked", "ERROR", "Test unit written"].iter().any(|mark| line.contains(mark));
    let lines: Vec<&str> = said.lines().filter(wrong).take(4).collect();
    bail!(
        "{}",
        if lines.is_empty() { said.lines().last().unwrap_or("it says nothing").to_owned() } else { lines.join("; ") }
    )
}
