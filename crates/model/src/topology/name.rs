//! The names of the memories and caches.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names;

/// The memories and caches that strata knows, in the order of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ElementName {
    /// The L1 data cache as `ld.global.ca` sees it.
    L1,
    /// The texture path.
    Texture,
    /// The read-only path, `ld.global.nc`.
    ReadOnly,
    /// The first constant cache, indexed path.
    ConstantL1,
    /// The second constant cache, "L1.5".
    ConstantL15,
    /// The uniform constant path.
    ConstantUniform,
    /// Shared memory.
    Shared,
    /// Local memory.
    Local,
    /// The L2.
    L2,
    /// Device memory.
    Dram,
    /// Pinned host memory over the bus.
    Host,
    /// The first level of address translation.
    TlbL1,
    /// The second.
    TlbL2,
    /// The third.
    TlbL3,
    /// The scalar data cache of an AMD GPU, which only imported timings have.
    ScalarL1,
    /// The die: which SMs are together.
    Die,
    /// Shared memory of the other blocks of a cluster.
    DistributedShared,
    /// Copies that go on by themselves.
    AsyncCopy,
    /// The first instruction cache that a walk through code shows.
    InstructionL0,
    /// The second.
    InstructionL1,
    /// The third.
    InstructionL15,
    /// The L2 of the GPU at the other end of a link.
    PeerL2,
    /// The memory of that GPU.
    PeerDram,
}

impl ElementName {
    /// All of them, in the order of a report.
    pub const ALL: [ElementName; 23] = [
        ElementName::L1,
        ElementName::Texture,
        ElementName::ReadOnly,
        ElementName::ConstantL1,
        ElementName::ConstantL15,
        ElementName::ConstantUniform,
        ElementName::Shared,
        ElementName::Local,
        ElementName::L2,
        ElementName::Dram,
        ElementName::Host,
        ElementName::TlbL1,
        ElementName::TlbL2,
        ElementName::TlbL3,
        ElementName::ScalarL1,
        ElementName::Die,
        ElementName::DistributedShared,
        ElementName::AsyncCopy,
        ElementName::InstructionL0,
        ElementName::InstructionL1,
        ElementName::InstructionL15,
        ElementName::PeerL2,
        ElementName::PeerDram,
    ];

    /// Whether an NVIDIA GPU may have it, and so whether it is asked for.
    pub const fn is_asked(self) -> bool {
        !matches!(self, ElementName::ScalarL1)
    }

    /// Whether it is of the link from one GPU to another, and so of no single GPU.
    pub const fn is_of_link(self) -> bool {
        matches!(self, ElementName::PeerL2 | ElementName::PeerDram)
    }

    /// The JSON key, also the name on the command line.
    pub const fn key(self) -> &'static str {
        match self {
            ElementName::L1 => "l1",
            ElementName::Texture => "texture",
            ElementName::ReadOnly => "read_only",
            ElementName::ConstantL1 => "constant_l1",
            ElementName::ConstantL15 => "constant_l15",
            ElementName::ConstantUniform => "constant_uniform",
            ElementName::Shared => "shared",
            ElementName::Local => "local",
            ElementName::L2 => "l2",
            ElementName::Dram => "dram",
            ElementName::Host => "host",
            ElementName::TlbL1 => "tlb_l1",
            ElementName::TlbL2 => "tlb_l2",
            ElementName::TlbL3 => "tlb_l3",
            ElementName::Die => "die",
            ElementName::DistributedShared => "distributed_shared",
            ElementName::AsyncCopy => "async_copy",
            ElementName::InstructionL0 => "instruction_l0",
            ElementName::InstructionL1 => "instruction_l1",
            ElementName::InstructionL15 => "instruction_l15",
            ElementName::PeerL2 => "peer_l2",
            ElementName::PeerDram => "peer_dram",
            ElementName::ScalarL1 => "scalar_l1",
        }
    }

    /// The name in a table.
    pub const fn title(self) -> &'static str {
        match self {
            ElementName::L1 => "L1 data",
            ElementName::Texture => "Texture",
            ElementName::ReadOnly => "Read-only",
            ElementName::ConstantL1 => "Constant L1",
            ElementName::ConstantL15 => "Constant L1.5",
            ElementName::ConstantUniform => "Constant uniform",
            ElementName::Shared => "Shared",
            ElementName::Local => "Local",
            ElementName::L2 => "L2",
            ElementName::Dram => "DRAM",
            ElementName::Host => "Host (pinned)",
            ElementName::TlbL1 => "TLB L1",
            ElementName::TlbL2 => "TLB L2",
            ElementName::TlbL3 => "TLB L3",
            ElementName::Die => "Die",
            ElementName::DistributedShared => "Distributed shared",
            ElementName::AsyncCopy => "Async copies",
            ElementName::InstructionL0 => "Instruction L0",
            ElementName::InstructionL1 => "Instruction L1",
            ElementName::InstructionL15 => "Instruction L1.5",
            ElementName::PeerL2 => "Peer L2",
            ElementName::PeerDram => "Peer DRAM",
            ElementName::ScalarL1 => "Scalar L1",
        }
    }
}

impl fmt::Display for ElementName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}

impl FromStr for ElementName {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        ElementName::ALL
            .into_iter()
            .find(|e| e.key() == s)
            .ok_or_else(|| format!("no element `{s}`; {}", names::advice(s, ElementName::ALL.map(ElementName::key))))
    }
}
