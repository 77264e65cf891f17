//! How the memory of an SM can be divided: what hints give, and which division a launch has.

use super::super::{Gap, Notebook, ask_each};
use super::fit::{CLEAR, Cache, Range, SMALL, Shape, missing};
use strata_model::units::Bytes;

/// Shared memory is divided in multiples of this: the greatest common divisor of all capacities in the CUDA programming guide.
const STEP: Bytes = Bytes::kib(4);

/// One way to divide the memory of an SM, and the L1 that is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    /// Launched with the smallest hint that gives it. Where it is unknown what it sets aside, with the one it was measured with.
    pub shape: Shape,
    /// The hint that it was measured with, in per cent.
    measured: u8,
    /// The largest hint that gives it, in per cent.
    pub last: u8,
    /// The L1, where it was measured here.
    pub knee: Range,
    /// Shared memory that is set aside, where the hints tell it.
    pub configured: Option<Bytes>,
}

/// Hints that are tried, in per cent.
fn hints(notebook: &Notebook) -> impl Iterator<Item = u8> {
    (0..=100).step_by(notebook.effort().choose(20, 5, 5))
}

/// The divisions of the memory, by descending size of the L1.
pub(super) fn divisions(notebook: &Notebook, cache: &Cache<'_>) -> Result<Vec<Division>, Gap> {
    let threads = notebook.facts().max_threads_per_block;
    let shapes: Vec<Shape> =
        hints(notebook).map(|hint| Shape { threads, shared: Bytes(0), carveout: Some(hint) }).collect();
    let knees = ask_each(shapes.iter().map(|shape| cache.knee(notebook, *shape)))?;
    let mut found: Vec<Division> = Vec::new();
    let mut failed = None;
    for (hint, (shape, knee)) in hints(notebook).zip(shapes.into_iter().zip(knees)) {
        let knee = match knee {
            Ok(knee) => knee,
            Err(unknown) => {
                failed.get_or_insert(unknown);
                continue;
            }
        };
        // The same division gives the same size, but for a little; two are at least a step apart.
        let near = Bytes(STEP.0 / 2);
        match found.iter_mut().find(|other| {
            let is_in = |one: Bytes, range: Range| range.low <= one + near && one <= range.high + near;
            is_in(knee.value, other.knee) && is_in(other.knee.value, knee)
        }) {
            Some(same) => {
                same.knee.cover(knee);
                same.last = hint;
            }
            None => found.push(Division { shape, measured: hint, last: hint, knee, configured: None }),
        }
    }
    if let (true, Some(unknown)) = (found.is_empty(), failed) {
        return Err(unknown.into());
    }
    let falls = |pair: &[Division]| {
        pair[1].knee.high + cache.stride * 4 <= pair[0].knee.low && pair[1].shape.carveout > Some(pair[0].last)
    };
    if !found.windows(2).all(falls) {
        return Gap::unknown("the intervals of neighbouring sizes overlap, so the carveouts cannot be told apart");
    }
    configure(notebook, cache, &mut found)?;
    Ok(found)
}

/// Finds how much each division sets aside. A hint asks for at least so many per cent of all shared memory, so what is set
/// aside lies between the largest hint that gives a division and the smallest that gives the next, which are searched for.
fn configure(notebook: &Notebook, cache: &Cache<'_>, divisions: &mut [Division]) -> Result<(), Gap> {
    let total = notebook.facts().shared_per_multiprocessor;
    let mut unclear = vec![false; divisions.len()];
    loop {
        let between = |at: usize, divisions: &[Division]| {
            let (last, next) = (divisions[at].last, divisions.get(at + 1)?.shape.carveout?);
            (last + 1 < next && !unclear[at]).then(|| (at, u8::midpoint(last, next)))
        };
        let asked: Vec<(usize, u8)> = (0..divisions.len()).filter_map(|at| between(at, divisions)).collect();
        if asked.is_empty() {
            break;
        }
        let shape = |hint: u8| Shape { carveout: Some(hint), ..divisions[0].shape };
        let matched = ask_each(asked.iter().map(|&(_, hint)| matching(notebook, cache, divisions, shape(hint))))?;
        for ((at, hint), found) in asked.into_iter().zip(matched) {
            match found {
                Ok(same) if same == at => divisions[at].last = hint,
                Ok(next) if next == at + 1 => divisions[next].shape.carveout = Some(hint),
                _ => unclear[at] = true,
            }
        }
    }
    // With one division the hints say nothing.
    if divisions.len() == 1 {
        return Ok(());
    }
    for at in 0..divisions.len() {
        let Division { last, knee, .. } = divisions[at];
        let least = (u64::from(last) * total).div_ceil(100);
        let beyond = match divisions.get(at + 1) {
            Some(next) if next.shape.carveout == Some(last + 1) => (u64::from(last + 1) * total).div_ceil(100),
            Some(_) => continue,
            None => total + 1,
        };
        // Two divisions that look like one have no one size.
        let is_one = knee.high - knee.low < STEP && !unclear[at];
        let multiple = least.next_multiple_of(STEP.0);
        let only = multiple < beyond && multiple + STEP.0 >= beyond;
        divisions[at].configured = (is_one && only).then_some(Bytes(multiple));
    }
    let agreeing = consistent(divisions);
    // Of the others a further division between two hints may have been taken for this one.
    for division in divisions.iter_mut().filter(|division| !agreeing.contains(&sum(division))) {
        division.configured = None;
        division.shape.carveout = Some(division.measured);
    }
    Ok(())
}

/// L1 and shared memory of a division together, if both are known.
fn sum(division: &Division) -> Option<u64> {
    Some(division.knee.value.0 + division.configured?.0)
}

/// The sums that agree with at least one and at least half of the other ones. L1 and shared memory divide one memory, so all sums
/// are nearly equal. One that is not comes from a further division between two hints, which was taken for this one.
fn consistent(divisions: &[Division]) -> Vec<Option<u64>> {
    let sums: Vec<u64> = divisions.iter().filter_map(sum).collect();
    let agree = |one: &u64| sums.iter().filter(|other| other.abs_diff(*one) < STEP.0).count() - 1;
    let confirmed = |one: &&u64| agree(one) > 0 && 2 * agree(one) >= sums.len() - 1;
    sums.iter().filter(confirmed).map(|one| Some(*one)).collect()
}

/// For each division the footprint that its L1 must hold and the one that it cannot, by which a launch is matched with it. A
/// division that no hint showed may lie between them, so this is what is known of the launch's L1.
pub(super) fn tried(cache: &Cache<'_>, divisions: &[Division]) -> Vec<(Bytes, Bytes)> {
    let quarter = |from: Bytes, to: Bytes| Bytes((3 * from.0 + to.0) / 4).round_down(cache.stride);
    let ends = divisions.iter().enumerate().map(|(at, division)| {
        let below = divisions.get(at + 1).map_or(SMALL, |next| next.knee.high);
        let above = at.checked_sub(1).map_or(cache.top(), |next| divisions[next].knee.low);
        (quarter(division.knee.low, below), quarter(division.knee.high, above))
    });
    ends.collect()
}

/// The number of the division that a launch has, by footprints between the sizes of neighbours: a quarter of the way from each,
/// so that a place in memory that holds a little less does not matter.
pub(super) fn matching(
    notebook: &Notebook,
    cache: &Cache<'_>,
    divisions: &[Division],
    shape: Shape,
) -> Result<usize, Gap> {
    // From the smallest L1 on: a footprint that it must hold, and one that it cannot.
    let ends: Vec<(u64, u64)> =
        tried(cache, divisions).into_iter().rev().map(|(fits, misses)| (fits.0, misses.0)).collect();
    let footprints: Vec<u64> = ends.iter().flat_map(|&(fits, misses)| [fits, misses]).collect();
    let (shares, unseen) = cache.shares(notebook, shape, &footprints)?;
    let shown = missing(&shares, unseen);
    if !shown.is_sorted_by_key(|(_, misses)| *misses) {
        return Gap::unknown("a larger footprint fits where a smaller one does not");
    }
    // Smaller launches are told apart by whether this footprint misses, so it must do so clearly.
    if shares.iter().find(|(_, share)| *share > unseen).is_some_and(|(_, share)| *share <= CLEAR * unseen) {
        return Gap::unknown("so few loads of a footprint miss that it may be noise");
    }
    // How many fit: of each division that is not larger than the launch's one footprint, and of smaller ones both.
    let fit = shown.iter().filter(|(_, misses)| !misses).count();
    if fit % 2 == 0 {
        return Gap::unknown("its L1 is none that a hint gives, or noise hides which");
    }
    Ok(divisions.len() - 1 - fit / 2)
}
