//! Where the SMs are, and how far it is from each of them to the memory of each partition.

use std::collections::BTreeSet;

use super::Drawn;
use crate::report::plot::{Tile, TileGroup, TileRow, Tiles};
use strata_model::attribute::{Attribute, Reach, SmMap, SmPlace, Value};
use strata_model::topology::ElementName;

/// Tiles of a picture at most: no GPU has so many SMs and partitions.
const MOST_TILES: usize = 4096;
/// Name of the picture of latencies, beside that of the places.
const LATENCY: &str = "latency";

/// What the rows of a map are: GPCs, if they are known.
struct Rows {
    what: &'static str,
    of: fn(&SmPlace) -> Option<u32>,
}

impl Rows {
    fn of_map(sms: &[SmPlace]) -> Self {
        match sms.iter().any(|s| s.gpc.is_some()) {
            true => Rows { what: "GPC", of: |s| s.gpc },
            false => Rows { what: "group", of: |s| s.group },
        }
    }

    /// The SMs row by row, those of one partition together. What is unknown comes last.
    fn sorted(&self, sms: &[SmPlace]) -> Vec<SmPlace> {
        let last = |x: Option<u32>| (x.is_none(), x);
        let mut sms = sms.to_vec();
        sms.sort_by_key(|s| (last(s.partition), last((self.of)(s)), last(s.tpc), s.sm));
        sms
    }

    /// Name of the row of an SM.
    fn name(&self, s: &SmPlace) -> String {
        named(self.what, (self.of)(s))
    }

    /// All that is known of the place of an SM.
    fn place(&self, s: &SmPlace) -> String {
        format!("SM {}: {}, {}, {}", s.sm, named("partition", s.partition), self.name(s), named("TPC", s.tpc))
    }
}

fn named(what: &str, x: Option<u32>) -> String {
    x.map_or(format!("{what} unknown"), |x| format!("{what} {x}"))
}

/// Where the SMs are: a group for each partition, a row for each GPC or group.
pub(super) fn places(name: ElementName, sms: &[SmPlace]) -> Option<Tiles> {
    if sms.is_empty() {
        return None;
    }
    let rows = Rows::of_map(sms);
    let sms = rows.sorted(sms);
    let tile = |s: &SmPlace| Tile { label: s.sm.to_string(), hint: rows.place(s), shade: None };
    let row = |same: &[SmPlace]| TileRow { name: rows.name(&same[0]), tiles: same.iter().map(tile).collect() };
    let group = |same: &[SmPlace]| TileGroup {
        name: named("Partition", same[0].partition),
        rows: same.chunk_by(|a, b| (rows.of)(a) == (rows.of)(b)).map(row).collect(),
    };
    let groups: Vec<TileGroup> = sms.chunk_by(|a, b| a.partition == b.partition).map(group).collect();
    Some(Tiles {
        title: format!("{}: SMs by partition and {}", name.title(), rows.what),
        description: format!("{} SMs in {} groups by partition.", sms.len(), groups.len()),
        labels: "SMs".into(),
        groups,
    })
}

/// A map of the SMs for each partition, coloured by what its lines take from each SM; `None` of any other value.
pub(super) fn floor_plan(name: ElementName, attribute: Attribute, value: &Value) -> Option<Drawn> {
    let Value::SmMap(SmMap(sms)) = value else { return None };
    Drawn::new(attribute, Some(LATENCY), latencies(name, sms)?)
}

fn latencies(name: ElementName, sms: &[SmPlace]) -> Option<Tiles> {
    let all: Vec<&Reach> = sms.iter().flat_map(|s| &s.latency).filter(|to| to.cycles.0.is_finite()).collect();
    let (least, most) = super::span(all.iter().map(|to| to.cycles.0));
    // By the numbers that occur, since a file may have any.
    let partitions: BTreeSet<u32> = all.iter().map(|to| to.partition).collect();
    if partitions.is_empty() || partitions.len() * sms.len() > MOST_TILES {
        return None;
    }
    let rows = Rows::of_map(sms);
    let sms = rows.sorted(sms);
    let group = |partition: u32| {
        let tile = |s: &SmPlace| {
            let to = s.latency.iter().find(|to| to.partition == partition && to.cycles.0.is_finite())?;
            Some(Tile {
                label: format!("{:.0}", to.cycles.0),
                hint: format!("{}; {}, most lines {:.0} to {:.0}", rows.place(s), to.cycles, to.low.0, to.high.0),
                shade: Some((to.cycles.0 - least) / (most - least).max(1.0)),
            })
        };
        let row = |same: &[SmPlace]| TileRow {
            name: match same[0].partition {
                Some(own) if own == partition => format!("{}, near", rows.name(&same[0])),
                Some(_) => format!("{}, far", rows.name(&same[0])),
                None => rows.name(&same[0]),
            },
            tiles: same.iter().filter_map(tile).collect(),
        };
        let is_same = |a: &SmPlace, b: &SmPlace| (a.partition, (rows.of)(a)) == (b.partition, (rows.of)(b));
        TileGroup {
            name: format!("Cycles to lines of partition {partition}"),
            rows: sms.chunk_by(is_same).map(row).filter(|row| !row.tiles.is_empty()).collect(),
        }
    };
    Some(Tiles {
        title: format!("{}: latency from each SM to each partition", name.title()),
        description: format!("{least:.0} cycles, light, to {most:.0} cycles, dark: atomics on lines of the L2."),
        labels: "Cycles of its SMs".into(),
        groups: partitions.into_iter().map(group).filter(|group| !group.rows.is_empty()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::units::Cycles;

    fn at(sm: u32, partition: u32, cycles: &[f64]) -> SmPlace {
        let to = |(partition, &cycles): (u32, &f64)| Reach {
            partition,
            cycles: Cycles(cycles),
            low: Cycles(cycles - 9.0),
            high: Cycles(cycles + 9.0),
        };
        SmPlace {
            sm,
            partition: Some(partition),
            group: Some(0),
            latency: (0..).zip(cycles).map(to).collect(),
            ..SmPlace::default()
        }
    }

    #[test]
    fn each_partition_has_a_map_of_its_latencies() {
        let plan = latencies(ElementName::L2, &[at(0, 1, &[490.0, 290.0]), at(1, 0, &[290.0, 490.0])]).unwrap();
        let shades: Vec<Vec<Option<f64>>> = plan
            .groups
            .iter()
            .map(|group| group.rows.iter().flat_map(|row| &row.tiles).map(|tile| tile.shade).collect())
            .collect();
        // Of each partition first the SMs that are near to partition 0.
        assert_eq!(shades, [[Some(0.0), Some(1.0)], [Some(1.0), Some(0.0)]]);
        // A file may call its partitions anything.
        let mut last = at(0, u32::MAX, &[290.0]);
        last.latency[0].partition = u32::MAX;
        assert_eq!(latencies(ElementName::L2, &[last]).unwrap().groups.len(), 1);
        let tile = &plan.groups[0].rows[0].tiles[0];
        assert_eq!((&*tile.label, plan.groups[0].rows[0].name.as_str()), ("290", "group 0, near"));
        assert_eq!(tile.hint, "SM 1: partition 0, group 0, TPC unknown; 290.0 cycles, most lines 281 to 299");
    }

    #[test]
    fn without_latencies_there_is_no_floor_plan() {
        assert!(latencies(ElementName::L2, &[at(0, 0, &[])]).is_none());
        assert!(latencies(ElementName::L2, &[at(0, 0, &[f64::NAN])]).is_none());
        let many: Vec<SmPlace> = (0..100).map(|sm| at(sm, 0, &[290.0; 100])).collect();
        assert!(latencies(ElementName::L2, &many).is_none());
    }
}
