//! `cargo xtask agreement`: how often results of one simulated machine differ, and how often a changed machine is found.
//!
//! Reading order: this file (what is discovered), `run` (discovery, side by side), `report` (what came of it).

mod report;
mod run;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use gpu_strata::Effort;
use strata_drawn::{Change, Changed};
use strata_model::topology::Topology;
use strata_sim::machine::{self, Machine};

/// Seeds of changed machines begin here: none is that of an original.
const SEEDS_OF_CHANGED: u64 = 1001;
/// Results of an original that are there before the first changed machine is discovered, if time is short.
const FIRST: u64 = 2;
/// How a random machine is named, before its seed.
const DRAWN: &str = "random:";

/// What to study.
#[derive(Args, Debug, PartialEq)]
pub struct Request {
    /// Machines: the thirteen that come with strata, then random ones
    #[arg(long, value_name = "N", default_value_t = 40)]
    machines: usize,
    /// These machines instead, such as k20c,random:7
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Seeds with which each machine is discovered
    #[arg(long, value_name = "N", default_value_t = 10)]
    seeds: u64,
    /// Seeds with which each changed machine is discovered; 0 leaves changes out
    #[arg(long, value_name = "N", default_value_t = 1)]
    changed: u64,
    /// How much to measure: quick or standard
    #[arg(long, default_value = "quick", value_parser = parse_effort)]
    effort: Effort,
    /// Stop after this time and print what there is; 0 takes what is in the folder of --out
    #[arg(long, value_name = "N")]
    minutes: Option<f64>,
    /// Keep every result here and take those that are there; use an empty folder after a change of the program
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn parse_effort(name: &str) -> Result<Effort, String> {
    Effort::from_name(name).ok_or_else(|| format!("unknown effort `{name}`: use quick or standard"))
}

/// A machine with its changes, and what was found of all of them.
struct Subject {
    name: String,
    machine: Machine,
    changes: Vec<(Change, Changed)>,
    found: BTreeMap<Option<Change>, BTreeMap<u64, Topology>>,
}

impl Subject {
    fn new(name: &str) -> Result<Self> {
        let (machine, name) = match name.strip_prefix(DRAWN) {
            Some(seed) => {
                let seed = seed.parse().with_context(|| format!("`{name}`: a random machine is named by its seed"))?;
                let drawn = strata_drawn::machine(seed);
                (drawn.machine, format!("{name} ({:?})", drawn.noise))
            }
            None => (Machine::named(name)?, name.to_owned()),
        };
        let changes = Change::ALL.into_iter().filter_map(|change| Some((change, change.of(&machine)?))).collect();
        Ok(Subject { name, machine, changes, found: BTreeMap::new() })
    }

    /// Results of the machine as it is, or changed.
    fn results(&self, change: Option<Change>) -> Vec<&Topology> {
        self.found.get(&change).into_iter().flat_map(BTreeMap::values).collect()
    }
}

/// One discovery.
struct Job<'s> {
    subject: usize,
    change: Option<Change>,
    seed: u64,
    machine: &'s Machine,
}

/// All discoveries, those of every machine in turn: after a part of the time there is a part of each.
fn jobs<'s>(subjects: &'s [Subject], request: &Request) -> Vec<Job<'s>> {
    let originals = |seeds: std::ops::RangeInclusive<u64>| {
        seeds.flat_map(|seed| {
            subjects.iter().enumerate().map(move |(subject, s)| Job {
                subject,
                change: None,
                seed,
                machine: &s.machine,
            })
        })
    };
    let changed = (0..request.changed).flat_map(|number| {
        subjects.iter().enumerate().flat_map(move |(subject, s)| {
            let of = move |(change, changed): &'s (Change, Changed)| Job {
                subject,
                change: Some(*change),
                seed: SEEDS_OF_CHANGED + number,
                machine: &changed.machine,
            };
            s.changes.iter().map(of)
        })
    });
    originals(1..=request.seeds.min(FIRST)).chain(changed).chain(originals(FIRST + 1..=request.seeds)).collect()
}

/// Discovers, compares, and gives the tables as Markdown.
pub fn study(request: &Request) -> Result<String> {
    ensure!(request.seeds > 1, "one result has nothing to agree with; give --seeds 2 or more");
    let names: Vec<String> = if request.only.is_empty() {
        let drawn = (0..).map(|seed| format!("{DRAWN}{seed}"));
        machine::names().map(str::to_owned).chain(drawn).take(request.machines).collect()
    } else {
        request.only.clone()
    };
    let mut subjects = names.iter().map(|name| Subject::new(name)).collect::<Result<Vec<_>>>()?;
    let jobs = jobs(&subjects, request);
    let asked = jobs.len();
    let found: Vec<_> = run::all(&jobs, request)?
        .into_iter()
        .map(|(number, topology)| (jobs[number].subject, jobs[number].change, jobs[number].seed, topology))
        .collect();
    drop(jobs);
    let done = found.len();
    for (subject, change, seed, topology) in found {
        subjects[subject].found.entry(change).or_default().insert(seed, topology);
    }
    let study = report::Study::of(&subjects);
    if let Some(folder) = &request.out {
        let path = folder.join("details.md");
        std::fs::write(&path, &study.details).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(format!("{done} of {asked} discoveries at {} effort.\n\n{}", request.effort.name(), study.tables()))
}
