//! What the compiler made of the programs: registers, local memory, and from where on it spills.

use std::collections::BTreeMap;

use super::{FEW_THREADS, Programs, doublings};
use crate::analysis::hundredths::nearest;
use crate::characterize::Answer;
use crate::characterize::points::{axis, figure};
use crate::probe::{Gap, Settle, Unknown, ask_each};
use strata_model::characterization::{Line, Point};
use strata_model::pattern::{MOST_THREADS, STATEMENTS_A_PASS, block_bound};
use strata_model::samples::ProgramFacts;
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// Size of a variable.
const BYTES_EACH: u64 = 8;

impl Programs<'_> {
    /// What the compiler made of the program for blocks of so many threads.
    pub(super) fn program(&self, threads: u32, variables: u32) -> Result<ProgramFacts, Gap> {
        let measurements = self.notebook.read(&[self.run(threads, variables, 0)])?;
        let unsaid = || Unknown::Failed("the samples have no facts about the compiled program".into());
        Ok(measurements[0].samples().program.ok_or_else(unsaid)?)
    }

    /// Fewest variables with which the compiler spills, by bisection; none if the most are too few.
    fn first_spilled(&self, threads: u32) -> Result<Option<(u32, ProgramFacts)>, Gap> {
        let mut fits = 0;
        let mut spills = None;
        for x in doublings(self.notebook) {
            let facts = self.program(threads, x)?;
            if facts.local_bytes > 0 {
                spills = Some((x, facts));
                break;
            }
            fits = x;
        }
        let Some(mut found) = spills else { return Ok(None) };
        while found.0 - fits > 1 {
            let middle = fits + (found.0 - fits) / 2;
            let facts = self.program(threads, middle)?;
            if facts.local_bytes > 0 {
                found = (middle, facts);
            } else {
                fits = middle;
            }
        }
        Ok(Some(found))
    }

    /// The block sizes for which programs differ, with the threads of the suite that stand for each.
    fn bounds(&self) -> BTreeMap<u32, u32> {
        self.threads.iter().map(|&threads| (block_bound(threads), threads)).collect()
    }

    /// Registers, local memory and accesses of every program, as figures.
    pub(super) fn compiled(&self, answer: &mut Answer) -> Result<(), Gap> {
        let (mut registers, mut local, mut accesses) = (Vec::new(), Vec::new(), Vec::new());
        let mut slowest: Option<(u64, u32, u32)> = None;
        for (bound, threads) in self.bounds() {
            let mut programs = Vec::new();
            for &x in &self.variables {
                // What cannot be launched was compiled nevertheless, but its samples are not there.
                if let Ok(facts) = self.program(threads, x).settled()? {
                    let number = self.notebook.number_of(self.run(threads, x, 0));
                    programs.push((x, facts, number));
                    slowest = slowest.max(Some((facts.compile_us, x, bound)));
                }
            }
            let line = |of: &dyn Fn(&ProgramFacts) -> Option<f64>| Line {
                label: format!("blocks of up to {bound}"),
                points: programs
                    .iter()
                    .filter_map(|(x, facts, number)| {
                        let value = of(facts)?;
                        let experiments = number.iter().copied().collect();
                        Some(Point { x: f64::from(*x), value, low: value, high: value, ns: None, experiments })
                    })
                    .collect(),
                reason: None,
                failed: false,
            };
            registers.push(line(&|facts| Some(f64::from(facts.registers))));
            local.push(line(&|facts| Some(f64::from(facts.local_bytes))));
            let each = f64::from(STATEMENTS_A_PASS);
            accesses.push(line(&|facts| {
                facts.code.map(|code| nearest(f64::from(code.local_loads + code.local_stores) / each))
            }));
        }
        if let Some((us, x, bound)) = slowest {
            answer.finding(
                "compile_time",
                Finding::measured(
                    us as f64 / 1e3,
                    "by the driver, which compiles several programs at once; the longest of all",
                )
                .unit("ms")
                .note(format!("{x} variables, blocks of up to {bound} threads"))
                .any(),
            );
        }
        for (name, title, y, lines) in [
            ("registers", "Registers of a thread", axis("registers", "", false), registers),
            ("local", "Local memory of a thread", axis("local memory", "B", false), local),
            (
                "accesses",
                "Loads and stores of local memory in the compiled loop",
                axis("accesses per statement", "", false),
                accesses,
            ),
        ] {
            answer.figure(figure(name, title, axis("variables of 64 bits", "", true), y, lines));
        }
        Ok(())
    }

    /// From which number of variables on the compiler spills, for small blocks and for the largest.
    pub(super) fn beginning(&self, answer: &mut Answer) -> Result<Option<u32>, Gap> {
        let mut first = None;
        let mut told = Vec::new();
        let threads = [1, MOST_THREADS.min(self.notebook.facts().max_threads_per_block)];
        // Both bisections go on at once.
        let found = ask_each(threads.map(|threads| self.first_spilled(threads)))?;
        for (threads, found) in threads.into_iter().zip(found) {
            let name = format!("first_spilled_{}_threads", threads.max(FEW_THREADS));
            match found {
                Ok(Some((x, facts))) => {
                    if threads == 1 {
                        first = Some(x);
                    }
                    told.push(format!(
                        "{} variables of 64 bits in blocks of up to {} threads",
                        x - 1,
                        threads.max(FEW_THREADS)
                    ));
                    let number = self.notebook.number_of(self.run(threads, x, 0));
                    answer.finding(
                        &name,
                        Finding::measured(
                            u64::from(x),
                            "smallest number of 64-bit variables for which the compiled program uses local memory (bisection)",
                        )
                        .range(f64::from(x), f64::from(x))
                        .note(format!("{} registers and {} B of local memory per thread", facts.registers, facts.local_bytes))
                        .from_experiments(number)
                        .any(),
                    );
                    let bytes = BYTES_EACH * u64::from(x);
                    let method =
                        format!("the smallest number of variables that spills, times their {BYTES_EACH} bytes");
                    let found = Finding::measured(Bytes(bytes), method).range(bytes as f64, bytes as f64);
                    answer.finding(&format!("{name}_bytes"), found.from_experiments(number).any());
                }
                Ok(None) => answer
                    .finding(&name, Finding::unknown("the compiler spills nothing, whatever the number of variables")),
                Err(unknown) => answer.finding(&name, unknown.finding()),
            }
        }
        if !told.is_empty() {
            answer.means(format!("Up to {} fit in registers; with one more the compiler spills.", told.join(" and ")));
        }
        Ok(first)
    }
}
