//! What simulating costs: PTX instructions of a one-thread chase, and loads of whole warps, by where loads are answered.

use divan::Bencher;
use divan::counter::ItemsCount;
use strata_gpu::{Gpu, Launch};
use strata_model::units::Bytes;
use strata_sim::Sim;
use strata_sim::machine::Machine;

fn main() {
    divan::main();
}

/// Loads of a launch.
const LOADS: u64 = 200_000;
/// Instructions of the loop for each load: the load itself, the count, the comparison, the branch.
const INSTRUCTIONS: u64 = 4;

const CHASE: &str = ".version 6.0
.target sm_50
.address_size 64
.visible .entry chase(.param .u64 start, .param .u64 loads)
{
	.reg .u64 %p;
	.reg .u32 %n;
	.reg .pred %z;
	ld.param.u64 %p, [start];
	ld.param.u32 %n, [loads];
loop:
	ld.global.ca.u64 %p, [%p];
	add.u32 %n, %n, -1;
	setp.ne.u32 %z, %n, 0;
	@%z bra loop;
	st.global.u64 [%p], %p;
	ret;
}
";

/// Footprints in KiB: in the L1, in the L2, in memory.
#[divan::bench(args = [8, 512, 16384])]
fn one_thread_chase(bencher: Bencher, kib: u64) {
    let machine = Machine::named("k20c").expect("it comes with strata");
    let mut gpu = Sim::new(machine, 1);
    let module = gpu.load(CHASE).expect("a text of ours");
    let function = gpu.function(module, "chase").expect("it is there");
    let memory = gpu.allocate(Bytes(kib << 10)).expect("enough memory");
    let lines = kib * 1024 / 128;
    let mut chain = vec![0u8; (kib << 10) as usize];
    for line in 0..lines {
        let next = memory.0 + (line + 1) % lines * 128;
        chain[(line * 128) as usize..][..8].copy_from_slice(&next.to_le_bytes());
    }
    gpu.write(memory, &chain).expect("it is allocated");
    let launch = Launch::new(1, 1);
    bencher.counter(ItemsCount::new(LOADS * INSTRUCTIONS)).bench_local(|| {
        gpu.launch(function, &launch, &[memory.0, LOADS]).expect("it ends");
    });
}

/// Passes of a streaming loop, and independent loads of each pass.
const PASSES: u64 = 16;
const UNROLLED: u64 = 4;
/// Blocks of a launch, and warps of each.
const BLOCKS: u32 = 8;
const WARPS: u32 = 8;

/// A kernel whose warps load 16 bytes a lane, several loads at a time, from a piece of memory for each block.
fn stream(load: &str) -> String {
    let loads: String = (0..UNROLLED)
        .map(|i| format!("\t{load} {{%a{i}, %b{i}, %c{i}, %d{i}}}, [%p+{}];\n", i * u64::from(WARPS) * 512))
        .collect();
    let sums: String = (0..UNROLLED).map(|i| format!("\tadd.u32 %s, %s, %a{i};\n\tadd.u32 %s, %s, %d{i};\n")).collect();
    format!(
        ".version 6.0
.target sm_50
.address_size 64
.visible .entry stream(.param .u64 start, .param .u64 step, .param .u64 piece, .param .u64 passes)
{{
	.reg .u64 %p, %step, %piece, %w;
	.reg .u32 %n, %t, %k, %s, %a<{UNROLLED}>, %b<{UNROLLED}>, %c<{UNROLLED}>, %d<{UNROLLED}>;
	.reg .pred %z;
	ld.param.u64 %p, [start];
	ld.param.u64 %step, [step];
	ld.param.u64 %piece, [piece];
	ld.param.u32 %n, [passes];
	mov.u32 %t, %tid.x;
	mul.wide.u32 %w, %t, 16;
	add.u64 %p, %p, %w;
	mov.u32 %k, %ctaid.x;
	cvt.u64.u32 %w, %k;
	mul.lo.u64 %w, %w, %piece;
	add.u64 %p, %p, %w;
	mov.u32 %s, 0;
loop:
{loads}{sums}	add.u64 %p, %p, %step;
	add.u32 %n, %n, -1;
	setp.ne.u32 %z, %n, 0;
	@%z bra loop;
	st.global.u32 [%p], %s;
	ret;
}}
"
    )
}

/// Loads of whole warps, 512 bytes each: from the L1, from the L2, and from memory that no cache holds.
#[divan::bench(args = ["l1", "l2", "memory"])]
fn loads_of_warps(bencher: Bencher, level: &str) {
    let machine = Machine::named("h200").expect("it comes with strata");
    let mut gpu = Sim::new(machine, 1);
    let load = if level == "l1" { "ld.global.ca.v4.u32" } else { "ld.global.cg.v4.u32" };
    let module = gpu.load(&stream(load)).expect("a text of ours");
    let function = gpu.function(module, "stream").expect("it is there");
    let pass = UNROLLED * u64::from(WARPS) * 512;
    let step = if level == "memory" { pass } else { 0 };
    let bytes = u64::from(BLOCKS) * pass * (PASSES + 1);
    // So many launches go through memory before they begin anew.
    let launches = if level == "memory" { 64 } else { 1 };
    let memory = gpu.allocate(Bytes(bytes * launches)).expect("enough memory");
    gpu.write(memory, &vec![1u8; bytes as usize]).expect("it is allocated");
    let launch = Launch::new(BLOCKS, 32 * WARPS);
    let loads = u64::from(BLOCKS * WARPS) * PASSES * UNROLLED;
    let mut number = 0;
    bencher.counter(ItemsCount::new(loads)).bench_local(|| {
        let at = memory.0 + number % launches * bytes;
        number += 1;
        gpu.launch(function, &launch, &[at, step, pass * (PASSES + 1), PASSES]).expect("it ends");
    });
}
