//! How old a result may be.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

/// How far in the future a result may have started: clocks of two machines differ.
const CLOCKS_DIFFER: Duration = Duration::from_secs(5 * 60);

/// The longest time since the start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxAge(Duration);

impl MaxAge {
    /// Checks a result that started then (RFC 3339, UTC), if it is `now`. `name` is the result's, for errors.
    ///
    /// # Errors
    ///
    /// If it is older, if it is more than five minutes in the future, or if nobody can say.
    pub fn check(&self, name: &str, started: Option<&str>, now: SystemTime) -> Result<(), String> {
        let Some(started) = started.filter(|started| !started.is_empty()) else {
            return Err(format!("`{name}` does not say when it was measured, so --max-age cannot accept it"));
        };
        let Ok(begin) = humantime::parse_rfc3339(started) else {
            let started: String = started.chars().take(40).collect();
            return Err(format!(
                "`{name}` says that it was measured at `{started}`, which is no date (such as 2026-11-21T20:24:15Z), so \
                 --max-age cannot accept it"
            ));
        };
        match now.duration_since(begin) {
            Ok(age) if age > self.0 => Err(format!(
                "`{name}` is from {started}, {} ago, and --max-age allows {self}; measure again",
                rounded(age)
            )),
            Ok(_) => Ok(()),
            Err(early) if early.duration() > CLOCKS_DIFFER => Err(format!(
                "`{name}` is from {started}, {} in the future; set the clocks of both machines and measure again",
                rounded(early.duration())
            )),
            Err(_) => Ok(()),
        }
    }
}

/// A duration in its two largest units.
fn rounded(duration: Duration) -> String {
    let whole = humantime::format_duration(Duration::from_secs(duration.as_secs())).to_string();
    whole.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

impl FromStr for MaxAge {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let duration = humantime::parse_duration(text.trim()).ok().filter(|duration| !duration.is_zero());
        duration.map(MaxAge).ok_or_else(|| format!("`{text}` is not a duration: give one such as 30m, 1h or 7d"))
    }
}

impl fmt::Display for MaxAge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTED: &str = "2026-11-21T20:00:00Z";

    fn at(seconds: i64, limit: &str, started: Option<&str>) -> Result<(), String> {
        let begin = humantime::parse_rfc3339(STARTED).unwrap();
        let away = Duration::from_secs(seconds.unsigned_abs());
        let now = if seconds < 0 { begin - away } else { begin + away };
        limit.parse::<MaxAge>().unwrap().check("r.json", started, now)
    }

    #[test]
    fn a_result_is_accepted_up_to_its_age_and_a_little_before_its_time() {
        for (seconds, limit) in [(0, "1s"), (3600, "1h"), (-300, "1h"), (7 * 86400, "7d"), (1800, "30m")] {
            assert_eq!(at(seconds, limit, Some(STARTED)), Ok(()), "{seconds} {limit}");
        }
        let old = at(90_061, "1h", Some(STARTED)).unwrap_err();
        assert_eq!(old, "`r.json` is from 2026-11-21T20:00:00Z, 1day 1h ago, and --max-age allows 1h; measure again");
        assert!(at(-301, "1h", Some(STARTED)).unwrap_err().contains("5m 1s in the future"));
        assert!(at(0, "1h", None).unwrap_err().contains("does not say when"));
        assert!(at(0, "1h", Some("")).unwrap_err().contains("does not say when"));
        assert!(at(0, "1h", Some("yesterday")).unwrap_err().contains("`yesterday`, which is no date"));
    }

    #[test]
    fn what_is_no_duration_is_refused_with_an_example() {
        for text in ["", "0s", "-1h", "1", "soon", "99999999999999999999d"] {
            assert!(text.parse::<MaxAge>().unwrap_err().contains("such as 30m, 1h or 7d"), "{text}");
        }
    }
}
