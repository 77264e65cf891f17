//! `strata` as a library: it measures the memory hierarchy of a GPU. Every number has an interval and a source.
//!
//! # Discover
//!
//! Open a device, measure it, and ask the result. A simulated GPU needs no hardware; on a real one, write `auto`.
//!
//! ```
//! use gpu_strata::topology::ElementName;
//! use gpu_strata::{Device, Effort, Options};
//!
//! let mut device = Device::open("sim:k20c")?;
//! let found = device.discover_only(&[ElementName::ConstantL1], Options::effort(Effort::Quick))?;
//! let constant = found.topology.element(ElementName::ConstantL1);
//! if let Some(size) = constant.size() {
//!     println!("constant L1: {} [{} to {}]", size.value, size.low, size.high);
//! }
//! for (attribute, finding) in constant.findings() {
//!     println!("{attribute}: {}", if finding.is_known() { "known" } else { "unknown" });
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Device::discover_only`] also takes attributes of elements, as [`Wanted`](topology::Wanted): `"constant_l1.size".parse()`.
//!
//! # Record and replay
//!
//! [`Options::record`] keeps every sample in a file. [`Recording::open`] reads it, and [`Recording::replay`] infers the same
//! result from it on any machine.
//!
//! ```no_run
//! use gpu_strata::{Answer, Device, Extent, Options, Recording, Terminal};
//!
//! Device::open("auto")?.discover(Options::default().record("h200.strata"))?;
//! let answer: Answer = Recording::open("h200.strata")?.replay()?;
//! print!("{}", answer.text(&Terminal::PAPER, Extent::Short));
//! # Ok::<(), gpu_strata::Error>(())
//! ```
//!
//! # Compare
//!
//! [`compare`] takes results, recordings, summaries of MT4G, or published values.
//!
//! ```no_run
//! use gpu_strata::{CompareOptions, Side, compare};
//!
//! let comparison = compare(Side::named("before.json"), Side::named("after.strata"), &CompareOptions::default())?;
//! assert!(comparison.same());
//! # Ok::<(), gpu_strata::Error>(())
//! ```
//!
//! A [`Policy`] holds limits for one GPU product. It is made of good results and accepts or rejects others. [`fleet()`] merges
//! thousands of results and says which GPUs stand out. [`check_node`] holds all GPUs of a node against policies.
//!
//! # Experiments of one's own
//!
//! An [`experiment::Experiment`] is plain data. [`Device::measure`] runs a list of them and gives their
//! [`samples::Samples`].
//!
//! # Errors
//!
//! Every error has a class ([`Error::class`]), which says whether the input, the device or the run is at fault, and which
//! [exit status](ErrorClass::exit_status) the `strata` command has for it. Something that cannot be measured is no error: its
//! finding is unknown and gives the reason.
//!
//! The library never prints.
//!
//! # Changing it
//!
//! A new attribute is one entry in `crates/model/src/attribute/mod.rs` and one file in `crates/infer/src/probe/`;
//! `docs/first-probe.md` shows each step. `ARCHITECTURE.md` has the crates, the reading order, and where to change what.

mod answer;
mod comparison;
mod device;
mod error;
mod exchange;
mod explained;
mod figures;
mod fleet;
mod gpus;
mod health;
mod host;
mod launch;
mod linked;
mod lock;
mod machine;
mod policy;
mod recorded;
mod recording;
mod run;
mod several;

pub use answer::{Answer, Characterized, Discovery, Extent, Markdown, PictureFile, Pictures, Schema, Terminal};
pub use comparison::{Choice, CompareOptions, Comparison, MaxAge, Requirement, Side, compare, references};
pub use device::{Device, check_device_name};
pub use error::{Error, ErrorClass, Result};
pub use exchange::{Exchange, Expiry};
pub use explained::{explain, glossary};
pub use figures::{FIGURES_PAGE, figures};
pub use fleet::{ExpectedHosts, Fleet, FleetOptions, expected_hosts, fleet};
pub use gpus::{NodeDiscovery, NodeOptions, check_device_names, devices_named, discover_node, is_of_several};
pub use health::{Examined, GpuCount, Health, Outcome, Verdict, check_node};
pub use launch::{L1OfLaunch, Launch, l1};
pub use linked::{LinkDiscovery, LinkOptions, discover_links};
pub use machine::Machine;
pub use policy::{Acceptance, Policy};
pub use recorded::Recorded;
pub use recording::{ExportSummary, Imported, Recording, Written};
pub use run::{Effort, Options, Progress, Timings};
pub use several::{Compared, ComparisonOfSeveral, compare_all, compare_several};

pub use strata_model::{
    attribute, characterization, experiment, facts, links, node, pattern, samples, topology, units,
};
pub use strata_report::report::{devices as devices_table, printable, sample_line};
