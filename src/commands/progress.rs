//! How far a run is, on standard error if that is a terminal: one line that fits.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gpu_strata::Progress;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

/// Steps of the bar.
const STEPS: u64 = 1000;
/// The line. All but the message take at most 33 columns; the message gets what is left of the terminal.
const LINE: &str = "{bar:10} {elapsed}{left}{wide_msg}";
/// How often the line is drawn.
const TICK: Duration = Duration::from_millis(100);
/// Share of a run before which nobody can say how long it takes.
const LEAST_SHARE: f64 = 0.05;
/// Time before which nobody waits.
const LEAST_ELAPSED: Duration = Duration::from_secs(2);

/// The line, and the time that the run is expected to take.
pub struct Bar {
    line: ProgressBar,
    /// In milliseconds; 0 where it is unknown.
    expected: Arc<AtomicU64>,
}

impl Bar {
    /// Nothing is drawn if it is to be quiet, or if standard error is no terminal.
    pub fn new(quiet: bool) -> Self {
        let expected = Arc::new(AtomicU64::new(0));
        if quiet {
            return Bar { line: ProgressBar::hidden(), expected };
        }
        let line = ProgressBar::new(STEPS);
        let of_style = Arc::clone(&expected);
        let time_left = move |state: &ProgressState, out: &mut dyn Write| {
            let expected = Duration::from_millis(of_style.load(Ordering::Relaxed));
            // Writing to a string cannot fail.
            let _ = out.write_str(&left(state.elapsed(), expected));
        };
        let style = ProgressStyle::with_template(LINE).unwrap_or_else(|_| ProgressStyle::default_bar());
        line.set_style(style.with_key("left", time_left));
        line.enable_steady_tick(TICK);
        Bar { line, expected }
    }

    /// Shows where the run is.
    pub fn show(&self, progress: &Progress) {
        let expected = expected(self.line.elapsed(), progress.share);
        self.expected.store(expected.map_or(0, |time| time.as_millis() as u64), Ordering::Relaxed);
        self.line.set_position((progress.share * STEPS as f64) as u64);
        self.line.set_message(format!(", {}: {} experiments", progress.title, progress.batch));
    }

    /// Removes the line.
    pub fn clear(&self) {
        self.line.finish_and_clear();
    }
}

/// How long a run takes of which this share has passed.
fn expected(elapsed: Duration, share: f64) -> Option<Duration> {
    if elapsed < LEAST_ELAPSED || share < LEAST_SHARE {
        return None;
    }
    Duration::try_from_secs_f64(elapsed.as_secs_f64() / share).ok()
}

/// What is left, if that is at least a second: an estimate that has run out says nothing.
fn left(elapsed: Duration, expected: Duration) -> String {
    match expected.saturating_sub(elapsed).as_secs() {
        0 => String::new(),
        seconds if seconds < 100 => format!(", about {seconds} s left"),
        seconds => format!(", about {} min left", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_told_that_nothing_is_left() {
        let seconds = Duration::from_secs_f64;
        assert_eq!(expected(seconds(1.9), 0.5), None);
        assert_eq!(expected(seconds(10.0), 0.04), None);
        assert_eq!(expected(seconds(4.0), 0.5), Some(seconds(8.0)));
        assert_eq!(left(seconds(4.0), seconds(8.0)), ", about 4 s left");
        assert_eq!(left(seconds(4.0), seconds(400.0)), ", about 7 min left");
        for (elapsed, expected) in [(7.5, 8.0), (9.0, 8.0), (4.0, 0.0)] {
            assert_eq!(left(seconds(elapsed), seconds(expected)), "");
        }
    }
}
