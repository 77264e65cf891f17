//! How many loads a single warp has outstanding past the L1.
//!
//! As for an [SM](super::outstanding), with bursts of one warp: more and more loads, until all longer bursts take a good part of the
//! latency longer. The longest burst has forty loads, since compilers keep few more results apart. Where forty loads do not wait for each
//! other, the number is unknown, with that as its least.
//!
//! Assumes that a warp has room for the four loads of the shortest burst.

use super::outstanding::{Class, Line, Point, points};
use crate::probe::{Gap, Notebook};
use strata_model::topology::{Finding, TIME_BY_LOADS};

/// Numbers of loads that one warp can make by the programs for bursts, the last one by the longest.
const LOADS: [u32; 9] = [4, 6, 8, 16, 18, 20, 36, 38, 40];
/// So many of them are taken to be below the limit, for the first line through the times.
const FIRST: usize = 2;
/// The first of these takes at least this share of the time of the last, or the time is not that of a latency.
const ONE_LATENCY: f64 = 0.7;

/// How many loads a warp has outstanding.
///
/// # Errors
///
/// Missing measurements; or an unknown where there is no pinned memory, or where no jump is seen.
pub fn loads(notebook: &Notebook) -> Result<Finding<u64>, Gap> {
    found(&points(notebook, &LOADS, 1, 0)?)
}

fn found(bursts: &[Point]) -> Result<Finding<u64>, Gap> {
    let [first, second, ..] = bursts else { return Gap::unknown("blocks of this device are too small for a burst") };
    if first.least() < ONE_LATENCY * second.least() {
        return Gap::unknown("two loads more take as long as the first ones: the time is not that of a latency");
    }
    let mut below: Vec<&Point> = bursts[..FIRST].iter().collect();
    // Bursts that clearly take longer, with none behind them that does not.
    let mut beyond: Vec<u32> = Vec::new();
    for point in &bursts[FIRST..] {
        let Some(line) = Line::through(&below) else { return Gap::unknown("no burst was timed") };
        if !line.shows(point.loads) {
            break;
        }
        match line.class(point) {
            Class::Below => {
                below.push(point);
                // Whatever took longer with fewer loads was disturbed.
                beyond.clear();
            }
            Class::Beyond if line.is_whole_jump(point) => beyond.push(point.loads),
            Class::Beyond | Class::Between => {}
        }
    }
    if let [first, _, ..] = beyond[..] {
        let last = below[below.len() - 1].loads;
        let method =
            "bursts of loads of pinned host memory by one warp: where the whole time jumps by most of the latency";
        return Ok(Finding::measured(u64::from(last), method)
            .range(f64::from(last), f64::from(first - 1))
            .series(TIME_BY_LOADS, bursts.iter().map(Point::as_series).collect()));
    }
    let (line, last) = (Line::through(&below), below[below.len() - 1]);
    match line {
        Some(line) if line.shows(last.loads) => Ok(Finding::unknown(format!(
            "at least {}: so many loads of a warp take {:.0} cycles together and four take {:.0}, and compilers keep few more apart",
            last.loads,
            last.least(),
            first.least()
        ))
        .at_least(f64::from(last.loads))),
        _ => Gap::unknown(format!("{} loads take too long on their way for a limit to show", last.loads)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bursts of a warp that has room for so many, over a bus that takes a load every so many cycles.
    fn bursts(room: u32, pace: f64) -> Vec<Point> {
        let time = |loads: u32| 2500.0 * f64::from(1 + (loads - 1) / room) + pace * f64::from(loads);
        LOADS.map(|loads| Point { loads, times: vec![time(loads)] }).to_vec()
    }

    #[test]
    fn a_jump_lies_between_two_numbers() {
        for (room, interval) in [(6, (6, 7)), (16, (16, 17)), (30, (20, 35)), (36, (36, 37))] {
            let finding = found(&bursts(room, 3.0)).unwrap();
            let found = (finding.low.unwrap() as u32, finding.high.unwrap() as u32);
            assert!(found == interval && (interval.0..=interval.1).contains(&room), "{room}: {found:?}");
        }
    }

    /// One burst in the middle takes longer, or the last one: something else may have used the host.
    #[test]
    fn a_lone_burst_that_takes_longer_is_no_limit() {
        for (disturbed, by, least) in [(4, 1.13, 40), (4, 2.0, 40), (8, 2.0, 38)] {
            let mut bursts = bursts(64, 3.0);
            bursts[disturbed].times[0] *= by;
            let finding = found(&bursts).unwrap();
            assert_eq!((finding.value, finding.low), (None, Some(f64::from(least))), "{disturbed} by {by}");
        }
    }

    #[test]
    fn without_a_jump_there_is_a_least() {
        let reason = |bursts: &[Point]| match found(bursts) {
            Ok(finding) => (finding.reason.unwrap(), finding.low),
            Err(Gap::Unknown(unknown)) => (unknown.reason(), None),
            other => panic!("{other:?}"),
        };
        let (words, least) = reason(&bursts(64, 3.0));
        assert!(
            words.starts_with("at least 40: so many loads of a warp take 2620 cycles") && least == Some(40.0),
            "{words}"
        );
        // A bus that takes as long for thirty loads, or for six, as the first is on its way.
        assert!(reason(&bursts(64, 80.0)).0.starts_with("at least 20: "));
        assert!(reason(&bursts(64, 400.0)).0.contains("too long on their way"));
        assert!(reason(&bursts(4, 3.0)).0.contains("not that of a latency"));
    }
}
