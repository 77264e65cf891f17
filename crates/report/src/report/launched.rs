//! How much L1 a kernel gets, for a terminal.

use strata_model::attribute::LaunchRow;
use strata_model::facts::Limit;

use super::Terminal;
use crate::launch::{Basis, LaunchedL1};

/// The answer, why it is so, and what a hint changes.
pub fn text(answer: &LaunchedL1, terminal: &Terminal) -> String {
    let LaunchedL1 { threads_per_block: threads, shared_per_block: shared, blocks_per_sm: blocks, low, high, .. } =
        answer;
    let uuid = answer.uuid.as_ref().map_or(String::new(), |uuid| format!(" ({uuid})"));
    let size = match answer.size {
        Some(size) if low < high => format!("{size} of L1 [{low} to {high}]"),
        Some(size) => format!("{size} of L1"),
        None => format!("{low} to {high} of L1"),
    };
    let mut out = terminal.wrapped_heading(
        &format!("{size} for a kernel with {threads} threads and {shared} of shared memory a block"),
        "  ",
    );
    out.push_str(&terminal.wrapped(&format!("{}{uuid}", answer.device), "", "  "));
    out.push('\n');
    let limit = match answer.limited_by {
        Limit::Threads => "the number of threads limits this",
        Limit::Blocks => "the number of blocks is limited",
        Limit::Shared => "shared memory limits this",
    };
    let needed = answer.shared_needed;
    let (plural, need) = if *blocks == 1 { ("", "It needs") } else { ("s", "Together they need") };
    let mut why = vec![format!("An SM holds {blocks} such block{plural} at a time: {limit}.")];
    if answer.basis != Basis::Fixed {
        why.push("A kernel that uses many registers has fewer blocks, and then perhaps more L1.".to_owned());
    }
    why.push(match (answer.basis, answer.shared_configured) {
        (Basis::Fixed, _) => "On this GPU the L1 is the same for all launches.".to_owned(),
        (_, Some(configured)) => {
            let expected = if answer.basis == Basis::Measured { "sets" } else { "is expected to set" };
            format!("{need} {needed} of shared memory. The driver {expected} {configured} aside; the L1 is the rest.")
        }
        (_, None) => format!("{need} {needed} of shared memory, which the driver sets aside, or more."),
    });
    why.push(match answer.basis {
        Basis::Measured => "This launch was measured.".to_owned(),
        Basis::Neighbours => {
            "This launch was not measured. The interval holds the measured launches around it, and what the \
                              rule says: the driver sets aside what all blocks need."
                .to_owned()
        }
        Basis::Fixed => "Measured with carveout hints and with launches of many shapes.".to_owned(),
    });
    why.iter().for_each(|line| out.push_str(&terminal.wrapped(line, "", "  ")));
    let hints: Vec<String> = answer.with_hint.iter().filter_map(hint).collect();
    if hints.len() > 1 {
        terminal.section(&mut out, "L1 with a carveout hint, by the smallest hint that gives it", &hints);
    }
    out
}

fn hint(row: &LaunchRow) -> Option<String> {
    let aside = row.shared_configured.map_or(String::new(), |configured| format!(" ({configured} set aside)"));
    Some(format!("{} %: {}{aside}", row.carveout_percent?, row.size))
}
