//! Discovery on machines drawn at random: what it states is right, and it states most.

mod model;

use std::cell::Cell;

use model::expect::compare;
use proptest::test_runner::{Config, FileFailurePersistence, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Machines that a run draws, the same each time; `PROPTEST_CASES` asks for other ones, and for more.
const CASES: u32 = 24;
/// Share of the attributes of machines without spikes that may be unknown.
const UNKNOWN: f64 = 0.05;

fn asked_for() -> bool {
    std::env::var_os("PROPTEST_CASES").is_some()
}

fn config() -> Config {
    let default = Config::default();
    Config {
        cases: if asked_for() { default.cases } else { CASES },
        // Each step of shrinking is a whole discovery.
        max_shrink_iters: 100,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/any_machine.txt"))),
        ..default
    }
}

#[test]
fn what_is_found_is_right_and_most_is_found() {
    let (asked, unknown) = (Cell::new(0), Cell::new(0));
    let mut runner = if asked_for() {
        TestRunner::new(config())
    } else {
        TestRunner::new_with_rng(config(), TestRng::deterministic_rng(RngAlgorithm::ChaCha))
    };
    let outcome = runner.run(&model::any::machine(), |machine| {
        let topology = model::topology(&machine);
        let rows = machine.expected();
        let (wrong, unanswered) = compare(&topology, &rows);
        if machine.spike_every == 0 {
            asked.set(asked.get() + rows.len());
            unknown.set(unknown.get() + unanswered.len());
        }
        if wrong.is_empty() { Ok(()) } else { Err(TestCaseError::fail(wrong.join("\n"))) }
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    assert!(asked.get() > 0, "every machine had spikes");
    let share = f64::from(unknown.get() as u32) / f64::from(asked.get() as u32);
    assert!(share <= UNKNOWN, "{} of {} attributes are unknown", unknown.get(), asked.get());
}
