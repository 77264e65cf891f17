//! What the driver backend makes of a driver that is absent, old, broken or at fault, and that every call of the seam works on
//! one that is well: against a stand-in for `libcuda.so.1` (`tests/fake-cuda`), so without a GPU.
//!
//! The stand-in is chosen, and told what to do wrong, by environment variables. They hold for a whole process, so each test of
//! the library runs its body in a child: this same test program, asked for that one test.

mod board;
mod busy;
mod kepler;
mod seam;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use strata_cuda::{Cuda, LIBRARY_VARIABLE, devices};
use strata_gpu::{Array, Copy, DevicePtr, Error, Function, Gpu, Launch, Mig, Module, Texture};
use strata_model::units::Bytes;

/// Set in a child, to the test that it is.
const CHILD: &str = "STRATA_TEST_CHILD";
/// Tells the stand-in what to do wrong.
const FAULT: &str = "FAKE_CUDA_FAULT";

/// Text that declares what the tests ask for.
const PTX: &str = "\
.version 6.0
.target sm_50
.address_size 64
.visible .const .align 256 .b8 bank[65536];
.visible .entry walk(.param .u64 from, .param .u64 to)
{
    ret;
}
";

/// The stand-in, built once for this program, under the driver's name.
fn library(feature: Option<&'static str>) -> PathBuf {
    static BUILT: [OnceLock<PathBuf>; 4] = [const { OnceLock::new() }; 4];
    let built = match feature {
        None => &BUILT[0],
        Some("missing-symbol") => &BUILT[1],
        Some("no-optional-calls") => &BUILT[2],
        Some(_) => &BUILT[3],
    };
    built
        .get_or_init(|| {
            let target =
                Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fake-cuda-{}", feature.unwrap_or("whole")));
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["build", "--quiet", "--offline", "--package", "fake-cuda", "--target-dir"]).arg(&target);
            cargo.args(feature.iter().flat_map(|feature| ["--features", feature]));
            let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo runs");
            assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
            // In one step, so that another run of this program never opens half a library.
            let (library, copy) = (target.join("libcuda.so.1"), target.join(format!("copy-{}", std::process::id())));
            fs::copy(target.join("debug").join("libfake_cuda.so"), &copy).expect("the library is built");
            fs::rename(&copy, &library).expect("the folder can be written");
            library
        })
        .clone()
}

/// The command, in an environment where `library` is the driver and shows `fault`.
fn with_driver(mut command: Command, library: &Path, fault: &str) -> Command {
    command.env(LIBRARY_VARIABLE, library).env(FAULT, fault).env_remove("CUDA_VISIBLE_DEVICES");
    command
}

/// Runs the body of the test `name` in a child that `prepare` gives its environment.
fn in_child(name: &str, prepare: impl FnOnce(Command) -> Command, body: impl FnOnce()) {
    if std::env::var(CHILD).is_ok_and(|child| child == name) {
        return body();
    }
    let mut child = Command::new(std::env::current_exe().expect("this program has a path"));
    child.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(CHILD, name);
    let done = prepare(child).output().expect("this program runs");
    let (stdout, stderr) = texts(&done);
    // A name that is spelled wrong would run nothing, and succeed.
    assert!(done.status.success() && stdout.contains("1 passed"), "{name}: {}\n{stdout}\n{stderr}", done.status);
}

/// Runs the body of the test `name` on the stand-in with `fault`.
fn faulty(name: &str, fault: &str, body: impl FnOnce()) {
    in_child(name, |child| with_driver(child, &library(None), fault), body);
}

fn texts(output: &Output) -> (String, String) {
    (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn failure<T>(result: Result<T, Error>) -> Error {
    match result {
        Ok(_) => panic!("nothing failed"),
        Err(error) => error,
    }
}

/// The error's text holds all of these words.
#[track_caller]
fn says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "no {word:?} in: {text}");
    }
}

fn open() -> Cuda {
    Cuda::open("auto").unwrap_or_else(|error| panic!("{error}"))
}

fn loaded(gpu: &mut Cuda) -> (Module, Function) {
    let module = gpu.load(PTX).expect("the text is well");
    let function = gpu.function(module, "walk").expect("it is declared");
    (module, function)
}

const ONE_BLOCK: Launch = Launch::new(1, 32);

#[test]
fn a_healthy_driver_does_all_that_the_seam_asks() {
    faulty("a_healthy_driver_does_all_that_the_seam_asks", "none", || {
        let mut gpu = open();
        let (free_before, total) = gpu.memory().unwrap();
        assert!(free_before.0 > 0 && free_before <= total);

        let memory = gpu.allocate(Bytes(4096)).unwrap();
        assert_eq!(memory.0 % 256, 0);
        assert_eq!(gpu.memory().unwrap().0, free_before - Bytes(4096));
        let pinned = gpu.allocate_pinned(Bytes(1000)).unwrap();
        for place in [memory, pinned] {
            gpu.write(place.offset(8), &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
            gpu.write(place, &[]).unwrap();
            gpu.clear(place.offset(12), Bytes(4)).unwrap();
            let mut back = [9; 8];
            gpu.read(place.offset(8), &mut back).unwrap();
            assert_eq!(back, [1, 2, 3, 4, 0, 0, 0, 0]);
        }
        // Neither kind can be read beyond its end.
        for (place, bytes) in [(memory, 4096), (pinned, 1000)] {
            says(
                &failure(gpu.read(place.offset(4), &mut vec![0; bytes])),
                &["cuMemcpyDtoH", "CUDA_ERROR_INVALID_VALUE (1)"],
            );
        }
        says(&failure(gpu.clear(memory, Bytes(6))), &["32-bit words"]);

        let (module, function) = loaded(&mut gpu);
        let code = gpu.machine_code(module).expect("the linker keeps it");
        assert!(code.starts_with(b"\x7fELF"));
        let (bank, bytes) = gpu.symbol(module, "bank").unwrap();
        assert_eq!(bytes, Bytes::kib(64));
        gpu.write(bank, &vec![7; 65536]).unwrap();
        says(&failure(gpu.function(module, "run")), &["CUDA_ERROR_NOT_FOUND (500)", "no entry point `run`"]);
        says(&failure(gpu.symbol(module, "other")), &["no variable `other`"]);
        says(&failure(gpu.function(Module(9), "walk")), &["not of this device"]);
        // A text that names a younger target is not given to the compiler.
        let error = failure(gpu.load(&PTX.replace("sm_50", "sm_100")));
        assert!(matches!(error, Error::Unsupported { .. }));
        says(&error, &["compute capability 10.0 or later", "has 9.0"]);

        gpu.configure(function, &ONE_BLOCK.carveout(0)).unwrap();
        for width in [Some(Bytes(4)), Some(Bytes(8)), None] {
            gpu.configure(function, &ONE_BLOCK.bank_width(width)).unwrap();
        }
        says(&failure(gpu.configure(function, &ONE_BLOCK.bank_width(Bytes(16)))), &["4 or 8 B"]);
        for large in [Bytes::kib(228), Bytes::mib(1 << 20)] {
            let error = failure(gpu.configure(function, &ONE_BLOCK.shared(large)));
            assert!(matches!(error, Error::Unsupported { .. }));
            says(&error, &[&large.to_string(), "at most 227 KiB"]);
        }

        assert_eq!(gpu.mark().unwrap(), 0.0);
        gpu.launch(function, &ONE_BLOCK.shared(Bytes::kib(64)), &[1, 2]).unwrap();
        gpu.launch(function, &ONE_BLOCK, &[1, 2]).unwrap();
        gpu.synchronize().unwrap();
        // The stand-in takes half a millisecond for each.
        assert_eq!(gpu.mark().unwrap(), 1000.0);
        assert_eq!(gpu.mark().unwrap(), 0.0);
        // The driver sees how many parameters there are.
        says(&failure(gpu.launch(function, &ONE_BLOCK, &[1])), &["cuLaunchKernel", "CUDA_ERROR_INVALID_VALUE"]);

        let texture = gpu.texture(memory, Bytes(4096), Bytes(4)).unwrap();
        gpu.destroy_texture(texture).unwrap();
        says(&failure(gpu.destroy_texture(texture)), &["not of this device"]);
        says(&failure(gpu.destroy_texture(Texture(0))), &["not of this device"]);
        says(&failure(gpu.texture(memory, Bytes::mib(2048), Bytes(4))), &["at most 268435456 texels"]);

        gpu.free(memory).unwrap();
        gpu.free(pinned).unwrap();
        says(&failure(gpu.free(memory)), &["cuMemFree"]);
        says(&failure(gpu.free(DevicePtr(64))), &["cuMemFree"]);
    });
}

#[test]
fn facts_are_the_drivers() {
    faulty("facts_are_the_drivers", "none", || {
        let mut gpu = open();
        let telemetry = gpu.telemetry();
        assert!(telemetry.note.is_some(), "NVML cannot know the stand-in: {telemetry:?}");
        let facts = gpu.facts();
        assert_eq!(facts.name, "NVIDIA H200");
        assert_eq!(facts.uuid.as_deref(), Some("GPU-11111111-1111-1111-1111-111111111111"));
        assert_eq!(facts.pci.as_deref(), Some("0000:5d:00.0"));
        assert_eq!((facts.compute_capability, facts.driver_api.as_str()), ((9, 0), "13.0"));
        assert_eq!((facts.multiprocessors, facts.cores_per_multiprocessor, facts.warp_size), (132, Some(128), 32));
        assert_eq!((facts.max_threads_per_block, facts.max_threads_per_multiprocessor), (1024, 2048));
        assert_eq!((facts.max_blocks_per_multiprocessor, facts.max_grid_blocks), (Some(32), i32::MAX as u32));
        assert_eq!((facts.registers_per_block, facts.registers_per_multiprocessor), (65_536, 65_536));
        assert_eq!((facts.shared_per_block, facts.shared_per_block_optin), (49_152, Some(232_448)));
        assert_eq!((facts.shared_per_multiprocessor, facts.shared_reserved_per_block), (233_472, Some(1024)));
        assert_eq!((facts.constant_memory, facts.l2_size), (65_536, 62_914_560));
        assert_eq!((facts.total_memory, facts.free_memory), (150_110_011_392, 150_110_011_392));
        assert_eq!((facts.global_l1_cache, facts.local_l1_cache), (Some(true), Some(true)));
        assert_eq!((facts.clock_khz, facts.memory_clock_khz, facts.memory_bus_bits), (1_980_000, 3_201_000, 6144));
        assert_eq!((facts.ecc, facts.integrated, facts.watchdog), (Some(true), false, false));
        assert_eq!((facts.virtual_memory, facts.max_linear_texture), (Some(true), Some(1 << 28)));
        assert_eq!(facts.mapping_granularity, Some(2 << 20));
    });
}

#[test]
fn devices_are_found_by_each_of_their_names() {
    faulty("devices_are_found_by_each_of_their_names", "none", || {
        let listed = devices().unwrap();
        assert_eq!(listed.iter().map(|d| d.ordinal).collect::<Vec<_>>(), [0, 1]);
        for name in ["cuda:1", "GPU-22222222-2222-2222-2222-222222222222", "gpu-2222", "0000:1b:00.0", "1B:00.0"] {
            assert_eq!(Cuda::open(name).unwrap().facts().pci, listed[1].pci, "{name}");
        }
        let error = failure(Cuda::open("cuda:2"));
        assert!(error.is_absence() && matches!(error, Error::NoDevice(_)));
        says(&error, &["`cuda:2`", "cuda:0  NVIDIA H200  GPU-11111111", "cuda:1", "0000:1b:00.0"]);
    });
}

#[test]
fn two_devices_can_be_used_in_turn() {
    faulty("two_devices_can_be_used_in_turn", "none", || {
        let (mut first, mut second) = (Cuda::open("cuda:0").unwrap(), Cuda::open("cuda:1").unwrap());
        let (_, function) = loaded(&mut first);
        second.synchronize().unwrap();
        first.launch(function, &ONE_BLOCK, &[1, 2]).unwrap();
        drop(second);
        first.synchronize().unwrap();
    });
}

#[test]
fn memory_of_another_device_is_reached_and_given_back() {
    faulty("memory_of_another_device_is_reached_and_given_back", "none", || {
        let mut gpu = Cuda::open_linked("cuda:0", "cuda:1").unwrap();
        let peer = gpu.facts().peer.clone().expect("it was opened with another one");
        assert_eq!(peer.uuid.as_deref(), Some("GPU-22222222-2222-2222-2222-222222222222"));
        assert_eq!((peer.l2_size, peer.free_memory), (62_914_560, 150_110_011_392));
        assert_eq!((peer.native_atomics, peer.performance_rank), (Some(true), Some(0)));
        // A second one of the process finds the access enabled, and leaves it so.
        drop(Cuda::open_linked("cuda:0", "cuda:1").unwrap());
        let [there, here] = [gpu.allocate_on_peer(Bytes::mib(1)).unwrap(), gpu.allocate(Bytes::mib(1)).unwrap()];
        gpu.write(there, &[1, 2, 3, 4]).unwrap();
        let copy = |to, from| Copy { to, from, bytes: Bytes::mib(1) };
        let fetched = gpu.transfer(&[copy(here, there)]).unwrap();
        let mut back = [0; 4];
        gpu.read(here, &mut back).unwrap();
        assert_eq!(back, [1, 2, 3, 4]);
        gpu.clear(there, Bytes(4)).unwrap();
        gpu.read(there, &mut back).unwrap();
        assert_eq!(back, [0; 4]);
        // Engines of both devices work at the same time.
        let other = gpu.allocate_on_peer(Bytes::mib(1)).unwrap();
        let both = gpu.transfer(&[copy(here, there), copy(other, here)]).unwrap();
        assert!(fetched > 0.0 && both < 1.5 * fetched, "{both} and {fetched}");
        gpu.free(there).unwrap();
        says(&failure(gpu.free(there)), &["cuMemFree"]);
        // What is left is given back with the device, or the stand-in ends this process.
    });
}

#[test]
fn a_device_without_access_to_another_says_so() {
    faulty("a_device_without_access_to_another_says_so", "no-peers", || {
        let error = failure(Cuda::open_linked("cuda:0", "cuda:1"));
        assert!(matches!(error, Error::Unsupported { .. }));
        says(&error, &["no access to the memory of cuda:1, NVIDIA H200"]);
        let mut alone = open();
        says(&failure(alone.allocate_on_peer(Bytes(4096))), &["opened without another one"]);
    });
}

#[test]
fn an_instance_of_a_divided_gpu_is_named_as_such() {
    faulty("an_instance_of_a_divided_gpu_is_named_as_such", "mig", || {
        let mut gpu = Cuda::open("MIG-3333").unwrap();
        assert_eq!(gpu.facts().uuid.as_deref(), Some("MIG-33333333-3333-3333-3333-333333333333"));
        assert_eq!(gpu.telemetry().mig, Mig::On);
        assert!(devices().unwrap()[1].uuid.as_deref().is_some_and(|uuid| uuid.starts_with("GPU-")));
    });
}

#[test]
fn no_driver_at_all() {
    // The loader takes the first file of the name that it finds, and stops there if that is no library.
    let folder = tempfile::tempdir().unwrap();
    for name in ["libcuda.so.1", "libcuda.so"] {
        fs::write(folder.path().join(name), "no library").unwrap();
    }
    let hidden = |mut child: Command| -> Command {
        child.env_remove(LIBRARY_VARIABLE).env("LD_LIBRARY_PATH", folder.path());
        child
    };
    in_child("no_driver_at_all", hidden, || {
        let error = failure(devices());
        assert!(error.is_absence());
        says(
            &error,
            &["libcuda.so.1", "not installed", "not visible", "container", "LIBRARY", "strata replay --example h200"],
        );
    });
}

#[test]
fn the_driver_is_found_without_being_named() {
    let found = |mut child: Command| -> Command {
        child.env_remove(LIBRARY_VARIABLE).env("LD_LIBRARY_PATH", library(None).parent().expect("it is in a folder"));
        child
    };
    in_child("the_driver_is_found_without_being_named", found, || {
        assert_eq!(devices().unwrap().len(), 2);
    });
}

#[test]
fn a_library_that_is_not_there() {
    let nowhere = |child| with_driver(child, Path::new("/nonexistent/libcuda.so.1"), "none");
    in_child("a_library_that_is_not_there", nowhere, || {
        let error = failure(Cuda::open("auto"));
        assert!(error.is_absence());
        says(&error, &["STRATA_CUDA_LIBRARY", "/nonexistent/libcuda.so.1: ", "No such file", "unset it"]);
    });
}

#[test]
fn a_library_that_is_no_driver() {
    let libc = |child| with_driver(child, Path::new("libc.so.6"), "none");
    in_child("a_library_that_is_no_driver", libc, || {
        let error = failure(Cuda::open("auto"));
        assert!(error.is_absence());
        says(&error, &["`libc.so.6` is no CUDA driver", "cuDriverGetVersion", "STRATA_CUDA_LIBRARY"]);
    });
}

#[test]
fn a_missing_symbol() {
    let partial = |child| with_driver(child, &library(Some("missing-symbol")), "none");
    in_child("a_missing_symbol", partial, || {
        let error = failure(Cuda::open("auto"));
        assert!(error.is_absence());
        says(&error, &["lacks cuLaunchKernel", "CUDA 13.0", "Reinstall"]);
    });
}

#[test]
fn no_device() {
    faulty("no_device", "no-device", || {
        for error in [failure(Cuda::open("auto")), failure(devices())] {
            assert!(matches!(error, Error::NoDevice(_)));
            says(&error, &["no CUDA device", "nvidia-smi", "--gpus all", "strata replay --example h200"]);
        }
    });
}

#[test]
fn devices_that_are_hidden() {
    let hidden = |child| {
        let mut child = with_driver(child, &library(None), "no-device");
        child.env("CUDA_VISIBLE_DEVICES", "7");
        child
    };
    in_child("devices_that_are_hidden", hidden, || says(&failure(devices()), &["CUDA_VISIBLE_DEVICES is `7`"]));
}

#[test]
fn a_driver_that_does_not_start() {
    faulty("a_driver_that_does_not_start", "init-fails", || {
        let error = failure(Cuda::open("auto"));
        assert!(error.is_absence());
        says(&error, &["does not start", "cuInit", "CUDA_ERROR_UNKNOWN (999)", "nvidia-modprobe"]);
    });
}

#[test]
fn an_old_driver() {
    faulty("an_old_driver", "old-driver", || {
        let error = failure(Cuda::open("auto"));
        assert!(error.is_absence());
        says(&error, &["too old", "CUDA 8.0", "9.0", "PTX ISA 6.0", "Update the driver"]);
    });
}

#[test]
fn a_result_that_the_driver_has_no_name_for() {
    faulty("a_result_that_the_driver_has_no_name_for", "unknown-code", || {
        let error = failure(open().allocate(Bytes(64)));
        says(&error, &["cuMemAlloc failed", "unknown result (12345)"]);
        assert!(!error.is_lost() && !error.is_absence());
    });
}

#[test]
fn out_of_memory() {
    faulty("out_of_memory", "out-of-memory", || {
        let mut gpu = open();
        let error = failure(gpu.allocate(Bytes(64)));
        says(&error, &["64 B of device memory were needed", "139.801 GiB of 139.801 GiB were free", "another GPU"]);
        assert!(!error.is_lost());
        gpu.synchronize().unwrap();
    });
}

#[test]
fn a_launch_that_is_refused() {
    faulty("a_launch_that_is_refused", "launch-fails", || {
        let mut gpu = open();
        let (_, function) = loaded(&mut gpu);
        let error = failure(gpu.launch(function, &ONE_BLOCK, &[1, 2]));
        says(&error, &["cuLaunchKernel failed", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"]);
        assert!(!error.is_lost());
        gpu.synchronize().unwrap();
    });
}

#[test]
fn a_kernel_that_goes_wrong_loses_the_context() {
    faulty("a_kernel_that_goes_wrong_loses_the_context", "async-fault", || {
        let mut gpu = open();
        let memory = gpu.allocate(Bytes(64)).unwrap();
        let pinned = gpu.allocate_pinned(Bytes(64)).unwrap();
        gpu.mark().unwrap();
        let (_, function) = loaded(&mut gpu);
        gpu.launch(function, &ONE_BLOCK, &[1, 2]).unwrap();
        let failures = [
            failure(gpu.synchronize()),
            failure(gpu.read(memory, &mut [0; 4])),
            failure(gpu.read(pinned, &mut [0; 4])),
            failure(gpu.write(pinned, &[0; 4])),
            failure(gpu.mark()),
            failure(gpu.allocate(Bytes(64))),
            failure(gpu.load(PTX)),
            failure(gpu.free(memory)),
        ];
        for error in failures {
            assert!(error.is_lost(), "{error}");
            says(&error, &["CUDA_ERROR_ILLEGAL_ADDRESS (700)", "context is lost"]);
        }
    });
}

#[test]
fn a_kernel_that_does_not_compile() {
    faulty("a_kernel_that_does_not_compile", "compile-error", || {
        let mut gpu = open();
        let error = failure(gpu.load(PTX));
        assert!(matches!(error, Error::Compile { code: 218, .. }), "{error:?}");
        says(&error, &["CUDA_ERROR_INVALID_PTX (218)", "line 7; error   : Unknown symbol 'missing'", "aborted"]);
        gpu.synchronize().unwrap();
    });
}

#[test]
fn text_that_is_no_kernel() {
    faulty("text_that_is_no_kernel", "none", || {
        assert!(matches!(failure(open().load("nonsense")), Error::Compile { code: 218, .. }));
        says(&failure(open().load(".version 6.0\0")), &["NUL"]);
    });
}

#[test]
fn a_driver_without_its_compiler() {
    faulty("a_driver_without_its_compiler", "no-compiler", || {
        says(&failure(open().load(PTX)), &["libnvidia-ptxjitcompiler.so.1", "NVIDIA_DRIVER_CAPABILITIES"]);
    });
}

#[test]
fn a_driver_that_does_not_link_still_loads() {
    faulty("a_driver_that_does_not_link_still_loads", "no-linker", || {
        let mut gpu = open();
        let (module, function) = loaded(&mut gpu);
        assert_eq!(gpu.machine_code(module), None);
        gpu.launch(function, &ONE_BLOCK, &[1, 2]).unwrap();
        let error = failure(gpu.load_again(module));
        assert!(matches!(error, Error::Unsupported { .. }));
        says(&error, &["keeps the machine code", "cannot be loaded again"]);
        gpu.unload(module).unwrap();
        let error = failure(gpu.load("nonsense"));
        says(&error, &["CUDA_ERROR_INVALID_PTX (218)", "Unknown symbol"]);
    });
}

#[test]
fn a_device_without_a_carveout() {
    faulty("a_device_without_a_carveout", "no-carveout", || {
        let mut gpu = open();
        let (_, function) = loaded(&mut gpu);
        let error = failure(gpu.configure(function, &ONE_BLOCK.carveout(50)));
        assert!(matches!(error, Error::Unsupported { .. }));
        says(&error, &["carveout of 50 %"]);
        // It is refused each time, and the extremes change nothing there.
        says(&failure(gpu.launch(function, &ONE_BLOCK.carveout(50), &[1, 2])), &["carveout of 50 %"]);
        gpu.launch(function, &ONE_BLOCK.carveout(100), &[1, 2]).unwrap();
    });
}

#[test]
fn a_driver_without_optional_calls() {
    let partial = |child| with_driver(child, &library(Some("no-optional-calls")), "none");
    in_child("a_driver_without_optional_calls", partial, || {
        let mut gpu = open();
        let (_, function) = loaded(&mut gpu);
        let error = failure(gpu.configure(function, &ONE_BLOCK.bank_width(Bytes(8))));
        assert!(matches!(error, Error::Unsupported { .. }));
        says(&error, &["this driver does not have cuFuncSetSharedMemConfig"]);
        assert_eq!(gpu.facts().mapping_granularity, None);
        for (error, call) in [
            (failure(gpu.resources(function)), "cuFuncGetAttribute"),
            (failure(gpu.launch(function, &ONE_BLOCK.cooperative(), &[1, 2])), "cuLaunchCooperativeKernel"),
            (failure(gpu.launch(function, &ONE_BLOCK.cluster(1), &[1, 2])), "cuLaunchKernelEx"),
            (failure(gpu.set_aside_l2(false)), "cuCtxResetPersistingL2Cache"),
            (failure(gpu.array(&Array::flat(2, 2, &[1; 4]))), "cuArray3DCreate"),
        ] {
            assert!(matches!(error, Error::Unsupported { .. }));
            says(&error, &["this driver does not have", call]);
        }
        gpu.launch(function, &ONE_BLOCK, &[1, 2]).unwrap();
    });
}

#[test]
fn a_device_without_a_choice_of_banks() {
    faulty("a_device_without_a_choice_of_banks", "no-bank-choice", || {
        let mut gpu = open();
        let (_, function) = loaded(&mut gpu);
        let error = failure(gpu.configure(function, &ONE_BLOCK.bank_width(Bytes(8))));
        assert!(matches!(error, Error::Unsupported { .. }));
        says(&error, &["width of shared memory's banks"]);
    });
}

fn strata(arguments: &[&str], library: &Path, fault: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
    // Tests that run at the same time open the same device.
    let locks = tempfile::tempdir().unwrap();
    command.args(arguments).env("STRATA_LOCK_DIR", locks.path());
    let done = with_driver(command, library, fault).output().expect("the program runs");
    let (stdout, stderr) = texts(&done);
    (done.status.code(), stdout, stderr)
}

#[test]
fn the_program_lists_devices() {
    let (status, stdout, stderr) = strata(&["devices"], &library(None), "none");
    assert_eq!(status, Some(0), "{stderr}");
    for word in ["NVIDIA H200", "GPU-22222222-2222-2222-2222-222222222222", "0000:1b:00.0"] {
        assert!(stdout.contains(word), "no {word:?} in: {stdout}");
    }
}

#[test]
fn the_program_says_what_is_absent_and_ends_with_3() {
    let (whole, partial, nowhere) = (library(None), library(Some("missing-symbol")), PathBuf::from("/nonexistent.so"));
    for (library, fault, words) in [
        (&whole, "no-device", "no CUDA device"),
        (&whole, "init-fails", "does not start"),
        (&whole, "old-driver", "too old"),
        (&partial, "none", "lacks cuLaunchKernel"),
        (&nowhere, "none", "cannot be opened"),
    ] {
        for arguments in [&["devices"][..], &["discover", "--quiet"]] {
            let (status, stdout, stderr) = strata(arguments, library, fault);
            assert_eq!(status, Some(3), "{fault}: {arguments:?}: {stderr}");
            assert!(stdout.is_empty() && stderr.contains(words), "{fault}: {arguments:?}: {stdout}{stderr}");
        }
    }
    let (status, stdout, stderr) = strata(&["discover", "--device", "cuda:7"], &whole, "none");
    assert_eq!((status, stdout.as_str()), (Some(3), ""));
    assert!(stderr.contains("no device `cuda:7`") && stderr.contains("cuda:1"), "{stderr}");
}

#[test]
fn the_program_ends_with_1_when_a_device_fails() {
    for (fault, words) in [
        ("out-of-memory", "of device memory were needed at once"),
        ("unknown-code", "unknown result (12345)"),
        ("compile-error", "Unknown symbol 'missing'"),
        ("async-fault", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    ] {
        let (status, stdout, stderr) = strata(&["discover", "--quiet", "--effort", "quick"], &library(None), fault);
        assert_eq!((status, stdout.as_str()), (Some(1), ""), "{fault}: {stderr}");
        assert!(stderr.contains(words), "{fault}: {stderr}");
    }
}
