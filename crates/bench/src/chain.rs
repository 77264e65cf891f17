//! Where chains lie in device memory, and where a walk along one must end.

use strata_gpu::{DevicePtr, Gpu, Result};
use strata_model::experiment::{Experiment, Kernel, LoadPath, Order, Partner, Walk};
use strata_model::order;
use strata_model::units::{Bytes, KIB, MIB};

/// What makes two experiments walk the very same chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ChainKey {
    allocation: u32,
    host: bool,
    texels: bool,
    /// An open chain serves every footprint, a closed one only its own.
    footprint: Option<Bytes>,
    stride: Bytes,
    order: Order,
    seed: u64,
    partner: bool,
}

impl ChainKey {
    /// The arena that it lies in: number of the allocation, and whether that is host memory.
    pub fn arena(&self) -> (u32, bool) {
        (self.allocation, self.host)
    }

    /// Whether its elements are 32-bit texel indices instead of addresses.
    pub fn texels(&self) -> bool {
        self.texels
    }
}

/// A chain to be laid out: its order, and what identifies it.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub key: ChainKey,
    pub offsets: Vec<u64>,
    pub span: Bytes,
}

/// A chain in device memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub base: DevicePtr,
    pub span: Bytes,
    /// Elements of the whole ring, of which an open walk uses the first ones.
    pub ring: u64,
    /// Its list of offsets in device memory, in units of four bytes.
    pub list: DevicePtr,
}

/// Whether the experiment's laps start over from the first element, so that one ring serves every footprint.
pub(super) fn is_open(experiment: &Experiment) -> bool {
    experiment.order == Order::Sequential
        && experiment.walk == Walk::Resident
        && experiment.kernel == Kernel::PerLoad
        && needs_memory(experiment.path)
}

/// Whether chains of this path lie in memory that the bench allocates.
pub(super) fn needs_memory(path: LoadPath) -> bool {
    !matches!(path, LoadPath::Constant | LoadPath::Shared | LoadPath::Local)
}

impl Plan {
    pub fn of(experiment: &Experiment) -> Self {
        let open = is_open(experiment);
        Plan {
            key: ChainKey {
                allocation: experiment.allocation,
                host: experiment.path == LoadPath::Host,
                texels: experiment.path == LoadPath::Texture,
                footprint: (!open).then_some(experiment.footprint),
                stride: experiment.stride,
                order: experiment.order.clone(),
                seed: experiment.seed,
                partner: false,
            },
            offsets: order::offsets(experiment),
            span: experiment.footprint,
        }
    }

    /// The partner's chain: sequential, closed, at addresses of its own.
    pub fn of_partner(experiment: &Experiment, partner: &Partner) -> Self {
        let chase = Experiment {
            allocation: experiment.allocation,
            ..Experiment::chase(Kernel::Disturb, partner.path, partner.footprint, partner.stride)
        };
        let mut plan = Plan::of(&chase);
        plan.key.partner = true;
        plan
    }
}

/// One of the run's device allocations, from which chains get their slots.
pub(super) struct Arena {
    memory: DevicePtr,
    size: Bytes,
    first: u64,
}

impl Arena {
    /// Allocates. Allocations of different numbers start at different distances from a page boundary, so that a cache whose
    /// index is hashed from the address is seen in several ways.
    pub fn allocate(gpu: &mut dyn Gpu, number: u32, host: bool, size: Bytes) -> Result<Self> {
        let first = u64::from(number) * ARENA_SHIFT % (2 * MIB);
        let bytes = Bytes(size.0 + first).round_up(Bytes(ARENA_STEP));
        let memory = if host { gpu.allocate_pinned(bytes)? } else { gpu.allocate(bytes)? };
        Ok(Arena { memory, size: Bytes(bytes.0 - first), first })
    }

    pub fn holds(&self, size: Bytes) -> bool {
        self.size >= size
    }

    pub fn at(&self, offset: u64) -> DevicePtr {
        self.memory.offset(self.first + offset)
    }

    pub fn free(self, gpu: &mut dyn Gpu) -> Result<()> {
        gpu.free(self.memory)
    }
}

/// Distance by which each allocation's first slot moves on: 17 pages of 4 KiB and one of the texture unit's 512-byte
/// alignments, so that no bit of the address above the alignment stays the same for long.
const ARENA_SHIFT: u64 = 17 * 4 * KIB + 512;
/// Allocations grow in steps of the driver's usual mapping granularity.
const ARENA_STEP: u64 = 2 * MIB;
/// Slots start at multiples of their size, but of no less than a small page and no more than a large one.
pub(super) fn slot_alignment(span: Bytes) -> u64 {
    span.0.next_power_of_two().clamp(4 * KIB, 2 * MIB)
}

/// The value that an element at `offset` is known by on its path: an address, an index, or an offset.
pub(super) fn value(path: LoadPath, origin: u64, offset: u64) -> u64 {
    match path {
        LoadPath::Texture => offset / 4,
        _ => origin + offset,
    }
}

/// Loads of the whole walk and the offset at which it must end.
pub(super) fn expected_end(experiment: &Experiment, offsets: &[u64], ring: u64) -> u64 {
    let lap = experiment.lap();
    let timed = u64::from(experiment.timed_loads);
    let warm = u64::from(experiment.warm_laps) * lap;
    let after = |loads: u64| offsets[(loads % lap) as usize];
    match (experiment.kernel, experiment.walk) {
        (Kernel::Clock | Kernel::Pattern | Kernel::Imported, _) => 0,
        (Kernel::Lap, _) => after(warm + 3 * timed * u64::from(experiment.rounds)),
        (Kernel::PerTwoLoads, _) => after(warm + 2 * timed),
        (Kernel::Disturb | Kernel::Warp, _) => offsets[0],
        (Kernel::PerLoad, Walk::Straight) => after(warm + timed),
        (Kernel::PerLoad, Walk::Resident) if is_open(experiment) && lap < ring => lap * experiment.stride.0,
        (Kernel::PerLoad, Walk::Resident) => offsets[0],
    }
}
