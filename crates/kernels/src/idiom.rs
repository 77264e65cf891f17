//! The pieces that kernels share, as functions the templates call: the claim of a job, walks, and the timing idiom.
//!
//! Each piece is a few lines of PTX over the registers declared by [`registers`]. The templates in `ptx/` put them
//! together; a piece that reads the clock stands here only once.

use super::{ClockRead, job};
use strata_model::experiment::LoadPath;

/// Bytes of local memory a thread's chain may take. The driver sets local memory aside for every thread the device can
/// hold (270,336 on an H200), so this is kept small: 1 KiB costs 264 MiB there.
pub const LOCAL_BYTES: u64 = 1024;
/// Bytes of the constant bank that the chain may take: all that a module can declare.
pub const CONSTANT_BYTES: u64 = 65536;
/// Name of the constant bank's symbol.
pub const CONSTANT_SYMBOL: &str = "constant_chain";
/// Loads in the body of the whole-lap loop, as a power of two.
pub const UNROLL_SHIFT: u32 = 3;
/// Alignment of a warp's elements in shared memory, in bytes: 32 banks of 8 bytes, the longest row of banks known (CUDA C
/// Programming Guide, compute capability 3.x). So an element's bank follows from its offset.
pub const BANK_ROW: u64 = 256;

/// One of the (at most two) chases in a kernel: the path and the letter of its registers.
#[derive(Clone, Copy)]
pub struct Agent {
    /// The path its loads take.
    pub path: LoadPath,
    /// `a` or `b`.
    pub letter: char,
}

impl Agent {
    /// The register that holds its place in the chain.
    fn place(self) -> String {
        format!("%p{}", self.letter)
    }

    /// PTX type of its place.
    pub fn ptx_type(self) -> &'static str {
        match self.path {
            LoadPath::Texture | LoadPath::Constant | LoadPath::Shared | LoadPath::Local => "u32",
            _ => "u64",
        }
    }

    /// A value that no chain holds: no address is 0, no offset or index is all ones.
    fn never(self) -> &'static str {
        if self.ptx_type() == "u64" { "0" } else { "0xffffffff" }
    }

    /// The load, whose result is the place of the next. Nothing but the load: no address arithmetic.
    pub fn load(self) -> String {
        let p = self.place();
        match self.path {
            LoadPath::GlobalCa => format!("ld.global.ca.u64 \t{p}, [{p}];"),
            LoadPath::GlobalCg => format!("ld.global.cg.u64 \t{p}, [{p}];"),
            LoadPath::GlobalNc => format!("ld.global.nc.u64 \t{p}, [{p}];"),
            LoadPath::Host => format!("ld.volatile.global.u64 \t{p}, [{p}];"),
            LoadPath::Atomic => format!("atom.global.add.u64 \t{p}, [{p}], 0;"),
            LoadPath::Texture => format!(
                "tex.1d.v4.u32.s32 \t{{{p}, %unused0, %unused1, %unused2}}, [%texture_{}, {{{p}}}];",
                self.letter
            ),
            LoadPath::Constant => format!("ld.const.u32 \t{p}, [{p}];"),
            LoadPath::Shared => format!("ld.shared.u32 \t{p}, [{p}];"),
            LoadPath::Local => format!("ld.local.u32 \t{p}, [{p}];"),
        }
    }

    /// The state space whose chain the kernel has to build itself, where it has one.
    fn own_space(self) -> Option<&'static str> {
        match self.path {
            LoadPath::Shared => Some("shared"),
            LoadPath::Local => Some("local"),
            _ => None,
        }
    }
}

/// The header of every module.
pub fn header() -> String {
    let (major, minor) = super::TARGET;
    format!(".version 6.0\n.target sm_{major}{minor}\n.address_size 64")
}

/// Module-scope declarations of an agent: the window in shared memory, the constant bank.
pub fn declarations(agent: Agent) -> String {
    let window = ".extern .shared .align 16 .b8 window[];";
    match (agent.path, agent.letter) {
        (LoadPath::Constant, 'a') => format!("{}\n{window}", constant_bank()),
        (LoadPath::Constant, _) => constant_bank(),
        (_, 'a') => window.into(),
        _ => String::new(),
    }
}

fn constant_bank() -> String {
    format!(".visible .const .align 256 .b8 {CONSTANT_SYMBOL}[{CONSTANT_BYTES}];")
}

/// Registers that the pieces use.
pub fn registers(clock: ClockRead) -> String {
    let clock_type = clock.ptx_type();
    format!(
        "\t.reg .pred \t%z, %q, %keep, %first, %second;
\t.reg .u32 \t%sm, %taken, %lap, %warm, %timed, %window, %resident, %count, %done, %w, %pos, %rest, %i, %off;
\t.reg .u32 \t%me, %slot, %cycles, %loads_b, %thread_b, %lane, %unused0, %unused1, %unused2;
\t.reg .u64 \t%job, %out, %list, %at, %wide, %origin, %texture_a, %texture_b;
\t.reg .{clock_type} \t%t0, %t1;"
    )
}

fn job_of_this_sm() -> String {
    format!(
        "\tld.param.u64 \t%job, [jobs];
\tmov.u32 \t%sm, %smid;
\tmul.wide.u32 \t%wide, %sm, {};
\tadd.u64 \t%job, %job, %wide;",
        job::JOB_BYTES
    )
}

/// Takes the job of this SM, or leaves: for blocks of one thread.
pub fn claim() -> String {
    format!(
        "{}
\tatom.global.exch.b32 \t%taken, [%job], 0;
\tsetp.eq.u32 \t%z, %taken, 0;
\t@%z bra \tleave;",
        job_of_this_sm()
    )
}

/// Takes the job of this SM for the whole block, or leaves. Thread 0 swaps, all read its answer from shared memory.
pub fn claim_block() -> String {
    format!(
        "\t.shared .align 4 .u32 claimed;
{}
\tmov.u32 \t%me, %tid.x;
\tsetp.eq.u32 \t%z, %me, 0;
\t@!%z bra \tclaim_read;
\tatom.global.exch.b32 \t%taken, [%job], 0;
\tst.shared.u32 \t[claimed], %taken;
claim_read:
\tbar.sync \t0;
\tld.shared.u32 \t%taken, [claimed];
\tsetp.eq.u32 \t%z, %taken, 0;
\t@%z bra \tleave;",
        job_of_this_sm()
    )
}

/// Takes the job of this SM for a block of one warp, or leaves. As [`claim_block`], by a word of the dynamic shared memory:
/// a variable would displace what comes after it by a bank.
pub fn claim_warp() -> String {
    format!(
        "{}
\tmov.u32 \t%me, %tid.x;
\tsetp.eq.u32 \t%first, %me, 0;
\t@!%first bra \tclaim_read;
\tatom.global.exch.b32 \t%taken, [%job], 0;
\tst.shared.u32 \t[window], %taken;
claim_read:
\tbar.sync \t0;
\tld.shared.u32 \t%taken, [window];
\tbar.sync \t0;
\tsetp.eq.u32 \t%z, %taken, 0;
\t@%z bra \tleave;",
        job_of_this_sm()
    )
}

/// A load of so many bytes from the address that `%pa` holds: its first word is the address of the next. It is volatile so
/// that no compiler narrows it to the one word that is used.
pub fn wide_load(bytes: u32) -> String {
    match bytes {
        16 => "ld.volatile.shared.v4.u32 \t{%pa, %unused0, %unused1, %unused2}, [%pa];".into(),
        8 => "ld.volatile.shared.v2.u32 \t{%pa, %unused0}, [%pa];".into(),
        _ => "ld.volatile.shared.u32 \t%pa, [%pa];".into(),
    }
}

fn offset_of(field: &str) -> u64 {
    let known = job::OFFSETS.iter().find(|(name, _)| *name == field);
    known.unwrap_or_else(|| panic!("a kernel template names a job field `{field}`, which does not exist")).1
}

/// Reads a 64-bit field of the job, past the L1.
pub fn field(register: &str, name: &str) -> String {
    format!("ld.global.cg.u64 \t{register}, [%job+{}];", offset_of(name))
}

/// Reads the low half of a field of the job, past the L1.
pub fn field32(register: &str, name: &str) -> String {
    format!("ld.global.cg.u32 \t{register}, [%job+{}];", offset_of(name))
}

/// The start of an agent's chain and its texture object.
///
/// A constant chain's start has the lane number added (0 for the thread that walks): an index that depends on the thread
/// cannot be moved to the uniform path, which is another cache.
fn chain_parameters(agent: Agent, start: &str, start_field: &str, texture_field: &str) -> String {
    match agent.path {
        LoadPath::Texture => {
            let texture = format!("%texture_{}", agent.letter);
            format!(
                "\t{}\n\t{}\n\tsetp.eq.u64 \t%z, {texture}, 0;\n\t@%z bra \tleave;",
                field32(start, start_field),
                field(&texture, texture_field)
            )
        }
        LoadPath::Constant => {
            format!(
                "\t{}\n\tmov.u32 \t%lane, %tid.y;\n\tadd.u32 \t{start}, {start}, %lane;",
                field32(start, start_field)
            )
        }
        LoadPath::Shared | LoadPath::Local => String::new(),
        _ => format!("\t{}", field(start, start_field)),
    }
}

/// Parameters of the first agent.
pub fn agent_parameters(agent: Agent) -> String {
    chain_parameters(agent, "%start", "start", "texture")
}

/// Parameters of the second agent.
pub fn partner_parameters(agent: Agent) -> String {
    chain_parameters(agent, "%start_b", "partner_start", "partner_texture")
}

/// Builds the chain in memory that the host cannot write: element i holds the address of element i + 1, the last that of
/// the first. Nothing for other paths.
pub fn build_chain(agent: Agent) -> String {
    let Some(space) = agent.own_space() else { return String::new() };
    let (declare, origin) = match agent.path {
        // The chain lies behind the window.
        LoadPath::Shared => (
            String::new(),
            "\tmov.u64 \t%origin, window;\n\tmul.wide.u32 \t%wide, %window, 4;\n\tadd.u64 \t%origin, %origin, %wide;"
                .to_owned(),
        ),
        _ => (
            format!("\t.local .align 16 .b8 local_chain[{LOCAL_BYTES}];\n"),
            "\tmov.u64 \t%origin, local_chain;".to_owned(),
        ),
    };
    let kind = agent.ptx_type();
    let narrow = if kind == "u32" { "cvt.u32.u64" } else { "mov.u64" };
    format!(
        "{declare}{origin}
\t{list}
\tst.global.u64 \t[%job+{origin_field}], %origin;
\tld.global.cg.u32 \t%off, [%list];
\tmul.wide.u32 \t%wide, %off, 4;
\tadd.u64 \t%wide, %origin, %wide;
\t{narrow} \t%start, %wide;
\tmov.{kind} \t%pa, %start;
\tmov.u32 \t%i, 1;
build:
\t.pragma \"nounroll\";
\tsetp.lt.u32 \t%z, %i, %lap;
\tselp.u32 \t%off, %i, 0, %z;
\tmul.wide.u32 \t%at, %off, 4;
\tadd.u64 \t%at, %at, %list;
\tld.global.cg.u32 \t%off, [%at];
\tmul.wide.u32 \t%wide, %off, 4;
\tadd.u64 \t%wide, %origin, %wide;
\t{narrow} \t%next, %wide;
\tst.{space}.{kind} \t[%pa], %next;
\tmov.{kind} \t%pa, %next;
\tadd.u32 \t%i, %i, 1;
\tsetp.le.u32 \t%z, %i, %lap;
\t@%z bra \tbuild;",
        list = field("%list", "order"),
        origin_field = offset_of("origin"),
    )
}

fn walk_loop(label: &str, agent: Agent) -> String {
    format!(
        "\tsetp.eq.u32 \t%z, %count, 0;
\t@%z bra \t{label}_end;
{label}:
\t.pragma \"nounroll\";
\t{load}
\tadd.u32 \t%count, %count, -1;
\tsetp.ne.u32 \t%z, %count, 0;
\t@%z bra \t{label};
{label}_end:
\tsetp.eq.{kind} \t%z, {place}, {never};
\t@%z bra \tleave;",
        kind = agent.ptx_type(),
        place = agent.place(),
        never = agent.never(),
        load = agent.load()
    )
}

/// Walks `%count` loads of the agent's chain untimed; `%count` is 0 afterwards.
pub fn walk(label: &str, agent: Agent) -> String {
    walk_loop(label, agent)
}

/// Reads the clock into a register.
pub fn read_clock(register: &str, clock: ClockRead) -> String {
    format!("\tmov.{} \t{register}, {};", clock.ptx_type(), clock.register())
}

/// Reads the clock once the last load has come back: the read is guarded by a predicate that only the loaded value can
/// set. The predicate is always true, since no chain holds the value that it is compared with.
pub fn read_clock_after(agent: Agent, clock: ClockRead) -> String {
    format!(
        "\tsetp.ne.{kind} \t%q, {place}, {never};
\t@%q mov.{clock_type} \t%t1, {register};",
        kind = agent.ptx_type(),
        place = agent.place(),
        never = agent.never(),
        clock_type = clock.ptx_type(),
        register = clock.register()
    )
}

/// Times `%w` steps of `loads` dependent loads each, into the window. Between the two clock reads there is nothing but
/// the loads and the comparison that waits for the last.
pub fn timed_window(agent: Agent, loads: usize, clock: ClockRead) -> String {
    let loads: Vec<String> = (0..loads).map(|_| format!("\t{}", agent.load())).collect();
    format!(
        "\tmov.u32 \t%i, 0;
\tmov.u32 \t%slot, window;
timed:
\t.pragma \"nounroll\";
\tmov.{clock_type} \t%t1, 0;
{before}
{loads}
{after}
\tsub.{clock_type} \t%t1, %t1, %t0;
\t{narrow} \t%cycles, %t1;
\tst.shared.u32 \t[%slot], %cycles;
\tadd.u32 \t%slot, %slot, 4;
\tadd.u32 \t%i, %i, 1;
\tsetp.lt.u32 \t%z, %i, %w;
\t@%z bra \ttimed;",
        clock_type = clock.ptx_type(),
        before = read_clock("%t0", clock),
        loads = loads.join("\n"),
        after = read_clock_after(agent, clock),
        narrow = clock.narrow(),
    )
}

/// Writes the window's `%w` times out and counts them as done. Atomics are carried out in the L2; a plain store may
/// allocate in the L1 under test (on Hopper a window of 48 lines displaced up to 49, and stayed).
pub fn write_out() -> String {
    "\tmov.u32 \t%i, 0;
\tmov.u32 \t%slot, window;
write:
\t.pragma \"nounroll\";
\tld.shared.u32 \t%cycles, [%slot];
\tatom.global.exch.b32 \t%unused0, [%out], %cycles;
\tadd.u64 \t%out, %out, 4;
\tadd.u32 \t%slot, %slot, 4;
\tadd.u32 \t%i, %i, 1;
\tsetp.lt.u32 \t%z, %i, %w;
\t@%z bra \twrite;
\tadd.u32 \t%done, %done, %w;"
        .into()
}

/// Reports where the agent's chain ended: the checksum that the host has predicted.
pub fn report(agent: Agent) -> String {
    let widen = if agent.ptx_type() == "u64" { "mov.u64" } else { "cvt.u64.u32" };
    format!("\t{widen} \t%wide, {};\n{}", agent.place(), report_value())
}

/// Reports the value in `%wide`.
pub fn report_value() -> String {
    format!("\tst.global.u64 \t[%job+{}], %wide;", offset_of("end"))
}
