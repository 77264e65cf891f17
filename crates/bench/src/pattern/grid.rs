//! Chains over a square or a cube: which element follows which, as each layout spells it.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use strata_model::pattern::{TILE, TILE_3D, Walk2d, Walk3d};

/// How a texel names the one that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// By two coordinates of 16 bits.
    Square,
    /// By three coordinates of 10 bits.
    Cube,
    /// By its number.
    Number,
    /// By its number, as a number of floating point.
    Float,
}

/// A walk over a grid of two or three dimensions, all of one side.
pub(super) struct Grid {
    /// Side, in elements.
    pub side: u32,
    /// Elements in all.
    all: u64,
    /// The elements visited, by their coordinates; after the last load the chase stands at the last of them.
    places: Vec<[u32; 3]>,
}

impl Grid {
    /// The walk of so many loads over a square.
    pub fn square(walk: Walk2d, side: u32, loads: u32, seed: u64) -> Self {
        let order: Order<2> = match walk {
            Walk2d::Rows => Order::Along([0, 1]),
            Walk2d::Columns => Order::Along([1, 0]),
            Walk2d::Tiles => Order::Tiles(TILE),
            Walk2d::Random => Order::Random(seed),
        };
        Self::of(order, side, loads)
    }

    /// The walk of so many loads over a cube.
    pub fn cube(walk: Walk3d, side: u32, loads: u32, seed: u64) -> Self {
        let order: Order<3> = match walk {
            Walk3d::Rows => Order::Along([0, 1, 2]),
            Walk3d::Columns => Order::Along([1, 2, 0]),
            Walk3d::Layers => Order::Along([2, 1, 0]),
            Walk3d::Tiles => Order::Tiles(TILE_3D),
            Walk3d::Random => Order::Random(seed),
        };
        Self::of(order, side, loads)
    }

    fn of<const DIMENSIONS: usize>(order: Order<DIMENSIONS>, side: u32, loads: u32) -> Self {
        let all = u64::from(side).pow(DIMENSIONS as u32);
        // One more than loads: where the chase ends.
        let count = (u64::from(loads) + 1).min(all);
        let mut places = order.places(side, all, count);
        if u64::from(loads) == all {
            // Every element is visited: the last leads to the first.
            places.push(places[0]);
        }
        Grid { side, all, places }
    }

    fn number(&self, [x, y, z]: [u32; 3]) -> u32 {
        (z * self.side + y) * self.side + x
    }

    fn name(&self, naming: Naming, place: [u32; 3]) -> u32 {
        let [x, y, z] = place;
        match naming {
            Naming::Square => x | y << 16,
            Naming::Cube => x | y << 10 | z << 20,
            Naming::Number => self.number(place),
            Naming::Float => (self.number(place) as f32).to_bits(),
        }
    }

    /// The texels, row by row and layer by layer: each visited one names the next.
    pub fn texels(&self, naming: Naming) -> Vec<u32> {
        let mut texels = vec![0; self.all as usize];
        for pair in self.places.windows(2) {
            texels[self.number(pair[0]) as usize] = self.name(naming, pair[1]);
        }
        texels
    }

    /// Where the chase begins and where it ends, as the kernel has it: a number is whole there.
    pub fn ends(&self, naming: Naming) -> [u32; 2] {
        let naming = if naming == Naming::Float { Naming::Number } else { naming };
        [self.places.first(), self.places.last()].map(|place| place.map_or(0, |&place| self.name(naming, place)))
    }
}

/// The order of a walk.
enum Order<const DIMENSIONS: usize> {
    /// Along one coordinate after the other.
    Along([usize; DIMENSIONS]),
    /// Tiles of this side, one after the other, rows in each.
    Tiles(u32),
    /// Drawn with this seed.
    Random(u64),
}

impl<const DIMENSIONS: usize> Order<DIMENSIONS> {
    /// The first elements, in this order.
    fn places(&self, side: u32, all: u64, count: u64) -> Vec<[u32; 3]> {
        match self {
            Order::Along(coordinates) => (0..count)
                .map(|i| {
                    let digits = digits::<DIMENSIONS>(i, side);
                    let mut place = [0; 3];
                    for (&coordinate, digit) in coordinates.iter().zip(digits) {
                        place[coordinate] = digit;
                    }
                    place
                })
                .collect(),
            Order::Tiles(tile) => (0..count)
                .map(|i| {
                    let within = u64::from(*tile).pow(DIMENSIONS as u32);
                    let (number, inside) =
                        (digits::<DIMENSIONS>(i / within, side / tile), digits::<DIMENSIONS>(i % within, *tile));
                    let mut place = [0; 3];
                    for (coordinate, (number, inside)) in place.iter_mut().zip(number.into_iter().zip(inside)) {
                        *coordinate = number * tile + inside;
                    }
                    place
                })
                .collect(),
            Order::Random(seed) => {
                let each = |i: u64| {
                    let mut place = [0; 3];
                    place[..DIMENSIONS].copy_from_slice(&digits::<DIMENSIONS>(i, side));
                    place
                };
                drawn(all, count, *seed).into_iter().map(each).collect()
            }
        }
    }
}

/// A number in digits of this base, the last first.
fn digits<const DIMENSIONS: usize>(mut number: u64, base: u32) -> [u32; DIMENSIONS] {
    std::array::from_fn(|_| {
        let digit = number % u64::from(base);
        number /= u64::from(base);
        digit as u32
    })
}

/// Different numbers below `all`, drawn at random: the first steps of the shuffle of Fisher and Yates, on a list that is not
/// written out.
fn drawn(all: u64, count: u64, seed: u64) -> Vec<u64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut moved = std::collections::HashMap::new();
    (0..count)
        .map(|i| {
            let j = rng.random_range(i..all);
            let (at_i, at_j) = (moved.get(&i).copied().unwrap_or(i), moved.get(&j).copied().unwrap_or(j));
            moved.insert(j, at_i);
            at_j
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of the element that a chase stands at.
    fn number(naming: Naming, name: u32, side: u32) -> u32 {
        match naming {
            Naming::Square => (name >> 16) * side + (name & 0xffff),
            Naming::Cube => ((name >> 20) * side + (name >> 10 & 0x3ff)) * side + (name & 0x3ff),
            Naming::Number => name,
            Naming::Float => f32::from_bits(name) as u32,
        }
    }

    /// Follows a chase; it must come to every element once.
    fn follow(grid: &Grid, naming: Naming, loads: u32) {
        let texels = grid.texels(naming);
        let [start, end] = grid.ends(naming);
        let whole = if naming == Naming::Float { Naming::Number } else { naming };
        let mut at = number(whole, start, grid.side);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..loads {
            assert!(seen.insert(at), "the chase comes to {at} again");
            at = number(naming, texels[at as usize], grid.side);
        }
        assert_eq!(at, number(whole, end, grid.side));
    }

    #[test]
    fn every_walk_visits_each_element_once_and_ends_where_it_says() {
        for loads in [1, 100, 512] {
            for walk in [Walk2d::Rows, Walk2d::Columns, Walk2d::Tiles, Walk2d::Random] {
                for naming in [Naming::Square, Naming::Number, Naming::Float] {
                    follow(&Grid::square(walk, 32, loads, 3), naming, loads);
                }
            }
            for walk in [Walk3d::Rows, Walk3d::Columns, Walk3d::Layers, Walk3d::Tiles, Walk3d::Random] {
                for naming in [Naming::Cube, Naming::Number] {
                    follow(&Grid::cube(walk, 8, loads, 3), naming, loads);
                }
            }
        }
    }

    #[test]
    fn a_walk_goes_where_its_name_says() {
        let places = |grid: Grid, first: usize| grid.places[..first].to_vec();
        assert_eq!(places(Grid::cube(Walk3d::Layers, 8, 9, 0), 9)[7..], [[0, 0, 7], [0, 1, 0]]);
        assert_eq!(places(Grid::cube(Walk3d::Columns, 8, 64, 0), 65)[63..], [[0, 7, 7], [1, 0, 0]]);
        let tile = places(Grid::cube(Walk3d::Tiles, 8, 64, 0), 65);
        assert!(tile[..64].iter().flatten().all(|&coordinate| coordinate < TILE_3D));
        assert_eq!(tile[64], [TILE_3D, 0, 0]);
        let square = places(Grid::square(Walk2d::Tiles, 64, 64, 0), 65);
        assert!(square[..64].iter().all(|&[x, y, _]| x < TILE && y < TILE));
        assert_eq!(square[64], [TILE, 0, 0]);
        assert_eq!(places(Grid::square(Walk2d::Columns, 64, 64, 0), 65)[63..], [[0, 63, 0], [1, 0, 0]]);
    }
}
