//! Textures: where the texel of a coordinate lies.
//!
//! A CUDA array has an order of the driver's own. The one here is NVIDIA's "block linear" order with blocks of one group: the
//! array is cut into groups of 64 B x 8 rows, which follow each other row by row, and in each group sectors of 16 B x 2 rows make
//! tiles of 32 B x 4 rows, a line of 128 B each (Tegra X1 technical reference manual, "block linear": the address within a group
//! of bytes). So a cache line holds a neighbourhood in two dimensions, which is what the order is for.

use strata_model::pattern::Sampling;

/// Bytes of a texel of an array.
const TEXEL: u64 = 4;
/// Bytes of a row in a group.
const GROUP_WIDTH: u64 = 64;
/// Rows of a group.
const GROUP_ROWS: u64 = 8;

/// What a texture reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texels {
    /// Texels of so many bytes, one after the other.
    Linear {
        /// Address of the first.
        base: u64,
        /// All of them, in bytes.
        bytes: u64,
        /// One of them, in bytes.
        texel: u8,
    },
    /// An array of texels of four bytes.
    Array {
        /// Address of its first group.
        base: u64,
        /// Texels of a row.
        width: u64,
        /// Rows.
        height: u64,
        /// Layers of an array of three dimensions, each a multiple of whole groups behind the one before.
        depth: Option<u64>,
        /// What it does with coordinates of floating point, if it is read by them.
        sampling: Option<Sampling>,
    },
}

/// Address and bytes of a texel; none beyond the ends, where a texture gives zero.
type Texel = Option<(u64, u8)>;

impl Texels {
    /// Coordinates of a texel.
    pub fn dimensions(self) -> u8 {
        match self {
            Texels::Linear { .. } => 1,
            Texels::Array { depth: None, .. } => 2,
            Texels::Array { .. } => 3,
        }
    }

    /// What it does with coordinates of floating point, if it is read by them.
    pub fn sampling(self) -> Option<Sampling> {
        match self {
            Texels::Linear { .. } => None,
            Texels::Array { sampling, .. } => sampling,
        }
    }

    /// The texel at these coordinates, of which those beyond the dimensions do not count.
    pub fn at(self, [x, y, z]: [u64; 3]) -> Texel {
        match self {
            Texels::Linear { base, bytes, texel } => {
                (x < bytes / u64::from(texel)).then(|| (base + x * u64::from(texel), texel))
            }
            Texels::Array { base, width, height, depth, .. } => {
                let z = if depth.is_some() { z } else { 0 };
                let inside = x < width && y < height && z < depth.unwrap_or(1);
                let layer = || base + z * array_bytes(width, height, None);
                inside.then(|| (layer() + place(x, y, width), TEXEL as u8))
            }
        }
    }

    /// The texel that coordinates of floating point fall into.
    ///
    /// # Errors
    ///
    /// The coordinates, where the mean of several texels is wanted and they are not the centre of one.
    pub fn sample(self, coordinates: [f32; 2]) -> Result<Texel, [f32; 2]> {
        let Texels::Array { width, height, sampling, .. } = self else { return Ok(None) };
        let scales = if sampling == Some(Sampling::Normalized) { [width as f32, height as f32] } else { [1.0; 2] };
        let [x, y] = [coordinates[0] * scales[0], coordinates[1] * scales[1]];
        if sampling == Some(Sampling::Linear) && (x.fract() != 0.5 || y.fract() != 0.5) {
            return Err(coordinates);
        }
        let inside = x >= 0.0 && y >= 0.0;
        Ok(if inside { self.at([x as u64, y as u64, 0]) } else { None })
    }
}

/// Bytes that an array takes: whole groups, layer by layer.
pub fn array_bytes(width: u64, height: u64, depth: Option<u64>) -> u64 {
    (width * TEXEL).next_multiple_of(GROUP_WIDTH) * height.next_multiple_of(GROUP_ROWS) * depth.unwrap_or(1)
}

/// Where texel `x` of row `y` begins in an array whose rows have `width` texels, in bytes from the array's beginning.
pub fn place(x: u64, y: u64, width: u64) -> u64 {
    let x = x * TEXEL;
    let groups = (width * TEXEL).div_ceil(GROUP_WIDTH);
    let group = y / GROUP_ROWS * groups + x / GROUP_WIDTH;
    let (column, row) = (x % GROUP_WIDTH, y % GROUP_ROWS);
    group * GROUP_WIDTH * GROUP_ROWS
        + column / 32 * 256
        + row / 2 * 64
        + column % 32 / 16 * 32
        + row % 2 * 16
        + column % 16
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Places of a square, each with its coordinates.
    fn square(width: u64, height: u64) -> BTreeMap<u64, (u64, u64)> {
        let all = (0..height).flat_map(|y| (0..width).map(move |x| (place(x, y, width), (x, y))));
        let by_place: BTreeMap<u64, (u64, u64)> = all.collect();
        assert_eq!(by_place.len() as u64, width * height, "two texels have one place");
        by_place
    }

    #[test]
    fn every_texel_has_a_place_of_its_own_in_the_array() {
        for (width, height) in [(16, 8), (64, 64), (256, 128), (1, 1), (17, 9), (5, 100)] {
            let places = square(width, height);
            assert!(places.keys().all(|place| place % TEXEL == 0 && place + TEXEL <= array_bytes(width, height, None)));
        }
        // Where rows are whole groups, nothing is left over.
        assert_eq!(square(64, 64).len() as u64 * TEXEL, array_bytes(64, 64, None));
    }

    #[test]
    fn a_line_holds_a_neighbourhood() {
        let mut lines: BTreeMap<u64, (BTreeSet<u64>, BTreeSet<u64>)> = BTreeMap::new();
        for (place, (x, y)) in square(64, 64) {
            let (columns, rows) = lines.entry(place / 128).or_default();
            columns.insert(x);
            rows.insert(y);
        }
        for (columns, rows) in lines.values() {
            assert_eq!((columns.len(), rows.len()), (8, 4));
            assert_eq!(
                (columns.last().unwrap() - columns.first().unwrap(), rows.last().unwrap() - rows.first().unwrap()),
                (7, 3)
            );
        }
        assert_eq!(place(0, 0, 64) / 32, place(3, 1, 64) / 32, "a sector has four texels of two rows");
        assert_ne!(place(0, 0, 64) / 32, place(4, 0, 64) / 32);
    }

    #[test]
    fn the_bits_of_an_address_are_those_of_the_manual() {
        // Bits 0 to 3, 5 and 8 come from the column in bytes, 4, 6 and 7 from the row.
        let bits = |x: u64, y: u64| place(x, y, 16);
        assert_eq!([1, 2, 4, 8].map(|x| bits(x, 0)), [4, 8, 32, 256]);
        assert_eq!([1, 2, 4].map(|y| bits(0, y)), [16, 64, 128]);
        assert_eq!((place(16, 0, 64), place(0, 8, 64)), (512, 4 * 512));
    }

    #[test]
    fn beyond_the_ends_there_is_nothing() {
        let bytes = Texels::Linear { base: 1000, bytes: 7, texel: 1 };
        assert_eq!((bytes.at([6, 0, 0]), bytes.at([7, 0, 0])), (Some((1006, 1)), None));
        let words = Texels::Linear { base: 1000, bytes: 7, texel: 4 };
        assert_eq!((words.at([0, 0, 0]), words.at([1, 0, 0])), (Some((1000, 4)), None));
        let array = Texels::Array { base: 512, width: 3, height: 2, depth: None, sampling: None };
        assert_eq!((array.at([2, 1, 0]), array.at([3, 0, 0]), array.at([0, 2, 0])), (Some((512 + 24, 4)), None, None));
        assert_eq!(array.at([u64::from(u32::MAX), 0, 0]), None, "a negative coordinate");
        let layers = Texels::Array { base: 512, width: 3, height: 2, depth: Some(2), sampling: None };
        assert_eq!((layers.at([2, 1, 1]), layers.at([0, 0, 2])), (Some((512 + 512 + 24, 4)), None));
        assert_eq!(array_bytes(3, 2, Some(2)), 1024);
    }

    #[test]
    fn coordinates_of_floating_point_find_the_texel_that_they_fall_into() {
        let array = |sampling| Texels::Array { base: 0, width: 16, height: 8, depth: None, sampling: Some(sampling) };
        let texel = |x, y| array(Sampling::Nearest).at([x, y, 0]);
        assert_eq!(array(Sampling::Nearest).sample([3.9, 1.0]), Ok(texel(3, 1)));
        assert_eq!(array(Sampling::Normalized).sample([0.5, 0.5]), Ok(texel(8, 4)));
        assert_eq!(array(Sampling::Linear).sample([3.5, 1.5]), Ok(texel(3, 1)));
        assert_eq!(array(Sampling::Linear).sample([3.0, 1.5]), Err([3.0, 1.5]));
        assert_eq!(array(Sampling::Nearest).sample([-0.5, 1.0]), Ok(None));
    }
}
