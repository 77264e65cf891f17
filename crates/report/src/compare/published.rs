//! Published values as one side of a comparison.

use super::comparison::{Citation, Kind, Side, Stated, Surety};
use super::content::Content;
use super::curve;
use super::place::{Place, Subject};
use super::statement::{Claim, Statement, content};
use crate::reference::{self, Of, Published, Reference, Sure};
use strata_model::names::{advice, sentence};
use strata_model::topology::Finding;

/// Which published values are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked<'a> {
    /// Those of a device: its name, and its compute capability if it is one of NVIDIA's. Values of other products of its chip
    /// or architecture are context.
    Device(&'a str, Option<(u32, u32)>),
    /// Those of a chip (`gh100`) or product (`H100 NVL`, `h100-nvl`); all of them decide.
    Named(&'a str),
}

/// Why there are none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReference {
    /// Nothing is built in for this device.
    #[error(
        "there are no published values for `{0}` or its architecture; `strata compare --list-references` lists all, and \
         `reference:NAME` selects one"
    )]
    Device(String),
    /// Nothing is built in under this name.
    #[error("unknown reference `{name}`; {advice} `strata compare --list-references` lists all, with their products")]
    Named {
        /// What was asked for.
        name: String,
        /// Which names are near, or all of them.
        advice: String,
    },
    /// A built-in file is broken; a fault of the program.
    #[error(transparent)]
    Defect(#[from] reference::Defect),
}

/// Which of a reference's products decide.
struct Chosen {
    reference: Reference,
    deciding: Vec<String>,
}

/// The statement of what is published. `kind` is that of the other side: a topology is not compared with what access patterns
/// cost, nor the other way round.
///
/// # Errors
///
/// If nothing is built in for what is asked.
pub fn published(asked: Asked<'_>, kind: Kind) -> Result<Statement, NoReference> {
    let all = reference::all()?;
    let (chosen, by) = match asked {
        Asked::Named(name) => (named(all, name), "named"),
        Asked::Device(name, capability) => device(all, name, capability),
    };
    if chosen.is_empty() {
        return Err(match asked {
            Asked::Named(name) => {
                NoReference::Named { name: name.to_owned(), advice: sentence(advice(name, reference::names())) }
            }
            Asked::Device(name, _) => NoReference::Device(name.to_owned()),
        });
    }
    let names: Vec<&str> = chosen.iter().map(|c| c.reference.name.as_str()).collect();
    let entries: Vec<String> = chosen.iter().map(|c| entry(c, by)).collect();
    let side = Side {
        name: format!("reference:{}", names.join("+")),
        kind: Kind::Reference,
        device: entries.join("; "),
        uuid: None,
        simulated: false,
        driver: None,
        host: None,
        made: None,
    };
    let mut statement = Statement::new(side, "not published");
    for Chosen { reference, deciding } in &chosen {
        for value in &reference.values {
            let context = !deciding.contains(&value.product);
            if let Some((place, claim)) = claim(value, context) {
                let matters = match place.subject {
                    Subject::Element(_) | Subject::Device => kind != Kind::Characterization,
                    Subject::Part(_) => matches!(kind, Kind::Characterization | Kind::Reference),
                };
                if matters {
                    statement.add(place, claim);
                }
            }
        }
    }
    Ok(statement)
}

fn named(all: Vec<Reference>, name: &str) -> Vec<Chosen> {
    let plain = |text: &str| text.to_lowercase().replace(' ', "-");
    let wanted = plain(name);
    let choose = |reference: Reference| {
        let whole = plain(&reference.name) == wanted;
        let deciding: Vec<String> =
            reference.products().filter(|product| whole || plain(product) == wanted).map(str::to_owned).collect();
        (!deciding.is_empty()).then_some(Chosen { reference, deciding })
    };
    let mut chosen: Vec<Chosen> = all.into_iter().filter_map(choose).collect();
    // Of a product that is named, the others of its chip are not asked for.
    for Chosen { reference, deciding } in &mut chosen {
        reference.values.retain(|value| deciding.contains(&value.product));
    }
    chosen
}

fn device(all: Vec<Reference>, name: &str, capability: Option<(u32, u32)>) -> (Vec<Chosen>, &'static str) {
    let with = |reference: Reference| {
        let deciding = reference.products_of(name).into_iter().map(str::to_owned).collect();
        Chosen { reference, deciding }
    };
    let (by_name, others): (Vec<Chosen>, Vec<Chosen>) = all.into_iter().map(with).partition(|c| !c.deciding.is_empty());
    if !by_name.is_empty() {
        return (by_name, "matched by the GPU's name");
    }
    let of_architecture = others.into_iter().filter(|c| Some(c.reference.compute_capability) == capability);
    (of_architecture.collect(), "matched by compute capability")
}

fn entry(chosen: &Chosen, by: &str) -> String {
    let Reference { chip, architecture, .. } = &chosen.reference;
    let of = |context: bool| {
        let mut products: Vec<&str> = Vec::new();
        for value in &chosen.reference.values {
            if chosen.deciding.contains(&value.product) != context && !products.contains(&value.product.as_str()) {
                products.push(&value.product);
            }
        }
        products.join(", ")
    };
    let (deciding, context) = (of(false), of(true));
    let deciding = if deciding.is_empty() { "nothing for this product".to_owned() } else { deciding };
    let context = if context.is_empty() { String::new() } else { format!("; as context {context}") };
    format!("{chip} ({architecture}), {by}: {deciding}{context}")
}

/// A value with its place.
fn claim(value: &Published, context: bool) -> Option<(Place, Claim)> {
    let place = match &value.of {
        Of::Element(element, attribute) => Place::of_element(*element, *attribute),
        Of::Part(part, finding) => Place::of_part(*part, finding),
        Of::Device(fact) => Place::of_device(*fact),
    };
    let unit = value.unit.map(str::to_owned);
    let finding =
        Finding { value: value.value.clone(), unit, low: value.low, high: value.high, ..Finding::unknown("") };
    let citation = Citation {
        product: value.product.clone(),
        source: value.source.clone(),
        title: value.title.clone(),
        surety: match value.sure {
            Sure::Read => Surety::Read,
            Sure::Recalled => Surety::Recalled,
        },
    };
    let content = match &value.ways_at[..] {
        [] => content(&finding)?,
        ways => Content::Curve(curve::of_ways(ways)),
    };
    let points = content.points();
    let stated = Stated {
        value: finding.value.filter(|_| points.is_none()),
        unit: finding.unit,
        low: value.low,
        high: value.high,
        points,
        citation: Some(citation),
        note: value.note.clone(),
        ..Stated::default()
    };
    let claim = Claim::Known { content, stated: Box::new(stated), context };
    Some((place, claim))
}
