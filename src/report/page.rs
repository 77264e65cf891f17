//! What the pages for a browser have in common: no scripts, nothing from elsewhere, light or dark as the reader's system is.
//!
//! What a page says is put together in Rust; how it looks stands in `templates/`. A template escapes every text that it is not
//! told to be markup, and only pictures and style are.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior, context};

use super::svg::{self, Numbers, Picture};
use super::words::{self, Detail, SIMULATED, printable};
use crate::gpu::DeviceFacts;
use crate::topology::{Finding, RunInfo};

/// The templates; by the ending of its name, what stands in each is escaped as HTML.
const TEMPLATES: [(&str, &str); 6] = [
    ("page.html", include_str!("templates/page.html")),
    ("device.html", include_str!("templates/device.html")),
    ("attributes.html", include_str!("templates/attributes.html")),
    ("figures.html", include_str!("templates/figures.html")),
    ("report.html", include_str!("templates/report.html")),
    ("costs.html", include_str!("templates/costs.html")),
];

/// What a page begins with.
pub(super) struct Beginning<'a> {
    /// Its title.
    pub title: String,
    /// The device.
    pub device: &'a DeviceFacts,
    /// The run.
    pub run: &'a RunInfo,
    /// The recording, of a replay.
    pub replayed_from: Option<&'a str>,
}

/// The page of a template, whose own part is `content`.
///
/// # Errors
///
/// If the template cannot be filled in, which would be a fault of the template and not of the answer.
pub(super) fn render(template: &str, beginning: &Beginning<'_>, content: Value) -> Result<String, minijinja::Error> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    // Lines that only steer the template leave no line behind.
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?);
    for (name, text) in TEMPLATES {
        env.add_template(name, text)?;
    }
    let Beginning { title, device, run, replayed_from } = beginning;
    let head = words::head(device, run, *replayed_from);
    let head: Vec<String> = head.into_iter().filter(|line| line != SIMULATED).collect();
    env.get_template(template)?.render(context! {
        style => Value::from_safe_string(format!("{}{}", include_str!("templates/report.css"), svg::style())),
        simulated => if run.simulated { SIMULATED } else { "" },
        title => printable(title),
        head => texts(&head),
        warnings => texts(&run.warnings),
        facts => texts(&words::device(device)),
        ..content
    })
}

/// A finding in a list; `instead` stands in the place of a value that no text can show.
pub(super) fn attribute(name: &str, finding: &Finding, instead: Option<&str>) -> Value {
    let name = printable(name);
    if !finding.is_known() {
        let reason = printable(&words::reason(finding));
        return context! { name => name, value => "unknown", how => reason, known => false };
    }
    let detail = Detail::of(finding);
    let value = printable(instead.unwrap_or(&detail.value));
    context! { name => name, value => value, how => how(&detail), known => true }
}

/// Source, method and note.
pub(super) fn how(detail: &Detail) -> String {
    let whole = Detail { value: String::new(), ..detail.clone() }.to_string();
    printable(whole.trim_start_matches([',', ':', ' ']))
}

/// A figure with its numbers: a picture, where there is one, under this name, with these words.
pub(super) fn figure(picture: Option<&Picture>, name: &str, words: [&str; 2], numbers: &Numbers) -> Value {
    let rows = numbers.rows.iter().map(|row| texts(row));
    context! {
        svg => Value::from_safe_string(picture.map(Picture::inline).unwrap_or_default()),
        attribute => printable(name),
        description => printable(words[0]),
        how => printable(words[1]),
        head => texts(&numbers.head),
        rows => rows.collect::<Value>(),
    }
}

/// Texts without what cannot be seen.
pub(super) fn texts(lines: &[String]) -> Value {
    lines.iter().map(|line| printable(line)).collect()
}
