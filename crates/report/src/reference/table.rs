//! A file of published values: its keys, and what is checked of them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::Value as Json;

use strata_model::attribute::{Path, Value};
use strata_model::characterization::PartName;
use strata_model::topology::ElementName;

/// Name and version of the files.
const SCHEMA: &str = "strata/reference/1";

/// Words in a GPU's name that make it another product than the one of the same number without them.
const VARIANTS: [&str; 5] = ["ti", "super", "laptop", "mobile", "max"];

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("reference/{file}.toml: {what}")]
pub struct Defect {
    file: String,
    what: String,
}

/// How sure a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sure {
    /// Read in the source itself.
    Read,
    /// Recalled from the literature, to be checked before it is relied on.
    Recalled,
}

/// Unit of a published number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Unit {
    /// Bytes.
    B,
    /// 1024 bytes. Sources write KB for it, too.
    KiB,
    /// 1024 KiB.
    MiB,
    /// 1024 MiB.
    GiB,
    /// Cycles of the SM's clock.
    #[serde(rename = "cycles")]
    Cycles,
    /// Entries of a TLB, or of a set of one.
    #[serde(rename = "entries")]
    Entries,
    /// Sets of a cache or TLB.
    #[serde(rename = "sets")]
    Sets,
    /// Lines of a set.
    #[serde(rename = "lines")]
    Lines,
    /// Per cent.
    #[serde(rename = "%")]
    Percent,
}

impl Unit {
    /// The unit that findings have, and how many of it this one is.
    pub fn base(self) -> (&'static str, f64) {
        match self {
            Unit::B => ("B", 1.0),
            Unit::KiB => ("B", 1024.0),
            Unit::MiB => ("B", 1024.0 * 1024.0),
            Unit::GiB => ("B", 1024.0 * 1024.0 * 1024.0),
            Unit::Cycles => ("cycles", 1.0),
            Unit::Entries => ("entries", 1.0),
            Unit::Sets => ("sets", 1.0),
            Unit::Lines => ("lines", 1.0),
            Unit::Percent => ("%", 1.0),
        }
    }
}

/// A product of a chip.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Product {
    name: String,
    /// Words that all stand in the name that the driver gives. None, where the source does not name the product.
    #[serde(default)]
    words: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    title: String,
    year: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    product: String,
    source: String,
    at: Option<String>,
    sure: Sure,
    values: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    of: String,
    is: Option<Json>,
    low: Option<f64>,
    high: Option<f64>,
    unit: Option<Unit>,
    at: Option<String>,
    note: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    chip: String,
    architecture: String,
    compute_capability: (u32, u32),
    product: Vec<Product>,
    source: BTreeMap<String, Source>,
    published: Vec<Group>,
}

/// What a value is published of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// An attribute of an element.
    Element(ElementName, Path),
    /// A finding of a part of a characterization.
    Part(PartName, String),
}

impl Of {
    /// Where an element and a part have one key, it is the element: nothing is published of that part.
    fn parse(text: &str) -> Result<Self, String> {
        let (subject, name) = text.split_once('.').ok_or("no attribute; write element.attribute")?;
        match (ElementName::from_str(subject), PartName::from_str(subject)) {
            (Ok(element), _) => Ok(Of::Element(element, name.parse()?)),
            (_, Ok(part)) => Ok(Of::Part(part, name.to_owned())),
            _ => Err(format!("`{subject}` is no element and no part")),
        }
    }

    /// Reads a value of it.
    fn read(&self, json: Json, unit: Option<&str>) -> Result<Value, String> {
        match self {
            Of::Element(_, attribute) => attribute.kind().read(json),
            Of::Part(..) => Value::of_unit(json, unit),
        }
    }
}

/// A published value.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// What it is of.
    pub of: Of,
    /// The value, sizes in bytes; `None` where there is only a range or bound.
    pub value: Option<Value>,
    /// Unit: `B`, `cycles` and so on.
    pub unit: Option<&'static str>,
    /// Lower end of a range, or lower bound.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The GPU that it was published for.
    pub product: String,
    /// Key of the source in its file, and where in it: `mei, table 4`.
    pub source: String,
    /// Author, title and year of the source.
    pub title: String,
    /// How sure it is.
    pub sure: Sure,
    /// What the reader should know besides.
    pub note: Option<String>,
}

/// What is published of a chip.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Name of the file, which names the reference on the command line.
    pub name: String,
    /// The chip.
    pub chip: String,
    /// Its architecture.
    pub architecture: String,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// The values, in the order of the file.
    pub values: Vec<Published>,
    products: Vec<Product>,
}

impl Reference {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If a key is unknown or missing, or a value names a product, source, element or part that there is not.
    pub fn parse(file: &str, text: &str) -> Result<Self, Defect> {
        let defect = |what: String| Defect { file: file.to_owned(), what };
        let read: File = toml::from_str(text).map_err(|error| defect(error.to_string()))?;
        if read.schema != SCHEMA {
            return Err(defect(format!("schema `{}`; this program reads {SCHEMA}", read.schema)));
        }
        let mut values = Vec::new();
        for group in &read.published {
            if !read.product.iter().any(|product| product.name == group.product) {
                return Err(defect(format!("no product `{}`", group.product)));
            }
            let source =
                read.source.get(&group.source).ok_or_else(|| defect(format!("no source `{}`", group.source)))?;
            for entry in &group.values {
                values.push(published(group, source, entry).map_err(|what| defect(format!("{}: {what}", entry.of)))?);
            }
        }
        let File { chip, architecture, compute_capability, product: products, .. } = read;
        Ok(Reference { name: file.to_owned(), chip, architecture, compute_capability, values, products })
    }

    /// Names of the products that this device is, by the name that its driver gives.
    pub fn products_of(&self, device: &str) -> Vec<&str> {
        let named = words(device);
        let is = |product: &&Product| {
            let asked: Vec<String> = product.words.iter().flat_map(|word| words(word)).collect();
            let variant = |word: &str| named.iter().any(|w| w == word) == asked.iter().any(|w| w == word);
            !asked.is_empty()
                && asked.iter().all(|word| named.contains(word))
                && VARIANTS.iter().all(|word| variant(word))
        };
        self.products.iter().filter(is).map(|product| product.name.as_str()).collect()
    }

    /// All products, in the order of the file.
    pub fn products(&self) -> impl Iterator<Item = &str> {
        self.products.iter().map(|product| product.name.as_str())
    }
}

fn words(name: &str) -> Vec<String> {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn published(group: &Group, source: &Source, entry: &Entry) -> Result<Published, String> {
    let of = Of::parse(&entry.of)?;
    if entry.is.is_none() && entry.low.is_none() && entry.high.is_none() {
        return Err("neither `is` nor `low` nor `high`".into());
    }
    let base = entry.unit.map(Unit::base);
    let factor = base.map_or(1.0, |(_, factor)| factor);
    // Sizes are whole bytes, also where a source rounds to hundredths of a KiB.
    let scaled = |json: &Json| match json.as_f64() {
        Some(number) if factor > 1.0 => ((number * factor).round() as u64).into(),
        _ => json.clone(),
    };
    let unit = base.map(|(unit, _)| unit);
    let value = entry.is.as_ref().map(|json| of.read(scaled(json), unit)).transpose()?;
    let year = source.year.map_or(String::new(), |year| format!(", {year}"));
    let at = entry.at.as_ref().or(group.at.as_ref()).map_or(String::new(), |at| format!(", {at}"));
    Ok(Published {
        of,
        value,
        unit,
        low: entry.low.map(|x| x * factor),
        high: entry.high.map(|x| x * factor),
        product: group.product.clone(),
        source: format!("{}{at}", group.source),
        title: format!("{}{year}", source.title),
        sure: group.sure,
        note: entry.note.clone(),
    })
}

impl fmt::Display for Sure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sure::Read => "read",
            Sure::Recalled => "recalled",
        })
    }
}
