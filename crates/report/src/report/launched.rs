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
        Limit::Threads => "its threads limit that",
        Limit::Blocks => "there is a limit for blocks",
        Limit::Shared => "its shared memory limits that",
    };
    let needed = answer.shared_needed;
    let mut why = vec![format!(
        "An SM holds {blocks} such block{} at a time: {limit}. A kernel that uses many registers has fewer, and then perhaps \
         more L1.",
        if *blocks == 1 { "" } else { "s" }
    )];
    why.push(match (answer.basis, answer.shared_configured) {
        (Basis::Fixed, _) => "On this GPU the L1 is the same for all launches.".to_owned(),
        (_, Some(configured)) => {
            format!(
                "Together they need {needed} of shared memory. The driver sets {configured} aside; the L1 is the rest."
            )
        }
        (_, None) => format!("Together they need {needed} of shared memory, which the driver sets aside, or more."),
    });
    why.push(match answer.basis {
        Basis::Measured => "This launch was measured.".to_owned(),
        Basis::Neighbours => "This launch was not measured. The answer is that of measured launches with more and with fewer \
                              threads, with more and with less shared memory, and of the rule that the driver sets aside \
                              what all blocks need."
            .to_owned(),
        Basis::Fixed => "Measured with all carveout hints.".to_owned(),
    });
    why.iter().for_each(|line| out.push_str(&terminal.wrapped(line, "", "  ")));
    let hints: Vec<String> = answer.with_hint.iter().filter_map(hint).collect();
    if hints.len() > 1 {
        terminal.section(&mut out, "With a carveout hint, from so many per cent on", &hints);
    }
    out
}

fn hint(row: &LaunchRow) -> Option<String> {
    let aside = row.shared_configured.map_or(String::new(), |configured| format!(" ({configured} set aside)"));
    Some(format!("{} %: {}{aside}", row.carveout_percent?, row.size))
}
