//! Whether the patterns of a spectrum agree with what other probes found of the same levels. A pattern that does not was not met as
//! designed, so it is left out.

use crate::analysis::robust;
use crate::probe::{Gap, Notebook, Settle, dram, l2, latency, tlb};
use strata_model::attribute::{Data, SpectrumRow, Translation};
use strata_model::units::Bytes;

/// Cycles by which two measurements may differ whatever their intervals: each is known to a cycle.
const RESOLUTION: f64 = 2.0;

/// Part of the spread of the pattern with its translation by which medians may differ: they are of other lines.
const OFF: f64 = 0.25;

/// A pattern that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    /// The pattern.
    pub row: SpectrumRow,
    /// Cycles by which the loads to all partitions of the L2 take longer in the mean than those to the near one, if only these count.
    pub less: f64,
    /// By how many cycles the mean of other lines may differ from theirs by chance.
    pub chance: f64,
}

/// What other probes found, each as an interval in cycles.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// A hit of the L2, over SMs and allocations.
    pub l2: Option<(f64, f64)>,
    /// A load from memory, likewise.
    pub memory: Option<(f64, f64)>,
    /// What a miss adds, level by level of translation.
    pub penalties: Vec<(f64, f64)>,
    /// Whether the chain visits more memory than that over which levels of translation were looked for, so that it may miss one more.
    pub goes_beyond: bool,
}

/// By how many cycles medians may differ from that of this row.
fn tolerance(row: &SpectrumRow) -> f64 {
    let (low, high) = (row.low.unwrap_or(row.cycles), row.high.unwrap_or(row.cycles));
    RESOLUTION.max(OFF * (high - low))
}

fn missed(row: &SpectrumRow) -> usize {
    match row.translation {
        Translation::Hit => 0,
        Translation::Miss(levels) => levels as usize,
    }
}

impl Known {
    /// What is known, as far as it is, for a chain that visits so much memory.
    ///
    /// # Errors
    ///
    /// Missing measurements, or that no level of translation is known.
    pub(super) fn of(notebook: &Notebook, visited: Bytes) -> Result<Self, Gap> {
        let l2 = latency::measure(notebook, &l2::setting(notebook)?).settled()?;
        let memory = dram::dram(notebook).settled()?;
        let found = tlb::reaches(notebook)?;
        Ok(Known {
            l2: l2.ok().map(|hit| hit.range),
            memory: memory.ok().map(|dram| dram.measured.range),
            penalties: found.levels.iter().map(|level| level.penalty).collect(),
            goes_beyond: visited > found.reached,
        })
    }

    /// Without the rows that contradict this, and why each was left out.
    pub(super) fn agreeing(&self, found: &[Found]) -> (Vec<SpectrumRow>, Vec<String>) {
        let mut why = Vec::new();
        let mut kept: Vec<SpectrumRow> = Vec::new();
        let rows: Vec<SpectrumRow> = found.iter().map(|found| found.row).collect();
        for row in &rows {
            let hit = found
                .iter()
                .find(|Found { row: hit, .. }| hit.path == row.path && hit.data == row.data && missed(hit) == 0);
            let against = hit.and_then(|hit| self.data(hit)).or_else(|| self.translation(row, &hit?.row, &rows));
            match against {
                Some(against) => why.push(format!("{} ({:.0} cycles: {against})", described(row), row.cycles)),
                None => kept.push(*row),
            }
        }
        (kept, why)
    }

    /// What speaks against all patterns of this one's data. Other probes know the mean over the partitions of the L2.
    fn data(&self, pattern: &Found) -> Option<String> {
        let Found { row: hit, less, chance } = pattern;
        let (found, name) = match hit.data {
            Data::L1 => return None,
            Data::L2 => (self.l2?, "a hit of the L2"),
            Data::Memory => (self.memory?, "a load from DRAM"),
        };
        let off = tolerance(hit) + chance;
        (!(found.0 - off..=found.1 + off).contains(&(hit.cycles + less)))
            .then(|| format!("{name} takes {:.0} to {:.0}", found.0, found.1))
    }

    /// What speaks against a pattern, given the one that has its translation and all of them.
    fn translation(&self, row: &SpectrumRow, hit: &SpectrumRow, all: &[SpectrumRow]) -> Option<String> {
        let penalties = self.penalties.get(..missed(row)).filter(|penalties| !penalties.is_empty())?;
        let (least, most) = penalties.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let off = tolerance(hit);
        let (low, high) = match row.data {
            // An L1 that is asked by virtual address needs no translation.
            Data::L1 => (hit.cycles - off, hit.cycles + most + off),
            // A walk of the page tables may find them in memory, too, when data is there.
            Data::Memory if !self.goes_beyond => (hit.cycles + least - off, f64::INFINITY),
            Data::L2 | Data::Memory => (hit.cycles + least - off, hit.cycles + most + off),
        };
        if !(low..=high).contains(&row.cycles) {
            return Some(format!("with the miss penalties found, {low:.0} to {high:.0}"));
        }
        // By either path the same misses cost the same.
        let extra = row.cycles - hit.cycles;
        let by_other = all.iter().filter(|r| r.path != row.path && r.data == row.data && missed(r) == missed(row));
        let less = by_other.filter_map(|other| {
            let its_hit =
                all.iter().find(|hit| hit.path == other.path && hit.data == other.data && missed(hit) == 0)?;
            Some(other.cycles - its_hit.cycles).filter(|less| extra > less + off + tolerance(other))
        });
        if let Some(less) = less.reduce(f64::min).filter(|_| row.data == Data::Memory) {
            return Some(format!("by the other path it adds {less:.0}, not {extra:.0}"));
        }
        // Where data in the L2 shows other misses than it should, data in memory does.
        let of_l2 = |by: usize| all.iter().filter(move |r| r.data == Data::L2 && missed(r) == by);
        let pairs = of_l2(missed(row)).flat_map(|same| of_l2(0).map(move |hit| (same, hit)));
        pairs
            .filter(|(same, hit)| row.data == Data::Memory && same.path == hit.path)
            .find_map(|(same, hit)| self.translation(same, hit, all))
            .map(|_| "data in the L2 meets other misses than designed".into())
    }
}

/// The loads of a pattern without those of the one with a miss less, `fewer`: where the two are apart, they are nearer to its median.
pub(super) fn own(mut values: Vec<f64>, fewer: Option<&SpectrumRow>) -> Vec<f64> {
    let (Some(fewer), Some(median)) = (fewer, robust::median(&values)) else { return values };
    let limit = f64::midpoint(fewer.cycles, median);
    if fewer.high.is_some_and(|high| high < limit) {
        values.retain(|&cycles| cycles > limit);
    }
    values
}

fn described(row: &SpectrumRow) -> String {
    let data = match row.data {
        Data::L1 => "the L1",
        Data::L2 => "the L2",
        Data::Memory => "memory",
    };
    match row.translation {
        Translation::Hit => format!("data in {data} with its translation"),
        Translation::Miss(level) => format!("data in {data} with a miss of TLB level {level}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::experiment::LoadPath;

    fn row(data: Data, missed: u32, cycles: f64) -> SpectrumRow {
        let translation = if missed == 0 { Translation::Hit } else { Translation::Miss(missed) };
        SpectrumRow {
            path: LoadPath::GlobalCg,
            pattern: None,
            data,
            translation,
            cycles,
            low: Some(cycles - 5.0),
            high: Some(cycles + 5.0),
            loads: Some(100),
        }
    }

    fn known() -> Known {
        let penalties = vec![(29.0, 31.0), (290.0, 310.0)];
        Known { l2: Some((195.0, 205.0)), memory: Some((490.0, 520.0)), penalties, goes_beyond: false }
    }

    fn agreeing(rows: &[SpectrumRow]) -> (Vec<SpectrumRow>, Vec<String>) {
        let found: Vec<Found> = rows.iter().map(|&row| Found { row, less: 0.0, chance: 0.0 }).collect();
        known().agreeing(&found)
    }

    #[test]
    fn near_loads_are_held_against_the_mean_over_partitions() {
        let near = row(Data::Memory, 0, 425.0);
        assert_eq!(known().agreeing(&[Found { row: near, less: 75.0, chance: 0.0 }]), (vec![near], vec![]));
        assert_eq!(known().agreeing(&[Found { row: near, less: 0.0, chance: 0.0 }]).0, []);
    }

    #[test]
    fn what_agrees_stays() {
        let rows = vec![
            row(Data::L2, 0, 200.0),
            row(Data::L2, 1, 230.0),
            row(Data::L2, 2, 530.0),
            row(Data::Memory, 0, 500.0),
            // What it takes longer is not in the caches.
            row(Data::Memory, 2, 950.0),
        ];
        assert_eq!(agreeing(&rows), (rows, vec![]));
    }

    #[test]
    fn a_pattern_that_costs_another_miss_is_left_out() {
        let rows = vec![row(Data::L2, 0, 200.0), row(Data::L2, 1, 530.0), row(Data::L2, 2, 530.0)];
        let (kept, why) = agreeing(&rows);
        assert_eq!(kept, [rows[0], rows[2]]);
        assert_eq!(
            why,
            ["data in the L2 with a miss of TLB level 1 (530 cycles: with the miss penalties found, 226 to 234)"]
        );
    }

    #[test]
    fn memory_is_met_with_the_misses_of_the_l2() {
        let rows = vec![
            row(Data::L2, 0, 200.0),
            row(Data::L2, 1, 530.0),
            row(Data::Memory, 0, 500.0),
            row(Data::Memory, 1, 830.0),
        ];
        let (kept, why) = agreeing(&rows);
        assert_eq!(kept, [rows[0], rows[2]]);
        assert_eq!(why.len(), 2);
    }

    #[test]
    fn memory_beyond_that_looked_at_may_miss_a_level_that_nobody_knows() {
        let rows = vec![row(Data::Memory, 0, 500.0), row(Data::Memory, 1, 830.0)];
        let found: Vec<Found> = rows.iter().map(|&row| Found { row, less: 0.0, chance: 0.0 }).collect();
        assert_eq!(known().agreeing(&found).0, rows);
        let (kept, why) = Known { goes_beyond: true, ..known() }.agreeing(&found);
        assert_eq!((kept.as_slice(), why.len()), (&rows[..1], 1));
    }

    #[test]
    fn misses_that_cost_more_by_one_path_are_others() {
        let by_ca = |row: SpectrumRow| SpectrumRow { path: LoadPath::GlobalCa, ..row };
        let rows = vec![
            row(Data::Memory, 0, 500.0),
            row(Data::Memory, 1, 540.0),
            by_ca(row(Data::Memory, 0, 501.0)),
            by_ca(row(Data::Memory, 1, 900.0)),
        ];
        let (kept, why) = agreeing(&rows);
        assert_eq!(kept, rows[..3]);
        assert!(why[0].ends_with("by the other path it adds 40, not 399)"), "{why:?}");
    }

    #[test]
    fn lines_that_left_the_l2_say_nothing_of_it() {
        let rows = vec![row(Data::L2, 0, 500.0), row(Data::L2, 1, 530.0), row(Data::Memory, 0, 500.0)];
        let (kept, why) = agreeing(&rows);
        assert_eq!(kept, [rows[2]]);
        assert_eq!(why.len(), 2);
    }

    #[test]
    fn loads_of_a_pattern_with_a_miss_less_do_not_count() {
        let mut fewer = row(Data::Memory, 1, 653.0);
        let values = vec![641.0, 655.0, 768.0, 770.0, 772.0];
        assert_eq!(own(values.clone(), Some(&fewer)), [768.0, 770.0, 772.0]);
        assert_eq!(own(values.clone(), None), values);
        // Patterns that overlap by themselves tell nothing.
        fewer.high = Some(720.0);
        assert_eq!(own(values.clone(), Some(&fewer)), values);
    }
}
