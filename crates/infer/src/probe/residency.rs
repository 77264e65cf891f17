//! What stores and cache hints leave in a cache.
//!
//! Other memory fills the cache, some lines are accessed in one way, other memory of a part of the capacity is read, and each line is loaded
//! once ([`Residency`]). The share of quick loads is the share of the lines that stayed. Three shares tell what an access does: right
//! afterwards, after half of the capacity, and after twice the capacity. Of plain loads they are the control: those must stay for half, and
//! be gone after twice the capacity, whatever the replacement policy.
//!
//! Fails where loads that hit and loads that miss overlap, and where the cache holds a few lines only.

mod fetched;

pub use self::fetched::{PREFETCH_SIZES, fetch_by_hint};
use super::levels::{HitMiss, are_slower};
use super::{Gap, Measurement, Notebook, Settle, ask_all};
use crate::analysis::robust;
use strata_model::attribute::{Effect, HintRow, Hints};
use strata_model::experiment::{Access, LoadPath, Residency};
use strata_model::samples::Failure;
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// Part of the capacity that the lines have: few enough not to displace each other.
const PART: u64 = 8;
/// Most lines, and the fewest that a cache must hold.
const MOST_LINES: u64 = 512;
const FEWEST_HELD: u64 = 16;
/// Most memory over which they are spread: the host writes all of it for each experiment.
const MOST_SPREAD: Bytes = Bytes::mib(8);
/// Of fewer lines than this shares say little; then the lines are accessed several times as often.
const ENOUGH: u64 = 64;
/// Of loads that miss, the share that is quicker than the quickest that count.
const QUICKEST: f64 = 0.05;
/// Share of the lines from which all are there, and up to which none is.
const ALL: f64 = 0.8;
const NONE: f64 = 0.2;
/// Where so many times fewer lines stay than of plain loads, all go first; where more do, some.
const FEW: f64 = 3.0;
/// Lines that stay take longer by at least this part of what a miss costs, where another cache has them.
const ELSEWHERE: f64 = 0.1;
/// Level of the test that they do.
const ALPHA: f64 = 0.001;
/// Shares differ by this at least: the lines that a random policy keeps vary by a tenth.
const APART: f64 = 0.3;

/// The least distance of loads.
const SECTOR: Bytes = Bytes(32);

/// A cache, as residency asks it.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The path of its loads.
    pub path: LoadPath,
    /// Capacity.
    pub capacity: Bytes,
    /// Cache line.
    pub line: Bytes,
    /// Memory that surely displaces everything.
    pub all: Bytes,
}

/// Shares of the lines that stay: right after the access, after half of the capacity, and after twice the capacity.
type Shares = [f64; 3];

/// What was seen of all accesses.
struct Table {
    /// The shares of each, the plain load first.
    rows: Vec<(Access, Shares)>,
    /// Those whose lines stay, but take so many cycles longer than those of plain loads: a cache behind this one may have them.
    elsewhere: Vec<(Access, f64)>,
    /// Windows of which nothing is known, most often because the device refuses them, and why.
    refused: Vec<(Access, String)>,
    /// Those of which the lines that are gone in the end take so many cycles, fewer than the quickest misses: another part of the cache has them.
    apart: Vec<(Access, f64)>,
}

/// What was seen of an access.
struct Seen {
    access: Access,
    shares: Shares,
    /// What loads of the lines that stay take, right after the access, and after half of the capacity.
    stay: [Vec<u32>; 2],
    /// What those of lines that do not stay take, after twice the capacity.
    gone: Vec<u32>,
}

impl Table {
    fn shares(&self, access: Access) -> Option<Shares> {
        self.rows.iter().find(|(other, _)| *other == access).map(|(_, shares)| *shares)
    }

    fn is_elsewhere(&self, access: Access) -> bool {
        self.elsewhere.iter().any(|(other, _)| *other == access)
    }

    /// What is said of accesses whose other lines are in another part of the cache.
    fn apart(&self) -> Option<String> {
        let all: Vec<String> =
            (self.apart.iter()).map(|(access, cycles)| format!("{access} ({cycles:.0} cycles)")).collect();
        let what = "loads of the lines that are no longer quick take less than loads that miss, so another part of the L2 has these lines";
        (!all.is_empty()).then(|| format!("{what}: {}", all.join(", ")))
    }

    /// What is said of accesses whose lines another cache may have.
    fn doubts(&self) -> Option<String> {
        let all: Vec<String> = (self.elsewhere.iter())
            .map(|(access, longer)| format!("{} ({longer:.0} cycles)", access.words()))
            .collect();
        let what = "lines take longer than those of plain loads, so another cache may have them";
        (!all.is_empty()).then(|| format!("{what}: {}", all.join(", ")))
    }
}

impl Asked {
    /// The accesses that the device has, the plain load first.
    fn accesses(&self, notebook: &Notebook) -> Vec<Access> {
        let plain = if self.path == LoadPath::GlobalCa { Access::Ca } else { Access::Cg };
        let of_l1 = [
            Access::Cg,
            Access::Cs,
            Access::Lu,
            Access::Cv,
            Access::L1EvictFirst,
            Access::L1EvictUnchanged,
            Access::L1EvictLast,
            Access::L1NoAllocate,
            Access::Store,
            Access::StoreCs,
            Access::StoreL1NoAllocate,
            Access::StoreHeld,
            Access::AtomicHeld,
        ];
        let of_l2 = [
            Access::Ca,
            Access::Cs,
            Access::L1NoAllocate,
            Access::L2EvictFirst,
            Access::L2EvictUnchanged,
            Access::L2EvictLast,
            Access::Store,
            Access::StoreCs,
            Access::StoreL1NoAllocate,
            Access::StoreL2EvictFirst,
            Access::StoreL2EvictLast,
            Access::WindowStreaming,
            Access::WindowPersisting,
            Access::Discard,
        ];
        let (major, minor) = notebook.facts().compute_capability;
        // A discard is for whole lines of 128 bytes.
        let is_possible = |access: Access| {
            !access.discards() || self.residency(notebook, access, Bytes(0), Bytes(0), 0).defect().is_none()
        };
        let has = |access: &Access| access.since() <= 10 * major + minor && is_possible(*access);
        let further = if self.path == LoadPath::GlobalCa { &of_l1[..] } else { &of_l2[..] };
        std::iter::once(plain).chain(further.iter().copied()).filter(has).collect()
    }

    fn lines(&self) -> u64 {
        (self.capacity / self.line / PART).clamp(1, MOST_LINES)
    }

    /// Distance of the lines: they are spread over the capacity, by an odd number of lines so that they go to many sets. Of neighbours a cache
    /// of few ways keeps all or none after other memory was read, by where that lies; and of 512 neighbours with `evict_first` in the L2 of
    /// an H200 three in four displaced each other.
    fn distance(&self) -> Bytes {
        self.line * ((self.capacity.min(MOST_SPREAD) / self.line / self.lines()) | 1)
    }

    fn residency(&self, notebook: &Notebook, access: Access, before: Bytes, after: Bytes, repeat: u32) -> Residency {
        Residency {
            path: self.path,
            access,
            lines: self.lines() as u32,
            distance: self.distance(),
            beside: Bytes(0),
            before: before.round_down(self.line),
            after,
            step: self.line,
            seed: notebook.seed(26).wrapping_add(repeat.into()),
            repeat,
        }
    }

    /// What must be read before the lines, so that the cache has none of them. An L1 is empty when a launch begins.
    fn emptied(&self) -> Bytes {
        if self.path == LoadPath::GlobalCa { Bytes(0) } else { self.all }
    }

    /// What is read between an access and the loads: nothing, half of the capacity, and twice the capacity.
    fn afters(&self) -> [Bytes; 3] {
        let most = Bytes(2 * self.capacity.0).max(self.all);
        [Bytes(0), Bytes(self.capacity.0 / 2), most].map(|after| after.round_down(self.line))
    }

    /// How hits and misses differ: loads of lines that nothing displaces, and of lines that the cache does not have. What misses the L1 hits
    /// the L2, where loads past the L1 have left it: a load from DRAM takes so much longer that loads from the L2 would pass for hits.
    fn levels(&self, notebook: &Notebook, plain: Access) -> Result<HitMiss, Gap> {
        let missing = if self.path == LoadPath::GlobalCa { Access::Cg } else { Access::Nothing };
        let controls = [plain, missing].map(|access| self.residency(notebook, access, self.emptied(), Bytes(0), 0));
        let measurements = notebook.read(&controls)?;
        let [hits, misses] = [0, 1].map(|at: usize| measurements[at].latencies());
        let levels = HitMiss::learn(hits, &[misses])?;
        // Where their times overlap, misses pass for hits, or hits for misses.
        let [of_hits, of_misses] = [hits, misses].map(|latencies| levels.miss_share(latencies));
        if of_hits > NONE || of_misses < ALL {
            return Gap::unknown(format!(
                "loads that hit and loads that miss overlap: {:.0} % of those that hit pass for misses, and {:.0} % of those that miss for hits",
                100.0 * of_hits,
                100.0 * (1.0 - of_misses)
            ));
        }
        Ok(levels)
    }

    /// Refuses lines of a size that loads cannot be apart.
    fn loadable(&self) -> Result<(), Gap> {
        if self.line.0.is_multiple_of(SECTOR.0) {
            return Ok(());
        }
        Gap::unknown(format!("lines of {} are no multiple of {SECTOR}, the least distance of loads", self.line))
    }

    /// The shares of each access.
    fn table(&self, notebook: &Notebook) -> Result<Table, Gap> {
        if self.capacity / self.line < FEWEST_HELD {
            return Gap::unknown(format!(
                "the cache holds {} lines, too few to fill it in part",
                self.capacity / self.line
            ));
        }
        self.loadable()?;
        let mut accesses = self.accesses(notebook);
        let through_l1 = self.residency(notebook, Access::Ca, self.emptied(), Bytes(0), 0);
        if self.path == LoadPath::GlobalCg && notebook.is_not_recorded(&through_l1)? {
            accesses.retain(|access| *access != Access::Ca);
        }
        // An older recording has no windows, and nothing that was discarded.
        let later = accesses.iter().filter(|access| access.window().is_some() || access.discards());
        let later: Vec<Residency> =
            later.map(|&access| self.residency(notebook, access, self.emptied(), Bytes(0), 0)).collect();
        let answers = notebook.read_each(&later)?;
        let is_recorded = |access: Access| {
            let mut answers = later.iter().zip(&answers).filter(|(asked, _)| asked.access == access);
            answers.all(|(_, answer)| !matches!(answer, Err(Failure::NotRecorded)))
        };
        accesses.retain(|&access| is_recorded(access));
        let levels = self.levels(notebook, accesses[0])?;
        let few = ENOUGH.div_ceil(self.lines()) as u32;
        let repeats = notebook.effort().choose(1, 2, 3).max(few);
        let afters = self.afters();
        let of = |access: Access| -> Result<Seen, Gap> {
            let each = |after: Bytes| -> Result<(f64, [Vec<u32>; 2]), Gap> {
                // In a full cache lines that give way first displace each other. Whether they are kept at all shows in an empty one.
                let before = if after.0 == 0 { self.emptied() } else { self.all };
                let asked: Vec<Residency> =
                    (0..repeats).map(|repeat| self.residency(notebook, access, before, after, repeat)).collect();
                let measurements = notebook.read(&asked)?;
                let missed: Vec<f64> = measurements.iter().map(|of| levels.miss_share(of.latencies())).collect();
                let all = measurements.iter().flat_map(Measurement::latencies).copied();
                let (gone, stay) = all.partition(|&latency| levels.is_miss(latency));
                Ok((1.0 - missed.iter().sum::<f64>() / missed.len() as f64, [stay, gone]))
            };
            // Most first, so that the memory that is read lies at one place throughout: a cache of few ways loses lines by their sets.
            let mut seen = ask_all([afters[2], afters[1], afters[0]].map(each))?;
            let (now, [stay, _]) = seen.pop().unwrap_or_default();
            let (half, [stay_for_half, _]) = seen.pop().unwrap_or_default();
            let (twice, [_, gone]) = seen.pop().unwrap_or_default();
            Ok(Seen { access, shares: [now, half, twice], stay: [stay, stay_for_half], gone })
        };
        // A device or its driver may refuse a window; whatever an instruction asks is no reason to refuse it.
        let each = |access: Access| match access.window() {
            None => of(access).map(Ok),
            Some(_) => Ok(of(access).settled()?.map_err(|unknown| (access, unknown.reason()))),
        };
        let (mut seen, mut refused) = (Vec::new(), Vec::new());
        for row in ask_all(accesses.into_iter().map(each))? {
            match row {
                Ok(row) => seen.push(row),
                Err(reason) => refused.push(reason),
            }
        }
        let Seen { shares: plain, stay: [hits, kept], gone: misses, .. } = &seen[0];
        let plain = *plain;
        let [now, half, twice] = plain;
        if !is_control(plain) {
            return Gap::unknown(format!(
                "of the lines of plain loads {:.0} % are there right afterwards, {:.0} % after {}, and {:.0} % after {}: these do not tell \
                 what other accesses do",
                100.0 * now,
                100.0 * half,
                afters[1],
                100.0 * twice,
                afters[2]
            ));
        }
        let is_l1 = self.path == LoadPath::GlobalCa;
        let longer = |than: &[u32], stay: &[u32]| {
            slower(than, stay).filter(|longer| *longer > ELSEWHERE * (levels.miss - levels.hit))
        };
        if let Some(longer) = longer(hits, kept) {
            return Gap::unknown(format!(
                "lines of plain loads that are there after {} take {longer:.0} cycles longer than right afterwards: another cache, or another \
                 partition, has some of them",
                afters[1]
            ));
        }
        // In the L2, lines of the other partition take longer although they stay. So do those of plain loads: each access is held against them, if
        // its lines seem to stay for as long.
        let is_elsewhere = |of: &Seen| match is_l1 {
            true => of.stay.iter().find_map(|stay| longer(hits, stay)),
            false => longer(kept, &of.stay[1]).filter(|_| of.shares[1] > half - APART),
        };
        let elsewhere = seen[1..].iter().filter_map(|of| Some((of.access, is_elsewhere(of)?))).collect();
        let quickest = robust::quantile_u32(misses, QUICKEST).unwrap_or(0.0);
        let apart = seen[1..].iter().filter(|of| !is_l1 && of.gone.len() as u64 >= ENOUGH);
        let apart = apart.filter_map(|of| Some((of.access, robust::median_u32(&of.gone)?)));
        let apart = apart.filter(|(_, cycles)| *cycles < quickest).collect();
        Ok(Table { rows: seen.iter().map(|of| (of.access, of.shares)).collect(), elsewhere, refused, apart })
    }
}

/// By how many cycles the median of some loads is above that of others, if they are slower by more than chance.
fn slower(hits: &[u32], others: &[u32]) -> Option<f64> {
    let longer = || Some(robust::quantile_u32(others, 0.5)? - robust::quantile_u32(hits, 0.5)?);
    are_slower(others, hits, ALPHA).then(longer).flatten()
}

/// Whether these shares of plain loads tell what other accesses do: they are there at first, and gone in the end.
fn is_control([now, half, twice]: Shares) -> bool {
    now >= ALL && twice <= APART && half >= twice + APART
}

/// The shares of plain loads that take the way of an access. Past the L1 a load brings in what it asks for; through the L1 it may bring in more,
/// where the L1 fetches more at once. Stores go past it, too. Recordings of before 2026-11-28 have plain loads past the L1 only.
fn plain_of(table: &Table, access: Access) -> Option<Shares> {
    let (first, plain) = table.rows[0];
    let through_l1 = matches!(
        access,
        Access::Cs | Access::L1NoAllocate | Access::L2EvictFirst | Access::L2EvictUnchanged | Access::L2EvictLast
    );
    let by_ca = table.shares(Access::Ca);
    let plain = if first == Access::Cg && through_l1 { by_ca.unwrap_or(plain) } else { plain };
    is_control(plain).then_some(plain)
}

/// Whether the cache has next to none of the lines, neither right afterwards nor later.
fn is_gone([now, half, _]: Shares) -> bool {
    now <= NONE && half <= NONE
}

/// What an access does, beside plain loads; nothing where the shares lie between. What is not there right afterwards was not kept if the cache
/// was empty before; in a full one such lines may have displaced each other.
fn effect(plain: Shares, shares: Shares, was_empty: bool) -> Option<Effect> {
    let [now, half, twice] = shares;
    let margin = APART.min((plain[1] - plain[2]) / 2.0);
    // Only what was there can give way. In an L2 of partitions stored lines may lie in the other one, from where they are slow at once.
    let expected = plain[1] * (now / plain[0]).min(1.0);
    match () {
        () if is_gone(shares) => was_empty.then_some(Effect::NotKept),
        () if now <= NONE => None,
        // In a full cache lines that give way first displace each other.
        () if half <= expected / FEW => Some(Effect::EvictedFirst),
        () if half <= expected - margin => Some(Effect::SomeEvictedFirst),
        () if now < ALL.min(plain[0] - NONE) => None,
        () if twice >= ALL => Some(Effect::EvictedLast),
        () if twice >= plain[2] + margin => Some(Effect::SomeEvictedLast),
        () => Some(Effect::AsPlain),
    }
}

/// What becomes of the lines of each access.
///
/// # Errors
///
/// An unknown, where the cache holds few lines or plain loads do not behave as the control must.
pub fn hints(notebook: &Notebook, asked: &Asked) -> Result<Finding<Hints>, Gap> {
    let table = asked.table(notebook)?;
    let (plain, shares) = table.rows[0];
    let of = |(access, shares): (Access, Shares)| {
        let plain = plain_of(&table, access).filter(|_| !table.is_elsewhere(access))?;
        // Lines that were stored displace no others, so those that were discarded did not either.
        let are_kept = || table.shares(Access::Store).is_some_and(|[now, ..]| now >= ALL);
        effect(plain, shares, asked.emptied().0 == 0 || access.discards() && are_kept())
    };
    let hinted = table.rows[1..].iter().filter(|(access, _)| *access != Access::Ca);
    let rows: Vec<(Access, Option<Effect>)> = hinted.map(|&row| (row.0, of(row))).collect();
    let known = rows.iter().filter_map(|&(access, effect)| Some(HintRow { access, effect: effect? })).collect();
    let [_, half, twice] = asked.afters();
    let method = format!(
        "{} lines, loaded right after the access, after {half} of other memory and after {twice}",
        asked.lines()
    );
    let control = format!(
        "of the lines of {plain} {:.0} % stay for half of the capacity and {:.0} % for twice as much",
        100.0 * shares[1],
        100.0 * shares[2]
    );
    let between = rows.iter().filter(|(_, effect)| effect.is_none()).map(|(access, _)| access.words());
    let finding = Finding::measured(Hints(known), method).note(control);
    let finding = table.doubts().into_iter().fold(finding, Finding::note);
    let finding = table.apart().into_iter().fold(finding, Finding::note);
    let refusals = table.refused.iter().map(|(access, reason)| format!("{access}: {reason}"));
    let finding = refusals.fold(finding, Finding::note);
    Ok(match between.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => finding,
        some => finding.note(format!("the shares of the lines that stay do not tell what becomes of those of {some}")),
    })
}

/// The policy of a cache in which a store leaves a line only where it was before.
pub const UPDATES: &str = "updates";

/// What a store does: `allocates`, `updates` or `evicts`. Of the L2 the last two are not told apart, and so unknown.
///
/// # Errors
///
/// As of [`hints`], and where stores lie between.
pub fn write_policy(notebook: &Notebook, asked: &Asked) -> Result<Finding<String>, Gap> {
    let table = asked.table(notebook)?;
    if [Access::Store, Access::StoreHeld].iter().any(|&access| table.is_elsewhere(access)) {
        return Gap::unknown(table.doubts().unwrap_or_default());
    }
    let policy = match (table.shares(Access::Store), table.shares(Access::StoreHeld)) {
        (Some([now, ..]), _) if now >= ALL => "allocates",
        (Some(stored), Some([now, ..])) if is_gone(stored) && now >= ALL => UPDATES,
        (Some(stored), Some(held)) if is_gone(stored) && is_gone(held) => "evicts",
        (stored, held) => {
            let percent = |of: Option<Shares>| of.map_or("none".to_owned(), |of| format!("{:.0} %", 100.0 * of[0]));
            return Gap::unknown(format!(
                "{} of the lines are there right after a store, and {} of those that were there before",
                percent(stored),
                percent(held)
            ));
        }
    };
    Ok(Finding::measured(
        policy.to_owned(),
        "stores to lines that the cache does not have, and to some that it has, each then loaded once",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_told_by_what_plain_loads_do() {
        // By age, and at random.
        for plain in [[1.0, 1.0, 0.0], [0.95, 0.6, 0.13]] {
            let random = plain[1] < 1.0;
            assert_eq!(effect(plain, plain, true), Some(Effect::AsPlain));
            assert_eq!(effect(plain, [0.0; 3], true), Some(Effect::NotKept));
            assert_eq!(effect(plain, [1.0, 0.02, 0.0], true), Some(Effect::EvictedFirst));
            assert_eq!(effect(plain, [1.0, plain[1] / 2.0, 0.0], true), Some(Effect::SomeEvictedFirst));
            assert_eq!(effect(plain, [1.0, 1.0, 0.98], true), Some(Effect::EvictedLast));
            assert_eq!(effect(plain, [1.0, 1.0, 0.5], true), Some(Effect::SomeEvictedLast));
            assert_eq!(effect(plain, [0.5, 0.1, 0.0], true), Some(Effect::EvictedFirst));
            assert_eq!(effect(plain, [0.5, plain[1], 0.0], true), None);
            // Half of them were slow at once, and did not become more.
            assert_eq!(effect(plain, [0.5, plain[1] / 2.0, 0.0], true), None);
            // In a full cache they may have displaced each other; and what is there later was not thrown out.
            assert_eq!((effect(plain, [0.0; 3], false), effect(plain, [0.0, 0.5, 0.0], true)), (None, None));
            let varied = if random { [0.9, 0.5, 0.2] } else { [0.98, 0.93, 0.04] };
            assert_eq!(effect(plain, varied, true), Some(Effect::AsPlain));
        }
    }
}
