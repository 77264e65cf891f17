//! Atomics on simulated machines, through the library's front: the additions a second are what the machine's file says.

use crate::sim;
use gpu_strata::{Answer, Device, Effort, Options, Recording};
use strata_model::attribute::{ATOMIC_THROUGHPUT_PER_SM, Attribute, READ_BANDWIDTH};
use strata_model::experiment::{AtomicMemory, Atomics, Experiment, Persistent, Target};
use strata_model::topology::{Element, ElementName, Topology, Wanted};
use strata_report::report;
use strata_sim::machine::Machine;
use tempfile::NamedTempFile;

/// Lanes of a warp.
const LANES: f64 = 32.0;
/// The machine's clock, in cycles a second.
const CLOCK: f64 = 1.124e9;

/// What a machine's file says of atomics, in cycles but for the rate.
#[derive(Clone, Copy, Debug)]
struct Stated {
    /// Additions a cycle of all SMs.
    rate: f64,
    /// A request of a warp on a line.
    line: u64,
    /// Each further lane on one word.
    lane: u64,
    /// A request of a warp on shared memory.
    request: u64,
    /// Each further lane on one word of shared memory.
    shared_lane: u64,
}

/// Numbers with which none of the limits hides another one. A request on shared memory takes longer than the shuffles of a warp.
const STATED: Stated = Stated { rate: 12.5, line: 6, lane: 2, request: 9, shared_lane: 3 };

impl Stated {
    /// Other numbers, by a seed.
    fn drawn(seed: u64) -> Self {
        let dice = |number: u64, most: u64| {
            (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(8 * number as u32) % most
        };
        Stated {
            rate: 4.0 + dice(0, 40) as f64 / 4.0,
            line: 3 + dice(1, 20),
            lane: 1 + dice(2, 6),
            request: 8 + dice(3, 8),
            shared_lane: dice(4, 12),
        }
    }

    /// A machine with few SMs and lines of 128 bytes. Its L2 and issue are wider than what these numbers leave.
    fn text(self) -> String {
        let Stated { rate, line, lane, request, shared_lane } = self;
        let keys = format!("atomic = {lane}\natomic_line = {line}\natomic_rate = {rate}\n");
        let shared = format!("atomic = {shared_lane}\natomic_request = {request}\n");
        include_str!("../../machines/840m.toml")
            .replace("[pipeline]\n", &format!("[pipeline]\n{keys}"))
            .replace("[shared]\n", &format!("[shared]\n{shared}"))
    }

    /// That machine as a file.
    fn file(self) -> NamedTempFile {
        let file = NamedTempFile::with_suffix(".toml").unwrap();
        std::fs::write(file.path(), self.text()).unwrap();
        file
    }

    /// Additions a cycle: of all SMs on global memory, of one SM on its shared memory.
    fn per_clk(self, memory: AtomicMemory, target: Target) -> f64 {
        let (request, lane) = match memory {
            AtomicMemory::Global => (self.line, self.lane),
            AtomicMemory::Shared => (self.request, self.shared_lane),
        };
        let cycles = match (memory, target) {
            (AtomicMemory::Global, Target::Spread) => return self.rate,
            (_, Target::Spread | Target::OneLine | Target::Aggregated) => request,
            (_, Target::OneAddress) => request + 31 * lane,
        };
        LANES / cycles as f64
    }
}

fn opened(file: &NamedTempFile) -> Device {
    Device::open(&format!("sim:{}", file.path().display())).expect("a simulated machine")
}

fn added(device: &mut Device, atomics: &[Atomics]) -> Vec<f64> {
    let experiments: Vec<Experiment> = atomics.iter().cloned().map(Experiment::from).collect();
    let answers = device.measure(&experiments, Options::default()).expect("a run");
    let of = |(atomics, answer): (&Atomics, Result<_, _>)| {
        let added = atomics.counted(&answer.unwrap_or_else(|why| panic!("{atomics}: {why}"))).expect("its samples");
        if atomics.memory == AtomicMemory::Global { added.total() } else { added.per_sm() }
    };
    atomics.iter().zip(answers).map(of).collect()
}

#[test]
fn atomics_take_what_the_file_says() {
    let stated = STATED;
    let file = stated.file();
    let mut wanted = Vec::new();
    for memory in [AtomicMemory::Global, AtomicMemory::Shared] {
        for target in Target::ALL {
            // Where warps wait in turn, passes of several atomics end in step, so that they are counted badly.
            for unroll in if target == Target::Spread { &[1, 4][..] } else { &[1] } {
                let unroll = *unroll;
                let (threads_per_block, blocks_per_sm) = (512, 2);
                let (sms, warm_cycles, timed_cycles, repeat) = (Vec::new(), 20_000, 60_000, 0);
                let atomics = Atomics {
                    memory,
                    target,
                    unroll,
                    threads_per_block,
                    blocks_per_sm,
                    sms,
                    warm_cycles,
                    timed_cycles,
                    repeat,
                };
                wanted.push(atomics);
            }
        }
    }
    let found = added(&mut opened(&file), &wanted);
    for (atomics, found) in wanted.iter().zip(found) {
        let expected = stated.per_clk(atomics.memory, atomics.target);
        assert!((0.98..1.02).contains(&(found / expected)), "{atomics}: {found} of {expected} a cycle");
    }
}

/// The elements that have atomics, without the questions of bandwidth, which take long in a simulation.
fn discovered(stated: Stated, seed: u64) -> Topology {
    let of = |element: &str| {
        let atomics = ["", "_one_line", "_one_address", "_one_address_aggregated"];
        let named = atomics.map(|target| format!("{element}.atomic_throughput{target}"));
        std::iter::once(element.to_owned()).chain(named).collect::<Vec<_>>()
    };
    let only: Vec<Wanted> = [of("l2"), of("shared")].concat().iter().map(|name| name.parse().unwrap()).collect();
    let options = Options::effort(Effort::Quick).seed(seed);
    opened(&stated.file()).discover_only(&only, options).expect("a run").topology
}

/// Every rate holds what the file says, in additions a second by this clock or a cycle of an SM.
fn check(topology: &Topology, stated: Stated, seed: u64) {
    let contains = |element: &Element, key: Attribute, is: f64| {
        let finding = element.finding(key).unwrap();
        let (low, high) = (finding.low.unwrap_or(f64::NAN), finding.high.unwrap_or(f64::NAN));
        assert!(low <= is && is <= high, "seed {seed}, {key}: {low} to {high} for {is}; {stated:?} {finding:?}");
    };
    let (l2, shared) = (&topology.elements[&ElementName::L2], &topology.elements[&ElementName::Shared]);
    let keys = [
        (Target::Spread, Attribute::AtomicThroughput, Attribute::AtomicThroughputPerSm),
        (Target::OneLine, Attribute::AtomicThroughputOneLine, Attribute::AtomicThroughputOneLinePerSm),
        (Target::OneAddress, Attribute::AtomicThroughputOneAddress, Attribute::AtomicThroughputOneAddressPerSm),
        (Target::Aggregated, Attribute::AtomicThroughputAggregated, Attribute::AtomicThroughputAggregatedPerSm),
    ];
    for (target, of_all, of_an_sm) in keys {
        contains(l2, of_all, CLOCK * stated.per_clk(AtomicMemory::Global, target));
        contains(shared, of_an_sm, stated.per_clk(AtomicMemory::Shared, target));
        assert!(l2.finding(of_an_sm).is_none() && shared.finding(of_all).is_none());
    }
}

#[test]
fn a_discovery_states_atomics_and_a_machine_file_says_the_same() {
    for &seed in sim::sample(1, &[1, 2, 3]) {
        let found = discovered(STATED, seed);
        check(&found, STATED, seed);
        let text = report::machine(&found);
        let Stated { rate, line, lane, request, shared_lane } = STATED;
        let spec = Machine::parse("written", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}")).spec;
        let pipeline = &spec.pipeline;
        assert!((pipeline.atomic_rate.unwrap().bytes() / rate - 1.0).abs() < 0.01, "{text}");
        assert_eq!((pipeline.atomic_line.unwrap().get(), pipeline.atomic.get()), (line, lane), "{text}");
        let shared = (spec.shared.atomic_request.get(), spec.shared.atomic.unwrap().get());
        assert_eq!(shared, (request, shared_lane), "{text}");
    }
}

#[test]
fn atomics_of_machines_drawn_at_random_are_found() {
    for &seed in sim::sample(1, &[1, 2, 3]) {
        let stated = Stated::drawn(seed);
        check(&discovered(stated, seed), stated, seed);
    }
}

#[test]
fn atomics_come_with_bandwidth_and_a_recording_says_the_same() {
    let (machine, folder) = (STATED.file(), tempfile::tempdir().unwrap());
    let path = folder.path().join("run.strata");
    let options = Options::effort(Effort::Quick).bandwidth(true).record(&path);
    let found = opened(&machine).discover_only(&[ElementName::Shared], options).unwrap().topology;
    let Answer::Discovery(replayed) = Recording::open(&path).unwrap().replay().unwrap() else { panic!("no discovery") };
    assert_eq!(replayed.topology.elements, found.elements);
    assert!(found.elements[&ElementName::Shared].known(ATOMIC_THROUGHPUT_PER_SM).is_some());
}

#[test]
fn nobody_asks_for_atomics_without_bandwidth() {
    let found = opened(&STATED.file()).discover_only(&[ElementName::Shared], Options::effort(Effort::Quick)).unwrap();
    let shared = &found.topology.elements[&ElementName::Shared];
    assert!(shared.finding(READ_BANDWIDTH).is_none() && shared.finding(ATOMIC_THROUGHPUT_PER_SM).is_none());
}
