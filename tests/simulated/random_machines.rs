//! Discovery on machines drawn at random: nothing discrete that it states is wrong, its intervals cover the truth, and it
//! answers most of what can be known.

use crate::sim;
use crate::sim::expect::{Verdict, judge};
use gpu_strata::Effort;
use strata_drawn::Noise;
use strata_judge::kept;
use strata_model::topology::Finding;

/// Machines that a run draws, of which the first are always the same. `PROPTEST_CASES` asks for more.
const CASES: u64 = 4;
/// Of so many machines that `PROPTEST_CASES` asks for one is drawn here.
const ONE_OF: u64 = 2;
/// Of so many of the kept machines an ordinary run has one; `STRATA_SAMPLES=3` has all.
const EVERY: usize = 3;
/// Share of the intervals that must cover the truth.
const COVERED: f64 = 0.93;
/// An interval that misses the truth misses it by no more than so many times its width.
const FARTHEST: f64 = 2.0;
/// Share of the attributes of machines that are not hostile that must be answered.
const ANSWERED: f64 = 0.95;

/// Machines that discovery once got wrong.
const REGRESSIONS: &str = include_str!("random_machines.regressions");

/// The numbers of machines and the seeds by which they are discovered. `STRATA_SEEDS` names some machines, with commas, to look at
/// those alone.
fn runs() -> Vec<(u64, u64)> {
    if let Ok(named) = std::env::var("STRATA_SEEDS") {
        let number = |word: &str| word.trim().parse().expect("seeds are numbers");
        return named.split(',').map(number).map(|number| (number, number)).collect();
    }
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse::<u64>().ok());
    let cases = asked.map_or(CASES, |asked| asked / ONE_OF);
    let known = kept(REGRESSIONS).map(|(number, seed)| (number, seed.unwrap_or(number)));
    sim::spread(EVERY, known).chain((0..cases).map(|number| (number, number))).collect()
}

/// What became of one machine.
#[derive(Default)]
struct Tally {
    wrong: Vec<String>,
    intervals: u32,
    covered: u32,
    asked: u32,
    answered: u32,
    unanswered: Vec<String>,
}

/// Whether it is unknown because noise is as large as what a miss costs.
fn hides_a_level(finding: &Finding) -> bool {
    let reason = finding.reason.as_deref().unwrap_or_default();
    let noise = ["do not separate", "rejects the change point"].iter().any(|words| reason.contains(words));
    !finding.is_known() && !finding.failed && noise
}

fn one(number: u64, seed: u64) -> Tally {
    let drawn = strata_drawn::machine(number);
    let outcome = sim::whole_discovery(&drawn.machine, Effort::Quick, seed);
    let rows = sim::truth::rows(&drawn.machine, &outcome.seen);
    let mut tally = Tally::default();
    let hostile = matches!(drawn.noise, Noise::Hostile(_));
    for (row, verdict) in judge(&outcome.topology, &rows) {
        let name = format!("machine {number} ({:?}), {}.{}", drawn.noise, row.element, row.attribute);
        let finding = sim::finding(&outcome.topology, row.element, row.attribute);
        let found =
            format!("{} [{:?} to {:?}], truth {}", sim::json(finding), finding.low, finding.high, row.expect.shown());
        if !hostile {
            tally.asked += 1;
            tally.answered += u32::from(!matches!(verdict, Verdict::Unanswered(_)));
        }
        if finding.low.is_some() && !matches!(verdict, Verdict::Unanswered(_)) {
            tally.intervals += 1;
            tally.covered += u32::from(matches!(verdict, Verdict::Right | Verdict::Covered));
        }
        match verdict {
            Verdict::Missed(by) if by > FARTHEST => tally.wrong.push(format!("{name}: {found}")),
            // Where noise hides everything, there is another reason for it.
            Verdict::Wrong(_) if hostile && !finding.is_known() && !finding.failed => {}
            // Where jitter hides one of two levels that are two cycles apart, there is another reason, too: no answer.
            Verdict::Wrong(why) if hides_a_level(finding) => {
                tally.answered -= 1;
                tally.unanswered.push(format!("{name}: {why}"));
            }
            Verdict::Wrong(what) => tally.wrong.push(format!("{name}: {what}; truth {}", row.expect.shown())),
            Verdict::Unanswered(why) if !hostile => tally.unanswered.push(format!("{name}: {why}")),
            _ => {}
        }
    }
    tally
}

#[test]
fn what_is_stated_is_right_and_most_is_stated() {
    let runs = runs();
    let mut sum = Tally::default();
    for tally in strata_judge::side_by_side(&runs, |&(number, seed)| Some(one(number, seed))) {
        sum.wrong.extend(tally.wrong);
        sum.unanswered.extend(tally.unanswered);
        sum.intervals += tally.intervals;
        sum.covered += tally.covered;
        sum.asked += tally.asked;
        sum.answered += tally.answered;
    }
    let share = |part: u32, whole: u32| f64::from(part) / f64::from(whole.max(1));
    println!(
        "{} machines: {} of {} intervals cover the truth, {} of {} attributes answered",
        runs.len(),
        sum.covered,
        sum.intervals,
        sum.answered,
        sum.asked
    );
    sum.unanswered.sort_unstable();
    if std::env::var_os("UNANSWERED").is_some() {
        println!("unanswered:\n{}", sum.unanswered.join("\n"));
    }
    assert!(sum.wrong.is_empty(), "wrong:\n{}", sum.wrong.join("\n"));
    assert!(
        share(sum.covered, sum.intervals) >= COVERED,
        "{} of {} intervals cover the truth",
        sum.covered,
        sum.intervals
    );
    assert!(share(sum.answered, sum.asked) >= ANSWERED, "{} of {} attributes answered", sum.answered, sum.asked);
}
