//! Machines of the second generator with what GPUs of the last years have besides: GPCs and clusters of blocks, copies that go on by
//! themselves, instruction caches, caches that obey hints and write back, and TLBs that some SMs share. Sizes and numbers of sets are those that the
//! format of machine files allows. But an instruction cache has 4 KiB or more, as on GPUs of which it is known.

use strata_sim::machine::Machine;
use toml::{Table, Value};

use crate::second::dice::{Dice, KIB};
use crate::second::{Second, second};

/// Compute capabilities of these machines. Clusters exist from 9.0 on, so half of the machines have them.
const CAPABILITIES: [&str; 10] = ["7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "9.0", "9.0", "10.0", "12.0"];
/// Most SMs of a TPC are two in a row.
const OF_A_TPC: u64 = 2;

/// The machine of a seed.
///
/// # Panics
///
/// If it is not valid, with what is wrong and its text. That is a fault of the generator.
pub fn recent(seed: u64) -> Second {
    let plain = second(seed);
    let mut table: Table = plain.machine.text.parse().expect("what the second generator writes is TOML");
    // Drawn apart from what the second generator draws.
    let mut dice = Dice::new(seed.rotate_left(32) ^ 19);
    plain.traits.into_iter().for_each(|name| dice.note(name));
    add(&mut dice, &mut table);
    let text = toml::to_string(&table).expect("a table is TOML");
    let machine = Machine::parse(&format!("recent-{seed}"), &text);
    let machine = machine.unwrap_or_else(|defect| panic!("{defect}\n{text}"));
    Second { machine, traits: dice.into_traits() }
}

fn add(dice: &mut Dice, table: &mut Table) {
    let tpcs = dice.within(2..=10);
    let sms = OF_A_TPC * tpcs;
    let device = of(table, "device");
    let capability = dice.pick(&CAPABILITIES);
    device.insert("compute_capability".into(), capability.into());
    put(device, "multiprocessors", sms);
    let gpcs = (!dice.one_in(6)).then(|| gpcs(dice, device, tpcs));
    pipeline(dice, of(table, "pipeline"), gpcs.as_deref());
    let shared = of(table, "shared");
    put(shared, "remote_cycles", dice.spread(20, 400));
    put(shared, "remote_step", dice.pick(&[0, 0, 1, 2, 6]));
    put(shared, "remote_atomic", dice.pick(&[0, 1, 16, 60]));
    caches(dice, of(table, "cache"));
    // Of a memory that takes everything it cannot be seen when bytes go there.
    if dice.one_in(2) {
        put(of(table, "memory"), "bandwidth", dice.spread(8, 512));
    }
    instructions(dice, table, gpcs.is_some());
    let levels = table.get_mut("tlb").and_then(Value::as_array_mut);
    levels.into_iter().flatten().filter_map(Value::as_table_mut).for_each(|level| translation(dice, level, sms));
}

/// A table of a table.
fn of<'t>(table: &'t mut Table, name: &str) -> &'t mut Table {
    let entry = table.entry(name).or_insert_with(|| Value::Table(Table::new()));
    entry.as_table_mut().unwrap_or_else(|| panic!("{name} is a table"))
}

fn put(table: &mut Table, key: &str, number: u64) {
    table.insert(key.into(), Value::Integer(i64::try_from(number).expect("small numbers")));
}

/// GPCs of some TPCs each: in a row, in turn, or as they come. The GPC of each TPC.
fn gpcs(dice: &mut Dice, device: &mut Table, tpcs: u64) -> Vec<u64> {
    let count = dice.within(1..=4.min(tpcs));
    let order = dice.within(0..=2);
    let of_tpcs: Vec<u64> = (0..tpcs)
        .map(|tpc| match order {
            0 => tpc * count / tpcs,
            1 => tpc % count,
            _ => dice.within(0..=count - 1),
        })
        .collect();
    dice.note_if(order == 2, "gpcs in disorder");
    dice.note_if(count == 1, "one gpc");
    let names: String = of_tpcs.iter().map(|gpc| format!("{gpc}{gpc}")).collect();
    device.insert("gpcs".into(), names.into());
    let largest = dice.pick(&[8, 8, 16, 16, 4, 2, 1]);
    dice.note_if(largest < 8, "small clusters");
    put(device, "largest_cluster", largest);
    if dice.one_in(3) {
        let last = OF_A_TPC * (tpcs - dice.within(1..=2.min(tpcs - 1)));
        let closed = (last..OF_A_TPC * tpcs).map(|sm| Value::Integer(sm as i64)).collect();
        device.insert("pairs_only".into(), Value::Array(closed));
        dice.note("tpcs for pairs only");
    }
    of_tpcs
}

/// What clusters and copies cost, and what the SMs of a GPC get together.
fn pipeline(dice: &mut Dice, pipeline: &mut Table, gpcs: Option<&[u64]>) {
    put(pipeline, "cluster_barrier", dice.spread(50, 800));
    put(pipeline, "bulk_copy", dice.pick(&[0, 50, 300, 300, 700]));
    put(pipeline, "bulk_sector", dice.pick(&[0, 1, 1, 2, 8]));
    put(pipeline, "cp_async", dice.pick(&[0, 5, 30, 30, 100]));
    put(pipeline, "mbarrier", dice.pick(&[1, 8, 30, 30, 90]));
    let Some(gpcs) = gpcs.filter(|_| !dice.one_in(4)) else {
        return;
    };
    let of_sm = dice.within(16..=128);
    let tpcs = (0..=3).map(|gpc| gpcs.iter().filter(|&&of| of == gpc).count() as u64).max().unwrap_or(1);
    // From what one SM gets to a little more than all SMs of the largest GPC ask for.
    let tenths = dice.within(10..=11 * OF_A_TPC * tpcs);
    dice.note_if(tenths > 10 * OF_A_TPC * tpcs, "a gpc gets what its sms ask for");
    put(pipeline, "delivery", of_sm);
    put(pipeline, "gpc_delivery", of_sm * tenths / 10);
}

/// What an SM's first cache and the L2 do with hints and stores.
fn caches(dice: &mut Dice, caches: &mut Table) {
    for (name, cache) in caches.iter_mut().filter_map(|(name, cache)| Some((name, cache.as_table_mut()?))) {
        let is_l2 = name == "l2";
        if !is_l2 && name != "l1" {
            continue;
        }
        let mut hints = some(dice, &["evict_first", "evict_last"]);
        if is_l2 {
            hints.extend(some(dice, &["discard"]));
        } else {
            hints.extend(some(dice, &["no_allocate"]));
            if dice.one_in(2) {
                cache.insert("write".into(), dice.pick(&["through", "allocate", "evict"]).into());
            }
        }
        dice.note_if(!hints.is_empty(), if is_l2 { "l2 obeys hints" } else { "l1 obeys hints" });
        cache.insert("hints".into(), Value::Array(hints));
        if is_l2 {
            let sizes = some(dice, &["64 B", "128 B", "256 B"]);
            dice.note_if(!sizes.is_empty(), "l2 obeys prefetch sizes");
            cache.insert("prefetch".into(), Value::Array(sizes));
            let writes_back = dice.one_in(2);
            dice.note_if(writes_back, "l2 writes back");
            cache.insert("write_back".into(), writes_back.into());
        }
    }
}

/// Some of several words.
fn some(dice: &mut Dice, words: &[&str]) -> Vec<Value> {
    words.iter().filter(|_| dice.one_in(2)).map(|&word| word.into()).collect()
}

/// None to four instruction caches, each larger than the one before and of no fewer SMs.
fn instructions(dice: &mut Dice, table: &mut Table, has_gpcs: bool) {
    let sharers: &[&str] = if has_gpcs { &["sm", "tpc", "gpc", "device"] } else { &["sm", "tpc", "device"] };
    let count = dice.pick(&[0, 1, 2, 2, 3, 3, 3, 4]);
    dice.note_if(count == 0, "no instruction caches");
    dice.note_if(count == 4, "four instruction caches");
    let (mut sharer, mut least, mut penalty) = (0, 4 * KIB, dice.spread(2, 60));
    let mut all = Vec::new();
    for number in 0..count {
        let (line, ways) = (dice.pick(&[32, 64, 128, 128, 256]), dice.pick(&[1, 2, 3, 4, 4, 6, 8, 16]));
        let sets = dice.spread(least, 4 * least).div_ceil(line * ways);
        let size = sets * ways * line;
        let policy = dice.pick(&["lru", "lru", "lru", "fifo", "random", "plru", "unhit"]);
        let policy = if policy == "plru" && !ways.is_power_of_two() { "lru" } else { policy };
        dice.note_if(policy != "lru", "instruction cache without lru");
        let mut cache = Table::new();
        cache.insert("name".into(), format!("i{number}").into());
        cache.insert("shared_by".into(), sharers[sharer].into());
        put(&mut cache, "line", line);
        put(&mut cache, "ways", ways);
        put(&mut cache, "penalty", penalty);
        put(&mut cache, "size", size);
        cache.insert("replacement".into(), policy.into());
        all.push(Value::Table(cache));
        let factor = dice.pick(&[1, 2, 2, 4]);
        dice.note_if(factor == 1, "instruction caches of nearly one size");
        least = size * factor + line;
        penalty = dice.spread(20, 300);
        sharer = (sharer + dice.within(0..=2) as usize).min(sharers.len() - 1);
    }
    if !all.is_empty() {
        table.insert("instruction".into(), Value::Array(all));
    }
}

/// Who shares a level of TLBs that is not the SM's own.
fn translation(dice: &mut Dice, level: &mut Table, sms: u64) {
    if level.get("scope").and_then(Value::as_str) != Some("device") || dice.one_in(2) {
        return;
    }
    let instances = dice.within(2..=6.min(sms));
    let is_orderly = dice.one_in(2);
    // There are fewer than ten.
    let of_sms: String = (0..sms)
        .map(|sm| if is_orderly { sm * instances / sms } else { dice.within(0..=instances - 1) }.to_string())
        .collect();
    dice.note(if is_orderly { "sms in a row share a tlb" } else { "any sms share a tlb" });
    level.insert("sms".into(), of_sms.into());
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Seeds that every test looks at.
    const SEEDS: u64 = 300;

    /// What these machines have besides what is unusual about those of the second generator.
    const TRAITS: [&str; 15] = [
        "a gpc gets what its sms ask for",
        "any sms share a tlb",
        "four instruction caches",
        "gpcs in disorder",
        "instruction cache without lru",
        "instruction caches of nearly one size",
        "l1 obeys hints",
        "l2 obeys hints",
        "l2 obeys prefetch sizes",
        "l2 writes back",
        "no instruction caches",
        "one gpc",
        "small clusters",
        "sms in a row share a tlb",
        "tpcs for pairs only",
    ];

    #[test]
    fn every_seed_gives_a_valid_machine_and_the_same_again() {
        for seed in 0..SEEDS {
            assert_eq!(recent(seed).machine.text, recent(seed).machine.text);
        }
    }

    #[test]
    fn every_trait_occurs() {
        let seen: BTreeSet<&str> = (0..SEEDS).flat_map(|seed| recent(seed).traits).collect();
        let never: Vec<&&str> = TRAITS.iter().filter(|name| !seen.contains(*name)).collect();
        assert!(never.is_empty(), "never seen: {never:?}");
    }
}
