//! What patterns cost on this GPU, and what to do about it: the table that a characterization opens with.
//!
//! The costs are findings. The advice is the one that programmers of GPUs know, and it is given where the cost here is worth it.

use super::figure::compact;
use crate::report::words::{self, Detail};
use strata_model::characterization::{Characterization, PartName};
use strata_model::topology::Finding;

/// From so many percent on, a cost is worth a change of a program: less is about what runs differ by.
const WORTH_PERCENT: f64 = 5.0;
/// From so many cycles an operation on, a cost is worth a change: less than the time to issue an instruction.
const WORTH_CYCLES: f64 = 1.0;
/// From so many times as long on, a cost is worth a change.
const WORTH_TIMES: f64 = 1.1;

/// From so many percent on, a multiple is easier to read.
const MANY_PERCENT: f64 = 200.0;
/// From this number on, fractions say nothing.
const WHOLE: f64 = 100.0;

/// How a finding says what a pattern costs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cost {
    /// So many percent longer.
    Percent,
    /// So many cycles, and for what.
    Cycles(&'static str),
    /// So many times as long.
    Times,
    /// A number that a program should reach or stay below, and of what; no cost of its own.
    Limit(&'static str),
}

/// A pattern, by the finding that has its cost.
struct Pattern {
    part: PartName,
    finding: &'static str,
    pattern: &'static str,
    cost: Cost,
    /// Where it costs something.
    advice: &'static str,
    /// Where it costs nothing, or saves something.
    otherwise: &'static str,
}

/// A row of the table.
pub(super) struct Row {
    pub part: PartName,
    pub finding: &'static str,
    pub pattern: &'static str,
    /// What it costs here; a question mark where that is unknown.
    pub cost: String,
    /// Why it is unknown.
    pub reason: String,
    pub advice: &'static str,
    /// It costs nothing here, or nothing is known.
    pub idle: bool,
}

const fn pattern(
    part: PartName,
    finding: &'static str,
    pattern: &'static str,
    cost: Cost,
    [advice, otherwise]: [&'static str; 2],
) -> Pattern {
    Pattern { part, finding, pattern, cost, advice, otherwise }
}

const PATTERNS: [Pattern; 21] = [
    pattern(
        PartName::Coalescing,
        "slowdown_from_memory",
        "Threads of a warp read words of memory that are far apart",
        Cost::Percent,
        ["Let neighbouring threads read neighbouring words.", "Distances between threads cost nothing here."],
    ),
    pattern(
        PartName::Coalescing,
        "slowdown_of_writes",
        "Threads of a warp write words that are far apart",
        Cost::Percent,
        ["Let neighbouring threads write neighbouring words.", "Distances between threads cost nothing here."],
    ),
    pattern(
        PartName::Coalescing,
        "field_of_64_b_structure",
        "Threads read one field of structures of 64 B",
        Cost::Percent,
        ["Keep a field that is read alone in an array of its own.", "Structures cost no more than arrays here."],
    ),
    pattern(
        PartName::Coalescing,
        "misaligned_start",
        "A warp reads neighbouring words that are not aligned",
        Cost::Cycles("per read"),
        ["Align what a warp reads to 128 B.", "Alignment does not matter here."],
    ),
    pattern(
        PartName::Coalescing,
        "ca_conflict_cycles",
        "Words in the same bank of the L1",
        Cost::Cycles("per further word"),
        ["Use distances of an odd number of words.", "Banks of the L1 cost nothing here."],
    ),
    pattern(
        PartName::Banks,
        "conflict_cycles",
        "Bank conflict in shared memory",
        Cost::Cycles("per further row"),
        ["Pad the rows of squares; the finding “padding” says by how much.", "Bank conflicts cost nothing here."],
    ),
    pattern(
        PartName::Synchronization,
        "slowdown_by_barriers",
        "A barrier of the block after each write",
        Cost::Percent,
        ["Let threads do more work between two barriers.", "Barriers hide behind the writes here."],
    ),
    pattern(
        PartName::Synchronization,
        "grid_barrier",
        "A barrier of the whole grid",
        Cost::Cycles("per barrier"),
        ["Prefer barriers of a block; let work between grid barriers be long.", "It costs nothing here."],
    ),
    pattern(
        PartName::Spilling,
        "slowdown_most_threads",
        "More variables than registers, with many threads",
        Cost::Percent,
        ["Use fewer variables in a thread, or fewer threads in a block.", "Spilled variables cost nothing here."],
    ),
    pattern(
        PartName::Spilling,
        "slowdown_fewest_threads",
        "More variables than registers, with few threads",
        Cost::Percent,
        ["Use fewer variables in a thread.", "Spilled variables cost nothing here."],
    ),
    pattern(
        PartName::Constant,
        "further_word_4_b_apart",
        "Lanes of a warp load different constants",
        Cost::Cycles("per further word"),
        [
            "Let all lanes load the same constant, or keep the table elsewhere.",
            "Different constants cost nothing here.",
        ],
    ),
    pattern(
        PartName::ReadOnly,
        "cold_difference",
        "Words from memory by ld.global.nc instead of ld.global.ca",
        Cost::Percent,
        ["Use ld.global.ca.", "It takes no longer: use either."],
    ),
    pattern(
        PartName::Texture2d,
        "array_rows_from_memory",
        "Rows of a CUDA array instead of linear memory",
        Cost::Percent,
        ["Keep what is read by rows in linear memory.", "A CUDA array costs nothing for rows."],
    ),
    pattern(
        PartName::Texture2d,
        "array_columns_from_memory",
        "Columns of a CUDA array instead of linear memory",
        Cost::Percent,
        ["Keep what is read by columns in linear memory.", "For columns use a CUDA array where it takes less time."],
    ),
    pattern(
        PartName::Histogram,
        "global_against_shared_0",
        "Global atomics instead of shared ones",
        Cost::Times,
        ["Count in shared memory, and add the counters of blocks at the end.", "Global atomics cost no more here."],
    ),
    pattern(
        PartName::Intensity,
        "balance_global",
        "Few operations on a word from global memory",
        Cost::Limit("multiply-adds per word"),
        ["Do at least so many operations on each loaded word; with fewer, memory is the limit.", ""],
    ),
    pattern(
        PartName::Intensity,
        "balance_shared",
        "Few operations on a word from shared memory",
        Cost::Limit("multiply-adds per word"),
        ["Do at least so many operations on each loaded word; keep words in registers.", ""],
    ),
    pattern(
        PartName::Operands,
        "shared_against_registers",
        "Operands in shared memory instead of registers",
        Cost::Times,
        ["Load operands that are used several times into registers.", "Shared memory is as fast as registers here."],
    ),
    pattern(
        PartName::Roofline,
        "balance_dram",
        "Few operations for each byte from DRAM",
        Cost::Limit("operations per byte"),
        [
            "Do at least so many operations for each byte, or keep more of the data in the L2; with fewer, DRAM is the limit.",
            "",
        ],
    ),
    pattern(
        PartName::Roofline,
        "balance_l2",
        "Few operations for each byte from the L2",
        Cost::Limit("operations per byte"),
        [
            "Do at least so many operations for each byte, or keep tiles in shared memory; with fewer, the L2 is the limit.",
            "",
        ],
    ),
    pattern(
        PartName::Roofline,
        "balance_shared",
        "Few operations for each byte from shared memory",
        Cost::Limit("operations per byte"),
        [
            "Do at least so many operations for each byte, or keep words in registers; with fewer, shared memory is the limit.",
            "",
        ],
    ),
];

/// The rows of the patterns that were measured, in the order of the report; those of a part whose costs are worth more stay in
/// the order of the table.
pub(super) fn rows(answer: &Characterization) -> Vec<Row> {
    let of_part = |part: &PartName| {
        let part = *part;
        PATTERNS.iter().filter(move |pattern| pattern.part == part)
    };
    let found =
        |pattern: &'static Pattern| Some(row(pattern, answer.parts.get(&pattern.part)?.findings.get(pattern.finding)?));
    answer.parts.keys().flat_map(of_part).filter_map(found).collect()
}

fn row(pattern: &'static Pattern, finding: &Finding) -> Row {
    let Pattern { part, finding: name, pattern: what, cost, advice, otherwise } = pattern;
    let (cost, worth, reason) = match finding.number() {
        Some(number) => (cost.words(number), cost.is_worth(number), String::new()),
        None if finding.is_known() => (Detail::of(finding).value, true, String::new()),
        None => (words::UNKNOWN.to_owned(), false, words::reason(finding)),
    };
    let advice = match (finding.is_known(), worth) {
        (false, _) => "Unknown here: no advice.",
        (true, true) => *advice,
        (true, false) => *otherwise,
    };
    let gain = finding.number().is_some_and(|number| pattern.cost.is_worth(-number));
    Row { part: *part, finding: name, pattern: what, cost, reason, advice, idle: !worth && !gain }
}

impl Cost {
    fn words(self, number: f64) -> String {
        match self {
            Cost::Percent if number >= MANY_PERCENT => format!("{} times as long", shown(1.0 + number / 100.0)),
            Cost::Percent if number < 0.0 => format!("{} % less time", shown(-number)),
            Cost::Percent => format!("{} % more time", shown(number)),
            Cost::Cycles(what) if shown(number) == "1" => format!("1 cycle {what}"),
            Cost::Cycles(what) => format!("{} cycles {what}", shown(number)),
            Cost::Times => format!("{} times as long", shown(number)),
            Cost::Limit(what) => format!("{} {what}", shown(number)),
        }
    }

    fn is_worth(self, number: f64) -> bool {
        match self {
            Cost::Percent => number >= WORTH_PERCENT,
            Cost::Cycles(_) => number >= WORTH_CYCLES,
            Cost::Times => number >= WORTH_TIMES,
            Cost::Limit(_) => true,
        }
    }
}

/// A number as a sentence has it: three digits, and whole from a hundred on.
fn shown(number: f64) -> String {
    if number.abs() >= WHOLE { format!("{number:.0}") } else { compact(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_depends_on_what_was_measured() {
        let pattern = &PATTERNS[0];
        let costly = row(pattern, &Finding::measured(1320.4, "by hand").any());
        assert_eq!((costly.cost.as_str(), costly.advice, costly.idle), ("14.2 times as long", pattern.advice, false));
        let free = row(pattern, &Finding::measured(-0.5, "by hand").any());
        assert_eq!((free.cost.as_str(), free.advice, free.idle), ("0.5 % less time", pattern.otherwise, true));
        let unknown = row(pattern, &Finding::unknown("no memory"));
        assert_eq!((unknown.cost.as_str(), unknown.reason.as_str(), unknown.idle), ("?", "no memory", true));
    }
}
