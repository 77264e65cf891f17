//! The common part of all HTML pages: one file without external resources, light or dark like the reader's system.
//!
//! What a page says is put together in Rust; how it looks stands in `templates/`. A template escapes every text that it is not
//! told to be markup, and only pictures, style and scripts are. Scripts draw plots to look closer and sort tables; without them,
//! and on paper, the page shows the same findings with static pictures. Its policy lets no script run but its own two, which
//! it knows by their sha256, and asks for nothing from anywhere.

use data_encoding::BASE64;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, HtmlEscape, UndefinedBehavior, context};
use sha2::{Digest, Sha256};

use super::evidence::Shown;
use super::plot::{Numbers, Store};
use super::spoken;
use super::surroundings;
use super::svg::{self, Picture};
use super::words::{self, Detail, SIMULATED, printable};
use strata_model::attribute::Attribute;
use strata_model::facts::DeviceFacts;
use strata_model::topology::{Finding, RunInfo};

/// The templates; by the ending of its name, what stands in each is escaped as HTML.
const TEMPLATES: [(&str, &str); 17] = [
    ("page.html", include_str!("templates/page.html")),
    ("warnings.html", include_str!("templates/warnings.html")),
    ("device.html", include_str!("templates/device.html")),
    ("attributes.html", include_str!("templates/attributes.html")),
    ("evidence.html", include_str!("templates/evidence.html")),
    ("figures.html", include_str!("templates/figures.html")),
    ("report.html", include_str!("templates/report.html")),
    ("characterization.html", include_str!("templates/characterization.html")),
    ("sides.html", include_str!("templates/sides.html")),
    ("comparison.html", include_str!("templates/comparison.html")),
    ("several.html", include_str!("templates/several.html")),
    ("values.html", include_str!("templates/values.html")),
    ("table.html", include_str!("templates/table.html")),
    ("linked.html", include_str!("templates/linked.html")),
    ("node.html", include_str!("templates/node.html")),
    ("fleet.html", include_str!("templates/fleet.html")),
    ("links.html", include_str!("templates/links.html")),
];

/// uPlot, which draws: the version, its origin and its licence are in `templates/vendor/README.md`.
const UPLOT: &str = include_str!("templates/vendor/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("templates/vendor/uPlot.min.css");
const UPLOT_LICENCE: &str = include_str!("templates/vendor/uPlot-LICENSE");
/// What is ours: plots, then the page.
const OURS: &str = concat!(
    include_str!("templates/plots.js"),
    "\n",
    include_str!("templates/marks.js"),
    "\n",
    include_str!("templates/report.js"),
    "\n",
    include_str!("templates/search.js")
);

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

fn style() -> String {
    [UPLOT_STYLE, include_str!("templates/report.css"), &svg::style(), include_str!("templates/print.css")].concat()
}

/// The scripts of a page as their elements hold them.
fn scripts() -> [String; 2] {
    [format!("/*!\nuPlot:\n{UPLOT_LICENCE}*/\n{UPLOT}"), OURS.to_owned()]
}

/// What the browser lets the page do: run its own scripts, look as its style says, and nothing else.
fn policy() -> String {
    let hashes = scripts().map(|script| format!("'sha256-{}'", BASE64.encode(&Sha256::digest(script))));
    format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
        hashes.join(" ")
    )
}

/// The page of a template about one device, whose own part is `content`.
///
/// # Errors
///
/// If the template cannot be filled in, which would be a fault of the template and not of the answer.
pub(super) fn render(
    template: &str,
    beginning: &Beginning<'_>,
    plots: &Store,
    content: Value,
) -> Result<String, minijinja::Error> {
    let Beginning { title, device, run, replayed_from } = beginning;
    let head = words::head(device, run, *replayed_from);
    let head: Vec<String> = head.into_iter().filter(|line| line != SIMULATED).collect();
    let content = context! {
        simulated => if run.simulated { SIMULATED } else { "" },
        head => texts(&head),
        warnings => texts(&run.warnings),
        facts => texts(&words::device(device)),
        surroundings_title => surroundings::TITLE,
        surroundings => texts(&surroundings::lines(run)),
        ..content
    };
    fill(template, title, plots, content)
}

/// The page of any template. `content` says, beside the template's own part, what is simulated, and has the lines of the head and
/// the warnings.
///
/// # Errors
///
/// As [`render`].
pub(super) fn fill(template: &str, title: &str, plots: &Store, content: Value) -> Result<String, minijinja::Error> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    // Lines that only steer the template leave no line behind.
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?);
    env.add_filter("code", code);
    for (name, text) in TEMPLATES {
        env.add_template(name, text)?;
    }
    env.get_template(template)?.render(context! {
        style => Value::from_safe_string(style()),
        policy => policy(),
        scripts => scripts().map(Value::from_safe_string).to_vec(),
        plots => Value::from_safe_string(plots.json()),
        title => printable(title),
        ..content
    })
}

/// A sentence as markup: what stands between two backticks is code. All of it is escaped.
fn code(text: &str) -> Value {
    let mut markup = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, (inside, after))) = rest.split_once('`').and_then(|(b, a)| Some((b, a.split_once('`')?))) {
        markup.push_str(&format!("{}<code>{}</code>", HtmlEscape(before), HtmlEscape(inside)));
        rest = after;
    }
    Value::from_safe_string(format!("{markup}{}", HtmlEscape(rest)))
}

/// A name with what it means, if a sentence says that.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    /// The key in a result.
    pub name: &'a str,
    /// What people call it, where the key is not that.
    pub title: Option<&'a str>,
    /// The sentence.
    pub about: Option<&'a str>,
}

impl From<Attribute> for Named<'_> {
    fn from(attribute: Attribute) -> Self {
        Named { name: attribute.key(), title: Some(attribute.title()), about: Some(attribute.about()) }
    }
}

impl<'a> From<&'a str> for Named<'a> {
    fn from(name: &'a str) -> Self {
        Named { name, title: None, about: None }
    }
}

/// A key in the parts between which a line may end.
pub(super) fn parts(key: &str) -> Vec<String> {
    key.split_inclusive('_').map(str::to_owned).collect()
}

impl Named<'_> {
    /// For its template: the key in parts, between which a line may end. `within` names the section.
    fn value(&self, within: &str) -> Value {
        let name = printable(self.name);
        let parts = parts(&name);
        let id = format!("{within}.{name}");
        context! { key => name, parts, title => self.title, about => self.about, id }
    }
}

/// A finding in a list.
pub(super) struct Entry<'a> {
    /// Its name.
    pub named: Named<'a>,
    /// The finding.
    pub finding: &'a Finding,
    /// Stands in the place of a value that no text can show.
    pub instead: Option<String>,
    /// What it rests on.
    pub rests_on: Option<Shown>,
}

/// The findings of a section: those with a value, then each reason why there is none, once, with all that it holds for.
pub(super) fn attributes(within: &str, entries: &[Entry<'_>]) -> Vec<Value> {
    let known = entries.iter().filter(|entry| entry.finding.is_known()).map(|entry| {
        let detail = Detail::of(entry.finding);
        let value = entry.instead.clone().or_else(|| spoken::value(entry.finding.value.as_ref()?));
        context! {
            names => vec![entry.named.value(within)],
            value => printable(&value.unwrap_or(detail.value.clone())),
            how => how(&detail),
            known => true,
            evidence => evidence(entry.rests_on.as_ref()),
        }
    });
    let mut reasons: Vec<(String, Vec<&Entry<'_>>)> = Vec::new();
    for entry in entries.iter().filter(|entry| !entry.finding.is_known()) {
        let reason = printable(&words::reason(entry.finding));
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, all)) => all.push(entry),
            None => reasons.push((reason, vec![entry])),
        }
    }
    let unknown = reasons.into_iter().map(|(reason, all)| {
        let rests_on = all.iter().find_map(|entry| entry.rests_on.as_ref());
        context! {
            names => all.iter().map(|entry| entry.named.value(within)).collect::<Vec<Value>>(),
            value => "unknown",
            how => reason,
            known => false,
            evidence => evidence(rests_on),
        }
    });
    known.chain(unknown).collect()
}

/// Source, method and note.
pub(super) fn how(detail: &Detail) -> String {
    let whole = Detail { value: String::new(), ..detail.clone() }.to_string();
    printable(whole.trim_start_matches([',', ':', ' ']))
}

/// What a finding rests on, for its template; nothing where there is nothing to draw.
fn evidence(rests_on: Option<&Shown>) -> Option<Value> {
    let shown = rests_on.filter(|shown| !shown.panels.is_empty())?;
    let panel = |panel: &super::evidence::Panel| {
        let numbers: Vec<String> = panel.plots.iter().map(usize::to_string).collect();
        context! {
            plots => numbers.join(" "),
            // Marks hold numbers and our own words, so this cannot fail.
            marks => serde_json::to_string(&panel.marks).unwrap_or_default(),
        }
    };
    Some(
        context! { experiments => shown.experiments.as_str(), panels => shown.panels.iter().map(panel).collect::<Value>() },
    )
}

/// A place that the bar of a page leads to: its name, and the key of its section.
pub(super) fn place(name: &str, key: &str) -> Value {
    context! { name => printable(name), key }
}

/// A figure with its numbers: a picture and the number of its plot, where there are any, under this name, with these words.
pub(super) fn figure<'a>(
    (picture, plot): (Option<&Picture>, Option<usize>),
    named: impl Into<Named<'a>>,
    words: [&str; 2],
    numbers: &Numbers,
    rests_on: Option<&Shown>,
) -> Value {
    let Named { name, about, .. } = named.into();
    let rows = numbers.rows.iter().map(|row| texts(row));
    context! {
        about,
        svg => Value::from_safe_string(picture.map(Picture::inline).unwrap_or_default()),
        plot => plot,
        attribute => printable(name),
        description => printable(words[0]),
        how => printable(words[1]),
        head => texts(&numbers.head),
        rows => rows.collect::<Value>(),
        evidence => evidence(rests_on),
    }
}

/// Texts without what cannot be seen.
pub(super) fn texts(lines: &[String]) -> Value {
    lines.iter().map(|line| printable(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_others_is_what_its_readme_says() {
        let readme = include_str!("templates/vendor/README.md");
        for (name, text) in [("uPlot.iife.min.js", UPLOT), ("uPlot.min.css", UPLOT_STYLE)] {
            let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(text));
            assert!(readme.contains(&format!("{digest}  {name}\n")), "{name} is {digest}");
        }
        assert!(readme.contains("1.6.32") && UPLOT.contains("(v1.6.32)"));
    }

    #[test]
    fn what_stands_between_backticks_is_code_and_escaped() {
        assert_eq!(
            code("in ascending `%smid`, <b> `a<b`").to_string(),
            "in ascending <code>%smid</code>, &lt;b&gt; <code>a&lt;b</code>"
        );
        assert_eq!(
            code("one ` alone & `two` more `").to_string(),
            "one <code> alone &amp; </code>two<code> more </code>"
        );
        assert_eq!(code("a ` stays").to_string(), "a ` stays");
    }

    #[test]
    fn no_script_ends_its_element() {
        for script in scripts() {
            assert!(!script.contains("</") && !script.contains("<!--"));
        }
    }
}
