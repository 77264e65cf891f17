//! The links of a node as GitHub-flavoured Markdown: a table of each quantity.

use super::{COLUMNS, QUANTITIES, Quantity, READING, besides, described, failures, head, symmetry, unknowns, warnings};
use crate::report::markdown::{grid, list, plain, section};
use crate::report::words::SIMULATED;
use strata_model::links::Links;

/// The whole report.
pub fn markdown(links: &Links) -> String {
    let lines = head(links);
    let mut out = String::new();
    if lines.iter().any(|line| line == SIMULATED) {
        out += &format!("**{SIMULATED}**\n\n");
    }
    let mut lines = lines.into_iter().filter(|line| line != SIMULATED);
    out += &format!("# {}\n\n", plain(&lines.next().unwrap_or_default()));
    list(&mut out, lines);
    section(&mut out, "Warnings", warnings(links).into_iter());
    sections(&mut out, links, "GPUs");
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// The sections of a report that has links; the first, with this title, describes the GPUs.
pub(in crate::report) fn sections(out: &mut String, links: &Links, title: &str) {
    *out += &format!("## {title}\n\n");
    grid(out, &COLUMNS.map(str::to_owned), links.gpus.iter().map(|gpu| described(links, gpu).to_vec()));
    *out += &format!("\n{READING}\n\n");
    list(out, besides(links).into_iter());
    for quantity in QUANTITIES.iter().filter(|quantity| quantity.is_there(links)) {
        *out += &format!("## {}\n\n", plain(quantity.title));
        matrix(out, links, quantity);
        out.push('\n');
        if let Some(line) = symmetry(links, quantity) {
            *out += &format!("{}\n\n", plain(&line));
        }
    }
    let reasons = |all: Vec<(String, String)>| all.into_iter().map(|(what, why)| format!("{what}: {why}"));
    section(out, "Links not measured", reasons(failures(links)));
    section(out, "Unknown", reasons(unknowns(links)));
}

fn matrix(out: &mut String, links: &Links, quantity: &Quantity) {
    let names = || links.gpus.iter().map(|gpu| gpu.device.clone());
    let titles: Vec<String> = [String::new()].into_iter().chain(names()).collect();
    let row = |from: String| {
        let cells: Vec<String> = names().map(|to| quantity.cell(links.link(&from, &to))).collect();
        [from].into_iter().chain(cells).collect()
    };
    grid(out, &titles, names().map(row));
}
