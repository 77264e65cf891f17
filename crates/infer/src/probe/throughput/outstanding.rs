//! How many loads of its warps an SM has outstanding past its L1.
//!
//! The warps of one block load words of pinned host memory, each load a line of its own and all lanes of a warp the
//! same word. No loaded value is used before the last load is issued. As long as the SM has room for all loads, a burst
//! of them takes the latency and a little more for each load. The first load that finds no room leaves when the first
//! answer has come, so the whole burst takes two latencies. The number of loads at which the time jumps is searched
//! for: on a grid first, then in finer steps.
//!
//! Host memory is far: the loads that fill an SM leave it long before the first answer comes. The L2 answers sooner
//! than that.
//!
//! Assumes that an SM gives back the room of a load when it is answered. Fails where the bus takes as long for the
//! loads as the first answer takes to come: then nobody sees whether a load waits for the bus or for room. The answer
//! is then unknown, as it is where the times spread so much that more loads seem to take less time.

use crate::analysis::robust;
use crate::probe::{Gap, Notebook};
use strata_model::experiment::{LoadPath, PatternRun, WARP};
use strata_model::pattern::{BURST_EACH, BURST_OPTIONAL, BURST_ROUNDS, Pattern};
use strata_model::topology::{Finding, SeriesPoint, TIME_BY_LOADS};

/// Numbers of loads that are tried first. With fewer the time grows faster: the longest of a few loads waits less than
/// the longest of many. A limit below the third is not looked for.
const GRID: [u32; 14] = [64, 128, 192, 256, 320, 384, 448, 512, 576, 640, 768, 896, 1024, 1152];
/// Of the grid, so many are taken to be below the limit, for the first line through the times.
const FIRST: usize = 3;
/// By this factor of the first time the last of [`FIRST`] must stay below it: a burst beyond the limit takes twice the
/// latency.
const NOT_YET: f64 = 1.6;
/// The line goes through so many bursts, the last that are below.
const LATEST: usize = 5;
/// Share of the latency by which a burst takes longer than the line says if some of its loads wait for room, and by which it
/// does not if none does. Medians of a burst on H100s differ by 0.1 of it.
const SEEN: (f64, f64) = (0.2, 0.12);
/// Up to this share of the way from the time below the limit to that beyond it a burst is below, and from the other share
/// on beyond. By the way the loads are shared out bursts on an H100 differ by up to 0.3 of it. From 324 loads on a way is the same
/// program for all numbers, and each way is held against itself.
const SHARES: (f64, f64) = (0.4, 0.6);
/// Parts into which an interval is divided in one step of the search.
const PARTS: u32 = 8;
/// Most steps of the search.
const STEPS: u32 = 4;
/// So often a step is measured anew while the ends of its interval are not what they were: the host was busy.
/// Prototypes on H100s saw bursts that took half as long again for some milliseconds.
const ATTEMPTS: u32 = 3;
/// Widest interval that is stated, as a share of the number of loads, and in loads.
const WIDEST: (f64, f64) = (0.05, 16.0);

/// Share of the loads that may wait and not be seen: the first of them leave with the first answers, and others are answered
/// after them. Prototypes on H100s saw the time begin to rise between 506 and 510 loads; bursts of 508 to 511 are the longest that do not jump.
const UNSEEN: f64 = 0.01;

/// How a number of loads is shared out: most loads of a warp, and warps.
type Split = (u32, u32);

/// What bursts of so many loads took.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub loads: u32,
    /// In cycles, by split: of the medians of its launches the least, since whatever else is at work only adds time.
    pub times: Vec<f64>,
}

/// Whether a burst waited for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// No load did, by both splits.
    Below,
    /// Some did, by both splits.
    Beyond,
    /// The splits disagree, or the time lies between.
    Between,
}

/// Time by the number of loads, where none waits for room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Of one load: the latency, but for what the longest of many loads takes more.
    start: f64,
    each: f64,
}

impl Point {
    fn most(&self) -> f64 {
        self.times.iter().copied().fold(0.0, f64::max)
    }

    /// As a point of the curve over loads.
    pub fn as_series(&self) -> SeriesPoint {
        SeriesPoint { x: f64::from(self.loads), value: self.least().round(), band: None }
    }

    /// The least of its times.
    pub fn least(&self) -> f64 {
        self.times.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// Whether a burst is below or beyond, by what share of the jump it takes longer, way by way.
fn class_of(shares: &[f64], (below, beyond): (f64, f64)) -> Class {
    match () {
        () if shares.iter().all(|share| *share <= below) => Class::Below,
        () if shares.iter().all(|share| *share >= beyond) => Class::Beyond,
        () => Class::Between,
    }
}

impl Line {
    /// Through the last of these points: by the median of all slopes.
    pub fn through(points: &[&Point]) -> Option<Self> {
        let points = &points[points.len().saturating_sub(LATEST)..];
        let mut slopes = Vec::new();
        for (i, a) in points.iter().enumerate() {
            slopes.extend(points[i + 1..].iter().map(|b| (b.most() - a.most()) / f64::from(b.loads - a.loads)));
        }
        let each = robust::median(&slopes)?;
        let starts: Vec<f64> = points.iter().map(|p| p.most() - each * f64::from(p.loads)).collect();
        Some(Line { start: robust::median(&starts)?, each })
    }

    fn at(&self, loads: u32) -> f64 {
        self.start + self.each * f64::from(loads)
    }

    /// By how much longer a burst takes if one of its loads waits for the first answer.
    fn jump(&self, loads: u32) -> f64 {
        2.0 * self.start - self.at(loads)
    }

    /// Whether a burst of so many loads would take clearly longer if one of them waited.
    pub fn shows(&self, loads: u32) -> bool {
        self.jump(loads) >= SEEN.0 * self.start
    }

    /// Whether a burst takes longer by most of what it does if one of its loads waits for the first answer.
    pub fn is_whole_jump(&self, point: &Point) -> bool {
        point.least() - self.at(point.loads) >= SHARES.1 * self.jump(point.loads)
    }

    /// Whether a burst waited.
    pub fn class(&self, point: &Point) -> Class {
        let share = |time: &f64| (time - self.at(point.loads)) / self.start;
        class_of(&point.times.iter().map(share).collect::<Vec<_>>(), (SEEN.1, SEEN.0))
    }
}

/// How many loads an SM has outstanding at most.
///
/// # Errors
///
/// Missing measurements; or an unknown where there is no pinned memory, where no jump is seen, or where times spread
/// too much.
pub fn loads(notebook: &Notebook) -> Result<Finding<u64>, Gap> {
    let most = notebook.facts().max_threads_per_block / WARP as u32;
    let tried: Vec<u32> = GRID.into_iter().filter(|&loads| !splits(loads, most).is_empty()).collect();
    let mut seen = points(notebook, &tried, most, 0)?;
    let (line, mut low, mut high) = match coarse(&seen) {
        Ok(found) => found,
        Err(reason) => return Gap::unknown(reason),
    };
    for step in 0..STEPS {
        if high - low <= 1 {
            break;
        }
        let finer = (high - low).div_ceil(PARTS);
        let inner = (1..).map(|part| low + part * finer).take_while(|&loads| loads < high);
        let inner = inner.filter(|&loads| !splits(loads, most).is_empty());
        let wanted: Vec<u32> = [low].into_iter().chain(inner).chain([high]).collect();
        let mut found = None;
        for attempt in 0..ATTEMPTS {
            let points = points(notebook, &wanted, most, 1 + step * ATTEMPTS + attempt)?;
            found = between(line.start, &points);
            if found.is_some() {
                seen.extend(points);
                break;
            }
        }
        let Some((last, first)) = found else {
            return Gap::unknown(format!(
                "bursts of {low} and {high} loads do not take again what they took before: something else may use the host's memory"
            ));
        };
        let is_same = (last, first) == (low, high);
        (low, high) = (last, first);
        if is_same || finer == 1 {
            break;
        }
    }
    if f64::from(high - low) > WIDEST.1.max(WIDEST.0 * f64::from(low)) {
        return Gap::unknown(format!(
            "the times of bursts spread too much: somewhere from {low} to {high} loads they begin to take longer"
        ));
    }
    Ok(finding(notebook, &line, &seen, (low, high)))
}

fn finding(notebook: &Notebook, line: &Line, seen: &[Point], (low, high): (u32, u32)) -> Finding<u64> {
    let mut sorted: Vec<&Point> = seen.iter().collect();
    sorted.sort_by(|a, b| a.loads.cmp(&b.loads).then(a.least().total_cmp(&b.least())));
    sorted.dedup_by_key(|point| point.loads);
    let at = |loads: u32| sorted.iter().find(|p| p.loads == loads).map_or(0.0, |p| p.least());
    let series = sorted.iter().map(|p| p.as_series());
    let method = format!(
        "bursts of loads of pinned host memory by the warps of one block, shared out in two ways: where the whole time jumps by a part \
         of the latency; median of {} rounds, least of {} launches",
        BURST_ROUNDS - 1,
        repeats(notebook)
    );
    Finding::measured(u64::from(low), method)
        .range((f64::from(low) * (1.0 - UNSEEN)).floor(), f64::from(high))
        .note(format!(
            "a load takes {:.0} cycles, and each more {:.1}; {low} take {:.0}, and {high} take {:.0}",
            line.start,
            line.each,
            at(low),
            at(high)
        ))
        .series(TIME_BY_LOADS, series.collect())
}

/// The line below the limit, the last burst of the grid that is below it, and the first that is beyond; or why there is
/// none.
fn coarse(grid: &[Point]) -> Result<(Line, u32, u32), String> {
    let (Some(first), Some(last)) = (grid.first(), grid.get(FIRST - 1)) else {
        return Err("blocks of this device are too small for a burst".into());
    };
    if last.least() >= NOT_YET * first.least() {
        return Err(format!(
            "{} loads already take {:.0} cycles, and {} take {:.0}: the time is not that of a latency",
            last.loads,
            last.least(),
            first.loads,
            first.least()
        ));
    }
    let mut below: Vec<&Point> = grid[..FIRST].iter().collect();
    let (mut beyond, mut between): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let line = |below: &[&Point]| Line::through(below).ok_or_else(|| "no burst was timed".to_owned());
    // So many certainly do not wait: if they did, it would be seen.
    let begin = line(&below)?;
    let mut certain = below.iter().map(|point| point.loads).filter(|&loads| begin.shows(loads)).max().unwrap_or(0);
    for point in &grid[FIRST..] {
        let line = line(&below)?;
        match line.class(point) {
            Class::Below => {
                if line.shows(point.loads) {
                    certain = point.loads;
                }
                below.push(point);
                // Whatever took longer with fewer loads was disturbed.
                beyond.clear();
            }
            Class::Beyond => beyond.push(point.loads),
            Class::Between => between.push(point.loads),
        }
    }
    let (line, last) = (line(&below)?, below[below.len() - 1].loads);
    match beyond.first() {
        Some(&beyond) => Ok((line, last, beyond)),
        None => Err(match between.as_slice() {
            [first, .., last] => {
                format!(
                    "bursts of {first} to {last} loads take longer by one of the two ways to share them out, and not by the other"
                )
            }
            _ if certain < last => format!(
                "{}{last} loads take {:.0} cycles on their way, and the first of them is answered after {:.0}, so a limit does not show",
                match certain {
                    0 => String::new(),
                    certain => format!("at least {certain}: so many loads do not wait for room. "),
                },
                line.at(last),
                line.start
            ),
            _ => format!("at least {certain}: no burst that was tried takes longer than the loads before it say"),
        }),
    }
}

/// Of these bursts, in ascending order, the last before the first that is beyond the limit, and the first after the
/// last that is below it. They are held against the first and the last of them, way by way: on H100s all bursts of a
/// later batch took up to a tenth longer than those of an earlier one. None if these two do not differ by a good part
/// of the jump.
fn between(latency: f64, points: &[Point]) -> Option<(u32, u32)> {
    let (low, high) = (points.first()?, points.last()?);
    let ways = points.iter().map(|point| point.times.len()).min()?;
    let range: Vec<f64> = (0..ways).map(|way| high.times[way] - low.times[way]).collect();
    if range.iter().any(|range| *range < SEEN.1 * latency) {
        return None;
    }
    let share = |point: &Point, way: usize| (point.times[way] - low.times[way]) / range[way];
    let class = |point: &Point| class_of(&(0..ways).map(|way| share(point, way)).collect::<Vec<_>>(), SHARES);
    let classes: Vec<Class> = points.iter().map(class).collect();
    let first_beyond = classes.iter().position(|class| *class == Class::Beyond)?;
    let last_below = classes.iter().rposition(|class| *class == Class::Below)?;
    let low = classes[..first_beyond].iter().rposition(|class| *class == Class::Below)?;
    let high = last_below + classes[last_below..].iter().position(|class| *class == Class::Beyond)?;
    Some((points[low].loads, points[high].loads))
}

/// Up to two ways to share out so many loads among `most` warps or fewer.
fn splits(loads: u32, most: u32) -> Vec<Split> {
    let fits = |&(each, warps): &Split| {
        (1..=most).contains(&warps) && ((each - BURST_OPTIONAL) * warps..=each * warps).contains(&loads)
    };
    // With as many loads of each warp as a program allows, and with as few.
    let most_each = BURST_EACH.map(|each| (each, loads.div_ceil(each)));
    let fewest_each = BURST_EACH.map(|each| (each, loads / (each - BURST_OPTIONAL)));
    let mut chosen: Vec<Split> = Vec::new();
    for split in most_each.into_iter().chain(fewest_each).filter(fits) {
        if chosen.len() < 2 && !chosen.contains(&split) {
            chosen.push(split);
        }
    }
    chosen
}

/// Launches of each burst.
fn repeats(notebook: &Notebook) -> u32 {
    notebook.effort().choose(2, 3, 5)
}

/// What bursts of so many loads take. Launches of one burst lie apart in time: whatever disturbs one of them may have
/// ended.
pub(super) fn points(notebook: &Notebook, numbers: &[u32], most: u32, attempt: u32) -> Result<Vec<Point>, Gap> {
    let repeats = repeats(notebook);
    let shared: Vec<(u32, Split)> =
        numbers.iter().flat_map(|&loads| splits(loads, most).into_iter().map(move |split| (loads, split))).collect();
    let run = |(loads, (each, warps)): (u32, Split), repeat: u32| {
        let run = PatternRun::new(Pattern::Burst { loads, each, warps }, LoadPath::Host, BURST_ROUNDS);
        PatternRun { repeat: attempt * repeats + repeat, ..run }
    };
    let wanted: Vec<PatternRun> =
        (0..repeats).flat_map(|repeat| shared.iter().map(move |&burst| run(burst, repeat))).collect();
    let measured = notebook.read(&wanted)?;
    // The first round translates addresses.
    let medians: Vec<f64> = measured
        .iter()
        .filter_map(|m| {
            robust::median(&m.samples().laps.iter().skip(1).map(|lap| lap.cycles as f64).collect::<Vec<_>>())
        })
        .collect();
    if medians.len() != wanted.len() {
        return Gap::unknown("a burst has no times");
    }
    let least = |of: usize| medians.iter().skip(of).step_by(shared.len()).copied().fold(f64::INFINITY, f64::min);
    let times: Vec<f64> = (0..shared.len()).map(least).collect();
    let of = |loads: u32| shared.iter().zip(&times).filter(move |((of, _), _)| *of == loads).map(|(_, time)| *time);
    Ok(numbers.iter().map(|&loads| Point { loads, times: of(loads).collect() }).collect())
}

#[cfg(test)]
mod tests {
    use strata_model::effort::Effort;
    use strata_model::experiment::Experiment;
    use strata_model::facts::DeviceFacts;
    use strata_model::samples::{Failure, Lap, Samples};

    use super::*;

    /// Cycles of a burst where an SM has room for so many loads, and the bus takes a load every so many cycles.
    fn cycles(loads: u32, room: u32, pace: f64) -> f64 {
        let latency = 2500.0;
        let waves = f64::from((loads - 1) / room);
        (latency + pace * f64::from(loads)).max(latency * (1.0 + waves) + pace * f64::from(loads - waves as u32 * room))
    }

    /// What is found on a device on which a burst takes this long, by its number and that of its repetition.
    fn found(time: impl Fn(&PatternRun, Pattern) -> Result<f64, Failure>) -> (Finding<u64>, usize) {
        let facts = DeviceFacts { max_threads_per_block: 1024, ..DeviceFacts::default() };
        let mut notebook = Notebook::new(facts, Effort::Standard, 0);
        let mut measured = 0;
        loop {
            let finding = notebook.finding(|| loads(&notebook));
            let missing = notebook.take_missing();
            if missing.is_empty() {
                return (finding, measured);
            }
            for experiment in missing {
                let Experiment::Pattern(run) = experiment else { panic!("not a burst") };
                assert_eq!(run.defect(), None);
                measured += 1;
                let answer = time(&run, run.pattern).map(|cycles| {
                    let lap = Lap { loads: run.pattern.operations(), cycles: cycles as u64 };
                    Samples { laps: vec![lap; run.rounds as usize], ..Samples::default() }
                });
                notebook.add(measured as u32, experiment, answer);
            }
        }
    }

    fn loads_of(pattern: Pattern) -> u32 {
        pattern.operations()
    }

    #[test]
    fn every_number_of_loads_is_shared_out_and_most_of_them_in_two_ways() {
        for loads in 64..=1152 {
            let ways = splits(loads, 32);
            assert!(!ways.is_empty(), "{loads}");
            assert!(ways.len() == 2 || loads > 640, "{loads}: {ways:?}");
        }
        assert_eq!(splits(508, 32), [(40, 13), (20, 26)]);
        assert!(GRID.into_iter().all(|loads| splits(loads, 32).len() == 2));
    }

    #[test]
    fn the_jump_is_found_to_the_load() {
        for room in [200, 256, 500, 508, 512, 1000] {
            let (finding, measured) = found(|_, pattern| Ok(cycles(loads_of(pattern), room, 1.0)));
            assert_eq!(finding.value, Some(u64::from(room)), "{finding:?}");
            assert_eq!(finding.high, Some(f64::from(room + 1)));
            assert_eq!(finding.low, Some((0.99 * f64::from(room)).floor()));
            assert!(measured < 300, "{measured}");
        }
    }

    /// As on H100s: 3 cycles a load, a few of the first rather more, and times that spread.
    #[test]
    fn times_that_spread_leave_an_interval() {
        let time = |run: &PatternRun, pattern: Pattern| {
            let Pattern::Burst { loads, warps, .. } = pattern else { panic!() };
            let spread = f64::from((loads * 7919 + warps * 104_729 + run.repeat * 1_299_709) % 101) * 3.0;
            Ok(cycles(loads, 508, 3.0) + spread + 200.0 * (1.0 - (-f64::from(loads) / 60.0).exp()))
        };
        let (finding, _) = found(time);
        let (low, high) = (finding.low.unwrap(), finding.high.unwrap());
        assert!(low <= 508.0 && 508.0 <= high && high - low <= 22.0, "{finding:?}");
    }

    #[test]
    fn without_a_jump_it_is_at_least_as_many_as_were_tried() {
        let (finding, _) = found(|_, pattern| Ok(cycles(loads_of(pattern), 4096, 0.5)));
        let reason = finding.reason.unwrap();
        assert!(finding.value.is_none() && reason.starts_with("at least 1152"), "{reason}");
    }

    /// A bus that takes as long for all loads as the first takes to be answered.
    #[test]
    fn a_slow_bus_hides_the_limit() {
        let (finding, _) = found(|_, pattern| Ok(cycles(loads_of(pattern), 512, 12.0)));
        let reason = finding.reason.unwrap();
        assert!(finding.value.is_none() && reason.contains("a limit does not show"), "{reason}");
        assert!(reason.starts_with("at least 128"), "{reason}");
        // With room for 180, a burst of 192 takes little more.
        let (finding, _) = found(|_, pattern| Ok(cycles(loads_of(pattern), 180, 12.0)));
        assert!(finding.reason.as_ref().unwrap().starts_with("at least 64"), "{finding:?}");
    }

    #[test]
    fn a_limit_below_what_is_tried_is_unknown() {
        for room in [20, 100] {
            let (finding, _) = found(|_, pattern| Ok(cycles(loads_of(pattern), room, 1.0)));
            assert!(finding.reason.unwrap().contains("not that of a latency"), "{room}");
        }
    }

    /// Something else uses the bus while a batch is measured. Where all its bursts take longer by the same, the jump is
    /// where it is.
    #[test]
    fn a_disturbed_batch_is_measured_again() {
        let disturbed = |attempts: std::ops::Range<u32>, flat: bool| {
            found(move |run, pattern| {
                let time = cycles(loads_of(pattern), 508, 1.0);
                let is_disturbed = attempts.contains(&(run.repeat / 3));
                Ok(if !is_disturbed {
                    time
                } else if flat {
                    6000.0
                } else {
                    time + 1400.0
                })
            })
        };
        assert_eq!(disturbed(1..100, false).0.value, Some(508));
        assert_eq!(disturbed(1..3, true).0.value, Some(508));
        let (finding, _) = disturbed(1..100, true);
        assert!(finding.reason.as_ref().unwrap().contains("do not take again"), "{finding:?}");
    }

    /// One burst of the grid was disturbed each time.
    #[test]
    fn a_lone_burst_that_takes_longer_is_no_limit() {
        let (finding, _) = found(|_, pattern| {
            let loads = loads_of(pattern);
            Ok(cycles(loads, 508, 1.0) + if loads == 384 { 1400.0 } else { 0.0 })
        });
        assert_eq!(finding.value, Some(508));
    }

    /// By one way of sharing the loads out, bursts of any length jump: that is something else.
    #[test]
    fn both_ways_must_agree() {
        let (finding, _) = found(|_, pattern| {
            let Pattern::Burst { loads, each, .. } = pattern else { panic!() };
            Ok(cycles(loads, if each == 20 { 300 } else { 4096 }, 0.5))
        });
        let reason = finding.reason.as_deref().unwrap();
        assert!(finding.value.is_none() && reason.contains("and not by the other"), "{reason}");
    }

    #[test]
    fn without_pinned_memory_it_is_unknown_with_that_reason() {
        let (finding, _) = found(|_, _| Err(Failure::unsupported("no pinned memory")));
        assert!(finding.value.is_none() && finding.reason.as_deref() == Some("no pinned memory"), "{finding:?}");
    }
}
