//! Everything that a launch states.

use crate::DevicePtr;
use strata_model::experiment::Reuse;
use strata_model::units::Bytes;

/// A launch of a kernel: its shape, and what it asks of the device.
///
/// ```
/// use strata_gpu::Launch;
/// use strata_model::units::Bytes;
///
/// let launch = Launch::new(132, 256).shared(Bytes::kib(64)).carveout(100);
/// assert_eq!((launch.blocks, launch.cluster, launch.cooperative), (132, None, false));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// Blocks in the grid.
    pub blocks: u32,
    /// Threads in a block.
    pub threads: u32,
    /// Blocks in a cluster, whose blocks are on neighbouring SMs at the same time. The number of blocks must be a multiple of it.
    /// Devices have clusters from compute capability 9.0 on.
    pub cluster: Option<u32>,
    /// All blocks are on the device at the same time, so that they may wait for each other (a cooperative launch).
    pub cooperative: bool,
    /// Dynamic shared memory of a block.
    pub shared: Bytes,
    /// Preferred share of an SM's unified memory for shared memory, in per cent: a hint. Without one the driver chooses, also
    /// where an earlier launch of the same kernel had one. A device without the choice takes 0 and 100, which change nothing
    /// there, and refuses what lies between.
    pub carveout: Option<u8>,
    /// Width of shared memory's banks, 4 or 8 bytes; without one the driver chooses. Devices of compute capability 3.x have the
    /// choice; others take the request and do nothing.
    pub bank_width: Option<Bytes>,
    /// What the L2 is told of some memory: an access policy window. Devices have them from compute capability 8.0 on.
    pub window: Option<Window>,
}

/// Memory of which a launch says how it is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Where it begins.
    pub base: DevicePtr,
    /// Its size.
    pub bytes: Bytes,
    /// What is said of it.
    pub reuse: Reuse,
}

impl Launch {
    /// A launch of so many blocks of so many threads that asks for nothing else.
    pub const fn new(blocks: u32, threads: u32) -> Self {
        Launch {
            blocks,
            threads,
            cluster: None,
            cooperative: false,
            shared: Bytes(0),
            carveout: None,
            bank_width: None,
            window: None,
        }
    }

    /// With clusters of so many blocks.
    pub const fn cluster(self, blocks: u32) -> Self {
        Launch { cluster: Some(blocks), ..self }
    }

    /// With all blocks on the device at the same time.
    pub const fn cooperative(self) -> Self {
        Launch { cooperative: true, ..self }
    }

    /// With so much dynamic shared memory for each block.
    pub const fn shared(self, bytes: Bytes) -> Self {
        Launch { shared: bytes, ..self }
    }

    /// With a preferred share of shared memory, in per cent, or the driver's choice.
    pub fn carveout(self, percent: impl Into<Option<u8>>) -> Self {
        Launch { carveout: percent.into(), ..self }
    }

    /// With this access policy window, or none.
    pub fn window(self, window: impl Into<Option<Window>>) -> Self {
        Launch { window: window.into(), ..self }
    }

    /// With banks of this width, or the driver's choice.
    pub fn bank_width(self, width: impl Into<Option<Bytes>>) -> Self {
        Launch { bank_width: width.into(), ..self }
    }
}
