//! What a characterization finds on simulated machines: sizes and windows are those of the machine, whatever the machine.

use gpu_strata::{Effort, Options};
use strata_model::attribute::Sizes;
use strata_model::characterization::{Characterization, Figure, Part, PartName, Suite};
use strata_model::units::Bytes;
use strata_sim::machine::spec::{Path, Scope, Spec};
use strata_sim::machine::{self, Machine};

use crate::sim;

/// Machines of a developer's test run: one of each generation that differs here. All of them with `STRATA_ALL_MACHINES`.
const FEW: [&str; 3] = ["gtx560ti", "k20c", "840m"];

fn machines() -> Vec<Machine> {
    let all = std::env::var_os("STRATA_ALL_MACHINES").is_some();
    machine::names()
        .filter(|name| all || FEW.contains(name))
        .map(|name| Machine::named(name).expect("it comes with strata"))
        .collect()
}

fn characterized(machine: &Machine, parts: &[PartName], threads: &[u32]) -> Characterization {
    let suite = Suite { parts: parts.to_vec(), threads: threads.to_vec(), ..Suite::default() };
    let found = sim::device(machine).characterize(&suite, Options::effort(Effort::Quick));
    found.expect("a simulated machine is characterized").characterization
}

fn one(machine: &Machine, part: PartName) -> Part {
    let mut found = characterized(machine, &[part], &[1, 32]);
    let part = found.parts.remove(&part).expect("it was asked for");
    assert_eq!(part.unanswered, None, "{}", machine.spec.device.name);
    part
}

fn figure<'p>(part: &'p Part, name: &str) -> &'p Figure {
    part.figures.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("no figure {name}"))
}

/// Distances at which the level that answers changes, of a path whose caches each keep what a load fetched.
fn steps(spec: &Spec, path: &Path) -> Vec<u64> {
    let mut steps: Vec<u64> = Vec::new();
    for level in &path.levels {
        let fetched = spec.cache[level].sector_bytes();
        // A level behind one that fetches more never answers the second load.
        if steps.last().is_none_or(|&before| fetched > before) && fetched <= 512 {
            steps.push(fetched);
        }
    }
    steps
}

#[test]
fn jumps_step_at_what_the_machine_fetches() {
    for machine in machines() {
        let part = one(&machine, PartName::Locality);
        let spec = &machine.spec;
        let paths = [
            ("texture_steps", spec.path.texture.as_ref()),
            ("constant_steps", Some(&spec.path.constant)),
            ("global_ca_steps", Some(&spec.path.global_ca)),
            ("global_cg_steps", Some(&spec.path.global_cg)),
        ];
        for (name, path) in paths {
            let Some(path) = path else { continue };
            let found: Vec<u64> = part.findings[name].get::<Sizes>().unwrap().0.iter().map(|size| size.0).collect();
            assert_eq!(found, steps(spec, path), "{} {name}", spec.device.name);
        }
        let shared = &part.findings["shared_steps"];
        assert_eq!(shared.get(), Some(&Sizes::default()), "{}: shared memory has no lines", spec.device.name);
    }
}

/// Half of the loads go to memory and half to the level of the jump, so that the paper's formula holds of what has no other cost.
#[test]
fn formula_2_holds_of_simulated_machines() {
    for machine in machines() {
        let part = one(&machine, PartName::Locality);
        for path in ["shared", "constant", "global_cg"] {
            let off = &part.findings[&format!("{path}_off_formula")];
            let percent = off.number().unwrap_or_else(|| panic!("{} {path}: {off:?}", machine.spec.device.name));
            // Near and far memory differ on the A100 and the H200.
            assert!(percent.abs() <= 10.0, "{} {path}: {off:?}", machine.spec.device.name);
        }
        assert!(figure(&part, "formula").lines.iter().any(|line| line.label == "ld.global.cg, formula 2"));
    }
}

/// Lanes of a warp cost each other time, warps do not, until what they read is more than the L1 keeps.
#[test]
fn more_threads_wait_longer_up_to_a_warp_and_again_beyond_the_l1() {
    for machine in machines() {
        let suite = Suite { parts: vec![PartName::Coalescing], ..Suite::default() };
        let found = sim::device(&machine).characterize(&suite, Options::effort(Effort::Quick));
        let part = &found.expect("a simulated machine is characterized").characterization.parts[&PartName::Coalescing];
        let name = &machine.spec.device.name;
        let plateau = &part.findings["plateau_threads"];
        assert_eq!(plateau.number(), Some(32.0), "{name}: {plateau:?}");
        let first = &machine.spec.path.global_ca.levels[0];
        let cache = &machine.spec.cache[first];
        // At the widest distance of the suite; each thread reads 4 KiB.
        let read = |threads: f64| (threads - 1.0) * 1024.0 + 4096.0;
        let size = cache.size.0 as f64;
        if cache.scope != Scope::Sm || read(32.0) > size {
            continue;
        }
        let rise = &part.findings["rise_threads"];
        let threads = rise.number().unwrap_or_else(|| panic!("{name}: {rise:?}"));
        assert!(read(threads) > size && read(threads / 2.0) <= size, "{name}: {threads} threads, an L1 of {size} B");
    }
}

#[test]
fn the_window_is_the_machines() {
    for machine in machines() {
        let part = one(&machine, PartName::Coalescing);
        let spec = &machine.spec;
        let cached = spec.path.global_ca.levels.first().is_some_and(|level| spec.cache[level].scope == Scope::Sm);
        let expected = if cached { spec.pipeline.coalescing.get() } else { 32 };
        let name = &spec.device.name;
        assert_eq!(part.findings["ca_window"].get(), Some(&Bytes(expected)), "{name}");
        assert_eq!(part.findings["cg_window"].get(), Some(&Bytes(32)), "{name}");
        // The times give the pieces that the window makes of a request.
        let moved = figure(&part, "moved");
        let implied =
            moved.lines.iter().find(|line| line.label == "implied by ld.global.ca").expect("the window was found");
        for point in &implied.points {
            let pieces = (32.0 * point.x / expected as f64).ceil().clamp(1.0, 32.0);
            assert!(
                (point.value - pieces).abs() <= 0.15 * pieces,
                "{name}: {} pieces at {} B, not {pieces}",
                point.value,
                point.x
            );
        }
    }
}

#[test]
fn further_constants_cost_what_the_machine_says() {
    for machine in machines() {
        let part = one(&machine, PartName::Constant);
        let expected = machine.spec.pipeline.constant_word.get() as f64;
        for name in ["further_word_4_b_apart", "further_word_64_b_apart"] {
            let found = part.findings[name].number().expect("it is a number");
            assert!(
                (found - expected).abs() <= 0.1 * expected,
                "{} {name}: {found}, not {expected}",
                machine.spec.device.name
            );
        }
    }
}

#[test]
fn an_index_that_all_lanes_share_takes_the_uniform_path() {
    let machine = Machine::named("h200").expect("it comes with strata");
    let part = one(&machine, PartName::Constant);
    let (spec, arithmetic) = (&machine.spec, machine.spec.pipeline.arithmetic.get());
    let uniform = spec.path.constant_uniform.as_ref().expect("it has one").cycles[0].get() + arithmetic;
    let indexed = spec.path.constant.cycles[0].get() + arithmetic;
    for (name, expected) in [("uniform", uniform as f64), ("indexed", indexed as f64)] {
        let found = &part.findings[name];
        // The time around all loads is part of the value, and the interval says so.
        assert!((found.number().unwrap() - expected).abs() < 0.1, "{name}: {found:?}");
        assert!(found.low <= Some(expected) && Some(expected) <= found.high, "{name}: {found:?}");
    }
}

#[test]
fn a_barrier_costs_what_the_machine_says() {
    for machine in machines().into_iter().take(1) {
        let part = one(&machine, PartName::Synchronization);
        let block = part.findings["block_barrier_32_threads"].number().expect("it is a number");
        let warp = part.findings["warp_barrier_32_threads"].number().expect("it is a number");
        let barrier = machine.spec.pipeline.barrier.get() as f64;
        // Each pass of the outer loop has the same instructions besides.
        assert!((block - warp - barrier).abs() <= 1.0, "{block} and {warp} cycles, a barrier of {barrier}");
        assert!(part.findings["grid_barrier"].number() > Some(block), "a barrier of the grid goes through memory");
    }
}

#[test]
fn what_a_simulated_machine_has_not_is_said() {
    let machine = Machine::named("k20c").expect("it comes with strata");
    let found = characterized(&machine, &[PartName::Spilling, PartName::Intensity, PartName::Operands], &[1, 32]);
    let none =
        [(PartName::Spilling, "compiler"), (PartName::Intensity, "arithmetic"), (PartName::Operands, "arithmetic")];
    for (name, why) in none {
        let reason = found.parts[&name].unanswered.as_ref().and_then(|f| f.reason.clone()).expect("it has no answer");
        assert!(reason.contains("simulated") && reason.contains(why), "{reason}");
        assert!(!found.parts[&name].unanswered.as_ref().unwrap().failed, "{reason}");
    }
}

#[test]
fn lanes_that_count_in_one_word_wait_for_each_other() {
    let machine = Machine::named("k20c").expect("it comes with strata");
    let part = one(&machine, PartName::Histogram);
    // Lanes that want one word of shared memory wait for each other; of 32 words drawn at random few share a bank.
    assert!(part.findings["shared_skew"].number() > Some(10.0), "{:?}", part.findings["shared_skew"]);
}

#[test]
fn an_array_serves_columns_as_it_serves_rows() {
    let machine = Machine::named("k20c").expect("it comes with strata");
    let part = one(&machine, PartName::Texture2d);
    let walks = figure(&part, "walks");
    let at = |line: usize, x: f64| walks.lines[line].points.iter().find(|p| p.x == x).expect("it was measured").value;
    let [array, linear] = [0, 1];
    assert!(at(array, 1.0) < 1.5 * at(array, 0.0), "columns of an array: {} and {}", at(array, 1.0), at(array, 0.0));
    assert!(
        at(linear, 1.0) > 1.5 * at(linear, 0.0),
        "columns of linear memory: {} and {}",
        at(linear, 1.0),
        at(linear, 0.0)
    );
}

#[test]
fn a_cube_in_an_array_has_cheaper_layers_than_in_linear_memory() {
    let machine = Machine::named("k20c").expect("it comes with strata");
    let part = one(&machine, PartName::Texture3d);
    let [rows, layers] = ["array_rows_from_memory", "array_layers_from_memory"].map(|name| &part.findings[name]);
    assert!(rows.number().is_some() && layers.number() < rows.number(), "{rows:?} and {layers:?}");
}

#[test]
fn a_filter_costs_what_the_machine_says() {
    for filtering in [0, 9] {
        let text = Machine::named("840m").expect("it comes with strata").text;
        let text = text.replacen("[pipeline]\n", &format!("[pipeline]\nfiltering = {filtering}\n"), 1);
        let machine = Machine::parse("840m", &text).expect("it is sound");
        let part = one(&machine, PartName::Texture2d);
        for (name, expected) in [("linear_filtering", filtering as f64), ("normalized_coordinates", 0.0)] {
            let found = &part.findings[name];
            let within =
                found.low.is_some_and(|low| low <= expected) && found.high.is_some_and(|high| expected <= high);
            assert!(within && found.number().is_some_and(|n| (n - expected).abs() < 0.5), "{name}: {found:?}");
        }
    }
}

/// The writes of a warp go out one transaction after the other.
#[test]
fn scattered_writes_cost_their_transactions() {
    for machine in machines() {
        let part = one(&machine, PartName::Coalescing);
        let line =
            figure(&part, "writes").lines.iter().find(|line| line.label == "32 threads").expect("it was asked for");
        let at = |x: f64| line.points.iter().find(|point| point.x == x).expect("it was measured").value;
        let pipeline = &machine.spec.pipeline;
        let cached = machine.spec.path.global_ca.levels.first().map(|level| machine.spec.cache[level].scope);
        let window = if cached == Some(Scope::Sm) { pipeline.coalescing.get() } else { 32 };
        let expected = (32 - 128 / window) * pipeline.transaction.get();
        let found = at(1024.0) - at(4.0);
        // Memory that takes less than a sector a cycle may keep them waiting longer.
        if machine.spec.memory.bandwidth.is_some_and(|rate| rate.bytes() < 32.0) {
            assert!(found > expected as f64 - 1.0, "{}: {found}, less than {expected}", machine.spec.device.name);
            continue;
        }
        assert!((found - expected as f64).abs() < 1.0, "{}: {found}, not {expected}", machine.spec.device.name);
    }
}

#[test]
fn a_field_of_structures_takes_longer_the_larger_they_are() {
    let machine = Machine::named("gtx560ti").expect("it comes with strata");
    let part = one(&machine, PartName::Coalescing);
    let sizes = [8, 16, 32, 64].map(|size| part.findings[&format!("field_of_{size}_b_structure")].number());
    assert!(sizes.is_sorted() && sizes[3] > Some(0.0), "{sizes:?}");
}

#[test]
fn every_point_has_an_interval_around_it_and_its_experiments() {
    let machine = Machine::named("k20c").expect("it comes with strata");
    let parts = [PartName::Constant, PartName::Banks, PartName::ReadOnly];
    let found = characterized(&machine, &parts, &[1, 32]);
    for (name, part) in &found.parts {
        assert!(!part.question.is_empty() && !part.meaning.is_empty() && !part.figures.is_empty(), "{name}: {part:?}");
        for point in part.figures.iter().flat_map(|f| &f.lines).flat_map(|l| &l.points) {
            assert!(point.low <= point.value && point.value <= point.high, "{name}: {point:?}");
            assert!(!point.experiments.is_empty(), "{name}: {point:?}");
        }
        for (finding, value) in &part.findings {
            let between = |v: f64| value.low.is_none_or(|low| low <= v) && value.high.is_none_or(|high| v <= high);
            assert!(value.number().is_none_or(between), "{name} {finding}: {value:?}");
            assert!(value.is_known() || value.reason.is_some(), "{name} {finding}");
        }
    }
}

/// The roofline is the arithmetic of the cores over the widths of the machine file.
#[test]
fn a_roofline_is_arithmetic_over_widths() {
    let machine = Machine::named("840m").unwrap();
    let part = one(&machine, PartName::Roofline);
    let spec = &machine.spec;
    let sms = spec.device.multiprocessors.get() as f64;
    // Two operations of a multiply-add, and 128 cores.
    let operations = 256.0;
    assert_eq!(part.findings["operations"].number(), Some(operations));
    let widths = [
        ("shared", spec.shared.bandwidth.unwrap().bytes()),
        ("l2", spec.cache["l2"].bandwidth.unwrap().bytes() / sms),
        ("dram", spec.memory.bandwidth.unwrap().bytes() / sms),
    ];
    for (ending, width) in widths {
        let balance = &part.findings[&format!("balance_{ending}")];
        let (low, high) = (balance.low.unwrap(), balance.high.unwrap());
        let truth = operations / width;
        assert!((low..=high).contains(&truth), "{ending}: {truth} is not in {low} to {high}");
        assert!(high < 1.1 * low, "{ending}: {low} to {high}");
    }
    assert_eq!(
        part.findings["balance_l1"].reason.as_deref(),
        Some("on this device the SM does not cache ld.global.ca")
    );
    let figure = &part.figures[0];
    assert!(figure.lines.iter().all(|line| line.points.last().unwrap().value == operations), "{figure:?}");
    assert_eq!(figure.lines.len(), widths.len());
}
