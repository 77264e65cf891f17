//! The report as one HTML page.

use minijinja::context;
use minijinja::value::Value as Context;

use super::diagram;
use super::evidence::Exhibits;
use super::overview;
use super::page::{self, Beginning, Entry};
use super::plot::Plot;
use super::plots;
use super::spoken;
use super::svg::{self, Picture};
use super::words::{self, COLUMNS, Detail, NO_PICTURE, printable};
use strata_model::attribute::{Attribute, Value};
use strata_model::evidence::Evidence;
use strata_model::topology::{Element, ElementName, Finding, Topology};

/// The whole report. Findings show what they rest on as far as `evidence` has it.
///
/// # Errors
///
/// If the template cannot be filled in, which would be a fault of the template and not of the topology.
pub fn html(topology: &Topology, evidence: &Evidence) -> Result<String, minijinja::Error> {
    let columns = COLUMNS.iter().map(|c| context! { title => c.title, unit => c.unit, numeric => c.numeric });
    let mut exhibits = Exhibits::new(evidence);
    let chapters: Vec<Context> =
        topology.elements.iter().map(|(name, element)| chapter(*name, element, &mut exhibits)).collect();
    let findings = topology.elements.iter().flat_map(|(name, element)| {
        let all = element.reported().map(|(attribute, finding)| listed(*name, element, attribute, finding));
        all.collect::<Vec<Context>>()
    });
    let beginning = Beginning {
        title: format!("Memory hierarchy of {}", topology.device.name),
        device: &topology.device,
        run: &topology.run,
        replayed_from: topology.replayed_from.as_deref(),
    };
    let overview = overview::of(topology, evidence).and_then(|overview| {
        let plot = Plot::from(overview.plot);
        let picture = svg::picture(&plot)?;
        Some(context! {
            svg => Context::from_safe_string(picture.inline()),
            plot => exhibits.store.keep(&plot),
            description => printable(picture.description()),
            left_out => overview.left_out,
        })
    });
    let general = [("Overview", "overview"), ("Findings", "findings"), ("Glossary", "glossary"), ("Device", "device")];
    let places = general.into_iter().chain(topology.elements.keys().map(|name| (name.title(), name.key())));
    let places = places.map(|(name, key)| page::place(name, key));
    let drawing = diagram::picture(topology);
    let rows: Context = words::rows(topology).map(|(name, element, cells)| row(name, element, &cells)).collect();
    let content = context! {
        places => places.collect::<Vec<Context>>(),
        overview => overview,
        columns => columns.collect::<Context>(),
        rows => rows,
        named => named(topology),
        legend => words::legend(topology),
        diagram => Context::from_safe_string(drawing.as_ref().map(Picture::inline).unwrap_or_default()),
        diagram_ratio => drawing.as_ref().map(Picture::ratio),
        chapters => chapters,
        findings => findings.collect::<Context>(),
        glossary => glossary(topology),
    };
    page::render("report.html", &beginning, &exhibits.store, content)
}

/// What the attributes on the page mean.
fn glossary(topology: &Topology) -> Context {
    let occurs =
        |attribute: &Attribute| topology.elements.values().any(|element| element.finding(*attribute).is_some());
    let entry = |attribute: Attribute| {
        context! { key => attribute.key(), parts => page::parts(attribute.key()), title => attribute.title(), about => attribute.about(), unit => attribute.unit() }
    };
    Attribute::in_report_order().into_iter().filter(occurs).map(entry).collect()
}

/// What was asked for by name, unless a picture shows it.
fn named(topology: &Topology) -> Context {
    let values = words::by_name(topology).into_iter().filter(|(_, attribute, _)| !attribute.is_pictured());
    values
        .map(|(name, attribute, value)| context! { key => name.key(), parts => page::parts(attribute.key()), value })
        .collect()
}

/// A row of the summary: cells with what they are sorted by, and intervals.
fn row(name: ElementName, element: &Element, cells: &[String]) -> Context {
    let behind = words::behind(element);
    let cell = |(text, finding): (&String, &Option<&Finding>)| {
        context! {
            text => printable(text),
            interval => finding.and_then(interval),
            order => finding.and_then(order),
        }
    };
    context! {
        key => name.key(),
        name => cells[0].as_str(),
        cells => cells.iter().zip(&behind).skip(1).map(cell).collect::<Context>(),
    }
}

/// An interval that is more than its value, in few words.
fn interval(finding: &Finding) -> Option<String> {
    match (finding.low, finding.high) {
        (Some(low), Some(high)) if low < high && finding.is_known() => {
            // A table has room for tenths.
            let short = |x: f64| words::amount(finding, (x * 10.0).round() / 10.0);
            let (low, high) = (short(low), short(high));
            (low != high).then(|| format!("{low} to {high}"))
        }
        _ => None,
    }
}

/// What a value is sorted by: a number as itself, in base units, everything else as text; unknown is not sorted.
fn order(finding: &Finding) -> Option<String> {
    match (finding.value.as_ref()?, finding.number()) {
        (Value::Bytes(_) | Value::Count(_) | Value::Ways(_), Some(number)) => Some(number.to_string()),
        // With a point, as JSON has it.
        (_, Some(number)) => Some(format!("{number:?}")),
        (value, None) => Some(printable(&spoken::value(value).unwrap_or_else(|| words::alone(finding)))),
    }
}

/// A finding as a row of the table of all of them.
fn listed(name: ElementName, element: &Element, attribute: Attribute, finding: &Finding) -> Context {
    let detail = Detail::of(finding);
    let value = match finding.is_known() {
        false => "?".to_owned(),
        true if attribute.is_pictured() => "in its figure".to_owned(),
        true => finding.value.as_ref().and_then(spoken::value).unwrap_or_else(|| words::alone(finding)),
    };
    let why = match finding.is_known() {
        true => page::how(&Detail { source: None, ..detail.clone() }),
        false => words::reason(finding),
    };
    // A reason that holds for several stands at the first of them.
    let first =
        element.reported().find(|(_, other)| !other.is_known() && words::reason(other) == words::reason(finding));
    let first = first.map(|(first, _)| first).filter(|first| !finding.is_known() && *first != attribute);
    let bound = |x: Option<f64>| context! { text => x.map(|x| words::amount(finding, x)), order => x };
    context! {
        key => name.key(),
        element => name.title(),
        attribute => attribute.key(),
        about => attribute.about(),
        value => printable(&value),
        order => if attribute.is_pictured() { None } else { order(finding) },
        low => bound(finding.low),
        high => bound(finding.high),
        level => finding.level.map(|level| format!("{:.0} %", level * 100.0)),
        level_order => finding.level,
        source => detail.source,
        why => first.map_or_else(|| printable(&why), |first| format!("as {name} {first}")),
    }
}

/// The section of an element.
fn chapter(name: ElementName, element: &Element, exhibits: &mut Exhibits<'_>) -> Context {
    let below = |from, to| {
        let finding = element.finding(Attribute::Staircase);
        finding.map(|finding| exhibits.misses_below(finding, from, to)).unwrap_or_default()
    };
    let plots: Vec<plots::Drawn> = plots::of(name, element).into_iter().map(|drawn| drawn.with_flat(below)).collect();
    let mut entries = Vec::new();
    let mut figures = Vec::new();
    for (attribute, finding) in words::attributes(element) {
        let shown = exhibits.of(attribute, finding, element);
        match plots.iter().find(|p| p.attribute == attribute && finding.is_known()) {
            Some(plot) => {
                let how = page::how(&Detail::of(finding));
                let words = [plot.picture.description(), &how];
                let drawn = (Some(&plot.picture), exhibits.store.keep(&plot.plot));
                figures.push(page::figure(drawn, attribute, words, &plot.plot.numbers(), shown.as_ref()));
            }
            None => entries.push(Entry {
                named: attribute.into(),
                finding,
                instead: attribute.is_pictured().then(|| NO_PICTURE.to_owned()),
                rests_on: shown,
            }),
        }
    }
    let attributes = page::attributes(name.key(), &entries);
    for plot in plots::series::of(name, element) {
        let (named, drawn) = (plot.name(", "), (Some(&plot.picture), exhibits.store.keep(&plot.plot)));
        figures.push(page::figure(drawn, &*named, [plot.picture.description(), ""], &plot.plot.numbers(), None));
    }
    context! { key => name.key(), title => name.title(), attributes => attributes, figures => figures }
}
