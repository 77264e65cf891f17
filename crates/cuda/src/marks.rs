//! Device time between two moments, by the driver's events.

use std::ptr;

use super::calls::{Calls, Event};
use strata_gpu::Result;

/// The event of the last mark.
#[derive(Default)]
pub(super) struct Marks(Option<Event>);

impl Marks {
    /// Waits for everything queued and gives the microseconds since the last mark, 0 for the first. A context must be current.
    pub fn mark(&mut self, calls: &Calls) -> Result<f64> {
        let event = new(calls)?;
        let elapsed = elapsed(calls, self.0, event);
        // On failure the new event is of no use; otherwise the old one has been.
        let done = if elapsed.is_ok() { self.0.replace(event) } else { Some(event) };
        if let Some(done) = done {
            // SAFETY: a live event that is forgotten with this, and takes no part in anything still queued.
            let _ = unsafe { calls.event_destroy(done) };
        }
        elapsed
    }

    /// Destroys the event, whether or not that succeeds.
    pub fn destroy(&mut self, calls: &Calls) {
        if let Some(event) = self.0.take() {
            // SAFETY: a live event, forgotten with this.
            let _ = unsafe { calls.event_destroy(event) };
        }
    }
}

/// Records `event`, waits for it and gives the microseconds since the one before.
fn elapsed(calls: &Calls, before: Option<Event>, event: Event) -> Result<f64> {
    // SAFETY: a live event, on the default stream.
    unsafe { calls.event_record(event, ptr::null_mut()) }?;
    // SAFETY: a live event.
    unsafe { calls.event_synchronize(event) }?;
    before.map_or(Ok(0.0), |before| between(calls, before, event))
}

/// A new event. A context must be current.
pub(super) fn new(calls: &Calls) -> Result<Event> {
    let mut event = ptr::null_mut();
    // SAFETY: `event` is valid for the write.
    unsafe { calls.event_create(&mut event, 0) }?;
    Ok(event)
}

/// Microseconds between two live events that are recorded and done.
pub(super) fn between(calls: &Calls, from: Event, to: Event) -> Result<f64> {
    let mut milliseconds = 0.0;
    // SAFETY: both events are live and recorded; `milliseconds` is valid for the write.
    unsafe { calls.event_elapsed_time(&mut milliseconds, from, to) }?;
    Ok(f64::from(milliseconds) * 1e3)
}
