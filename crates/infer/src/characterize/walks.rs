//! How much faster a CUDA array is than linear memory, by the order in which a chase visits a grid.

use super::Answer;
use super::points::{PlannedLine, axis, every_round, figure, finding, measure, names, percent_more, said};
use crate::probe::{Gap, Notebook};
use strata_model::characterization::{Line, Point};
use strata_model::experiment::{LoadPath, PatternRun, Prepare};
use strata_model::pattern::{Layout, Pattern};

/// Loads of a walk.
pub(super) const LOADS: u32 = 4096;

/// The walks over one grid.
pub(super) struct Walks {
    /// Their names. The first goes along memory where it is linear.
    pub names: &'static [&'static str],
    /// The walk of a number in a layout.
    pub pattern: fn(usize, Layout) -> Pattern,
    /// The walk that goes farthest from one load to the next in linear memory, other than the random one.
    pub across: usize,
    /// The instruction that loads from an array.
    pub instruction: &'static str,
    /// The grid and its tiles, in words.
    pub grid: &'static str,
    /// See above.
    pub tiles: &'static str,
}

/// Where the elements are when a walk begins, with the end of a finding's name.
const SOURCES: [(&str, &str, Prepare); 2] =
    [("memory", "memory", Prepare::FlushL2), ("L2", "l2", Prepare::Fill { passes: 1 })];

/// Measures all walks and compares both layouts.
pub(super) fn compare(notebook: &Notebook, walks: &Walks) -> Result<Answer, Gap> {
    let seed = notebook.seed(51);
    let layouts = [("array", Layout::Array), ("linear", Layout::Linear)];
    let mut plans = Vec::new();
    for (from, _, prepare) in SOURCES {
        for (what, layout) in layouts {
            let places = (0..walks.names.len()).map(|i| {
                let run = PatternRun::new((walks.pattern)(i, layout), LoadPath::Texture, 1);
                (i as f64, PatternRun { prepare, seed, ..run })
            });
            plans.push(PlannedLine { label: format!("{what}, {from}"), places: places.collect() });
        }
    }
    let lines = measure(notebook, &plans, every_round)?;
    let mut answer = Answer::default();
    for (pair, (from, key, _)) in lines.chunks_exact(2).zip(SOURCES) {
        let [array, linear] = pair else { continue };
        for (i, walk) in walks.names.iter().enumerate() {
            let Some((of, base)) = both(array, linear, i as f64) else { continue };
            let Some(more) = percent_more(of, base) else { continue };
            let method = format!(
                "extra time by {} of a CUDA array compared with tex.1d of linear memory, {walk}, from {from}",
                walks.instruction
            );
            let note = format!("{} and {} cycles per load", said(of.value), said(base.value));
            answer.finding(&format!("array_{walk}_from_{key}"), finding(&more, "%", method).note(note));
        }
    }
    if let [array, linear, ..] = lines.as_slice() {
        sentences(&mut answer, walks, array, linear);
    }
    answer.figure(figure(
        "walks",
        format!("A chase of {LOADS} loads over {}", walks.grid),
        names(&format!("order of the walk, tiles of {}", walks.tiles), walks.names),
        axis("cycles per load", "cycles", false),
        lines,
    ));
    Ok(answer)
}

/// What the walks from memory mean.
fn sentences(answer: &mut Answer, walks: &Walks, array: &Line, linear: &Line) {
    let each = walks.names.iter().enumerate().filter_map(|(i, walk)| {
        let (of, base) = both(array, linear, i as f64)?;
        Some(format!("{walk} {} and {}", said(of.value), said(base.value)))
    });
    let told: Vec<String> = each.collect();
    if !told.is_empty() {
        answer
            .means(format!("Cycles per load from memory, in a CUDA array and in linear memory: {}.", told.join("; ")));
    }
    let far = walks.across as f64;
    if let (Some((across, linear_across)), Some((rows, linear_rows))) =
        (both(array, linear, far), both(array, linear, 0.0))
    {
        let name = walks.names[walks.across];
        answer.means(format!(
            "In a CUDA array {name} take {} times as long as rows; in linear memory rows take {} cycles and {name} {} times \
             as long.",
            said(across.value / rows.value),
            said(linear_rows.value),
            said(linear_across.value / linear_rows.value)
        ));
    }
}

fn both<'a>(array: &'a Line, linear: &'a Line, x: f64) -> Option<(&'a Point, &'a Point)> {
    Some((array.at(x)?, linear.at(x)?))
}
