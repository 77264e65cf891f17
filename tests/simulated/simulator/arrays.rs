//! Textures: texels of one and of four bytes, in a row and in a CUDA array.

use strata_gpu::{DevicePtr, Error, Gpu, Launch, Texture};
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
    let array = gpu.array(5, 6, &texels).unwrap();
    let seen = fetch(&mut gpu, array, SQUARE, 0, 64).unwrap();
    for (i, &value) in (0u64..).zip(&seen) {
        let (x, y) = (i % 8, i / 8);
        let inside = (1..=5).contains(&x) && (1..=6).contains(&y);
        assert_eq!(value, if inside { 1000 + (y - 1) * 5 + x - 1 } else { 0 }, "{x}, {y}");
    }
}

#[test]
fn an_array_takes_whole_groups_of_memory_until_it_is_destroyed() {
    let mut gpu = gpu();
    let (before, _) = gpu.memory().unwrap();
    let array = gpu.array(17, 9, &vec![7; 17 * 9]).unwrap();
    // Rows of 68 B in groups of 64 B x 8 rows.
    assert_eq!(before - gpu.memory().unwrap().0, Bytes(4 * 512));
    gpu.destroy_texture(array).unwrap();
    assert_eq!(gpu.memory().unwrap().0, before);
    for (width, height, count) in [(4, 4, 15), (0, 4, 0), (4, 0, 0)] {
        assert!(matches!(gpu.array(width, height, &vec![0; count]), Err(Error::Unsupported { .. })));
    }
    let error = fetch(&mut gpu, array, SQUARE, 0, 64).unwrap_err();
    assert!(error.is_lost() && error.to_string().contains("no texture"), "{error}");
}

#[test]
fn a_texture_of_other_dimensions_is_a_fault() {
    let mut gpu = gpu();
    let array = gpu.array(8, 8, &[1; 64]).unwrap();
    let error = fetch(&mut gpu, array, ROW, 0, 9).unwrap_err().to_string();
    assert!(error.contains("no texture of so many dimensions"), "{error}");
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
        let array = gpu.array(64, 64, &[1; 64 * 64]).unwrap();
        fetch(&mut gpu, array, TIMED, shift, 1).unwrap()[0]
    };
    let (miss, tile) = (500 - 30, cycles(3));
    assert_eq!(cycles(5) - tile, 3 * miss);
    assert_eq!(cycles(0) - tile, 7 * miss);
}
