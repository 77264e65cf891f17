//! Everything that reads foreign bytes, on every input that once broke it (`fuzz/crashes/NAME/`, where `cargo xtask fuzz` leaves what it
//! finds) and on the seeds that the fuzzer begins with (`fuzz/seeds/NAME/`).

use std::fs;
use std::path::Path;

#[path = "../fuzz/src/parsers.rs"]
mod parsers;

#[test]
fn nothing_that_once_broke_a_parser_breaks_it_now() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let mut read = 0;
    for (name, parse) in parsers::ALL {
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

#[test]
fn every_folder_of_inputs_belongs_to_a_parser() {
    for folder in ["crashes", "seeds"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(folder);
        for entry in fs::read_dir(root).into_iter().flatten() {
            let name = entry.unwrap().file_name();
            assert!(parsers::ALL.iter().any(|(known, _)| name == *known), "no parser reads {name:?}");
        }
    }
}
