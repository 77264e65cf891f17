//! Modules that come and go, blocks that are launched together, textures and their arrays: that each works, what is refused and
//! why, and that the stand-in, which ends the process of whoever leaves something behind or takes it back twice, is content.

use strata_gpu::{Array, Code, Copy, DevicePtr, Error, Gpu, Launch, Module, Resources, Window};
use strata_model::experiment::Reuse;
use strata_model::pattern::Sampling;
use strata_model::units::Bytes;

use super::{ONE_BLOCK, PTX, failure, faulty, loaded, open, says};

#[test]
fn modules_are_loaded_again_and_unloaded() {
    faulty("seam::modules_are_loaded_again_and_unloaded", "none", || {
        let mut gpu = open();
        let (module, function) = loaded(&mut gpu);
        let (bank, _) = gpu.symbol(module, "bank").unwrap();
        gpu.write(bank, &[7; 8]).unwrap();
        let again = gpu.load_again(module).unwrap();
        assert_eq!(gpu.machine_code(again), gpu.machine_code(module));
        let (other, bytes) = gpu.symbol(again, "bank").unwrap();
        assert!(other != bank && bytes == Bytes::kib(64));
        let mut back = [9; 8];
        gpu.read(other, &mut back).unwrap();
        assert_eq!(back, [0; 8]);

        assert_eq!(gpu.resources(function).unwrap(), Resources { registers: 40, local: Bytes(128) });
        gpu.unload(module).unwrap();
        let gone = [
            failure(gpu.unload(module)),
            failure(gpu.load_again(module)),
            failure(gpu.function(module, "walk")),
            failure(gpu.symbol(module, "bank")),
            failure(gpu.launch(function, &ONE_BLOCK, &[1, 2])),
            failure(gpu.launch(function, &ONE_BLOCK.cooperative(), &[1, 2])),
            failure(gpu.resources(function)),
            failure(gpu.configure(function, &ONE_BLOCK)),
        ];
        for error in gone {
            says(&error, &["module 0 has been unloaded"]);
        }
        assert_eq!(gpu.machine_code(module), None);
        says(&failure(gpu.unload(Module(9))), &["not of this device"]);
        // The other one is still there; what is left goes when the device is closed, and the stand-in ends the process if
        // anything stays, or is taken back twice.
        let walk = gpu.function(again, "walk").unwrap();
        gpu.launch(walk, &ONE_BLOCK, &[1, 2]).unwrap();
    });
}

#[test]
fn copy_engines_copy_each_way_at_the_same_time() {
    faulty("seam::copy_engines_copy_each_way_at_the_same_time", "none", || {
        let mut gpu = open();
        let bytes = Bytes::mib(1);
        let [here, there] = [(); 2].map(|()| gpu.allocate(bytes).unwrap());
        let [ours, theirs] = [(); 2].map(|()| gpu.allocate_pinned(bytes).unwrap());
        gpu.write(ours.offset(64), &[1, 2, 3, 4]).unwrap();
        gpu.write(there.offset(64), &[5, 6, 7, 8]).unwrap();
        let to_device = Copy { to: here, from: ours, bytes };
        let to_host = Copy { to: theirs, from: there, bytes };
        // Two engines take as long as one; and one does not wait for what the other had to do before.
        let both = gpu.transfer(&[to_device, to_host]).unwrap();
        let one = gpu.transfer(&[to_device]).unwrap();
        assert!(both > 10.0 && (both - one).abs() < 0.01, "{both} and {one} us");
        for (place, is) in [(here, [1, 2, 3, 4]), (theirs, [5, 6, 7, 8])] {
            let mut back = [9; 4];
            gpu.read(place.offset(64), &mut back).unwrap();
            assert_eq!(back, is);
        }
        assert_eq!(gpu.transfer(&[]).unwrap(), 0.0);
        // Nothing is queued if one of them cannot be: the first is not made.
        gpu.write(ours.offset(64), &[4, 3, 2, 1]).unwrap();
        for (wrong, why) in [
            (Copy { to: theirs, from: ours, bytes }, "from host memory to host memory"),
            (Copy { to: here, from: ours.offset(64), bytes }, "beyond the end of pinned host memory"),
        ] {
            says(&failure(gpu.transfer(&[to_device, wrong])), &[why]);
        }
        let mut back = [9; 4];
        gpu.read(here.offset(64), &mut back).unwrap();
        assert_eq!(back, [1, 2, 3, 4]);
        says(&failure(gpu.transfer(&[Copy { to: here.offset(64), ..to_device }])), &["cuMemcpyHtoDAsync"]);
    });
}

#[test]
fn texts_that_are_loaded_together_fail_one_by_one() {
    faulty("seam::texts_that_are_loaded_together_fail_one_by_one", "none", || {
        let mut gpu = open();
        let later = PTX.replace("sm_50", "sm_100");
        let mut texts = vec![PTX; 20];
        texts[3] = &later;
        texts[11] = "nonsense";
        let mut codes: Vec<Code<'_>> = texts.into_iter().map(Code::optimised).collect();
        codes[5].optimised = false;
        for (number, module) in gpu.load_all(&codes).into_iter().enumerate() {
            match number {
                3 => says(&failure(module), &["compute capability 10.0 or later"]),
                11 => assert!(matches!(failure(module), Error::Compile { code: 218, .. })),
                _ => {
                    let walk = gpu.function(module.unwrap(), "walk").unwrap();
                    gpu.launch(walk, &ONE_BLOCK, &[1, 2]).unwrap();
                }
            }
        }
        assert!(gpu.load_all(&[]).is_empty());
    });
}

#[test]
fn an_unload_that_fails_is_not_repeated() {
    faulty("seam::an_unload_that_fails_is_not_repeated", "unload-fails", || {
        let mut gpu = open();
        let (module, _) = loaded(&mut gpu);
        says(&failure(gpu.unload(module)), &["cuModuleUnload", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"]);
        says(&failure(gpu.unload(module)), &["has been unloaded"]);
    });
}

#[test]
fn blocks_are_launched_together() {
    faulty("seam::blocks_are_launched_together", "none", || {
        let mut gpu = open();
        let (_, function) = loaded(&mut gpu);
        gpu.mark().unwrap();
        gpu.launch(function, &Launch::new(132 * 64, 32).cooperative(), &[1, 2]).unwrap();
        assert_eq!(gpu.mark().unwrap(), 500.0);
        let error = failure(gpu.launch(function, &Launch::new(132 * 64 + 1, 32).cooperative(), &[1, 2]));
        assert!(matches!(error, Error::Unsupported { .. }));
        says(&error, &["8449 blocks of 32 threads", "at the same time"]);
        // The call does not tell the driver how many parameters there are.
        for parameters in [&[1][..], &[1, 2, 3]] {
            let error = failure(gpu.launch(function, &ONE_BLOCK.cooperative(), parameters));
            says(&error, &["`walk` has 2 parameters", &format!("not {}", parameters.len())]);
        }
        says(
            &failure(gpu.launch(function, &Launch::new(1, 2000).cooperative(), &[1, 2])),
            &["cuLaunchCooperativeKernel", "CUDA_ERROR_INVALID_VALUE"],
        );
    });
}

#[test]
fn a_device_without_cooperative_launches() {
    let refused = || {
        let mut gpu = open();
        let (_, function) = loaded(&mut gpu);
        let error = failure(gpu.launch(function, &ONE_BLOCK.cooperative(), &[1, 2]));
        assert!(matches!(error, Error::Unsupported { .. }));
        says(&error, &["no cooperative launches"]);
        gpu.launch(function, &ONE_BLOCK, &[1, 2]).unwrap();
    };
    faulty("seam::a_device_without_cooperative_launches", "no-cooperation", refused);
}

#[test]
fn a_driver_that_refuses_a_cooperative_launch() {
    faulty("seam::a_driver_that_refuses_a_cooperative_launch", "cooperation-refused", || {
        let mut gpu = open();
        let (_, function) = loaded(&mut gpu);
        says(&failure(gpu.launch(function, &ONE_BLOCK.cooperative(), &[1, 2])), &["no cooperative launches"]);
    });
}

#[test]
fn blocks_are_launched_in_clusters() {
    faulty("seam::blocks_are_launched_in_clusters", "none", || {
        let mut gpu = open();
        let (_, function) = loaded(&mut gpu);
        gpu.mark().unwrap();
        let pairs = Launch::new(132, 128).cluster(2);
        gpu.launch(function, &pairs, &[1, 2]).unwrap();
        gpu.launch(function, &pairs.cooperative(), &[1, 2]).unwrap();
        // Clusters of more than eight blocks are asked for first.
        gpu.launch(function, &Launch::new(64, 128).cluster(16), &[1, 2]).unwrap();
        assert_eq!(gpu.mark().unwrap(), 1500.0);
        for (launch, words) in [
            (Launch::new(133, 128).cluster(2), "133 blocks are no whole number of clusters of 2"),
            (Launch::new(132, 128).cluster(0), "clusters of 0"),
            (Launch::new(68, 128).cluster(17), "clusters of 17 blocks with 128 threads"),
            (Launch::new(132 * 16 + 2, 128).cluster(2).cooperative(), "at the same time"),
        ] {
            let error = failure(gpu.launch(function, &launch, &[1, 2]));
            assert!(matches!(error, Error::Unsupported { .. }), "{error}");
            says(&error, &[words]);
        }
        // The driver sees how many parameters there are.
        says(&failure(gpu.launch(function, &pairs, &[1])), &["cuLaunchKernelEx", "CUDA_ERROR_INVALID_VALUE"]);
    });
}

#[test]
fn launches_say_how_memory_is_used_again() {
    faulty("seam::launches_say_how_memory_is_used_again", "none", || {
        let mut gpu = open();
        let (_, function) = loaded(&mut gpu);
        gpu.set_aside_l2(true).unwrap();
        gpu.mark().unwrap();
        for reuse in [Reuse::Streaming, Reuse::Persisting] {
            let window = Window { base: DevicePtr(1 << 40), bytes: Bytes::mib(8), reuse };
            gpu.launch(function, &ONE_BLOCK.window(window), &[1, 2]).unwrap();
            gpu.launch(function, &ONE_BLOCK.cluster(1).window(window), &[1, 2]).unwrap();
        }
        assert_eq!(gpu.mark().unwrap(), 2000.0);
        gpu.set_aside_l2(false).unwrap();
    });
}

#[test]
fn a_device_without_clusters() {
    faulty("seam::a_device_without_clusters", "no-clusters", || {
        let mut gpu = open();
        let (_, function) = loaded(&mut gpu);
        let error = failure(gpu.launch(function, &Launch::new(2, 32).cluster(2), &[1, 2]));
        assert!(matches!(error, Error::Unsupported { .. }));
        says(&error, &["no clusters", "9.0"]);
        gpu.launch(function, &ONE_BLOCK, &[1, 2]).unwrap();
    });
}

#[test]
fn a_driver_that_refuses_a_cluster() {
    faulty("seam::a_driver_that_refuses_a_cluster", "cluster-refused", || {
        let mut gpu = open();
        let (_, function) = loaded(&mut gpu);
        let error = failure(gpu.launch(function, &Launch::new(8, 32).cluster(4), &[1, 2]));
        assert!(matches!(error, Error::Unsupported { .. }));
        says(&error, &["clusters of 4 blocks with 32 threads and 0 B of shared memory"]);
    });
}

#[test]
fn a_function_is_asked_for_what_changes_and_no_more() {
    faulty("seam::a_function_is_asked_for_what_changes_and_no_more", "slow-attributes", || {
        let mut gpu = open();
        let (module, function) = loaded(&mut gpu);
        gpu.mark().unwrap();
        let large = ONE_BLOCK.shared(Bytes::kib(64));
        for (launch, requests) in [
            (ONE_BLOCK, 0),
            (ONE_BLOCK.carveout(0), 1),
            (ONE_BLOCK.carveout(0), 0),
            (large.carveout(100), 2),
            // Less needs no request.
            (ONE_BLOCK.shared(Bytes::kib(56)).carveout(100), 0),
            // A launch that asks for no carveout gets the driver's choice, whatever an earlier one asked for.
            (large, 1),
            (ONE_BLOCK, 0),
        ] {
            gpu.launch(function, &launch, &[1, 2]).unwrap();
            assert_eq!(gpu.mark().unwrap(), 500.0 * f64::from(1 + requests), "{launch:?}");
        }
        // What was asked for before the launch is not asked for again; the same entry point is the same function.
        let again = gpu.function(module, "walk").unwrap();
        gpu.configure(again, &ONE_BLOCK.carveout(50)).unwrap();
        gpu.launch(function, &ONE_BLOCK.carveout(50), &[1, 2]).unwrap();
        assert_eq!(gpu.mark().unwrap(), 1000.0);
    });
}

#[test]
fn textures_of_bytes_and_of_arrays() {
    faulty("seam::textures_of_bytes_and_of_arrays", "none", || {
        let mut gpu = open();
        let (before, _) = gpu.memory().unwrap();
        let memory = gpu.allocate(Bytes(4096)).unwrap();
        for texel in [1, 4, 8, 16] {
            let texture = gpu.texture(memory, Bytes(4096), Bytes(texel)).unwrap();
            gpu.destroy_texture(texture).unwrap();
        }
        says(&failure(gpu.texture(memory, Bytes(4096), Bytes(2))), &["texels of 1, 4, 8 or 16 B, not of 2 B"]);
        // A gibibyte is too many texels of one byte, not of four.
        says(&failure(gpu.texture(memory, Bytes::mib(1024), Bytes(1))), &["at most 268435456 texels", "1073741824"]);
        gpu.free(memory).unwrap();

        let texture = gpu.array(&Array::flat(16, 4, &[7; 64])).unwrap();
        assert_eq!(gpu.memory().unwrap().0, before - Bytes(256));
        gpu.destroy_texture(texture).unwrap();
        assert_eq!(gpu.memory().unwrap().0, before);
        says(&failure(gpu.destroy_texture(texture)), &["not of this device"]);
        for (width, height, count) in [(16, 4, 63), (0, 4, 0), (4, 0, 0)] {
            let error = failure(gpu.array(&Array::flat(width, height, &vec![0; count])));
            assert!(matches!(error, Error::Unsupported { .. }));
            says(&error, &[&format!("{count} texels are no array of {width} x {height}")]);
        }
        let error = failure(gpu.array(&Array::flat(1 << 18, 1, &vec![0; 1 << 18])));
        assert!(matches!(error, Error::Unsupported { .. }));
        says(&error, &["no CUDA array of 262144 x 1 texels"]);
        let cube = |side, texels| Array { depth: Some(side), ..Array::flat(side, side, texels) };
        let texture = gpu.array(&cube(4, &[7; 64])).unwrap();
        assert_eq!(gpu.memory().unwrap().0, before - Bytes(256));
        gpu.destroy_texture(texture).unwrap();
        says(&failure(gpu.array(&cube(4, &[7; 63]))), &["63 texels are no array of 4 x 4 x 4"]);
        for sampling in [Sampling::Nearest, Sampling::Normalized, Sampling::Linear] {
            let sampled = Array { sampling: Some(sampling), ..Array::flat(2, 2, &[0; 4]) };
            let texture = gpu.array(&sampled).unwrap();
            gpu.destroy_texture(texture).unwrap();
        }
        // This one is left to the end of the device.
        gpu.array(&Array::flat(2, 2, &[1, 2, 3, 4])).unwrap();
    });
}

#[test]
fn an_array_that_cannot_be_filled_is_not_kept() {
    faulty("seam::an_array_that_cannot_be_filled_is_not_kept", "copy-fails", || {
        let mut gpu = open();
        let (before, _) = gpu.memory().unwrap();
        says(
            &failure(gpu.array(&Array::flat(16, 4, &[7; 64]))),
            &["cuMemcpy3D failed", "CUDA_ERROR_OUT_OF_MEMORY (2)"],
        );
        assert_eq!(gpu.memory().unwrap().0, before);
    });
}

#[test]
fn an_array_without_a_texture_is_not_kept() {
    faulty("seam::an_array_without_a_texture_is_not_kept", "texture-fails", || {
        let mut gpu = open();
        let (before, _) = gpu.memory().unwrap();
        says(
            &failure(gpu.array(&Array::flat(16, 4, &[7; 64]))),
            &["cuTexObjectCreate failed", "CUDA_ERROR_OUT_OF_MEMORY (2)"],
        );
        assert_eq!(gpu.memory().unwrap().0, before);
    });
}
