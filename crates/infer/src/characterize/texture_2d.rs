//! How much faster a CUDA array is than linear memory, by access order (CS 179, lecture 4: texture memory).

use super::Answer;
use super::points::{PlannedLine, axis, every_round, figure, finding, measure, names, percent_more, said};
use crate::probe::{Gap, Notebook};
use strata_model::characterization::{Line, Point, Suite};
use strata_model::experiment::{LoadPath, PatternRun, Prepare};
use strata_model::pattern::{Layout, Pattern, Walk2d};

/// What is asked.
pub(super) const QUESTION: &str = "Is a CUDA array faster than linear memory, for each order of walking a square?";

/// Side of the square: 1024 x 1024 words are 4 MiB.
const SIDE: u32 = 1024;
/// Loads of a walk: 4 rows, 4 columns or 64 tiles.
const LOADS: u32 = 4096;
/// The walks, with their names.
const WALKS: [(&str, Walk2d); 4] =
    [("rows", Walk2d::Rows), ("columns", Walk2d::Columns), ("tiles", Walk2d::Tiles), ("random", Walk2d::Random)];

fn experiment(walk: Walk2d, layout: Layout, prepare: Prepare, seed: u64) -> PatternRun {
    let pattern = Pattern::Square { walk, layout, side: SIDE, loads: LOADS };
    PatternRun { prepare, seed, ..PatternRun::new(pattern, LoadPath::Texture, 1) }
}

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, _: &Suite) -> Result<Answer, Gap> {
    let seed = notebook.seed(51);
    let sources = [("memory", Prepare::FlushL2), ("L2", Prepare::Fill { passes: 1 })];
    let layouts = [("array", Layout::Array), ("linear", Layout::Linear)];
    let mut plans = Vec::new();
    for (from, prepare) in sources {
        for (what, layout) in layouts {
            let places =
                WALKS.iter().enumerate().map(|(i, &(_, walk))| (i as f64, experiment(walk, layout, prepare, seed)));
            plans.push(PlannedLine { label: format!("{what}, {from}"), places: places.collect() });
        }
    }
    let lines = measure(notebook, &plans, every_round)?;
    let mut answer = Answer::default();
    for (pair, (from, _)) in lines.chunks_exact(2).zip(sources) {
        let [array, linear] = pair else { continue };
        let key = if from == "memory" { "memory" } else { "l2" };
        for (i, (walk, _)) in WALKS.into_iter().enumerate() {
            let Some((of, base)) = both(array, linear, i as f64) else { continue };
            let Some(more) = percent_more(of, base) else { continue };
            answer.finding(
                &format!("array_{walk}_from_{key}"),
                finding(
                    &more,
                    "%",
                    format!("extra time by tex.2d of a CUDA array compared with tex.1d of linear memory, {walk}, from {from}"),
                )
                .note(format!("{} and {} cycles per load", said(of.value), said(base.value))),
            );
        }
    }
    if let Some((array, linear)) = lines.first().zip(lines.get(1)) {
        let told: Vec<String> = WALKS
            .iter()
            .enumerate()
            .filter_map(|(i, (walk, _))| {
                let (of, base) = both(array, linear, i as f64)?;
                Some(format!("{walk} {} and {}", said(of.value), said(base.value)))
            })
            .collect();
        if !told.is_empty() {
            answer.means(format!(
                "Cycles per load from memory, in a CUDA array and in linear memory: {}.",
                told.join("; ")
            ));
        }
        if let (Some((columns, _)), Some((rows, linear_rows))) = (both(array, linear, 1.0), both(array, linear, 0.0)) {
            let ratio = columns.value / rows.value;
            answer.means(format!(
                "In a CUDA array columns take {} times as long as rows; in linear memory rows take {} cycles and columns {} times as long.",
                said(ratio),
                said(linear_rows.value),
                linear.at(1.0).map_or("-".into(), |c| said(c.value / linear_rows.value))
            ));
        }
    }
    let walks = WALKS.map(|(name, _)| name);
    answer.figure(figure(
        "walks",
        format!("A chase of {LOADS} loads over {SIDE} x {SIDE} words"),
        names("order of the walk, tiles of 8 x 8", &walks),
        axis("cycles per load", "cycles", false),
        lines,
    ));
    Ok(answer)
}

fn both<'a>(array: &'a Line, linear: &'a Line, x: f64) -> Option<(&'a Point, &'a Point)> {
    Some((array.at(x)?, linear.at(x)?))
}
