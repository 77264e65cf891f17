//! The comparison as one HTML page: what was compared, the verdict, and a table for each group.

use minijinja::context;
use minijinja::value::Value;

use super::{
    Section, UNMET, origins, restrictions, rule, sections, sources, stated, subject, summary, text, unmet, verdict,
};
use crate::compare::{Comparison, Kind, Row, Side};
use crate::report::page::{self, texts};
use crate::report::plot::Store;
use crate::report::words::{SIMULATED, printable};

/// What stands on the page of every comparison.
pub(super) struct Frame<'a> {
    /// The sides with their letters.
    pub sides: Vec<(&'a str, &'a Side)>,
    /// Nothing differs.
    pub same: bool,
    /// The verdict with its counts.
    pub summary: String,
    /// What a reader must know of the sides, and what alone was asked for.
    pub restrictions: Vec<String>,
    /// When two numbers differ.
    pub rule: String,
}

impl Frame<'_> {
    /// The page of a template whose own part is `content`; the bar leads to `places`, by title and key.
    ///
    /// # Errors
    ///
    /// If the template cannot be filled in.
    pub fn page(&self, template: &str, places: &[(&str, &str)], content: Value) -> Result<String, minijinja::Error> {
        let sides = self.sides.iter().map(|(letter, side)| {
            let facts = [
                side.uuid.clone(),
                side.made.clone(),
                side.driver.as_ref().map(|driver| format!("driver {driver}")),
                side.host.clone(),
            ];
            context! {
                letter => *letter,
                name => printable(&side.name),
                subject => printable(&subject(side)),
                facts => texts(&facts.into_iter().flatten().collect::<Vec<String>>()),
            }
        });
        let all_simulated = self.sides.iter().all(|(_, side)| side.simulated);
        let content = context! {
            simulated => if all_simulated { SIMULATED } else { "" },
            head => Vec::<String>::new(),
            warnings => Vec::<String>::new(),
            sides => sides.collect::<Vec<Value>>(),
            verdict => printable(&self.summary),
            same => self.same,
            restrictions => texts(&self.restrictions),
            rule => printable(&self.rule),
            places => [("Results", "results")].iter().chain(places).map(|(title, key)| page::place(title, key)).collect::<Vec<Value>>(),
            ..content
        };
        page::fill(template, &self.title(), &Store::default(), content)
    }

    /// How many are compared, and of which GPU, if all are of one product.
    fn title(&self) -> String {
        let sides: Vec<&Side> = self.sides.iter().map(|(_, side)| *side).collect();
        match sides[..] {
            [result, published] | [published, result] if published.kind == Kind::Reference => {
                format!("Comparison of {} with published values", result.device)
            }
            [first, ref others @ ..] if others.iter().all(|side| side.device == first.device) => {
                format!("Comparison of {} results of {}", sides.len(), first.device)
            }
            [a, b] => format!("Comparison of {} with {}", a.device, b.device),
            _ => format!("Comparison of {} results", sides.len()),
        }
    }
}

/// The whole comparison.
///
/// # Errors
///
/// If the template cannot be filled in, which would be a fault of the template and not of the comparison.
pub fn html(comparison: &Comparison) -> Result<String, minijinja::Error> {
    let (before, same) = sections(comparison);
    let groups = [
        ("Different", "different"),
        ("Contradicting sources", "contested"),
        ("Cannot be compared", "incomparable"),
        ("Other products", "context"),
    ];
    let before: Vec<_> = groups.into_iter().zip(&before).filter(|(_, group)| !group.rows.is_empty()).collect();
    let alone = [("Known to A only", "only-a", &comparison.only_a), ("Known to B only", "only-b", &comparison.only_b)];
    let alone: Vec<_> = alone.into_iter().filter(|(.., singles)| !singles.is_empty()).collect();
    let sources = sources(comparison);
    let mut places = Vec::new();
    places.extend((!comparison.unmet.is_empty()).then_some(("Required", "unmet")));
    places.extend(before.iter().map(|(place, _)| *place));
    places.extend(alone.iter().map(|(title, key, _)| (*title, *key)));
    places.extend((!same.rows.is_empty()).then_some(("The same", "same")));
    places.extend((!sources.is_empty()).then_some(("Sources", "sources")));
    let frame = Frame {
        sides: vec![("A", &comparison.a), ("B", &comparison.b)],
        same: comparison.same,
        summary: summary(comparison),
        restrictions: restrictions(&comparison.remarks, &comparison.only, &comparison.required),
        rule: rule(comparison),
    };
    let alone = alone.into_iter().map(|(title, key, singles)| {
        context! { key, title, lines => texts(&text::alone(singles)) }
    });
    frame.page(
        "comparison.html",
        &places,
        context! {
            unmet_title => UNMET,
            unmet => texts(&comparison.unmet.iter().map(unmet).collect::<Vec<String>>()),
            before => before.iter().map(|((_, key), group)| table(key, group)).collect::<Vec<Value>>(),
            alone => alone.collect::<Vec<Value>>(),
            same_values => (!same.rows.is_empty()).then(|| table("same", &same)),
            sources => texts(&sources),
            unknown => comparison.unknown.len(),
        },
    )
}

/// A group of rows for its template.
fn table(key: &str, section: &Section<'_>) -> Value {
    let cited = section.rows.iter().any(|row| row.a.citation.is_some() || row.b.citation.is_some());
    let row = |row: &Row| {
        context! {
            place => printable(&row.place),
            a => printable(&stated(&row.a)),
            b => printable(&stated(&row.b)),
            verdict => printable(&judged(row)),
            origin => printable(&origins(row).join("; ")),
        }
    };
    context! { key, title => section.title, cited, rows => section.rows.iter().map(row).collect::<Vec<Value>>() }
}

/// The verdict of a row with its symbol, and how far the values lie apart.
fn judged(row: &Row) -> String {
    let word = match row.agrees {
        Some(true) => "= same",
        Some(false) => "≠ different",
        None => "? not compared",
    };
    verdict(row, false).map_or_else(|| word.to_owned(), |detail| format!("{word}: {detail}"))
}
