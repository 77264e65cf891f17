//! The report as one HTML page.

use minijinja::context;
use minijinja::value::Value;

use super::diagram;
use super::page::{self, Beginning, texts};
use super::plots::{self, PICTURED};
use super::words::{self, COLUMNS, Detail, NO_PICTURE};
use crate::topology::{Element, ElementName, Topology};

/// The whole report.
///
/// # Errors
///
/// If the template cannot be filled in, which would be a fault of the template and not of the topology.
pub fn html(topology: &Topology) -> Result<String, minijinja::Error> {
    let columns = COLUMNS.iter().map(|c| context! { title => c.title, unit => c.unit, numeric => c.numeric });
    let rows = topology.elements.iter().map(|(name, element)| {
        let cells = words::row(*name, element);
        context! { key => name.key(), name => cells[0].as_str(), cells => texts(&cells[1..]) }
    });
    let chapters = topology.elements.iter().map(|(name, element)| chapter(*name, element));
    let beginning = Beginning {
        title: format!("Memory hierarchy of {}", topology.device.name),
        device: &topology.device,
        run: &topology.run,
        replayed_from: topology.replayed_from.as_deref(),
    };
    let content = context! {
        columns => columns.collect::<Value>(),
        rows => rows.collect::<Value>(),
        legend => words::LEGEND,
        diagram => Value::from_safe_string(diagram::picture(topology).map(|p| p.inline()).unwrap_or_default()),
        chapters => chapters.collect::<Value>(),
    };
    page::render("report.html", &beginning, content)
}

/// The section of an element.
fn chapter(name: ElementName, element: &Element) -> Value {
    let plots = plots::of(name, element);
    let mut attributes = Vec::new();
    let mut figures = Vec::new();
    for (attribute, finding) in words::attributes(element) {
        match plots.iter().find(|p| p.attribute == attribute && finding.is_known()) {
            Some(plot) => {
                let how = page::how(&Detail::of(finding));
                let words = [plot.picture.description(), &how];
                figures.push(page::figure(Some(&plot.picture), attribute, words, &plot.numbers));
            }
            None => {
                let instead = PICTURED.contains(&attribute).then_some(NO_PICTURE);
                attributes.push(page::attribute(attribute, finding, instead));
            }
        }
    }
    context! { key => name.key(), title => name.title(), attributes => attributes, figures => figures }
}
