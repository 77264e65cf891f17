//! Results of one machine are the same to `strata compare`, and those of a machine with one change are not.
//! `cargo xtask agreement` asks the same of many machines.

use std::path::{Path, PathBuf};

use gpu_strata::{Answer, CompareOptions, Comparison, Effort, Options, Side, compare};
use strata_drawn::Change;
use strata_sim::machine::Machine;

use crate::sim;

/// Seeds with which each machine is discovered.
const SEEDS: [u64; 3] = [1, 2, 3];
/// Seed of what is changed: another one.
const SEED_OF_CHANGED: u64 = 1001;

/// The file with the result of a discovery.
fn discovered(folder: &Path, machine: &Machine, seed: u64) -> PathBuf {
    let found = sim::device(machine).discover(Options::effort(Effort::Quick).seed(seed));
    let answer = Answer::from(found.expect("a simulated machine is discovered"));
    let file = folder.join(format!("{seed}.json"));
    std::fs::write(&file, answer.json().expect("a result has a JSON form")).expect("the result fits");
    file
}

fn compared(a: &Path, b: &Path) -> Comparison {
    compare(Side::File(a.into()), Side::File(b.into()), &CompareOptions::default()).expect("both are results")
}

/// Discovers a machine with every seed, and changed with another one.
fn agree(machine: &Machine, change: Change) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let originals = SEEDS.map(|seed| discovered(folder.path(), machine, seed));
    for (number, a) in originals.iter().enumerate() {
        for b in &originals[number + 1..] {
            let answer = compared(a, b);
            assert!(answer.same(), "{}: {:?}", machine.origin, answer.document.differs);
        }
    }
    let changed = change.of(machine).expect("it can be changed so");
    let found = discovered(folder.path(), &changed.machine, SEED_OF_CHANGED);
    for original in &originals {
        let differs = compared(original, &found).document.differs;
        let shown = |element: &str| differs.iter().any(|row| row.place.split(' ').next() == Some(element));
        assert!(changed.elements.iter().any(|element| shown(element.key())), "{}: {differs:?}", changed.machine.origin);
    }
}

#[test]
fn a_smaller_l1_is_found() {
    agree(&strata_drawn::machine(2).machine, Change::L1Size);
}

#[test]
fn a_slower_l1_is_found() {
    agree(&strata_drawn::machine(8).machine, Change::L1Latency);
}
