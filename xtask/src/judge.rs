//! `cargo xtask judge`: discovers or characterizes machines drawn at random and judges all that is said of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use gpu_strata::Effort;
use serde::{Deserialize, Serialize};
use strata_judge::expect::Verdict;
use strata_judge::said::{Said, costs, said};
use strata_judge::side_by_side;
use strata_sim::machine::Machine;

/// Who drew the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Generator {
    /// The one that grew with the probes
    First,
    /// The one that was written from the format of machine files alone
    Second,
    /// The second one, with what recent GPUs have besides: GPCs, instruction caches, hints, shared TLBs
    Recent,
}

/// What to judge.
#[derive(Args, Debug, PartialEq)]
pub struct Request {
    /// Judge what is said of the costs of access patterns, and not of the memory hierarchy
    #[arg(long)]
    characterize: bool,
    /// Which generator draws the machines
    #[arg(long, value_enum, default_value = "second")]
    generator: Generator,
    /// The number of the first machine
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: u64,
    /// Machines
    #[arg(long, value_name = "N", default_value_t = 20)]
    machines: u64,
    /// These machines instead, by their numbers
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    only: Vec<u64>,
    /// Seeds with which each machine is measured
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u64,
    /// How much to measure: quick or standard
    #[arg(long, default_value = "quick", value_parser = crate::agreement::parse_effort)]
    effort: Effort,
    /// Begin no machine after this time
    #[arg(long, value_name = "N")]
    minutes: Option<f64>,
    /// Keep each run in this file, and measure no run again that it has: a study that was stopped goes on. One file for each
    /// build and kind of study
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Measure nothing: write the machines to this folder, as files for `strata discover --device sim:FILE.toml`
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
}

/// A machine with what is unusual about it.
struct Drawn {
    machine: Machine,
    traits: Vec<String>,
}

fn draw(generator: Generator, number: u64) -> Drawn {
    match generator {
        Generator::First => {
            let drawn = strata_drawn::machine(number);
            Drawn { machine: drawn.machine, traits: vec![format!("{:?}", drawn.noise)] }
        }
        Generator::Second | Generator::Recent => {
            let draw = if generator == Generator::Second { strata_drawn::second } else { strata_drawn::recent };
            let drawn = draw(number);
            Drawn { machine: drawn.machine, traits: drawn.traits.into_iter().map(str::to_owned).collect() }
        }
    }
}

/// One run and what it said.
#[derive(Serialize, Deserialize)]
struct Judged {
    number: u64,
    seed: u64,
    seconds: f64,
    traits: Vec<String>,
    said: Vec<Said>,
}

/// What is said of a machine on which the program panics.
fn panicked() -> Said {
    Said {
        of: "the program".into(),
        attribute: "run".into(),
        verdict: Verdict::Wrong("panicked: see above".into()),
        interval: false,
        shown: String::new(),
    }
}

/// The runs that a file has, by machine and seed; none, if there is no such file yet. A last line that was cut short is left out.
fn kept(file: &Path) -> Result<BTreeMap<(u64, u64), Judged>> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.with_context(|| format!("{}", file.display()))?,
    };
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let run = |line| -> Result<_> {
        let one: Judged = serde_json::from_str(line).with_context(|| format!("{}: {line:.80}", file.display()))?;
        Ok(((one.number, one.seed), one))
    };
    whole.lines().map(run).collect()
}

/// Measures the machines side by side, one on each thread, but for those that are kept.
fn measure(request: &Request, numbers: &[u64]) -> Result<Vec<Judged>> {
    let mut all = request.keep.as_deref().map(kept).transpose()?.unwrap_or_default();
    let asked: BTreeSet<(u64, u64)> =
        numbers.iter().flat_map(|&number| (1..=request.seeds).map(move |seed| (number, seed))).collect();
    all.retain(|run, _| asked.contains(run));
    let jobs: Vec<(u64, u64)> = asked.into_iter().filter(|run| !all.contains_key(run)).collect();
    let open = |file: &PathBuf| OpenOptions::new().append(true).create(true).open(file);
    let keep = request.keep.as_ref().map(open).transpose()?.map(Mutex::new);
    let end = request.minutes.map(|minutes| Instant::now() + Duration::from_secs_f64(minutes * 60.0));
    let judged = if request.characterize { costs } else { said };
    let new = side_by_side(&jobs, |&(number, seed)| {
        let begun = Instant::now();
        if end.is_some_and(|end| begun >= end) {
            return None;
        }
        let Drawn { machine, traits } = draw(request.generator, number);
        // A machine on which the program panics is a finding, too.
        let said = catch_unwind(|| judged(&machine, request.effort, seed)).unwrap_or_else(|_| vec![panicked()]);
        let one = Judged { number, seed, seconds: begun.elapsed().as_secs_f64(), traits, said };
        if let Some(keep) = &keep {
            let line = serde_json::to_string(&one).expect("numbers and texts") + "\n";
            keep.lock().expect("no writer panics").write_all(line.as_bytes()).expect("the file can be written");
        }
        Some(one)
    });
    all.extend(new.into_iter().map(|one| ((one.number, one.seed), one)));
    Ok(all.into_values().collect())
}

/// How much was said, and how.
#[derive(Default)]
struct Tally {
    judged: u32,
    answered: u32,
    intervals: u32,
    hold: u32,
    wrong: u32,
}

impl Tally {
    fn add(&mut self, said: &Said) {
        self.judged += 1;
        self.answered += u32::from(!matches!(said.verdict, Verdict::Unanswered(_)));
        if said.interval {
            self.intervals += 1;
            self.hold += u32::from(matches!(said.verdict, Verdict::Right | Verdict::Covered));
        }
        self.wrong += u32::from(is_wrong(&said.verdict));
    }

    fn row(&self, name: &str) -> String {
        let share = |part: u32, of: u32| match of {
            0 => "-".to_owned(),
            of => format!("{:.1} %", 100.0 * f64::from(part) / f64::from(of)),
        };
        format!(
            "| {name} | {} | {} | {} | {} | {} |",
            self.judged,
            share(self.answered, self.judged),
            self.intervals,
            share(self.hold, self.intervals),
            self.wrong
        )
    }
}

const HEAD: &str = "judged | answered | intervals | that hold the truth | wrong |\n|---|---|---|---|---|---|";

fn is_wrong(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Wrong(_) | Verdict::Missed(_))
}

/// Measures, judges and prints: what is wrong first, then the tables as Markdown.
pub fn study(request: &Request) -> Result<()> {
    let numbers: Vec<u64> = match request.only.as_slice() {
        [] => (request.from..request.from + request.machines).collect(),
        only => only.to_vec(),
    };
    ensure!(!numbers.is_empty() && request.seeds > 0, "there is nothing to judge: give machines and seeds");
    if let Some(folder) = &request.write {
        fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
        for number in numbers {
            let file = folder.join(format!("{number}.toml"));
            fs::write(&file, draw(request.generator, number).machine.text)
                .with_context(|| format!("{}", file.display()))?;
        }
        return Ok(());
    }
    let all = measure(request, &numbers)?;
    let (mut whole, mut of_attribute, mut of_trait) =
        (Tally::default(), BTreeMap::<String, Tally>::new(), BTreeMap::<&str, Tally>::new());
    for one in &all {
        let failed = |said: &&Said| matches!(&said.verdict, Verdict::Wrong(what) if what.starts_with("failed: "));
        for said in one.said.iter().filter(failed).take(1) {
            println!("{}:{} {}.{}: {:?}", one.number, one.seed, said.of, said.attribute, said.verdict);
        }
        for said in &one.said {
            whole.add(said);
            of_attribute.entry(format!("{}.{}", said.of, said.attribute)).or_default().add(said);
            let none = BTreeSet::from(["nothing unusual"]);
            let traits: BTreeSet<&str> = one.traits.iter().map(String::as_str).collect();
            for name in if traits.is_empty() { none } else { traits } {
                of_trait.entry(name).or_default().add(said);
            }
            let what = match &said.verdict {
                _ if failed(&said) => continue,
                Verdict::Wrong(what) => what.clone(),
                Verdict::Missed(by) => format!("missed by {by:.1} widths"),
                _ => continue,
            };
            println!(
                "{}:{} {}.{}: {what}; {} ({})",
                one.number,
                one.seed,
                said.of,
                said.attribute,
                said.shown,
                one.traits.join(", ")
            );
        }
    }
    let seconds: f64 = all.iter().map(|one| one.seconds).sum();
    println!("\n{} runs of {seconds:.0} s together\n\n| attribute | {HEAD}", all.len());
    of_attribute.iter().for_each(|(name, tally)| println!("{}", tally.row(name)));
    println!("{}", whole.row("all"));
    println!("\n| kind of machine | {HEAD}");
    of_trait.iter().for_each(|(name, tally)| println!("{}", tally.row(name)));
    Ok(())
}
