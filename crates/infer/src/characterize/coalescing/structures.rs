//! An array of structures against arrays of their fields, of which one is read (CS 179, lecture 4: coalesced accesses).

use super::super::Answer;
use super::super::points::{
    PlannedLine, axis, counted, figure, finding, first_round, longer, measure, percent_more, said,
};
use crate::probe::{Gap, Notebook};
use strata_model::characterization::Suite;
use strata_model::experiment::{LoadPath, PatternRun, Prepare};
use strata_model::pattern::{ELEMENT, MOST_THREADS, Pattern};
use strata_model::units::Bytes;

/// Reads of each thread.
const READS: u32 = 64;
/// Sizes of a structure in bytes: of one field, which is the array of a field, up to 16 fields.
const SIZES: [u32; 5] = [4, 8, 16, 32, 64];

/// Threads that read a field of one structure after the other, neighbours of neighbouring structures.
fn fields(threads: u32, size: u32) -> PatternRun {
    let pattern = Pattern::Reads {
        threads,
        reads: READS,
        distance: Bytes(u64::from(size)),
        step: Bytes(u64::from(size) * u64::from(threads)),
        width: ELEMENT,
        start: Bytes(0),
    };
    PatternRun { prepare: Prepare::FlushL2, ..PatternRun::new(pattern, LoadPath::GlobalCa, 1) }
}

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, suite: &Suite) -> Result<Answer, Gap> {
    let threads = suite.threads.last().copied().unwrap_or(MOST_THREADS);
    let plan = PlannedLine::new(counted(threads, "thread"), SIZES, |size: u32| fields(threads, size));
    let lines = measure(notebook, &[plan], first_round)?;
    let mut answer = Answer::default();
    let Some(line) = lines.first() else { return Ok(answer) };
    let Some(alone) = line.at(f64::from(SIZES[0])) else { return Ok(answer) };
    let mut last = None;
    for &size in &SIZES[1..] {
        let Some(point) = line.at(f64::from(size)) else { continue };
        let Some(more) = percent_more(point, alone) else { continue };
        answer.finding(
            &format!("field_of_{size}_b_structure"),
            finding(
                &more,
                "%",
                format!("extra time to read one {ELEMENT} field of an array of structures of {size} B compared with an array of that field alone, from memory"),
            )
            .note(format!("{} and {} cycles per read with {}", said(point.value), said(alone.value), line.label)),
        );
        last = Some((size, more.value));
    }
    if let Some((size, percent)) = last {
        answer.means(match longer(percent) {
            Some(much) => format!(
                "To read one field of structures of {size} B takes {much} than to read it from an array of its own: \
                 prefer a structure of arrays where loops use few fields."
            ),
            None => format!("To read one field of structures of {size} B takes as long as from an array of its own."),
        });
    }
    answer.figure(figure(
        "structures",
        "One field of an array of structures, from memory",
        axis("size of a structure", "B", true),
        axis("cycles per read", "cycles", false),
        lines,
    ));
    Ok(answer)
}
