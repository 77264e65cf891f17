//! What barriers cost (Fuchs et al., section 3.4.2; warps and grids are its future work, section 5).
//!
//! Every thread writes 1024 words of global memory, the same for all, and waits N times for the others: the paper's kernel.
//! The first round of a launch, which brings the words into the L2, does not count.

use super::Answer;
use super::points::{
    PlannedLine, ROUNDS, axis, counted, difference, figure, finding, later_rounds, longer, measure, percent_more, said,
};
use crate::probe::{Gap, Notebook, Settle};
use strata_model::characterization::{Line, Point, Suite, WRITES};
use strata_model::experiment::{LoadPath, PatternRun};
use strata_model::pattern::{Pattern, Scope};

/// What is asked.
pub(super) const QUESTION: &str = "What do barriers cost threads that write 1024 words of global memory?";

/// Threads of the blocks that wait for each other: a warp, so that the wait is that for the grid.
const GRID_THREADS: u32 = 32;

fn experiment(threads: u32, blocks: u32, barriers: u32, scope: Scope) -> PatternRun {
    let pattern = Pattern::Barriers { threads, blocks, writes: WRITES, between: WRITES / barriers, scope };
    PatternRun::new(pattern, LoadPath::GlobalCa, ROUNDS)
}

/// Grids: 1, 2, 4 blocks and so on, up to one for each SM.
fn grids(sms: u32) -> Vec<u32> {
    let mut grids: Vec<u32> = (0..).map(|power| 1 << power).take_while(|&blocks| blocks < sms).collect();
    grids.push(sms.max(1));
    grids
}

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, suite: &Suite) -> Result<Answer, Gap> {
    let of = |scope, threads| {
        PlannedLine::new(counted(threads, "thread"), suite.barriers.iter().copied(), move |n: u32| {
            experiment(threads, 1, n, scope)
        })
    };
    let plans = |scope| suite.threads.iter().map(|&threads| of(scope, threads)).collect::<Vec<_>>();
    let grid_plans: Vec<PlannedLine> = grids(notebook.facts().multiprocessors)
        .into_iter()
        .map(|blocks| {
            PlannedLine::new(counted(blocks, "block"), suite.barriers.iter().copied(), move |n: u32| {
                experiment(GRID_THREADS, blocks, n, Scope::Grid)
            })
        })
        .collect();
    // All are asked for before the first is looked at, so that they are one batch.
    let results = [plans(Scope::Nobody), plans(Scope::Block), plans(Scope::Warp), grid_plans]
        .map(|plans| measure(notebook, &plans, later_rounds));
    let [nobody, block, warp, grid] = results;
    let (nobody, block, warp) = (nobody?, block?, warp?);
    let mut answer = Answer::default();
    let x = || axis("barriers", "", true);
    let y = || axis("cycles per write", "cycles", false);

    let by_barriers: Vec<Line> =
        block.iter().map(|line| line.map(|point| percent_more(point, line.points.first()?))).collect();
    let by_threads: Vec<Line> = match block.first() {
        Some(one) => block.iter().map(|line| line.map(|point| percent_more(point, one.at(point.x)?))).collect(),
        None => Vec::new(),
    };
    let ends = Ends::of(suite);
    let Ends { fewest, most } = ends;
    let steepest = by_barriers
        .iter()
        .filter(|_| fewest < most)
        .filter_map(|line| Some((line, line.at(most)?)))
        .max_by(|a, b| a.1.value.total_cmp(&b.1.value));
    if let Some((line, longest)) = steepest {
        answer.finding(
            "slowdown_by_barriers",
            finding(
                longest,
                "%",
                format!("extra time with {most} barriers among {WRITES} writes, compared with {fewest}"),
            )
            .note(format!("with {}, which is the most", line.label)),
        );
    }
    if let Some(longest) = by_threads.iter().flat_map(|line| &line.points).max_by(|a, b| a.value.total_cmp(&b.value)) {
        answer.finding(
            "slowdown_by_threads",
            finding(longest, "%", "extra time compared with the fewest threads, for the same number of barriers")
                .note(format!("with {} barriers, which is the most", longest.x)),
        );
    }
    let mut costs = Vec::new();
    for (name, lines) in [("block", &block), ("warp", &warp)] {
        let all = lines.iter().zip(&nobody).filter_map(|(line, loop_alone)| Some((line, ends.each(line, loop_alone)?)));
        let all: Vec<(&Line, Point)> = all.collect();
        let outer: Vec<&(&Line, Point)> = [all.first(), all.last()].into_iter().flatten().collect();
        for (line, cycles) in &outer {
            answer.finding(
                &format!("{name}_barrier_{}", line.label.replace(' ', "_")),
                finding(
                    cycles,
                    "cycles",
                    format!("cost of one more barrier, from {fewest} to {most} barriers, without the loop around it"),
                ),
            );
        }
        let told: Vec<String> =
            outer.iter().map(|(line, each)| format!("{} with {}", said(each.value), line.label)).collect();
        if let [first, rest @ ..] = told.as_slice() {
            let last = rest.first().filter(|last| *last != first).map_or(String::new(), |last| format!(" and {last}"));
            costs.push(format!("{first}{last} for a barrier of the {name}"));
        }
    }
    answer.figure(figure("block", "Writes with barriers of the block", x(), y(), block));
    answer.figure(figure(
        "slowdown_by_barriers",
        "The same, compared with one barrier",
        x(),
        axis("more time", "%", false),
        by_barriers,
    ));
    answer.figure(figure(
        "slowdown_by_threads",
        "The same, compared with the fewest threads",
        x(),
        axis("more time", "%", false),
        by_threads,
    ));
    answer.figure(figure("warp", "Writes with barriers of each warp", x(), y(), warp));
    match grid.settled()? {
        Ok(lines) => {
            if let Some(all) = lines.last()
                && let Some(loop_alone) = nobody.last()
                && let Some(each) = ends.each(all, loop_alone)
            {
                answer.finding(
                    "grid_barrier",
                    finding(
                        &each,
                        "cycles",
                        "cost of one more barrier of the grid, with one block of one warp on every SM, without the loop around it",
                    ),
                );
                costs.push(format!("{} for one of the grid with {}", said(each.value), all.label));
            }
            answer.figure(figure("grid", "Writes with barriers of the grid, blocks of one warp", x(), y(), lines));
        }
        Err(unknown) => answer.finding("grid_barrier", unknown.finding()),
    }
    if !costs.is_empty() {
        answer.means(format!("Cost of a barrier in cycles: {}.", costs.join("; ")));
    }
    if let Some(much) = answer.number("slowdown_by_barriers").and_then(longer) {
        answer.means(format!(
            "With {most} barriers among {WRITES} writes, writing takes {much} than with {}.",
            if fewest == 1.0 { "one barrier at the end".to_owned() } else { format!("{fewest}") }
        ));
    }
    Ok(answer)
}

/// The fewest and the most barriers that were asked for.
#[derive(Clone, Copy)]
struct Ends {
    fewest: f64,
    most: f64,
}

impl Ends {
    fn of(suite: &Suite) -> Self {
        let end = |number: Option<&u32>| number.map_or(1.0, |&n| f64::from(n));
        Ends { fewest: end(suite.barriers.first()), most: end(suite.barriers.last()) }
    }

    /// What each further barrier adds: cycles a write, times the writes, over the barriers; less what the loop around them
    /// adds without any. None if there was only one number of barriers.
    fn each(self, line: &Line, loop_alone: &Line) -> Option<Point> {
        let further = self.most - self.fewest;
        let of =
            |line: &Line| Some(difference(line.at(self.most)?, line.at(self.fewest)?, further / f64::from(WRITES)));
        (further > 0.0).then(|| Some(difference(&of(line)?, &of(loop_alone)?, 1.0))).flatten()
    }
}
