//! The kernels: one PTX template each, one timing idiom for all, and what the machine code must look like.
//!
//! Reading order: `ptx/per_load.ptx`, then [`idiom`], then [`job`]. The text is the same for every device but for the
//! clock register ([`ClockRead`]); the driver translates it. What the driver's or any other compiler may make of it is
//! fixed by [`Check`] and verified by `cargo xtask check-kernels`.

pub mod cubin;
mod generated;
pub mod idiom;
pub mod job;
mod patterns;

use minijinja::value::Value;
use minijinja::{Environment, context};

use idiom::Agent;
use strata_model::experiment::{Experiment, Kernel, LoadPath, WARP_ACCESSES};

pub use generated::{FACTOR, TERM, expected_sum};
pub use patterns::PatternProgram;

/// Compute capability that the text names: old on purpose, the driver translates it for what it finds.
pub const TARGET: (u32, u32) = (5, 0);

/// Which clock register a device can read without splitting the read in two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClockRead {
    /// `%clock64`: one instruction from compute capability 7.0 on.
    Clock64,
    /// `%clock`: before that, where a 64-bit read is two reads.
    Clock32,
}

impl ClockRead {
    /// The register for a device of this compute capability.
    pub fn for_capability(capability: (u32, u32)) -> Self {
        if capability >= (7, 0) { ClockRead::Clock64 } else { ClockRead::Clock32 }
    }

    fn ptx_type(self) -> &'static str {
        match self {
            ClockRead::Clock64 => "u64",
            ClockRead::Clock32 => "u32",
        }
    }

    fn register(self) -> &'static str {
        match self {
            ClockRead::Clock64 => "%clock64",
            ClockRead::Clock32 => "%clock",
        }
    }

    /// Instruction that makes 32 bits of a difference of two reads.
    fn narrow(self) -> &'static str {
        match self {
            ClockRead::Clock64 => "cvt.sat.u32.u64",
            ClockRead::Clock32 => "mov.u32",
        }
    }

    /// Instruction that makes 64 bits of a difference of two reads.
    fn widen(self) -> &'static str {
        match self {
            ClockRead::Clock64 => "mov.u64",
            ClockRead::Clock32 => "cvt.u64.u32",
        }
    }
}

/// What the machine code of a kernel must look like between its clock reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nothing is timed by pairs of clock reads.
    None,
    /// One pair of reads in a straight line with this many dependent loads and a consumer between them, nothing else.
    PerLoad {
        /// The path of the loads.
        path: LoadPath,
        /// How many.
        loads: u32,
    },
    /// One pair of reads around one loop of dependent loads.
    Lap {
        /// The path of the loads.
        path: LoadPath,
    },
    /// As [`Check::Lap`], by loads of shared memory of this width.
    Warp {
        /// Bytes that a lane loads at once.
        bytes: u32,
    },
    /// One pair of reads around whatever a block does, which touches memory by the listed opcodes only.
    Block {
        /// Beginnings of the opcodes.
        accesses: &'static [&'static str],
        /// The path of its loads, which a target may lack.
        path: LoadPath,
    },
}

/// The text of one kernel: a module with one entry point.
#[derive(Clone, Debug)]
pub struct Text {
    /// Entry point.
    pub name: String,
    /// The PTX.
    pub ptx: String,
    /// Lowest compute capability on which it can run.
    pub min_capability: (u32, u32),
    /// What its machine code must look like.
    pub check: Check,
}

/// A kernel of the bench's own, or of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Program {
    /// Writes chains into device memory.
    Link,
    /// Brings a chain into the L2.
    Fill,
    /// Finds the SMs.
    Census,
    /// Measures the clock.
    Clock,
    /// A whole-lap chase.
    Lap(LoadPath),
    /// A per-load chase with one or two loads between the clock reads.
    PerLoad(LoadPath, u32),
    /// Two agents: the first is timed, the second disturbs.
    Disturb(LoadPath, LoadPath),
    /// All lanes of a warp, each of which loads so many bytes of shared memory at once.
    Warp(u32),
    /// Threads at work by a pattern.
    Pattern(PatternProgram),
}

/// Paths whose caches may be one and the same: the L1 data, texture, read-only and constant caches (Größler, section 4.5).
pub const DISTURBED_PATHS: [LoadPath; 4] =
    [LoadPath::GlobalCa, LoadPath::Texture, LoadPath::GlobalNc, LoadPath::Constant];

/// First compute capability with `ld.global.nc` (PTX ISA, `ld.global.nc`: sm_32; desktop parts: 3.5).
const READ_ONLY_SINCE: (u32, u32) = (3, 5);
/// Compute capabilities for which ptxas 13.5 makes a call of a texture load.
const TEXTURE_IN_SOFTWARE: [(u32, u32); 1] = [(10, 7)];

impl Program {
    /// The kernel that an experiment needs.
    pub fn of(experiment: &Experiment) -> Self {
        if let Some(program) = PatternProgram::of(experiment) {
            return Program::Pattern(program);
        }
        match (experiment.kernel, &experiment.partner) {
            (Kernel::Clock, _) => Program::Clock,
            (Kernel::Lap, _) => Program::Lap(experiment.path),
            (Kernel::PerTwoLoads, _) => Program::PerLoad(experiment.path, 2),
            (Kernel::Disturb, Some(partner)) => Program::Disturb(experiment.path, partner.path),
            (Kernel::Warp, _) => Program::Warp(experiment.stride.0 as u32),
            (Kernel::PerLoad | Kernel::Disturb | Kernel::Pattern | Kernel::Imported, _) => {
                Program::PerLoad(experiment.path, 1)
            }
        }
    }

    /// Every kernel there is; of those that are generated by a number, some.
    pub fn all() -> Vec<Program> {
        let mut all = vec![Program::Link, Program::Fill, Program::Census, Program::Clock];
        for path in LoadPath::ALL {
            all.extend([Program::Lap(path), Program::PerLoad(path, 1), Program::PerLoad(path, 2)]);
        }
        for a in DISTURBED_PATHS {
            all.extend(DISTURBED_PATHS.map(|b| Program::Disturb(a, b)));
        }
        all.extend(WARP_ACCESSES.map(|bytes| Program::Warp(bytes.0 as u32)));
        all.extend(PatternProgram::samples().into_iter().map(Program::Pattern));
        all
    }

    /// The entry point.
    pub fn name(self) -> String {
        match self {
            Program::Link => "link".into(),
            Program::Fill => "fill".into(),
            Program::Census => "census".into(),
            Program::Clock => "clock".into(),
            Program::Lap(path) => format!("lap_{}", path.name()),
            Program::PerLoad(path, 1) => format!("per_load_{}", path.name()),
            Program::PerLoad(path, _) => format!("per_two_loads_{}", path.name()),
            Program::Disturb(a, b) => format!("disturb_{}_{}", a.name(), b.name()),
            Program::Warp(bytes) => format!("warp_shared_{bytes}"),
            Program::Pattern(program) => program.name(),
        }
    }

    fn paths(self) -> (LoadPath, LoadPath) {
        match self {
            Program::Lap(path) | Program::PerLoad(path, _) => (path, path),
            Program::Disturb(a, b) => (a, b),
            Program::Warp(_) => (LoadPath::Shared, LoadPath::Shared),
            Program::Pattern(program) => (program.path(), program.path()),
            _ => (LoadPath::GlobalCg, LoadPath::GlobalCg),
        }
    }

    /// Why no device of this compute capability can run it, if none can.
    pub fn missing_on(self, capability: (u32, u32)) -> Option<String> {
        let (a, b) = self.paths();
        let needed = if a == LoadPath::GlobalNc || b == LoadPath::GlobalNc { READ_ONLY_SINCE } else { (2, 0) };
        if capability < needed {
            let (major, minor) = needed;
            return Some(format!("kernel `{}` needs compute capability {major}.{minor} or later", self.name()));
        }
        if (a == LoadPath::Texture || b == LoadPath::Texture) && TEXTURE_IN_SOFTWARE.contains(&capability) {
            let (major, minor) = capability;
            return Some(format!(
                "compute capability {major}.{minor} has no texture load: compilers call a routine instead, which no chase \
                 can time"
            ));
        }
        None
    }

    fn template(self) -> &'static str {
        match self {
            Program::Pattern(program) => program.template(),
            Program::Link => include_str!("ptx/link.ptx"),
            Program::Fill => include_str!("ptx/fill.ptx"),
            Program::Census => include_str!("ptx/census.ptx"),
            Program::Clock => include_str!("ptx/clock.ptx"),
            Program::Lap(_) => include_str!("ptx/lap.ptx"),
            Program::PerLoad(..) => include_str!("ptx/per_load.ptx"),
            Program::Disturb(..) => include_str!("ptx/disturb.ptx"),
            Program::Warp(_) => include_str!("ptx/warp.ptx"),
        }
    }

    fn check(self) -> Check {
        match self {
            Program::Lap(path) => Check::Lap { path },
            Program::PerLoad(path, loads) => Check::PerLoad { path, loads },
            Program::Disturb(path, _) => Check::PerLoad { path, loads: 1 },
            Program::Warp(bytes) => Check::Warp { bytes },
            _ => Check::None,
        }
    }

    /// The text, for a device that reads its clock in this way.
    ///
    /// # Panics
    ///
    /// If a template of this crate is malformed, which the tests rule out: they write out every one.
    pub fn text(self, clock: ClockRead) -> Text {
        if let Program::Pattern(program) = self {
            return program.text(clock);
        }
        let (path_a, path_b) = self.paths();
        let a = Agent { path: path_a, letter: 'a' };
        let b = Agent { path: path_b, letter: 'b' };
        let loads = if let Program::PerLoad(_, loads) = self { loads } else { 1 };
        let wide = if let Program::Warp(bytes) = self { idiom::wide_load(bytes) } else { String::new() };
        let name = self.name();
        let rendered = environment(a, b, clock).render_str(
            self.template(),
            context! {
                name => &name,
                loads,
                wide,
                bank_row => idiom::BANK_ROW,
                a => describe(a),
                b => describe(b),
                unroll => 1u32 << idiom::UNROLL_SHIFT,
                unroll_shift => idiom::UNROLL_SHIFT,
                clock => context! { type => clock.ptx_type(), widen => clock.widen() },
                fields => std::collections::BTreeMap::from(job::OFFSETS),
            },
        );
        let ptx = rendered.unwrap_or_else(|e| panic!("kernel template `{name}`: {e:#}")) + "\n";
        let read_only = path_a == LoadPath::GlobalNc || path_b == LoadPath::GlobalNc;
        Text { name, ptx, min_capability: if read_only { READ_ONLY_SINCE } else { (2, 0) }, check: self.check() }
    }
}

/// Every kernel's text.
pub fn all(clock: ClockRead) -> Vec<Text> {
    Program::all().into_iter().map(|program| program.text(clock)).collect()
}

fn describe(agent: Agent) -> Value {
    context! {
        type => agent.ptx_type(),
        load => agent.load(),
        constant => agent.path == LoadPath::Constant,
        letter => agent.letter.to_string(),
    }
}

/// The functions that templates call; an agent is named by the value that [`describe`] made of it.
fn environment(a: Agent, b: Agent, clock: ClockRead) -> Environment<'static> {
    let agent = move |described: Value| {
        let letter = described.get_attr("letter").ok().and_then(|l| l.as_str().map(str::to_owned));
        if letter.as_deref() == Some("b") { b } else { a }
    };
    let mut env = Environment::new();
    env.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    env.add_function("header", idiom::header);
    env.add_function("declarations", move |v: Value| idiom::declarations(agent(v)));
    env.add_function("registers", move || idiom::registers(clock));
    env.add_function("claim", idiom::claim);
    env.add_function("claim_block", idiom::claim_block);
    env.add_function("claim_warp", idiom::claim_warp);
    env.add_function("field", |register: &str, name: &str| idiom::field(register, name));
    env.add_function("field32", |register: &str, name: &str| idiom::field32(register, name));
    env.add_function("agent_parameters", move |v: Value| idiom::agent_parameters(agent(v)));
    env.add_function("partner_parameters", move |v: Value| idiom::partner_parameters(agent(v)));
    env.add_function("build_chain", move |v: Value| idiom::build_chain(agent(v)));
    env.add_function("walk", move |label: &str, v: Value| idiom::walk(label, agent(v)));
    env.add_function("read_clock", move |register: &str| idiom::read_clock(register, clock));
    env.add_function("read_clock_after", move |v: Value| idiom::read_clock_after(agent(v), clock));
    env.add_function("timed_window", move |v: Value, loads: usize| idiom::timed_window(agent(v), loads, clock));
    env.add_function("write_out", idiom::write_out);
    env.add_function("report", move |v: Value| idiom::report(agent(v)));
    env.add_function("report_value", idiom::report_value);
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_a_text_of_its_own() {
        for clock in [ClockRead::Clock64, ClockRead::Clock32] {
            let mut names: Vec<String> = Vec::new();
            for text in all(clock) {
                assert!(text.ptx.contains(&format!(".visible .entry {}(", text.name)), "{}", text.ptx);
                assert!(text.ptx.lines().all(|line| !line.contains("{{")), "{}", text.ptx);
                names.push(text.name);
            }
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }

    #[test]
    fn a_generated_kernel_is_found_by_its_name() {
        for program in PatternProgram::samples() {
            let name = program.name();
            let is = name.starts_with("sums") || name.starts_with("intensity");
            assert_eq!(PatternProgram::generated(&name), is.then_some(program), "{name}");
        }
        assert_eq!(PatternProgram::generated("sums_1"), None);
    }

    #[test]
    fn a_timed_load_stands_alone_between_its_clock_reads() {
        let text = Program::PerLoad(LoadPath::GlobalCa, 1).text(ClockRead::Clock64).ptx;
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        let first = lines.iter().position(|l| l.contains("%clock64")).unwrap();
        assert!(lines[first + 1].starts_with("ld.global.ca.u64"));
        assert!(lines[first + 2].starts_with("setp.ne.u64"));
        assert!(lines[first + 3].starts_with("@%q mov.u64") && lines[first + 3].contains("%clock64"));
    }
}
