//! The options of `strata characterize`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueHint};
use gpu_strata::characterization::{PartName, Suite};

use super::{Run, names};

/// `strata characterize`
#[derive(Args, Debug)]
pub struct Characterize {
    /// Measure only these parts, separated by commas: locality, synchronization, coalescing, spilling, banks, constant, read_only,
    /// texture_2d, histogram, intensity, texture_3d, operands, roofline. The report says which question each part answers [default: all
    /// but roofline]
    #[arg(long, value_name = "PART,…", value_delimiter = ',', value_parser = names::parts(), hide_possible_values = true)]
    pub only: Vec<PartName>,
    /// Threads per block (of most parts), each from 1 to 1024 [default: the powers of two from 1 to 1024]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_threads,
        default_values_t = Suite::default().threads, hide_default_value = true, allow_negative_numbers = true)]
    pub threads: Vec<u32>,
    /// Strides between the addresses of neighbouring threads (of coalescing), in bytes: multiples of 4 from 4 to 4096 [default: the powers of
    /// two from 4 to 1024]
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', value_parser = parse_distance,
        default_values_t = Suite::default().distances, hide_default_value = true, allow_negative_numbers = true)]
    pub distances: Vec<u64>,
    /// Distances between the first and the second load of a pair (of locality), in bytes, each from 1 to 2048 [default: the powers of two from 1 to 512]
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', value_parser = parse_jump,
        default_values_t = Suite::default().jumps, hide_default_value = true, allow_negative_numbers = true)]
    pub jumps: Vec<u64>,
    /// Barriers between the 1024 writes of each thread (of synchronization): powers of two from 1 to 1024 [default: all of them]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_barriers,
        default_values_t = Suite::default().barriers, hide_default_value = true, allow_negative_numbers = true)]
    pub barriers: Vec<u32>,
    /// Variables of 64 bits in each thread (of spilling), each from 2 to 2048 [default: the powers of two from 2 to 2048; to 256 with
    /// --effort quick]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_variables, allow_negative_numbers = true)]
    pub variables: Vec<u32>,
    /// Statements that add up these variables (of spilling): a multiple of 256 from 256 to 65536
    #[arg(long, value_name = "N", value_parser = parse_statements, default_value_t = Suite::default().statements,
        allow_negative_numbers = true)]
    pub statements: u32,
    #[command(flatten)]
    pub run: Run,
}

impl Characterize {
    /// The parts and values to measure.
    pub fn suite(&self) -> Suite {
        let Characterize { only, threads, distances, jumps, barriers, variables, statements, .. } = self;
        let suite = Suite {
            parts: only.clone(),
            threads: threads.clone(),
            distances: distances.clone(),
            jumps: jumps.clone(),
            barriers: barriers.clone(),
            variables: variables.clone(),
            statements: *statements,
        };
        suite.sorted()
    }
}

/// `strata roofline`
#[derive(Args, Debug)]
pub struct Roofline {
    /// A recording of `strata roofline`, or of `strata characterize` with that part: report it, measure nothing; `-` is standard input
    #[arg(value_name = "FILE.strata", value_hint = ValueHint::FilePath, conflicts_with_all = ["Measuring", "record"])]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub run: Run,
}

fn parse_threads(text: &str) -> Result<u32, String> {
    alone(text, "whole numbers from 1 to 1024", |n| Suite { threads: vec![n], ..Suite::default() })
}

fn parse_distance(text: &str) -> Result<u64, String> {
    alone(text, "multiples of 4 B from 4 to 4096", |n| Suite { distances: vec![n], ..Suite::default() })
}

fn parse_jump(text: &str) -> Result<u64, String> {
    alone(text, "whole numbers from 1 to 2048 B", |n| Suite { jumps: vec![n], ..Suite::default() })
}

fn parse_barriers(text: &str) -> Result<u32, String> {
    alone(text, "powers of two from 1 to 1024", |n| Suite { barriers: vec![n], ..Suite::default() })
}

fn parse_variables(text: &str) -> Result<u32, String> {
    alone(text, "whole numbers from 2 to 2048", |n| Suite { variables: vec![n], ..Suite::default() })
}

fn parse_statements(text: &str) -> Result<u32, String> {
    alone(text, "multiples of 256 from 256 to 65536", |n| Suite { statements: n, ..Suite::default() })
}

/// A number of a suite. It is allowed if a suite with this number alone is.
fn alone<T: FromStr + Copy>(text: &str, allowed: &str, suite: impl FnOnce(T) -> Suite) -> Result<T, String> {
    let number = text.parse().map_err(|_| format!("`{text}` is not allowed: use {allowed}"))?;
    suite(number).defect().map_or(Ok(number), Err)
}
