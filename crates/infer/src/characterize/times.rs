//! The costs in nanoseconds, by the clock that was measured in the run (Fuchs et al., section 3.3).

use crate::probe::clock::{self, Held};
use strata_model::characterization::Part;

/// The unit of what is also a time.
const CYCLES: &str = "cycles";

/// Adds to a part what its findings and points in cycles are in nanoseconds. Without a clock the findings are unknown.
pub(super) fn add(part: &mut Part, clock: Option<&Held>) {
    let costs = part.findings.iter().filter(|(_, finding)| finding.unit.as_deref() == Some(CYCLES));
    part.times = costs.map(|(name, cycles)| (name.clone(), clock::in_ns(cycles, clock).any())).collect();
    let Some(clock) = clock else { return };
    for figure in part.figures.iter_mut().filter(|figure| figure.y.unit.as_deref() == Some(CYCLES)) {
        for point in figure.lines.iter_mut().flat_map(|line| &mut line.points) {
            point.ns = Some(clock.time(point.value, (point.low, point.high)));
        }
    }
}
