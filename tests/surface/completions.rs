//! Completion scripts: they name every value, and bash completes words with a colon.

use std::process::Command;

use crate::command::strata;

#[test]
fn completions_exist_for_the_usual_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let run = strata(&["completions", shell]);
        assert!(run.status == Some(0) && run.stdout.contains("discover"), "{shell}");
        for value in ["constant_l15", "thorough", "sim:k20c", "cuda:1", "texture_2d", "h200"] {
            assert!(
                run.stdout.contains(value) || run.stdout.contains(&value.replace(':', "\\:")),
                "{shell}: no {value}"
            );
        }
    }
}

/// What bash proposes after a line, if it splits words at these characters besides blanks. The registered function gets what
/// bash gives it: the pieces of the line, breaks among them, and the piece at the cursor without a break.
fn proposed(line: &str, breaks: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    for word in line.split(' ') {
        let mut rest = word;
        while let Some(at) = rest.find(|c| breaks.contains(c)) {
            pieces.extend([&rest[..at], &rest[at..=at]].into_iter().filter(|piece| !piece.is_empty()));
            rest = &rest[at + 1..];
        }
        pieces.extend((!rest.is_empty()).then_some(rest));
    }
    if line.ends_with(' ') {
        pieces.push("");
    }
    let last = *pieces.last().unwrap();
    let current = if breaks.contains(last) { "" } else { last };
    let ask = r#"
        line=$1; COMP_WORDBREAKS=$' \t\n'"$2"; current=$3; shift 3
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE=$line; COMP_POINT=${#line}
        function=$(complete -p strata); function=${function#*-F }; function=${function%% *}
        "$function" strata "$current" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let script = strata(&["completions", "bash"]).stdout;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &format!("{script}\n{ask}"), "bash", line, breaks, current]).args(&pieces);
    let done = bash.output().expect("bash is there");
    assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{line}");
    let printed = String::from_utf8_lossy(&done.stdout);
    printed.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// What bash breaks words at by default.
const BREAKS: &str = "\"'><=;|&(:";

#[test]
fn bash_completes_words() {
    assert_eq!(proposed("strata disc", BREAKS), ["discover"]);
    assert_eq!(proposed("strata discover --effort th", BREAKS), ["thorough"]);
    assert_eq!(proposed("strata machines gtx5", BREAKS), ["gtx560ti"]);
    assert_eq!(proposed("strata discover --only constant_l15.si", BREAKS), ["constant_l15.size"]);
    assert!(proposed("strata replay --example h", BREAKS).contains(&"h200".to_owned()));
    assert!(proposed("strata ", BREAKS).contains(&"compare".to_owned()));
}

#[test]
fn bash_completes_words_with_a_colon() {
    // Bash replaces what stands after the colon.
    assert_eq!(proposed("strata discover --device sim:k", BREAKS), ["k20", "k20c"]);
    assert_eq!(proposed("strata discover --device cuda:", BREAKS), ["0", "1", "2", "3", "4", "5", "6", "7"]);
    assert_eq!(proposed("strata characterize --seed 7 --device sim:a1", BREAKS), ["a100"]);
    assert_eq!(proposed("strata discover --device sim:none", BREAKS), Vec::<String>::new());
    // What follows a word with a colon is completed as well.
    assert_eq!(proposed("strata discover --device sim:k20c --effort q", BREAKS), ["quick"]);
    assert_eq!(proposed("strata discover --device=sim:k", BREAKS), ["k20", "k20c"]);
    assert_eq!(proposed("strata discover --effort=th", BREAKS), ["thorough"]);
    // Some take the colon out of COMP_WORDBREAKS; then bash replaces the whole word.
    assert_eq!(proposed("strata discover --device sim:k", "\"'><=;|&("), ["sim:k20", "sim:k20c"]);
}
