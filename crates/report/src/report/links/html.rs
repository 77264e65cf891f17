//! The links of a node as one HTML page: a heat map of each quantity.

use minijinja::context;
use minijinja::value::Value;

use super::{COLUMNS, QUANTITIES, Quantity, READING, besides, described, failures, head, symmetry, unknowns, warnings};
use crate::report::page::{self, texts};
use crate::report::plot::Store;
use crate::report::svg::heat;
use crate::report::words::{self, SIMULATED, printable};
use strata_model::links::{Link, Links};

/// The whole page.
///
/// # Errors
///
/// If the template cannot be filled in, which would be a fault of the template and not of the links.
pub fn html(links: &Links) -> Result<String, minijinja::Error> {
    let lines = head(links);
    let simulated = lines.iter().any(|line| line == SIMULATED);
    let lines: Vec<String> = lines.into_iter().filter(|line| line != SIMULATED).collect();
    let content = context! {
        simulated => if simulated { SIMULATED } else { "" },
        head => texts(&lines[1..]),
        warnings => texts(&warnings(links)),
        places => places(links, FIRST),
        links => content(links, FIRST),
    };
    page::fill("links.html", &lines[0], &Store::default(), content)
}

/// The section that describes the GPUs: key and title.
const FIRST: [&str; 2] = ["gpus", "GPUs"];

/// The quantities of which something is said, each with the key of its section.
fn there(links: &Links) -> impl Iterator<Item = (String, &'static Quantity)> {
    let numbered = QUANTITIES.iter().enumerate().filter(|(_, quantity)| quantity.is_there(links));
    numbered.map(|(at, quantity)| (format!("quantity-{}", at + 1), quantity))
}

/// Where the bar of a page leads to. The first section has this key and title.
pub(in crate::report) fn places(links: &Links, [key, title]: [&str; 2]) -> Vec<Value> {
    let quantities = there(links).map(|(key, quantity)| page::place(quantity.title, &key));
    [page::place(title, key)].into_iter().chain(quantities).collect()
}

/// The links for the template of their part of a page.
pub(in crate::report) fn content(links: &Links, [key, title]: [&str; 2]) -> Value {
    let reasons =
        |all: Vec<(String, String)>| texts(&all.iter().map(|(what, why)| format!("{what}: {why}")).collect::<Vec<_>>());
    let rows = links.gpus.iter().map(|gpu| texts(&described(links, gpu)));
    context! {
        key,
        title,
        table => context! { label => title, columns => COLUMNS, rows => rows.collect::<Vec<Value>>() },
        names => texts(&links.gpus.iter().map(|gpu| gpu.device.clone()).collect::<Vec<_>>()),
        reading => READING,
        quantities => there(links).map(|(key, quantity)| matrix(links, quantity, &key)).collect::<Vec<Value>>(),
        besides => texts(&besides(links)),
        failures => reasons(failures(links)),
        unknowns => reasons(unknowns(links)),
    }
}

/// The heat map of a quantity: the lightest cell is the smallest number.
fn matrix(links: &Links, quantity: &Quantity, key: &str) -> Value {
    let number = |link: &Link| quantity.finding(link.topology.as_ref()?)?.number();
    let all = || links.links.iter().filter_map(number);
    let (least, most) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
    let cell = |from: &str, to: &str| {
        let link = links.link(from, to);
        let finding = link.and_then(|link| quantity.finding(link.topology.as_ref()?));
        let shade = finding.and_then(|finding| finding.number()).map(|number| {
            let share = if most > least { (number - least) / (most - least) } else { 0.0 };
            heat(share)
        });
        let range = finding.map(|finding| match (finding.low, finding.high) {
            (Some(low), Some(high)) => format!("{from} to {to}: {} to {}", quantity.shown(low), quantity.shown(high)),
            _ if finding.is_known() => format!("{from} to {to}"),
            _ => words::reason(finding),
        });
        context! { text => quantity.cell(link), shade, hint => range.as_deref().map(printable) }
    };
    let rows = links.gpus.iter().map(|from| {
        let cells = links.gpus.iter().map(|to| cell(&from.device, &to.device));
        context! { name => printable(&from.device), cells => cells.collect::<Vec<Value>>() }
    });
    context! {
        key,
        title => quantity.title,
        rows => rows.collect::<Vec<Value>>(),
        symmetry => symmetry(links, quantity).as_deref().map(printable),
    }
}
