#![allow(missing_docs, clippy::print_stdout)]
use gpu_strata::experiment::*;
use gpu_strata::units::Bytes;
use gpu_strata::{Device, Options};
fn main() {
    let mut device = Device::open("auto").unwrap();
    println!("{} {:?}", device.facts().name, device.facts().uuid);
    let l2 = Bytes(device.facts().l2_size);
    let sms = device.facts().multiprocessors as f64;
    let plain = Stream { traffic: Traffic::Read, path: LoadPath::GlobalCa, width: AccessWidth::B16, unroll: 4, threads_per_block: 512, blocks_per_sm: 1, sms: vec![], footprint: Bytes::kib(64), region: Region::Own, content: Content::Random, prepare: Prepare::Nothing, warm_cycles: 10_000, timed_cycles: 40_000, repeat: 0 };
    let l2s = Stream { path: LoadPath::GlobalCg, region: Region::Together, footprint: Bytes::mib(16), warm_cycles: 20_000, timed_cycles: 80_000, ..plain.clone() };
    let dram = Stream { footprint: l2 * 16, warm_cycles: 80_000, timed_cycles: 100_000, ..l2s.clone() };
    let long = Stream { timed_cycles: 1_000_000, ..dram.clone() };
    let t = |traffic, s: &Stream| Stream { traffic, ..s.clone() };
    let cases: Vec<(&str, Stream)> = vec![
        ("L1", plain.clone()), ("L1 128K", Stream { footprint: Bytes::kib(128), ..plain.clone() }), ("L1 nc", Stream { path: LoadPath::GlobalNc, ..plain.clone() }), ("L1 one SM", Stream { sms: vec![0], ..plain.clone() }), ("shared", Stream { path: LoadPath::Shared, footprint: Bytes::kib(16), ..plain.clone() }),
        ("L2 16M one SM", Stream { sms: vec![0], ..l2s.clone() }),
        ("DRAM read", dram.clone()), ("DRAM read long", long.clone()), ("DRAM read zeros", Stream { content: Content::Zeros, ..dram.clone() }), ("DRAM write", t(Traffic::Write, &dram)), ("DRAM write long", t(Traffic::Write, &long)), ("DRAM copy", t(Traffic::Copy, &dram)), ("DRAM copy long", t(Traffic::Copy, &long)), ("DRAM triad", t(Traffic::Triad, &dram)), ("L2 write", t(Traffic::Write, &l2s)), ("L1 write", t(Traffic::Write, &plain)),
    ];
    for (name, s) in cases {
        let mut each = vec![];
        for (width, unrolls) in [(AccessWidth::B16, &[1, 2, 4, 8][..]), (AccessWidth::B8, &[4][..]), (AccessWidth::B4, &[8][..])] {
            for &unroll in unrolls { for (threads_per_block, blocks_per_sm) in [(128, 1), (256, 1), (512, 1), (1024, 1), (256, 4), (512, 2), (512, 3), (512, 4), (1024, 2)] {
                each.push(Stream { width, unroll, threads_per_block, blocks_per_sm, ..s.clone() });
            } }
        }
        let go = |device: &mut Device, each: &[Stream]| -> Vec<Result<Streamed, String>> {
            let e: Vec<Experiment> = each.iter().cloned().map(Experiment::from).collect();
            device.measure(&e, Options::default()).unwrap().into_iter().zip(each).map(|(a, s)| a.map_err(|e| e.to_string()).map(|x| Streamed::of(s, &x).unwrap())).collect()
        };
        let t0 = std::time::Instant::now();
        let found = go(&mut device, &each);
        let mut ok: Vec<(f64, &Stream, f64)> = vec![];
        for (s, r) in each.iter().zip(&found) { match r { Ok(x) => ok.push((x.per_sm(), s, x.clock_ghz.unwrap_or(0.0))), Err(e) => if !e.contains("same time") { println!("{name}: {}x{}x{}x{}: {}", s.width.bytes().0, s.unroll, s.threads_per_block, s.blocks_per_sm, &e[..60]) } } }
        ok.sort_by(|a, b| b.0.total_cmp(&a.0));
        println!("== {name}: {} in {:.0} ms", each.len(), t0.elapsed().as_secs_f64() * 1e3);
        for (r, s, g) in ok.iter().take(4).chain(ok.iter().rev().take(1)) { println!("  {:7.2} B/clk/SM {:8.3} TB/s  {}x{} {}x{}  {:.4} GHz in flight {}", r, r * sms * g / 1e3, s.width.bytes().0, s.unroll, s.threads_per_block, s.blocks_per_sm, g, s.in_flight()); }
        let Some(best) = ok.first() else { continue };
        let again: Vec<Stream> = (1..=15).map(|repeat| Stream { repeat, ..best.1.clone() }).collect();
        let mut r: Vec<f64> = go(&mut device, &again).into_iter().filter_map(Result::ok).map(|x| x.total() * x.clock_ghz.unwrap_or(0.0) / 1e3).collect();
        r.sort_by(f64::total_cmp);
        let x = &go(&mut device, &again[..1])[0];
        if let Ok(x) = x { let mut v = x.bytes_per_clk.clone(); v.sort_by(f64::total_cmp); println!("  again {:.3} {:.3} {:.3} TB/s; SMs {:.1} {:.1} {:.1}", r[0], r[7], r[14], v[0], v[v.len()/2], v[v.len()-1]); }
    }
}
