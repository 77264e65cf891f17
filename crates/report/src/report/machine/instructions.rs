//! Instruction caches.

use super::found::{Found, Sourced, assumed, named};
use super::table::Table;
use strata_model::attribute::{Attribute, Counts, INSTANCE_OF_SMS, MAP};
use strata_model::topology::ElementName::{self, Die, InstructionL0, InstructionL1, InstructionL15};

/// The caches, with the names that they get.
const LEVELS: [(ElementName, &str); 3] = [(InstructionL0, "L0"), (InstructionL1, "L1"), (InstructionL15, "L1.5")];
/// Where it was not found how many bytes a miss brings in.
const LINE: u64 = 128;
/// Ways are not measured.
const WAYS: u64 = 4;

/// The tables of all caches whose size and cost were found. What is left out of them takes no time in a simulation.
pub(super) fn render(found: &Found) -> String {
    let mut text = String::new();
    let mut before = "sm";
    for (element, name) in LEVELS {
        let (Some(size), Some(penalty)) =
            (found.whole(element, Attribute::Size), found.whole(element, Attribute::MissPenalty))
        else {
            continue;
        };
        let line = found.whole(element, Attribute::FetchGranularity).filter(|line| line.value.is_power_of_two());
        let line = line.unwrap_or_else(|| Sourced::new(LINE, assumed("how many bytes a miss brings in was not found")));
        let shared_by = sharers(found, element)
            .unwrap_or_else(|| Sourced::new(before, assumed("which SMs share it was not found, or fits no name")));
        before = shared_by.value;
        let ways = if size.value.is_multiple_of(line.value * WAYS) { WAYS } else { 1 };
        let mut table = Table::list("instruction");
        table.put("name", Sourced::new(name, assumed("its place among the levels")));
        table.put("shared_by", shared_by);
        table.put("size", size);
        table.put("line", line);
        table.put("ways", Sourced::new(ways, assumed("the structure of an instruction cache is not measured")));
        table.put("replacement", Sourced::new("lru", assumed("the structure of an instruction cache is not measured")));
        table.put("penalty", penalty);
        text.push_str(&table.render());
    }
    text
}

/// Which SMs share a cache, if that was found and a machine file has a name for it.
fn sharers(found: &Found, element: ElementName) -> Option<Sourced<&'static str>> {
    let Counts(of_sms) = found.get(element, INSTANCE_OF_SMS)?;
    let gpcs: Option<Vec<u64>> =
        found.get(Die, MAP).and_then(|map| map.0.iter().map(|place| place.gpc.map(u64::from)).collect());
    let sms = 0..of_sms.len() as u64;
    let names = [
        ("device", Some(vec![0; of_sms.len()])),
        ("sm", Some(sms.clone().collect())),
        ("tpc", Some(sms.map(|sm| sm / 2).collect())),
        ("gpc", gpcs),
    ];
    let (name, _) = names.into_iter().find(|(_, groups)| groups.as_ref().is_some_and(|all| are_alike(all, of_sms)))?;
    Some(Sourced::new(name, found.derived(&named(element, Attribute::InstanceOfSms))))
}

/// Whether two numberings put the same SMs together.
fn are_alike(one: &[u64], other: &[u64]) -> bool {
    let first = |all: &[u64], at: usize| all.iter().position(|number| *number == all[at]);
    one.len() == other.len() && (0..one.len()).all(|at| first(one, at) == first(other, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_the_same_whatever_their_numbers() {
        assert!(are_alike(&[3, 3, 0, 0, 3], &[0, 0, 1, 1, 0]));
        assert!(!are_alike(&[3, 3, 0, 0, 3], &[0, 0, 1, 1, 1]));
        assert!(!are_alike(&[0, 1], &[0, 0]));
        assert!(!are_alike(&[0], &[0, 0]));
    }
}
