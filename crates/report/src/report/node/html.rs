//! A node as one HTML page: its GPUs, their values beside each other, and heat maps of its links.

use minijinja::context;
use minijinja::value::Value;

use super::{SEPARATELY, all_warnings, failures, head, links, rows, titles, values};
use crate::report::comparison::several::Named;
use crate::report::links as linked;
use crate::report::page::{self, texts};
use crate::report::plot::Store;
use crate::report::words::{SIMULATED, printable};
use strata_model::node::Node;

/// The section of the links: key and title.
const LINKS: [&str; 2] = ["links", "Links"];

/// The whole page.
///
/// # Errors
///
/// If the template cannot be filled in, which would be a fault of the template and not of the node.
pub fn html(node: &Node) -> Result<String, minijinja::Error> {
    let lines = head(node);
    let simulated = lines.iter().any(|line| line == SIMULATED);
    let lines: Vec<String> = lines.into_iter().filter(|line| line != SIMULATED).collect();
    let answer = values(node);
    let named = answer.as_ref().map(Named::new);
    let links = links(node);
    let mut places = vec![page::place("GPUs", "gpus")];
    places.extend(named.iter().flat_map(|named| named.sections()).map(|(title, key)| page::place(title, key)));
    places.extend(links.iter().flat_map(|links| linked::places(links, LINKS)));
    let failures: Vec<String> = failures(node).iter().map(|(gpu, why)| format!("{gpu}: {why}")).collect();
    let rows = rows(node).iter().map(|row| texts(row)).collect::<Vec<Value>>();
    let content = context! {
        simulated => if simulated { SIMULATED } else { "" },
        head => texts(&lines),
        warnings => texts(&all_warnings(node, links.as_ref())),
        places,
        gpus => context! { label => "GPUs", columns => titles(node), rows },
        failures => texts(&failures),
        separately => SEPARATELY,
        links => links.as_ref().map(|links| linked::content(links, LINKS)),
        ..named.as_ref().map_or_else(|| context! { verdict => (), groups => () }, Named::page)
    };
    page::fill("node.html", &printable(&super::title(node)), &Store::default(), content)
}
