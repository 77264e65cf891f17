//! How well the intervals of several runs of one device cover each other, and in how many pairs `strata compare` finds a
//! difference: what `repeatability` and `agreement` count.

use std::collections::BTreeMap;
use std::fmt::Write;

use strata_model::attribute::Attribute;
use strata_model::topology::{ElementName, Finding, Topology};
use strata_report::compare::{Comparison, Options, Statement, compare};

/// What a run says of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    value: Option<f64>,
    low: f64,
    high: f64,
}

impl Span {
    /// A lower end without a value is a bound. A value without an interval is one of itself alone.
    fn of(finding: &Finding) -> Option<Span> {
        let value = finding.number();
        let bound = value.is_none() || finding.low.is_some() != finding.high.is_some();
        let open = |end: Option<f64>, without: f64| end.or(value.filter(|_| !bound)).unwrap_or(without);
        let known = value.is_some() || finding.value.is_none() && (finding.low.is_some() || finding.high.is_some());
        let (low, high) = (open(finding.low, f64::NEG_INFINITY), open(finding.high, f64::INFINITY));
        known.then(|| Span { value, low: value.map_or(low, |v| v.min(low)), high: value.map_or(high, |v| v.max(high)) })
    }

    fn meets(&self, other: &Span) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Width relative to the value, where it is no bound.
    fn width(&self) -> Option<f64> {
        let width = (self.high - self.low) / self.value?.abs().max(f64::MIN_POSITIVE);
        width.is_finite().then_some(width)
    }
}

/// One attribute of one element in all runs of one device.
struct Group {
    device: String,
    element: ElementName,
    runs: usize,
    spans: Vec<Span>,
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// How many.
    pub part: usize,
    /// Of how many.
    pub whole: usize,
}

impl Share {
    /// Counts one more.
    pub fn count(&mut self, yes: bool) {
        self.part += usize::from(yes);
        self.whole += 1;
    }

    /// In per cent; nothing of nothing.
    pub fn percent(self) -> String {
        match self.whole {
            0 => "-".into(),
            whole => format!("{:.1} %", self.part as f64 / whole as f64 * 100.0),
        }
    }
}

/// The numbers of several runs, of one device or of several, by attribute.
#[derive(Default)]
pub struct Coverage {
    groups: BTreeMap<Attribute, Vec<Group>>,
}

impl Coverage {
    /// Adds all runs of one device.
    pub fn add(&mut self, device: &str, runs: &[&Topology]) {
        let mut spans: BTreeMap<(Attribute, ElementName), Vec<Span>> = BTreeMap::new();
        for run in runs {
            for (name, element) in &run.elements {
                for (attribute, finding) in element.findings() {
                    if let Some(span) = Span::of(finding) {
                        spans.entry((attribute, *name)).or_default().push(span);
                    }
                }
            }
        }
        for ((attribute, element), spans) in spans {
            let group = Group { device: device.to_owned(), element, runs: runs.len(), spans };
            self.groups.entry(attribute).or_default().push(group);
        }
    }

    /// A row for each attribute.
    pub fn table(&self) -> String {
        let mut out = String::from(
            "| attribute | known | pairs that meet | median covered | largest spread | median width | where pairs meet least |\n\
             |---|---|---|---|---|---|---|\n",
        );
        for (attribute, groups) in &self.groups {
            let _ = writeln!(out, "| {attribute} | {} |", row(groups));
        }
        out
    }
}

fn row(groups: &[Group]) -> String {
    let (mut known, mut meet, mut covered) = (Share::default(), Share::default(), Share::default());
    let mut widths = Vec::new();
    let (mut spread, mut least) = (0.0f64, None::<(f64, &Group)>);
    for group in groups {
        known.part += group.spans.len();
        known.whole += group.runs;
        let mut here = Share::default();
        for (a, b) in pairs(&group.spans) {
            here.count(a.meets(b));
        }
        meet.part += here.part;
        meet.whole += here.whole;
        let values: Vec<f64> = group.spans.iter().filter_map(|span| span.value).collect();
        if let Some(middle) = median(values.clone()) {
            for span in &group.spans {
                covered.count(span.low <= middle && middle <= span.high);
            }
            let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(l, h), &x| (l.min(x), h.max(x)));
            spread = spread.max((high - low) / low.abs().max(high.abs()).max(f64::MIN_POSITIVE));
        }
        widths.extend(group.spans.iter().filter_map(Span::width));
        if here.part < here.whole {
            let share = here.part as f64 / here.whole as f64;
            if least.is_none_or(|(before, _)| share < before) {
                least = Some((share, group));
            }
        }
    }
    let width = median(widths).map_or("-".into(), |width| format!("{:.2} %", width * 100.0));
    let least = least.map_or("-".into(), |(share, group)| {
        let device = if group.device.is_empty() { String::new() } else { format!("{}: ", group.device) };
        format!("{device}{} ({:.0} %)", group.element, share * 100.0)
    });
    format!(
        "{} | {} | {} | {:.2} % | {width} | {least}",
        known.percent(),
        meet.percent(),
        covered.percent(),
        spread * 100.0
    )
}

/// The middle of some numbers, the lower one of two, so that it is a value that was measured.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// Every two of several.
pub fn pairs<T>(all: &[T]) -> impl Iterator<Item = (&T, &T)> {
    all.iter().enumerate().flat_map(|(number, a)| all[number + 1..].iter().map(move |b| (a, b)))
}

/// What `strata compare` says of two results.
pub fn compared(a: &Topology, b: &Topology) -> Comparison {
    let named = |topology: &Topology| format!("seed {}", topology.run.seed);
    let (a, b) = (Statement::of_topology(a, &named(a)), Statement::of_topology(b, &named(b)));
    compare(&a, &b, &Options::default())
}

/// Pairs of results of one device, and the places in which they differ.
#[derive(Default)]
pub struct Pairs {
    /// Those that differ in nothing.
    pub same: Share,
    /// In how many pairs a place differs.
    pub places: BTreeMap<String, usize>,
}

impl Pairs {
    /// Counts a pair.
    pub fn count(&mut self, comparison: &Comparison) {
        self.same.count(comparison.same);
        for row in &comparison.differs {
            *self.places.entry(row.place.clone()).or_default() += 1;
        }
    }

    /// The places, the most frequent first: `l2 size (3)`.
    pub fn places(&self) -> String {
        let mut all: Vec<_> = self.places.iter().collect();
        all.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
        let shown: Vec<String> = all.iter().map(|(place, times)| format!("{place} ({times})")).collect();
        if shown.is_empty() { "-".into() } else { shown.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use strata_model::attribute::SIZE;
    use strata_model::topology::Element;
    use strata_model::units::Bytes;

    use super::*;

    fn run(size: Finding<Bytes>) -> Topology {
        Topology {
            schema: strata_model::topology::SCHEMA.into(),
            device: Default::default(),
            run: Default::default(),
            elements: [(ElementName::L1, Element::default().with(SIZE, size))].into_iter().collect(),
            replayed_from: None,
        }
    }

    fn bytes(value: u64) -> Finding<Bytes> {
        Finding::measured(Bytes(value), "")
    }

    fn table(runs: &[Topology]) -> String {
        let mut coverage = Coverage::default();
        coverage.add("", &runs.iter().collect::<Vec<_>>());
        coverage.table().lines().last().unwrap().to_owned()
    }

    #[test]
    fn a_bound_meets_what_is_above_it_and_a_value_alone_meets_itself() {
        let runs = [run(bytes(100)), run(Finding::unknown("x").at_least(50.0)), run(bytes(100).range(90.0, 110.0))];
        assert_eq!(table(&runs), "| size | 100.0 % | 100.0 % | 100.0 % | 0.00 % | 0.00 % | - |");
        let runs = [run(bytes(100)), run(Finding::unknown("x").at_least(150.0)), run(Finding::unknown("x"))];
        assert_eq!(table(&runs), "| size | 66.7 % | 0.0 % | 50.0 % | 0.00 % | 0.00 % | l1 (0 %) |");
        let runs = [run(bytes(100)), run(bytes(110).range(104.0, 115.0))];
        assert_eq!(table(&runs), "| size | 100.0 % | 0.0 % | 50.0 % | 9.09 % | 0.00 % | l1 (0 %) |");
    }

    #[test]
    fn every_pair_is_compared_once() {
        assert_eq!(pairs(&[1, 2, 3]).collect::<Vec<_>>(), [(&1, &2), (&1, &3), (&2, &3)]);
        let mut sum = Pairs::default();
        for (a, b) in [(1, 1), (1, 2), (2, 3)] {
            sum.count(&compared(&run(bytes(a)), &run(bytes(b))));
        }
        assert_eq!((sum.same, sum.places()), (Share { part: 1, whole: 3 }, "l1 size (2)".into()));
    }
}
