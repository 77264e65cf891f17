//! Recordings that are whole, cut, damaged, hostile, or no recordings at all.
//!
//! The framing is taken apart here by the words of `recording`'s documentation, not by its code.

mod any;
mod damage;
mod hostile;
mod layout;
mod legacy;
mod written;

use std::io::{self, Read, Write};

use proptest::prelude::*;
use strata_gpu::{DeviceFacts, Mig, OtherProcesses, Telemetry};
use strata_model::characterization::{PartName, Suite};
use strata_model::disturbance::{Consequence, Disturbance, Sign};
use strata_model::experiment::{
    Access, AccessWidth, AsyncCopy, AtomicMemory, Atomics, BankWidth, CODE_BLOCK, Chase, Clock, ClusterStream,
    ClusterWork, Clusters, CodeWalk, Content, Contention, CopyStream, CopyWork, Direction, Displacement, Distributed,
    Disturb, Experiment, HomeMap, Imported, LEAST_CODE_BLOCK, Launched, LoadPath, LoadedChase, Order, PageWalk,
    PartitionChase, PartitionStream, Partner, PatternRun, Place, Prepare, Region, Residency, Stream, Target, Timing,
    Traffic, Transfer, WARP, Walk, Warp, Watch, WindowStream,
};
use strata_model::facts::{BoardFacts, HostFacts, RemappedRows, Unavailable};
use strata_model::import::{Level, Question, Series};
use strata_model::pattern::{
    Counters, Layout, LoadedFrom, Operand, OperandsIn, Pattern, Sampling, Scope, Walk2d, Walk3d,
};
use strata_model::samples::{ClockSpan, CodeFacts, Failure, Lap, ProgramFacts, Samples};
use strata_model::source::Source;
use strata_model::topology::{ElementName, RunInfo, Selection, Wanted};
use strata_model::units::Bytes;
use strata_recording::{Code, Entry, Error, Header, MAX_BLOCK, MAX_FACTS, Missing, Recording, VERSION, Writer};

fn chase(lap: u64, seed: u64) -> Experiment {
    let chase = Chase::each_load(LoadPath::GlobalCa, Bytes(lap * 32), Bytes(32));
    Chase { order: Order::Random, seed, ..chase }.into()
}

fn latencies(latencies: Vec<u32>) -> Samples {
    Samples { latencies, sm: 7, base: 0x7f00_0000_1000, ..Samples::default() }
}

fn header() -> Header {
    let device = DeviceFacts { name: "Test GPU".into(), multiprocessors: 4, ..DeviceFacts::default() };
    let run = RunInfo { tool_version: "0.1.0".into(), seed: 42, duration_s: 0.5, ..RunInfo::default() };
    Header { device, run }
}

/// A question that differs from the default in each of its lists.
fn suite() -> Suite {
    Suite {
        parts: vec![PartName::Spilling],
        threads: vec![1, 1024],
        distances: vec![4, 4096],
        jumps: vec![2048],
        ..Suite::default()
    }
}

/// Threads at work whose program is part of the question.
fn sums() -> Experiment {
    let sums = Pattern::Sums { threads: 32, variables: 300, statements: 512, padding: 7 };
    PatternRun::new(sums, LoadPath::GlobalCa, 3).into()
}

/// Two batches, machine code, and all that an entry can be.
fn entries() -> Vec<Entry> {
    let laps = vec![Lap { loads: 64, cycles: 2_300 }, Lap { loads: 128, cycles: 4_600 }];
    let clocks = vec![ClockSpan { cycles: 19_800_000, nanoseconds: 10_000_000 }];
    let code = Some(CodeFacts { bytes: 70_000, local_loads: 200, local_stores: 130 });
    let program = ProgramFacts { registers: 255, local_bytes: 400, compile_us: 80_000, code };
    vec![
        Entry::new(0, chase(40, 1), Ok(latencies((0..40).map(|i| 35 + 195 * (i % 3) + i).collect())), 1.0),
        Entry::new(1, chase(3, 2), Ok(Samples { laps, ..latencies(vec![35, 230, 70_000]) }), 1.25),
        Entry::new(2, chase(4, 3), Err(Failure::unsupported("no texture, \"here\"")), 1.5),
        Entry::new(
            5,
            Clock { span_us: 10_000, sm: 3, repeat: 0 }.into(),
            Ok(Samples { clocks, ..Samples::default() }),
            2.75,
        ),
        Entry::new(8, sums(), Ok(Samples { program: Some(program), ..latencies(Vec::new()) }), 3.0),
    ]
}

fn run_at_end() -> RunInfo {
    RunInfo { duration_s: 9.0, measured_clock_mhz: Some((1980.0, 1980.5)), ..header().run }
}

/// A host that says all but one thing.
fn host() -> HostFacts {
    HostFacts {
        cpu: Some("CPU".into()),
        sockets: Some(2),
        cores: Some(112),
        threads: Some(224),
        memory: Some(2 << 40),
        os: None,
        kernel: Some("Linux 6.8.0".into()),
        architecture: "x86_64".into(),
    }
}

/// A board of which every number is another.
fn board() -> BoardFacts {
    BoardFacts {
        architecture: Some("Hopper".into()),
        cores: Some(16896),
        pcie_generation: Some(4),
        pcie_max_generation: Some(5),
        pcie_width: Some(8),
        pcie_max_width: Some(16),
        pcie_received_bytes_per_s: Some(1_000),
        pcie_sent_bytes_per_s: Some(2_000),
        fan_percent: None,
        persistence_mode: Some(true),
        compute_mode: Some("default".into()),
        operation_mode: Some("all_on".into()),
        applications_graphics_clock_mhz: Some(1980),
        applications_memory_clock_mhz: Some(3201),
        power_limit_w: Some(700.5),
        ecc_volatile_corrected: Some(11),
        ecc_volatile_uncorrected: Some(12),
        ecc_aggregate_corrected: Some(21),
        ecc_aggregate_uncorrected: Some(22),
        retired_pages_single_bit: Some(31),
        retired_pages_double_bit: Some(32),
        remapped_rows: Some(RemappedRows { corrected: 41, uncorrected: 42, pending: true, failed: false }),
        unavailable: vec![Unavailable { key: "fan_percent".into(), reason: "no fan".into() }],
    }
}

/// A small recording, and where its blocks begin.
fn small() -> (Vec<u8>, Vec<u64>) {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let mut begins = vec![writer.bytes()];
    writer.header(&header()).unwrap();
    begins.push(writer.bytes());
    writer.asked(&suite()).unwrap();
    begins.push(writer.bytes());
    writer.code(&Code::new("per_load_ca", ".version 6.0", Some(b"\x7fELF machine code".to_vec()))).unwrap();
    begins.push(writer.bytes());
    writer.measured(&entries()[..2]).unwrap();
    begins.push(writer.bytes());
    writer.measured(&entries()[2..]).unwrap();
    begins.push(writer.bytes());
    writer.end(&run_at_end()).unwrap();
    let length = writer.bytes();
    let bytes = writer.into_inner();
    assert_eq!(bytes.len() as u64, length);
    (bytes, begins)
}

fn read(bytes: &[u8]) -> Result<Recording, Error> {
    Recording::from_reader(bytes)
}

/// A preamble, and blocks that are framed as they should be whatever they hold.
fn framed(blocks: &[&[u8]]) -> Vec<u8> {
    framed_as(VERSION, blocks)
}

/// The same of a version.
fn framed_as(version: u16, blocks: &[&[u8]]) -> Vec<u8> {
    let mut file = b"\x89STR\r\n\x1A\n".to_vec();
    file.extend(version.to_le_bytes());
    file.extend([0; 6]);
    for block in blocks {
        let packed = zstd::bulk::compress(block, 3).unwrap();
        file.extend(frame(packed.len() as u32, block.len() as u32, &packed));
    }
    file
}

fn frame(packed: u32, plain: u32, bytes: &[u8]) -> Vec<u8> {
    [&packed.to_le_bytes()[..], &plain.to_le_bytes(), &crc32fast::hash(bytes).to_le_bytes(), bytes].concat()
}

fn message(result: Result<Recording, Error>) -> String {
    result.expect_err("this should not be readable").to_string()
}
