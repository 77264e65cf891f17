//! Strides and padding in shared memory: what the probes of its structure found, as curves.

use serde_json::Value;

use super::Answer;
use super::points::{axis, figure, said};
use crate::probe::{Gap, Notebook, banks};
use strata_model::characterization::{Line, Point, Suite};
use strata_model::topology::Finding;

/// What is asked.
pub(super) const QUESTION: &str =
    "What does the stride of a warp's accesses to shared memory cost, and which padding helps?";

/// Takes the findings of shared memory's structure.
pub(super) fn infer(notebook: &Notebook, _: &Suite) -> Result<Answer, Gap> {
    let mut answer = Answer::default();
    // All of them are asked for before any is looked at.
    let found = [
        ("banks", notebook.attribute(|| banks::banks(notebook))),
        ("bank_width", notebook.attribute(|| banks::bank_width(notebook))),
        ("conflict_cycles", notebook.attribute(|| banks::conflict_cycles(notebook))),
        ("padding", notebook.attribute(|| banks::padding(notebook))),
    ];
    let curve = notebook.attribute(|| banks::curve(notebook));
    for (name, finding) in found {
        if let Some(finding) = finding {
            answer.finding(name, finding);
        }
    }
    let Some(curve) = curve.filter(Finding::is_known) else {
        let reason = answer.findings.get("banks").and_then(|banks| banks.reason.clone());
        return Gap::unknown(reason.unwrap_or_else(|| "the latencies by stride were not measured".into()));
    };
    let lines = lines(&curve);
    if let (Some(banks), Some(each)) = (answer.number("banks"), answer.number("conflict_cycles")) {
        answer.means(format!(
            "There are {banks} banks: each further lane that wants another row of the same bank takes {} cycles more.",
            said(each)
        ));
    }
    // A column of a square of 32 x 32 words: lanes 32 words apart.
    let ends = lines.first().and_then(|line| Some((line.at(32.0)?, line.at(1.0)?)));
    if let Some((word, free)) = ends {
        let pad = answer.findings.get("padding").and_then(|f| f.value.get(0)?.get("words")?.as_u64());
        let remedy = pad.filter(|&words| words > 0).map_or(String::new(), |words| {
            format!("; rows padded by {words} word{} avoid it", if words == 1 { "" } else { "s" })
        });
        answer.means(format!(
            "A column of a square of 32 x 32 words takes {} cycles a load instead of {}{remedy}.",
            said(word.value),
            said(free.value)
        ));
    }
    answer.figure(figure(
        "strides",
        "A warp's loads of shared memory by stride",
        axis("stride", "elements", false),
        axis("cycles a load", "cycles", false),
        lines,
    ));
    Ok(answer)
}

/// The curve's rows by width and mode. The structure probes give medians over rounds; a point's interval is in their findings.
fn lines(curve: &Finding) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for row in curve.value.as_array().into_iter().flatten() {
        let number = |key: &str| row.get(key).and_then(Value::as_f64);
        let (Some(width), Some(stride), Some(cycles)) = (number("width"), number("stride"), number("cycles")) else {
            continue;
        };
        let (low, high) = (number("low").unwrap_or(cycles), number("high").unwrap_or(cycles));
        let label = match row.get("mode").and_then(Value::as_u64) {
            Some(mode) => format!("{width} B a lane, banks of {mode} B"),
            None => format!("{width} B a lane"),
        };
        let point = Point { x: stride, value: cycles, low, high, experiments: curve.experiments.clone() };
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
