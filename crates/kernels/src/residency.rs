//! What the kernel of residency is given, and what it writes: 32-bit words. And what its accesses are made of.

use strata_model::experiment::Access;

/// Bit of a launch's phases: the lines are accessed.
pub const ACCESSES: u32 = 1;
/// Bit of a launch's phases: the loads of the lines are timed.
pub const TIMES: u32 = 2;
/// Words before the times: 1 where the walk did not end where it began, the SM, and 1 once it has ended.
pub const HEAD: usize = 3;
/// Which of them says that the walk went astray.
pub const ASTRAY: usize = 0;
/// Which of them is the `%smid`.
pub const ON_SM: usize = 1;
/// Which of them says that it has ended.
pub const ENDED: usize = 2;
/// A number that no sum of addresses is: they are multiples of eight.
pub const NEVER: u64 = 77;

/// The instructions of an access: modifiers of a load and of a store, if it has one, whether an atomic comes last, and the policy of the
/// last of them. After a store, the line may be discarded.
pub(crate) struct Instructions {
    pub load: Option<&'static str>,
    pub store: Option<&'static str>,
    pub atomic: bool,
    pub policy: Option<&'static str>,
    pub discard: bool,
}

/// The instructions of an access.
pub(crate) fn instructions(access: Access) -> Instructions {
    /// Of an instruction with a policy.
    const HINTED: &str = ".L2::cache_hint";
    let none = Instructions { load: None, store: None, atomic: false, policy: None, discard: false };
    let load = |how| Instructions { load: Some(how), ..none };
    let store = |how| Instructions { store: Some(how), ..none };
    match access {
        Access::Nothing => none,
        Access::Ca => load(".ca"),
        Access::Cg | Access::WindowStreaming | Access::WindowPersisting => load(".cg"),
        Access::Cs => load(".cs"),
        Access::Lu => load(".lu"),
        Access::Cv => load(".cv"),
        Access::L1EvictFirst => load(".L1::evict_first"),
        Access::L1EvictUnchanged => load(".L1::evict_unchanged"),
        Access::L1EvictLast => load(".L1::evict_last"),
        Access::L1NoAllocate => load(".L1::no_allocate"),
        Access::L2EvictFirst => Instructions { policy: Some("evict_first"), ..load(HINTED) },
        Access::L2EvictUnchanged => Instructions { policy: Some("evict_unchanged"), ..load(HINTED) },
        Access::L2EvictLast => Instructions { policy: Some("evict_last"), ..load(HINTED) },
        Access::Store => store(""),
        Access::StoreCs => store(".cs"),
        Access::StoreL1NoAllocate => store(".L1::no_allocate"),
        Access::StoreL2EvictFirst => Instructions { policy: Some("evict_first"), ..store(HINTED) },
        Access::StoreL2EvictLast => Instructions { policy: Some("evict_last"), ..store(HINTED) },
        Access::StoreHeld => Instructions { load: Some(".ca"), ..store("") },
        Access::L2Fetch64 => load(".L2::64B"),
        Access::L2Fetch128 => load(".L2::128B"),
        Access::L2Fetch256 => load(".L2::256B"),
        Access::Discard => Instructions { discard: true, ..store("") },
        Access::AtomicHeld => Instructions { atomic: true, ..load(".ca") },
    }
}
