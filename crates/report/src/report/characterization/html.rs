//! The report as one HTML page.

use minijinja::context;
use minijinja::value::Value;

use super::advice::{self, Row};
use super::figure::{Grid, description, heading, numbers, plot};
use super::{detail, title, unanswered};
use crate::report::page::{self, Beginning, Entry, texts};
use crate::report::plot::Store;
use crate::report::spoken;
use crate::report::svg;
use crate::report::words::{NO_PICTURE, printable};
use strata_model::characterization::{Characterization, Figure, Part, PartName};
use strata_model::topology::Finding;

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
    let first = [page::place("Costs", "costs")].into_iter();
    let places = first.chain(answer.parts.keys().map(|name| page::place(name.title(), name.key())));
    let content = context! {
        places => places.chain([page::place("Device", "device")]).collect::<Vec<Value>>(),
        advice => advice::rows(answer).iter().map(row).collect::<Vec<Value>>(),
        chapters => chapters,
    };
    page::render("characterization.html", &beginning, &store, content)
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
        attributes => page::attributes(name.key(), &part.findings.iter().map(|(name, finding)| Entry {
            named: name.as_str().into(),
            finding,
            instead: instead(part, name, finding),
            rests_on: None,
        }).collect::<Vec<Entry<'_>>>()),
        figures => part.figures.iter().map(|figure| drawn(figure, store)).collect::<Vec<Value>>(),
    }
}

/// The value of a finding with its time; `None` where the value needs words.
fn instead(part: &Part, name: &str, finding: &Finding) -> Option<String> {
    let spoken = finding.value.as_ref().is_some_and(|value| spoken::value(value).is_some());
    (!spoken).then(|| detail(part, name, finding).value)
}

/// A row of the table of what patterns cost.
fn row(row: &Row) -> Value {
    context! {
        pattern => row.pattern,
        part => row.part.title(),
        cost => printable(&row.cost),
        reason => printable(&row.reason),
        advice => row.advice,
        idle => row.idle,
        link => format!("{}.{}", row.part.key(), row.finding),
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
