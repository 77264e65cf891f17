//! The kernels of patterns: what a block of threads does, between two clock reads of its first thread.
//!
//! All have the same parameters and the same output (see [`begin`] and [`finish`]), so that one function of the bench launches
//! them all. Reading order: `ptx/reads.ptx`, then this file, then [`super::generated`].

use minijinja::{Environment, context};

use super::idiom::{self, CONSTANT_SYMBOL};
use super::{Check, ClockRead, Text, generated};
use strata_model::experiment::{Experiment, Kernel, LoadPath, Order};
use strata_model::pattern::{
    CONSTANTS_A_PASS, Counters, From, LOADS_A_PASS, Layout, OPERATIONS_A_PASS, Operand, Pattern, Scope, block_bound,
};

/// The text that a pattern needs: what it does not share with others of its kind is in the text, everything else a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PatternProgram {
    /// Pairs of loads of a byte.
    Pairs(LoadPath),
    /// Writes with barriers.
    Barriers(Scope),
    /// Reads of elements of so many bytes.
    Reads(LoadPath, u32),
    /// Sums of so many variables, with so much padding, for blocks of at most so many threads.
    Sums {
        /// Variables of a thread.
        variables: u32,
        /// Further instructions in each pass.
        padding: u32,
        /// Most threads of a block: what registers a thread may have follows from it.
        bound: u32,
    },
    /// Loads of constants by a warp, uniform or not.
    Constants(bool),
    /// Arithmetic with such operands.
    Operands(Operand),
    /// A chase over a square.
    Square(Layout),
    /// Counting bytes.
    Histogram(Counters),
    /// Loads with so many operations each.
    Intensity(From, u32),
}

/// Names of the parameters that follow `out`, `buffer`, `rounds` and `count`; what they mean depends on the pattern.
pub const PARAMETERS: [&str; 3] = ["a", "b", "c"];

impl PatternProgram {
    /// The text for an experiment, if it is a pattern.
    pub fn of(experiment: &Experiment) -> Option<Self> {
        let (Kernel::Pattern, Order::Pattern(pattern)) = (experiment.kernel, &experiment.order) else { return None };
        let pattern = *pattern;
        let path = experiment.path;
        Some(match pattern {
            Pattern::Pairs { .. } => PatternProgram::Pairs(path),
            Pattern::Barriers { scope, .. } => PatternProgram::Barriers(scope),
            Pattern::Reads { width, .. } => PatternProgram::Reads(path, width.0 as u32),
            Pattern::Sums { threads, variables, padding, .. } => {
                PatternProgram::Sums { variables, padding, bound: block_bound(threads) }
            }
            Pattern::Constants { uniform, .. } => PatternProgram::Constants(uniform),
            Pattern::Operands { operand, .. } => PatternProgram::Operands(operand),
            Pattern::Square { layout, .. } => PatternProgram::Square(layout),
            Pattern::Histogram { counters, .. } => PatternProgram::Histogram(counters),
            Pattern::Intensity { from, operations, .. } => PatternProgram::Intensity(from, operations),
        })
    }

    /// One of each kind that there is a text for, and of those that are generated a short and a long one.
    pub fn samples() -> Vec<Self> {
        use LoadPath::{Constant, GlobalCa, GlobalCg, GlobalNc, Shared, Texture};
        let mut all: Vec<Self> = [GlobalCa, GlobalCg, Texture, Constant, Shared].map(PatternProgram::Pairs).into();
        all.extend([Scope::Warp, Scope::Block, Scope::Grid, Scope::Nobody].map(PatternProgram::Barriers));
        for path in [GlobalCa, GlobalCg, GlobalNc] {
            all.extend([4, 8, 16].map(|width| PatternProgram::Reads(path, width)));
        }
        all.extend([(8, 0), (8, 300), (256, 0)].map(|(variables, padding)| PatternProgram::Sums {
            variables,
            padding,
            bound: 256,
        }));
        all.push(PatternProgram::Sums { variables: 64, padding: 0, bound: 1024 });
        all.extend([false, true].map(PatternProgram::Constants));
        all.extend([Operand::Immediate, Operand::Parameter].map(PatternProgram::Operands));
        all.extend([Layout::Array, Layout::Linear].map(PatternProgram::Square));
        all.extend([Counters::Global, Counters::Shared].map(PatternProgram::Histogram));
        for from in [From::Shared, From::Global] {
            all.extend([1, 64].map(|operations| PatternProgram::Intensity(from, operations)));
        }
        all
    }

    /// The generated text with this name, if there is one.
    pub fn generated(name: &str) -> Option<Self> {
        let (stem, numbers) = name.split_at(name.find(|c: char| c.is_ascii_digit())?);
        let numbers: Vec<u32> = numbers.split('_').map(str::parse).collect::<Result<_, _>>().ok()?;
        let program = match (stem, numbers.as_slice()) {
            ("sums_", &[variables, padding, bound]) => PatternProgram::Sums { variables, padding, bound },
            ("intensity_shared_", &[operations]) => PatternProgram::Intensity(From::Shared, operations),
            ("intensity_global_", &[operations]) => PatternProgram::Intensity(From::Global, operations),
            _ => return None,
        };
        (program.name() == name).then_some(program)
    }

    /// The entry point.
    pub fn name(self) -> String {
        match self {
            PatternProgram::Pairs(path) => format!("pairs_{}", path.name()),
            PatternProgram::Barriers(Scope::Warp) => "barriers_warp".into(),
            PatternProgram::Barriers(Scope::Block) => "barriers_block".into(),
            PatternProgram::Barriers(Scope::Grid) => "barriers_grid".into(),
            PatternProgram::Barriers(Scope::Nobody) => "barriers_none".into(),
            PatternProgram::Reads(path, width) => format!("reads_{}_{width}", path.name()),
            PatternProgram::Sums { variables, padding, bound } => format!("sums_{variables}_{padding}_{bound}"),
            PatternProgram::Constants(uniform) => format!("constants_{}", if uniform { "uniform" } else { "indexed" }),
            PatternProgram::Operands(Operand::Immediate) => "operands_immediate".into(),
            PatternProgram::Operands(Operand::Parameter) => "operands_parameter".into(),
            PatternProgram::Square(Layout::Array) => "square_array".into(),
            PatternProgram::Square(Layout::Linear) => "square_linear".into(),
            PatternProgram::Histogram(Counters::Global) => "histogram_global".into(),
            PatternProgram::Histogram(Counters::Shared) => "histogram_shared".into(),
            PatternProgram::Intensity(From::Shared, operations) => format!("intensity_shared_{operations}"),
            PatternProgram::Intensity(From::Global, operations) => format!("intensity_global_{operations}"),
        }
    }

    /// The path of its loads, as far as a device may lack it.
    pub(super) fn path(self) -> LoadPath {
        match self {
            PatternProgram::Pairs(path) | PatternProgram::Reads(path, _) => path,
            PatternProgram::Square(_) => LoadPath::Texture,
            PatternProgram::Constants(_) => LoadPath::Constant,
            _ => LoadPath::GlobalCa,
        }
    }

    /// Its template.
    pub(super) fn template(self) -> &'static str {
        match self {
            PatternProgram::Pairs(_) => include_str!("ptx/pairs.ptx"),
            PatternProgram::Barriers(_) => include_str!("ptx/barriers.ptx"),
            PatternProgram::Reads(..) => include_str!("ptx/reads.ptx"),
            PatternProgram::Sums { .. } => include_str!("ptx/sums.ptx"),
            PatternProgram::Constants(_) => include_str!("ptx/constants.ptx"),
            PatternProgram::Operands(_) => include_str!("ptx/operands.ptx"),
            PatternProgram::Square(_) => include_str!("ptx/square.ptx"),
            PatternProgram::Histogram(_) => include_str!("ptx/histogram.ptx"),
            PatternProgram::Intensity(..) => include_str!("ptx/intensity.ptx"),
        }
    }

    /// What may touch memory between the clock reads: the beginning of the opcodes, in machine code from sm_75 on. An empty
    /// list is nothing at all.
    fn accesses(self) -> &'static [&'static str] {
        match self {
            PatternProgram::Pairs(LoadPath::GlobalCa) => &["LDG.E.U8.STRONG.SM", "LDG.E.U8.STRONG.CTA"],
            PatternProgram::Pairs(LoadPath::GlobalCg) => &["LDG.E.U8.STRONG.GPU"],
            PatternProgram::Pairs(LoadPath::Texture) | PatternProgram::Square(Layout::Linear) => &["TLD."],
            PatternProgram::Pairs(LoadPath::Constant) => &["LDC.U8"],
            PatternProgram::Pairs(_) => &["LDS.U8", "LDS.U.U8"],
            PatternProgram::Barriers(Scope::Grid) => &[
                "STG.E",
                "ATOMG.E.ADD",
                "ATOM.E.ADD",
                "RED.E.ADD",
                "REDG.E.ADD",
                "LDG.E.STRONG.SYS",
                "MEMBAR",
                "ERRBAR",
                "CCTL",
                // Four that are never executed (`@!PT LDS RZ`) stand before a fence in what driver 580 makes.
                "LDS",
            ],
            PatternProgram::Barriers(_) => &["STG.E"],
            PatternProgram::Reads(LoadPath::GlobalCa, 4) => &["LDG.E.STRONG.SM", "LDG.E.STRONG.CTA"],
            PatternProgram::Reads(LoadPath::GlobalCa, 8) => &["LDG.E.64.STRONG.SM", "LDG.E.64.STRONG.CTA"],
            PatternProgram::Reads(LoadPath::GlobalCa, _) => &["LDG.E.128.STRONG.SM", "LDG.E.128.STRONG.CTA"],
            PatternProgram::Reads(LoadPath::GlobalCg, 4) => &["LDG.E.STRONG.GPU"],
            PatternProgram::Reads(LoadPath::GlobalCg, 8) => &["LDG.E.64.STRONG.GPU"],
            PatternProgram::Reads(LoadPath::GlobalCg, _) => &["LDG.E.128.STRONG.GPU"],
            PatternProgram::Reads(_, 4) => &["LDG.E.CONSTANT"],
            PatternProgram::Reads(_, 8) => &["LDG.E.64.CONSTANT"],
            PatternProgram::Reads(..) => &["LDG.E.128.CONSTANT"],
            PatternProgram::Sums { .. } => &["LDL", "STL"],
            PatternProgram::Constants(_) => &["LDC", "ULDC", "LDCU"],
            PatternProgram::Operands(_) => &[],
            PatternProgram::Square(Layout::Array) => &["TLD."],
            PatternProgram::Histogram(Counters::Global) => &["LDG.E.STRONG.GPU", "RED.E.ADD", "REDG.E.ADD"],
            PatternProgram::Histogram(Counters::Shared) => {
                &["LDG.E.STRONG.GPU", "ATOMS.", "LDS", "STS", "RED.E.ADD", "REDG.E.ADD"]
            }
            PatternProgram::Intensity(From::Shared, _) => &["LDS"],
            PatternProgram::Intensity(From::Global, _) => &["LDG.E.STRONG.GPU"],
        }
    }

    /// What its machine code must look like.
    pub fn check(self) -> Check {
        Check::Block { accesses: self.accesses(), path: self.path() }
    }

    /// The text, for a device that reads its clock in this way.
    ///
    /// # Panics
    ///
    /// If a template of this crate is malformed, which the tests rule out.
    pub fn text(self, clock: ClockRead) -> Text {
        let name = self.name();
        let path = self.path();
        let values = context! {
            name => &name,
            path => path.name(),
            kind => if matches!(path, LoadPath::GlobalCa | LoadPath::GlobalCg | LoadPath::GlobalNc) { "u64" } else { "u32" },
            constant_symbol => CONSTANT_SYMBOL,
            constant_bytes => idiom::CONSTANT_BYTES,
            clock => context! { type => clock.ptx_type(), narrow => clock.narrow() },
            scope => match self { PatternProgram::Barriers(Scope::Warp) => "warp", PatternProgram::Barriers(Scope::Block) => "block", PatternProgram::Barriers(Scope::Nobody) => "nobody", _ => "grid" },
            load => self.load(),
            uniform => self == PatternProgram::Constants(true),
            operand => if self == PatternProgram::Operands(Operand::Immediate) { "immediate" } else { "parameter" },
            array => self == PatternProgram::Square(Layout::Array),
            shared => matches!(self, PatternProgram::Histogram(Counters::Shared) | PatternProgram::Intensity(From::Shared, _)),
            bound => if let PatternProgram::Sums { bound, .. } = self { bound } else { strata_model::pattern::MOST_THREADS },
            declarations => self.declarations(),
            body => self.body(),
            loads => if let PatternProgram::Sums { variables, .. } = self { generated::sum_loads(variables) } else { String::new() },
            after => self.after(),
            constants_a_pass => CONSTANTS_A_PASS,
            operations_a_pass => OPERATIONS_A_PASS,
            loads_a_pass => LOADS_A_PASS,
        };
        let rendered = environment(clock).render_str(self.template(), values);
        let ptx = rendered.unwrap_or_else(|e| panic!("kernel template `{name}`: {e:#}")) + "\n";
        let min_capability = if path == LoadPath::GlobalNc { super::READ_ONLY_SINCE } else { (2, 0) };
        Text { name, ptx, min_capability, check: self.check() }
    }

    /// The load that the text makes again and again.
    fn load(self) -> String {
        match self {
            PatternProgram::Pairs(LoadPath::Texture) => {
                "tex.1d.v4.u32.s32 \t{%value, %unused0, %unused1, %unused2}, [%buffer, {%pa}];".into()
            }
            PatternProgram::Pairs(LoadPath::Constant) => "ld.const.u8 \t%value, [%pa];".into(),
            PatternProgram::Pairs(LoadPath::Shared) => "ld.shared.u8 \t%value, [%pa];".into(),
            PatternProgram::Pairs(path) => format!("ld.global.{}.u8 \t%value, [%pa];", path.name()),
            PatternProgram::Reads(path, 4) => {
                format!("ld.global.{}.u32 \t%value, [%pa];\n\tcvt.u64.u32 \t%wide, %value;", path.name())
            }
            PatternProgram::Reads(path, 8) => format!("ld.global.{}.u64 \t%wide, [%pa];", path.name()),
            // Both halves are used, so that no compiler loads one only.
            PatternProgram::Reads(path, _) => {
                format!("ld.global.{}.v2.u64 \t{{%wide, %word}}, [%pa];\n\tadd.u64 \t%wide, %wide, %word;", path.name())
            }
            _ => String::new(),
        }
    }

    fn declarations(self) -> String {
        match self {
            PatternProgram::Sums { variables, .. } => generated::sum_registers(variables),
            _ => String::new(),
        }
    }

    fn body(self) -> String {
        match self {
            PatternProgram::Sums { variables, padding, .. } => generated::sum_pass(variables, padding),
            PatternProgram::Operands(operand) => generated::operations(operand),
            PatternProgram::Intensity(from, operations) => generated::loads_with_operations(from, operations),
            _ => String::new(),
        }
    }

    fn after(self) -> String {
        match self {
            PatternProgram::Sums { variables, .. } => generated::sum_of_all(variables),
            _ => String::new(),
        }
    }
}

/// The head of every text up to its first brace: module, entry point and parameters.
fn entry(name: &str) -> String {
    let more: String = PARAMETERS.iter().map(|p| format!(", .param .u64 {p}")).collect();
    format!(".visible .entry {name}(.param .u64 out, .param .u64 buffer, .param .u64 rounds, .param .u64 count{more})")
}

/// Registers that all use, and their first values. `%slot` is where the block's next time goes: times of one round lie side by
/// side, one word a block.
fn begin(clock: ClockRead) -> String {
    let kind = clock.ptx_type();
    format!(
        "\t.reg .pred \t%z, %first, %q;
\t.reg .u32 \t%me, %block, %blocks, %threads, %rounds, %round, %count, %left, %value, %i, %unused0, %unused1, %unused2;
\t.reg .u64 \t%buffer, %slot, %row, %wide, %word, %check;
\t.reg .{kind} \t%t0, %t1;
\tld.param.u64 \t%slot, [out];
\tld.param.u64 \t%buffer, [buffer];
\tld.param.u64 \t%wide, [rounds];
\tcvt.u32.u64 \t%rounds, %wide;
\tld.param.u64 \t%wide, [count];
\tcvt.u32.u64 \t%count, %wide;
\tmov.u32 \t%me, %tid.x;
\tmov.u32 \t%threads, %ntid.x;
\tmov.u32 \t%block, %ctaid.x;
\tmov.u32 \t%blocks, %nctaid.x;
\tsetp.eq.u32 \t%first, %me, 0;
\tmul.wide.u32 \t%wide, %block, 8;
\tadd.u64 \t%slot, %slot, %wide;
\tmul.wide.u32 \t%row, %blocks, 8;
\tmov.u32 \t%round, 0;"
    )
}

/// A parameter of the pattern, as 64 bits.
fn parameter(register: &str, name: &str) -> String {
    format!("ld.param.u64 \t{register}, [{name}];")
}

/// A parameter of the pattern, as 32 bits.
fn parameter32(register: &str, name: &str) -> String {
    format!("ld.param.u64 \t%wide, [{name}];\n\tcvt.u32.u64 \t{register}, %wide;")
}

/// Ends a round: its time goes out, and the next one begins at `next_round` if there is one.
fn end_round(clock: ClockRead) -> String {
    format!(
        "\tsub.{kind} \t%t1, %t1, %t0;
\t{widen} \t%wide, %t1;
\t@%first st.global.u64 \t[%slot], %wide;
\tadd.u64 \t%slot, %slot, %row;
\tadd.u32 \t%round, %round, 1;
\tsetp.lt.u32 \t%z, %round, %rounds;
\t@%z bra \tnext_round;",
        kind = clock.ptx_type(),
        widen = clock.widen()
    )
}

/// Adds every thread's `%check` to the word behind the block's times, and puts the SM's number behind that.
fn finish() -> String {
    "\tred.global.add.u64 \t[%slot], %check;
\tadd.u64 \t%slot, %slot, %row;
\tmov.u32 \t%value, %smid;
\tcvt.u64.u32 \t%wide, %value;
\t@%first st.global.u64 \t[%slot], %wide;
\tret;"
        .into()
}

/// The functions that templates call.
fn environment(clock: ClockRead) -> Environment<'static> {
    let mut env = Environment::new();
    env.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    env.add_function("header", idiom::header);
    env.add_function("entry", entry);
    env.add_function("begin", move || begin(clock));
    env.add_function("parameter", parameter);
    env.add_function("parameter32", parameter32);
    env.add_function("read_clock", move |register: &str| idiom::read_clock(register, clock));
    env.add_function("end_round", move || end_round(clock));
    env.add_function("finish", finish);
    env
}
