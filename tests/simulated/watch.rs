//! A kernel that watches for another process sees its turns, and nothing where there is none.

use strata_bench::Bench;
use strata_model::experiment::{Chase, Experiment, LoadPath, Watch, Watched};
use strata_model::source::Source;
use strata_model::units::Bytes;
use strata_sim::Sim;
use strata_sim::machine::Machine;
use strata_sim::model::clock::Slices;

const WATCH: Watch = Watch { span_us: 4000, sm: 0, repeat: 0 };

fn watched(machine: &str, slices: Slices) -> Watched {
    let mut gpu = Sim::new(Machine::find(machine).unwrap(), 1).shared(slices);
    let mut bench = Bench::new(&mut gpu, std::sync::Arc::default()).unwrap();
    let answers = bench.run(&[WATCH.into()]);
    Watched::of(answers[0].as_ref().unwrap()).expect("three readings")
}

#[test]
fn a_quiet_device_shows_no_gap() {
    for machine in ["k20c", "a100", "h200"] {
        let seen = watched(machine, Slices::NONE);
        assert!(seen.longest_us < 2.0, "{machine}: {seen:?}");
    }
}

#[test]
fn a_turn_of_another_process_shows_as_a_gap() {
    // 706 MHz: a stop of 2 ms after each 2 ms.
    let turns = Slices { every: 1_412_000, stop: 1_412_000, until: u64::MAX };
    let seen = watched("k20c", turns);
    assert!((2000.0..2010.0).contains(&seen.longest_us), "{seen:?}");
    assert!((seen.clock_mhz - 706.0).abs() < 1.0, "both clocks go on: {seen:?}");
}

#[test]
fn a_load_that_is_stopped_takes_as_long() {
    let turns = Slices { every: 20_000, stop: 1_412_000, until: u64::MAX };
    let mut gpu = Sim::new(Machine::find("k20c").unwrap(), 1).shared(turns);
    let mut bench = Bench::new(&mut gpu, std::sync::Arc::default()).unwrap();
    let chase: Experiment = Chase::each_load(LoadPath::GlobalCg, Bytes(65_536), Bytes(128)).into();
    let answers = bench.run(&[chase]);
    let longest = answers[0].as_ref().unwrap().latencies.iter().max();
    assert!(longest.is_some_and(|&cycles| (1_412_000..1_413_000).contains(&cycles)), "{longest:?}");
}
