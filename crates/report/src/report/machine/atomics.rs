//! What atomics cost on a machine, by the additions a second that were found. A machine file has whole cycles.

use super::found::{Found, RATES, Sourced};
use super::table::Table;
use strata_model::attribute::Attribute;
use strata_model::experiment::WARP;
use strata_model::topology::ElementName;

/// Most cycles of a request or a lane that a machine file may have.
const MOST_CYCLES: f64 = 1000.0;

/// Additions a cycle, and the source of that.
type Rate = Option<(f64, String)>;

/// Keys of the pipeline: atomics on global memory.
pub(super) fn global(found: &Found, cycles_a_second: f64, table: &mut Table) {
    let rate = |attribute| rate(found, ElementName::L2, attribute, cycles_a_second);
    if let Some((a_cycle, source)) = rate(Attribute::AtomicThroughput).filter(|(a_cycle, _)| RATES.contains(a_cycle)) {
        table.put("atomic_rate", Sourced::new((a_cycle * 100.0).round() / 100.0, source));
    }
    let on_address = rate(Attribute::AtomicThroughputOneAddress);
    waits("atomic_line", 0, rate(Attribute::AtomicThroughputOneLine), on_address, table);
}

/// Keys of shared memory: atomics there.
pub(super) fn shared(found: &Found, table: &mut Table) {
    let rate = |attribute| rate(found, ElementName::Shared, attribute, 1.0);
    let on_address = rate(Attribute::AtomicThroughputOneAddressPerSm);
    waits("atomic_request", 1, rate(Attribute::AtomicThroughputPerSm), on_address, table);
}

/// What was found of an attribute, over the cycles of the time that it is in.
fn rate(found: &Found, element: ElementName, attribute: Attribute, cycles: f64) -> Rate {
    let finding = found.known(element, attribute)?;
    Some((finding.number()? / cycles, found.source(element, &[attribute], finding)))
}

/// Puts the cycles of a request of a warp, at least so many, and those of each further lane on one word.
fn waits(key: &str, least: u64, of_request: Rate, on_address: Rate, table: &mut Table) {
    let Some((a_cycle, source)) = of_request else { return };
    let Some(request) = request(a_cycle).map(|cycles| cycles.max(least)) else { return };
    table.put(key, Sourced::new(request, source));
    if let Some((a_cycle, source)) = on_address
        && let Some(lane) = lane(a_cycle, request)
    {
        table.put("atomic", Sourced::new(lane, source));
    }
}

/// Whole cycles of a request of a warp, by additions a cycle.
fn request(a_cycle: f64) -> Option<u64> {
    whole(WARP as f64 / a_cycle)
}

/// Whole cycles of each further lane on one word, by additions a cycle there and the cycles of a request.
fn lane(a_cycle: f64, request: u64) -> Option<u64> {
    whole((WARP as f64 / a_cycle - request as f64).max(0.0) / (WARP - 1) as f64)
}

fn whole(cycles: f64) -> Option<u64> {
    Some(cycles.round()).filter(|cycles| *cycles <= MOST_CYCLES).map(|cycles| cycles as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_follow_from_additions_a_cycle() {
        // 18 cycles of a line, and one of each further lane.
        assert_eq!((request(32.0 / 18.2), lane(32.0 / 50.0, 18)), (Some(18), Some(1)));
        assert_eq!((lane(100.0, 18), request(0.001)), (Some(0), None));
    }
}
