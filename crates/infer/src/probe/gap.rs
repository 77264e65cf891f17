//! Why a probe has no answer yet: samples are missing, so it asks for them, or the answer is unknown, with a reason.
//!
//! A function that reads the notebook returns a [`Gap`], which is one or the other; `?` passes both on. A function that only
//! infers returns an [`Unknown`]: it cannot ask. Code that goes on without an answer calls [`Settle::settled`] first, which
//! passes on what is missing and hands out the unknown.

use strata_model::samples::Failure;
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// Samples are missing. The notebook has noted them; with them the same question is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing;

/// Why something is not known, although all samples are there.
#[derive(Clone, Debug, PartialEq)]
pub enum Unknown {
    /// The samples do not show it, and why.
    Because(String),
    /// A size is larger than could be tried.
    Beyond {
        /// The size is more than this.
        bound: Bytes,
        /// Why no more could be tried.
        reason: String,
    },
    /// An experiment failed, and how.
    Failed(String),
    /// A recording holds no samples of it.
    NotRecorded,
}

impl Unknown {
    /// With this reason.
    pub fn because(reason: impl Into<String>) -> Self {
        Unknown::Because(reason.into())
    }

    /// The reason in words, for whatever is not the size itself.
    pub fn reason(&self) -> String {
        match self {
            Unknown::Because(reason) | Unknown::Failed(reason) => reason.clone(),
            Unknown::NotRecorded => Failure::NotRecorded.to_string(),
            Unknown::Beyond { bound, reason } => {
                format!("the size is needed, but it is only known to be more than {bound}: {reason}")
            }
        }
    }

    /// As the finding of an attribute that is no size. A bound of the size is in its reason only.
    pub fn finding<T>(self) -> Finding<T> {
        match self {
            Unknown::Failed(reason) => Finding::failed(reason),
            other => Finding::unknown(other.reason()),
        }
    }

    /// As the finding of a size: its bound, if it has one, is the lower end of the interval.
    pub fn size(self) -> Finding<Bytes> {
        match self {
            Unknown::Beyond { bound, reason } => {
                Finding::unknown(format!("more than {bound}: {reason}")).unit("B").at_least(bound.0 as f64)
            }
            other => other.finding(),
        }
    }
}

impl From<Failure> for Unknown {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Failed { reason } => Unknown::Failed(reason),
            Failure::NotRecorded => Unknown::NotRecorded,
            other => Unknown::Because(other.to_string()),
        }
    }
}

/// Why a probe cannot say something now.
#[derive(Clone, Debug, PartialEq)]
pub enum Gap {
    /// Samples are missing.
    Missing,
    /// All samples are there, and it is unknown.
    Unknown(Unknown),
}

impl Gap {
    /// An unknown with this reason.
    ///
    /// # Errors
    ///
    /// Always: it is the short form of one.
    pub fn unknown<T>(reason: impl Into<String>) -> Result<T, Gap> {
        Err(Unknown::because(reason).into())
    }

    /// As an unknown, where nobody will ask again: what is missing was not measured.
    pub fn into_unknown(self) -> Unknown {
        match self {
            Gap::Missing => Unknown::because("not measured"),
            Gap::Unknown(unknown) => unknown,
        }
    }

    /// As the finding of an attribute that is no size ([`Unknown::finding`]).
    pub fn finding<T>(self) -> Finding<T> {
        self.into_unknown().finding()
    }

    /// As the finding of a size ([`Unknown::size`]).
    pub fn size(self) -> Finding<Bytes> {
        self.into_unknown().size()
    }
}

impl From<Missing> for Gap {
    fn from(_: Missing) -> Self {
        Gap::Missing
    }
}

impl From<Unknown> for Gap {
    fn from(unknown: Unknown) -> Self {
        Gap::Unknown(unknown)
    }
}

impl From<Failure> for Gap {
    fn from(failure: Failure) -> Self {
        Gap::Unknown(failure.into())
    }
}

/// What settles an answer.
pub trait Settle<T> {
    /// The answer, or why it is unknown, for code that goes on either way: `question(notebook).settled()?`.
    ///
    /// # Errors
    ///
    /// [`Missing`], if samples are.
    fn settled(self) -> Result<Result<T, Unknown>, Missing>;
}

impl<T> Settle<T> for Result<T, Gap> {
    fn settled(self) -> Result<Result<T, Unknown>, Missing> {
        match self {
            Ok(answer) => Ok(Ok(answer)),
            Err(Gap::Unknown(unknown)) => Ok(Err(unknown)),
            Err(Gap::Missing) => Err(Missing),
        }
    }
}

/// Asks all of these before any gap ends the round, so that what they miss is one batch.
///
/// # Errors
///
/// The first gap.
pub fn ask_all<T>(questions: impl IntoIterator<Item = Result<T, Gap>>) -> Result<Vec<T>, Gap> {
    let answers: Vec<Result<T, Gap>> = questions.into_iter().collect();
    answers.into_iter().collect()
}

/// As [`ask_all`], with each unknown in its place.
///
/// # Errors
///
/// [`Missing`], if samples of any of them are.
pub fn ask_each<T>(questions: impl IntoIterator<Item = Result<T, Gap>>) -> Result<Vec<Result<T, Unknown>>, Missing> {
    let answers: Vec<Result<T, Gap>> = questions.into_iter().collect();
    answers.into_iter().map(Settle::settled).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn unclear() -> Gap {
        Unknown::because("unclear").into()
    }

    #[test]
    fn what_is_missing_goes_up_and_what_is_unknown_is_handed_out() {
        let look = |answer: Result<u32, Gap>| -> Result<String, Gap> {
            match answer.settled()? {
                Ok(number) => Ok(number.to_string()),
                Err(unknown) => Ok(unknown.reason()),
            }
        };
        assert_eq!(look(Ok(7)), Ok("7".into()));
        assert_eq!(look(Err(unclear())), Ok("unclear".into()));
        assert_eq!(look(Err(Missing.into())), Err(Gap::Missing));
    }

    #[test]
    fn all_are_asked_before_a_gap_ends_the_round() {
        let asked = Cell::new(0);
        let questions = |answers: [Result<u32, Gap>; 3]| {
            asked.set(0);
            answers.into_iter().inspect(|_| asked.set(asked.get() + 1))
        };
        assert_eq!(ask_all(questions([Ok(1), Ok(2), Ok(3)])), Ok(vec![1, 2, 3]));
        assert_eq!(ask_all(questions([Err(Gap::Missing), Err(unclear()), Ok(3)])), Err(Gap::Missing));
        assert_eq!(asked.get(), 3);
        assert_eq!(ask_all(questions([Err(unclear()), Err(Gap::Missing), Ok(3)])), Err(unclear()));
        assert_eq!(asked.get(), 3);
        assert_eq!(ask_each(questions([Err(unclear()), Err(Gap::Missing), Ok(3)])), Err(Missing));
        assert_eq!(asked.get(), 3);
        let each = ask_each(questions([Err(unclear()), Ok(2), Ok(3)]));
        assert_eq!(each, Ok(vec![Err(Unknown::because("unclear")), Ok(2), Ok(3)]));
    }

    #[test]
    fn only_a_size_has_the_bound_of_a_size() {
        let beyond = Unknown::Beyond { bound: Bytes::kib(64), reason: "nothing misses".into() };
        let size = beyond.clone().size();
        assert_eq!((size.low, size.unit.as_deref()), (Some(65536.0), Some("B")));
        assert_eq!(size.reason.as_deref(), Some("more than 64 KiB: nothing misses"));
        let ways: Finding<u64> = Gap::from(beyond).finding();
        assert_eq!((ways.low, ways.unit), (None, None));
        assert_eq!(
            ways.reason.as_deref(),
            Some("the size is needed, but it is only known to be more than 64 KiB: nothing misses")
        );
    }

    #[test]
    fn a_failure_of_an_experiment_stays_one() {
        assert!(Gap::from(Failure::failed("broken")).size().failed);
        assert!(!Gap::from(Failure::unsupported("no such path")).finding::<u64>().failed);
        assert_eq!(Gap::Missing.finding::<u64>().reason.as_deref(), Some("not measured"));
    }
}
