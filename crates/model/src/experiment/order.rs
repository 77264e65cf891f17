//! Chains: which elements are visited, in which order.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::LoadPath;
use crate::units::Bytes;

/// The order in which the elements of a chain are visited.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// One element every `stride`, ascending. Chains of one allocation are nested: a smaller footprint is a prefix of a
    /// larger one, at the same addresses.
    Sequential,
    /// One element every `stride`, in a random cycle.
    Random,
    /// One element every `stride`, displaced within its stride by a random multiple of `granule`, in a random cycle.
    Scattered {
        /// Displacements are multiples of this; it must divide the stride.
        granule: Bytes,
    },
    /// `lines` random elements of a page, then the next page: address translation misses once a page.
    Paged {
        /// Size of a page; the footprint is cut to whole pages.
        page: Bytes,
        /// Elements visited in each page.
        lines: u32,
    },
    /// These elements, in this order: to visit a line several times in a lap, several of its elements are named.
    Listed {
        /// Byte offsets, all different.
        offsets: Vec<u64>,
    },
    /// `lines` lines in every `stride`, a page, and two elements of each in a row: the first load meets the translation, the
    /// second finds it done, at the same place of the same cache, so that their difference is what translating took. Of
    /// further lines of the page the first load finds it done too: what it takes longer than the second is the data's.
    /// Lines are displaced by random multiples of `granule`, the same for every footprint, by less than the largest power of
    /// two that divides the stride.
    Pages {
        /// Displacements are multiples of this, a line; it must divide the stride.
        granule: Bytes,
        /// Lines of each page.
        lines: u32,
        /// In a random cycle, not in ascending order.
        shuffled: bool,
    },
    /// As [`Order::Pages`] with one line of each page, in ascending order, but only of the pages from `first` on: the same chain
    /// at another place of the memory.
    Window {
        /// As of [`Order::Pages`].
        granule: Bytes,
        /// Number of the first stride that is visited; there must be one.
        first: u64,
    },
}

/// A chain as an experiment describes it: a view of the fields that say which offsets a lap visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain<'e> {
    /// By which instruction it is walked.
    pub path: LoadPath,
    /// Bytes walked.
    pub footprint: Bytes,
    /// Distance of neighbouring elements.
    pub stride: Bytes,
    /// Order of the visit.
    pub order: &'e Order,
    /// Seed of the order.
    pub seed: u64,
}

/// Longest chain that is built: 2^26 elements, half a gigabyte of order on the host.
const MAX_LAP: u64 = 1 << 26;

impl Chain<'_> {
    /// Elements in one lap.
    pub fn lap(self) -> u64 {
        let strides = self.footprint.0.checked_div(self.stride.0).unwrap_or(0);
        match self.order {
            Order::Paged { page, lines } => (self.footprint.0 / page.0.max(1)).saturating_mul(u64::from(*lines)),
            Order::Listed { offsets } => offsets.len() as u64,
            Order::Pages { lines, .. } => strides.saturating_mul(2 * u64::from(*lines)),
            Order::Window { first, .. } => strides.saturating_sub(*first).saturating_mul(2),
            Order::Sequential | Order::Random | Order::Scattered { .. } => strides,
        }
    }

    /// What makes the chain impossible, if anything does.
    pub fn defect(self) -> Option<String> {
        let Chain { path, footprint, stride, order, .. } = self;
        let element = path.element();
        if stride < element || !stride.0.is_multiple_of(element.0) {
            return Some(format!("stride {stride} is no multiple of the {element} element"));
        }
        if let Order::Paged { page, lines } = *order
            && (page > footprint
                || page < stride
                || !page.0.is_multiple_of(stride.0)
                || u64::from(lines) > page / stride)
        {
            return Some(format!("a page of {page} has no {lines} elements at stride {stride}"));
        }
        if let Order::Paged { page, .. } = *order
            && page / stride > MAX_LAP
        {
            return Some(format!("a page of {page} has more than {MAX_LAP} places at stride {stride}"));
        }
        if self.lap() == 0 {
            return Some(format!("footprint {footprint} holds no element"));
        }
        if self.lap() > MAX_LAP {
            return Some(format!("a lap of {} loads is beyond the {MAX_LAP} allowed", self.lap()));
        }
        match order {
            Order::Scattered { granule } if *granule < element || !stride.0.is_multiple_of(granule.0) => {
                Some(format!("granule {granule} does not divide stride {stride}"))
            }
            Order::Pages { granule, lines, .. }
                if *granule < element * 2
                    || !stride.0.is_multiple_of(granule.0)
                    || *lines == 0
                    || u64::from(*lines) > pages_span(stride) / granule.0 =>
            {
                Some(format!("stride {stride} has no {lines} lines at multiples of {granule} for pairs"))
            }
            Order::Window { granule, .. } if *granule < element * 2 || !stride.0.is_multiple_of(granule.0) => {
                Some(format!("stride {stride} has no line at multiples of {granule} for a pair"))
            }
            Order::Listed { offsets } => {
                let outside = |o: &&u64| **o > footprint.0.saturating_sub(element.0) || !o.is_multiple_of(element.0);
                if let Some(offset) = offsets.iter().find(outside) {
                    return Some(format!("offset {offset} is no {element} element of a footprint of {footprint}"));
                }
                let different = offsets.iter().collect::<HashSet<_>>().len();
                (different < offsets.len())
                    .then(|| "an element is listed twice: a chain goes on from each element in one way".into())
            }
            _ => None,
        }
    }
}

/// Bytes of each stride in which [`Order::Pages`] places its lines. They cross no boundary of a page, whose size is a power of
/// two: at one and a half pages they stay within half of one.
pub fn pages_span(stride: Bytes) -> u64 {
    (1u64 << stride.0.trailing_zeros().min(63)).min(LARGE_PAGE.0)
}

/// The driver's large page: long chains begin at a multiple of it.
pub const LARGE_PAGE: Bytes = Bytes::mib(2);
