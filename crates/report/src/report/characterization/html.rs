//! The report as one HTML page.

use minijinja::context;
use minijinja::value::Value;

use super::figure::{Grid, description, heading, numbers, plot};
use super::{detail, title, unanswered};
use crate::report::page::{self, Beginning, texts};
use crate::report::plot::Store;
use crate::report::svg;
use crate::report::words::{NO_PICTURE, printable};
use strata_model::characterization::{Characterization, Figure, Part, PartName};

/// The whole report.
///
/// # Errors
///
/// If the template cannot be filled in, which would be a fault of the template and not of the answer.
pub fn html(answer: &Characterization) -> Result<String, minijinja::Error> {
    let beginning = Beginning {
        title: title(answer),
        device: &answer.device,
        run: &answer.run,
        replayed_from: answer.replayed_from.as_deref(),
    };
    let mut store = Store::default();
    let chapters: Vec<Value> = answer.parts.iter().map(|(name, part)| chapter(*name, part, &mut store)).collect();
    page::render("characterization.html", &beginning, &store, context! { chapters => chapters })
}

/// The section of a part.
fn chapter(name: PartName, part: &Part, store: &mut Store) -> Value {
    let missing: Vec<String> = part.figures.iter().flat_map(missing).collect();
    context! {
        key => name.key(),
        title => name.title(),
        question => printable(&part.question),
        unanswered => printable(&unanswered(part).unwrap_or_default()),
        meaning => texts(&part.meaning),
        missing => texts(&missing),
        attributes => part.findings.iter().map(|(name, finding)| {
            let detail = detail(part, name, finding);
            page::attribute(name.as_str(), finding, Some(&detail.value), None)
        }).collect::<Value>(),
        figures => part.figures.iter().map(|figure| drawn(figure, store)).collect::<Vec<Value>>(),
    }
}

fn missing(figure: &Figure) -> Vec<String> {
    Grid::of(figure).missing().into_iter().map(|line| format!("{}: {line}", figure.title)).collect()
}

fn drawn(figure: &Figure, store: &mut Store) -> Value {
    let plot = plot(figure);
    let picture = svg::picture(&plot);
    let instead = if picture.is_some() { "" } else { NO_PICTURE };
    let words = format!("{}. {}", heading(&figure.y), description(figure));
    page::figure(
        (picture.as_ref(), store.keep(&plot)),
        figure.title.as_str(),
        [&words, instead],
        &numbers(figure),
        None,
    )
}
