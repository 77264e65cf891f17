//! A fleet for people: the verdict, who stands out, who changed, who is missing, and the spread of each attribute.

mod html;
mod text;

pub use html::html;
pub use text::text;

use strata_model::attribute::Value;

use super::comparison::{percent, stated};
use super::words::SIMULATED;
use crate::compare::Stated;
use crate::fleet::{Change, Changed, Counted, Fleet, Gpu, Hosts, Layout, Moment, Outlier, Product, Spread};

/// Most characters of a moment that are shown: the date and the time to the second.
const MOMENT: usize = 19;

/// A count with its noun: `1 GPU`, `12 GPUs`.
fn count(of: usize, one: &str, many: &str) -> String {
    let digits = of.to_string();
    let start = digits.len() % 3;
    let groups = (0..digits.len()).fold(String::new(), |mut out, at| {
        if at > 0 && (at % 3) == start {
            out.push(',');
        }
        out.push_str(&digits[at..=at]);
        out
    });
    format!("{groups} {}", if of == 1 { one } else { many })
}

fn gpus(of: usize) -> String {
    count(of, "GPU", "GPUs")
}

/// GPUs or links, as what a product is counted in.
fn members(of: usize, product: &Product) -> String {
    if product.is_of_links { count(of, "link", "links") } else { gpus(of) }
}

/// The title: how many GPUs and links, and of which product if there is only one.
fn title(fleet: &Fleet) -> String {
    let links = (fleet.links > 0).then(|| count(fleet.links, "link", "links"));
    let gpus = (fleet.gpus > 0 || links.is_none()).then(|| gpus(fleet.gpus));
    let all = gpus.into_iter().chain(links).collect::<Vec<_>>().join(" and ");
    match &fleet.products[..] {
        [only] => format!("Fleet of {all}: {}", only.name),
        products => {
            let products = products.iter().filter(|product| !product.is_of_links || fleet.gpus == 0).count();
            format!("Fleet of {all} of {}", count(products, "product", "products"))
        }
    }
}

/// What it was made from.
fn head(fleet: &Fleet) -> Vec<String> {
    let mut lines = Vec::new();
    if fleet.products.iter().all(|product| product.simulated) {
        lines.push(SIMULATED.to_owned());
    }
    let when = match (&fleet.first, &fleet.last) {
        (Some(first), Some(last)) if first == last => format!(", {}", moment(first)),
        (Some(first), Some(last)) => format!(", {} to {}", moment(first), moment(last)),
        _ => String::new(),
    };
    let with = match &fleet.versions[..] {
        [only] => format!("strata {}", only.name),
        several => format!("strata {}", words(several)),
    };
    lines.push(format!("{} by {with}{when}", count(fleet.results, "result", "results")));
    if !fleet.only.is_empty() {
        lines.push(format!("Only {}", fleet.only.join(", ")));
    }
    lines
}

/// Words with their counts: `580.95 (12), 575.57 (1)`.
fn words(all: &[Counted]) -> String {
    all.iter().map(|one| format!("{} ({})", one.name, one.results)).collect::<Vec<_>>().join(", ")
}

/// A time to the second, with a blank before the time of day.
fn moment(started: &str) -> String {
    started.chars().take(MOMENT).collect::<String>().replace('T', " ")
}

/// The verdict.
fn summary(fleet: &Fleet) -> String {
    let stand_out = |of_links| -> usize {
        let products = fleet.products.iter().filter(|product| product.is_of_links == of_links);
        products.map(|product| product.stand_out.len()).sum()
    };
    let mut found = Vec::new();
    for (stand_out, one, many) in
        [(stand_out(false), "GPU stands", "GPUs stand"), (stand_out(true), "link stands", "links stand")]
    {
        if stand_out > 0 {
            found.push(format!("{} out", count(stand_out, one, many)));
        }
    }
    let (links, others): (Vec<&Changed>, Vec<&Changed>) =
        fleet.changed.iter().partition(|changed| changed.gpu.peer.is_some());
    for (changed, one, many) in [(others.len(), "GPU", "GPUs"), (links.len(), "link", "links")] {
        if changed > 0 {
            found.push(format!("{} changed", count(changed, one, many)));
        }
    }
    if let Some(Hosts { expected, missing, .. }) = fleet.hosts.as_ref().filter(|hosts| !hosts.missing.is_empty()) {
        let have = if missing.len() == 1 { "has" } else { "have" };
        found.push(format!(
            "{} of {} {have} no result",
            missing.len(),
            count(*expected, "expected host", "expected hosts")
        ));
    }
    let verdict = match &found[..] {
        [] => "Nothing stands out".to_owned(),
        all => all.join("; "),
    };
    let skipped = match fleet.skipped.len() {
        0 => String::new(),
        files => format!("; {} skipped", count(files, "file was", "files were")),
    };
    format!("{verdict}{skipped}.")
}

/// When something stands out.
fn rule(fleet: &Fleet) -> String {
    format!(
        "A measured number stands out if it is at least {} robust standard deviations and {} % away from the median of its \
         product, and its interval does not hold the median. What is counted or built stands out if it differs from the majority. \
         An unknown value never stands out.",
        fleet.least_sigmas, fleet.least_percent
    )
}

/// A product and its drivers.
fn product(product: &Product) -> String {
    let simulated = if product.simulated { " (SIMULATED)" } else { "" };
    let drivers = match &product.drivers[..] {
        [] => String::new(),
        [only] => format!(", driver {}", only.name),
        several => format!(", drivers {}", words(several)),
    };
    format!("{}{simulated}: {}{drivers}", product.name, members(product.gpus, product))
}

/// A layout of dies.
fn layout(layout: &Layout) -> String {
    let sizes: Vec<String> = layout.gpcs.iter().map(u64::to_string).collect();
    let maps = if layout.maps > 1 { format!(", with {} different maps", layout.maps) } else { String::new() };
    format!("GPCs of {} SMs in {}{maps}", sizes.join(", "), gpus(layout.gpus))
}

/// Which GPU or link it is: its host, its file, its name there and its UUID, of a link both.
fn name(gpu: &Gpu) -> String {
    let host = gpu.host.as_ref().map(|host| format!("{host}: "));
    let further = [&gpu.device, &gpu.uuid].into_iter().flatten().map(|part| format!(", {part}"));
    let peer = gpu.peer.as_ref().map(|peer| format!(" to {peer}"));
    host.into_iter().chain([gpu.file.clone()]).chain(further).chain(peer).collect()
}

/// A value with its unit, and with its interval if there is one.
fn value(value: &Value, unit: Option<&str>, low: Option<f64>, high: Option<f64>) -> String {
    stated(&Stated { value: Some(value.clone()), unit: unit.map(str::to_owned), low, high, ..Stated::default() })
}

/// A number without an interval.
fn number(x: f64, unit: Option<&str>) -> String {
    value(&Value::Number(x), unit, None, None)
}

/// A distance with its sign.
fn signed(off: f64) -> String {
    format!("{}{}", if off < 0.0 { "-" } else { "+" }, percent(off.abs()))
}

/// What an outlier is held against, and how far it is off.
fn held_against(outlier: &Outlier) -> String {
    let expected = value(&outlier.expected, outlier.unit.as_deref(), None, None);
    let against = match outlier.majority {
        Some(gpus) => format!("{gpus} of {} have {expected}", outlier.known),
        None => format!("median {expected}"),
    };
    let off = outlier.off_percent.map(signed);
    let sigmas = match (outlier.majority, outlier.off_sigmas) {
        (Some(_), _) => None,
        (None, Some(sigmas)) => Some(format!("{:.0} sigmas", sigmas.abs())),
        (None, None) => Some("more than half have the median".to_owned()),
    };
    let how_far: Vec<String> = off.into_iter().chain(sigmas).collect();
    if how_far.is_empty() { against } else { format!("{against}: {}", how_far.join(", ")) }
}

/// An outlier in a line.
fn outlier(outlier: &Outlier) -> String {
    let is = value(&outlier.value, outlier.unit.as_deref(), None, None);
    format!("{} {is}; {}", outlier.place, held_against(outlier))
}

/// Who changed.
fn changed(changed: &Changed) -> String {
    format!("{} ({})", name(&changed.gpu), count(changed.results, "result", "results"))
}

/// What it was, what it became, and by how much it moved.
fn moved(change: &Change) -> (String, String, Option<String>) {
    let unit = change.unit.as_deref();
    let shown = |at: &Moment| format!("{} on {}", value(&at.value, unit, None, None), moment(&at.started));
    (shown(&change.before), shown(&change.after), change.moved_percent.map(signed))
}

/// A change in a line.
fn change(change: &Change) -> String {
    let (before, after, by) = moved(change);
    let by = by.map_or(String::new(), |by| format!(": {by}"));
    format!("{} {before}, {after}{by}", change.place)
}

/// The middle of a row: the median, or the most frequent value.
fn middle(row: &Spread) -> String {
    let unit = row.unit.as_deref();
    match (row.values.first(), row.median) {
        (Some(most), _) => value(&most.value, unit, None, None),
        (None, Some(median)) => number(median, unit),
        (None, None) => String::new(),
    }
}

/// The median absolute deviation in per cent of the median; of values that are counted or built, how many GPUs have another.
fn deviation(row: &Spread) -> String {
    match (row.values.first(), row.mad, row.median) {
        (Some(most), ..) if most.gpus == row.known => "all equal".to_owned(),
        (Some(most), ..) => count(row.known - most.gpus, "other", "others"),
        (None, Some(0.0), _) => "0 %".to_owned(),
        (None, Some(_), _) if let Some(share) = relative(row) => percent(share * 100.0),
        (None, Some(mad), _) => number(mad, row.unit.as_deref()),
        _ => String::new(),
    }
}

/// The median absolute deviation as a share of the median; of values that are counted or built, the share of the others.
fn relative(row: &Spread) -> Option<f64> {
    match (row.values.first(), row.mad, row.median) {
        (Some(most), ..) => Some((row.known - most.gpus) as f64 / row.known as f64),
        (None, Some(mad), Some(median)) if median != 0.0 => Some(mad / median.abs()),
        _ => None,
    }
}

/// The least and the greatest number, if they differ; of words the others.
fn range(row: &Spread) -> String {
    let unit = row.unit.as_deref();
    match (row.least, row.greatest) {
        (Some(least), Some(greatest)) if least < greatest => {
            let (least, greatest) = (number(least, unit), number(greatest, unit));
            let parts = |text: &str| text.rsplit_once(' ').map(|(number, unit)| (number.to_owned(), unit.to_owned()));
            match (parts(&least), parts(&greatest), parts(&middle(row))) {
                // A unit that all have stands once, beside the median.
                (Some((least, a)), Some((greatest, b)), Some((_, c))) if a == b && b == c => {
                    format!("{least} to {greatest}")
                }
                _ => format!("{least} to {greatest}"),
            }
        }
        (Some(_), Some(_)) => String::new(),
        _ => {
            let others =
                row.values.iter().skip(1).map(|one| format!("{} in {}", value(&one.value, unit, None, None), one.gpus));
            others.collect::<Vec<_>>().join("; ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_groups_of_three_digits() {
        let shown = [0, 1, 12, 999, 1000, 12345, 100_000, 1_234_567].map(gpus);
        let wanted =
            ["0 GPUs", "1 GPU", "12 GPUs", "999 GPUs", "1,000 GPUs", "12,345 GPUs", "100,000 GPUs", "1,234,567 GPUs"];
        assert_eq!(shown, wanted);
    }
}
