//! What users and other programs meet: the command, reports, files that are written and files that are read.
//!
//! One program for all of it: it is linked once, and long tests run beside short ones.

// A test that is skipped says so.
#![allow(clippy::print_stderr)]

mod accelsim;
mod check;
mod cli;
mod command;
mod compare;
mod completions;
mod coverage;
mod explain;
mod export;
mod figures;
mod files;
mod fleet;
mod golden;
mod gpus;
mod hwloc;
mod import;
mod launch;
mod links;
mod mt4g;
mod node;
mod only;
mod paper_figures;
mod parsers;
mod progress;
mod published;
mod recording;
mod report;
mod schemas;
mod short;
