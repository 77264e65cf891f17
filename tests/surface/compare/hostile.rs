//! Files that are no results: status 2, the file's name, what to do, and little memory.

use std::fs::File;
use std::io::Write;

use super::*;

/// Refused with these words, in a message of bearable length.
#[track_caller]
fn refused(path: &Path, words: &[&str]) {
    let name = path.to_str().unwrap();
    for arguments in [[name, H200], [H200, name]] {
        let done = compare(&arguments).code(2);
        let said = stderr(&done);
        assert_eq!(stdout(&done), "");
        assert!(said.contains(name) && said.len() < 1000 && !said.contains("panicked"), "{said}");
        for word in words {
            assert!(said.contains(word), "no {word:?} in: {said}");
        }
    }
}

#[test]
fn what_is_no_result_is_refused_with_file_and_line() {
    let dir = TempDir::new().unwrap();
    let whole = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(H200)).unwrap();
    let cases: [(&str, Vec<u8>, &[&str]); 12] = [
        ("empty", Vec::new(), &["is empty"]),
        ("letters", b"abc\nabc\nabc\n".repeat(1000), &[":1:1:"]),
        ("truncated", whole.as_bytes()[..whole.len() / 2].to_vec(), &["EOF"]),
        ("line", b"x".repeat(10_000_000), &[":1:1:"]),
        ("deep", b"[".repeat(1_000_000), &[":1:"]),
        ("deeper", b"{\"schema\":".repeat(1_000_000), &[":1:"]),
        ("bytes", vec![0xff; 100], &[":1:", "neither a recording nor text"]),
        ("version", whole.replacen("topology/1", "topology/2", 1).into_bytes(), &["topology/2", "strata/topology/1"]),
        ("other", b"{\"a\": 1}".to_vec(), &["has no schema"]),
        (
            "type",
            whole.replacen("\"device\": {", "\"device\": 7, \"x\": {", 1).into_bytes(),
            &["invalid type: integer `7`"],
        ),
        ("mt4g", b"{\"general\": {\"name\": 1},\n\"memory\": {}}".to_vec(), &[":1:"]),
        ("recording", b"\x89STR\r\n\x1A\n\x03\x00".to_vec(), &["inside its header"]),
    ];
    for (name, bytes, words) in cases {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        refused(&path, words);
    }
    refused(dir.path(), &["is a folder"]);
    refused(&dir.path().join("absent"), &["reference:NAME"]);
}

/// Neither a file of two GiB nor one without an end is read to its end.
#[test]
fn a_file_that_is_too_long_is_not_read() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("long.json");
    let mut file = File::create(&path).unwrap();
    file.write_all(b"{\"schema\": \"").unwrap();
    file.set_len(2 << 30).unwrap();
    refused(&path, &["longer than 16 MiB"]);
    refused(Path::new("/dev/zero"), &["it is a device"]);
}

/// Whatever is cut off or changed, there is an answer and no panic.
#[test]
fn damaged_results_are_refused_or_compared() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("damaged.json");
    let whole = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(H200)).unwrap();
    for i in 0..40usize {
        let mut bytes = whole.clone();
        let at = (i * 7919 * 101) % bytes.len();
        bytes[at] = b"{}[]\"0x,"[i % 8];
        fs::write(&path, bytes).unwrap();
        let done = compare(&[path.to_str().unwrap(), H200]);
        let code = done.get_output().status.code();
        assert!(matches!(code, Some(0..=2)), "byte {at}: {code:?} {}", stderr(&done));
    }
}

/// A value of another type than its attribute's is named, with its line.
#[test]
fn a_value_of_another_type_is_refused() {
    let dir = TempDir::new().unwrap();
    let wrong = changed(&dir, "wrong.json", |result| {
        result["elements"]["l1"]["staircase"]["value"] = vec![0; 1_000_000].into();
    });
    refused(Path::new(&wrong), &["staircase: not a curve by footprint"]);
}

/// A value of hundreds of thousands is neither copied nor printed.
#[test]
fn a_value_that_is_too_large_is_no_value() {
    let dir = TempDir::new().unwrap();
    let vast = changed(&dir, "vast.json", |result| {
        result["elements"]["l1"]["staircase"]["value"] = vec![serde_json::json!([0, 0.5]); 100_000].into();
    });
    let done = compare(&[&vast, H200, "--only", "l1"]).code(0);
    assert!(
        stdout(&done).contains("larger than any value that strata gives: l1 staircase 41 points"),
        "{}",
        stdout(&done)
    );
}
