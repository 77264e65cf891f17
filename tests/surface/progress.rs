//! The line that says how far a run is, at terminals of several widths.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};

/// What a run writes to a terminal of this many columns.
fn at_terminal(columns: u16, arguments: &[&str]) -> String {
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).expect("a pseudo-terminal");
    let mut run = Command::new(env!("CARGO_BIN_EXE_strata"))
        .args(["discover", "--device", "sim:840m", "--only", "shared,constant_l1", "--effort", "quick"])
        .args(arguments)
        .env("TERM", "xterm")
        .stdout(Stdio::null())
        .stderr(terminal.slave)
        .spawn()
        .expect("the binary runs");
    // The end of the last writer ends the terminal, with an error or with nothing.
    let (mut master, mut drawn) = (File::from(terminal.master), Vec::new());
    let mut chunk = [0; 4096];
    while let Ok(read @ 1..) = master.read(&mut chunk) {
        drawn.extend_from_slice(&chunk[..read]);
    }
    assert!(run.wait().expect("the run ends").success());
    String::from_utf8_lossy(&drawn).into_owned()
}

/// What is seen: without the sequences that move the cursor or set a colour.
fn seen(drawn: &str) -> String {
    let (mut seen, mut letters) = (String::new(), drawn.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => drop(letters.by_ref().skip(1).find(char::is_ascii_alphabetic)),
            letter => seen.push(letter),
        }
    }
    seen
}

#[test]
fn progress_is_one_line_that_fits() {
    for columns in [40, 80] {
        let drawn = at_terminal(columns, &[]);
        // A line that wraps is removed by going up.
        assert!(!drawn.contains("\u{1b}[1A") && !drawn.contains("\u{1b}[A"), "{columns} columns: {drawn:?}");
        let text = seen(&drawn);
        let lines: Vec<&str> = text.split(['\r', '\n']).filter(|line| line.contains("experiment")).collect();
        assert!(columns < 80 || !lines.is_empty(), "no progress: {drawn:?}");
        for line in text.split(['\r', '\n']) {
            assert!(line.chars().count() <= usize::from(columns), "{columns} columns: {line:?}");
            assert!(!line.contains(" 0 s left") && !line.contains(" 0s left"), "{line:?}");
        }
    }
}

#[test]
fn a_quiet_run_draws_nothing() {
    assert_eq!(at_terminal(80, &["--quiet"]), "");
}
