//! How much faster a CUDA array of three dimensions is than linear memory, by access order (CS 179, lecture 4: texture memory).

use super::Answer;
use super::walks::{self, LOADS, Walks};
use crate::probe::{Gap, Notebook};
use strata_model::characterization::Suite;
use strata_model::pattern::{Layout, Pattern, Walk3d};

/// What is asked.
pub(super) const QUESTION: &str = "Is a CUDA array faster than linear memory, for each order of walking a cube?";

/// Side of the cube: 128 x 128 x 128 words are 8 MiB.
const SIDE: u32 = 128;
/// The walks: 32 rows, 32 columns, 32 lines from layer to layer, 64 tiles, and single texels.
const ORDERS: [Walk3d; 5] = [Walk3d::Rows, Walk3d::Columns, Walk3d::Layers, Walk3d::Tiles, Walk3d::Random];
/// See [`ORDERS`].
const WALKS: Walks = Walks {
    names: &["rows", "columns", "layers", "tiles", "random"],
    pattern: |i, layout: Layout| Pattern::Cube { walk: ORDERS[i], layout, side: SIDE, loads: LOADS },
    across: 2,
    instruction: "tex.3d",
    grid: "128 x 128 x 128 words",
    tiles: "4 x 4 x 4",
};

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, _: &Suite) -> Result<Answer, Gap> {
    walks::compare(notebook, &WALKS)
}
