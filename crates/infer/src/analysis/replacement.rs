//! Which replacement policy explains the hits and misses of a set: each candidate is simulated over the measured visits and
//! rejected at the first difference.

/// A policy whose victims are no matter of chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deterministic {
    /// The least recently used line.
    Lru,
    /// The line that came first.
    Fifo,
    /// The line that a tree of bits points to; each use makes the bits on its way point elsewhere.
    TreePlru,
    /// The first line whose bit is clear; a use sets a line's bit, and clears the others' when all are set.
    BitPlru,
}

impl Deterministic {
    /// All of them.
    pub const ALL: [Deterministic; 4] =
        [Deterministic::Lru, Deterministic::Fifo, Deterministic::TreePlru, Deterministic::BitPlru];

    /// Its name in a report.
    pub const fn name(self) -> &'static str {
        match self {
            Deterministic::Lru => "lru",
            Deterministic::Fifo => "fifo",
            Deterministic::TreePlru => "plru",
            Deterministic::BitPlru => "bit_plru",
        }
    }

    /// Whether such a set can have so many ways.
    pub const fn fits(self, ways: usize) -> bool {
        !matches!(self, Deterministic::TreePlru) || ways.is_power_of_two()
    }

    /// Whether each visit hits, in a set that is empty at first. Contract: `ways` is at least 1.
    pub fn hits(self, ways: usize, visits: &[usize]) -> Vec<bool> {
        let mut set = Set { held: Vec::new(), stamps: vec![0; ways], bits: vec![false; ways], ways };
        visits.iter().enumerate().map(|(now, &line)| self.visit(&mut set, line, now as u64 + 1)).collect()
    }

    fn visit(self, set: &mut Set, line: usize, now: u64) -> bool {
        let found = set.held.iter().position(|&held| held == line);
        let way = found.unwrap_or_else(|| {
            if set.held.len() < set.ways {
                set.held.push(line);
                return set.held.len() - 1;
            }
            let way = self.victim(set);
            set.held[way] = line;
            way
        });
        match self {
            Deterministic::Fifo if found.is_some() => {}
            Deterministic::Lru | Deterministic::Fifo => set.stamps[way] = now,
            Deterministic::TreePlru => set.point_away(way),
            Deterministic::BitPlru => {
                set.bits[way] = true;
                if set.bits.iter().all(|&b| b) {
                    set.bits.fill(false);
                    set.bits[way] = true;
                }
            }
        }
        found.is_some()
    }

    fn victim(self, set: &Set) -> usize {
        match self {
            Deterministic::Lru | Deterministic::Fifo => {
                (0..set.ways).min_by_key(|&way| set.stamps[way]).unwrap_or_default()
            }
            Deterministic::TreePlru => {
                let mut node = 1;
                while node < set.ways {
                    node = 2 * node + usize::from(set.bits[node]);
                }
                node - set.ways
            }
            Deterministic::BitPlru => set.bits.iter().position(|&b| !b).unwrap_or_default(),
        }
    }
}

struct Set {
    held: Vec<usize>,
    stamps: Vec<u64>,
    bits: Vec<bool>,
    ways: usize,
}

impl Set {
    /// Node 1 is the tree's root, the children of node n are 2n and 2n + 1, and a bit that is set points right.
    fn point_away(&mut self, way: usize) {
        let mut node = way + self.ways;
        while node > 1 {
            self.bits[node / 2] = node.is_multiple_of(2);
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn misses(policy: Deterministic, ways: usize, visits: &[usize]) -> Vec<usize> {
        let hits = policy.hits(ways, visits);
        (0..visits.len()).filter(|&i| !hits[i]).collect()
    }

    #[test]
    fn a_use_saves_a_line_from_lru_but_not_from_fifo() {
        let visits = [0, 1, 2, 3, 0, 4, 0, 1];
        assert_eq!(misses(Deterministic::Lru, 4, &visits), [0, 1, 2, 3, 5, 7]);
        assert_eq!(misses(Deterministic::Fifo, 4, &visits), [0, 1, 2, 3, 5, 6, 7]);
    }

    #[test]
    fn a_tree_forgets_what_the_other_half_did() {
        // After 0 1 2 3 the tree points to 0; a use of 0 turns it to the right half, where 3 was last: 2 gives way.
        let visits = [0, 1, 2, 3, 0, 4, 2];
        assert_eq!(misses(Deterministic::TreePlru, 4, &visits), [0, 1, 2, 3, 5, 6]);
        assert_eq!(misses(Deterministic::Lru, 4, &visits), [0, 1, 2, 3, 5]);
    }

    #[test]
    fn bits_give_the_first_way_that_was_not_used() {
        // The use of 3 sets the last bit and clears the others: 0 gives way, though 0 was used after 1.
        let visits = [0, 1, 0, 2, 3, 4, 1, 0];
        assert_eq!(misses(Deterministic::BitPlru, 4, &visits), [0, 1, 3, 4, 5, 7]);
        assert_eq!(misses(Deterministic::Lru, 4, &visits), [0, 1, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn of_one_way_all_are_alike() {
        for policy in Deterministic::ALL {
            assert_eq!(policy.hits(1, &[0, 0, 1, 0]), [false, true, false, false]);
        }
    }
}
