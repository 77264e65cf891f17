//! Instructions that can be executed.
//!
//! Every operand is the number of a slot: registers have one, and so has each constant. So an operand is read in one way,
//! whatever it is.

use std::collections::HashMap;

use super::walk::Walk;
use crate::machine::spec::{Hint, Prefetch};

/// Type of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// Bytes: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Whether it has a sign.
    pub signed: bool,
}

impl Type {
    /// Bits.
    pub fn bits(self) -> u32 {
        u32::from(self.bytes) * 8
    }

    /// The low bits of a value; the others are zero.
    pub fn wrap(self, value: u64) -> u64 {
        if self.bytes == 8 { value } else { value & ((1 << self.bits()) - 1) }
    }

    /// The value as a signed number.
    pub fn signed(self, value: u64) -> i64 {
        let unused = 64 - self.bits();
        ((value << unused) as i64) >> unused
    }
}

/// State space of a load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// `.global.ca`, and `.global` without more.
    GlobalCa,
    /// `.global.cg`.
    GlobalCg,
    /// `.global.nc`.
    GlobalNc,
    /// `.volatile.global`.
    Volatile,
    /// `.const`, by an address that differs between threads, as far as a compiler can see.
    Constant,
    /// `.const`, by an address that is the same for all threads.
    ConstantUniform,
    /// `.shared`.
    Shared,
    /// `.local`.
    Local,
    /// `.param`.
    Parameter,
    /// None: a generic address. Only those of a cluster's shared memory are known.
    Generic,
    /// `.shared::cluster`.
    Cluster,
    /// Of `discard.global.L2`, which stores nothing that anybody may read.
    Discarded,
}

/// Comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

/// Atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// Swap.
    Exch,
    /// Swap if equal.
    Cas,
    /// Add.
    Add,
    /// Least.
    Min,
    /// Greatest.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// Which lane a shuffle reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shuffle {
    /// The lane of that number.
    Index,
    /// The lane so many below.
    Up,
    /// The lane so many above.
    Down,
    /// The lane whose number differs by these bits.
    Butterfly,
}

/// Special registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `%tid.x`, `.y` or `.z` (blocks are one-dimensional, so the latter are 0).
    Thread(u8),
    /// `%ntid.x`, `.y` or `.z`.
    Threads(u8),
    /// `%ctaid.x`, `.y` or `.z`.
    Block(u8),
    /// `%nctaid.x`, `.y` or `.z`.
    Blocks(u8),
    /// `%laneid`.
    Lane,
    /// `%warpid`.
    Warp,
    /// `%smid`.
    Sm,
    /// `%nsmid`.
    Sms,
    /// `%cluster_ctarank`.
    ClusterRank,
    /// `%cluster_nctarank`.
    ClusterSize,
    /// `%clock`.
    Clock,
    /// `%clock64`.
    Clock64,
    /// `%globaltimer`.
    Timer,
}

/// How a copy goes that goes on by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying {
    /// 16 bytes to shared memory.
    Word,
    /// Any multiple of that to shared memory.
    Bulk,
    /// The same to global memory.
    BulkStore,
    /// To the shared memory of several blocks of the cluster.
    Multicast,
}

/// What an instruction does. Sources are called a, b, c.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// a.
    Mov,
    /// A special register.
    Special(Special),
    /// a + b.
    Add,
    /// a - b.
    Sub,
    /// Low half of a * b.
    MulLo,
    /// High half of a * b.
    MulHi,
    /// All of a * b, twice as wide.
    MulWide,
    /// Low half of a * b, plus c.
    MadLo,
    /// All of a * b, plus c, twice as wide.
    MadWide,
    /// a / b.
    Div,
    /// Rest of a / b.
    Rem,
    /// The lesser.
    Min,
    /// The greater.
    Max,
    /// a and b.
    And,
    /// a or b.
    Or,
    /// a exclusive-or b.
    Xor,
    /// Not a.
    Not,
    /// -a.
    Neg,
    /// a << b.
    Shl,
    /// a >> b.
    Shr,
    /// Number of ones in a.
    Popc,
    /// Zeros above the highest one of a.
    Clz,
    /// Whether a compares to b.
    Set(Compare),
    /// a if c, otherwise b.
    Select,
    /// a in another type, saturated if asked for; the instruction's own type is the source's.
    Convert(Type, bool),
    /// Loads from a + offset.
    Load(Space),
    /// Stores b at a + offset.
    Store(Space),
    /// Atomic on a + offset with b (and c).
    Atomic(Atomic, Space),
    /// Texel b (and c, and d) of texture a, which has so many dimensions.
    Texture(u8),
    /// Texture a of two dimensions at b and c, which are numbers of floating point, as is the result.
    Sample,
    /// a + b, in floating point.
    FloatAdd,
    /// a * b, in floating point.
    FloatMul,
    /// A whole number a in floating point.
    ToFloat,
    /// A number of floating point a as a whole one, towards zero.
    FromFloat,
    /// a * b + c, in floating point. No machine here has a unit for it.
    Fma,
    /// The address in the cluster's shared memory of what lies at a in that of block b.
    MapShared,
    /// The generic address of a in the cluster's shared memory.
    ClusterAddress,
    /// Copies c bytes between a and b, and says so to the mbarrier at d, if there is one. Of several blocks those get them whose bits are set in
    /// the first of the further slots.
    Copy(Copying),
    /// Waits for all such copies of the thread.
    CopyWait,
    /// Makes an mbarrier at a + offset for b threads.
    MbarrierInit,
    /// Arrives at the mbarrier at a + offset, and expects b bytes, if there are any.
    MbarrierArrive,
    /// Arrives at the mbarrier at a + offset in the cluster's shared memory.
    RemoteArrive,
    /// Whether the phase of parity b of the mbarrier at a + offset has ended.
    MbarrierTry,
    /// Arrives at the barrier of the cluster.
    ClusterArrive,
    /// Waits for the cluster.
    ClusterWait,
    /// Waits for the block.
    Barrier,
    /// Waits for the warp.
    WarpBarrier,
    /// Orders memory; nothing is reordered here.
    Fence,
    /// A cache policy.
    CachePolicy(CachePolicy),
    /// a of another lane, which b gives; c bounds.
    Shuffle(Shuffle),
    /// Goes to an instruction.
    Branch(u32),
    /// Ends the thread.
    Return,
}

/// Where the shared memory of a cluster begins among generic addresses: far from device and host memory.
const WINDOW: u64 = 0x7f00_0000_0000;
/// Bits of an address within the shared memory of a block.
const WITHIN_BLOCK: u32 = 24;

/// The address in the cluster's shared memory of what lies at an address in that of the block of this rank.
pub fn map_shared(address: u64, rank: u64) -> u64 {
    rank << WITHIN_BLOCK | address & ((1 << WITHIN_BLOCK) - 1)
}

/// The generic address of an address in the cluster's shared memory.
pub fn cluster_address(address: u64) -> u64 {
    WINDOW + address
}

/// The rank and the place in its shared memory that a generic address stands for, if it stands for one.
pub fn cluster_window(address: u64) -> Option<(u32, u64)> {
    let within = address.checked_sub(WINDOW)?;
    let rank = u32::try_from(within >> WITHIN_BLOCK).ok()?;
    Some((rank, within & ((1 << WITHIN_BLOCK) - 1)))
}

impl Op {
    /// Whether it accesses the block's own shared memory.
    pub fn is_shared(self) -> bool {
        matches!(self, Op::Load(Space::Shared) | Op::Store(Space::Shared) | Op::Atomic(_, Space::Shared))
    }

    /// Whether it is a copy that goes on by itself, or an mbarrier.
    pub fn is_of_copies(self) -> bool {
        matches!(
            self,
            Op::Copy(Copying::Word | Copying::Bulk | Copying::BulkStore)
                | Op::CopyWait
                | Op::MbarrierInit
                | Op::MbarrierArrive
                | Op::MbarrierTry
        )
    }

    /// Whether it accesses the shared memory of a block of the cluster.
    pub fn is_of_cluster(self) -> bool {
        matches!(
            self,
            Op::Load(Space::Generic | Space::Cluster)
                | Op::Store(Space::Generic | Space::Cluster)
                | Op::Atomic(_, Space::Cluster)
                | Op::RemoteArrive
                | Op::Copy(Copying::Multicast)
        )
    }
}

/// What a load or store of global memory asks of the caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hinted {
    /// Nothing.
    #[default]
    No,
    /// `.cs`: what is used once gives way first, everywhere.
    Streaming,
    /// `.L1::…` with a hint for the SM's cache; none is `.L1::evict_unchanged`.
    Sm(Option<Hint>),
    /// `.L2::cache_hint`: what the policy says that d holds.
    Policy,
    /// `.L2::64B` to `.L2::256B`: a device's cache fetches so much.
    Block(Prefetch),
}

/// What a cache policy asks of the caches of the device, as its register has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CachePolicy {
    /// `evict_normal`.
    Normal,
    /// `evict_first`.
    First,
    /// `evict_last`.
    Last,
    /// `evict_unchanged`.
    Unchanged,
}

/// The slot that means "none".
pub const NONE: u16 = 0;

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// On what.
    pub kind: Type,
    /// Slot of the predicate under which it does so, or [`NONE`].
    pub guard: u16,
    /// The predicate is negated.
    pub negated: bool,
    /// Slot of the result, or [`NONE`].
    pub to: u16,
    /// Slots of the further elements that a vector or texture load brings or a vector store takes, or of what a copy takes beside its
    /// sources, or [`NONE`].
    pub more: [u16; 3],
    /// How many there are.
    pub further: u8,
    /// Slots of the sources, or [`NONE`].
    pub from: [u16; 4],
    /// What it asks of the caches.
    pub hinted: Hinted,
    /// Added to an address.
    pub offset: i64,
    /// Line of the text.
    pub line: u32,
}

impl Inst {
    /// Elements that it loads or stores: 1, or those of a vector.
    pub fn elements(&self) -> usize {
        1 + usize::from(self.further)
    }

    /// Slots that it writes; [`NONE`] where a result is not wanted.
    pub fn results(&self) -> impl Iterator<Item = u16> {
        let further = if matches!(self.op, Op::Store(_) | Op::Copy(_)) { 0 } else { usize::from(self.further) };
        std::iter::once(self.to).chain(self.more.into_iter().take(further))
    }

    /// Slots of what a store writes.
    pub fn stored(&self) -> impl Iterator<Item = u16> {
        std::iter::once(self.from[1]).chain(self.more.into_iter().take(usize::from(self.further)))
    }
}

/// An entry.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// Instructions; the last one is a return.
    pub code: Vec<Inst>,
    /// Of each instruction, the inner loop of a chase that begins there.
    pub walks: Vec<Option<Walk>>,
    /// Number of slots.
    pub slots: usize,
    /// Slots that hold constants, with their values.
    pub constants: Vec<(u16, u64)>,
    /// Slots that hold addresses of module variables, with the variable's name and an offset.
    pub symbols: Vec<(u16, String)>,
    /// Bytes of each parameter.
    pub parameters: Vec<u64>,
    /// Bytes of statically declared shared memory.
    pub shared: u64,
    /// Bytes of local memory of a thread.
    pub local: u64,
}

/// A module.
#[derive(Clone, Debug)]
pub struct Module {
    /// Architecture that the text names, such as `sm_50`.
    pub target: String,
    /// Entries, by name.
    pub entries: HashMap<String, Entry>,
    /// Module variables in device memory (constant and global): name and size.
    pub variables: Vec<(String, u64)>,
}
