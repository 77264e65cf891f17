//! The visits of the chain: in which order lines and pages are loaded, and what each load meets.

use strata_model::attribute::Data;

/// As many pages beyond what a TLB holds are enough for none to be held from lap to lap, where its sets fill evenly.
const BEYOND: (u64, u64) = (6, 5);
/// A group is so many times the first TLB, so that none of it is held there from lap to lap.
const GROUP: u64 = 4;
/// Most groups of pages.
const MOST_GROUPS: u64 = 16;
/// A line has left the L1 after this many halves of its lines; it is there still after so many that a third of them fit.
const LEFT_HALVES: u64 = 3;
const HELD_THIRDS: u64 = 3;
/// Lines of each page that are loaded between two loads of one, in a group.
const LOADED_BETWEEN: u64 = 3;

/// What has the data, and how many levels of translation miss.
pub(super) type Meets = (Data, usize);

/// One load of the chain: where, and what it meets past the L1 and through it, if that is certain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    /// Number of its page.
    pub page: u64,
    /// Number of its line in the page.
    pub line: usize,
    /// Past the L1.
    pub past: Option<Meets>,
    /// Through the L1.
    pub through: Option<Meets>,
}

/// What is known of translation and of the L1, in pages and lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Pages that the first TLB holds.
    pub first: u64,
    /// Pages that the second holds, if there is one.
    pub second: Option<u64>,
    /// Pages behind which a third level begins to miss, if there is one.
    pub third: Option<u64>,
    /// Most pages that may be visited.
    pub most: u64,
    /// Pages that may be among them.
    pub memory: u64,
    /// Lines of the L1, if global loads are cached there.
    pub l1_lines: Option<u64>,
}

impl Known {
    /// Levels of translation.
    pub fn levels(self) -> usize {
        1 + usize::from(self.second.is_some())
    }

    /// Pages of which a lap misses every level but the third.
    fn enough(self) -> u64 {
        let held = self.second.unwrap_or(self.first);
        held * BEYOND.0 / BEYOND.1 + 2
    }
}

/// The visits, in order.
pub(super) fn visits(known: Known, lacks: &mut Vec<String>) -> Vec<Visit> {
    let all = known.levels();
    let lines = known.l1_lines.unwrap_or(0);
    // Between two laps over the pages two lines of each are loaded.
    let to_leave_l1 = (LEFT_HALVES * lines).div_ceil(4);
    let wanted = if to_leave_l1 <= known.most { to_leave_l1.max(2 * known.enough()) } else { 2 * known.enough() };
    let pages = wanted.min(known.most);
    let overflows = pages >= known.enough();
    if !overflows {
        lacks.push(format!("pages that no TLB level holds ({} are needed, {pages} can be visited)", known.enough()));
    }
    let leaves_l1 = pages >= to_leave_l1;
    if !leaves_l1 && known.l1_lines.is_some() {
        lacks.push(format!(
            "lines evicted from an L1 of {lines} lines (two lines of each of {pages} pages are too few)"
        ));
    }
    let missed = |data| overflows.then_some((data, all));
    // What the L1 still has need not be translated, so that nothing is certain of later visits to its page.
    let if_left = |meets: Option<Meets>| meets.filter(|_| leaves_l1);
    let mut visits = Vec::new();
    let mut visit = |page, line, past, through| visits.push(Visit { page, line, past, through });
    let new = |levels| (Data::Memory, levels);
    for page in 0..pages {
        visit(page, 0, missed(Data::Memory), missed(Data::Memory));
        visit(page, 1, Some(new(0)), Some(new(0)));
    }
    for page in 0..pages {
        visit(page, 0, missed(Data::L2), if_left(missed(Data::L2)));
        visit(page, 0, Some((Data::L2, 0)), Some((Data::L1, 0)));
        visit(page, 1, Some((Data::L2, 0)), if_left(Some((Data::L2, 0))));
    }
    let group = (GROUP * known.first).min(known.second.map_or(u64::MAX, |s| s / 2)).min(pages);
    if group * BEYOND.1 < known.first * BEYOND.0 {
        lacks.push("pages that only the second level holds (it is hardly larger than the first)".into());
    } else {
        for first in (0..(pages / group).min(MOST_GROUPS)).map(|g| g * group) {
            let pages = first..first + group;
            let one = |data| Some((data, 1));
            // A line that no cache has, so that it is translated by any path.
            pages.clone().for_each(|page| visit(page, 4, missed(Data::Memory), if_left(missed(Data::Memory))));
            pages.clone().for_each(|page| visit(page, 2, one(Data::Memory), if_left(one(Data::Memory))));
            pages.clone().for_each(|page| visit(page, 1, one(Data::L2), if_left(one(Data::L2))));
            let held = HELD_THIRDS * LOADED_BETWEEN * group <= lines;
            pages.clone().for_each(|page| visit(page, 2, one(Data::L2), if_left(one(Data::L1).filter(|_| held))));
        }
    }
    if let Some(reach) = known.third {
        // To and fro between two parts, over pages that were not among the last.
        let (each, beyond) = (known.enough().div_ceil(2).min(reach), reach.max(pages));
        if beyond + each <= known.memory {
            for page in 0..each {
                visit(page, 3, Some(new(all + 1)), Some(new(all + 1)));
                visit(beyond + page, 3, Some(new(all + 1)), Some(new(all + 1)));
            }
        } else {
            lacks.push(format!("pages that the third level does not hold ({} are needed)", beyond + each));
        }
    }
    visits
}

#[cfg(test)]
mod tests {
    use super::super::{LINES, pattern};
    use super::*;

    /// Caches of whole lines and pages in which the oldest gives way.
    struct Held {
        room: usize,
        held: Vec<u64>,
    }

    impl Held {
        fn new(room: u64) -> Self {
            Held { room: room as usize, held: Vec::new() }
        }

        fn meets(&mut self, what: u64) -> bool {
            let place = self.held.iter().position(|&h| h == what);
            place.map(|p| self.held.remove(p));
            self.held.push(what);
            if self.held.len() > self.room {
                self.held.remove(0);
            }
            place.is_some()
        }
    }

    #[test]
    fn every_visit_meets_what_it_is_said_to() {
        for (second, third, l1_lines) in
            [(Some(65), Some(256), Some(384)), (Some(65), None, None), (None, None, Some(60))]
        {
            let known = Known { first: 16, second, third, most: 448, memory: 600, l1_lines };
            let mut lacks = Vec::new();
            let visits = visits(known, &mut lacks);
            assert_eq!(lacks, Vec::<String>::new());
            let mut tlbs = vec![Held::new(16)];
            tlbs.extend(second.map(Held::new));
            let mut window = third.map(|_| Held::new(1));
            let mut l2 = Held::new(u64::from(u32::MAX));
            let mut l1 = Held::new(l1_lines.unwrap_or(0));
            let mut patterns = std::collections::BTreeSet::new();
            for v in &visits {
                let line = v.page * LINES as u64 + v.line as u64;
                let in_l2 = l2.meets(line);
                let in_l1 = l1_lines.is_some() && l1.meets(line);
                let mut missed = tlbs.iter_mut().map(|t| t.meets(v.page)).take_while(|hit| !hit).count();
                if let (true, Some(window), Some(size)) = (missed == tlbs.len(), &mut window, third) {
                    // The first visit of a part of the table is none of the other levels' misses.
                    missed += usize::from(!window.meets(v.page / size)) * usize::from(v.line == 3);
                }
                let past = (if in_l2 { Data::L2 } else { Data::Memory }, missed);
                let through = (if in_l1 { Data::L1 } else { past.0 }, missed);
                assert!(v.past.is_none_or(|said| said == past), "{v:?}: {past:?}");
                if l1_lines.is_some() {
                    assert!(v.through.is_none_or(|said| said == through), "{v:?}: {through:?}");
                }
                patterns.extend(v.past.and_then(|meets| pattern(meets, tlbs.len())));
            }
            let all: &[u32] = match (second, third) {
                (Some(_), Some(_)) => &[1, 2, 3, 4, 5, 6],
                (Some(_), None) => &[1, 2, 3, 4, 5],
                _ => &[1, 2, 4, 5],
            };
            assert_eq!(patterns.into_iter().collect::<Vec<_>>(), all);
        }
    }

    #[test]
    fn what_cannot_be_met_is_said() {
        let known = Known { first: 16, second: Some(400), third: None, most: 100, memory: 100, l1_lines: Some(2000) };
        let mut lacks = Vec::new();
        let visits = visits(known, &mut lacks);
        assert_eq!(lacks.len(), 2, "{lacks:?}");
        assert!(visits.iter().all(|v| v.past.is_none_or(|(_, missed)| missed < 2)));
    }
}
