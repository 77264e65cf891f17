//! The chain of an experiment: which byte offsets a lap visits, in which order.
//!
//! A pure function of the experiment and its seed, so that the bench can build the chain and an inference can say which
//! address a sample belongs to without any of it being recorded.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::experiment::{Experiment, Order};
use crate::units::Bytes;

/// Byte offsets of one lap, in the order of the visit; the first load is the one at the first offset.
pub fn offsets(experiment: &Experiment) -> Vec<u64> {
    let stride = experiment.stride.0;
    let lap = experiment.lap();
    let mut rng = ChaCha8Rng::seed_from_u64(experiment.seed);
    match &experiment.order {
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
        Order::Listed { offsets } | Order::Lanes { offsets, .. } => offsets.clone(),
        Order::Pages { granule, shuffled } => {
            // Not across any boundary of a page, whose size is a power of two: at one and a half pages, within half of one.
            let places = (1u64 << stride.trailing_zeros()).min(LARGE_PAGE.0) / granule.0;
            let mut offsets: Vec<u64> = (0..lap / 2)
                .map(|i| i * stride + if places > 1 { rng.random_range(0..places) * granule.0 } else { 0 })
                .collect();
            if *shuffled {
                shuffle(&mut offsets, &mut rng);
            }
            offsets.into_iter().flat_map(|offset| [offset, offset + experiment.path.element().0]).collect()
        }
        Order::Paged { page, lines } => {
            let (page, lines) = (*page, *lines);
            let in_page = page / experiment.stride;
            let mut pages: Vec<u64> = (0..experiment.footprint / page).collect();
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

/// Alignment of every long chain, so that no line is displaced by more: the driver's large page.
const LARGE_PAGE: Bytes = Bytes::mib(2);

/// Fisher and Yates. A random order of visit, closed into a ring, is a uniformly drawn single cycle.
fn shuffle(values: &mut [u64], rng: &mut ChaCha8Rng) {
    for i in (1..values.len()).rev() {
        values.swap(i, rng.random_range(0..=i));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Kernel, LoadPath};
    use proptest::prelude::*;

    fn experiment(order: Order, lap: u64, stride: u64, seed: u64) -> Experiment {
        let chase = Experiment::chase(Kernel::PerLoad, LoadPath::GlobalCa, Bytes(lap * stride), Bytes(stride));
        Experiment { order, seed, ..chase }
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
                offsets(&experiment(order, lap, 128, seed)).iter().map(|o| o / 128).collect();
            strides.sort_unstable();
            prop_assert_eq!(strides, (0..lap).collect::<Vec<_>>());
        }

        #[test]
        fn a_paged_order_finishes_a_page_before_the_next(pages in 1u64..20, lines in 1u32..32, seed: u64) {
            let page = Bytes(4096);
            let e = Experiment {
                footprint: page * pages,
                ..experiment(Order::Paged { page, lines }, pages * 32, 128, seed)
            };
            let visited = offsets(&e);
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

    #[test]
    fn the_seed_fixes_the_order() {
        let one = offsets(&experiment(Order::Random, 100, 8, 7));
        assert_eq!(one, offsets(&experiment(Order::Random, 100, 8, 7)));
        assert_ne!(one, offsets(&experiment(Order::Random, 100, 8, 8)));
    }
}
