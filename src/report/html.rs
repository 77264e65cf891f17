//! The report as one HTML page: no scripts, nothing from elsewhere, light or dark as the reader's system is.
//!
//! What a page says is put together here; how it looks stands in `templates/`. The template escapes every text that it is
//! not told to be markup, and only pictures and style are.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior, context};

use super::plots::{self, PICTURED, Plot};
use super::svg;
use super::words::{self, COLUMNS, Detail, NO_PICTURE, SIMULATED, printable};
use crate::topology::{Element, ElementName, Topology};

/// Name of the template: by its ending, what stands in it is escaped as HTML.
const PAGE: &str = "report.html";

/// The whole report.
///
/// # Errors
///
/// If the template cannot be filled in, which would be a fault of the template and not of the topology.
pub fn html(topology: &Topology) -> Result<String, minijinja::Error> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    // Lines that only steer the template leave no line behind.
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?);
    env.add_template(PAGE, include_str!("templates/report.html"))?;
    let columns = COLUMNS.iter().map(|c| context! { title => c.title, unit => c.unit, numeric => c.numeric });
    let rows = topology.elements.iter().map(|(name, element)| {
        let cells = words::row(*name, element);
        context! { key => name.key(), name => cells[0].as_str(), cells => texts(&cells[1..]) }
    });
    let chapters = topology.elements.iter().map(|(name, element)| chapter(*name, element));
    let head: Vec<String> = words::head(topology).into_iter().filter(|line| line != SIMULATED).collect();
    env.get_template(PAGE)?.render(context! {
        style => Value::from_safe_string(format!("{}{}", include_str!("templates/report.css"), svg::style())),
        simulated => if topology.run.simulated { SIMULATED } else { "" },
        device => printable(&topology.device.name),
        head => texts(&head),
        warnings => texts(&topology.run.warnings),
        columns => columns.collect::<Value>(),
        rows => rows.collect::<Value>(),
        legend => words::LEGEND,
        facts => texts(&words::device(topology)),
        chapters => chapters.collect::<Value>(),
    })
}

/// The section of an element.
fn chapter(name: ElementName, element: &Element) -> Value {
    let plots = plots::of(name, element);
    let mut attributes = Vec::new();
    let mut figures = Vec::new();
    for (attribute, finding) in words::attributes(element) {
        if !finding.is_known() {
            let reason = printable(&words::reason(finding));
            attributes.push(context! { name => attribute, value => "unknown", how => reason, known => false });
            continue;
        }
        match plots.iter().find(|p| p.attribute == attribute) {
            Some(plot) => figures.push(figure(plot, &Detail::of(finding))),
            None => {
                let value =
                    if PICTURED.contains(&attribute) { NO_PICTURE.to_owned() } else { Detail::of(finding).value };
                let how = how(&Detail::of(finding));
                attributes.push(context! { name => attribute, value => printable(&value), how => how, known => true });
            }
        }
    }
    context! { key => name.key(), title => name.title(), attributes => attributes, figures => figures }
}

/// Source, method and note.
fn how(detail: &Detail) -> String {
    let whole = Detail { value: String::new(), ..detail.clone() }.to_string();
    printable(whole.trim_start_matches([',', ':', ' ']))
}

fn figure(plot: &Plot, detail: &Detail) -> Value {
    let rows = plot.numbers.rows.iter().map(|row| texts(row));
    context! {
        svg => Value::from_safe_string(plot.picture.inline()),
        attribute => plot.attribute,
        description => printable(plot.picture.description()),
        how => how(detail),
        head => texts(&plot.numbers.head),
        rows => rows.collect::<Value>(),
    }
}

fn texts(lines: &[String]) -> Value {
    lines.iter().map(|line| printable(line)).collect()
}
