//! How many allocations an answer takes: a few, and more where they differ.
//!
//! A cache that is indexed by a hash of the address holds more at one place in memory than at another. One allocation then says
//! little of the next run's, and the range of two or three says too little.

use super::{Gap, Settle, Unknown, ask_each};

/// Allocations where they differ. The ranges of two runs of so many exclude each other in 1 of 462 pairs, if all sizes of
/// the hash are equally likely: 2 / (12 choose 6).
const MANY: u32 = 6;

/// The answers of so many allocations, or of [`MANY`] if they differ. Of one alone, where only one is asked for. Allocations
/// that a recording lacks are left out.
///
/// # Errors
///
/// The first unknown of those that are not left out; of all, if none is recorded.
pub(super) fn enough<T>(
    few: u32,
    differ: impl Fn(&T, &T) -> bool,
    ask: impl Fn(u32) -> Result<T, Gap>,
) -> Result<Vec<T>, Gap> {
    let mut answers = recorded((0..few).map(&ask))?;
    let differs = answers.iter().enumerate().any(|(i, a)| answers[i + 1..].iter().any(|b| differ(a, b)));
    if differs && few < MANY {
        answers.extend(recorded((few..MANY).map(&ask)).settled()?.unwrap_or_default());
    }
    Ok(answers)
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
        // Of the first ones all were there.
        assert_eq!(asked(2, fails), Ok(vec![0, 1]));
    }

    #[test]
    fn what_is_missing_is_asked_for() {
        assert_eq!(asked(2, |number| if number < 2 { Ok(number) } else { Err(Gap::Missing) }), Err(Gap::Missing));
    }
}
