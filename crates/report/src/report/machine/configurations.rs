//! The L1 beside more and more shared memory.

use toml_edit::Value;

use super::found::{Found, Sourced, named};
use super::structure::{Structure, can_be, few_sets, index_value};
use super::table::{IntoToml, inline};
use strata_model::attribute::{Attribute, BY_LAUNCH, Configuration, LEAST_CONFIGURATION, Launches, Ways};
use strata_model::topology::ElementName::L1;

/// The rows of a configuration.
struct Rows {
    shared: u64,
    sets: u64,
    ways: u64,
    index: Option<Value>,
    replacement: Option<Value>,
}

impl Rows {
    /// Of the first structure with other ways.
    fn of(first: &Structure, shared: u64, sets: u64, ways: u64) -> Self {
        let replacement = (first.ways.value != [ways]).then(|| first.replacement(&[ways]));
        let replacement =
            replacement.filter(|other| other.to_string() != first.replacement(&first.ways.value).to_string());
        Rows { shared, sets, ways, index: None, replacement }
    }

    fn lines(&self) -> u64 {
        self.sets.saturating_mul(self.ways)
    }

    fn value(self) -> Value {
        let mut value = inline([
            ("shared", self.shared.into_toml()),
            ("sets", self.sets.into_toml()),
            ("ways", self.ways.into_toml()),
        ]);
        if let Some(rows) = value.as_inline_table_mut() {
            let more = [("index", self.index), ("replacement", self.replacement)];
            rows.extend(more.into_iter().filter_map(|(key, value)| Some((key, value?))));
            rows.sort_values();
        }
        value
    }
}

/// A cache of `usable` bytes that is smaller where shared memory is asked for: the first shape, those between, and the one beside
/// all of it.
pub(super) fn configurations(found: &Found, first: &Structure, usable: u64, line: u64) -> Option<Sourced<Value>> {
    let least = found.get(L1, LEAST_CONFIGURATION)?;
    let (size, most) = (least.size.0, found.topology.device.shared_per_multiprocessor);
    let [ways] = first.ways.value[..] else { return None };
    if size < line || size >= usable {
        return None;
    }
    let sets = first.sets.value;
    // Where lines do not fill sets evenly, as much of each division is usable as of the first.
    let lines = |size: u64| (u128::from(size) * u128::from(first.lines()) / u128::from(usable.max(1))) as u64;
    // A search may stop a few lines before a set is full.
    let nearest_ways = |size: u64| ((lines(size) + sets / 2) / sets).min(ways);
    let last = last(first, least, most, line, lines(size));
    // One memory: what the cache has more, shared memory has less.
    let beside = |cache: u64| most.saturating_add(size).saturating_sub(cache);
    let divisions = divisions(found, most, beside);
    let is_own = |division: &&Division| division.is_known && nearest_ways(division.size) == ways;
    let shared = divisions.iter().rfind(is_own).map_or(beside(usable), |division| division.shared);
    let mut all = vec![Rows::of(first, shared.min(most.saturating_sub(1)), sets, ways)];
    for &Division { shared, size, .. } in &divisions {
        let between = Rows::of(first, shared, sets, nearest_ways(size));
        // More shared memory leaves no more cache; what noise says otherwise is left out.
        let falls = all.last().is_some_and(|before| before.lines() >= between.lines() && before.shared < shared);
        if falls && between.lines() >= last.lines().max(sets) {
            all.push(between);
        }
    }
    let which = if divisions.is_empty() {
        "; those between are not known".to_owned()
    } else {
        format!(", and for those between {}", named(L1, Attribute::ByLaunch))
    };
    all.push(last);
    let how = format!(
        "{} and {}{which}; that they are one memory with shared memory is assumed",
        named(L1, Attribute::Size),
        named(L1, Attribute::LeastConfiguration)
    );
    let all: Vec<Value> = all.into_iter().map(Rows::value).collect();
    Some(Sourced::new(all.into_toml(), found.derived(&how)))
}

/// The cache beside all the shared memory that there is.
fn last(first: &Structure, least: &Configuration, most: u64, line: u64, lines: u64) -> Rows {
    let equal = match least.ways {
        Some(Ways::Equal(ways)) => Some(ways),
        _ => None,
    };
    if let Some((sets, ways)) = least.sets.zip(equal).filter(|(sets, ways)| sets.checked_mul(*ways) == Some(lines)) {
        let mut rows = Rows::of(first, most, sets, ways);
        let index = least.index.as_ref().filter(|index| can_be(index, sets, line));
        rows.index = Some(index.map_or_else(|| "modulo".into_toml(), index_value));
        let policy = least.replacement.as_ref().and_then(|policy| super::structure::policy(policy, &[ways]));
        rows.replacement = policy.or(rows.replacement);
        return rows;
    }
    let sets = first.sets.value;
    if !first.is_plain() && lines >= sets {
        return Rows::of(first, most, sets, lines / sets);
    }
    let sets = few_sets(lines, sets);
    // Sets of another number cannot go by the same bits.
    Rows { index: Some("modulo".into_toml()), ..Rows::of(first, most, sets, lines / sets) }
}

/// Shared memory that a hint sets aside, and the L1 beside it.
struct Division {
    shared: u64,
    size: u64,
    /// The sizes tell how much shared memory it is; otherwise it is what the cache leaves.
    is_known: bool,
}

/// The divisions that hints ask for, but for that with all of the shared memory.
fn divisions(found: &Found, most: u64, beside: impl Fn(u64) -> u64) -> Vec<Division> {
    let rows = found.get(L1, BY_LAUNCH).map_or(&[][..], |Launches(rows)| rows);
    let hinted = rows.iter().filter(|row| row.carveout_percent.is_some());
    let all = hinted.map(|row| {
        let (known, size) = (row.shared_configured, row.size.0);
        Division { shared: known.map_or_else(|| beside(size), |shared| shared.0), size, is_known: known.is_some() }
    });
    let mut all: Vec<Division> = all.filter(|division| division.shared < most).collect();
    all.sort_by_key(|division| (division.shared, std::cmp::Reverse(division.size)));
    all
}
