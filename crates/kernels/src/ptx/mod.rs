//! PTX: a template for each kind of program in this folder, and the idioms that they import in `idiom/`.
//!
//! Reading order: `per_load.ptx`, then `idiom/clock.ptx`, then the other idioms. [`template`] states what each template needs of a
//! device; `.target` and `.version` follow from it. The rest is data: `values` has what a template is given, `checks` what
//! may touch memory in machine code.

mod checks;
mod values;

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};
use strata_model::experiment::{CODE, CopyWork, LoadPath};
use strata_model::samples::CodeFacts;
use strata_model::units::Bytes;

use crate::dialect::{Capability, Check, Dialect, Text};
use crate::{PatternProgram, Program, StreamProgram, Way, cubin};

/// The instruction set of NVIDIA's driver.
pub(crate) struct Ptx;

/// A kernel's template.
struct Template {
    name: &'static str,
    text: &'static str,
    /// First compute capability that has its instructions, whatever the path of its loads.
    needs: Capability,
}

macro_rules! template {
    ($name:literal, $needs:expr) => {
        Template { name: $name, text: include_str!(concat!($name, ".ptx")), needs: $needs }
    };
}

/// First compute capability with caches, `ld.global.ca` and textures of any kind: Fermi.
const FERMI: Capability = (2, 0);
/// First compute capability whose instructions take 16 bytes each: Volta (Jia et al. 2018, section 2.1).
const VOLTA: Capability = (7, 0);
/// First compute capability with `cp.async`: Ampere (PTX ISA, `cp.async`: sm_80).
const AMPERE: Capability = (8, 0);
/// First compute capability with clusters and `cp.async.bulk`: Hopper.
const HOPPER: Capability = (9, 0);
/// First compute capability with `ld.global.nc` (PTX ISA, `ld.global.nc`: sm_32; desktop parts: 3.5).
const READ_ONLY: Capability = (3, 5);

/// The template of a program, and what it needs of a device.
fn template(program: Program) -> Template {
    match program {
        Program::Link => template!("link", FERMI),
        Program::Fill => template!("fill", FERMI),
        Program::Census => template!("census", FERMI),
        Program::Clock => template!("clock", FERMI),
        Program::Watch => template!("watch", FERMI),
        Program::Lap(_) => template!("lap", FERMI),
        Program::PerLoad(..) => template!("per_load", FERMI),
        Program::Disturb(..) => template!("disturb", FERMI),
        Program::Warp(_) => template!("warp", FERMI),
        Program::Content => template!("content", FERMI),
        Program::Stream(StreamProgram { way: Way::Clustered | Way::Bulk | Way::Multicast, .. }) => {
            template!("stream", HOPPER)
        }
        Program::Stream(StreamProgram { way: Way::CpAsync, .. }) => template!("stream", AMPERE),
        Program::Stream(_) => template!("stream", FERMI),
        Program::Atomics(_) => template!("atomics", FERMI),
        Program::Distributed(_) => template!("distributed", HOPPER),
        Program::Asynchronous(CopyWork::CpAsync) => template!("asynchronous", AMPERE),
        Program::Asynchronous(_) => template!("asynchronous", HOPPER),
        Program::Code(_) => template!("code", VOLTA),
        Program::Pages => template!("pages", FERMI),
        Program::Residency(access, _) if access.since() >= 80 => template!("residency", AMPERE),
        Program::Residency(..) => template!("residency", FERMI),
        Program::Displacement(_) => template!("displacement", FERMI),
        Program::Contention => template!("contention", FERMI),
        Program::Pattern(pattern) => match pattern {
            PatternProgram::Pairs(_) => template!("pairs", FERMI),
            PatternProgram::Barriers(_) => template!("barriers", FERMI),
            PatternProgram::Reads(..) => template!("reads", FERMI),
            PatternProgram::Sums { .. } => template!("sums", FERMI),
            PatternProgram::Constants(_) => template!("constants", FERMI),
            PatternProgram::Operands(_) => template!("operands", FERMI),
            PatternProgram::Square(_) => template!("square", FERMI),
            PatternProgram::Histogram(_) => template!("histogram", FERMI),
            PatternProgram::Intensity(..) => template!("intensity", FERMI),
            PatternProgram::Writes => template!("writes", FERMI),
            PatternProgram::Sampled => template!("sampled", FERMI),
            PatternProgram::Cube => template!("cube", FERMI),
            PatternProgram::Sourced(_) => template!("sourced", FERMI),
            PatternProgram::Burst(_) => template!("burst", FERMI),
        },
    }
}

/// What the loads of a path need of a device.
fn path_needs(path: LoadPath) -> Capability {
    if path == LoadPath::GlobalNc { READ_ONLY } else { FERMI }
}

/// What a program needs of a device.
fn needs(program: Program) -> Capability {
    let (a, b) = program.paths();
    template(program).needs.max(path_needs(a)).max(path_needs(b))
}

/// A target that a text can name, and the version of the PTX ISA that it then names.
struct Target {
    capability: Capability,
    version: &'static str,
}

const fn target(major: u32, minor: u32, version: &'static str) -> Target {
    Target { capability: (major, minor), version }
}

/// The targets, ascending, each with the first version of the PTX ISA that has it (PTX ISA, release notes), but none before
/// 6.0, the first with `bar.warp.sync`, for 8.0 the first with cache hints for one level, and for 9.0 the first with
/// `barrier.cluster.arrive.relaxed`. The oldest is old on purpose: the driver compiles the text for the GPU at hand.
const TARGETS: [Target; 9] = [
    target(3, 0, "6.0"),
    target(3, 5, "6.0"),
    target(5, 0, "6.0"),
    target(6, 0, "6.0"),
    target(7, 0, "6.0"),
    target(7, 5, "6.3"),
    target(8, 0, "7.4"),
    target(9, 0, "8.0"),
    target(10, 0, "8.6"),
];

/// The target that a program with these needs names: the first that has them.
fn target_for(needs: Capability) -> &'static Target {
    TARGETS.iter().find(|target| target.capability >= needs).unwrap_or(&TARGETS[TARGETS.len() - 1])
}

/// Compute capabilities for which ptxas 13.5 makes a call of a texture load.
const TEXTURE_IN_SOFTWARE: [Capability; 1] = [(10, 7)];
/// Compute capabilities for which ptxas 12.9 and 13.5 make a call of a bulk copy to the shared memory of a cluster.
const BULK_COPY_IN_SOFTWARE: [Capability; 2] = [(12, 0), (12, 1)];

macro_rules! idioms {
    ($($name:literal)*) => {
        [$((concat!("idiom/", $name, ".ptx"), include_str!(concat!("idiom/", $name, ".ptx")))),*]
    };
}

/// The idioms, by the name under which templates import them.
const IDIOMS: [(&str, &str); 11] =
    idioms!["agent" "chain" "claim" "clock" "cluster" "content" "load" "module" "pattern" "persistent" "report"];

/// What all templates have in common.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // A line of template code leaves no line in the text.
    environment
        .set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().expect("delimiters differ"));
    for (name, text) in IDIOMS {
        environment.add_template(name, text).unwrap_or_else(|fault| panic!("{name}: {fault:#}"));
    }
    environment
});

impl Dialect for Ptx {
    fn name(&self) -> &'static str {
        "PTX"
    }

    fn oldest_target(&self) -> Capability {
        TARGETS[0].capability
    }

    fn missing(&self, program: Program, capability: Capability) -> Option<String> {
        let (own, needed) = (capability, needs(program));
        if own < needed {
            return Some(format!(
                "kernel `{}` needs compute capability {}.{} or later, and this device has {}.{}",
                self.entry(program),
                needed.0,
                needed.1,
                own.0,
                own.1
            ));
        }
        let copies_in_bulk = match program {
            Program::Asynchronous(work) => work == CopyWork::Bulk,
            Program::Stream(StreamProgram { way, .. }) => way.is_bulk(),
            _ => false,
        };
        if copies_in_bulk && BULK_COPY_IN_SOFTWARE.contains(&capability) {
            return Some(format!(
                "compilers call a routine for a bulk copy on compute capability {}.{}, so that it cannot be timed",
                own.0, own.1
            ));
        }
        let (a, b) = program.paths();
        if (a == LoadPath::Texture || b == LoadPath::Texture) && TEXTURE_IN_SOFTWARE.contains(&capability) {
            let (major, minor) = capability;
            return Some(format!(
                "compute capability {major}.{minor} has no texture load: compilers call a routine instead, which no chase \
                 can time"
            ));
        }
        None
    }

    fn element(&self, path: LoadPath) -> Bytes {
        path.element()
    }

    fn text(&self, program: Program, capability: Capability) -> Text {
        let template = template(program);
        let target = target_for(needs(program));
        let values = values::values(self, program, capability, target);
        let rendered = ENVIRONMENT.render_named_str(template.name, template.text, values);
        let code = rendered.unwrap_or_else(|fault| panic!("kernel template `{}`: {fault:#}", template.name)) + "\n";
        Text {
            entry: self.entry(program),
            code,
            target: target.capability,
            check: self.check(program),
            // An optimiser would follow the jumps itself, and leave nothing.
            optimised: !matches!(program, Program::Code(_)),
        }
    }

    fn check(&self, program: Program) -> Check {
        match program {
            Program::Lap(path) => Check::Lap { path },
            Program::PerLoad(path, loads) => Check::PerLoad { path, loads },
            Program::Residency(_, path) => Check::PerLoad { path, loads: 1 },
            Program::Contention => Check::PerLoad { path: LoadPath::GlobalCg, loads: 1 },
            Program::Disturb(path, _) => Check::PerLoad { path, loads: 1 },
            Program::Warp(bytes) => Check::Warp { bytes },
            Program::Pattern(PatternProgram::Burst(each)) => checks::burst(each),
            Program::Pattern(pattern) => Check::Block { accesses: checks::accesses(pattern), path: pattern.path() },
            // Of a displacement all accesses of a block are timed together.
            Program::Link
            | Program::Fill
            | Program::Census
            | Program::Clock
            | Program::Watch
            | Program::Content
            | Program::Displacement(_) => Check::None,
            Program::Stream(stream) => checks::stream(stream),
            Program::Atomics(atomics) => checks::atomics(atomics),
            Program::Distributed(work) => checks::distributed(work),
            Program::Asynchronous(work) => checks::asynchronous(work),
            // What the loop takes besides is the same in each lap, and only their difference counts.
            Program::Pages => Check::Block { accesses: checks::visits(), path: LoadPath::GlobalCg },
            Program::Code(block) => Check::Laid { bytes: CODE.0, block: block.0 },
        }
    }

    fn between_clock_reads(&self, program: Program, machine_code: &[u8]) -> Option<CodeFacts> {
        cubin::between_clock_reads(machine_code, &self.entry(program))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{PTX, all};

    /// One compute capability for each register that the clock is read from.
    const CLOCKS: [Capability; 2] = [(5, 0), (9, 0)];

    #[test]
    fn every_kernel_has_a_text_of_its_own() {
        for capability in CLOCKS {
            let mut names: Vec<String> = Vec::new();
            for text in all(PTX, capability) {
                assert!(text.code.contains(&format!(".visible .entry {}(", text.entry)), "{}", text.code);
                assert!(!text.code.contains("{{"), "{}", text.code);
                names.push(text.entry);
            }
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }

    #[test]
    fn a_timed_load_stands_alone_between_its_clock_reads() {
        let text = PTX.text(Program::PerLoad(LoadPath::GlobalCa, 1), (9, 0)).code;
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        let first = lines.iter().position(|l| l.contains("%clock64")).unwrap();
        assert!(lines[first + 1].starts_with("ld.global.ca.u64"));
        assert!(lines[first + 2].starts_with("setp.ne.u64"));
        assert!(lines[first + 3].starts_with("@%q mov.u64") && lines[first + 3].contains("%clock64"));
    }

    /// A compiler keeps the order of volatile loads and clock reads, and whoever uses a loaded value needs the second read.
    #[test]
    fn no_load_of_a_burst_is_used_before_the_last_is_issued() {
        for capability in CLOCKS {
            let text = PTX.text(Program::Pattern(PatternProgram::Burst(20)), capability).code;
            let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let clocks: Vec<usize> = (0..lines.len()).filter(|&i| lines[i].contains("%clock")).collect();
            let &[first, second, third] = clocks.as_slice() else { panic!("{text}") };
            assert_eq!(lines[first - 1], "bar.sync \t0;");
            assert_eq!(second - first, 21);
            for (number, load) in lines[first + 1..second].iter().enumerate() {
                let guard = if number < 4 { format!("@%makes{number} ") } else { String::new() };
                let offset = strata_model::pattern::burst_begin(number as u32).0;
                assert_eq!(*load, format!("{guard}ld.volatile.global.u32 \t%v{number}, [%a+{offset}];"), "{text}");
            }
            assert!(lines[second + 2].starts_with("and.b32 \t%i, %issued, %zero"));
            let uses =
                |lines: &[&str]| lines.iter().filter(|line| line.contains(", %v") && !line.contains("%value")).count();
            assert_eq!((uses(&lines[second..third]), uses(&lines[third..])), (40, 0), "{text}");
        }
    }

    #[test]
    fn the_target_follows_from_what_a_program_needs() {
        assert!(TARGETS.is_sorted_by_key(|target| target.capability));
        for (needs, expected, version) in
            [(FERMI, (3, 0), "6.0"), (READ_ONLY, (3, 5), "6.0"), ((6, 1), (7, 0), "6.0"), ((9, 0), (9, 0), "8.0")]
        {
            let target = target_for(needs);
            assert_eq!((target.capability, target.version), (expected, version));
        }
        // Every text of today but those of clusters, copies and hints is for every device from Kepler on, or from its second chip on. Those of
        // windows have no such instruction; their launch needs the device.
        for text in all(PTX, (9, 0)) {
            let (target, head) = match text.code.as_str() {
                code if ["cp.async.cg", ".L1::", ".L2::", "residency_window_", "discard.global"]
                    .iter()
                    .any(|word| code.contains(word)) =>
                {
                    ((8, 0), ".version 7.4\n.target sm_80\n")
                }
                code if ["cluster", "mbarrier", "bulk_group"].iter().any(|word| code.contains(word)) => {
                    ((9, 0), ".version 8.0\n.target sm_90\n")
                }
                code if code.contains("pmevent") => ((7, 0), ".version 6.0\n.target sm_70\n"),
                code if code.contains(".nc.") => ((3, 5), ".version 6.0\n.target sm_35\n"),
                _ => ((3, 0), ".version 6.0\n.target sm_30\n"),
            };
            assert_eq!(text.target, target, "{}", text.code);
            assert!(text.code.contains(head), "{}", text.code);
        }
    }

    #[test]
    fn what_a_device_lacks_is_said_with_both_capabilities() {
        let program = Program::Lap(LoadPath::GlobalNc);
        let reason = PTX.missing(program, (3, 0)).unwrap();
        assert!(reason.contains("3.5 or later") && reason.contains("has 3.0"), "{reason}");
        assert_eq!(PTX.missing(program, (3, 5)), None);
        assert!(PTX.missing(Program::Lap(LoadPath::Texture), (10, 7)).is_some());
        assert!(PTX.missing(Program::Asynchronous(CopyWork::Bulk), (12, 0)).is_some());
        assert_eq!(PTX.missing(Program::Asynchronous(CopyWork::BulkStore), (12, 0)), None);
    }

    #[test]
    fn an_element_is_as_wide_as_a_place() {
        for path in LoadPath::ALL {
            let text = PTX.text(Program::Lap(path), (9, 0)).code;
            let place = if PTX.element(path) == Bytes(8) { ".reg .u64 \t%pa" } else { ".reg .u32 \t%pa" };
            assert!(text.contains(place), "{text}");
        }
    }
}
