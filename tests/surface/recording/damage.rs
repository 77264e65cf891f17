//! Recordings that are cut or damaged, and files that are none.

use super::*;

#[test]
fn a_cut_at_any_byte_keeps_all_complete_blocks() {
    let (bytes, begins) = small();
    for length in 0..bytes.len() {
        let read = read(&bytes[..length]);
        let complete = begins.iter().skip(1).filter(|&&begin| begin <= length as u64).count();
        let kept = match complete {
            0 if length == 0 => {
                assert!(matches!(read, Err(Error::Empty)));
                continue;
            }
            0 => {
                assert!(
                    matches!(read, Err(Error::NoHeader { length: at }) if at == length as u64),
                    "{length}: {read:?}"
                );
                continue;
            }
            1..=3 => 0,
            4 => 2,
            _ => 5,
        };
        let recording = read.unwrap();
        assert_eq!(recording.asked, (complete >= 2).then(suite), "cut at {length}");
        assert_eq!(*recording.entries, entries()[..kept], "cut at {length}");
        let cut = recording.cut.as_ref().expect("the cut is noticed");
        assert_eq!(cut.offset, begins[complete]);
        let run = recording.run_info();
        assert_eq!(run.duration_s, recording.entries.last().map_or(0.5, |entry| entry.at_s));
        assert!(run.warnings[0].contains(&format!("ends early, at byte {}", cut.offset)), "{:?}", run.warnings);
    }
}

#[test]
fn no_flipped_bit_changes_a_sample() {
    let (bytes, _) = small();
    let mut damaged = bytes.clone();
    for bit in 0..bytes.len() * 8 {
        damaged[bit / 8] ^= 1 << (bit % 8);
        if let Ok(recording) = read(&damaged) {
            assert!(recording.cut.is_some(), "bit {bit} is not noticed");
            assert_eq!(recording.header, header());
            assert!(recording.asked.is_none_or(|asked| asked == suite()), "bit {bit}");
            assert_eq!(*recording.entries, entries()[..recording.entries.len()], "bit {bit}");
        }
        damaged[bit / 8] = bytes[bit / 8];
    }
}

#[test]
fn damage_is_located() {
    let (mut bytes, begins) = small();
    bytes[begins[4] as usize + 20] ^= 1;
    let text = message(read(&bytes));
    assert!(text.contains(&format!("block 4 at byte {}: its checksum does not fit", begins[4])), "{text}");
}

#[test]
fn other_files_are_recognized() {
    let other: [(&[u8], &str); 9] = [
        (b"", "the file is empty"),
        (b"{\"schema\": \"strata/topology/1\"}", "looks like JSON"),
        (b"\n [1]", "looks like JSON"),
        (b"\x28\xb5\x2f\xfd and more of it", "zstd -d"),
        (b"\x1f\x8b\x08 and more of it, still", "gunzip"),
        (b"PK\x03\x04 and more of it, still", "zip archive"),
        (b"\x89STR\n\x1A\n\x01\0\0\0\0\0\0\0\0", "as text"),
        (b"\xEF\xBF\xBDSTR\r\n\x1A\n\x01\0\0\0\0\0", "as text"),
        (b"\x7fELF\x02\x01\x01 and more of it", "`strata discover --record FILE`"),
    ];
    for (bytes, hint) in other {
        let text = message(read(bytes));
        assert!(text.contains(hint), "{text}");
    }
    for version in [0, 1, VERSION + 1, 258] {
        let mut other = small().0;
        other[8..10].copy_from_slice(&version.to_le_bytes());
        let text = message(read(&other));
        let words = format!("format version {version} and this program reads versions 2 to {VERSION}");
        assert!(text.contains(&words), "{text}");
    }
}

#[test]
fn nothing_may_follow_the_end() {
    let (bytes, _) = small();
    for tail in [&b"x"[..], &[0; 100], &bytes] {
        let text = message(read(&[&bytes, tail].concat()));
        assert!(text.contains(&format!("ends at byte {} and something follows", bytes.len())), "{text}");
    }
}
