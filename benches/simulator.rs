//! What simulating costs: PTX instructions of a one-thread chase, by where its loads are answered.

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
