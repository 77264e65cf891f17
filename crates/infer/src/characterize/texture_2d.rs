//! How much faster a CUDA array is than linear memory, by access order, and what a texture's units cost (CS 179, lecture 4: texture
//! memory).

use super::Answer;
use super::points::{
    NOTHING, PlannedLine, ROUNDS, axis, difference, figure, finding, later_rounds, measure, names, percent_more, said,
};
use super::walks::{self, LOADS, Walks};
use crate::probe::{Gap, Notebook, Settle};
use strata_model::characterization::Suite;
use strata_model::experiment::{LoadPath, PatternRun};
use strata_model::pattern::{Layout, Pattern, Sampling, Walk2d};

/// What is asked.
pub(super) const QUESTION: &str =
    "Is a CUDA array faster than linear memory, for each order of walking a square, and what do filters cost?";

/// Side of the square: 1024 x 1024 words are 4 MiB.
const SIDE: u32 = 1024;
/// The walks: 4 rows, 4 columns, 64 tiles, and single texels.
const ORDERS: [Walk2d; 4] = [Walk2d::Rows, Walk2d::Columns, Walk2d::Tiles, Walk2d::Random];
/// See [`ORDERS`].
const WALKS: Walks = Walks {
    names: &["rows", "columns", "tiles", "random"],
    pattern: |i, layout: Layout| Pattern::Square { walk: ORDERS[i], layout, side: SIDE, loads: LOADS },
    across: 1,
    instruction: "tex.2d",
    grid: "1024 x 1024 words",
    tiles: "8 x 8",
};

/// Side of the square that is sampled: 4 KiB, which every texture cache keeps.
const SAMPLED_SIDE: u32 = 32;
/// What a texture does with coordinates. All others are compared with the first.
const SAMPLINGS: [(&str, Sampling); 3] =
    [("nearest", Sampling::Nearest), ("normalized", Sampling::Normalized), ("linear", Sampling::Linear)];

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, _: &Suite) -> Result<Answer, Gap> {
    // Both are asked before an answer is looked at, so that they are measured together.
    let (walks, sampled) = (walks::compare(notebook, &WALKS), sampled(notebook));
    let mut answer = walks?;
    match sampled.settled()? {
        Ok(sampled) => answer.join(sampled),
        Err(unknown) => answer.finding("linear_filtering", unknown.finding()),
    }
    Ok(answer)
}

/// Texture loads that hit, at coordinates of floating point: what normalized ones and a filter cost.
fn sampled(notebook: &Notebook) -> Result<Answer, Gap> {
    let run = |sampling| {
        let pattern =
            Pattern::Sampled { walk: Walk2d::Rows, sampling, side: SAMPLED_SIDE, loads: SAMPLED_SIDE * SAMPLED_SIDE };
        PatternRun::new(pattern, LoadPath::Texture, ROUNDS)
    };
    let places = SAMPLINGS.iter().enumerate().map(|(i, &(_, sampling))| (i as f64, run(sampling)));
    let plan = PlannedLine { label: "tex.2d of a CUDA array".into(), places: places.collect() };
    let lines = measure(notebook, &[plan], later_rounds)?;
    let mut answer = Answer::default();
    let Some(line) = lines.first() else { return Ok(answer) };
    let Some(nearest) = line.at(0.0) else { return Ok(answer) };
    let mut told = Vec::new();
    for (i, name, what, method) in [
        (
            1.0,
            "normalized_coordinates",
            "the use of normalized coordinates",
            "extra time of a texture load that hits, with coordinates from 0 to 1 instead of coordinates in texels",
        ),
        (
            2.0,
            "linear_filtering",
            "a linear filter",
            "extra time of a texture load that hits, with a linear filter instead of the nearest texel, at the texels' centres",
        ),
    ] {
        let Some(point) = line.at(i) else { continue };
        let more = difference(point, nearest, 1.0);
        let note = format!(
            "{} and {} cycles per load, with the arithmetic of the coordinates",
            said(point.value),
            said(nearest.value)
        );
        let nothing = percent_more(point, nearest).is_none_or(|percent| percent.value.abs() < NOTHING);
        told.push(if nothing {
            format!("{what} costs nothing")
        } else {
            format!("{what} costs {} cycles", said(more.value))
        });
        answer.finding(name, finding(&more, "cycles", method).note(note));
    }
    if !told.is_empty() {
        answer.means(format!("In a texture load that hits, {}.", told.join(", and ")));
    }
    answer.figure(figure(
        "sampling",
        format!("Texture loads of {SAMPLED_SIDE} x {SAMPLED_SIDE} numbers that hit"),
        names("what the texture does", &SAMPLINGS.map(|(name, _)| name)),
        axis("cycles per load", "cycles", false),
        lines,
    ));
    Ok(answer)
}
