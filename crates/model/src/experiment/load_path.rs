//! The instruction of a load, and so the caches on its way.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Whose memory is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The GPU's own.
    Device,
    /// Pinned memory of the host.
    Host,
    /// The memory of the GPU at the other end of a link.
    Peer,
}

/// How a load reaches memory: the instruction, and so the caches on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadPath {
    /// `ld.global.ca`: cached at every level that caches global loads.
    GlobalCa,
    /// `ld.global.cg`: cached in the L2 only.
    GlobalCg,
    /// `ld.global.nc`: the read-only path (compute capability 3.5 and later).
    GlobalNc,
    /// `tex.1d` on a linear texture object.
    Texture,
    /// `ld.const` with an address in a vector register (the indexed path).
    Constant,
    /// `ld.shared`.
    Shared,
    /// `ld.local`.
    Local,
    /// `ld.volatile.global` on a page of pinned host memory.
    Host,
    /// `atom.global.add` of zero: carried out where the line is at home, whatever copies there are.
    Atomic,
    /// `ld.global.cg` of another GPU's memory.
    Peer,
    /// `ld.global.ca` of another GPU's memory.
    PeerCa,
    /// `atom.global.add` of zero in another GPU's memory.
    PeerAtomic,
}

impl LoadPath {
    /// Every path, in the order of the documentation.
    pub const ALL: [LoadPath; 12] = [
        LoadPath::GlobalCa,
        LoadPath::GlobalCg,
        LoadPath::GlobalNc,
        LoadPath::Texture,
        LoadPath::Constant,
        LoadPath::Shared,
        LoadPath::Local,
        LoadPath::Host,
        LoadPath::Atomic,
        LoadPath::Peer,
        LoadPath::PeerCa,
        LoadPath::PeerAtomic,
    ];

    /// Short name, used for kernels and in exported tables.
    pub const fn name(self) -> &'static str {
        match self {
            LoadPath::GlobalCa => "ca",
            LoadPath::GlobalCg => "cg",
            LoadPath::GlobalNc => "nc",
            LoadPath::Texture => "tex",
            LoadPath::Constant => "const",
            LoadPath::Shared => "shared",
            LoadPath::Local => "local",
            LoadPath::Host => "host",
            LoadPath::Atomic => "atomic",
            LoadPath::Peer => "peer",
            LoadPath::PeerCa => "peer_ca",
            LoadPath::PeerAtomic => "peer_atomic",
        }
    }

    /// The instruction as PTX spells it.
    pub const fn instruction(self) -> &'static str {
        match self {
            LoadPath::GlobalCa => "ld.global.ca",
            LoadPath::GlobalCg => "ld.global.cg",
            LoadPath::GlobalNc => "ld.global.nc",
            LoadPath::Texture => "tex.1d",
            LoadPath::Constant => "ld.const",
            LoadPath::Shared => "ld.shared",
            LoadPath::Local => "ld.local",
            LoadPath::Host => "ld.volatile.global (pinned host memory)",
            LoadPath::Atomic => "atom.global.add",
            LoadPath::Peer => "ld.global.cg (another GPU's memory)",
            LoadPath::PeerCa => "ld.global.ca (another GPU's memory)",
            LoadPath::PeerAtomic => "atom.global.add (another GPU's memory)",
        }
    }

    /// Whose memory it loads from, where that is allocated for it.
    pub const fn side(self) -> Side {
        match self {
            LoadPath::Host => Side::Host,
            LoadPath::Peer | LoadPath::PeerCa | LoadPath::PeerAtomic => Side::Peer,
            _ => Side::Device,
        }
    }

    /// The path of the same instruction to the GPU's own memory: both have one kernel.
    pub const fn kernel(self) -> LoadPath {
        match self {
            LoadPath::Peer => LoadPath::GlobalCg,
            LoadPath::PeerCa => LoadPath::GlobalCa,
            LoadPath::PeerAtomic => LoadPath::Atomic,
            path => path,
        }
    }

    /// Size of one chain element: a raw 64-bit address, or a 32-bit offset or texel index.
    pub const fn element(self) -> Bytes {
        match self {
            LoadPath::Texture | LoadPath::Constant | LoadPath::Shared | LoadPath::Local => Bytes(4),
            _ => Bytes(8),
        }
    }
}

impl fmt::Display for LoadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.instruction())
    }
}
