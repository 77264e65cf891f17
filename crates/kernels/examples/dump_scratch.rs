use strata_kernels::{PTX, PatternProgram, Program};
fn main() {
    let dir = std::path::PathBuf::from(std::env::args().nth(1).unwrap());
    std::fs::create_dir_all(&dir).unwrap();
    let mut programs = Program::all();
    for (v, p, b) in [(2, 0, 256), (16, 1, 512), (512, 1000, 1024), (2048, 37, 256), (300, 5000, 512)] {
        programs.push(Program::Pattern(PatternProgram::Sums { variables: v, padding: p, bound: b }));
    }
    for n in ["intensity_shared_7", "intensity_global_300"] {
        programs.push(Program::Pattern(PatternProgram::generated(n).unwrap()));
    }
    for (c, clock) in [("c64", (9, 0)), ("c32", (5, 0))] {
        let t0 = std::time::Instant::now();
        for p in &programs {
            let t = PTX.text(*p, clock);
            let min = if p.name().contains("_nc") { (3, 5) } else { (2, 0) };
            let text = format!("// min {:?} check {:?}\n{}", min, t.check, t.code);
            std::fs::write(dir.join(format!("{}.{c}", t.entry)), text).unwrap();
        }
        eprintln!("{:?}", t0.elapsed());
    }
}
