//! The kinds of a pattern: who waits, where operands, words and counters are, in which order a walk goes.

use serde::{Deserialize, Serialize};

/// Who waits for whom at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The lanes of each warp: `bar.warp.sync`.
    Warp,
    /// All threads of the block: `bar.sync`.
    Block,
    /// All threads of all blocks: a counter in global memory, between barriers of the blocks.
    Grid,
    /// Nobody: the loop around the barriers alone, to be taken off.
    Nobody,
}

/// Where an operand of arithmetic comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operand {
    /// A number in the text.
    Immediate,
    /// A parameter of the kernel, which lies in constant memory.
    Parameter,
}

/// The order in which a chase visits the elements of a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Walk2d {
    /// Row after row.
    Rows,
    /// Column after column.
    Columns,
    /// Tiles of [`TILE`] x [`TILE`] elements, one after the other; rows in each.
    Tiles,
    /// At random.
    Random,
}

/// The order in which a chase visits the elements of a cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Walk3d {
    /// Along the first coordinate, row after row.
    Rows,
    /// Along the second coordinate, in one layer after the other.
    Columns,
    /// Along the third coordinate, from layer to layer, in one row after the other.
    Layers,
    /// Cubes of [`TILE_3D`] elements a side, one after the other; rows in each.
    Tiles,
    /// At random.
    Random,
}

/// Side of a tile of a cube, in elements: 64 of them, as in a tile of a square.
pub const TILE_3D: u32 = 4;

/// How a texture finds the value at coordinates that are numbers of floating point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// The texel that they fall into.
    Nearest,
    /// The same, by coordinates from 0 to 1.
    Normalized,
    /// The mean of the texels around, by their distance.
    Linear,
}

/// Where the operands of arithmetic are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperandsIn {
    /// In registers.
    Registers,
    /// In shared memory, each lane's word in a bank of its own.
    Shared,
    /// In the L1, which has loaded them before.
    L1,
}

/// Side of a tile, in elements: its rows are sectors of 32 B, and it is a square.
pub const TILE: u32 = 8;

/// How the elements of a square lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// As the driver lays a CUDA array out, loaded by `tex.2d`.
    Array,
    /// Row after row, loaded by `tex.1d` from linear memory.
    Linear,
}

/// Who counts a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counters {
    /// All threads of all blocks, by atomics on the same counters in global memory.
    Global,
    /// Each block for itself, by atomics in shared memory, merged into global memory at its end.
    Shared,
}

/// Which memory is loaded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadedFrom {
    /// Shared memory.
    Shared,
    /// Global memory, each element once.
    Global,
}
