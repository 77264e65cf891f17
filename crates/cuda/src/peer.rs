//! The GPU at the other end of a link: its context, its memory, and what the driver says of the way there.

use std::collections::HashSet;
use std::ffi::c_int;
use std::ptr;

use super::attributes::Attribute;
use super::calls::{Calls, Context, Device, Event, Stream};
use super::device;
use super::error;
use super::library::Driver;
use super::marks;
use super::transfer::NON_BLOCKING;
use strata_gpu::{DevicePtr, Error, Listed, Result};
use strata_model::facts::PeerFacts;
use strata_model::units::Bytes;

/// `CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK` and `CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED`.
const PERFORMANCE_RANK: c_int = 1;
const NATIVE_ATOMICS: c_int = 3;

/// The other GPU, whose memory this one has access to.
pub(super) struct Peer {
    device: Device,
    context: Context,
    /// What has been allocated there and not freed.
    memory: HashSet<u64>,
    /// Accesses that this object has enabled, and not another of the process: the context that has it, and whose memory it is for.
    enabled: Vec<[Context; 2]>,
    /// Where a copy engine of the other GPU is given work, and what says that it is done.
    engine: Option<(Stream, Event)>,
}

impl Peer {
    /// Gives `own` access to the memory of a device, and what is known of that. `from` is the driver's handle of the device of `own`.
    pub fn open(driver: &Driver, (from, own): (Device, Context), listed: &Listed) -> Result<(Self, PeerFacts)> {
        let to = device::handle(driver, listed.ordinal)?;
        let mut possible = 0;
        // SAFETY: `possible` is valid for the write.
        unsafe { driver.device_can_access_peer(&mut possible, from, to) }?;
        if possible == 0 {
            return Err(Error::Unsupported {
                reason: format!(
                    "the driver gives no access to the memory of cuda:{}, {}; GPUs that are not linked, and instances of a divided \
                     GPU, have none",
                    listed.ordinal, listed.name
                ),
            });
        }
        let mut context = ptr::null_mut();
        // SAFETY: `context` is valid for the write; the retained context is released in `release`.
        unsafe { driver.device_primary_ctx_retain(&mut context, to) }?;
        let mut peer = Peer { device: to, context, memory: HashSet::new(), enabled: Vec::new(), engine: None };
        match peer.connect(driver, own).and_then(|()| peer.facts(driver, from, listed)) {
            Ok(facts) => Ok((peer, facts)),
            Err(failed) => {
                peer.release(driver);
                Err(failed)
            }
        }
    }

    /// Its context.
    pub fn context(&self) -> Context {
        self.context
    }

    /// Gives each of the two access to the memory of the other.
    fn connect(&mut self, driver: &Driver, own: Context) -> Result<()> {
        for ways in [[own, self.context], [self.context, own]] {
            let [from, to] = ways;
            // SAFETY: `own` is retained by its owner, and the other context until `release`.
            unsafe { driver.ctx_set_current(from) }?;
            // SAFETY: as above.
            match unsafe { driver.ctx_enable_peer_access(to, 0) } {
                Ok(()) => self.enabled.push(ways),
                Err(failed) if error::code(&failed) == Some(error::PEER_ACCESS_ALREADY_ENABLED) => {}
                Err(failed) => return Err(failed),
            }
        }
        Ok(())
    }

    /// A stream of the other GPU, and an event to record there. Its context is current afterwards.
    pub fn engine(&mut self, calls: &Calls) -> Result<(Stream, Event)> {
        // SAFETY: the context is retained until `release`.
        unsafe { calls.ctx_set_current(self.context) }?;
        if let Some(engine) = self.engine {
            return Ok(engine);
        }
        let mut stream = ptr::null_mut();
        // SAFETY: `stream` is valid for the write.
        unsafe { calls.stream_create(&mut stream, NON_BLOCKING) }?;
        let event = match marks::new(calls) {
            Ok(event) => event,
            Err(failed) => {
                // SAFETY: made above, and given to no one.
                let _ = unsafe { calls.stream_destroy(stream) };
                return Err(failed);
            }
        };
        Ok(*self.engine.insert((stream, event)))
    }

    fn facts(&self, driver: &Driver, from: Device, listed: &Listed) -> Result<PeerFacts> {
        let told = |attribute| {
            let mut value = 0;
            // SAFETY: `value` is valid for the write; a number that the driver does not know is an error value.
            unsafe { driver.device_get_p2p_attribute(&mut value, attribute, from, self.device) }.ok()?;
            u32::try_from(value).ok()
        };
        let (mut free, mut total) = (0, 0);
        // SAFETY: the context is retained until `release`.
        unsafe { driver.ctx_set_current(self.context) }?;
        // SAFETY: both are valid for the writes.
        unsafe { driver.mem_get_info(&mut free, &mut total) }?;
        Ok(PeerFacts {
            name: listed.name.clone(),
            uuid: listed.uuid.clone(),
            pci: listed.pci.clone(),
            l2_size: u64::from(device::number(driver, self.device, Attribute::L2_CACHE_SIZE)?),
            free_memory: free as u64,
            native_atomics: told(NATIVE_ATOMICS).map(|native| native != 0),
            performance_rank: told(PERFORMANCE_RANK),
            ..PeerFacts::default()
        })
    }

    /// Allocates memory of the other GPU. Its context is current afterwards.
    pub fn allocate(&mut self, calls: &Calls, bytes: Bytes) -> Result<DevicePtr> {
        let mut address = 0;
        // SAFETY: the context is retained until `release`.
        unsafe { calls.ctx_set_current(self.context) }?;
        // SAFETY: `address` is valid for the write.
        let allocated = unsafe { calls.mem_alloc(&mut address, bytes.0 as usize) };
        let failed = match allocated {
            Ok(()) => {
                self.memory.insert(address);
                return Ok(DevicePtr(address));
            }
            Err(failed) => failed,
        };
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are valid for the writes.
        let told = unsafe { calls.mem_get_info(&mut free, &mut total) };
        match (error::code(&failed), told) {
            (Some(error::OUT_OF_MEMORY), Ok(())) => {
                Err(Error::OutOfMemory { needed: bytes, free: Bytes(free as u64), total: Bytes(total as u64) })
            }
            _ => Err(failed),
        }
    }

    /// Gives memory back, if it is of the other GPU; whether it is. Then its context is current afterwards.
    pub fn free(&mut self, calls: &Calls, memory: DevicePtr) -> Result<bool> {
        if !self.memory.remove(&memory.0) {
            return Ok(false);
        }
        // SAFETY: the context is retained until `release`.
        unsafe { calls.ctx_set_current(self.context) }?;
        // SAFETY: allocated in this context, and forgotten, so it is freed once.
        unsafe { calls.mem_free(memory.0) }.map(|()| true)
    }

    /// Gives everything back, whether or not that succeeds. Nothing of it may be used afterwards.
    pub fn release(&mut self, driver: &Driver) {
        let left: Vec<u64> = self.memory.iter().copied().collect();
        for address in left {
            let _ = self.free(driver, DevicePtr(address));
        }
        if let Some((stream, event)) = self.engine.take() {
            // SAFETY: a live stream, forgotten with this; nothing is queued on it.
            let _ = unsafe { driver.stream_destroy(stream) };
            // SAFETY: a live event, forgotten with this.
            let _ = unsafe { driver.event_destroy(event) };
        }
        for [from, to] in self.enabled.drain(..) {
            // SAFETY: both contexts are still retained.
            if unsafe { driver.ctx_set_current(from) }.is_ok() {
                // SAFETY: enabled by `connect`.
                let _ = unsafe { driver.ctx_disable_peer_access(to) };
            }
        }
        // SAFETY: retained once in `open`, released once here.
        let _ = unsafe { driver.device_primary_ctx_release(self.device) };
    }
}
