//! The offsets of a chain: which bytes a lap visits, in which order.
//!
//! A pure function of the chain and its seed, so that the bench can build the chain and an inference can say which
//! address a sample belongs to without any of it being recorded.

use std::collections::HashMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::experiment::{Chain, Order, pages_span};
use crate::units::Bytes;

/// Byte offsets of one lap, in the order of the visit; the first load is the one at the first offset.
pub fn offsets(chain: Chain<'_>) -> Vec<u64> {
    let stride = chain.stride.0;
    let lap = chain.lap();
    let mut rng = ChaCha8Rng::seed_from_u64(chain.seed);
    match chain.order {
        Order::Sequential => (0..lap).map(|i| i * stride).collect(),
        Order::Random => {
            let mut offsets: Vec<u64> = (0..lap).map(|i| i * stride).collect();
            shuffle(&mut offsets, &mut rng);
            offsets
        }
        Order::Scattered { granule } => {
            let places = stride / granule.0;
            let mut offsets: Vec<u64> =
                (0..lap).map(|i| i * stride + rng.random_range(0..places) * granule.0).collect();
            shuffle(&mut offsets, &mut rng);
            offsets
        }
        Order::Listed { offsets } => offsets.clone(),
        Order::Pages { granule, lines, shuffled } => {
            let mut pages = pages(chain, *granule, *lines, &mut rng);
            if *shuffled {
                shuffle(&mut pages, &mut rng);
            }
            twice(pages.into_iter().flatten(), chain)
        }
        Order::Window { granule, first } => {
            let pages = pages(chain, *granule, 1, &mut rng);
            twice(pages.into_iter().skip(*first as usize).flatten(), chain)
        }
        Order::Paged { page, lines } => {
            let (page, lines) = (*page, *lines);
            let in_page = page / chain.stride;
            let mut pages: Vec<u64> = (0..chain.footprint / page).collect();
            shuffle(&mut pages, &mut rng);
            let mut offsets = Vec::with_capacity(lap as usize);
            let mut places: Vec<u64> = (0..in_page).collect();
            for number in pages {
                for k in 0..lines as usize {
                    let other = rng.random_range(k..places.len());
                    places.swap(k, other);
                    offsets.push(number * page.0 + places[k] * stride);
                }
            }
            offsets
        }
    }
}

/// The lines of every page.
fn pages(chain: Chain<'_>, granule: Bytes, lines: u32, rng: &mut ChaCha8Rng) -> Vec<Vec<u64>> {
    let places = (pages_span(chain.stride) / granule.0) as usize;
    let mut lines_of = |page: u64| -> Vec<u64> {
        let chosen = rand::seq::index::sample(rng, places, lines as usize);
        chosen.into_iter().map(|place| page * chain.stride.0 + place as u64 * granule.0).collect()
    };
    (0..chain.footprint / chain.stride).map(&mut lines_of).collect()
}

/// Two elements of each of these lines.
fn twice(lines: impl Iterator<Item = u64>, chain: Chain<'_>) -> Vec<u64> {
    let element = chain.path.element().0;
    lines.flat_map(|line| [line, line + element]).collect()
}

/// Byte offsets of visits to lines that begin at these offsets, in this order, for an order that lists them: an element can be
/// visited once, so the k-th visit of a line goes to its k-th element. A line must have so many elements in its first sector.
pub fn revisits(lines: impl Iterator<Item = u64>, element: Bytes) -> Vec<u64> {
    let mut visited: HashMap<u64, u64> = HashMap::new();
    lines
        .map(|line| {
            let before = visited.entry(line).or_default();
            let offset = line + *before * element.0;
            *before += 1;
            offset
        })
        .collect()
}

/// Fisher and Yates. A random order of visit, closed into a ring, is a uniformly drawn single cycle.
fn shuffle<T>(values: &mut [T], rng: &mut ChaCha8Rng) {
    for i in (1..values.len()).rev() {
        values.swap(i, rng.random_range(0..=i));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Chase, LoadPath};
    use proptest::prelude::*;

    fn chase(order: Order, lap: u64, stride: u64, seed: u64) -> Chase {
        Chase { order, seed, ..Chase::each_load(LoadPath::GlobalCa, Bytes(lap * stride), Bytes(stride)) }
    }

    proptest! {
        #[test]
        fn every_order_visits_each_stride_once(lap in 1u64..300, seed: u64, kind in 0..3) {
            let order = match kind {
                0 => Order::Sequential,
                1 => Order::Random,
                _ => Order::Scattered { granule: Bytes(32) },
            };
            let mut strides: Vec<u64> =
                offsets(chase(order, lap, 128, seed).chain()).iter().map(|o| o / 128).collect();
            strides.sort_unstable();
            prop_assert_eq!(strides, (0..lap).collect::<Vec<_>>());
        }

        #[test]
        fn a_paged_order_finishes_a_page_before_the_next(pages in 1u64..20, lines in 1u32..32, seed: u64) {
            let page = Bytes(4096);
            let e = Chase {
                footprint: page * pages,
                ..chase(Order::Paged { page, lines }, pages * 32, 128, seed)
            };
            let visited = offsets(e.chain());
            prop_assert_eq!(visited.len() as u64, e.lap());
            for chunk in visited.chunks(lines as usize) {
                prop_assert!(chunk.iter().all(|o| o / 4096 == chunk[0] / 4096));
                let mut distinct = chunk.to_vec();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(distinct.len(), lines as usize);
            }
        }
    }

    proptest! {
        #[test]
        fn pages_hold_their_lines_in_pairs(pages in 1u64..20, lines in 1u32..5, seed: u64, shuffled: bool) {
            let (stride, granule) = (4096, Bytes(128));
            let order = Order::Pages { granule, lines, shuffled };
            let e = Chase { footprint: Bytes(stride * pages), ..chase(order, pages, stride, seed) };
            let mut visited = offsets(e.chain());
            prop_assert_eq!(visited.len() as u64, e.lap());
            for pair in visited.chunks(2) {
                prop_assert_eq!(pair[1] - pair[0], 8);
                prop_assert_eq!(pair[0] % 128, 0);
            }
            if lines == 1 && !shuffled {
                let first = pages / 2;
                let window = Chase { order: Order::Window { granule, first }, ..e.clone() };
                let end = visited.split_off(2 * first as usize);
                prop_assert_eq!(window.lap(), end.len() as u64);
                prop_assert_eq!(offsets(window.chain()), end);
            }
            for page in visited.chunks(2 * lines as usize) {
                prop_assert!(page.iter().all(|o| o / stride == page[0] / stride));
                let distinct: std::collections::BTreeSet<u64> = page.iter().map(|o| o / 128).collect();
                prop_assert_eq!(distinct.len(), lines as usize);
            }
        }
    }

    #[test]
    fn each_visit_of_a_line_has_an_element_of_its_own() {
        assert_eq!(revisits([0, 256, 0, 0, 256].into_iter(), Bytes(8)), [0, 256, 8, 16, 264]);
    }

    #[test]
    fn the_seed_fixes_the_order() {
        let one = offsets(chase(Order::Random, 100, 8, 7).chain());
        assert_eq!(one, offsets(chase(Order::Random, 100, 8, 7).chain()));
        assert_ne!(one, offsets(chase(Order::Random, 100, 8, 8).chain()));
    }
}
