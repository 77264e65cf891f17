//! One side as a statement: its value at each place.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::comparison::{Kind, Side, Stated};
use super::content::{self, Content, Range};
use super::curve;
use super::place::{Place, Subject};
use crate::reference::Fact;
use crate::report::host;
use strata_model::attribute::{Attribute, Configuration, Path, Policy, SIZE, Value};
use strata_model::characterization::{Axis, Characterization, Line, PartName};
use strata_model::facts::DeviceFacts;
use strata_model::import;
use strata_model::topology::{ElementName, Finding, RunInfo, Topology};

/// Why nothing is there of what a run was not asked for.
const NOT_ASKED: &str = "not asked for there";

/// What a side says of a place.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// It is known.
    Known {
        /// To compare.
        content: Content,
        /// To show.
        stated: Box<Stated>,
        /// Published for another product: shown, but decides nothing.
        context: bool,
    },
    /// It is not, and why.
    Unknown(String),
}

/// One side.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it is.
    pub side: Side,
    /// What it says; several claims where sources or statistics are several.
    pub claims: BTreeMap<Place, Vec<Claim>>,
    /// Subjects that it says something of, each with why the rest of it is not there.
    subjects: BTreeMap<Subject, String>,
    /// Why other subjects are not there.
    absent: String,
    /// What the driver says of the device, of a discovery.
    facts: Option<Box<DeviceFacts>>,
}

impl Statement {
    /// A statement with nothing on it. `absent` says why what is not on it is not there.
    pub fn new(side: Side, absent: impl Into<String>) -> Self {
        Statement { side, claims: BTreeMap::new(), subjects: BTreeMap::new(), absent: absent.into(), facts: None }
    }

    /// Of a discovery. `name` is shown for it.
    pub fn of_topology(topology: &Topology, name: &str) -> Self {
        let only = &topology.run.only;
        let absent = if only.is_empty() { "not among its elements" } else { NOT_ASKED };
        let side = measured(&topology.device, &topology.run, name, Kind::Topology);
        let mut statement = Statement::new(side, absent);
        statement.facts = Some(Box::new(topology.device.clone()));
        for (element, content) in &topology.elements {
            let is_whole = only.is_empty() || only.contains(&(*element).into());
            let absent = if is_whole { "not an attribute of it there" } else { NOT_ASKED };
            statement.subjects.insert(Subject::Element(*element), absent.into());
            for (attribute, finding) in content.findings() {
                statement.attribute(*element, attribute, finding);
            }
        }
        statement
    }

    /// Of a characterization.
    pub fn of_characterization(answer: &Characterization, name: &str) -> Self {
        let side = measured(&answer.device, &answer.run, name, Kind::Characterization);
        let mut statement = Statement::new(side, NOT_ASKED);
        for (name, part) in &answer.parts {
            let missing = part.unanswered.as_ref().map_or("not found there".to_owned(), reason);
            statement.subjects.insert(Subject::Part(*name), missing);
            for (finding, content) in &part.findings {
                statement.finding(Place::of_part(*name, finding), content);
            }
            for figure in &part.figures {
                for line in &figure.lines {
                    statement.line(*name, &figure.name, (&figure.x, &figure.y), line);
                }
            }
        }
        statement
    }

    /// Adds a claim.
    pub fn add(&mut self, place: Place, claim: Claim) {
        self.subjects.entry(place.subject).or_insert_with(|| self.absent.clone());
        self.claims.entry(place).or_default().push(claim);
    }

    /// This side, with those facts of the device that published values on the other side state. Between two results they are no
    /// values: the head of a comparison names the devices.
    pub(super) fn beside(&self, other: &Statement) -> Cow<'_, Statement> {
        let (Kind::Reference, Some(facts)) = (other.side.kind, &self.facts) else { return Cow::Borrowed(self) };
        let mut whole = self.clone();
        for fact in Fact::ALL.iter().filter(|fact| other.claims.contains_key(&Place::of_device(**fact))) {
            let unknown = Finding::unknown("the driver does not state it");
            let value = fact.of(facts).map(Value::Number);
            let finding = match value {
                Some(value) => Finding { value: Some(value), unit: fact.unit().map(str::to_owned), ..unknown },
                None => unknown,
            };
            whole.finding(Place::of_device(*fact), &finding);
        }
        Cow::Owned(whole)
    }

    /// What is known of a place.
    pub fn known(&self, place: &Place) -> Vec<(&Content, &Stated, bool)> {
        let known = |claim| match claim {
            &Claim::Known { ref content, ref stated, context } => Some((content, &**stated, context)),
            Claim::Unknown(_) => None,
        };
        self.claims.get(place).into_iter().flatten().filter_map(known).collect()
    }

    /// Why nothing is known of a place.
    pub fn silence(&self, place: &Place) -> &str {
        let said = self.claims.get(place).into_iter().flatten().find_map(|claim| match claim {
            Claim::Unknown(reason) => Some(reason),
            Claim::Known { .. } => None,
        });
        said.or_else(|| self.subjects.get(&place.subject)).unwrap_or(&self.absent)
    }

    fn attribute(&mut self, element: ElementName, attribute: Attribute, finding: &Finding) {
        let Some(whole) = finding.get::<Configuration>() else {
            return self.finding(Place::of_element(element, attribute), finding);
        };
        for (path, in_whole) in Path::parts(attribute) {
            let reason = finding.reason.clone().or_else(|| Some("unknown; its note says why".into()));
            let unit = in_whole.kind().unit().map(str::to_owned);
            // The interval of a configuration is that of its size.
            let (low, high) = if in_whole == SIZE.attribute() { (finding.low, finding.high) } else { (None, None) };
            let part = Finding { value: whole.part(in_whole), unit, low, high, reason, ..finding.clone() };
            self.finding(Place::of_element(element, path), &part);
        }
    }

    fn finding(&mut self, place: Place, finding: &Finding) {
        let light = finding.value.as_ref().is_none_or(|value| value.weight() <= HEAVIEST);
        let claim = match light.then(|| content(finding)).flatten() {
            None if !light => Claim::Unknown("larger than any value that strata gives".into()),
            None => Claim::Unknown(reason(finding)),
            Some(content) => {
                let points = content.points();
                let stated = Stated {
                    value: finding.value.clone().filter(|_| points.is_none()),
                    unit: finding.unit.clone(),
                    low: finding.low,
                    high: finding.high,
                    points,
                    ..Stated::default()
                };
                Claim::Known { content, stated: Box::new(stated), context: false }
            }
        };
        self.add(place, claim);
    }

    fn line(&mut self, part: PartName, figure: &str, (x, y): (&Axis, &Axis), line: &Line) {
        let place = Place::of_part(part, format!("{figure}: {}", line.label));
        let points = curve::of_line(x, line);
        if points.is_empty() {
            let why = line.reason.clone().unwrap_or_else(|| "not measured".into());
            return self.add(place, Claim::Unknown(why));
        }
        let unit = match (&x.unit, &y.unit) {
            (x, y) if x.is_none() && y.is_none() => None,
            // Both count: a point lies at a place in one unit and says a number in the other.
            (x, y) => Some(format!("{} by {}", y.as_deref().unwrap_or("numbers"), x.as_deref().unwrap_or("numbers"))),
        };
        let stated = Stated { unit, points: Some(points.len()), ..Stated::default() };
        self.add(place, Claim::Known { content: Content::Curve(points), stated: Box::new(stated), context: false });
    }
}

fn measured(device: &DeviceFacts, run: &RunInfo, name: &str, kind: Kind) -> Side {
    let when = if run.started.is_empty() { "at an unknown time" } else { &run.started };
    Side {
        name: name.to_owned(),
        kind,
        device: device.name.clone(),
        uuid: device.uuid.clone(),
        simulated: run.simulated,
        driver: device.driver_version.clone(),
        host: run.host.as_ref().map(host),
        made: Some(match import::tool(&run.backend) {
            Some(tool) => format!("timings by {tool}, {when}, imported by strata {}", run.tool_version),
            None => format!("strata {}, {} effort, seed {}, {when}", run.tool_version, run.effort, run.seed),
        }),
    }
}

/// Why a finding has no value.
fn reason(finding: &Finding) -> String {
    let mark = if finding.failed { "failed: " } else { "" };
    format!("{mark}{}", finding.reason.as_deref().unwrap_or("no reason was given"))
}

/// What a finding says, to compare; `None` where it says nothing, not even a bound.
pub(super) fn content(finding: &Finding) -> Option<Content> {
    let Some(value) = finding.value.as_ref().filter(|value| value.number().is_none()) else {
        let range = Range::new(finding.number(), finding.low, finding.high);
        return range.map(|range| Content::Number(range.at_level(finding.number(), finding.level)));
    };
    Some(match value {
        Value::Policy(Policy::Weighted(odds)) => content::of_odds(odds)?,
        Value::Elements(elements) => Content::Set(elements.keys().map(str::to_owned).collect()),
        value => curve::of_value(value).map_or_else(|| Content::Exact(value.clone()), Content::Curve),
    })
}

/// Most items that a value is compared with: the longest curve has some hundred points of a few numbers. A hand-made result
/// is one value of millions, of which several copies would be made.
const HEAVIEST: usize = 1 << 16;
