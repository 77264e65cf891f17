//! How many allocations an answer takes: a few, and more where they differ.
//!
//! A cache that is indexed by a hash of the address holds more at one place in memory than at another. One allocation then says
//! little of the next run's, and the range of two or three says too little.

use super::{Gap, Unknown, ask_each};
use strata_model::units::Bytes;

/// Allocations where they differ. Of sizes without ties, drawn anew for each allocation, the ranges of two runs of so many do
/// not overlap in 1 of 462 pairs: 2 / (12 choose 6).
const MANY: u32 = 6;

/// The answers of a few allocations, and of [`MANY`] if any two of them differ. Of one alone, where only one is asked for.
/// Allocations that a recording lacks are left out, and unknowns among those that come later.
///
/// # Errors
///
/// The first unknown of the few that are recorded; of all, if none is.
pub(super) fn enough<T>(
    few: u32,
    differ: impl Fn(&T, &T) -> bool,
    ask: impl Fn(u32) -> Result<T, Gap>,
) -> Result<Vec<T>, Gap> {
    let mut answers = recorded((0..few).map(&ask))?;
    let differs = answers.iter().enumerate().any(|(i, a)| answers[i + 1..].iter().any(|b| differ(a, b)));
    if differs && few < MANY {
        answers.extend(ask_each((few..MANY).map(&ask))?.into_iter().flatten());
    }
    Ok(answers)
}

/// The median; of an even number the lower one of the middle two, which was measured.
pub(super) fn middle(sizes: &[Bytes]) -> Bytes {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    sizes.get(sizes.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

/// The answers without those that a recording lacks.
fn recorded<T>(questions: impl IntoIterator<Item = Result<T, Gap>>) -> Result<Vec<T>, Gap> {
    let (lacking, there): (Vec<_>, Vec<_>) =
        ask_each(questions)?.into_iter().partition(|answer| matches!(answer, Err(Unknown::NotRecorded)));
    let there: Vec<T> = there.into_iter().collect::<Result<_, Unknown>>()?;
    match lacking.into_iter().next() {
        Some(Err(unknown)) if there.is_empty() => Err(unknown.into()),
        _ => Ok(there),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(few: u32, ask: impl Fn(u32) -> Result<u32, Gap>) -> Result<Vec<u32>, Gap> {
        enough(few, |a, b| a != b, ask)
    }

    #[test]
    fn allocations_that_differ_are_more() {
        assert_eq!(asked(2, |_| Ok(7)), Ok(vec![7, 7]));
        assert_eq!(asked(2, Ok), Ok(vec![0, 1, 2, 3, 4, 5]));
        assert_eq!(asked(10, Ok).map(|all| all.len()), Ok(10));
        assert_eq!(asked(1, Ok), Ok(vec![0]));
    }

    #[test]
    fn what_a_recording_lacks_is_left_out_and_nothing_else() {
        let lacks = |number: u32| if number < 1 { Ok(number) } else { Err(Unknown::NotRecorded.into()) };
        assert_eq!(asked(3, lacks), Ok(vec![0]));
        assert_eq!(asked(3, |_| Err(Unknown::NotRecorded.into())), Err(Unknown::NotRecorded.into()));
        let fails = |number: u32| if number < 2 { Ok(number) } else { Gap::unknown("unclear") };
        assert_eq!(asked(3, fails), Gap::unknown("unclear"));
        // Of the first ones all were there; one of the others is not clear.
        let one_fails = |number: u32| if number == 4 { Gap::unknown("unclear") } else { Ok(number) };
        assert_eq!(asked(2, one_fails), Ok(vec![0, 1, 2, 3, 5]));
    }

    #[test]
    fn the_middle_was_measured() {
        let sizes = [Bytes(4), Bytes(1), Bytes(3), Bytes(2)];
        assert_eq!((middle(&sizes), middle(&sizes[..3]), middle(&[])), (Bytes(2), Bytes(3), Bytes(0)));
    }

    #[test]
    fn what_is_missing_is_asked_for() {
        assert_eq!(asked(2, |number| if number < 2 { Ok(number) } else { Err(Gap::Missing) }), Err(Gap::Missing));
    }
}
