//! A machine model that answers experiments directly: caches as sets of tags, no kernels. It stands in for a GPU where the
//! inference is under test; that the kernels do what the experiments say is for other tests.

// Every test binary that has the model uses another part of it.
#![allow(dead_code)]

pub mod cache;
pub mod expect;
mod launch;
pub mod machine;

use strata_infer::discover::{Question, discover};
use strata_infer::probe::Effort;
use strata_model::attribute::Attribute;
use strata_model::experiment::{Experiment, Kernel, LoadPath, Order, Prepare, Walk};
use strata_model::order;
use strata_model::samples::{ClockSpan, Failure, Lap, Samples};
use strata_model::source::Source;
use strata_model::topology::{Element, ElementName, Finding, RunInfo, Topology};
use strata_model::units::Bytes;

use launch::Launch;
pub use machine::Machine;

/// Cycles of the SM clock in a nanosecond.
pub const CLOCK_GHZ: f64 = 1.5;
/// Address of the first byte of the first allocation.
pub const BASE: u64 = 1 << 32;
/// Constants that a module may declare.
pub const CONSTANT_LIMIT: Bytes = Bytes::kib(64);

/// Where a chain begins: allocations lie apart, and differ in their lowest bits above a line.
fn base(experiment: &Experiment) -> u64 {
    BASE * (u64::from(experiment.allocation) + 1) + u64::from(experiment.allocation) * 4096
}

/// Brings the L2 into the state that the experiment asks for.
fn prepare(launch: &mut Launch, experiment: &Experiment, base: u64, offsets: &[u64]) {
    match experiment.prepare {
        Prepare::FlushL2 => {}
        // The chain has just been written, so it is in the L2.
        Prepare::Nothing => offsets.iter().for_each(|o| launch.touch(base + o)),
        Prepare::Fill { passes } => {
            let mut places = offsets.to_vec();
            if matches!(experiment.order, Order::Scattered { .. }) {
                places.sort_unstable();
            } else {
                places = (0..experiment.footprint / experiment.stride).map(|k| k * experiment.stride.0).collect();
            }
            for _ in 0..passes {
                places.iter().for_each(|o| launch.touch(base + o));
            }
        }
    }
}

fn answer(machine: &Machine, experiment: &Experiment) -> Result<Samples, Failure> {
    let mut samples = Samples { base: base(experiment), ..Samples::default() };
    if experiment.kernel == Kernel::Clock {
        let nanoseconds = u64::from(experiment.timed_loads) * 1000;
        samples.clocks.push(ClockSpan { cycles: (nanoseconds as f64 * CLOCK_GHZ) as u64, nanoseconds });
        return Ok(samples);
    }
    if experiment.path == LoadPath::Constant && experiment.footprint > CONSTANT_LIMIT {
        return Err(Failure::unsupported("beyond constant memory"));
    }
    if experiment.path == LoadPath::Local && experiment.footprint > Bytes::kib(1) {
        return Err(Failure::unsupported("beyond local memory"));
    }
    if experiment.kernel == Kernel::Warp {
        return Err(Failure::unsupported("this model has no banks"));
    }
    let offsets = order::offsets(experiment);
    let lap = offsets.len();
    let at = |i: usize| samples.base + offsets[i % lap];
    let mut launch = Launch::new(machine, experiment);
    prepare(&mut launch, experiment, samples.base, &offsets);
    let path = experiment.path;
    let warm = lap * experiment.warm_laps as usize;
    for i in 0..warm {
        launch.load(path, 0, at(i));
    }
    let timed = experiment.timed_loads as usize;
    match experiment.kernel {
        Kernel::Lap => {
            let mut next = warm;
            for round in 0..2 * experiment.rounds {
                let loads = experiment.timed_loads << (round & 1);
                let cycles = (0..loads as usize).map(|k| u64::from(launch.load(path, 0, at(next + k)))).sum::<u64>();
                next += loads as usize;
                samples.laps.push(Lap { loads, cycles: cycles + 40 });
            }
        }
        Kernel::PerTwoLoads => {
            let mut pair = |k| launch.load(path, 0, at(warm + 2 * k)) + launch.load(path, 0, at(warm + 2 * k + 1));
            samples.latencies = (0..timed).map(|k| pair(k) + machine.overhead).collect();
        }
        Kernel::Disturb => {
            let partner = experiment.partner.expect("a disturbance has a partner");
            let elements = partner.footprint / partner.stride;
            for k in 0..u64::from(partner.laps) * elements {
                launch.load(partner.path, partner.thread, (1 << 50) + k % elements * partner.stride.0);
            }
            samples.latencies = (0..timed).map(|k| launch.load(path, 0, at(k)) + machine.overhead).collect();
        }
        _ => {
            let first = if experiment.walk == Walk::Resident { 0 } else { warm };
            samples.latencies = (0..timed).map(|k| launch.load(path, 0, at(first + k)) + machine.overhead).collect();
        }
    }
    Ok(samples)
}

/// Answers from the model, but for what it refuses, and remembers what it was asked.
pub struct Model<R: FnMut(&Experiment) -> Option<Failure>> {
    pub machine: Machine,
    pub refuse: R,
    pub asked: Vec<Experiment>,
}

impl<R: FnMut(&Experiment) -> Option<Failure>> Model<R> {
    pub fn refusing(machine: Machine, refuse: R) -> Self {
        Model { machine, refuse, asked: Vec::new() }
    }

    /// What discovery makes of it, with the least effort.
    pub fn discover(&mut self, only: &[ElementName]) -> Topology {
        let question = Question { only: only.to_vec(), effort: Effort::Quick, seed: 1 };
        let facts = self.machine.facts();
        let found = discover(self, &facts, &question, &mut |_| {});
        found.into_topology(facts, RunInfo::default(), None)
    }
}

impl<R: FnMut(&Experiment) -> Option<Failure>> Source for Model<R> {
    fn run(&mut self, batch: &[Experiment]) -> Vec<Result<Samples, Failure>> {
        self.asked.extend_from_slice(batch);
        let mut one = |e: &Experiment| match ((self.refuse)(e), e.defect()) {
            (Some(failure), _) => Err(failure),
            (None, Some(defect)) => Err(Failure::failed(defect)),
            (None, None) => answer(&self.machine, e),
        };
        batch.iter().map(&mut one).collect()
    }
}

/// What discovery makes of a machine.
pub fn topology(machine: &Machine) -> Topology {
    Model::refusing(machine.clone(), |_| None).discover(&[])
}

/// An element of a topology.
pub fn element(topology: &Topology, name: ElementName) -> &Element {
    &topology.elements[&name]
}

/// An attribute of an element by its key.
pub fn finding<'t>(topology: &'t Topology, name: ElementName, attribute: &str) -> &'t Finding {
    let attribute: Attribute = attribute.parse().unwrap();
    topology.elements[&name].finding(attribute).unwrap_or_else(|| panic!("{name} has no attribute {attribute}"))
}

/// The value of a finding as JSON has it, null where it is unknown: what expectations are written in.
pub fn json(finding: &Finding) -> serde_json::Value {
    serde_json::to_value(&finding.value).unwrap()
}
