//! Bodies of loops that are written out by a program: those whose length is what is measured.

use std::fmt::Write;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use strata_model::pattern::{From, LOADS_A_PASS, OPERATIONS_A_PASS, Operand, STATEMENTS_A_PASS};

/// Seed of the variables that a statement draws: fixed, since the compiler's work is part of what is measured.
const DRAWS: u64 = 0x5ca1ab1e;

// Writing to a string cannot fail, so the results are dropped.

/// The variables and the registers of padding.
pub(super) fn sum_registers(variables: u32) -> String {
    format!("\t.reg .u64 \t%sum, %v<{variables}>;\n\t.reg .u32 \t%p<3>;")
}

/// The variables that the statements of a pass read and write: `(from, to)`. As few as possible occur twice, so that with many
/// variables as many as possible are alive and touched.
pub fn draws(variables: u32) -> Vec<(u32, u32)> {
    let mut rng = ChaCha8Rng::seed_from_u64(DRAWS ^ u64::from(variables));
    let mut stack: Vec<u32> = Vec::new();
    let mut draw = |not: Option<u32>| loop {
        if stack.is_empty() {
            stack = (0..variables).collect();
            for i in (1..stack.len()).rev() {
                stack.swap(i, rng.random_range(0..=i));
            }
        }
        let one = stack.pop().expect("just filled");
        // Reading and writing the same variable would be one access less.
        if Some(one) != not {
            return one;
        }
    };
    (0..STATEMENTS_A_PASS)
        .map(|_| {
            let from = draw(None);
            (from, draw(Some(from)))
        })
        .collect()
}

/// One pass: `sum += v[i]; v[k] += sum`, with random i and k, and `padding` additions spread among them.
pub(super) fn sum_pass(variables: u32, padding: u32) -> String {
    let mut out = String::new();
    let mut padded = 0;
    for (number, (from, to)) in draws(variables).into_iter().enumerate() {
        let _ = writeln!(out, "\tadd.u64 \t%sum, %sum, %v{from};\n\tadd.u64 \t%v{to}, %v{to}, %sum;");
        let due = u64::from(padding) * (number as u64 + 1) / u64::from(STATEMENTS_A_PASS);
        while padded < due {
            // Three registers in turn, each of which adds the next: nothing can be folded.
            let (one, other) = (padded % 3, (padded + 1) % 3);
            let _ = writeln!(out, "\tadd.u32 \t%p{one}, %p{one}, %p{other};");
            padded += 1;
        }
    }
    out
}

/// Loads the variables' first values, one word after the other.
pub(super) fn sum_loads(variables: u32) -> String {
    (0..variables).map(|i| format!("\tld.global.cg.u64 \t%v{i}, [%buffer+{}];\n", 8 * i)).collect()
}

/// Adds everything up, so that nothing is dead.
pub(super) fn sum_of_all(variables: u32) -> String {
    (0..variables).map(|i| format!("\tadd.u64 \t%sum, %sum, %v{i};\n")).collect()
}

/// What `sum_pass` computes: the sum of everything after so many passes, from variables that begin as 1, 2, 3 and so on.
pub fn expected_sum(variables: u32, passes: u32) -> u64 {
    let mut values: Vec<u64> = (1..=u64::from(variables)).collect();
    let mut sum = 0u64;
    let draws = draws(variables);
    for _ in 0..passes {
        for &(from, to) in &draws {
            sum = sum.wrapping_add(values[from as usize]);
            values[to as usize] = values[to as usize].wrapping_add(sum);
        }
    }
    values.into_iter().fold(sum, u64::wrapping_add)
}

/// A pass of multiplications with addition, each of which needs the one before.
pub(super) fn operations(operand: Operand) -> String {
    let (factor, term) = match operand {
        // Any odd numbers; what matters is where they stand.
        Operand::Immediate => ("0x9e3779b1", "0x85ebca6b"),
        Operand::Parameter => ("%factor", "%term"),
    };
    format!("\tmad.lo.u32 \t%value, %value, {factor}, {term};\n").repeat(OPERATIONS_A_PASS as usize)
}

/// The factor and the term of `operations`, for the parameters.
pub const FACTOR: u32 = 0x9e37_79b1;
/// See [`FACTOR`].
pub const TERM: u32 = 0x85eb_ca6b;

/// A pass of loads, each with its operations on what it brings.
pub(super) fn loads_with_operations(from: From, operations: u32) -> String {
    let mut out = String::new();
    for load in 0..LOADS_A_PASS {
        let _ = match from {
            From::Shared => writeln!(out, "\tld.volatile.shared.u32 \t%x{load}, [%near+{}];", 4 * load),
            From::Global => {
                writeln!(out, "\tld.global.cg.u32 \t%x{load}, [%far];\n\tadd.u64 \t%far, %far, %step;")
            }
        };
    }
    for load in 0..LOADS_A_PASS {
        for _ in 0..operations {
            let _ = writeln!(out, "\tfma.rn.f32 \t%a{load}, %a{load}, %x{load}, %x{load};");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_touch_as_many_variables_as_they_can() {
        for variables in [2u32, 16, 256, 512, 2048] {
            let draws = draws(variables);
            assert_eq!(draws.len(), STATEMENTS_A_PASS as usize);
            assert!(draws.iter().all(|&(from, to)| from != to && from < variables && to < variables));
            let mut touched: Vec<u32> = draws.iter().flat_map(|&(from, to)| [from, to]).collect();
            touched.sort_unstable();
            touched.dedup();
            // A variable may be skipped where it would be read and written by one statement.
            assert!(
                touched.len() + 2 >= (variables.min(2 * STATEMENTS_A_PASS)) as usize,
                "{variables}: {}",
                touched.len()
            );
        }
    }

    #[test]
    fn padding_is_as_long_as_asked_for() {
        for padding in [0, 1, 255, 256, 1000] {
            assert_eq!(sum_pass(4, padding).matches("add.u32").count(), padding as usize);
        }
    }

    #[test]
    fn the_sum_is_that_of_the_statements() {
        // No pass: 1 + 2 + 3. One pass of two variables, by hand for its first statements, is not worth the lines.
        assert_eq!(expected_sum(3, 0), 6);
        assert_ne!(expected_sum(3, 1), expected_sum(3, 2));
    }
}
