//! What the kernels whose length is measured compute: the statements of `sums`, the numbers of `operands`.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use strata_model::pattern::STATEMENTS_A_PASS;

/// Seed of the variables that a statement draws: fixed, since the compiler's work is part of what is measured.
const DRAWS: u64 = 0x5ca1ab1e;

/// The variables that the statements of a pass read and write: `(from, to)`. As few as possible occur twice, so that with many
/// variables as many as possible are alive and touched.
fn draws(variables: u32) -> Vec<(u32, u32)> {
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

/// A statement of `sums`: `sum += v[from]; v[to] += sum`, and what pads it.
pub(crate) struct Statement {
    /// The variable that is read.
    pub from: u32,
    /// The variable that is written.
    pub to: u32,
    /// Additions after it, each by the first of its two registers: there are three, taken in turn.
    pub padding: Vec<u32>,
}

/// Registers that the padding uses in turn.
const PADDING_REGISTERS: u32 = 3;

/// The statements of one pass, with `padding` additions spread among them.
pub(crate) fn statements(variables: u32, padding: u32) -> Vec<Statement> {
    let mut padded = 0;
    let mut statement = |(number, (from, to)): (u64, (u32, u32))| {
        let due = (u64::from(padding) * (number + 1) / u64::from(STATEMENTS_A_PASS)) as u32;
        let own = (padded..due).map(|addition| addition % PADDING_REGISTERS).collect();
        padded = due;
        Statement { from, to, padding: own }
    };
    (0..).zip(draws(variables)).map(&mut statement).collect()
}

/// What a pass computes: the sum of everything after so many passes, from variables that begin as 1, 2, 3 and so on.
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

/// The factor of the operations of `operands`: any odd number; what matters is where it stands.
pub const FACTOR: u32 = 0x9e37_79b1;
/// The term of the operations of `operands`; see [`FACTOR`].
pub const TERM: u32 = 0x85eb_ca6b;

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
            let padded = statements(4, padding).iter().map(|s| s.padding.len()).sum::<usize>();
            assert_eq!(padded, padding as usize);
        }
    }

    #[test]
    fn the_sum_is_that_of_the_statements() {
        // No pass: 1 + 2 + 3. One pass of two variables, by hand for its first statements, is not worth the lines.
        assert_eq!(expected_sum(3, 0), 6);
        assert_ne!(expected_sum(3, 1), expected_sum(3, 2));
    }
}
