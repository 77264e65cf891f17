//! Loads by all lanes of a warp, by way of the bench and of discovery, against closed formulas, against what Mei et al. say of
//! Fermi and Kepler, and experiments that cannot be.

use crate::sim;
use std::sync::Arc;

use strata_bench::Bench;
use strata_infer::probe::Effort;
use strata_model::experiment::{AccessWidth, BankWidth, Experiment, WARP, Warp};
use strata_model::samples::Failure;
use strata_model::source::Source;
use strata_model::topology::ElementName::Shared;
use strata_model::units::Bytes;
use strata_sim::Sim;
use strata_sim::machine::Machine;

fn warp(width: u64, offsets: [u64; WARP], bank_width: Option<u64>) -> Experiment {
    let width = AccessWidth::try_from(Bytes(width)).unwrap();
    let bank_width = bank_width.map(|width| BankWidth::try_from(Bytes(width)).unwrap());
    Warp { bank_width, ..Warp::new(width, offsets, Bytes::kib(32), 16) }.into()
}

fn strided(width: u64, stride: u64, bank_width: Option<u64>) -> Experiment {
    warp(width, std::array::from_fn(|lane| lane as u64 * stride * width), bank_width)
}

/// Cycles a load of each experiment.
fn cycles(machine: &str, experiments: &[Experiment]) -> Vec<Result<f64, Failure>> {
    let mut gpu = Sim::new(Machine::named(machine).expect("it comes with strata"), 1);
    let mut bench = Bench::new(&mut gpu, Arc::default()).expect("a simulated machine takes the census");
    let a_load = |samples: strata_model::samples::Samples| {
        let [short, long] = samples.laps[..] else { panic!("{} laps", samples.laps.len()) };
        (long.cycles - short.cycles) as f64 / f64::from(long.loads - short.loads)
    };
    bench.run(experiments).into_iter().map(|answer| answer.map(a_load)).collect()
}

/// Ways by stride, from the cycles above those of stride 0.
fn ways(machine: &str, width: u64, bank_width: Option<u64>, strides: impl Iterator<Item = u64>) -> Vec<f64> {
    let conflict = Machine::named(machine).unwrap().spec.shared.conflict.get() as f64;
    let all: Vec<Experiment> = std::iter::once(0).chain(strides).map(|s| strided(width, s, bank_width)).collect();
    let cycles: Vec<f64> = cycles(machine, &all).into_iter().map(|c| c.expect("it runs")).collect();
    cycles[1..].iter().map(|c| 1.0 + (c - cycles[0]) / conflict).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[test]
fn ways_are_the_greatest_common_divisor_of_stride_and_banks() {
    for machine in ["gtx560ti", "840m", "h200"] {
        for (width, together) in [(4, 32), (8, 16), (16, 8)] {
            let expected: Vec<f64> = (1..=64).map(|s| (width / 4 * gcd(s, together)) as f64).collect();
            assert_eq!(ways(machine, width, None, 1..=64), expected, "{machine}, {width} B");
        }
    }
}

#[test]
fn a_way_of_fermi_costs_what_the_paper_says() {
    // Mei et al., section 4.1: about 50 cycles with a broadcast, 88 with 2 ways, 1210 with 32. The model has 37 for each.
    let found = cycles("gtx560ti", &[0, 1, 2, 32].map(|stride| strided(4, stride, None)));
    let found: Vec<f64> = found.into_iter().map(Result::unwrap).collect();
    assert_eq!(found, [50.0, 50.0, 87.0, 1197.0]);
    for (model, paper) in found.iter().zip([50.0, 50.0, 88.0, 1210.0]) {
        assert!((model - paper).abs() <= 0.012 * paper, "{model} against {paper}");
    }
}

#[test]
fn keplers_modes_are_those_of_figures_6_and_7() {
    for machine in ["k20c", "gtx780"] {
        let even = || (2..=64).step_by(2);
        let four = ways(machine, 4, Some(4), even());
        let eight = ways(machine, 4, Some(8), even());
        assert_eq!(
            ways(machine, 4, None, even()),
            four,
            "{machine}: by default, consecutive words of 4 B are in consecutive banks"
        );
        assert_eq!((&four[..3], &eight[..3]), (&[1.0, 2.0, 2.0][..], &[1.0, 2.0, 1.0][..]), "{machine}");
        for (stride, (&four, &eight)) in even().zip(four.iter().zip(&eight)) {
            assert_eq!(eight, gcd(stride / 2, 32) as f64, "{machine}, stride {stride}");
            if stride.is_power_of_two() {
                assert_eq!(four, eight, "{machine}, stride {stride}");
            } else {
                assert!(four > eight, "{machine}, stride {stride}: {four} and {eight}");
            }
        }
    }
}

#[test]
fn banks_can_be_chosen_where_a_machine_has_the_choice() {
    let answers = cycles("h200", &[strided(4, 2, Some(8)), strided(4, 2, None)]);
    assert!(matches!(&answers[0], Err(Failure::Unsupported { reason }) if reason.contains("no choice")), "{answers:?}");
    assert!(answers[1].is_ok(), "what is not asked for does not matter: {answers:?}");
}

#[test]
fn experiments_that_cannot_be() {
    let refused = |experiment: Experiment, part: &str| {
        let defect = experiment.defect().unwrap_or_else(|| panic!("allowed, in spite of `{part}`"));
        assert!(defect.contains(part), "{defect}");
        assert!(matches!(&cycles("840m", &[experiment])[0], Err(Failure::Failed { reason }) if *reason == defect));
    };
    assert_eq!(strided(16, 64, Some(8)).defect(), None);
    refused(warp(4, [32768; WARP], None), "offset 32768");
    refused(warp(8, [32764; WARP], None), "offset 32764");
    refused(warp(8, [4; WARP], None), "offset 4 is no 8 B element");
}

/// The ways of a curve are those of the machine, at each width, stride and mode.
#[test]
fn the_curve_of_a_discovery_has_the_ways_of_the_machine() {
    use strata_sim::model::banks::Banks;
    for machine in ["gtx560ti", "k20c"] {
        let machine = Machine::named(machine).unwrap();
        let outcome = sim::discovery(&machine, Effort::Quick, 1, &[Shared]);
        let rows = sim::json(sim::finding(&outcome.topology, Shared, "bank_curve")).as_array().unwrap().clone();
        assert!(rows.len() > 100, "{} rows", rows.len());
        let shared = &machine.spec.shared;
        for row in rows {
            let number = |key: &str| row[key].as_u64();
            let (width, stride) = (number("width").unwrap(), number("stride").unwrap());
            let word = number("mode").unwrap_or(shared.bank_width.get());
            let banks = Banks { count: shared.banks.get(), width: shared.bank_width.get(), word };
            let addresses: Vec<u64> = (0..32).map(|lane| lane * stride * width).collect();
            assert_eq!(number("ways"), Some(u64::from(banks.passes(&addresses, width))), "{row}");
        }
        let warps = outcome.seen.iter().filter(|(e, _)| matches!(e, Experiment::Warp(_))).count();
        let most = if shared.modes.is_empty() { 150 } else { 250 };
        assert!(warps <= most, "{warps} experiments");
    }
}

/// Where warps cannot be timed, each attribute says why; where banks cannot be asked for, the others are there.
#[test]
fn what_cannot_be_asked_is_unknown_for_its_reason() {
    let machine = Machine::named("k20c").unwrap();
    let none = |e: &Experiment| matches!(e, Experiment::Warp(_)).then(|| Failure::unsupported("no warps today"));
    let outcome = sim::refusing(&machine, &[Shared], none);
    for attribute in ["banks", "bank_width", "bank_modes", "conflict_cycles", "broadcast", "padding", "bank_curve"] {
        let finding = sim::finding(&outcome.topology, Shared, attribute);
        assert_eq!(finding.reason.as_deref(), Some("no warps today"), "{attribute}");
    }
    let choice = |e: &Experiment| {
        let asks = matches!(e, Experiment::Warp(warp) if warp.bank_width.is_some());
        asks.then(|| Failure::unsupported("this driver does not have it"))
    };
    let outcome = sim::refusing(&machine, &[Shared], choice);
    let finding = |attribute| sim::finding(&outcome.topology, Shared, attribute);
    assert_eq!(finding("bank_modes").reason.as_deref(), Some("this driver does not have it"));
    assert_eq!(finding("banks").number(), Some(32.0));
    assert!(finding("padding").is_known() && finding("bank_curve").is_known());
}

/// Banks of 4 and 8 bytes, 16 to 64 of them, with and without a choice, and any cost of a way.
#[test]
fn the_banks_of_random_machines_are_found() {
    use crate::sim::expect::{Verdict, judge};
    let mut wrong = Vec::new();
    for seed in 0..30 {
        let machine = strata_drawn::machine(seed).machine;
        let outcome = sim::discovery(&machine, Effort::Quick, seed, &[Shared]);
        let mut rows = sim::truth::rows(&machine, &outcome.seen);
        rows.retain(|row| row.element == Shared);
        assert!(rows.len() >= 7, "{} rows", rows.len());
        for (row, verdict) in judge(&outcome.topology, &rows) {
            if !matches!(verdict, Verdict::Right | Verdict::Covered) {
                let spec = &machine.spec.shared;
                let modes: Vec<u64> = spec.modes.iter().map(|m| m.get()).collect();
                wrong.push(format!(
                    "machine {seed}, {} x {} B, modes {modes:?}, {} cycles: {} is {}: {verdict:?}",
                    spec.banks.get(),
                    spec.bank_width.get(),
                    spec.conflict.get(),
                    row.attribute,
                    row.expect.shown()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
