//! The addresses of chains in device memory, and where a walk must end.

use strata_gpu::{DevicePtr, Gpu, Result};
use strata_kernels::sizes::UNROLL_SHIFT;
use strata_model::experiment::{Chain, Chase, Experiment, LoadPath, Order, Side, Timing, Walk};
use strata_model::order;
use strata_model::units::{Bytes, KIB, MIB};

/// What makes two experiments walk the very same chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ChainKey {
    allocation: u32,
    side: Side,
    texels: bool,
    /// An open chain serves every footprint, a closed one only its own.
    footprint: Option<Bytes>,
    stride: Bytes,
    order: Order,
    seed: u64,
    partner: bool,
}

impl ChainKey {
    /// The arena that it lies in: number of the allocation, and whose memory that is.
    pub fn arena(&self) -> (u32, Side) {
        (self.allocation, self.side)
    }

    /// Whether its elements are 32-bit texel indices instead of addresses.
    pub fn texels(&self) -> bool {
        self.texels
    }
}

/// A chain to be laid out: its order, and what identifies it.
#[derive(Clone, Debug)]
pub(super) struct PlannedChain {
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

/// Whether the chase's laps start over from the first element, so that one ring serves every footprint.
fn is_open(chase: &Chase) -> bool {
    chase.order == Order::Sequential
        && matches!(chase.timing, Timing::EachLoad { walk, .. } if walk != Walk::Straight)
        && needs_memory(chase.path)
}

/// Whether chains of this path lie in memory that the bench allocates.
pub(super) fn needs_memory(path: LoadPath) -> bool {
    !matches!(path, LoadPath::Constant | LoadPath::Shared | LoadPath::Local)
}

impl PlannedChain {
    /// The chain of an experiment, if it walks one.
    pub fn of(experiment: &Experiment) -> Option<Self> {
        let open = matches!(experiment, Experiment::Chase(chase) if is_open(chase));
        let allocation = experiment.place().map_or(0, |place| place.allocation);
        Some(PlannedChain::new(experiment.chain()?, allocation, open, false))
    }

    /// The partner's chain, if there is a partner: closed, at addresses of its own.
    pub fn of_partner(experiment: &Experiment) -> Option<Self> {
        let allocation = experiment.place().map_or(0, |place| place.allocation);
        Some(PlannedChain::new(experiment.partner()?.chain(), allocation, false, true))
    }

    /// A closed chain that is no experiment of its own.
    pub fn beside(chain: Chain<'_>) -> Self {
        PlannedChain::in_allocation(chain, 0)
    }

    /// A closed chain in this allocation.
    pub fn in_allocation(chain: Chain<'_>, allocation: u32) -> Self {
        PlannedChain::new(chain, allocation, false, false)
    }

    fn new(chain: Chain<'_>, allocation: u32, open: bool, partner: bool) -> Self {
        PlannedChain {
            key: ChainKey {
                allocation,
                side: chain.path.side(),
                texels: chain.path == LoadPath::Texture,
                footprint: (!open).then_some(chain.footprint),
                stride: chain.stride,
                order: chain.order.clone(),
                seed: chain.seed,
                partner,
            },
            offsets: order::offsets(chain),
            span: chain.footprint,
        }
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
    pub fn allocate(gpu: &mut dyn Gpu, number: u32, side: Side, size: Bytes) -> Result<Self> {
        let first = u64::from(number) * ARENA_SHIFT % (2 * MIB);
        let bytes = Bytes(size.0 + first).round_up(Bytes(ARENA_STEP));
        let memory = super::allocate(gpu, side, bytes)?;
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

/// Loads of whole laps are unrolled: so many, at least as many as asked for, are timed.
pub(super) fn unrolled(loads: u32) -> u32 {
    loads.next_multiple_of(1 << UNROLL_SHIFT)
}

/// The offset at which the walk of a chase must end; `ring` is the number of elements of the chain as it lies in memory.
pub(super) fn expected_end(chase: &Chase, offsets: &[u64], ring: u64) -> u64 {
    let lap = chase.lap();
    let warm = u64::from(chase.warm_laps) * lap;
    let after = |loads: u64| offsets[((warm + loads) % lap) as usize];
    match chase.timing {
        Timing::Laps { loads, rounds } => after(3 * u64::from(unrolled(loads)) * u64::from(rounds)),
        Timing::EachPair { pairs } => after(2 * u64::from(pairs)),
        Timing::EachLoad { loads, walk: Walk::Straight } => after(u64::from(loads)),
        Timing::EachLoad { .. } if is_open(chase) && lap < ring => lap * chase.stride.0,
        Timing::EachLoad { .. } => offsets[0],
    }
}
