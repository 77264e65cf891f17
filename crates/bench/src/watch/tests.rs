//! What becomes of experiments, look by look.

use super::*;
use strata_model::experiment::{AccessWidth, Chase, Content, LoadPath, Prepare, Region, Stream, Traffic};
use strata_model::units::Bytes;

fn look(longest_us: f64, processes: u32) -> Look {
    let glance = Glance { processes: Some(processes), ..Glance::default() };
    Look { watched: Some(Watched { longest_us, clock_mhz: 2000.0 }), glance, bus: None }
}

fn chase(repeat: u32) -> Experiment {
    Chase { repeat, ..Chase::each_load(LoadPath::GlobalCg, Bytes(4096), Bytes(128)) }.into()
}

/// One that has had its first, calm look.
fn watchman() -> Watchman {
    let mut watchman = Watchman::new(Duration::ZERO, 2_000_000);
    assert!(watchman.must_look());
    watchman.kernel();
    assert_eq!(watchman.judge(look(1.0, 1), 0.1), Verdict::Calm);
    assert!(!watchman.must_look());
    watchman
}

fn measure(watchman: &mut Watchman, experiment: &Experiment, cycles: u32) {
    let samples = Samples { latencies: vec![600, cycles], ..Samples::default() };
    watchman.measured(std::slice::from_ref(experiment), &[Ok(samples)]);
    watchman.kernel();
}

/// A stream that is given 100 microseconds, and samples of blocks of which one lives so long.
fn stream(microseconds: u64) -> (Experiment, Samples) {
    let stream = Stream {
        traffic: Traffic::Write,
        path: LoadPath::GlobalCg,
        width: AccessWidth::B16,
        unroll: 1,
        threads_per_block: 32,
        blocks_per_sm: 1,
        sms: vec![0, 1],
        footprint: Bytes(4096),
        region: Region::Together,
        content: Content::Zeros,
        prepare: Prepare::Nothing,
        warm_cycles: 50_000,
        timed_cycles: 150_000,
        repeat: 0,
    };
    // An SM that gets little of the memory makes few passes.
    let laps = vec![Lap { loads: 9000, cycles: 150_000 }, Lap { loads: 90, cycles: 150_000 }];
    let block = |us: u64| ClockSpan { cycles: 2000 * us, nanoseconds: 1000 * us };
    (stream.into(), Samples { laps, clocks: vec![block(102), block(microseconds)], ..Samples::default() })
}

#[test]
fn blocks_of_a_stream_that_outlive_their_time_were_stopped() {
    for (microseconds, is_stopped) in [(102, false), (180, false), (2100, true)] {
        let mut watchman = watchman();
        let (experiment, samples) = stream(microseconds);
        watchman.measured(std::slice::from_ref(&experiment), &[Ok(samples)]);
        watchman.kernel();
        let verdict = watchman.judge(look(12.0, 1), 0.5);
        assert_eq!(verdict != Verdict::Calm, is_stopped, "{microseconds} us: {verdict:?}");
    }
}

#[test]
fn a_quiet_device_gives_no_alarm() {
    let mut watchman = watchman();
    // A slow load, and a process that has been there all the time.
    measure(&mut watchman, &chase(0), 9000);
    assert_eq!(watchman.judge(look(12.0, 1), 0.5), Verdict::Calm);
    assert!(watchman.seen().is_empty() && watchman.notes().is_empty());
}

#[test]
fn what_a_gap_follows_is_repeated_and_then_given_up() {
    let mut watchman = watchman();
    for attempt in 0..=REPEATS {
        measure(&mut watchman, &chase(0), 600);
        match watchman.judge(look(2100.0, 1), 0.5) {
            Verdict::Again(list) if attempt < REPEATS => assert_eq!(list, [chase(0)]),
            Verdict::GiveUp(list, reason) if attempt == REPEATS => {
                assert_eq!(list, [chase(0)]);
                assert!(reason.starts_with("another process used the GPU while this was measured"), "{reason}");
                assert!(reason.contains("2.1 ms") && reason.contains("3 repetitions"), "{reason}");
            }
            other => panic!("{attempt}: {other:?}"),
        }
    }
    assert_eq!(watchman.seen().len(), 1 + REPEATS as usize);
    // What comes next began in the same disturbance, and gets attempts of its own once that is over.
    measure(&mut watchman, &chase(1), 600);
    watchman.part_ends();
    assert_eq!(watchman.judge(look(1.0, 1), 0.9), Verdict::Again(vec![chase(1)]));
    measure(&mut watchman, &chase(1), 600);
    assert_eq!(watchman.judge(look(1.0, 1), 1.0), Verdict::Calm);
}

#[test]
fn of_a_long_load_only_its_own_experiment_is_repeated() {
    let mut watchman = watchman();
    measure(&mut watchman, &chase(0), 600);
    measure(&mut watchman, &chase(1), 200_000);
    assert_eq!(watchman.judge(look(1.0, 1), 0.5), Verdict::Again(vec![chase(1)]));
    assert_eq!((watchman.seen()[0].sign, watchman.seen()[0].stopped_us), (Sign::LongLoad, Some(100.0)));
}

#[test]
fn a_lap_that_was_stopped_is_a_long_load() {
    let laps = |cycles: [u64; 2]| cycles.map(|cycles| Lap { loads: 512, cycles }).to_vec();
    let longest = |cycles| longest_us(&[], &laps(cycles), 2000.0);
    assert_eq!(longest([95_000, 156_000]), 0.0);
    assert_eq!(longest([13_000_000, 13_900_000]), 0.0);
    assert_eq!(longest([1_000_000, 5_000_000]), 2000.0);
    assert_eq!(longest_us(&[], &[Lap { loads: 512, cycles: 1 << 30 }], 2000.0), 0.0);
}

#[test]
fn a_process_that_comes_disturbs_once() {
    let mut watchman = watchman();
    measure(&mut watchman, &chase(0), 600);
    assert_eq!(watchman.judge(look(1.0, 2), 0.5), Verdict::Again(vec![chase(0)]));
    assert_eq!(watchman.seen()[0].sign, Sign::Process);
    measure(&mut watchman, &chase(0), 600);
    assert_eq!(watchman.judge(look(1.0, 2), 0.6), Verdict::Calm);
}

#[test]
fn copies_disturb_what_crosses_the_bus() {
    let mut watchman = watchman();
    let host: Experiment = Chase::laps(LoadPath::Host, Bytes(4096), Bytes(128)).into();
    let copies = || Look { bus: Some(9_000_000_000), ..look(1.0, 1) };
    measure(&mut watchman, &chase(0), 600);
    assert!(!watchman.needs_bus());
    measure(&mut watchman, &host, 2200);
    assert!(watchman.needs_bus());
    assert_eq!(watchman.judge(copies(), 0.5), Verdict::Again(vec![host.clone()]));
    assert_eq!((watchman.seen()[0].sign, watchman.seen()[0].stopped_us), (Sign::Copies, None));
    watchman.budget = Duration::ZERO;
    measure(&mut watchman, &host, 2200);
    let Verdict::GiveUp(list, reason) = watchman.judge(copies(), 0.6) else { panic!("it is given up") };
    assert!(list == [host.clone()] && reason.contains("copied data between the host and the GPU"), "{reason}");
    // Who waits looks at the bus again.
    watchman.patience = Duration::from_millis(150);
    assert!(watchman.waits() == Some(PAUSE) && watchman.needs_bus());
    watchman.waited(look(1.0, 1), PAUSE, 0.65);
    assert!(watchman.waits().is_none() && !watchman.needs_bus());
    // What an idle GPU's bus carries is no copy.
    measure(&mut watchman, &host, 2200);
    assert_eq!(watchman.judge(Look { bus: Some(2_000_000), ..look(1.0, 1) }, 0.7), Verdict::Calm);
}

#[test]
fn time_runs_out_and_waiting_is_granted() {
    let mut watchman = watchman();
    watchman.budget = Duration::ZERO;
    measure(&mut watchman, &chase(0), 600);
    assert!(matches!(watchman.judge(look(500.0, 1), 0.5), Verdict::GiveUp(..)));
    assert_eq!(watchman.waits(), None);
    watchman.patience = Duration::from_millis(150);
    assert_eq!(watchman.waits(), Some(PAUSE));
    watchman.waited(look(500.0, 1), PAUSE, 0.6);
    assert_eq!(watchman.waits(), Some(Duration::from_millis(50)));
    watchman.waited(look(1.0, 1), PAUSE, 0.7);
    assert_eq!((watchman.waits(), watchman.patience), (None, Duration::ZERO));
}

#[test]
fn throttling_and_memory_errors_are_noted_once() {
    let mut watchman = watchman();
    for errors in [3, 3, 4, 5] {
        let glance =
            Glance { throttle_reasons: vec!["sw_power_cap".into()], memory_errors: Some(errors), ..Glance::default() };
        watchman.glance(Duration::ZERO, || glance);
    }
    // Once they have taken too long there are none for a while.
    watchman.glances = Duration::from_millis(80);
    watchman.glance(Duration::from_secs(1), || panic!("no time"));
    watchman.glance(Duration::from_secs(2), Glance::default);
    let [clock, errors] = watchman.notes() else { panic!("{:?}", watchman.notes()) };
    assert!(clock.contains("sw_power_cap") && errors.contains("could not be corrected"));
}
