//! Line size: the unit in which a cache allocates, measured separately from the unit in which it fetches.
//!
//! A footprint of one and a half times the capacity is cut into chunks of g bytes, of which one element each is visited,
//! at a random place in the chunk, in random order. While g is at most a line, every line of the footprint is touched and
//! the cache overflows. Once g is two lines, only half of them are, they fit, and the misses drop. The random place keeps
//! the sets evenly filled whatever the index function. Where there are few ways, some places crowd a set and others do not,
//! so several draws are averaged. (The thesis takes the distance between misses of an overfull
//! sequential lap, section 4.3, which gives the sector of a sectored cache, not its line.)
//!
//! Fails for caches so unevenly filled that misses neither stay nor drop clearly; then the answer is unknown.

use super::capacity::{Rough, Search};
use super::{Gap, Measurement, Notebook, Unknown};
use strata_model::experiment::{Chase, Order, Place, Timing};
use strata_model::units::Bytes;

/// Chunks are up to this many sectors.
const LARGEST: u64 = 32;
/// Chains must be so many times as long as what a cache before this one may keep, or misses drop because it keeps them.
const BEYOND_BEFORE: u64 = 2;
/// Largest line that is tried.
const LARGEST_LINE: Bytes = Bytes(1024);
/// Footprints in terms of the usable capacity: three halves, and more where that does not crowd the cache.
const FOOTPRINTS: [(u64, u64); 3] = [(3, 2), (9, 4), (27, 8)];
/// A drop at so few chunks is chance as easily as it is the line: a footprint of so many times the capacity must show it, too.
const FEW: u64 = 8;
const SECOND_FOOTPRINT: (u64, u64) = (7, 4);
/// The footprint where three halves of the capacity leave most sets room: of chunks of two lines a cache holds all of it.
const CROWDING: (u64, u64) = (2, 1);
/// A footprint of fewer than this many times the capacity may fit in most draws.
const FITS: (u64, u64) = (5, 4);
/// A cache is crowded if this share of the loads misses at some chunk size.
pub(super) const CROWDED: f64 = 0.3;
/// After the drop misses must stay below this share of what they were before it.
const DROPPED: f64 = 0.45;
/// Up to the line, each doubling of the chunk must keep at least this share of the misses. Between the two nothing is said.
const KEPT: f64 = 0.55;
/// The same for the L2, which is sampled in one draw: where each set has one way, a doubling beyond the line keeps half of the
/// misses, and by chance up to six tenths.
pub(super) const KEPT_BY_L2: f64 = 0.65;
/// With chunks of two lines they must be no more than this share of what they are with one: in a cache of few ways misses
/// fade slowly, and the last chunk before they have dropped may be two lines.
const STEEP: f64 = 0.40;
/// Where each set has one way, misses do not end beyond the line but halve with each doubling of the chunk: two steps
/// to a share in this range.
const HALVED: (f64, f64) = (0.38, 0.62);
/// Of one and a half times the lines of a cache of one way two thirds share their set with another and miss; a share outside
/// this range is of no such cache.
const ONE_WAY: (f64, f64) = (0.5, 0.75);
/// Before such steps each doubling must keep at least this share of the misses.
const LEVEL: f64 = 0.85;
/// Where fewer loads than this share miss, only some sets overflow. Their misses fade before chunks are as long as a line, so
/// that each doubling up to the line must keep [`LEVEL`] of them.
const UNEVEN: f64 = 0.5;
/// Where only some sets overflow and a doubling leaves more than the first share, but the next one less than the second share of
/// that, the misses end there: either chunk may be the line.
const NOT_YET: (f64, f64) = (0.25, 0.1);
/// Fewest draws of the random places.
const DRAWS: u64 = 4;
/// Most draws of the random places.
const MOST_DRAWS: u64 = 32;
/// Small caches are drawn for until so many loads have been timed at the smallest chunk: of a few dozen lines, one draw
/// says little.
const DRAWN_LOADS: u64 = 4096;
/// The share of misses at a chunk size must lie so many standard errors (over the draws) on its side of a threshold.
const ERRORS: f64 = 2.0;
/// Fewer misses than this before the drop mean that nothing overflows.
const OVERFULL: f64 = 0.1;
/// Loads timed of each chunk size.
const LOADS: u32 = 4096;

/// The line, from the drop in misses.
///
/// # Errors
///
/// An unknown, if the cache does not overflow or the misses never drop.
pub fn line_size(notebook: &Notebook, search: &Search, rough: &Rough) -> Result<Bytes, Gap> {
    let mut last = Unknown::because("no footprint beyond the capacity can be walked");
    for times in FOOTPRINTS {
        let footprint = beyond(search, rough, times)?;
        let (line, most) = at(notebook, search, rough, footprint)?;
        let crowded = most >= CROWDED;
        match line {
            Ok(line) if crowded && (footprint / (line * 2)) <= FEW => return again(notebook, search, rough, line),
            Ok(line) if crowded => return Ok(line),
            Ok(_) => {
                last = Unknown::because(format!("at {footprint} only {:.0} % of the loads miss", most * 100.0));
            }
            Err(Unclear { uneven: true, .. }) if crowded => return crowd(notebook, search, rough),
            Err(unclear) if crowded => return Err(unclear.into()),
            Err(unclear) => last = unclear.why,
        }
    }
    Err(last.into())
}

/// A line of a cache of few lines, if a second footprint shows it, too.
fn again(notebook: &Notebook, search: &Search, rough: &Rough, line: Bytes) -> Result<Bytes, Gap> {
    let footprint = beyond(search, rough, SECOND_FOOTPRINT)?;
    match at(notebook, search, rough, footprint)?.0 {
        Ok(same) if same == line => Ok(line),
        Ok(other) => Gap::unknown(format!("the cache holds few lines, and two footprints show {line} and {other}")),
        Err(unclear) => Err(unclear.into()),
    }
}

/// The line of a cache of which some sets only overflow, at a footprint that more of them do not hold.
fn crowd(notebook: &Notebook, search: &Search, rough: &Rough) -> Result<Bytes, Gap> {
    Ok(at(notebook, search, rough, beyond(search, rough, CROWDING)?)?.0?)
}

/// A footprint of so many times the capacity.
fn beyond(search: &Search, rough: &Rough, (over, under): (u64, u64)) -> Result<Bytes, Gap> {
    let footprint = Bytes(rough.low.0 * over / under);
    if footprint > search.limit {
        return Gap::unknown(format!(
            "{} times the capacity, {footprint}, is more than the {} that can be walked",
            over as f64 / under as f64,
            search.limit
        ));
    }
    Ok(footprint)
}

/// What one footprint says of the line, and the largest share of misses at any chunk size. A cache with a hashed index has
/// room left long after its first set is full.
fn at(
    notebook: &Notebook,
    search: &Search,
    rough: &Rough,
    footprint: Bytes,
) -> Result<(Result<Bytes, Unclear>, f64), Gap> {
    let (chunks, shares) = shares(notebook, search, rough, footprint)?;
    let most = shares.iter().map(|share| share.mean).fold(0.0, f64::max);
    Ok((decide(&chunks, &shares, KEPT), most))
}

/// Misses by chunk size at one footprint.
fn shares(
    notebook: &Notebook,
    search: &Search,
    rough: &Rough,
    footprint: Bytes,
) -> Result<(Vec<Bytes>, Vec<Share>), Gap> {
    let chunks: Vec<Bytes> = std::iter::successors(Some(search.sector), |c| Some(*c * 2))
        .take_while(|&c| c <= search.sector * LARGEST && c <= LARGEST_LINE)
        .take_while(|&c| footprint / c >= search.before * BEYOND_BEFORE)
        .collect();
    if chunks.len() < 2 {
        return Gap::unknown("the cache level before this one holds too much of a chain with gaps");
    }
    let wanted = DRAWN_LOADS.div_ceil((footprint / search.sector).max(1)).clamp(DRAWS, MOST_DRAWS);
    let draws = (0..wanted).flat_map(|draw| chunks.iter().map(move |&chunk| (draw, chunk)));
    let chases: Vec<Chase> = draws
        .map(|(draw, chunk)| Chase {
            order: Order::Scattered { granule: search.path.element() },
            seed: notebook.seed(3 + 1000 * draw),
            warm_laps: 2,
            timing: Timing::resident(((footprint / chunk) as u32).min(LOADS)),
            place: Place::carveout(search.carveout),
            ..Chase::each_load(search.path, of_chunks(footprint, chunk, rough.high), chunk)
        })
        .collect();
    let answers = notebook.read_each(&chases)?;
    // A recording may hold fewer draws.
    let draws: Vec<Vec<Measurement<Chase>>> = answers
        .chunks_exact(chunks.len())
        .filter_map(|draw| draw.iter().cloned().collect::<Result<_, _>>().ok())
        .collect();
    if draws.is_empty() {
        let failure = answers.into_iter().find_map(Result::err);
        return Err(failure.map_or_else(|| Unknown::because("no chain was walked").into(), Gap::from));
    }
    let share = |s: &Measurement<Chase>| (rough.levels.miss_share(s.latencies()) - rough.spikes.share()).max(0.0);
    let shares = (0..chunks.len()).map(|i| Share::of(draws.iter().map(|draw| share(&draw[i])))).collect();
    Ok((chunks, shares))
}

/// A footprint of whole chunks that still overflows a cache of which `overflows` is more than it holds. Rounded down, a footprint of
/// few chunks may fit: then the misses drop although the chunk is no longer than a line.
fn of_chunks(footprint: Bytes, chunk: Bytes, overflows: Bytes) -> Bytes {
    let down = footprint.round_down(chunk);
    if down.0 * FITS.1 < overflows.0 * FITS.0 { footprint.round_up(chunk) } else { down }
}

/// Why misses by chunk size do not show the line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unclear {
    why: Unknown,
    /// Only some sets overflow: a larger footprint may show it.
    uneven: bool,
}

impl From<Unclear> for Gap {
    fn from(unclear: Unclear) -> Self {
        unclear.why.into()
    }
}

/// Share of misses over several draws.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    mean: f64,
    /// Standard error of the mean.
    error: f64,
}

impl Share {
    fn of(draws: impl ExactSizeIterator<Item = f64> + Clone) -> Self {
        let n = draws.len() as f64;
        let mean = draws.clone().sum::<f64>() / n;
        let squares: f64 = draws.map(|share| (share - mean).powi(2)).sum();
        Share { mean, error: if n > 1.0 { (squares / (n - 1.0) / n).sqrt() } else { 0.0 } }
    }

    /// A share that is known from a random sample of so many loads.
    pub fn sampled(mean: f64, loads: u64) -> Self {
        Share { mean, error: (mean * (1.0 - mean) / loads as f64).max(0.0).sqrt() }
    }

    /// The share.
    pub fn mean(self) -> f64 {
        self.mean
    }

    fn low(self) -> f64 {
        self.mean - ERRORS * self.error
    }

    fn high(self) -> f64 {
        self.mean + ERRORS * self.error
    }
}

/// The largest chunk before the misses drop and stay down. Each chunk size is held against the one before: how many misses
/// small chunks have depends on the policy and on whether a line is fetched whole. Up to the line each doubling keeps the share
/// `kept` of the misses.
pub(super) fn decide(chunks: &[Bytes], shares: &[Share], kept: f64) -> Result<Bytes, Unclear> {
    let falls = |i: usize| shares.get(i + 1).is_some_and(|next| next.high() <= STEEP * shares[i].mean);
    let halves = |i: usize| {
        shares
            .get(i + 1)
            .is_some_and(|next| next.high() <= HALVED.1 * shares[i].mean && next.mean >= HALVED.0 * shares[i].mean)
    };
    let level = |i: usize| shares[i + 1].low() >= LEVEL * shares[i].mean;
    let one_way =
        |i: usize| halves(i) && halves(i + 1) && (0..i).all(level) && (ONE_WAY.0..=ONE_WAY.1).contains(&shares[i].mean);
    let drop = (0..shares.len()).find(|&i| falls(i) || one_way(i));
    let Some(last) = drop.filter(|&i| shares[i].mean >= OVERFULL) else {
        let most = shares.iter().map(|share| share.mean).fold(0.0, f64::max);
        let why = Unknown::because(format!(
            "the miss rate does not drop clearly at any chunk size up to {}; it is at most {:.0} %",
            chunks[chunks.len() - 1],
            most * 100.0
        ));
        return Err(Unclear { why, uneven: false });
    };
    let uneven = shares[last].mean < UNEVEN;
    let fades =
        |i: usize| shares[i + 1].low() < kept * shares[i].mean || uneven && shares[i + 1].mean < LEVEL * shares[i].mean;
    let faded = (0..last).find(|&i| fades(i));
    let not_yet = |&i: &usize| {
        let (next, after) = (shares[i + 1].mean, shares.get(i + 2).map_or(0.0, |share| share.mean));
        uneven && next > NOT_YET.0 * shares[i].mean && after < NOT_YET.1 * next
    };
    let after = if one_way(last) { HALVED.1 } else { DROPPED };
    let returned = (last + 1..shares.len()).find(|&i| shares[i].mean > after * shares[last].mean);
    match faded.or(Some(last).filter(not_yet)).map(|i| i + 1).or(returned) {
        Some(at) => {
            let why = Unknown::because(format!(
                "the miss rate neither stays nor drops clearly at chunks of {}: {:.0} % of the loads miss",
                chunks[at],
                shares[at].mean * 100.0
            ));
            Err(Unclear { why, uneven })
        }
        None => Ok(chunks[last]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_the_last_chunk_that_still_overflows() {
        let chunks = [32, 64, 128, 256, 512].map(Bytes);
        let decide_by = |kept, means: &[f64]| {
            decide(&chunks, &means.iter().map(|&mean| Share { mean, error: 0.0 }).collect::<Vec<_>>(), kept)
        };
        let decide = |means: &[f64]| decide_by(KEPT, means);
        assert_eq!(decide(&[0.62, 0.61, 0.60, 0.05, 0.0]), Ok(Bytes(128)));
        assert_eq!(decide(&[1.0, 0.3, 0.1, 0.0, 0.0]), Ok(Bytes(32)));
        assert!(decide(&[0.9, 0.9, 0.9, 0.9, 0.9]).is_err());
        assert!(decide(&[0.9, 0.9, 0.6, 0.3, 0.0]).is_err());
        assert_eq!(decide(&[0.92, 0.77, 1.0, 0.14, 0.0]), Ok(Bytes(128)));
        assert!(decide(&[0.9, 0.2, 0.9, 0.2, 0.0]).is_err());
        // Not one way, of which a third would stay: sectors that are fetched one by one.
        assert!(decide(&[0.88, 0.45, 0.23, 0.01, 0.0]).is_err());
        // One way a set.
        assert_eq!(decide(&[0.66, 0.66, 0.33, 0.17, 0.08]), Ok(Bytes(64)));
        // The same with fewer misses of the large chunks than they should have, in a sample of 768 of them.
        assert!(decide_by(KEPT_BY_L2, &[0.68, 0.41, 0.11, 0.07, 0.04]).is_err());
        assert!(decide(&[0.01, 0.0, 0.0, 0.0, 0.0]).is_err());
        // Hashed caches of which only some sets overflow. Their lines have 256, 128 and 128 B.
        assert!(decide(&[0.44, 0.15, 0.0, 0.0, 0.0]).is_err());
        assert!(decide(&[0.40, 0.44, 0.40, 0.30, 0.08]).is_err());
        assert!(decide_by(KEPT_BY_L2, &[0.22, 0.11, 0.05, 0.0, 0.0]).is_err());
        // The same with all sets full.
        assert_eq!(decide(&[0.91, 0.26, 0.01, 0.0, 0.0]), Ok(Bytes(32)));
    }

    #[test]
    fn whole_chunks_still_overflow() {
        // 1.5 times 2 KiB, of chunks of 1 KiB.
        assert_eq!(of_chunks(Bytes(3072), Bytes(1024), Bytes(2112)), Bytes(3072));
        // 1.5 times 1008 B would be two chunks of 512 B, which fit a cache of 1 KiB.
        assert_eq!(of_chunks(Bytes(1512), Bytes(512), Bytes(1040)), Bytes(1536));
    }

    #[test]
    fn draws_that_differ_decide_nothing() {
        let chunks = [32, 64, 128].map(Bytes);
        let shares = |error| [0.9, 0.55, 0.1].map(|mean| Share { mean, error });
        assert_eq!(decide(&chunks, &shares(0.005), KEPT), Ok(Bytes(64)));
        assert!(decide(&chunks, &shares(0.03), KEPT).is_err());
    }
}
