//! Everything of strata that reads what anyone may have written, as a function of bytes. None may panic, hang or take much memory,
//! whatever it is given. Shared by the fuzzer and by `tests/surface/parsers.rs`, which gives them every input that once broke one.

use strata_infer::probe::Effort;
use strata_infer::{characterize, discover};
use strata_kernels::cubin;
use strata_model::characterization::Characterization;
use strata_model::evidence::Evidence;
use strata_model::experiment::Experiment;
use strata_model::topology::{STEPS, Selection, Topology};
use strata_recording::{Header, Recording, Writer};
use strata_report::compare;
use strata_report::import;
use strata_report::policy::Policy;
use strata_report::report;
use strata_sim::machine::Machine;
use strata_sim::ptx;

/// A parser: what it makes of the bytes is of no interest.
pub type Parser = fn(&[u8]);

/// The parsers by name.
pub const ALL: [(&str, Parser); 10] = [
    ("machine", machine),
    ("ptx", ptx_text),
    ("recording", recording),
    ("recording_block", recording_block),
    ("recording_repaired", recording_repaired),
    ("experiments", experiments),
    ("results", results),
    ("policy", policy),
    ("mt4g", mt4g),
    ("cubin", machine_code),
];

fn text(data: &[u8]) -> &str {
    std::str::from_utf8(data).unwrap_or_default()
}

/// A file of a simulated machine.
pub fn machine(data: &[u8]) {
    let _ = Machine::parse("fuzz", text(data));
}

/// The text of a kernel.
pub fn ptx_text(data: &[u8]) {
    let _ = ptx::module(text(data));
}

/// A recording as it is on disk.
pub fn recording(data: &[u8]) {
    if let Ok(recording) = Recording::from_reader(data) {
        replay(recording);
    }
}

/// A block of a recording, in a frame that fits: what compression and checksum keep the fuzzer from otherwise.
pub fn recording_block(data: &[u8]) {
    let Ok(mut writer) = Writer::new(Vec::new()) else { return };
    if writer.header(&Header::default()).is_err() {
        return;
    }
    let mut file = writer.into_inner();
    let Ok(packed) = zstd::bulk::compress(data, 1) else { return };
    for number in [packed.len() as u32, data.len() as u32, crc32fast::hash(&packed)] {
        file.extend_from_slice(&number.to_le_bytes());
    }
    file.extend_from_slice(&packed);
    recording(&file);
    // As the version before wrote it, in which an experiment was another structure.
    file[8] = 3;
    recording(&file);
}

/// All blocks of a recording, the header among them: each with its length in two bytes before it. They get frames with a checksum
/// that fits, so that what changes in them is read.
pub fn recording_repaired(data: &[u8]) {
    let mut file = strata_recording::MAGIC.to_vec();
    file.extend_from_slice(&strata_recording::VERSION.to_le_bytes());
    file.extend_from_slice(&[0; 6]);
    let mut rest = data;
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let (plain, after) = after.split_at(usize::from(u16::from_le_bytes(*length)).min(after.len()));
        let Ok(packed) = zstd::bulk::compress(plain, 1) else { return };
        for number in [packed.len() as u32, plain.len() as u32, crc32fast::hash(&packed)] {
            file.extend_from_slice(&number.to_le_bytes());
        }
        file.extend_from_slice(&packed);
        rest = after;
    }
    recording(&file);
}

/// What every recording is made into.
fn replay(mut recording: Recording) {
    let (run, facts) = (recording.run_info(), recording.header.device.clone());
    if let Some(suite) = recording.asked.clone() {
        if suite.defect().is_none() {
            let question = characterize::Request { suite, effort: Effort::Quick, seed: run.seed };
            let found = characterize::characterize(&mut recording, &facts, &question, &mut |_| {});
            let asked = question.suite;
            let answer = found.into_characterization(facts, run, asked, Some("fuzz"));
            let _ = report::json(&answer);
        }
        return;
    }
    let selection = Selection { bandwidth: true, atomics: true, step: STEPS, ..recording.selection() };
    let question = discover::Request { selection, effort: Effort::Quick, seed: run.seed };
    let mut found = if recording.is_imported() {
        let entries = recording.entries.iter();
        let measured = entries.map(|entry| (entry.number, entry.experiment.clone(), entry.outcome.clone()));
        discover::import(measured, &facts, &question)
    } else {
        discover::discover(&mut recording, &facts, &question, &mut |_| {})
    };
    let evidence = std::mem::take(&mut found.evidence);
    let _ = report::html(&found.into_topology(facts, run, Some("fuzz")), &evidence);
}

/// Experiments for `strata measure`.
pub fn experiments(data: &[u8]) {
    let Ok(list) = serde_json::from_slice::<Vec<Experiment>>(data) else { return };
    for experiment in list {
        // What is not refused can be walked.
        if experiment.defect().is_none() {
            let _ = experiment.chain().map(|chain| chain.lap());
        }
    }
}

/// Results as JSON and summaries of MT4G, and what is made of them.
pub fn results(data: &[u8]) {
    if let Ok(document) = compare::parse("fuzz", data) {
        let answer = compare::compare(&document.statement("a"), &document.statement("b"), &compare::Options::default());
        let _ = (report::comparison::text(&answer, &report::Terminal::PAPER), report::comparison::markdown(&answer));
    }
    if let Ok(topology) = serde_json::from_slice::<Topology>(data) {
        let _ = report::html(&topology, &Evidence::default());
        let _ = report::text(&topology, &report::Terminal::PAPER, report::Extent::Details);
        let _ = report::markdown(&topology, report::Pictures::Embedded);
    }
    if let Ok(characterization) = serde_json::from_slice::<Characterization>(data) {
        let _ = report::characterization::html(&characterization);
        let _ = report::characterization::text(&characterization, &report::Terminal::PAPER, report::Extent::Details);
    }
}

/// A policy, and what is written of it again.
pub fn policy(data: &[u8]) {
    if let Ok(policy) = Policy::parse("fuzz", text(data)) {
        let again = Policy::parse("fuzz", &policy.toml());
        assert!(again.is_ok(), "{again:?}");
    }
}

/// Rows of timings, of every kind, and the summary beside them.
pub fn mt4g(data: &[u8]) {
    for keys in 0..=2 {
        let _ = import::rows(data, keys);
    }
    if let Ok(summary) = serde_json::from_slice::<import::Summary>(data) {
        let _ = summary.facts("fuzz");
    }
}

/// Machine code, as a driver gives it and a recording keeps it.
pub fn machine_code(data: &[u8]) {
    let _ = cubin::read(data);
    let _ = cubin::between_clock_reads(data, "sums");
}
