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

/// What is left of the entries, in their order.
fn are_some_of(left: &[Entry], all: &[Entry]) -> bool {
    let mut all = all.iter();
    left.iter().all(|entry| all.any(|whole| whole == entry))
}

#[test]
fn a_flipped_bit_loses_its_block_and_changes_no_sample() {
    let (bytes, begins) = small();
    let mut damaged = bytes.clone();
    for bit in 0..bytes.len() * 8 {
        damaged[bit / 8] ^= 1 << (bit % 8);
        let block = begins.iter().rposition(|&begin| begin <= bit as u64 / 8).filter(|_| bit / 8 >= 16);
        match (read(&damaged), block) {
            // Without device and run nothing can be said.
            (result, None | Some(0)) => assert!(result.is_err(), "bit {bit}"),
            (Err(error), Some(_)) => panic!("bit {bit}: {error}"),
            (Ok(recording), Some(block)) => {
                assert_eq!(recording.header, header());
                assert!(recording.is_incomplete(), "bit {bit} is not noticed");
                let asked = if block == 1 { Suite::default() } else { suite() };
                assert_eq!(recording.asked, Some(asked), "bit {bit}");
                let kept = match block {
                    3 => 3,
                    4 => 2,
                    _ => 5,
                };
                assert_eq!(recording.entries.len(), kept, "bit {bit} of block {block}");
                assert!(are_some_of(&recording.entries, &entries()), "bit {bit}");
                assert_eq!(recording.end.is_some(), block != 5, "bit {bit} of block {block}");
            }
        }
        damaged[bit / 8] = bytes[bit / 8];
    }
}

#[test]
fn damage_is_located_and_what_is_missing_is_named() {
    let (mut bytes, begins) = small();
    bytes[begins[3] as usize + 20] ^= 1;
    let recording = read(&bytes).unwrap();
    let [lost] = recording.lost.as_slice() else { panic!("{:?}", recording.lost) };
    assert_eq!(
        (lost.offset, lost.end, lost.missing),
        (begins[3], begins[4], Missing::Experiments { first: 1, last: 1 })
    );
    let run = recording.run_info();
    let words = format!(
        "damaged from byte {} to {} (its checksum does not fit): experiment 1 is missing",
        begins[3], begins[4]
    );
    assert!(run.warnings[0].contains(&words), "{:?}", run.warnings);
    // What was in the block failed, and is not just something that nobody asked.
    let Err(Failure::Failed { reason }) = recording.answer(&entries()[0].experiment) else { panic!("it was lost") };
    assert!(reason.contains("the recording is damaged"), "{reason}");

    // Nothing is missing where machine code was.
    let (mut bytes, begins) = small();
    bytes[begins[2] as usize + 20] ^= 1;
    let recording = read(&bytes).unwrap();
    assert_eq!(recording.lost[0].missing, Missing::Nothing);
    assert_eq!(recording.answer(&chase(77, 77)), Err(Failure::NotRecorded));
}

/// Patterns are answers of a characterization; without its question they are replayed with the default one.
#[test]
fn a_question_that_is_lost_is_assumed_and_that_is_said() {
    let (mut bytes, begins) = small();
    bytes[begins[1] as usize + 20] ^= 1;
    let recording = read(&bytes).unwrap();
    assert_eq!(recording.asked, Some(Suite::default()));
    let warnings = recording.run_info().warnings;
    assert!(warnings[0].contains("it held what was asked, and the default is assumed"), "{warnings:?}");
}

/// Many places that look like blocks cost no more than a few.
#[test]
fn a_file_full_of_beginnings_is_given_up_on() {
    let (bytes, begins) = small();
    let block = [&100u32.to_le_bytes()[..], &100u32.to_le_bytes(), &[0; 4], b"\x28\xb5\x2f\xfd"].concat();
    let file = [&bytes[..begins[2] as usize], &block.repeat(100_000)].concat();
    let recording = read(&file).unwrap();
    assert_eq!(recording.cut.as_ref().map(|cut| cut.offset), Some(begins[2]));
    assert_eq!(recording.bytes, file.len() as u64);
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
