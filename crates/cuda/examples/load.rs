//! Something for a GPU to do while `strata` measures it: `load compute|copy|hold|idle SECONDS [DEVICE]`.
//!
//! `compute` keeps all SMs at work with loads and arithmetic, `copy` copies between host and device, `hold` allocates nine tenths
//! of the free memory and sleeps, `idle` has a context and sleeps. It prints `ready` once it does. `scripts/disturb-on-gpu.sh` uses
//! it.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::error::Error;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use strata_cuda::Cuda;
use strata_gpu::{Gpu, Launch};
use strata_model::units::Bytes;

/// Each thread loads words far apart and multiplies, `rounds` times. What it makes of them is written only if it is a number that it
/// never is.
const KERNEL: &str = "\
.version 6.0
.target sm_50
.address_size 64
.visible .entry load(.param .u64 buffer, .param .u64 mask, .param .u64 rounds)
{
	.reg .pred 	%more;
	.reg .u32 	%block, %threads, %thread, %blocks, %self32, %all32;
	.reg .u64 	%buffer, %mask, %rounds, %place, %step, %at, %word, %sum;
	ld.param.u64 	%buffer, [buffer];
	ld.param.u64 	%mask, [mask];
	ld.param.u64 	%rounds, [rounds];
	mov.u32 	%block, %ctaid.x;
	mov.u32 	%threads, %ntid.x;
	mov.u32 	%thread, %tid.x;
	mov.u32 	%blocks, %nctaid.x;
	mad.lo.u32 	%self32, %block, %threads, %thread;
	mul.lo.u32 	%all32, %blocks, %threads;
	cvt.u64.u32 	%place, %self32;
	cvt.u64.u32 	%step, %all32;
	mov.u64 	%sum, 1;
again:
	and.b64 	%at, %place, %mask;
	shl.b64 	%at, %at, 3;
	add.u64 	%at, %at, %buffer;
	ld.global.cg.u64 	%word, [%at];
	mul.lo.u64 	%sum, %sum, 3;
	add.u64 	%sum, %sum, %word;
	add.u64 	%place, %place, %step;
	sub.u64 	%rounds, %rounds, 1;
	setp.ne.u64 	%more, %rounds, 0;
	@%more bra 	again;
	setp.eq.u64 	%more, %sum, 2;
	@%more st.global.u64 	[%buffer], %sum;
	ret;
}
";

/// Memory that is read and copied: more than any L2.
const BUFFER: Bytes = Bytes(512 << 20);
/// Loads of a thread: with all SMs at work, a kernel takes some milliseconds, more than a time slice.
const ROUNDS: u64 = 4096;
const BLOCK: u32 = 256;
const BLOCKS_AN_SM: u32 = 8;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, seconds, device @ ..] = arguments.as_slice() else { return usage() };
    let Ok(seconds) = seconds.parse() else { return usage() };
    let device = device.first().map_or("auto", String::as_str);
    match run(mode, Duration::from_secs(seconds), device) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => usage(),
        Err(failed) => {
            eprintln!("load: {failed}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("load compute|copy|hold|idle SECONDS [DEVICE]");
    ExitCode::from(2)
}

/// Whether there is such a mode.
fn run(mode: &str, time: Duration, device: &str) -> Result<bool, Box<dyn Error>> {
    let mut gpu = Cuda::open(device)?;
    let until = Instant::now() + time;
    match mode {
        "compute" => compute(&mut gpu, until)?,
        "copy" => copy(&mut gpu, until)?,
        "hold" => {
            let (free, _) = gpu.memory()?;
            let held = Bytes(free.0 / 10 * 9).round_down(Bytes(2 << 20));
            gpu.allocate(held)?;
            println!("ready: {held} of {free} are held");
            thread::sleep(time);
        }
        "idle" => {
            println!("ready: idle");
            thread::sleep(time);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn compute(gpu: &mut Cuda, until: Instant) -> Result<(), Box<dyn Error>> {
    let module = gpu.load(KERNEL)?;
    let function = gpu.function(module, "load")?;
    let buffer = gpu.allocate(BUFFER)?;
    gpu.clear(buffer, BUFFER)?;
    let launch = Launch::new(gpu.facts().multiprocessors * BLOCKS_AN_SM, BLOCK);
    let mut kernels = 0_u64;
    let began = Instant::now();
    while Instant::now() < until {
        // Two at a time, so that the device never waits for the host.
        gpu.launch(function, &launch, &[buffer.0, BUFFER.0 / 8 - 1, ROUNDS])?;
        gpu.launch(function, &launch, &[buffer.0, BUFFER.0 / 8 - 1, ROUNDS])?;
        gpu.synchronize()?;
        if kernels == 0 {
            println!("ready: computing");
        }
        kernels += 2;
    }
    println!("{kernels} kernels of {:.2} ms", began.elapsed().as_secs_f64() * 1e3 / kernels.max(1) as f64);
    Ok(())
}

fn copy(gpu: &mut Cuda, until: Instant) -> Result<(), Box<dyn Error>> {
    let buffer = gpu.allocate(BUFFER)?;
    let mut words = vec![0; BUFFER.0 as usize];
    println!("ready: copying");
    while Instant::now() < until {
        gpu.write(buffer, &words)?;
        gpu.read(buffer, &mut words)?;
    }
    Ok(())
}
