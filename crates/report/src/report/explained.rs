//! What attributes, elements and terms mean, for people.

use strata_model::attribute::{Attribute, Explanation, Path};
use strata_model::glossary::{GLOSSARY, Term};
use strata_model::topology::ElementName;

use super::terminal::Terminal;
use strata_model::names::advice;

/// Explains an attribute (`size`, `l1.size`), an element (`l1`) or a term of the glossary.
///
/// # Errors
///
/// If there is none of this name; with names that are near to it.
pub fn explained(name: &str, terminal: &Terminal) -> Result<String, String> {
    let wanted = name.trim();
    if let Ok(element) = wanted.parse() {
        return Ok(of_element(element, terminal));
    }
    let attributes = attributes(wanted);
    if !attributes.is_empty() {
        return Ok(of_attributes(None, &attributes, terminal));
    }
    if let Some((element, attribute)) = wanted.split_once('.') {
        let element: ElementName = element.parse().map_err(|_| no("element", element, elements()))?;
        let attributes = self::attributes(attribute);
        if attributes.is_empty() {
            let known = element.attributes().map(Attribute::key);
            return Err(no("attribute", attribute, known));
        }
        return Ok(of_attributes(Some(element), &attributes, terminal));
    }
    if let Some(term) = GLOSSARY.iter().find(|term| term.term.eq_ignore_ascii_case(wanted)) {
        return Ok(of_term(term, terminal));
    }
    let attributes = Attribute::ALL.iter().map(|attribute| attribute.key());
    Err(no("attribute, element or term", wanted, elements().chain(attributes).chain(GLOSSARY.iter().map(|t| t.term))))
}

/// The terms of the field, as strata uses them.
pub fn glossary(terminal: &Terminal) -> String {
    GLOSSARY.iter().map(|term| of_term(term, terminal)).collect()
}

fn no<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> String {
    format!("no {what} `{name}`; {}", advice(name, known))
}

fn elements() -> impl Iterator<Item = &'static str> {
    ElementName::ALL.into_iter().map(ElementName::key)
}

/// The attributes of a name: of an object, such as `latency`, all that are in it; of a part, the whole.
fn attributes(name: &str) -> Vec<Attribute> {
    let named: Vec<Attribute> = Attribute::ALL.iter().filter(|attribute| attribute.is_called(name)).copied().collect();
    if !named.is_empty() {
        return named;
    }
    let parts =
        Attribute::ALL.iter().filter(|attribute| Path::parts(**attribute).any(|(path, _)| path.to_string() == name));
    parts.copied().collect()
}

fn of_term(term: &Term, terminal: &Terminal) -> String {
    terminal.wrapped_heading(term.term, "") + &terminal.wrapped(term.meaning, "  ", "  ")
}

fn of_element(element: ElementName, terminal: &Terminal) -> String {
    let mut out = terminal.wrapped_heading(&format!("{} ({})", element.title(), element.key()), "  ");
    paragraph(&mut out, terminal, "What it is", element.about());
    paragraph(&mut out, terminal, "Where it is used", element.used());
    let attributes: Vec<String> =
        element.attributes().map(|attribute| format!("{element}.{attribute}: {}", attribute.about())).collect();
    terminal.section(&mut out, "Attributes, of which a GPU may have some only", &attributes);
    out
}

fn of_attributes(element: Option<ElementName>, attributes: &[Attribute], terminal: &Terminal) -> String {
    let of = |attribute: &Attribute| {
        let (title, key) = (attribute.title(), attribute.key());
        let named = match element {
            Some(element) => format!("{title} of {} ({element}.{key})", element.title()),
            None => format!("{title} ({key})"),
        };
        let unit = match attribute.unit() {
            "" => String::new(),
            unit => format!(", in {unit}"),
        };
        let mut out = terminal.wrapped_heading(&format!("{named}{unit}"), "  ");
        let Explanation { found, fails, used, .. } = attribute.explained();
        paragraph(&mut out, terminal, "What it is", attribute.about());
        paragraph(&mut out, terminal, "How it is found", found);
        paragraph(&mut out, terminal, "How it fails", fails);
        paragraph(&mut out, terminal, "Where it is used", used);
        out
    };
    let foot =
        element.filter(|element| attributes.iter().all(|attribute| element.attributes().all(|a| a != *attribute)));
    let foot = foot.map_or(String::new(), |element| {
        format!("\n{}", terminal.wrapped(&format!("strata looks for no such attribute of {element}."), "", ""))
    });
    attributes.iter().map(of).collect::<Vec<_>>().join("\n") + &foot
}

fn paragraph(out: &mut String, terminal: &Terminal, title: &str, text: &str) {
    terminal.section(out, title, &[text.to_owned()]);
}
