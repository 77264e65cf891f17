//! What goes wrong, as the environment says.

use std::sync::OnceLock;

/// A value of `FAKE_CUDA_FAULT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `none`, or unset: all is well.
    None,
    /// `no-device`: `cuInit` finds none.
    NoDevice,
    /// `init-fails`: `cuInit` fails without saying why.
    InitFails,
    /// `old-driver`: the interface is that of CUDA 8.0.
    OldDriver,
    /// `kepler`: a Tesla K20c with the last driver that knows it, branch 470 of CUDA 11.4.
    Kepler,
    /// `unknown-code`: `cuMemAlloc` gives a result without a name.
    UnknownCode,
    /// `out-of-memory`: `cuMemAlloc` finds none.
    OutOfMemory,
    /// `memory-taken`: another process takes nearly all memory once `cuMemGetInfo` has told how much is free.
    MemoryTaken,
    /// `launch-fails`: `cuLaunchKernel` refuses, which harms nothing else.
    LaunchFails,
    /// `async-fault`: a kernel is launched well, and everything after it fails.
    Asynchronous,
    /// `compile-error`: `cuLinkAddData` rejects every text, in words.
    CompileError,
    /// `no-compiler`: the driver's compiler library is missing.
    NoCompiler,
    /// `no-linker`: the driver compiles but does not link.
    NoLinker,
    /// `no-carveout`: the device takes no preferred carveout.
    NoCarveout,
    /// `no-bank-choice`: the device refuses to choose banks.
    NoBankChoice,
    /// `no-cooperation`: the device says that it launches no blocks together.
    NoCooperation,
    /// `cooperation-refused`: the device does not say so, and `cuLaunchCooperativeKernel` refuses.
    CooperationRefused,
    /// `no-clusters`: the device says that it launches no clusters.
    NoClusters,
    /// `cluster-refused`: the device says that it does, and `cuLaunchKernelEx` refuses.
    ClusterRefused,
    /// `slow-attributes`: each request for an attribute of a function takes as long as a launch, so that they can be counted.
    SlowAttributes,
    /// `copy-fails`: `cuMemcpy3D` fails.
    CopyFails,
    /// `texture-fails`: `cuTexObjectCreate` fails.
    TextureFails,
    /// `unload-fails`: `cuModuleUnload` unloads, and gives the result of an earlier launch.
    UnloadFails,
    /// `no-peers`: no device has access to the memory of the other.
    NoPeers,
    /// `mig`: the first device is an instance of a divided GPU.
    Mig,
}

/// The fault of this process. An unknown name ends it: a test that is spelled wrong shall not pass.
pub fn fault() -> Fault {
    static FAULT: OnceLock<Fault> = OnceLock::new();
    *FAULT.get_or_init(|| match std::env::var("FAKE_CUDA_FAULT").as_deref().unwrap_or("none") {
        "none" => Fault::None,
        "no-device" => Fault::NoDevice,
        "init-fails" => Fault::InitFails,
        "old-driver" => Fault::OldDriver,
        "kepler" => Fault::Kepler,
        "unknown-code" => Fault::UnknownCode,
        "out-of-memory" => Fault::OutOfMemory,
        "memory-taken" => Fault::MemoryTaken,
        "launch-fails" => Fault::LaunchFails,
        "async-fault" => Fault::Asynchronous,
        "compile-error" => Fault::CompileError,
        "no-compiler" => Fault::NoCompiler,
        "no-linker" => Fault::NoLinker,
        "no-carveout" => Fault::NoCarveout,
        "no-bank-choice" => Fault::NoBankChoice,
        "no-cooperation" => Fault::NoCooperation,
        "cooperation-refused" => Fault::CooperationRefused,
        "no-clusters" => Fault::NoClusters,
        "cluster-refused" => Fault::ClusterRefused,
        "slow-attributes" => Fault::SlowAttributes,
        "copy-fails" => Fault::CopyFails,
        "texture-fails" => Fault::TextureFails,
        "unload-fails" => Fault::UnloadFails,
        "no-peers" => Fault::NoPeers,
        "mig" => Fault::Mig,
        other => {
            eprintln!("fake-cuda: there is no fault `{other}`");
            std::process::abort()
        }
    })
}
