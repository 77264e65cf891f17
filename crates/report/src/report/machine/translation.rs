//! Levels of address translation.

use super::found::{Found, Sourced, assumed, named};
use super::table::Table;
use strata_model::attribute::{Attribute, Counts, Data, INSTANCE_OF_SMS, SETS, Translation, WAYS, Ways};
use strata_model::experiment::LoadPath;
use strata_model::topology::ElementName::{self, TlbL1, TlbL2, TlbL3};

/// The levels, with the names that they get.
const LEVELS: [(ElementName, &str); 3] = [(TlbL1, "l1"), (TlbL2, "l2"), (TlbL3, "l3")];
/// Most instances of a level in a machine file.
const INSTANCES: u32 = 36;
/// Smallest page of a machine file.
const SMALLEST_PAGE: u64 = 4096;

/// The tables of all levels that were found.
pub(super) fn render(found: &Found) -> String {
    let mut text = String::new();
    let (mut penalties, mut uncached) = (0.0, 0.0);
    for (level, (element, name)) in (1..).zip(LEVELS) {
        let (Some(penalty), Some(pages)) = (found.number(element, Attribute::MissPenalty), pages(found, element))
        else {
            break;
        };
        let mut table = Table::list("tlb");
        let Pages { page, sets, ways, source } = pages;
        table.put("name", Sourced::new(name, assumed("its place among the levels")));
        let (scope, sms) = owner(found, element);
        table.put("scope", scope);
        if let Some(sms) = sms {
            table.put("sms", sms);
        }
        table.put("page", Sourced::new(page, source.clone()));
        match sets {
            Some(sets) => {
                table.put("sets", Sourced::new(sets, source.clone()));
                table.put("ways", Sourced::new(ways.first().copied().unwrap_or(1), source));
            }
            None => table.put("set_ways", Sourced::new(ways, source)),
        }
        table.put("replacement", Sourced::new("lru", assumed("the replacement policy of a TLB is not measured")));
        table.put("penalty", found.cycles(element, Attribute::MissPenalty, 1));
        penalties += penalty;
        if let Some(more) = more_if_uncached(found, level, penalties + uncached).filter(|more| *more >= 1.0) {
            let how = format!(
                "{}: misses of this level with the data in memory, minus those with the data in the L2",
                named(TlbL1, Attribute::Spectrum)
            );
            table.put("uncached", Sourced::new(more.round() as u64, found.derived(&how)));
            uncached += more;
        }
        text.push_str(&table.render());
    }
    text
}

/// Whose a level is, and which of several instances each SM uses.
fn owner(found: &Found, element: ElementName) -> (Sourced<&'static str>, Option<Sourced<String>>) {
    let Some(Counts(of_sms)) = found.get(element, INSTANCE_OF_SMS) else {
        let scope = if element == TlbL1 { "sm" } else { "device" };
        return (Sourced::new(scope, assumed("which SMs share it was not found")), None);
    };
    let source = found.derived(&named(element, Attribute::InstanceOfSms));
    let instances = of_sms.iter().max().map_or(0, |most| most + 1);
    if instances == of_sms.len() as u64 {
        return (Sourced::new("sm", source), None);
    }
    let digits = of_sms.iter().map(|&instance| char::from_digit(u32::try_from(instance).ok()?, INSTANCES));
    match digits.collect::<Option<String>>() {
        _ if instances == 1 => (Sourced::new("device", source), None),
        Some(sms) => (Sourced::new("device", source.clone()), Some(Sourced::new(sms, source))),
        // A machine file names them by a digit or a small letter.
        None => {
            let why = format!("there are {instances}, and a machine file has {INSTANCES} at most");
            (Sourced::new("sm", assumed(&why)), None)
        }
    }
}

/// Entries of a level. Without `sets`, each set has ways of its own.
struct Pages {
    page: u64,
    sets: Option<u64>,
    ways: Vec<u64>,
    source: String,
}

fn pages(found: &Found, element: ElementName) -> Option<Pages> {
    let page = found
        .whole(element, Attribute::PageSize)
        .filter(|page| page.value.is_power_of_two() && page.value >= SMALLEST_PAGE);
    let entries = found.whole(element, Attribute::Entries).filter(|entries| entries.value > 0);
    let (Some(page), Some(entries)) = (page, entries) else {
        // What it translates is known, in which pieces is not.
        let reach = found.whole(element, Attribute::Reach).filter(|reach| reach.value >= SMALLEST_PAGE)?;
        let why = format!("{element}.page_size was not found; {element}.reach as one entry of the next power of two");
        let page = reach.value.checked_next_power_of_two()?;
        return Some(Pages { page, sets: Some(1), ways: vec![1], source: assumed(&why) });
    };
    let ways = found.get(element, WAYS);
    if let Some(Ways::Each(ways)) = ways
        && ways.iter().sum::<u64>() == entries.value
        && !ways.contains(&0)
    {
        return Some(Pages { page: page.value, sets: None, ways: ways.clone(), source: page.source });
    }
    let found_ways = match ways {
        Some(Ways::Equal(ways)) if *ways > 0 && entries.value.is_multiple_of(*ways) => Some(*ways),
        _ => None,
    };
    let found_sets = found.get(element, SETS).copied();
    let (sets, source) = match (found_sets, found_ways) {
        (Some(sets), Some(ways)) if sets * ways == entries.value => (sets, page.source),
        (_, Some(ways)) => {
            (entries.value / ways, format!("{}; sets assumed: as many as make up the entries", page.source))
        }
        _ => (1, format!("{}; one set is assumed, because the sets were not found", page.source)),
    };
    Some(Pages { page: page.value, sets: Some(sets), ways: vec![entries.value / sets], source })
}

/// Cycles that a miss of this level takes more where the data is not in the L2, above `known` of it and the levels before.
fn more_if_uncached(found: &Found, level: u32, known: f64) -> Option<f64> {
    let cycles = |translation| found.spectrum(LoadPath::GlobalCg, Data::Memory, translation);
    Some(cycles(Translation::Miss(level))? - cycles(Translation::Hit)? - known)
}
