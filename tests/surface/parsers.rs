//! Everything that reads foreign bytes, on every input that once broke it (`fuzz/crashes/NAME/`, where `cargo xtask fuzz` leaves what it
//! finds) and on the seeds that the fuzzer begins with (`fuzz/seeds/NAME/`).

use std::fs;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[path = "../../fuzz/src/parsers.rs"]
mod targets;

#[test]
fn nothing_that_once_broke_a_parser_breaks_it_now() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let mut read = 0;
    for (name, parse) in targets::ALL {
        for folder in ["crashes", "seeds"] {
            for entry in fs::read_dir(root.join(folder).join(name)).into_iter().flatten() {
                let path = entry.unwrap().path();
                // A panic says which file it was.
                eprintln!("{}", path.display());
                parse(&fs::read(&path).unwrap());
                read += 1;
            }
        }
        // What any parser meets first.
        for data in [&b""[..], b"\0", b"{", b"[[[[", b"1,2,3", b"\xff\xfe\x00"] {
            parse(data);
        }
    }
    assert!(read >= 4, "the seeds are gone");
}

/// Damaged copies of each seed that a parser is given in every test run: together a few seconds.
const DAMAGED: usize = 150;

/// A copy with a few bytes changed, taken out, doubled, or cut off at its end.
fn damaged(seed: &[u8], random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..random.random_range(1..=4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.random_range(0..bytes.len());
        let end = (at + random.random_range(1..=16)).min(bytes.len());
        match random.random_range(0..5) {
            0 => bytes[at] ^= 1 << random.random_range(0..8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'"', b'[', b'-', b'9'][random.random_range(0..9)],
            2 => drop(bytes.drain(at..end)),
            3 => bytes.extend_from_within(at..end),
            _ => bytes.truncate(at),
        }
    }
    bytes
}

/// What `cargo xtask fuzz` does for longer and with the help of the compiler.
#[test]
fn damaged_seeds_break_no_parser() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut parsed = 0;
    for (name, parse) in targets::ALL {
        let mut seeds: Vec<_> =
            fs::read_dir(root.join(name)).into_iter().flatten().map(|e| e.unwrap().path()).collect();
        seeds.sort();
        for seed in seeds {
            let seed = fs::read(&seed).unwrap();
            for _ in 0..DAMAGED {
                parse(&damaged(&seed, &mut random));
                parsed += 1;
            }
        }
    }
    assert!(parsed >= 4 * DAMAGED, "the seeds are gone");
}

#[test]
fn every_folder_of_inputs_belongs_to_a_parser() {
    for folder in ["crashes", "seeds"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(folder);
        for entry in fs::read_dir(root).into_iter().flatten() {
            let name = entry.unwrap().file_name();
            assert!(targets::ALL.iter().any(|(known, _)| name == *known), "no parser reads {name:?}");
        }
    }
}
