//! Where the allocations of a simulated run lie: at the same addresses all the time, on all of the machines that share the work.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use strata_bench::Fleet;
use strata_model::experiment::{
    AccessWidth, Chase, Content, Experiment, LoadPath, Order, Place, Prepare, Region, Stream, Traffic,
};
use strata_model::source::Source;
use strata_model::units::{Bytes, KIB, MIB};
use strata_sim::Sim;
use strata_sim::machine::Machine;

/// A chase in an allocation.
fn chase(allocation: u32, footprint: Bytes) -> Experiment {
    let place = Place { allocation, ..Place::alone_on(0) };
    let chase = Chase::each_load(LoadPath::GlobalCg, footprint, Bytes(footprint.0 / 16));
    Chase { order: Order::Sequential, place, ..chase }.into()
}

/// One SM that reads memory of its own.
fn stream(footprint: Bytes) -> Experiment {
    Stream {
        traffic: Traffic::Read,
        path: LoadPath::GlobalCg,
        width: AccessWidth::B16,
        unroll: 4,
        threads_per_block: 64,
        blocks_per_sm: 1,
        sms: vec![0],
        footprint,
        region: Region::Together,
        content: Content::Zeros,
        prepare: Prepare::Nothing,
        warm_cycles: 1000,
        timed_cycles: 1000,
        repeat: 0,
    }
    .into()
}

/// The base addresses of the chains of some experiments, each of which must have been measured.
fn bases(fleet: &mut Fleet, batch: &[Experiment]) -> Vec<u64> {
    let answers = fleet.run(batch);
    answers.into_iter().map(|answer| answer.unwrap_or_else(|failure| panic!("{failure}")).base).collect()
}

#[test]
fn allocations_lie_where_they_lay_after_a_launch_that_left_them_no_room() {
    // 1 GiB, of which the first allocation takes seven eighths at once.
    let machine = Machine::named("gtx560ti").expect("it comes with strata");
    let open = move |_| Sim::new(machine.clone(), 1).beginning_at(3);
    let mut fleet = Fleet::new(2, &Arc::new(AtomicBool::new(false)), open).expect("it can be simulated");
    let small: Vec<Experiment> = (0..4).map(|allocation| chase(allocation, Bytes(64 * KIB))).collect();
    let before = bases(&mut fleet, &small);
    // What is larger than it was takes another place; what no longer fits beside the first allocation takes its place.
    let larger = bases(&mut fleet, &[chase(1, Bytes(16 * MIB)), chase(2, Bytes(512 * MIB))]);
    assert!(larger[0] != before[1] && larger[1] != before[2], "{before:x?} {larger:x?}");
    assert_eq!(bases(&mut fleet, &small), before);
    // In whatever order, and whoever of the two does it.
    let mixed =
        [chase(3, Bytes(600 * MIB)), chase(0, Bytes(64 * KIB)), chase(1, Bytes(64 * KIB)), chase(0, Bytes(MIB))];
    assert_eq!(bases(&mut fleet, &mixed)[1..], [before[0], before[1], before[0]]);
    assert_eq!(bases(&mut fleet, &small), before);
    // A stream keeps its memory for the next one, until a chase needs the place.
    let streamed = [stream(Bytes(256 * MIB)), chase(0, Bytes(64 * KIB)), chase(2, Bytes(64 * KIB))];
    assert_eq!(bases(&mut fleet, &streamed)[1..], [before[0], before[2]]);
    assert_eq!(bases(&mut fleet, &small), before);
}
