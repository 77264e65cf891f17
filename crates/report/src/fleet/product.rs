//! The GPUs of one product: spread, outliers and layouts of the dies.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use strata_model::attribute::{Attribute, Counts, Value};
use strata_model::topology::ElementName;

use super::Options;
use super::document::{Counted, Gpu, Layout, Outlier, Product, StandsOut};
use super::places::{Id, TABLE};
use super::read::{All, Found, Short, Words};
use super::spread::Column;

/// What is compared with each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// As the driver names it.
    name: String,
    simulated: bool,
    /// SMs of a MIG instance: instances of different sizes are no one product.
    instance: Option<u32>,
    /// Of links, the GPU whose memory it is.
    to: Option<String>,
}

/// How the scope of a run begins if it was a MIG instance's.
const INSTANCE: &str = "one MIG instance";

impl Key {
    /// Of a result.
    pub fn of(found: &Found) -> Self {
        let is_instance = found.run.scope.starts_with(INSTANCE);
        Key {
            name: found.product.clone(),
            simulated: found.run.simulated,
            instance: is_instance.then_some(found.multiprocessors),
            to: found.peer.as_ref().map(|peer| peer.product.clone()),
        }
    }

    /// Whether links are compared, and not GPUs.
    pub fn is_of_links(&self) -> bool {
        self.to.is_some()
    }

    /// For people.
    pub fn title(&self) -> String {
        let name = match self.instance {
            None => self.name.clone(),
            Some(sms) => format!("{}, MIG instance of {sms} SMs", self.name),
        };
        self.to.as_ref().map_or(name.clone(), |to| format!("{name} to {to}"))
    }
}

/// The results of each GPU or link of each product, in the order of time.
pub type ByGpu = BTreeMap<Key, Vec<Vec<usize>>>;

/// Sorts results by product and GPU.
pub fn by_gpu(results: &[Found]) -> ByGpu {
    let mut products = ByGpu::new();
    let mut gpus: HashMap<(Key, &str, Option<&str>), usize> = HashMap::new();
    for (at, found) in results.iter().enumerate() {
        let key = Key::of(found);
        let all = products.entry(key.clone()).or_default();
        let peer = found.peer.as_ref().map(|peer| peer.uuid.as_deref());
        match (&found.uuid, peer) {
            (None, _) | (_, Some(None)) => all.push(vec![at]),
            (Some(uuid), peer) => {
                let gpu = *gpus.entry((key, uuid, peer.flatten())).or_insert(all.len());
                if gpu == all.len() {
                    all.push(Vec::new());
                }
                all[gpu].push(at);
            }
        }
    }
    for results_of_one in products.values_mut().flatten() {
        // Without a date it counts as older than all others. The sort keeps the order of files.
        results_of_one.sort_by_key(|at| time(&results[*at]));
    }
    products
}

/// When a run started, if it says so in a way that can be understood.
pub fn time(found: &Found) -> Option<std::time::SystemTime> {
    humantime::parse_rfc3339(found.run.started.as_deref()?).ok()
}

/// Who a result is of.
pub fn gpu(found: &Found, options: &Options) -> Gpu {
    let host = options.expected.as_ref().and_then(|all| Some(all.name(all.host_of(&found.file)?).to_owned()));
    Gpu {
        host,
        file: found.file.display().to_string(),
        device: found.device.clone(),
        uuid: found.uuid.clone(),
        peer: found.peer.as_ref().and_then(|peer| peer.uuid.clone()),
        started: found.run.started.clone(),
    }
}

/// What all GPUs of a product say.
pub fn product(key: &Key, gpus: &[Vec<usize>], all: &All, chosen: &[bool], options: &Options) -> Product {
    let latest: Vec<&Found> = gpus.iter().filter_map(|results| Some(&all.results[*results.last()?])).collect();
    let mut attributes = Vec::new();
    let mut outliers: BTreeMap<usize, Vec<Outlier>> = BTreeMap::new();
    for column in columns(&latest, &all.words, chosen) {
        let (row, stand_out) = column.judged(&all.words, options);
        attributes.push(row);
        for (gpu, outlier) in stand_out {
            outliers.entry(gpu).or_default().push(outlier);
        }
    }
    let mut stand_out: Vec<StandsOut> = outliers
        .into_iter()
        .map(|(of, mut outliers)| {
            outliers.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
            StandsOut { gpu: gpu(latest[of], options), outliers }
        })
        .collect();
    let furthest = |of: &StandsOut| of.outliers.first().map_or(0.0, distance);
    stand_out.sort_by(|a, b| furthest(b).total_cmp(&furthest(a)).then_with(|| a.gpu.cmp(&b.gpu)));
    let results = gpus.iter().flatten().map(|at| &all.results[*at]);
    Product {
        name: key.title(),
        is_of_links: key.is_of_links(),
        simulated: key.simulated,
        results: gpus.iter().map(Vec::len).sum(),
        gpus: gpus.len(),
        drivers: counted(results.filter_map(|found| found.driver.as_deref())),
        layouts: layouts(&latest, &all.words, options),
        attributes,
        stand_out,
    }
}

/// How far an outlier is off, to sort by: words, and numbers beside a median of 0, are no distance and stand first.
fn distance(outlier: &Outlier) -> f64 {
    outlier.off_percent.map_or(f64::INFINITY, f64::abs)
}

/// The attributes that some GPU has, in the order of a report.
fn columns<'a>(latest: &[&Found], words: &'a Words, chosen: &[bool]) -> Vec<Column<'a>> {
    let mut known: BTreeMap<(Id, u16), Vec<(usize, Short)>> = BTreeMap::new();
    let mut unknown: BTreeMap<Id, usize> = BTreeMap::new();
    for (gpu, found) in latest.iter().enumerate() {
        for cell in found.cells.iter().filter(|cell| chosen[usize::from(cell.id)]) {
            match cell.said {
                Short::Unknown => *unknown.entry(cell.id).or_default() += 1,
                said => known.entry((cell.id, cell.unit)).or_default().push((gpu, said)),
            }
        }
    }
    for id in unknown.keys().copied() {
        if known.range((id, 0)..=(id, u16::MAX)).next().is_none() {
            known.insert((id, 0), Vec::new());
        }
    }
    let column = |((id, unit), known)| Column {
        entry: TABLE.entry(id),
        unit: words.unit(unit),
        known,
        unknown: unknown.get(&id).copied().unwrap_or(0),
    };
    known.into_iter().map(column).collect()
}

/// How often each word occurs, the most frequent one first.
pub fn counted<'w>(words: impl Iterator<Item = &'w str>) -> Vec<Counted> {
    let all = frequent(words);
    all.into_iter().map(|(name, results)| Counted { name: name.to_owned(), results }).collect()
}

/// How often each thing occurs, the most frequent one first, and of equally frequent ones the least.
fn frequent<T: Ord>(all: impl Iterator<Item = T>) -> Vec<(T, usize)> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    for one in all {
        *counts.entry(one).or_default() += 1;
    }
    let mut counts: Vec<(T, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    counts
}

/// The layouts of the dies: the sizes of their GPCs, as a comparison of two results has them.
fn layouts(latest: &[&Found], words: &Words, options: &Options) -> Vec<Layout> {
    let word = |found: &Found, attribute| {
        let (_, id) = TABLE.of(ElementName::Die, attribute).first()?;
        let at = found.cells.binary_search_by_key(id, |cell| cell.id).ok()?;
        match found.cells[at].said {
            Short::Word(word) => Some(word),
            _ => None,
        }
    };
    let gpcs = |found: &Found| match words.value(word(found, Attribute::Gpcs)?) {
        Value::Counts(Counts(sizes)) if !sizes.is_empty() => {
            let mut sizes = sizes.clone();
            sizes.sort_unstable();
            Some(sizes)
        }
        _ => None,
    };
    let mut members: BTreeMap<Vec<u64>, Vec<&Found>> = BTreeMap::new();
    for found in latest {
        if let Some(sizes) = gpcs(found) {
            members.entry(sizes).or_default().push(found);
        }
    }
    let mut all: Vec<(Vec<u64>, Vec<&Found>)> = members.into_iter().collect();
    all.sort_by_key(|(_, members)| Reverse(members.len()));
    let layout = |(at, (gpcs, members)): (usize, (Vec<u64>, Vec<&Found>))| Layout {
        gpcs,
        gpus: members.len(),
        maps: members.iter().filter_map(|found| word(found, Attribute::Fingerprint)).collect::<BTreeSet<_>>().len(),
        named: if at == 0 { Vec::new() } else { members.iter().map(|found| gpu(found, options)).collect() },
    };
    all.into_iter().enumerate().map(layout).collect()
}
