//! Chains over a square: which element follows which, as each layout spells it.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use strata_model::pattern::{Layout, TILE, Walk2d};

/// A walk over a square.
pub(super) struct Square {
    /// Side, in elements.
    pub side: u32,
    /// The elements visited, by column and row; after the last load the chase stands at the last of them.
    places: Vec<(u32, u32)>,
}

impl Square {
    /// The walk of so many loads.
    pub fn new(walk: Walk2d, side: u32, loads: u32, seed: u64) -> Self {
        let all = u64::from(side) * u64::from(side);
        let place = |i: u64| ((i % u64::from(side)) as u32, (i / u64::from(side)) as u32);
        // One more than loads: where the chase ends.
        let count = (u64::from(loads) + 1).min(all);
        let mut places: Vec<(u32, u32)> = match walk {
            Walk2d::Rows => (0..count).map(place).collect(),
            Walk2d::Columns => (0..count).map(place).map(|(x, y)| (y, x)).collect(),
            Walk2d::Tiles => (0..count).map(|i| tiled(i, side)).collect(),
            Walk2d::Random => drawn(all, count, seed).into_iter().map(place).collect(),
        };
        if u64::from(loads) == all {
            // Every element is visited: the last leads to the first.
            places.push(places[0]);
        }
        Square { side, places }
    }

    /// How a layout's texels name a place.
    fn name(&self, layout: Layout, (x, y): (u32, u32)) -> u32 {
        match layout {
            Layout::Array => x | y << 16,
            Layout::Linear => y * self.side + x,
        }
    }

    /// The texels, row by row: each visited one names the next.
    pub fn texels(&self, layout: Layout) -> Vec<u32> {
        let mut texels = vec![0; (self.side * self.side) as usize];
        for pair in self.places.windows(2) {
            let (x, y) = pair[0];
            texels[(y * self.side + x) as usize] = self.name(layout, pair[1]);
        }
        texels
    }

    /// Where the chase begins.
    pub fn start(&self, layout: Layout) -> u32 {
        self.places.first().map_or(0, |&place| self.name(layout, place))
    }

    /// Where it ends.
    pub fn end(&self, layout: Layout) -> u32 {
        self.places.last().map_or(0, |&place| self.name(layout, place))
    }
}

/// The i-th element, tile after tile and row after row in each.
fn tiled(i: u64, side: u32) -> (u32, u32) {
    let tile = u64::from(TILE);
    let (number, within) = (i / (tile * tile), i % (tile * tile));
    let across = u64::from(side) / tile;
    let (x, y) = (number % across * tile + within % tile, number / across * tile + within / tile);
    (x as u32, y as u32)
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

    #[test]
    fn every_walk_visits_each_element_once_and_ends_where_it_says() {
        for walk in [Walk2d::Rows, Walk2d::Columns, Walk2d::Tiles, Walk2d::Random] {
            for loads in [1, 100, 1024] {
                let square = Square::new(walk, 32, loads, 3);
                for layout in [Layout::Array, Layout::Linear] {
                    let texels = square.texels(layout);
                    let index = |name: u32| match layout {
                        Layout::Array => ((name >> 16) * 32 + (name & 0xffff)) as usize,
                        Layout::Linear => name as usize,
                    };
                    let mut at = square.start(layout);
                    let mut seen = std::collections::HashSet::new();
                    for _ in 0..loads {
                        assert!(seen.insert(at), "{walk:?} comes to {at} again");
                        at = texels[index(at)];
                    }
                    assert_eq!(at, square.end(layout));
                }
            }
        }
    }

    #[test]
    fn a_tile_is_a_square() {
        let square = Square::new(Walk2d::Tiles, 64, 64, 0);
        assert!(square.places[..64].iter().all(|&(x, y)| x < TILE && y < TILE));
        assert_eq!(square.places[64], (TILE, 0));
    }
}
