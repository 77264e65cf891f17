//! Small texts: the list of devices, one line for a sample, where the time went.

use std::fmt::Write;
use std::time::{Duration, SystemTime};

use comfy_table::{Table, presets};

use strata_bench::Timings;
use strata_infer::analysis::cluster;
use strata_infer::asking::Stage;
use strata_model::experiment::{
    ClusterStream, CopyStream, Experiment, Launched, LoadPath, PartitionChase, PartitionStream, Persistent, Transfer,
    Watched, WindowStream,
};
use strata_model::facts::Listed;
use strata_model::pattern::Pattern;
use strata_model::samples::{Failure, Samples};
use strata_model::units::{Bytes, BytesPerSecond, OperationsPerClock};

/// The devices as a table.
pub fn devices(listed: &[Listed]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["device", "name", "capability", "memory", "PCI", "UUID"]);
    for device in listed {
        let (major, minor) = device.compute_capability;
        table.add_row([
            format!("cuda:{}", device.ordinal),
            device.name.clone(),
            format!("{major}.{minor}"),
            Bytes(device.total_memory).to_string(),
            device.pci.clone().unwrap_or_else(|| "unknown".into()),
            device.uuid.clone().unwrap_or_else(|| "unknown".into()),
        ]);
    }
    trimmed(&table)
}

/// A table without the padding at the beginnings and ends of its lines.
pub(super) fn trimmed(table: &Table) -> String {
    let lines: Vec<String> =
        table.lines().map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

/// What came back from one experiment, on one line.
pub fn sample_line(number: u32, experiment: &Experiment, answer: &Result<Samples, Failure>) -> String {
    let walk = |path: LoadPath, footprint: Bytes, apart: Bytes| {
        let (name, path, footprint) = (experiment.name(), path.name(), footprint.to_string());
        format!("{name:<13} {path:<6} {footprint:>10} / {:<5}", apart.0)
    };
    let what = match experiment {
        Experiment::Clock(clock) => format!("{:<13} SM {}, {} us:", experiment.name(), clock.sm, clock.span_us),
        Experiment::Watch(watch) => format!("{:<13} SM {}, {} us:", experiment.name(), watch.sm, watch.span_us),
        Experiment::Chase(chase) => walk(chase.path, chase.footprint, chase.stride),
        Experiment::Launched(Launched { chase, threads_per_block, shared_per_block }) => format!(
            "{} by blocks of {threads_per_block} threads with {shared_per_block}:",
            walk(chase.path, chase.footprint, chase.stride)
        ),
        Experiment::Disturb(disturb) => walk(disturb.path, disturb.footprint, disturb.stride),
        Experiment::Warp(warp) => walk(LoadPath::Shared, warp.footprint, warp.width.bytes()),
        Experiment::Pattern(run) => format!("{}:", in_words(&run.pattern, run.path)),
        Experiment::Stream(stream) => format!("{stream}:"),
        Experiment::LoadedChase(chase) => format!("{chase}:"),
        Experiment::PartitionStream(stream) => format!("{stream}:"),
        Experiment::PartitionChase(chase) => format!("{chase}:"),
        Experiment::ClusterStream(stream) => format!("{stream}:"),
        Experiment::AsyncCopy(copy) => format!("{copy}:"),
        Experiment::CodeWalk(walk) => format!("{walk}:"),
        Experiment::PageWalk(walk) => format!("{walk}:"),
        Experiment::Residency(residency) => format!("{residency}:"),
        Experiment::Displacement(displacement) => format!("{displacement}:"),
        Experiment::Contention(contention) => format!("{contention}:"),
        Experiment::WindowStream(stream) => format!("{stream}:"),
        Experiment::CopyStream(stream) => format!("{stream}:"),
        Experiment::Transfer(transfer) => format!("{transfer}:"),
        Experiment::Atomics(atomics) => format!("{atomics}:"),
        Experiment::Clusters(clusters) => format!("{clusters}:"),
        Experiment::Distributed(distributed) => format!("{distributed}:"),
        Experiment::Imported(imported) => {
            let series = imported.series;
            let over = imported.footprint.map_or(String::new(), |footprint| format!(", {footprint}"));
            let at = imported.stride.map_or(String::new(), |stride| format!(", every {} B", stride.0));
            format!("imported {}, {}{over}{at}:", series.level.name(), series.question.name())
        }
    };
    let result = match answer {
        Err(failure) => format!("failed: {failure}"),
        Ok(samples) if let (Experiment::Watch(_), Some(seen)) = (experiment, Watched::of(samples)) => {
            format!("{:.1} MHz, at most {:.1} us between two reads", seen.clock_mhz, seen.longest_us)
        }
        Ok(samples)
            if let Experiment::Stream(stream)
            | Experiment::WindowStream(WindowStream { stream, .. })
            | Experiment::PartitionStream(PartitionStream { stream, .. })
            | Experiment::ClusterStream(ClusterStream { stream, .. })
            | Experiment::CopyStream(CopyStream { stream, .. }) = experiment =>
        {
            match stream.counted(samples) {
                Some(seen) => format!("{:.1} B/clk of an SM", seen.per_sm()),
                None => "no times".to_owned(),
            }
        }
        Ok(samples)
            if let Experiment::LoadedChase(chase) | Experiment::PartitionChase(PartitionChase { chase, .. }) =
                experiment =>
        {
            match chase.stream.counted(samples) {
                Some(seen) => {
                    let cycles = samples.latencies.iter().map(|&cycles| f64::from(cycles)).sum::<f64>();
                    let loads = samples.latencies.len();
                    format!("{:.0} cycles per load beside {:.1} B/clk", cycles / loads.max(1) as f64, seen.total())
                }
                None => "no times".to_owned(),
            }
        }
        Ok(samples) if let Experiment::Transfer(transfer) = experiment => match Transfer::nanoseconds(samples) {
            Some(time) => {
                let bytes = transfer.bytes.0 * transfer.direction.copies();
                format!("{:.1} us, {}", time as f64 / 1e3, BytesPerSecond(bytes as f64 * 1e9 / time as f64))
            }
            None => "no time".to_owned(),
        },
        Ok(samples) if let Experiment::Atomics(atomics) = experiment => match atomics.counted(samples) {
            Some(seen) => format!("{} together", OperationsPerClock(seen.total())),
            None => "no times".to_owned(),
        },
        Ok(samples) if let Experiment::Clusters(clusters) = experiment => {
            let of_cluster = |sms: &[u32]| sms.iter().map(u32::to_string).collect::<Vec<_>>().join("+");
            format!("on SMs {}", clusters.of(samples).map(of_cluster).collect::<Vec<_>>().join(" "))
        }
        Ok(samples) if let Experiment::CodeWalk(walk) = experiment => match walk.jumps_taken(samples) {
            Some(taken) => {
                let (least, most) = taken.iter().fold((f64::MAX, f64::MIN), |(a, b), &(_, x)| (a.min(x), b.max(x)));
                format!("{least:.1} to {most:.1} cycles a jump")
            }
            None => "no times".to_owned(),
        },
        Ok(samples) if let Experiment::PageWalk(walk) = experiment => match walk.rises(samples) {
            Some(rises) => {
                let (least, most) = rises.iter().fold((f64::MAX, f64::MIN), |(a, b), &(_, x)| (a.min(x), b.max(x)));
                format!("{least:.1} to {most:.1} cycles a visit more")
            }
            None => "no times".to_owned(),
        },
        Ok(samples) if let Experiment::AsyncCopy(copy) = experiment => match copy.step(samples) {
            Some(cycles) => format!("{cycles:.1} cycles a step"),
            None => "no times".to_owned(),
        },
        Ok(samples) if let Experiment::Distributed(distributed) = experiment => {
            match distributed.steps_taken(samples) {
                Some(taken) => {
                    let cycles = taken.iter().map(|&(.., cycles)| cycles);
                    let (least, most) = cycles.fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
                    format!("{least:.1} to {most:.1} cycles a step")
                }
                None => "no times".to_owned(),
            }
        }
        Ok(samples) if !samples.clocks.is_empty() => {
            let span = samples.clocks[0];
            format!("{:.1} MHz", span.cycles as f64 / span.nanoseconds as f64 * 1e3)
        }
        Ok(samples) if matches!(experiment, Experiment::Pattern(_)) && !samples.laps.is_empty() => rounds(samples),
        Ok(samples) if !samples.laps.is_empty() => {
            let loads: u64 = samples.laps.iter().map(|l| u64::from(l.loads)).sum();
            let cycles: u64 = samples.laps.iter().map(|l| l.cycles).sum();
            format!("{:.2} cycles per load", cycles as f64 / loads as f64)
        }
        Ok(samples) => {
            let levels = cluster::levels(&samples.latencies);
            let shown: Vec<String> = levels.iter().map(|l| format!("{:.0} ({})", l.centre, l.count)).collect();
            format!("{} loads, cycles (how many): {}", samples.latencies.len(), shown.join(", "))
        }
    };
    format!("{number:>5} {what} {result}\n")
}

/// A pattern on one line: its name, its path, its parameters.
fn in_words(pattern: &Pattern, path: LoadPath) -> String {
    // A pattern is its name with its parameters; whatever else it came to be, its JSON says it, too.
    let value = serde_json::to_value(pattern).unwrap_or_default();
    let Some((name, serde_json::Value::Object(parameters))) = value.as_object().and_then(|o| o.iter().next()) else {
        return format!("pattern {} {value}", path.name());
    };
    let word = |value: &serde_json::Value| value.as_str().map_or(value.to_string(), str::to_owned);
    let parameters: Vec<String> = parameters.iter().map(|(key, value)| format!("{key} {}", word(value))).collect();
    format!("{name:<13} {:<6} {}", path.name(), parameters.join(", "))
}

/// What threads at work took: a round of many has found the caches as the one before it left them.
fn rounds(samples: &Samples) -> String {
    let mut cycles: Vec<f64> = samples.laps.iter().map(|lap| lap.cycles as f64 / f64::from(lap.loads.max(1))).collect();
    let first = cycles[0];
    cycles.sort_unstable_by(f64::total_cmp);
    let median = cycles[cycles.len() / 2];
    let program = samples.program.map_or(String::new(), |program| {
        format!("; {} registers, {} of local memory", program.registers, Bytes(program.local_bytes.into()))
    });
    format!("{median:.2} cycles per operation, the first of {} rounds {first:.2}{program}", cycles.len())
}

/// Where the time of a run went.
pub fn timings(opened: Duration, bench: &Timings, stages: &[Stage], board: Duration, total: Duration) -> String {
    let ms = |d: Duration| format!("{:>9.1} ms", d.as_secs_f64() * 1e3);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{}  driver opened", ms(opened));
    let _ = writeln!(out, "{}  kernels compiled", ms(bench.compile));
    for stage in stages {
        let _ = writeln!(
            out,
            "{}  {} ({} experiments in {} batches; inference {:.1} ms)",
            ms(stage.measuring),
            stage.name,
            stage.experiments,
            stage.batches,
            stage.inferring.as_secs_f64() * 1e3
        );
    }
    let _ = writeln!(out, "{}  facts of host and board", ms(board));
    let _ = writeln!(out, "of which on the device, by kernel:");
    for (kernel, (launches, spent)) in &bench.kernels {
        let _ = writeln!(out, "{}  {kernel} ({launches} launches)", ms(*spent));
    }
    let _ = writeln!(out, "{}  chains and copies", ms(bench.transfer));
    let _ = writeln!(out, "{}  in all", ms(total));
    out
}

/// Now, as RFC 3339 in UTC, to the second.
pub fn utc_now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::experiment::PatternRun;
    use strata_model::pattern::Scope;
    use strata_model::samples::{Lap, ProgramFacts};

    #[test]
    fn a_pattern_has_a_line_of_its_own() {
        let barriers = Pattern::Barriers { threads: 32, blocks: 1, writes: 8, between: 4, scope: Scope::Block };
        let experiment = Experiment::from(PatternRun::new(barriers, LoadPath::GlobalCa, 3));
        let lap = |cycles| Lap { loads: 8, cycles };
        let mut samples = Samples { laps: vec![lap(800), lap(80), lap(96)], ..Samples::default() };
        let what = "    7 barriers      ca     threads 32, blocks 1, writes 8, between 4, scope block:";
        let line = |samples: &Samples| sample_line(7, &experiment, &Ok(samples.clone()));
        assert_eq!(line(&samples), format!("{what} 12.00 cycles per operation, the first of 3 rounds 100.00\n"));
        samples.program = Some(ProgramFacts { registers: 40, local_bytes: 1024, ..ProgramFacts::default() });
        assert!(line(&samples).ends_with("; 40 registers, 1 KiB of local memory\n"), "{}", line(&samples));
        let failed = sample_line(7, &experiment, &Err(Failure::failed("no grid")));
        assert_eq!(failed, format!("{what} failed: no grid\n"));
    }
}
