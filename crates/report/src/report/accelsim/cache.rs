//! Caches as GPGPU-Sim writes them: `type:sets:line:ways,replacement:write:allocation:write allocation:index,mshrs…,queues…`.

use std::fmt;

/// Bytes of a sector and sectors of a line of the simulator's sectored caches, which are built into it.
const SECTOR: u64 = 32;
const SECTORS: u64 = 4;
/// Sets for which the simulator has a polynomial hash, and those for which it has the hash of Fermi.
const HASHED_SETS: [u64; 3] = [16, 32, 64];
const FERMI_SETS: [u64; 2] = [32, 64];
/// Fewest ways that a search for a geometry leaves: those that the tuner of Accel-Sim assumes of an L2.
const LEAST_WAYS: u64 = 16;

/// What stands before the first comma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    /// Misses bring in sectors of 32 bytes, and not lines.
    pub is_sectored: bool,
    pub sets: u64,
    pub line: u64,
    pub ways: u64,
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Geometry { is_sectored, sets, line, ways } = self;
        write!(f, "{}:{sets}:{line}:{ways}", if *is_sectored { 'S' } else { 'N' })
    }
}

impl Geometry {
    /// Of a shipped configuration.
    pub fn of(cache: &str) -> Option<Self> {
        let mut fields = cache.split(',').next()?.split(':');
        let is_sectored = fields.next()? == "S";
        let mut number = || fields.next()?.parse().ok();
        Some(Geometry { is_sectored, sets: number()?, line: number()?, ways: number()? })
    }

    /// Whether the simulator takes it: it finds a set by bits of the address, and knows one kind of sector.
    pub fn is_possible(&self) -> bool {
        let sectors = !self.is_sectored || self.line == SECTOR * SECTORS;
        self.sets.is_power_of_two() && self.line.is_power_of_two() && self.ways > 0 && sectors
    }

    /// One of so many bytes, with the most sets that leave sixteen ways or more.
    pub fn of_size(bytes: u64, line: u64, is_sectored: bool) -> Option<Self> {
        let lines = bytes.checked_div(line).filter(|lines| *lines > 0 && lines * line == bytes)?;
        let fits = |shift: &u32| {
            let sets = 1 << shift;
            lines.is_multiple_of(sets) && lines / sets >= LEAST_WAYS
        };
        let sets = 1 << (0..lines.ilog2()).rev().find(fits).unwrap_or(0);
        Some(Geometry { is_sectored, sets, line, ways: lines / sets }).filter(Geometry::is_possible)
    }

    /// The letter of the set index: a polynomial hash where the simulator has one, and parities of bits otherwise.
    pub fn hash(&self) -> char {
        if self.takes('P') { 'P' } else { 'X' }
    }

    /// Whether the simulator has the set index of this letter for so many sets.
    pub fn takes(&self, index: char) -> bool {
        match index {
            'P' => HASHED_SETS.contains(&self.sets),
            'H' => FERMI_SETS.contains(&self.sets),
            _ => true,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.sets.saturating_mul(self.line).saturating_mul(self.ways)
    }
}

/// Whether a line of so many bytes that is fetched by so many is sectored for the simulator.
pub(super) fn is_sectored(line: u64, fetch: u64) -> bool {
    line == SECTOR * SECTORS && fetch < line
}

/// The letters between the first and the second comma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Letters {
    pub replacement: char,
    pub write: char,
    pub allocation: char,
    pub write_allocation: char,
    pub index: char,
}

impl Letters {
    /// Of a shipped configuration.
    pub fn of(cache: &str) -> Option<Self> {
        let mut letters = cache.split(',').nth(1)?.split(':').map(|field| field.chars().next());
        let mut letter = || letters.next()?;
        Some(Letters {
            replacement: letter()?,
            write: letter()?,
            allocation: letter()?,
            write_allocation: letter()?,
            index: letter()?,
        })
    }
}

/// A cache like that of a shipped configuration, with this geometry and these letters. All behind them stays.
pub(super) fn like(shipped: &str, geometry: Geometry, letters: Letters) -> String {
    let Letters { replacement, write, allocation, write_allocation, index } = letters;
    let rest: Vec<&str> = shipped.split(',').skip(2).collect();
    format!("{geometry},{replacement}:{write}:{allocation}:{write_allocation}:{index},{}", rest.join(","))
}
