//! `cargo xtask judge`: discovers or characterizes machines drawn at random and judges all that is said of them.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use gpu_strata::Effort;
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
        Generator::Second => {
            let drawn = strata_drawn::second(number);
            Drawn { machine: drawn.machine, traits: drawn.traits.into_iter().map(str::to_owned).collect() }
        }
    }
}

/// One run and what it said.
struct Judged {
    number: u64,
    seed: u64,
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

/// Measures the machines side by side, one on each thread.
fn measure(request: &Request, numbers: &[u64]) -> Vec<Judged> {
    let jobs: Vec<(u64, u64)> =
        (1..=request.seeds).flat_map(|seed| numbers.iter().map(move |&number| (number, seed))).collect();
    let end = request.minutes.map(|minutes| Instant::now() + Duration::from_secs_f64(minutes * 60.0));
    let judged = if request.characterize { costs } else { said };
    let mut all = side_by_side(&jobs, |&(number, seed)| {
        if end.is_some_and(|end| Instant::now() >= end) {
            return None;
        }
        let Drawn { machine, traits } = draw(request.generator, number);
        // A machine on which the program panics is a finding, too.
        let said = catch_unwind(|| judged(&machine, request.effort, seed)).unwrap_or_else(|_| vec![panicked()]);
        Some(Judged { number, seed, traits, said })
    });
    all.sort_by_key(|one| (one.number, one.seed));
    all
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
    let begun = Instant::now();
    let all = measure(request, &numbers);
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
    println!("\n{} runs in {:.0} s\n\n| attribute | {HEAD}", all.len(), begun.elapsed().as_secs_f64());
    of_attribute.iter().for_each(|(name, tally)| println!("{}", tally.row(name)));
    println!("{}", whole.row("all"));
    println!("\n| kind of machine | {HEAD}");
    of_trait.iter().for_each(|(name, tally)| println!("{}", tally.row(name)));
    Ok(())
}
