//! Copies by the copy engines: a stream for each of those that are under way at the same time.

use std::ptr;

use super::calls::{Calls, Context, Event, Stream};
use super::marks;
use super::memory::Allocations;
use super::peer::Peer;
use strata_gpu::{Copy, Error, Result};

/// `CU_STREAM_NON_BLOCKING`: it does not wait for the default stream.
pub(super) const NON_BLOCKING: u32 = 1;

/// The streams and events of copies, made when they are first needed.
#[derive(Default)]
pub(super) struct Engines {
    streams: Vec<Stream>,
    events: Vec<Event>,
}

impl Engines {
    /// Makes the copies and waits: microseconds from the first one's begin to the last one's end. The context must be current. Of copies
    /// between two GPUs the engines of this one make the first, and those of the other one the second.
    pub fn transfer(
        &mut self,
        calls: &Calls,
        (own, peer): (Context, Option<&mut Peer>),
        known: &Allocations,
        copies: &[Copy],
    ) -> Result<f64> {
        // Before anything is queued, so that a copy that cannot be leaves nothing under way.
        let copies: Vec<Queued> = copies.iter().map(|copy| Queued::of(copy, known)).collect::<Result<_>>()?;
        // The begin, and the end of each.
        self.make(calls, copies.len(), copies.len() + 1)?;
        let mut streams = self.streams[..copies.len()].to_vec();
        let mut done = self.events[2..].to_vec();
        let theirs = peer.filter(|_| copies.len() == 2 && matches!(copies[1], Queued::Within { .. }));
        let engine = theirs.map(|peer| Ok((peer.context(), peer.engine(calls)?))).transpose()?;
        if let Some((_, (stream, event))) = engine {
            (streams[1], done[0]) = (stream, event);
            // SAFETY: the context is retained by its owner.
            unsafe { calls.ctx_set_current(own) }?;
        }
        let Some((&first, others)) = streams.split_first() else { return Ok(0.0) };
        let (begin, end) = (self.events[0], self.events[1]);
        // SAFETY: no arguments.
        unsafe { calls.ctx_synchronize() }?;
        // SAFETY: a live event and a live stream.
        unsafe { calls.event_record(begin, first) }?;
        for &other in others {
            // SAFETY: as above.
            unsafe { calls.stream_wait_event(other, begin, 0) }?;
        }
        for (number, (copy, &stream)) in copies.iter().zip(&streams).enumerate() {
            match engine {
                Some((context, _)) if number == 1 => {
                    // SAFETY: the context is retained by its owner.
                    unsafe { calls.ctx_set_current(context) }?;
                    let queued = copy.queue(calls, stream);
                    // SAFETY: as above.
                    unsafe { calls.ctx_set_current(own) }?;
                    queued?;
                }
                _ => copy.queue(calls, stream)?,
            }
        }
        for (&other, &done) in others.iter().zip(&done) {
            // SAFETY: live events and streams.
            unsafe { calls.event_record(done, other) }?;
            // SAFETY: as above.
            unsafe { calls.stream_wait_event(first, done, 0) }?;
        }
        // SAFETY: as above.
        unsafe { calls.event_record(end, first) }?;
        // SAFETY: as above.
        unsafe { calls.event_synchronize(end) }?;
        marks::between(calls, begin, end)
    }

    fn make(&mut self, calls: &Calls, streams: usize, events: usize) -> Result<()> {
        while self.streams.len() < streams {
            let mut stream = ptr::null_mut();
            // SAFETY: `stream` is valid for the write.
            unsafe { calls.stream_create(&mut stream, NON_BLOCKING) }?;
            self.streams.push(stream);
        }
        while self.events.len() < events {
            self.events.push(marks::new(calls)?);
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

/// A copy by the addresses that the driver asks for.
enum Queued {
    ToDevice { to: u64, from: *const u8, bytes: usize },
    ToHost { to: *mut u8, from: u64, bytes: usize },
    Within { to: u64, from: u64, bytes: usize },
}

impl Queued {
    fn of(copy: &Copy, known: &Allocations) -> Result<Self> {
        let (to, from, bytes) = (copy.to.0, copy.from.0, copy.bytes.0 as usize);
        match (known.host(from, bytes), known.host(to, bytes)) {
            (Some(from), None) => Ok(Queued::ToDevice { to, from, bytes }),
            (None, Some(to)) => Ok(Queued::ToHost { to, from, bytes }),
            // A range may begin in pinned memory and leave it.
            (None, None) if [to, from].iter().any(|&address| known.host(address, 1).is_some()) => {
                Err(Error::Unsupported { reason: "a copy goes beyond the end of pinned host memory".into() })
            }
            (None, None) => Ok(Queued::Within { to, from, bytes }),
            (Some(_), Some(_)) => {
                Err(Error::Unsupported { reason: "copy engines do not copy from host memory to host memory".into() })
            }
        }
    }

    /// Queues it. The pinned memory must not be freed before it is done.
    fn queue(&self, calls: &Calls, stream: Stream) -> Result<()> {
        match *self {
            // SAFETY: the range is pinned memory that lives until everything queued is done; the driver checks that the other
            // range is memory of this context.
            Queued::ToDevice { to, from, bytes } => unsafe { calls.memcpy_htod_async(to, from.cast(), bytes, stream) },
            // SAFETY: as above.
            Queued::ToHost { to, from, bytes } => unsafe { calls.memcpy_dtoh_async(to.cast(), from, bytes, stream) },
            // SAFETY: the driver checks that both ranges are memory of this context, or of one that it has access to.
            Queued::Within { to, from, bytes } => unsafe { calls.memcpy_dtod_async(to, from, bytes, stream) },
        }
    }
}
