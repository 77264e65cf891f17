//! The slices of an L2: how many there are, and how an address chooses one.

use gpu_strata::Effort;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use strata_model::attribute::{IndexFunction, SLICE_HASH, SLICES};
use strata_model::topology::{Element, ElementName, Finding, Wanted};
use strata_sim::machine::Machine;

use crate::sim;

/// The address bits whose parity chooses the partition, where there are two.
const PARTITION: u64 = 0xab000;
/// Two partitions by the parity of some address bits: with copies of the other's lines, or without.
const PARTITIONS: &str =
    "[cache.l2.partitions]\ncount = 2\nsms = \"01101\"\nparity = [0xab000]\nfar_hit = 90\nfar_memory = 120\ncopies = ";

/// The K20c with these keys of its L2, maybe in partitions, and with noise.
fn machine(keys: &str, copies: Option<bool>, noise: &str) -> Machine {
    let text = Machine::named("k20c").expect("it comes with strata").text;
    let text = text.replacen("[cache.l2]\n", &format!("[cache.l2]\n{keys}\n"), 1);
    let partitions = copies.map_or(String::new(), |copies| format!("{PARTITIONS}{copies}\n\n"));
    let text = text.replacen("[shared]\n", &format!("{partitions}[shared]\n"), 1);
    let text = format!("{text}\n[noise]\n{noise}\n");
    Machine::parse("k20c with slices", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"))
}

/// The L2, as far as slices are asked for.
fn found(machine: &Machine, seed: u64) -> Element {
    let only = ["l2.slices", "l2.slice_hash"].map(|name| name.parse::<Wanted>().expect("an attribute"));
    let mut outcome = sim::discovery(machine, Effort::Quick, seed, &only);
    outcome.topology.elements.remove(&ElementName::L2).expect("it was asked for")
}

fn number(l2: &Element) -> Option<u64> {
    l2.finding(SLICES).expect("it was asked for").get::<u64>().copied()
}

fn hash(l2: &Element) -> &Finding {
    l2.finding(SLICE_HASH).expect("it was asked for")
}

fn reason(finding: &Finding) -> &str {
    assert!(!finding.is_known(), "{finding:?}");
    finding.reason.as_deref().unwrap_or_default()
}

/// Any number of slices that a hash mixes, also none that is a power of two.
#[test]
fn slices_are_counted() {
    let noisy = "jitter = 12\nspikes = 0.01\nspike = 4000";
    let cases = [
        ("port = 2\nslices = 2", None, "", 2),
        ("port = 1\nslices = 5", None, noisy, 5),
        ("port = 2\nslices = 12", Some(true), "", 12),
        ("port = 4\nslices = 7", Some(false), noisy, 14),
        ("port = 2\nslices = 47", None, "", 47),
    ];
    for (seed, &(keys, copies, noise, expected)) in (1..).zip(sim::sample(4, &cases)) {
        let l2 = found(&machine(keys, copies, noise), seed);
        assert_eq!(number(&l2), Some(expected), "{keys}, {copies:?}: {:?}", l2.finding(SLICES));
        let why = reason(hash(&l2));
        assert!(why.contains("no parities of the address bits below 2 MiB"), "{keys}: {why}");
    }
}

/// Where no load waits for those of others, or all do, nothing is said; nor where there are more slices than lines tell.
#[test]
fn what_does_not_show_is_unknown() {
    let cases = [
        ("", "no queue shows what serves it"),
        ("port = 2", "whether they share a slice or the way to it"),
        ("port = 2\nslices = 200", "there may be more slices"),
    ];
    for (seed, (keys, expected)) in (1..).zip(cases) {
        let l2 = found(&machine(keys, None, ""), seed);
        for finding in [l2.finding(SLICES).expect("it was asked for"), hash(&l2)] {
            assert!(reason(finding).contains(expected), "{keys}: {finding:?}");
        }
    }
}

/// Whether two functions of an address within a page part it alike.
fn part_alike(found: &IndexFunction, masks: &[u64]) -> bool {
    let found: Vec<u64> = match found {
        IndexFunction::Bits { bits } => bits.iter().map(|bit| 1 << bit).collect(),
        IndexFunction::Parity { masks } => masks.iter().map(|mask| mask.0).collect(),
        _ => return false,
    };
    let same =
        |masks: &[u64], difference: u64| masks.iter().all(|mask| (mask & difference).count_ones().is_multiple_of(2));
    found.len() == masks.len() && (0..1u64 << 14).all(|bits| same(&found, bits << 7) == same(masks, bits << 7))
}

/// Up to 32 slices by masks of any address bits, also above a page, with copies of lines or without.
#[test]
fn parities_of_address_bits_are_found() {
    for &seed in sim::sample(3, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) {
        let mut dice = ChaCha8Rng::seed_from_u64(seed);
        let copies = [None, Some(false), Some(true)][seed as usize % 3];
        let mut own: Vec<u32> = (7..21).collect();
        own.shuffle(&mut dice);
        own.truncate(dice.random_range(1..=5));
        // Each mask has a bit that neither another nor that of the partitions has, so that none follows from the others.
        own.retain(|bit| PARTITION >> bit & 1 == 0);
        let free = !own.iter().fold((1 << 7) - 1, |bits, bit| bits | 1u64 << bit);
        let masks: Vec<u64> = own.iter().map(|bit| dice.random_range(0..1u64 << 34) & free | 1 << bit).collect();
        let keys = format!("port = 2\nslices = {}\nslice_parity = {masks:?}", 1 << masks.len());
        let l2 = found(&machine(&keys, copies, ""), seed);
        let below: Vec<u64> = masks.iter().map(|mask| mask & ((2 << 20) - 1)).collect();
        // Without copies a load goes to the slices of the partition that its line is at home in.
        let all = if copies == Some(false) { [&below[..], &[PARTITION]].concat() } else { below };
        assert_eq!(number(&l2), Some(1 << all.len()), "seed {seed}: {keys}: {:?}", l2.finding(SLICES));
        let hash = hash(&l2);
        let is_right = hash.get::<IndexFunction>().is_some_and(|found| part_alike(found, &all));
        assert!(is_right, "seed {seed}: {keys}: {hash:?}");
    }
}
