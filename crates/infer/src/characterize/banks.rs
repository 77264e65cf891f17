//! Strides and padding in shared memory: what the probes of its structure found, as curves.

use super::Answer;
use super::points::{axis, figure, said};
use crate::probe::{Gap, Notebook, banks};
use strata_model::attribute::{self, BankCurve, BankPoint};
use strata_model::characterization::{Line, Point, Suite};
use strata_model::units::{Bytes, Cycles};

/// What is asked.
pub(super) const QUESTION: &str =
    "What does the stride of a warp's accesses to shared memory cost, and which padding helps?";

/// Takes the findings of shared memory's structure.
pub(super) fn infer(notebook: &Notebook, _: &Suite) -> Result<Answer, Gap> {
    let mut answer = Answer::default();
    // All of them are asked for before any is looked at.
    let count = notebook.finding(|| banks::banks(notebook));
    let width = notebook.finding(|| banks::bank_width(notebook));
    let conflict = notebook.finding(|| banks::conflict_cycles(notebook));
    let padding = notebook.finding(|| banks::padding(notebook));
    let curve = notebook.finding(|| banks::curve(notebook));
    let Some(points) = &curve.value else {
        return Gap::unknown(count.reason.unwrap_or_else(|| "the latencies by stride were not measured".into()));
    };
    let lines = lines(points, &curve.experiments);
    if let (Some(banks), Some(Cycles(each))) = (count.value, conflict.value) {
        answer.means(format!(
            "There are {banks} banks. Each further row that a warp needs from the same bank costs {} cycles.",
            said(each)
        ));
    }
    // A column of a square of 32 x 32 words: lanes 32 words apart.
    let ends = lines.first().and_then(|line| Some((line.at(32.0)?, line.at(1.0)?)));
    if let Some((word, free)) = ends {
        let pad = padding.value.as_ref().and_then(|padding| padding.0.first()?.words);
        let remedy = pad.filter(|&words| words > 0).map_or(String::new(), |words| {
            format!("; rows padded by {words} word{} avoid it", if words == 1 { "" } else { "s" })
        });
        answer.means(format!(
            "A column of a square of 32 x 32 words takes {} cycles per load instead of {}{remedy}.",
            said(word.value),
            said(free.value)
        ));
    }
    answer.finding(attribute::BANKS.key(), count.any());
    answer.finding(attribute::BANK_WIDTH.key(), width.any());
    answer.finding(attribute::CONFLICT_CYCLES.key(), conflict.any());
    answer.finding(attribute::PADDING.key(), padding.any());
    answer.figure(figure(
        "strides",
        "A warp's loads of shared memory by stride",
        axis("stride", "elements", false),
        axis("cycles per load", "cycles", false),
        lines,
    ));
    Ok(answer)
}

/// The curve's rows by width and mode. The structure probes give medians over rounds; a point's interval is in their findings.
fn lines(curve: &BankCurve, experiments: &[u32]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for BankPoint { width: Bytes(width), stride, cycles, mode, .. } in &curve.0 {
        let label = match mode {
            Some(Bytes(mode)) => format!("{width} B a lane, banks of {mode} B"),
            None => format!("{width} B a lane"),
        };
        let (x, value, experiments) = (*stride as f64, *cycles, experiments.to_vec());
        let point = Point { x, value, low: value, high: value, ns: None, experiments };
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.points.push(point),
            None => {
                let reason = Some("wider accesses are measured at fewer strides".into());
                lines.push(Line { label, points: vec![point], reason, failed: false });
            }
        }
    }
    if let Some(first) = lines.first_mut() {
        first.reason = None;
    }
    lines
}
