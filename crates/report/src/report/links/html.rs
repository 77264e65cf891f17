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
    let there = || QUANTITIES.iter().enumerate().filter(|(_, quantity)| quantity.is_there(links));
    let key = |at: usize| format!("quantity-{}", at + 1);
    let mut places = vec![("GPUs".to_owned(), "gpus".to_owned())];
    places.extend(there().map(|(at, quantity)| (quantity.title.to_owned(), key(at))));
    let lines = head(links);
    let simulated = lines.iter().any(|line| line == SIMULATED);
    let lines: Vec<String> = lines.into_iter().filter(|line| line != SIMULATED).collect();
    let reasons =
        |all: Vec<(String, String)>| texts(&all.iter().map(|(what, why)| format!("{what}: {why}")).collect::<Vec<_>>());
    let content = context! {
        simulated => if simulated { SIMULATED } else { "" },
        head => texts(&lines[1..]),
        warnings => texts(&warnings(links)),
        places => places.iter().map(|(title, key)| page::place(title, key)).collect::<Vec<Value>>(),
        columns => COLUMNS,
        gpus => links.gpus.iter().map(|gpu| texts(&described(links, gpu))).collect::<Vec<Value>>(),
        names => texts(&links.gpus.iter().map(|gpu| gpu.device.clone()).collect::<Vec<_>>()),
        reading => READING,
        quantities => there().map(|(at, quantity)| matrix(links, quantity, &key(at))).collect::<Vec<Value>>(),
        besides => texts(&besides(links)),
        failures => reasons(failures(links)),
        unknowns => reasons(unknowns(links)),
    };
    page::fill("links.html", &lines[0], &Store::default(), content)
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
