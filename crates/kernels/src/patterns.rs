//! The programs of patterns: what a block of threads does, between two clock reads of its first thread.
//!
//! All have the same parameters and the same output (see `ptx/idiom/pattern.ptx`), so that one function of the bench launches them
//! all. Reading order: this file, then `ptx/reads.ptx`.

use strata_model::experiment::{LoadPath, PatternRun};
use strata_model::pattern::{
    BURST_EACH, Counters, Layout, LoadedFrom, Operand, OperandsIn, Pattern, Scope, block_bound,
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
    Intensity(LoadedFrom, u32),
    /// Writes of elements.
    Writes,
    /// A chase over a square by coordinates of floating point. What the texture does with them is not in the text.
    Sampled,
    /// A chase over a cube.
    Cube,
    /// Arithmetic with operands from there.
    Sourced(OperandsIn),
    /// So many loads of each warp at most, of which none is used before the last is issued.
    Burst(u32),
}

impl PatternProgram {
    /// The text for an experiment.
    pub fn of(run: &PatternRun) -> Self {
        let PatternRun { pattern, path, .. } = *run;
        match pattern {
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
            Pattern::Writes { .. } => PatternProgram::Writes,
            Pattern::Sampled { .. } => PatternProgram::Sampled,
            Pattern::Cube { layout: Layout::Array, .. } => PatternProgram::Cube,
            // In linear memory an element has one coordinate, whatever it is part of.
            Pattern::Cube { layout: Layout::Linear, .. } => PatternProgram::Square(Layout::Linear),
            Pattern::Sourced { operands, .. } => PatternProgram::Sourced(operands),
            Pattern::Burst { each, .. } => PatternProgram::Burst(each),
        }
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
        for from in [LoadedFrom::Shared, LoadedFrom::Global] {
            all.extend([1, 64].map(|operations| PatternProgram::Intensity(from, operations)));
        }
        all.extend([PatternProgram::Writes, PatternProgram::Sampled, PatternProgram::Cube]);
        all.extend([OperandsIn::Registers, OperandsIn::Shared, OperandsIn::L1].map(PatternProgram::Sourced));
        all.extend(BURST_EACH.map(PatternProgram::Burst));
        all
    }

    /// The generated text with this name, if there is one.
    pub fn generated(name: &str) -> Option<Self> {
        let (stem, numbers) = name.split_at(name.find(|c: char| c.is_ascii_digit())?);
        let numbers: Vec<u32> = numbers.split('_').map(str::parse).collect::<Result<_, _>>().ok()?;
        let program = match (stem, numbers.as_slice()) {
            ("sums_", &[variables, padding, bound]) => PatternProgram::Sums { variables, padding, bound },
            ("intensity_shared_", &[operations]) => PatternProgram::Intensity(LoadedFrom::Shared, operations),
            ("burst_", &[each]) => PatternProgram::Burst(each),
            ("intensity_global_", &[operations]) => PatternProgram::Intensity(LoadedFrom::Global, operations),
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
            PatternProgram::Intensity(LoadedFrom::Shared, operations) => format!("intensity_shared_{operations}"),
            PatternProgram::Intensity(LoadedFrom::Global, operations) => format!("intensity_global_{operations}"),
            PatternProgram::Writes => "writes".into(),
            PatternProgram::Sampled => "sampled".into(),
            PatternProgram::Cube => "cube".into(),
            PatternProgram::Sourced(OperandsIn::Registers) => "sourced_registers".into(),
            PatternProgram::Sourced(OperandsIn::Shared) => "sourced_shared".into(),
            PatternProgram::Sourced(OperandsIn::L1) => "sourced_l1".into(),
            PatternProgram::Burst(each) => format!("burst_{each}"),
        }
    }

    /// The path of its loads, as far as a device may lack it.
    pub(crate) fn path(self) -> LoadPath {
        match self {
            PatternProgram::Pairs(path) | PatternProgram::Reads(path, _) => path,
            PatternProgram::Square(_) | PatternProgram::Sampled | PatternProgram::Cube => LoadPath::Texture,
            PatternProgram::Constants(_) => LoadPath::Constant,
            PatternProgram::Burst(_) => LoadPath::Host,
            _ => LoadPath::GlobalCa,
        }
    }
}
