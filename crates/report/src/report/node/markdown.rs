//! A node as GitHub-flavoured Markdown: its GPUs, their values beside each other, and a table of each quantity of its links.

use super::{SEPARATELY, all_warnings, failures, head, links, rows, titles, values};
use crate::report::comparison::several::Named;
use crate::report::links as linked;
use crate::report::markdown::{grid, list, plain, section};
use crate::report::words::SIMULATED;
use strata_model::node::Node;

/// The whole report.
pub fn markdown(node: &Node) -> String {
    let mut out = String::new();
    let (lines, links) = (head(node), links(node));
    if lines.iter().any(|line| line == SIMULATED) {
        out += &format!("**{SIMULATED}**\n\n");
    }
    out += &format!("# {}\n\n", plain(&super::title(node)));
    list(&mut out, lines.into_iter().filter(|line| line != SIMULATED));
    section(&mut out, "Warnings", all_warnings(node, links.as_ref()).into_iter());
    out += "## GPUs\n\n";
    grid(&mut out, &titles(node), rows(node).into_iter());
    out += &format!("\n{SEPARATELY}\n\n");
    section(&mut out, "Not measured", failures(node).into_iter().map(|(gpu, why)| format!("{gpu}: {why}")));
    if let Some(answer) = values(node) {
        Named::new(&answer).markdown(&mut out);
    }
    if let Some(links) = &links {
        linked::sections(&mut out, links, "Links");
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}
