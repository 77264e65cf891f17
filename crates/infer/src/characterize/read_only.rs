//! The read-only path against the L1 (CS 179, lecture 4: read-only cache).

use super::Answer;
use super::points::{
    PlannedLine, ROUNDS, axis, figure, finding, first_round, later_rounds, longer, measure, percent_more, said,
};
use crate::probe::{Gap, Notebook};
use strata_model::characterization::{Line, Suite};
use strata_model::experiment::{LoadPath, PatternRun, Prepare};
use strata_model::pattern::Pattern;
use strata_model::units::Bytes;

/// What is asked.
pub(super) const QUESTION: &str = "Is data read faster by ld.global.nc than by ld.global.ca?";

/// Reads of each thread.
const READS: u32 = 512;
/// The paths.
const PATHS: [LoadPath; 3] = [LoadPath::GlobalCa, LoadPath::GlobalNc, LoadPath::GlobalCg];

fn reads(path: LoadPath, threads: u32) -> PatternRun {
    let word = Bytes(4);
    let pattern = Pattern::Reads { threads, reads: READS, distance: word, step: word, width: word, start: Bytes(0) };
    PatternRun { prepare: Prepare::FlushL2, ..PatternRun::new(pattern, path, ROUNDS) }
}

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, suite: &Suite) -> Result<Answer, Gap> {
    let plans = PATHS
        .map(|path| PlannedLine::new(path.instruction(), suite.threads.iter().copied(), move |t: u32| reads(path, t)));
    let (cold, warm) = (measure(notebook, &plans, first_round), measure(notebook, &plans, later_rounds));
    let (cold, warm) = (cold?, warm?);
    let mut answer = Answer::default();
    for (name, lines, from) in [("cold", &cold, "from memory"), ("warm", &warm, "read before")] {
        compare(&mut answer, name, lines, from);
    }
    let x = || axis("threads", "", true);
    let y = || axis("cycles per read", "cycles", false);
    answer.figure(figure("cold", "Neighbouring words, from memory", x(), y(), cold));
    answer.figure(figure("warm", "The same, from the caches", x(), y(), warm));
    Ok(answer)
}

/// The read-only path against the L1's, with one warp where there is one.
fn compare(answer: &mut Answer, name: &str, lines: &[Line], from: &str) {
    let [ca, nc, _] = lines else { return };
    if let Some(reason) = nc.reason.as_ref().filter(|_| nc.points.is_empty()) {
        answer.finding(&format!("{name}_difference"), strata_model::topology::Finding::unknown(reason.clone()));
        return;
    }
    let Some(point) = nc.at(32.0).or(nc.points.last()) else { return };
    let Some(more) = ca.at(point.x).and_then(|base| percent_more(point, base)) else { return };
    answer.finding(
        &format!("{name}_difference"),
        finding(
            &more,
            "%",
            format!("extra time by ld.global.nc compared with ld.global.ca, words {from}, {} threads", point.x),
        ),
    );
    let base = ca.at(point.x).map_or(0.0, |p| p.value);
    let times = format!("{} and {} cycles per read with {} threads", said(point.value), said(base), point.x);
    answer.means(match longer(more.value) {
        None => format!("Words {from} take the same time by ld.global.nc and by ld.global.ca: {times}."),
        Some(much) => format!("Words {from} take {much} by ld.global.nc than by ld.global.ca: {times}."),
    });
}
