//! A file of published values: its keys, and what is checked of them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::Value as Json;

use strata_model::attribute::{BANK_CURVE, Path, Value};
use strata_model::characterization::PartName;
use strata_model::topology::ElementName;
use strata_model::units::{Bytes, BytesPerSecond};

use super::fact::{DEVICE, Fact};
use super::unit::Unit;

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

/// How far the truth may lie from a number of a source: by the step of its method, or by the digits that it prints.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Resolution {
    is: f64,
    unit: Option<Unit>,
    why: String,
}

/// How often the banks of shared memory give a row for a load at one stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaysAt {
    /// Bytes of a lane's access.
    pub width: u64,
    /// Distance from lane to lane, in elements of that width.
    pub stride: u64,
    /// Bytes of the consecutive pieces that are in consecutive banks, where a program can choose it.
    pub mode: Option<u64>,
    /// Rows of the bank that has to give most of them.
    pub ways: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    of: String,
    is: Option<Json>,
    low: Option<f64>,
    high: Option<f64>,
    /// Name of a resolution of the file.
    resolution: Option<String>,
    #[serde(default)]
    ways_at: Vec<WaysAt>,
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
    #[serde(default)]
    resolution: BTreeMap<String, Resolution>,
    published: Vec<Group>,
}

/// What a value is published of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// An attribute of an element.
    Element(ElementName, Path),
    /// A finding of a part of a characterization.
    Part(PartName, String),
    /// A fact of the device.
    Device(Fact),
}

impl Of {
    /// Where an element and a part have one key, it is the element: nothing is published of that part.
    fn parse(text: &str) -> Result<Self, String> {
        let (subject, name) = text.split_once('.').ok_or("no attribute; write element.attribute")?;
        if subject == DEVICE {
            return name.parse().map(Of::Device);
        }
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
            Of::Part(..) | Of::Device(_) => Value::of_unit(json, unit),
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
    /// How often banks give a row, by stride; empty of all else.
    pub ways_at: Vec<WaysAt>,
    /// Lower end of a range or of what the source can resolve, or lower bound.
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
                let wrong = |what| defect(format!("{}: {what}", entry.of));
                let resolution = resolution(entry, &read.resolution).map_err(wrong)?;
                values.push(published(group, source, entry, resolution).map_err(wrong)?);
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

/// The resolution that an entry names.
fn resolution<'f>(entry: &Entry, all: &'f BTreeMap<String, Resolution>) -> Result<Option<&'f Resolution>, String> {
    let Some(name) = &entry.resolution else { return Ok(None) };
    let found = all.get(name).ok_or_else(|| format!("no resolution `{name}`"))?;
    let base = |unit: Option<Unit>| unit.map(|unit| unit.base().0);
    if base(found.unit) != base(entry.unit) {
        return Err(format!("the resolution `{name}` is in another unit"));
    }
    if !(found.is.is_finite() && found.is > 0.0) {
        return Err(format!("the resolution `{name}` is not greater than 0"));
    }
    if found.why.trim().is_empty() {
        return Err(format!("the resolution `{name}` has no reason; write `why`"));
    }
    if entry.low.is_some() || entry.high.is_some() || !entry.is.as_ref().is_some_and(Json::is_number) {
        return Err("a resolution is of a number without a range".into());
    }
    Ok(Some(found))
}

fn published(
    group: &Group,
    source: &Source,
    entry: &Entry,
    resolution: Option<&Resolution>,
) -> Result<Published, String> {
    let of = Of::parse(&entry.of)?;
    let base = entry.unit.map(Unit::base);
    if let Of::Device(fact) = of
        && fact.unit() != base.map(|(unit, _)| unit)
    {
        return Err(format!("this fact is in {}", fact.unit().unwrap_or("no unit")));
    }
    let of_banks = of == Of::Element(ElementName::Shared, BANK_CURVE.into());
    let is_value = entry.is.is_some() || entry.low.is_some() || entry.high.is_some();
    match (is_value, entry.ways_at.is_empty()) {
        (false, true) => return Err("neither `is` nor `low` nor `high`".into()),
        (_, false) if is_value || !of_banks => return Err("`ways_at` is for `shared.bank_curve` alone".into()),
        _ => {}
    }
    let (unit, factor) = base.unzip();
    let factor = factor.unwrap_or(1.0);
    // Sizes are whole bytes, also where a source rounds to hundredths of a KiB.
    let scaled = |json: &Json| match (json.as_f64(), unit) {
        (Some(number), Some("B")) if factor > 1.0 => ((number * factor).round() as u64).into(),
        (Some(number), _) if factor > 1.0 => (number * factor).into(),
        _ => json.clone(),
    };
    let value = entry.is.as_ref().map(|json| of.read(scaled(json), unit)).transpose()?;
    let year = source.year.map_or(String::new(), |year| format!(", {year}"));
    let at = entry.at.as_ref().or(group.at.as_ref()).map_or(String::new(), |at| format!(", {at}"));
    let mut published = Published {
        of,
        value,
        unit,
        ways_at: entry.ways_at.clone(),
        low: entry.low.map(|x| x * factor),
        high: entry.high.map(|x| x * factor),
        product: group.product.clone(),
        source: format!("{}{at}", group.source),
        title: format!("{}{year}", source.title),
        sure: group.sure,
        note: entry.note.clone(),
    };
    if let Some(resolution) = resolution {
        published.resolve(resolution);
    }
    Ok(published)
}

impl Published {
    /// Widens a number by what its source can resolve, and says so.
    fn resolve(&mut self, Resolution { is, unit, why }: &Resolution) {
        let Some(number) = self.value.as_ref().and_then(Value::number) else { return };
        let (base, factor) = unit.map_or(("", 1.0), Unit::base);
        let off = is * factor;
        (self.low, self.high) = (Some(number - off), Some(number + off));
        let off = match base {
            "B" => Bytes(off.round() as u64).to_string(),
            "B/s" => BytesPerSecond(off).to_string(),
            "" => off.to_string(),
            base => format!("{off} {base}"),
        };
        let known = format!("known to {off}: {why}");
        self.note = Some(self.note.take().map_or(known.clone(), |note| format!("{note}; {known}")));
    }
}

impl fmt::Display for Sure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sure::Read => "read",
            Sure::Recalled => "recalled",
        })
    }
}
