//! Which results pass a policy, for a terminal: what is outside first, then a count.

use super::Terminal;
use super::comparison::{percent, side, stated};
use crate::compare::Stated;
use crate::policy::{Acceptance, Checked, Judged, Unanswered};
use strata_model::attribute::Value;

/// All results.
pub fn text(acceptance: &Acceptance, terminal: &Terminal) -> String {
    let policy = &acceptance.policy;
    let made = match policy.made_from {
        0 => String::new(),
        results => format!(", made from {results} results"),
    };
    let head = format!("Policy {}: {} limits for {}{made}", policy.file, policy.limits, policy.product);
    let mut out = terminal.wrapped(&head, "", "  ");
    acceptance.results.iter().for_each(|checked| result(&mut out, checked, terminal));
    if acceptance.results.len() > 1 {
        let failed = acceptance.results.iter().filter(|checked| !checked.passes).count();
        let line =
            format!("{} results: {} pass, {failed} fail.", acceptance.results.len(), acceptance.results.len() - failed);
        out.push('\n');
        out.push_str(&terminal.wrapped(&line, "", "  "));
    }
    out
}

fn result(out: &mut String, checked: &Checked, terminal: &Terminal) {
    let Checked { result, passes, outside, unmet, unknown, within } = checked;
    let uuid = result.uuid.as_ref().map_or(String::new(), |uuid| format!("; {uuid}"));
    out.push('\n');
    out.push_str(&terminal.wrapped(&format!("{}{uuid}", side("Result", result)), "", "  "));
    terminal.section(out, "Outside the limits, furthest first", &outside.iter().map(line).collect::<Vec<_>>());
    let reasons: Vec<(String, String)> = unmet.iter().map(reason).collect();
    terminal.reasons(out, "Required, but unknown", &reasons);
    let verdict = if *passes { "Passes" } else { "Fails" };
    let mut counts = vec![format!("{} outside", outside.len())];
    for (count, what) in [(unmet.len(), "required but unknown"), (unknown.len(), "unknown but not required")] {
        if count > 0 {
            counts.push(format!("{count} {what}"));
        }
    }
    counts.push(format!("{} within their limits", within.len()));
    out.push_str(&terminal.wrapped(&format!("{verdict}: {}.", counts.join(", ")), "", "  "));
}

fn reason(unanswered: &Unanswered) -> (String, String) {
    (unanswered.place.clone(), unanswered.reason.clone())
}

/// A value beside what is allowed.
pub(crate) fn line(judged: &Judged) -> String {
    let unit = judged.stated.unit.clone();
    let shown = |value: Value| stated(&Stated { value: Some(value), unit: unit.clone(), ..Stated::default() });
    let number = |x: f64| shown(Value::Number(x));
    let allowed = match (judged.low, judged.high, &judged.equals) {
        (_, _, Some(equals)) => shown(equals.clone()),
        (Some(low), Some(high), _) => format!("{} to {}", number(low), number(high)),
        (Some(low), None, _) => format!("at least {}", number(low)),
        (None, Some(high), _) => format!("at most {}", number(high)),
        (None, None, None) => "anything".to_owned(),
    };
    let beyond = judged.beyond_percent.map(|beyond| format!("; {} beyond", percent(beyond)));
    let because = judged.because.as_ref().map(|because| format!("; {because}"));
    let why: String = beyond.into_iter().chain(because).collect();
    format!("{}: {}, allowed {allowed}{why}", judged.place, stated(&judged.stated))
}
