//! A fleet as one HTML page: the verdict, then a table for each list.

use minijinja::context;
use minijinja::value::Value;

use super::{
    count, deviation, head, held_against, layout, middle, moved, name, product, range, relative, rule, summary, title,
    value as shown,
};
use crate::fleet::{Fleet, Hosts, Missing, Product};
use crate::report::page::{self, texts};
use crate::report::plot::Store;
use crate::report::words::{SIMULATED, printable};

/// Most rows of a table of GPUs or files: with more, a page is slow. The JSON has all.
const MOST_ROWS: usize = 2000;

/// The whole page.
///
/// # Errors
///
/// If the template cannot be filled in, which would be a fault of the template and not of the fleet.
pub fn html(fleet: &Fleet) -> Result<String, minijinja::Error> {
    let products: Vec<Value> = fleet
        .products
        .iter()
        .enumerate()
        .map(|(at, product)| of_product(&format!("product-{}", at + 1), product))
        .collect();
    let mut places = vec![("Verdict".to_owned(), "verdict".to_owned())];
    places.extend(
        fleet.products.iter().enumerate().map(|(at, product)| (product.name.clone(), format!("product-{}", at + 1))),
    );
    let hosts = fleet.hosts.as_ref().filter(|hosts| !hosts.missing.is_empty() || !hosts.unlisted.is_empty());
    for (is_there, title, key) in [
        (!fleet.changed.is_empty(), "Changed", "changed"),
        (hosts.is_some(), "Hosts", "hosts"),
        (!fleet.skipped.is_empty(), "Skipped files", "skipped"),
    ] {
        if is_there {
            places.push((title.to_owned(), key.to_owned()));
        }
    }
    let simulated = fleet.products.iter().all(|product| product.simulated);
    let head: Vec<String> = head(fleet).into_iter().filter(|line| line != SIMULATED).collect();
    let content = context! {
        simulated => if simulated { SIMULATED } else { "" },
        head => texts(&head),
        warnings => Vec::<String>::new(),
        places => places.iter().map(|(title, key)| page::place(title, key)).collect::<Vec<Value>>(),
        well => fleet.well,
        verdict => printable(&summary(fleet)),
        rule => printable(&rule(fleet)),
        products,
        changed => changed(fleet),
        hosts => hosts.map(of_hosts),
        skipped => rows(&fleet.skipped, |one| texts(&[one.file.clone(), one.reason.clone()])),
        not_read => not_read(fleet),
    };
    page::fill("fleet.html", &title(fleet), &Store::default(), content)
}

/// A list for its table, and how many rows it has no room for.
fn rows<T>(all: &[T], row: impl Fn(&T) -> Value) -> Value {
    let shown: Vec<Value> = all.iter().take(MOST_ROWS).map(row).collect();
    context! { rows => shown, more => all.len().saturating_sub(MOST_ROWS) }
}

fn of_product(key: &str, of: &Product) -> Value {
    let outliers: Vec<Value> = of
        .stand_out
        .iter()
        .flat_map(|one| {
            one.outliers.iter().map(|outlier| {
                let is = shown(&outlier.value, outlier.unit.as_deref(), outlier.low, outlier.high);
                texts(&[name(&one.gpu), outlier.place.clone(), is, held_against(outlier)])
            })
        })
        .collect();
    let layouts = of.layouts.iter().map(|one| {
        context! { title => printable(&layout(one)), named => rows(&one.named, |gpu| printable(&name(gpu)).into()) }
    });
    let attributes = of.attributes.iter().map(|row| {
        context! {
            place => printable(&row.place),
            stand_out => row.stand_out,
            known => row.known,
            unknown => row.unknown,
            middle => printable(&middle(row)),
            deviation => printable(&deviation(row)),
            spread => relative(row),
            range => printable(&range(row)),
            not_judged => row.not_judged.as_deref().map(printable),
        }
    });
    context! {
        key,
        title => printable(&product(of)),
        counted => if of.is_of_links { "Links" } else { "GPUs" },
        named => if of.is_of_links { "Link" } else { "GPU" },
        outliers => rows(&outliers, Value::clone),
        layouts => layouts.collect::<Vec<Value>>(),
        attributes => attributes.collect::<Vec<Value>>(),
    }
}

fn changed(fleet: &Fleet) -> Value {
    let all: Vec<Value> = fleet
        .changed
        .iter()
        .flat_map(|one| {
            one.changes.iter().map(|change| {
                let (before, after, by) = moved(change);
                texts(&[name(&one.gpu), change.place.clone(), before, after, by.unwrap_or_default()])
            })
        })
        .collect();
    rows(&all, Value::clone)
}

fn of_hosts(hosts: &Hosts) -> Value {
    let missing = |one: &Missing| {
        texts(&[one.host.clone(), one.skipped.clone().unwrap_or_else(|| "no file has its name".into())])
    };
    context! {
        expected => hosts.expected,
        missing => rows(&hosts.missing, missing),
        unlisted => rows(&hosts.unlisted, |file| printable(file).into()),
    }
}

/// Files that were passed over.
fn not_read(fleet: &Fleet) -> String {
    let parts = [
        (fleet.earlier_reports, "report of an earlier fleet", "reports of earlier fleets"),
        (fleet.passed_over, "file that is not called *.json", "files that are not called *.json"),
    ];
    let there = parts.into_iter().filter(|(files, ..)| *files > 0);
    let said: Vec<String> = there.map(|(files, one, many)| count(files, one, many)).collect();
    if said.is_empty() { String::new() } else { format!("Passed over: {}.", said.join(", ")) }
}
