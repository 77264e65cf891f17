//! Copies by the copy engines: a stream for each of those that are under way at the same time.

use std::ptr;

use super::calls::{Calls, Event, Stream};
use super::memory::Allocations;
use strata_gpu::{Copy, Error, Result};

/// `CU_STREAM_NON_BLOCKING`: it does not wait for the default stream.
const NON_BLOCKING: u32 = 1;

/// The streams and events of copies, made when they are first needed.
#[derive(Default)]
pub(super) struct Engines {
    streams: Vec<Stream>,
    events: Vec<Event>,
}

impl Engines {
    /// Makes the copies and waits: microseconds from the first one's begin to the last one's end. A context must be current.
    pub fn transfer(&mut self, calls: &Calls, known: &Allocations, copies: &[Copy]) -> Result<f64> {
        // The begin, the end, and the end of each of the others.
        self.make(calls, copies.len(), copies.len() + 1)?;
        let (begin, end) = (self.events[0], self.events[1]);
        // SAFETY: no arguments.
        unsafe { calls.ctx_synchronize() }?;
        let Some(&first) = self.streams.first() else { return Ok(0.0) };
        // SAFETY: a live event and a live stream.
        unsafe { calls.event_record(begin, first) }?;
        for (&stream, &copy) in self.streams.iter().zip(copies) {
            // SAFETY: as above. The first stream has no need to wait for itself, and does not.
            unsafe { calls.stream_wait_event(stream, begin, 0) }?;
            queue(calls, known, copy, stream)?;
        }
        for (&stream, &done) in self.streams.iter().zip(&self.events[2..]).skip(1) {
            // SAFETY: live events and streams.
            unsafe { calls.event_record(done, stream) }?;
            // SAFETY: as above.
            unsafe { calls.stream_wait_event(first, done, 0) }?;
        }
        // SAFETY: as above.
        unsafe { calls.event_record(end, first) }?;
        // SAFETY: as above.
        unsafe { calls.event_synchronize(end) }?;
        let mut milliseconds = 0.0;
        // SAFETY: both are recorded and done; `milliseconds` is valid for the write.
        unsafe { calls.event_elapsed_time(&mut milliseconds, begin, end) }?;
        Ok(f64::from(milliseconds) * 1e3)
    }

    fn make(&mut self, calls: &Calls, streams: usize, events: usize) -> Result<()> {
        while self.streams.len() < streams {
            let mut stream = ptr::null_mut();
            // SAFETY: `stream` is valid for the write.
            unsafe { calls.stream_create(&mut stream, NON_BLOCKING) }?;
            self.streams.push(stream);
        }
        while self.events.len() <= events {
            let mut event = ptr::null_mut();
            // SAFETY: `event` is valid for the write.
            unsafe { calls.event_create(&mut event, 0) }?;
            self.events.push(event);
        }
        Ok(())
    }

    /// Destroys the streams and events, whether or not that succeeds.
    pub fn destroy(&mut self, calls: &Calls) {
        for stream in self.streams.drain(..) {
            // SAFETY: a live stream, forgotten with this; nothing is queued on it.
            let _ = unsafe { calls.stream_destroy(stream) };
        }
        for event in self.events.drain(..) {
            // SAFETY: a live event, forgotten with this.
            let _ = unsafe { calls.event_destroy(event) };
        }
    }
}

/// Queues one copy.
fn queue(calls: &Calls, known: &Allocations, copy: Copy, stream: Stream) -> Result<()> {
    let bytes = copy.bytes.0 as usize;
    match (known.host(copy.from.0, bytes), known.host(copy.to.0, bytes)) {
        // SAFETY: the range is pinned memory that lives until it is freed, before which everything queued is done; the driver
        // checks that the other range is memory of this context.
        (Some(host), None) => unsafe { calls.memcpy_htod_async(copy.to.0, host.cast(), bytes, stream) },
        // SAFETY: as above.
        (None, Some(host)) => unsafe { calls.memcpy_dtoh_async(host.cast(), copy.from.0, bytes, stream) },
        _ => Err(Error::Unsupported { reason: "copy engines copy between the device and pinned host memory".into() }),
    }
}
