//! The links of a node: each pair of GPUs by a process of its own, one after the other, so that no link disturbs another.

use std::time::Instant;

use gpu_strata::links::Links;
use gpu_strata::{Examined, Outcome, Policy};

use super::{command, printed, sound};
use crate::cli::Check;

/// Measures both directions of each pair. GPUs that are at fault have no links to measure.
pub fn examine(
    arguments: &Check,
    policies: &[&Policy],
    devices: &[String],
    gpus: &[Examined],
    deadline: Instant,
) -> Vec<Examined> {
    let is_sick = |device: &str| gpus.iter().any(|gpu| gpu.device == device && matches!(gpu.outcome, Outcome::Sick(_)));
    let mut all: Vec<(usize, usize, Outcome)> = Vec::new();
    for (first, a) in devices.iter().enumerate() {
        for (second, b) in devices.iter().enumerate().skip(first + 1) {
            let [there, back] = match [a, b].into_iter().find(|device| is_sick(device)) {
                Some(sick) => both(Outcome::Untested(format!("{sick} is at fault"))),
                None => pair(arguments, policies, &format!("{a},{b}"), deadline),
            };
            all.extend([(first, second, there), (second, first, back)]);
        }
    }
    all.sort_by_key(|(from, to, _)| (*from, *to));
    let of = |(from, to, outcome): (usize, usize, Outcome)| Examined {
        device: devices[from].clone(),
        to: Some(devices[to].clone()),
        uuid: None,
        outcome,
    };
    all.into_iter().map(of).collect()
}

/// Both directions between two GPUs.
fn pair(arguments: &Check, policies: &[&Policy], devices: &str, deadline: Instant) -> [Outcome; 2] {
    let line = command(arguments, policies, &["links"], devices);
    let read = printed(&line, arguments.timeout, deadline)
        .and_then(|text| sound(serde_json::from_slice(&text), Links::defect));
    match read.map(|links| <[_; 2]>::try_from(links.links)) {
        Ok(Ok(links)) => links.map(|link| match link.topology {
            Some(topology) => Outcome::Measured(Box::new(topology)),
            // The other direction was measured.
            None => Outcome::Sick(link.failure.unwrap_or_default()),
        }),
        Ok(Err(links)) => both(Outcome::Untested(format!("its result has {} links, not two", links.len()))),
        Err(outcome) => both(outcome),
    }
}

fn both(outcome: Outcome) -> [Outcome; 2] {
    [outcome.clone(), outcome]
}
