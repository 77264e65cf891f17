//! What is fetched for a load that misses the L2: it shows beside it. The first bytes of blocks are loaded, and then other bytes of each
//! block are.

use super::{ALL, Asked, FEWEST_HELD, MOST_SPREAD, NONE, SECTOR};
use crate::probe::{Gap, Notebook, ask_all};
use strata_model::attribute::{FetchRow, Fetches};
use strata_model::experiment::{Access, Residency};
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// Distance of the blocks of which the first bytes are loaded: twice the largest prefetch size, so that what comes with one is not what comes
/// with its neighbour.
const BLOCK: Bytes = Bytes(512);
/// So many sectors behind the first one are looked for: up to the largest prefetch size.
const SECTORS: u64 = 8;
/// First compute capability for whose loads a prefetch size is asked.
pub const PREFETCH_SIZES: (u32, u32) = (8, 0);

/// How many bytes the L2 fetches for a load that misses it, by the prefetch size that the load names.
///
/// `granularity` is what a walk through cold memory found for loads that name no size, if it is known. The same must show here.
///
/// # Errors
///
/// An unknown, where the cache holds few lines, where loads that hit and that miss cannot be told apart, or where plain loads seem to fetch
/// something else than `granularity`.
pub fn fetch_by_hint(notebook: &Notebook, asked: &Asked, granularity: Option<Bytes>) -> Result<Finding<Fetches>, Gap> {
    asked.loadable()?;
    // The first bytes of every block lie in a part of the sets: in few of them, if the lines are short.
    let lines = asked.lines().min(asked.capacity.0 / (4 * BLOCK.0));
    if lines < FEWEST_HELD {
        return Gap::unknown(format!("the cache holds {} blocks of {BLOCK}, too few to fill it in part", 4 * lines));
    }
    let apart = (asked.capacity.min(MOST_SPREAD).0 / BLOCK.0 / lines).max(2) - 1;
    let distance = BLOCK * (apart | 1);
    let levels = asked.levels(notebook, Access::Cg)?;
    let repeats = notebook.effort().choose(1, 2, 3);
    let accesses = [Access::Cg, Access::L2Fetch64, Access::L2Fetch128, Access::L2Fetch256];
    let of = |access: Access| -> Result<(Access, Vec<f64>), Gap> {
        let there = |sector: u64| -> Result<f64, Gap> {
            let one = |repeat: u32| Residency {
                lines: lines as u32,
                distance,
                beside: SECTOR * sector,
                ..asked.residency(notebook, access, asked.all, Bytes(0), repeat)
            };
            let measurements = notebook.read(&(0..repeats).map(one).collect::<Vec<_>>())?;
            let missed: f64 = measurements.iter().map(|of| levels.miss_share(of.latencies())).sum();
            Ok(1.0 - missed / f64::from(repeats))
        };
        Ok((access, ask_all((0..=SECTORS).map(there))?))
    };
    let table = ask_all(accesses.into_iter().map(of))?;
    if table[0].1[0] < ALL {
        return Gap::unknown(format!(
            "of {lines} lines {:.0} % are there right after a plain load of them",
            100.0 * table[0].1[0]
        ));
    }
    let rows = table.iter().filter_map(|&(access, ref shares)| fetched(access, shares)).collect::<Vec<_>>();
    let plain = rows.iter().find(|row| row.access == Access::Cg);
    if let Some((row, walked)) = plain.zip(granularity).filter(|(row, walked)| row.bytes != (*walked).max(SECTOR)) {
        return Gap::unknown(format!(
            "{} seem to come with a plain load, but a walk through cold memory misses every {walked}; a cache behind the L2 may answer",
            row.bytes
        ));
    }
    let method = format!(
        "{lines} loads of the first bytes of blocks of {BLOCK}, and loads of each of the next {SECTORS} sectors of {SECTOR}"
    );
    let some = rows.iter().map(|row| (row, table.iter().find(|(access, _)| *access == row.access)));
    let shares = some.filter(|(row, _)| row.most > row.bytes).filter_map(|(row, of)| {
        let share = of?.1.get((row.bytes.0 / SECTOR.0) as usize)?;
        Some(format!("of {} the bytes from {} on come with {:.0} % of the loads", row.access, row.bytes, 100.0 * share))
    });
    let note = shares.collect::<Vec<_>>().join("; ");
    let left: Vec<&str> = table
        .iter()
        .filter(|(access, _)| rows.iter().all(|row| row.access != *access))
        .map(|(access, _)| access.words())
        .collect();
    if rows.is_empty() {
        return Gap::unknown(format!("what is fetched does not end within {}", SECTOR * (SECTORS + 1)));
    }
    let mut finding = Finding::measured(Fetches(rows), method);
    if !note.is_empty() {
        finding = finding.note(note);
    }
    if !left.is_empty() {
        finding =
            finding.note(format!("what comes with {} is no block that begins with what was loaded", left.join(", ")));
    }
    Ok(finding)
}

/// What comes with an access, by the shares of the accesses with which each sector came, the sector itself first; nothing where that is no
/// block from the first sector on, or does not end.
fn fetched(access: Access, shares: &[f64]) -> Option<FetchRow> {
    let always = shares.iter().take_while(|&&share| share >= ALL).count();
    let sometimes = always + shares[always..].iter().take_while(|&&share| share > NONE).count();
    let ends = sometimes < shares.len() && shares[sometimes..].iter().all(|&share| share <= NONE);
    (always > 0 && ends).then(|| FetchRow { access, bytes: SECTOR * always as u64, most: SECTOR * sometimes as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fetched_is_a_block_from_the_first_bytes_on() {
        let row = |bytes: u64, most: u64| Some(FetchRow { access: Access::Cg, bytes: Bytes(bytes), most: Bytes(most) });
        assert_eq!(fetched(Access::Cg, &[1.0, 0.99, 0.0, 0.02]), row(64, 64));
        assert_eq!(fetched(Access::Cg, &[1.0, 0.5, 0.45, 0.02]), row(32, 96));
        // Not the line itself, no end, and a gap.
        assert_eq!(fetched(Access::Cg, &[0.5, 0.0, 0.0]), None);
        assert_eq!(fetched(Access::Cg, &[1.0, 1.0, 0.5]), None);
        assert_eq!(fetched(Access::Cg, &[1.0, 0.0, 1.0, 0.0]), None);
    }
}
