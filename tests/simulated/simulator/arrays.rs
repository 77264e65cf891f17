//! Textures: texels of one and of four bytes, in a row and in a CUDA array.

use strata_gpu::{Array, DevicePtr, Error, Gpu, Launch, Texture};
use strata_model::pattern::Sampling;
use strata_model::units::Bytes;
use strata_sim::Sim;

use super::{HEADER, machine};

/// A way for textures, by the caches of the other loads.
const TEXTURE: &str = "[path.texture]\nlevels = [\"l1\", \"l2\"]\ncycles = [30, 200]\nmemory = 500\n";

fn gpu() -> Sim {
    Sim::new(machine(TEXTURE), 1)
}

/// Runs a kernel of one thread with a texture, memory and a number; what it left in the memory.
fn fetch(gpu: &mut Sim, texture: Texture, body: &str, number: u64, words: usize) -> Result<Vec<u64>, Error> {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 texture, .param .u64 memory, .param .u64 number)\n{{\n\
         .reg .u64 %m, %tex, %n, %t0, %t1, %a;\n.reg .u32 %x, %y, %v, %u<3>, %i, %shift, %mask, %sum;\n.reg .pred %p;\n\
         ld.param.u64 %tex, [texture];\nld.param.u64 %m, [memory];\nld.param.u64 %n, [number];\n{body}\n}}\n"
    );
    let module = gpu.load(&text)?;
    let function = gpu.function(module, "k")?;
    let memory: DevicePtr = gpu.allocate(Bytes(1 << 20))?;
    gpu.launch(function, &Launch::new(1, 1), &[texture.0, memory.0, number])?;
    let mut raw = vec![0; 8 * words];
    gpu.read(memory, &mut raw)?;
    Ok(raw.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("eight"))).collect())
}

/// Reads texels of a row.
const ROW: &str = "mov.u32 %x, 0;\neach:\ntex.1d.v4.u32.s32 {%v, %u0, %u1, %u2}, [%tex, {%x}];\nmul.wide.u32 %a, %x, 8;\n\
                   add.u64 %a, %a, %m;\nst.global.u32 [%a], %v;\nadd.u32 %x, %x, 1;\nsetp.lt.u32 %p, %x, 9;\n@%p bra each;\nret;";

#[test]
fn texels_of_a_byte_are_extended_by_zeros() {
    let mut gpu = gpu();
    let memory = gpu.allocate(Bytes(512)).unwrap();
    gpu.write(memory, &[1, 255, 3, 4, 5, 6, 7, 8]).unwrap();
    let bytes = gpu.texture(memory, Bytes(7), Bytes(1)).unwrap();
    assert_eq!(fetch(&mut gpu, bytes, ROW, 0, 9).unwrap(), [1, 255, 3, 4, 5, 6, 7, 0, 0]);
    let words = gpu.texture(memory, Bytes(8), Bytes(4)).unwrap();
    assert_eq!(fetch(&mut gpu, words, ROW, 0, 3).unwrap(), [0x0403_ff01, 0x0807_0605, 0]);
    assert!(matches!(gpu.texture(memory, Bytes(8), Bytes(2)), Err(Error::Unsupported { .. })));
    gpu.destroy_texture(words).unwrap();
    assert!(matches!(gpu.destroy_texture(words), Err(Error::Unsupported { .. })));
}

/// Reads 8 x 8 texels of an array, from one left of and above it on.
const SQUARE: &str = "mov.u32 %i, 0;\neach:\nand.b32 %x, %i, 7;\nsub.u32 %x, %x, 1;\nshr.u32 %y, %i, 3;\nsub.u32 %y, %y, 1;\n\
                      tex.2d.v4.u32.s32 {%v, %u0, %u1, %u2}, [%tex, {%x, %y}];\nmul.wide.u32 %a, %i, 8;\nadd.u64 %a, %a, %m;\n\
                      st.global.u32 [%a], %v;\nadd.u32 %i, %i, 1;\nsetp.lt.u32 %p, %i, 64;\n@%p bra each;\nret;";

#[test]
fn an_array_is_read_by_two_coordinates_and_is_zero_beyond_its_ends() {
    let mut gpu = gpu();
    let texels: Vec<u32> = (0..5 * 6).map(|i| 1000 + i).collect();
    let array = gpu.array(&Array::flat(5, 6, &texels)).unwrap();
    let seen = fetch(&mut gpu, array, SQUARE, 0, 64).unwrap();
    for (i, &value) in (0u64..).zip(&seen) {
        let (x, y) = (i % 8, i / 8);
        let inside = (1..=5).contains(&x) && (1..=6).contains(&y);
        assert_eq!(value, if inside { 1000 + (y - 1) * 5 + x - 1 } else { 0 }, "{x}, {y}");
    }
}

/// Reads 4 x 4 x 4 texels of an array.
const CUBE: &str = "mov.u32 %i, 0;\neach:\nand.b32 %x, %i, 3;\nshr.u32 %y, %i, 2;\nand.b32 %y, %y, 3;\nshr.u32 %v, %i, 4;\n\
                    tex.3d.v4.u32.s32 {%v, %u0, %u1, %u2}, [%tex, {%x, %y, %v, %v}];\nmul.wide.u32 %a, %i, 8;\n\
                    add.u64 %a, %a, %m;\nst.global.u32 [%a], %v;\nadd.u32 %i, %i, 1;\nsetp.lt.u32 %p, %i, 64;\n@%p bra each;\nret;";

#[test]
fn an_array_of_three_dimensions_is_read_by_three_coordinates() {
    let mut gpu = gpu();
    let texels: Vec<u32> = (1000..1000 + 3 * 4 * 2).collect();
    let array = gpu.array(&Array { depth: Some(2), ..Array::flat(3, 4, &texels) }).unwrap();
    let seen = fetch(&mut gpu, array, CUBE, 0, 64).unwrap();
    for (i, &value) in (0u64..).zip(&seen) {
        let (x, y, z) = (i % 4, i / 4 % 4, i / 16);
        let inside = x < 3 && z < 2;
        assert_eq!(value, if inside { 1000 + (z * 4 + y) * 3 + x } else { 0 }, "{x}, {y}, {z}");
    }
    let flat = gpu.array(&Array::flat(3, 4, &texels[..12])).unwrap();
    assert!(fetch(&mut gpu, flat, CUBE, 0, 64).is_err(), "it has two dimensions");
}

/// Reads the array at a place, n / 8 texels from its left and upper edge, times as long as `scale` takes it.
const PLACE: &str = "cvt.u32.u64 %x, %n;\ncvt.rn.f32.u32 %f, %x;\nmul.rn.f32 %f, %f, %scale;\nmov.u32 %i, %clock;\n\
                     tex.2d.v4.f32.f32 {%g, %g0, %g1, %g2}, [%tex, {%f, %f}];\ncvt.rzi.u32.f32 %v, %g;\nmov.u32 %y, %clock;\n\
                     sub.u32 %y, %y, %i;\nst.global.u32 [%m], %v;\nst.global.u32 [%m+8], %y;\nret;";

#[test]
fn an_array_of_numbers_is_sampled() {
    let numbers: Vec<u32> = (0..64u16).map(|number| f32::from(number).to_bits()).collect();
    let read = |sampling, scale: f32, place: u64| {
        let mut gpu = Sim::new(machine(&format!("{TEXTURE}[pipeline]\nfiltering = 7\n")), 1);
        let array = gpu.array(&Array { sampling: Some(sampling), ..Array::flat(8, 8, &numbers) }).unwrap();
        let registers = ".reg .f32 %f, %g, %g0, %g1, %g2, %scale;\n";
        let body = format!("{registers}mov.f32 %scale, 0f{:08X};\n{PLACE}", scale.to_bits());
        fetch(&mut gpu, array, &body, place, 2)
    };
    // Texel 3 of row 3, at its centre and near its edges.
    assert_eq!(read(Sampling::Nearest, 0.125, 28).unwrap()[0], 27);
    assert_eq!(read(Sampling::Nearest, 0.125, 24).unwrap()[0], 27);
    assert_eq!(read(Sampling::Normalized, 0.125 / 8.0, 31).unwrap()[0], 27);
    let (nearest, linear) = (read(Sampling::Nearest, 0.125, 28).unwrap(), read(Sampling::Linear, 0.125, 28).unwrap());
    assert_eq!((linear[0], linear[1] - nearest[1]), (27, 7));
    assert!(read(Sampling::Linear, 0.125, 30).is_err(), "a mean of several texels");
}

#[test]
fn an_array_takes_whole_groups_of_memory_until_it_is_destroyed() {
    let mut gpu = gpu();
    let (before, _) = gpu.memory().unwrap();
    let array = gpu.array(&Array::flat(17, 9, &vec![7; 17 * 9])).unwrap();
    // Rows of 68 B in groups of 64 B x 8 rows.
    assert_eq!(before - gpu.memory().unwrap().0, Bytes(4 * 512));
    gpu.destroy_texture(array).unwrap();
    assert_eq!(gpu.memory().unwrap().0, before);
    for (width, height, count) in [(4, 4, 15), (0, 4, 0), (4, 0, 0)] {
        assert!(matches!(gpu.array(&Array::flat(width, height, &vec![0; count])), Err(Error::Unsupported { .. })));
    }
    let error = fetch(&mut gpu, array, SQUARE, 0, 64).unwrap_err();
    assert!(error.is_lost() && error.to_string().contains("no texture"), "{error}");
}

#[test]
fn a_texture_of_other_dimensions_is_a_fault() {
    let mut gpu = gpu();
    let array = gpu.array(&Array::flat(8, 8, &[1; 64])).unwrap();
    let error = fetch(&mut gpu, array, ROW, 0, 9).unwrap_err().to_string();
    assert!(error.contains("no texture that is read in this way"), "{error}");
    let one = "tex.2d.v4.u32.s32 {%v, %u0, %u1, %u2}, [%tex, {%x}];\nret;";
    assert!(fetch(&mut self::gpu(), array, one, 0, 1).unwrap_err().to_string().contains("takes 2 coordinates, not 1"));
}

/// Cycles of 32 texels, 2 to the power of the number in a row.
const TIMED: &str = "cvt.u32.u64 %shift, %n;\nmov.u32 %mask, 1;\nshl.b32 %mask, %mask, %shift;\nsub.u32 %mask, %mask, 1;\n\
                     mov.u32 %i, 0;\nmov.u32 %sum, 0;\nmov.u64 %t0, %clock64;\neach:\nand.b32 %x, %i, %mask;\nshr.u32 %y, %i, %shift;\n\
                     tex.2d.v4.u32.s32 {%v, %u0, %u1, %u2}, [%tex, {%x, %y}];\nadd.u32 %sum, %sum, %v;\nadd.u32 %i, %i, 1;\n\
                     setp.lt.u32 %p, %i, 32;\n@%p bra each;\nmov.u64 %t1, %clock64;\nsub.u64 %t1, %t1, %t0;\n\
                     st.global.u64 [%m], %t1;\nret;";

#[test]
fn a_line_of_a_cache_holds_a_neighbourhood_of_an_array() {
    // Rows of 8 by 4 are one line, a row of 32 is four lines, and a column of 32 is eight.
    let cycles = |shift: u64| {
        let mut gpu = gpu();
        let array = gpu.array(&Array::flat(64, 64, &[1; 64 * 64])).unwrap();
        fetch(&mut gpu, array, TIMED, shift, 1).unwrap()[0]
    };
    let (miss, tile) = (500 - 30, cycles(3));
    assert_eq!(cycles(5) - tile, 3 * miss);
    assert_eq!(cycles(0) - tile, 7 * miss);
}
