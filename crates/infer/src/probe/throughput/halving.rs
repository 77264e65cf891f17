//! The search for the launch that gets the most (successive halving): each shape of a launch is measured once, the best of them again,
//! and the best of those several times more and longer.

use std::fmt::Display;

use super::interval::range;
use crate::analysis::robust;
use crate::probe::{Gap, Measurement, Notebook};
use strata_model::experiment::{Counted, Experiment, Persistent};
use strata_model::facts::DeviceFacts;

/// Of the shapes one in so many is measured again, and how often.
const AGAIN: (usize, u32) = (3, 2);
/// Of the shapes so many are measured to the end, and how often each.
const LAST: (usize, u32) = (2, 7);
/// The last measurements may differ by this share; else there are as many again, each so many times as long.
const STEADY: (f64, u32) = (0.004, 6);
/// Part of the time of what is stated for which the best of the search are measured again.
const AGAIN_SHORTER: u32 = 4;

/// How a launch is measured.
#[derive(Clone, Copy)]
pub(super) enum Round {
    /// To choose: with all else that is alike a short time will do.
    Search,
    /// To choose among the best.
    Again,
    /// To be stated.
    Stated,
    /// To be stated, where that was not steady.
    Longer,
}

impl Round {
    /// Cycles before a launch counts and for which it does, by those of the search and of what is stated.
    pub fn cycles(self, search: (u32, u32), (warm, timed): (u32, u32)) -> (u32, u32) {
        match self {
            Round::Search => search,
            Round::Again => (warm, timed / AGAIN_SHORTER),
            Round::Stated => (warm, timed),
            Round::Longer => (warm, timed * STEADY.1),
        }
    }
}

/// How the best launch was found, that on so many SMs, and for how many cycles it counted.
pub(super) fn method(best: &impl Display, sms: usize, cycles: Option<u32>) -> String {
    let counted = cycles.map_or(String::new(), |cycles| format!(" for {cycles} cycles"));
    format!("best launch of a search: {best}; {sms} SMs, counted{counted} in the middle of the launch")
}

/// Numbers of repetitions that neither the search nor what it states has.
pub(super) fn further_repeats() -> std::ops::Range<u32> {
    LAST.1 + AGAIN.1..LAST.1 + 2 * AGAIN.1
}

/// A launch that can be searched for.
pub(super) trait Launch: Persistent + Clone + Into<Experiment> {}

impl<E: Persistent + Clone + Into<Experiment>> Launch for E {}

/// Whether an SM can hold so many blocks of so many threads.
pub(super) fn has_room(facts: &DeviceFacts, threads: u32, blocks: u32) -> bool {
    threads <= facts.max_threads_per_block && threads * blocks <= facts.max_threads_per_multiprocessor.max(threads)
}

/// What one shape of launch gave.
pub(super) struct Rates<S> {
    pub shape: S,
    pub each: Vec<Counted>,
    /// Numbers of its launches.
    pub experiments: Vec<u32>,
    /// Cycles for which they counted.
    pub cycles: Option<u32>,
    /// Where the memory of each launch was.
    pub bases: Vec<u64>,
    /// Shortest life of a block, in nanoseconds.
    pub shortest: u64,
    /// Nanoseconds of which all lives are multiples: the step of the timer.
    pub step: u64,
}

impl<S> Rates<S> {
    /// In a cycle of an SM, launch by launch.
    pub fn per_sm(&self) -> Vec<f64> {
        self.each.iter().map(Counted::per_sm).collect()
    }

    /// The median of that.
    pub fn median(&self) -> f64 {
        robust::median(&self.per_sm()).unwrap_or(0.0)
    }

    /// SMs at work.
    pub fn sms(&self) -> usize {
        self.each.first().map_or(0, |seen| seen.per_clk.len())
    }

    /// The share of their median by which the launches differ.
    fn spread(&self) -> f64 {
        let (middle, low, high) = range(&self.per_sm());
        (high - low) / middle.max(f64::MIN_POSITIVE)
    }
}

/// What a search found.
pub(super) struct Found<S> {
    /// What each shape gave when it was measured once.
    pub first: Vec<Rates<S>>,
    /// What the best gave, measured anew: so it is not stated by the luck for which it was chosen.
    pub best: Rates<S>,
}

/// Searches these shapes; `launch` makes one of them for a round and a number of a repetition. What is not steady is measured for longer,
/// if it may be.
pub(super) fn search<S: Copy, E: Launch>(
    notebook: &Notebook,
    shapes: &[S],
    may_be_longer: bool,
    launch: impl Fn(S, Round, u32) -> E,
) -> Result<Found<S>, Gap> {
    let first = rates(notebook, shapes, &launch, Round::Search, 0..1)?;
    let kept = best(&first, first.len().div_ceil(AGAIN.0));
    // Numbers of repetitions tell these launches from those that are stated.
    let again = rates(notebook, &kept, &launch, Round::Again, LAST.1..LAST.1 + AGAIN.1)?;
    let chosen = best(&again, LAST.0);
    let mut last = rates(notebook, &chosen, &launch, Round::Stated, 0..LAST.1)?;
    if may_be_longer && last.iter().any(|of| of.spread() > STEADY.0) {
        last = rates(notebook, &chosen, &launch, Round::Longer, 0..LAST.1)?;
    }
    match last.into_iter().max_by(|a, b| a.median().total_cmp(&b.median())) {
        Some(best) => Ok(Found { first, best }),
        None => Gap::unknown("no launch that could be tried gave a rate"),
    }
}

/// What these shapes give, those left out that the device cannot hold.
pub(super) fn rates<S: Copy, E: Launch>(
    notebook: &Notebook,
    shapes: &[S],
    launch: impl Fn(S, Round, u32) -> E,
    round: Round,
    repeats: std::ops::Range<u32>,
) -> Result<Vec<Rates<S>>, Gap> {
    let mut wanted = Vec::new();
    for &shape in shapes {
        wanted.extend(repeats.clone().map(|repeat| launch(shape, round, repeat)));
    }
    let answers = notebook.read_each(&wanted)?;
    let mut failure = None;
    let mut found = Vec::new();
    for (&shape, answers) in shapes.iter().zip(answers.chunks(repeats.len())) {
        let measured: Result<Vec<&Measurement<E>>, _> = answers.iter().map(Result::as_ref).collect();
        let measured = match measured {
            Ok(measured) => measured,
            Err(why) => {
                failure.get_or_insert(why.clone());
                continue;
            }
        };
        let each = measured.iter().filter_map(|m| m.experiment.counted(m.samples())).collect();
        let lives = || measured.iter().flat_map(|m| m.samples().clocks.iter().map(|clock| clock.nanoseconds));
        let experiments = measured.iter().filter_map(|m| notebook.number_of(m.experiment.clone())).collect();
        found.push(Rates {
            shape,
            each,
            experiments,
            cycles: measured.first().map(|m| m.experiment.timed_cycles()),
            bases: measured.iter().map(|m| m.samples().base).collect(),
            shortest: lives().min().unwrap_or(0),
            step: lives().fold(0, gcd),
        });
    }
    match (found.is_empty(), failure) {
        (true, Some(failure)) => Err(failure.into()),
        (true, None) => Gap::unknown("no launch of the search fits on this device"),
        _ => Ok(found),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The shapes with the highest rates, so many of them.
fn best<S: Copy>(all: &[Rates<S>], count: usize) -> Vec<S> {
    let mut order: Vec<&Rates<S>> = all.iter().collect();
    order.sort_by(|a, b| b.median().total_cmp(&a.median()));
    order.into_iter().take(count).map(|of| of.shape).collect()
}
