//! The costs of access patterns on machines of both generators: nothing that is said of those kept here is wrong.
//! `cargo xtask judge --characterize` looks at as many as there is time for.

use gpu_strata::Effort;
use strata_judge::expect::Verdict;
use strata_judge::said::costs;
use strata_judge::side_by_side;
use strata_sim::machine::Machine;

/// Machines that a characterization once got wrong.
const KEPT: &str = include_str!("costs.regressions");

/// The machine of a line: a generator and a number.
fn machine(line: &str) -> Machine {
    let mut words = line.split_whitespace();
    let (generator, number) = (words.next(), words.next().and_then(|number| number.parse().ok()));
    match (generator, number) {
        (Some("first"), Some(number)) => strata_drawn::machine(number).machine,
        (Some("second"), Some(number)) => strata_drawn::second(number).machine,
        _ => panic!("`{line}` names no machine"),
    }
}

#[test]
fn nothing_said_of_what_access_patterns_cost_is_wrong() {
    let kept: Vec<&str> = KEPT.lines().filter(|line| !line.starts_with('#')).collect();
    let all = side_by_side(&kept, |&line| Some((line, costs(&machine(line), Effort::Quick, 1))));
    let (mut wrong, mut right) = (Vec::new(), 0);
    for (line, said) in all.iter().flat_map(|(line, said)| said.iter().map(move |said| (line, said))) {
        match &said.verdict {
            Verdict::Right | Verdict::Covered => right += 1,
            Verdict::Unanswered(_) => {}
            verdict => wrong.push(format!("{line}: {}.{}: {verdict:?}; {}", said.of, said.attribute, said.shown)),
        }
    }
    assert!(wrong.is_empty(), "wrong:\n{}", wrong.join("\n"));
    // Of some twenty statements on each machine nearly all are made.
    assert!(right > 17 * kept.len(), "{right} right of {} machines", kept.len());
}
