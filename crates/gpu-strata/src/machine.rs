//! The simulated machines: their names and descriptions.

use std::fmt::Write;
use std::path::PathBuf;

use strata_model::units::Bytes;
use strata_sim::machine;
use strata_sim::machine::spec::{Cache, Index, Path, Replacement, Scope, Sources, Spec, Write as OnStore};
use textwrap::Options;
use textwrap::WordSplitter::NoHyphenation;

use crate::device::simulated;
use crate::error::Result;

/// A simulated GPU: a machine file that comes with the library, or one of the caller's.
#[derive(Clone, Debug)]
pub struct Machine(machine::Machine);

impl Machine {
    /// The names of those that come with the library, oldest first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        machine::names()
    }

    /// The machine of this name, with or without `sim:` before it, or of this file.
    ///
    /// # Errors
    ///
    /// [`Error::Machine`](crate::Error::Machine), if there is none or its file has a defect.
    pub fn find(name: &str) -> Result<Self> {
        Ok(Machine(machine::Machine::find(simulated(name).unwrap_or(name))?))
    }

    /// The file that the name of a device or machine asks for, if it asks for one.
    pub fn file(name: &str) -> Option<PathBuf> {
        let wanted = simulated(name).unwrap_or(name);
        machine::is_file(wanted).then(|| wanted.into())
    }

    /// Name of the simulated product.
    pub fn product(&self) -> &str {
        &self.0.spec.device.name
    }

    /// Name of its chip.
    pub fn chip(&self) -> &str {
        &self.0.spec.device.chip
    }

    /// Its compute capability, major and minor.
    pub fn compute_capability(&self) -> (u32, u32) {
        let capability = self.0.spec.device.compute_capability;
        (capability.0, capability.1)
    }

    /// The text of its machine file.
    pub fn toml(&self) -> &str {
        &self.0.text
    }

    /// What it is, with the source of each value, in lines of at most `width` columns.
    pub fn explain(&self, width: usize) -> String {
        explained(&self.0, width)
    }
}

/// A list of what belongs together, each with where it is from.
struct Page<'m> {
    text: String,
    /// Columns that it keeps to.
    width: usize,
    sources: &'m Sources,
}

impl<'m> Page<'m> {
    fn heading(&mut self, title: &str, sources: &'m Sources) {
        let _ = write!(self.text, "\n{title}\n");
        self.sources = sources;
    }

    /// A line, and below it the source of its keys.
    fn line(&mut self, what: &str, keys: &[&str]) {
        self.wrapped(what, "  ", "    ");
        let mut said: Vec<&str> = Vec::new();
        for (names, source) in self.sources {
            let concerned = names.split(',').any(|name| keys.contains(&name.trim()));
            if concerned && !said.contains(&source.as_str()) {
                said.push(source);
            }
        }
        for source in said {
            self.wrapped(&format!("[{}]", source.trim()), "      ", "      ");
        }
    }

    fn wrapped(&mut self, text: &str, first: &str, rest: &str) {
        let words: Vec<&str> = text.split_whitespace().collect();
        let options = Options::new(self.width).initial_indent(first).subsequent_indent(rest).break_words(false);
        let _ = writeln!(self.text, "{}", textwrap::fill(&words.join(" "), options.word_splitter(NoHyphenation)));
    }
}

fn explained(machine: &machine::Machine, width: usize) -> String {
    let spec = &machine.spec;
    let device = &spec.device;
    let mut page = Page { text: String::new(), width, sources: &device.sources };
    let (major, minor) = (device.compute_capability.0, device.compute_capability.1);
    page.wrapped(&format!("{}, {}, compute capability {major}.{minor}", device.name, device.chip), "", "");
    page.heading("Device", &device.sources);
    page.line(
        &format!(
            "{} SMs, {} of memory on {} bits at {} MHz; the driver reports an L2 of {}",
            device.multiprocessors.get(),
            Bytes(device.memory.0),
            device.memory_bus_bits.get(),
            device.memory_clock_mhz.get(),
            Bytes(device.l2.0)
        ),
        &["multiprocessors", "memory", "memory_bus_bits", "memory_clock_mhz", "l2"],
    );
    page.heading("Clock", &spec.clock.sources);
    page.line(&format!("{} MHz", spec.clock.mhz.get()), &["mhz"]);
    for (name, cache) in &spec.cache {
        page.heading(&format!("Cache {name}"), &cache.sources);
        explain_cache(&mut page, cache);
    }
    explain_rest(&mut page, spec);
    for (name, path) in spec.path.all() {
        page.heading(&format!("Path {name}"), &path.sources);
        explain_path(&mut page, path);
    }
    if !spec.reported.is_empty() {
        page.text.push_str("\nReported by others\n");
    }
    for one in &spec.reported {
        page.wrapped(&format!("{}: {} [{}]", one.what, one.value, one.source), "  ", "    ");
        if let Some(note) = &one.note {
            page.wrapped(note, "      ", "      ");
        }
    }
    page.text
}

fn explain_cache<'m>(page: &mut Page<'m>, cache: &'m Cache) {
    let owner = match cache.scope {
        Scope::Sm if cache.instances.get() > 1 => format!("{} in each SM", cache.instances.get()),
        Scope::Sm => "one in each SM".into(),
        Scope::Device => "one for all SMs".into(),
    };
    page.line(&format!("{}, {owner}", Bytes(cache.size.0)), &["size", "scope", "instances", "threads"]);
    page.line(
        &format!("lines of {} B in sectors of {} B", cache.line.get(), cache.sector.unwrap_or(cache.line).get()),
        &["line", "sector"],
    );
    let ways: Vec<u32> = cache.sets().unwrap_or_default();
    let sets = match ways.first() {
        Some(first) if ways.iter().all(|w| w == first) => format!("{} sets of {first} ways", ways.len()),
        _ => format!("{} sets of {ways:?} ways", ways.len()),
    };
    page.line(
        &format!(
            "{sets}, chosen by {}; replacement: {}; a store {}",
            index_words(&cache.index),
            replacement_words(&cache.replacement),
            match (cache.scope, cache.write.unwrap_or_default()) {
                (Scope::Device, _) | (Scope::Sm, OnStore::Allocate) => "allocates the line",
                (Scope::Sm, OnStore::Through) => "writes through",
                (Scope::Sm, OnStore::Evict) => "evicts the line",
            }
        ),
        &["sets", "ways", "set_ways", "index", "replacement", "write"],
    );
    if !cache.configuration.is_empty() {
        let each: Vec<String> = cache
            .configuration
            .iter()
            .map(|c| {
                format!(
                    "{} beside {} of shared memory",
                    Bytes(c.sets.get() * c.ways.get() * cache.line.get()),
                    Bytes(c.shared.0)
                )
            })
            .collect();
        page.line(&each.join(", "), &["configuration"]);
    }
    if let Some(parts) = &cache.partitions {
        page.line(
            &format!(
                "{} partitions, {} copies of each other's lines; a far hit takes {} more cycles, far memory {}",
                parts.count.get(),
                if parts.copies { "with" } else { "without" },
                parts.far_hit.get(),
                parts.far_memory.get()
            ),
            &["partitions"],
        );
    }
}

fn index_words(index: &Index) -> String {
    let list = |all: Vec<String>| all.join(", ");
    match index {
        Index::Modulo => "line number modulo sets".into(),
        Index::Bits(bits) => format!("address bits {}", list(bits.iter().map(|bit| bit.get().to_string()).collect())),
        Index::Parity(masks) => {
            format!("parity of the address under {}", list(masks.iter().map(|mask| format!("{mask:#x}")).collect()))
        }
        Index::Dealt => "dealing the lines to the sets in turn".into(),
        Index::Hash(_) => "a hash of the line number".into(),
    }
}

fn replacement_words(replacement: &Replacement) -> String {
    match replacement {
        Replacement::Lru => "LRU".into(),
        Replacement::Fifo => "FIFO".into(),
        Replacement::Plru => "tree PLRU".into(),
        Replacement::Random => "random".into(),
        Replacement::Unhit => "random among the lines without a hit".into(),
        Replacement::Weighted(odds) => format!("random with the weights {odds:?} by way"),
    }
}

fn explain_rest<'m>(page: &mut Page<'m>, spec: &'m Spec) {
    for tlb in &spec.tlb {
        page.heading(&format!("Translation {}", tlb.name), &tlb.sources);
        let ways = tlb.sets().unwrap_or_default();
        page.line(
            &format!(
                "{} entries of {} in {} sets; replacement: {}; a miss adds {} cycles",
                ways.iter().sum::<u32>(),
                Bytes(tlb.page.0),
                ways.len(),
                replacement_words(&tlb.replacement),
                tlb.penalty.get()
            ),
            &["page", "sets", "ways", "set_ways", "replacement", "penalty", "scope"],
        );
    }
    let modes: Vec<String> = spec.shared.modes.iter().map(|mode| format!("{} B", mode.get())).collect();
    let modes = if modes.is_empty() {
        String::new()
    } else {
        format!(" (consecutive words of {} are in consecutive banks)", modes.join(" or "))
    };
    page.heading("Shared memory", &spec.shared.sources);
    page.line(
        &format!(
            "{} per SM, {} per block; {} cycles, {} banks of {} B{}, {} cycles for each further row of a bank",
            Bytes(spec.shared.per_multiprocessor.0),
            Bytes(spec.shared.per_block_optin.unwrap_or(spec.shared.per_block).0),
            spec.shared.cycles.get(),
            spec.shared.banks.get(),
            spec.shared.bank_width.get(),
            modes,
            spec.shared.conflict.get()
        ),
        &["per_multiprocessor", "per_block", "per_block_optin", "cycles", "banks", "bank_width", "modes", "conflict"],
    );
}

fn explain_path<'m>(page: &mut Page<'m>, path: &'m Path) {
    let mut way: Vec<String> = path
        .levels
        .iter()
        .zip(&path.cycles)
        .map(|(level, cycles)| format!("{level} {} cycles", cycles.get()))
        .collect();
    way.push(format!("memory {}", path.memory.get()));
    page.line(&way.join(", then "), &["levels", "cycles", "memory", "translated"]);
}
