//! Which experiments there may be: one may come from a file of anyone's making.

use super::{BANK_WIDTHS, Experiment, Kernel, LoadPath, Order, Prepare, WARP, WARP_ACCESSES, Walk, pages_span};
use crate::pattern::{CONSTANT_MEMORY, Pattern};
use crate::units::Bytes;

/// Most rounds of a pattern in one launch.
const MOST_ROUNDS: u32 = 64;
/// Most operations of a thread in one launch, all rounds together: at a microsecond each, which only a barrier of the grid takes,
/// they stay under a display's watchdog.
const MOST_WORK: u64 = 1 << 20;
/// Longest chain that is built: 2^26 elements, half a gigabyte of order on the host.
const MAX_LAP: u64 = 1 << 26;

impl Experiment {
    /// What makes the experiment impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        if let Order::Pattern(pattern) = self.order {
            return self.pattern_defect(pattern);
        }
        if self.kernel == Kernel::Imported || matches!(self.order, Order::Imported(_)) {
            return Some(
                "another tool timed it, by a kernel that is not here: it can be analysed and not be run again".into(),
            );
        }
        if self.kernel == Kernel::Clock {
            return None;
        }
        if self.kernel == Kernel::Pattern {
            return Some("threads at work need a pattern".into());
        }
        if let Order::Lanes { offsets, bank_width } = &self.order {
            return self.lanes_defect(offsets, *bank_width);
        }
        if self.kernel == Kernel::Warp {
            return Some("a warp's loads need an element for each lane".into());
        }
        let element = self.path.element();
        if self.stride < element || !self.stride.0.is_multiple_of(element.0) {
            return Some(format!("stride {} is no multiple of the {element} element", self.stride));
        }
        if let Order::Paged { page, lines } = self.order
            && (page > self.footprint
                || page < self.stride
                || !page.0.is_multiple_of(self.stride.0)
                || u64::from(lines) > page / self.stride)
        {
            return Some(format!("a page of {page} has no {lines} elements at stride {}", self.stride));
        }
        if self.lap() == 0 {
            return Some(format!("footprint {} holds no element", self.footprint));
        }
        if self.lap() > MAX_LAP {
            return Some(format!("a lap of {} loads is beyond the {MAX_LAP} allowed", self.lap()));
        }
        if let Order::Scattered { granule } = self.order
            && (granule < element || !self.stride.0.is_multiple_of(granule.0))
        {
            return Some(format!("granule {granule} does not divide stride {}", self.stride));
        }
        if let Order::Pages { granule, lines, .. } = self.order
            && (granule < element * 2
                || !self.stride.0.is_multiple_of(granule.0)
                || lines == 0
                || u64::from(lines) > pages_span(self.stride) / granule.0)
        {
            return Some(format!("stride {} has no {lines} lines at multiples of {granule} for pairs", self.stride));
        }
        if let Order::Listed { offsets } = &self.order {
            let outside = |o: &&u64| **o > self.footprint.0.saturating_sub(element.0) || !o.is_multiple_of(element.0);
            if let Some(offset) = offsets.iter().find(outside) {
                return Some(format!("offset {offset} is no {element} element of a footprint of {}", self.footprint));
            }
            if offsets.iter().collect::<std::collections::HashSet<_>>().len() < offsets.len() {
                return Some("an element is listed twice: a chain goes on from each element in one way".into());
            }
        }
        if self.kernel == Kernel::PerTwoLoads && self.walk == Walk::Resident {
            return Some("pairs of loads are timed straight on: a window of them need not fit a lap".into());
        }
        if (self.kernel == Kernel::Disturb) != self.partner.is_some() {
            return Some("a disturbance, and only a disturbance, has a partner".into());
        }
        None
    }

    /// [`Experiment::defect`] of threads at work by a pattern.
    fn pattern_defect(&self, pattern: Pattern) -> Option<String> {
        use LoadPath::{Constant, GlobalCa, GlobalCg, GlobalNc, Shared, Texture};
        let paths: &[LoadPath] = match pattern {
            Pattern::Pairs { .. } => &[Shared, Texture, Constant, GlobalCa, GlobalCg],
            Pattern::Reads { .. } => &[GlobalCa, GlobalCg, GlobalNc],
            Pattern::Constants { .. } | Pattern::Operands { .. } => &[Constant],
            Pattern::Square { .. } => &[Texture],
            Pattern::Barriers { .. } | Pattern::Sums { .. } | Pattern::Histogram { .. } | Pattern::Intensity { .. } => {
                &[GlobalCa]
            }
        };
        if self.kernel != Kernel::Pattern {
            return Some("a pattern is no chain that could be chased".into());
        }
        if !paths.contains(&self.path) {
            return Some(format!("this pattern has no loads by {}", self.path));
        }
        if !(1..=MOST_ROUNDS).contains(&self.rounds) {
            return Some(format!("{} rounds: a launch has 1 to {MOST_ROUNDS}", self.rounds));
        }
        if let Prepare::Fill { passes: passes @ (0 | MOST_ROUNDS..) } = self.prepare {
            return Some(format!("{passes} passes before the launch that counts: there are 1 to {}", MOST_ROUNDS - 1));
        }
        if u64::from(pattern.operations()) * u64::from(self.rounds) > MOST_WORK {
            return Some(format!(
                "{} operations in each of {} rounds: a launch has {MOST_WORK} at most",
                pattern.operations(),
                self.rounds
            ));
        }
        if let Pattern::Pairs { large, .. } = pattern
            && self.path == Constant
            && large > CONSTANT_MEMORY
        {
            return Some(format!("pairs {large} apart: a module has {CONSTANT_MEMORY} of constant memory"));
        }
        pattern.defect()
    }

    /// [`Experiment::defect`] of loads by all lanes of a warp.
    fn lanes_defect(&self, offsets: &[u64], bank_width: Option<Bytes>) -> Option<String> {
        let width = self.stride;
        if self.kernel != Kernel::Warp || self.path != LoadPath::Shared {
            return Some("elements of lanes are loaded by the warp kernel, from shared memory".into());
        }
        if self.partner.is_some() {
            return Some("a disturbance, and only a disturbance, has a partner".into());
        }
        if !WARP_ACCESSES.contains(&width) {
            return Some(format!("a lane loads 4, 8 or 16 B at once, not {width}"));
        }
        if bank_width.is_some_and(|asked| !BANK_WIDTHS.contains(&asked)) {
            return Some("a bank that can be asked for is 4 or 8 B wide".into());
        }
        if offsets.len() != WARP {
            return Some(format!("{} elements for the {WARP} lanes of a warp", offsets.len()));
        }
        let outside = |o: &&u64| **o > self.footprint.0.saturating_sub(width.0) || !o.is_multiple_of(width.0);
        offsets
            .iter()
            .find(outside)
            .map(|offset| format!("offset {offset} is no {width} element of a footprint of {}", self.footprint))
    }
}
