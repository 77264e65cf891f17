//! Bandwidth on simulated machines, through the library's front: what streams give is what the machine's file says.

use crate::sim;
use gpu_strata::{Device, Effort, Options, Recording};
use strata_model::attribute::{
    BOTH_WAYS_BANDWIDTH, BULK_COPY_BANDWIDTH, BULK_COPY_DRAM_BANDWIDTH, CP_ASYNC_BANDWIDTH, CP_ASYNC_DRAM_BANDWIDTH,
    DEVICE_TO_HOST_BANDWIDTH, EFFECTIVE_SIZE, FAR_LOADED_LATENCY, FAR_READ_BANDWIDTH, FAR_WRITE_BANDWIDTH,
    HOST_TO_DEVICE_BANDWIDTH, LOADED_LATENCY, NEAR_LOADED_LATENCY, NEAR_READ_BANDWIDTH, NEAR_WRITE_BANDWIDTH,
    OUTSTANDING_LOADS, READ_BANDWIDTH, READ_BANDWIDTH_PER_SM, SATURATING_SMS, WRITE_BANDWIDTH, WRITE_BANDWIDTH_PER_SM,
};
use strata_model::experiment::{
    AccessWidth, Content, Counted, Experiment, LoadPath, Persistent, Prepare, Region, Stream, Traffic,
};
use strata_model::topology::{
    BANDWIDTH_BY_BYTES_IN_FLIGHT, BANDWIDTH_BY_FOOTPRINT, BANDWIDTH_BY_SMS, Element, ElementName, Finding,
    LATENCY_BY_READ_BANDWIDTH, LATENCY_BY_WRITE_BANDWIDTH, Wanted,
};
use strata_model::units::Bytes;

/// A machine with few SMs, so that streams on all of them take little time.
const MACHINE: &str = "sim:840m";

fn stream(path: LoadPath, region: Region, footprint: Bytes) -> Stream {
    Stream {
        traffic: Traffic::Read,
        path,
        width: AccessWidth::B16,
        unroll: 4,
        threads_per_block: 512,
        blocks_per_sm: 2,
        sms: Vec::new(),
        footprint,
        region,
        content: Content::Random,
        prepare: Prepare::Nothing,
        warm_cycles: 6_000,
        timed_cycles: 12_000,
        repeat: 0,
    }
}

fn measured(streams: &[Stream]) -> Vec<Result<Counted, String>> {
    measured_on(MACHINE, streams)
}

fn measured_on(machine: &str, streams: &[Stream]) -> Vec<Result<Counted, String>> {
    let mut device = Device::open(machine).expect("a simulated machine");
    let experiments: Vec<Experiment> = streams.iter().cloned().map(Experiment::from).collect();
    let answers = device.measure(&experiments, Options::default()).expect("a run");
    let of = |(stream, answer): (&Stream, Result<_, _>)| match answer {
        Ok(samples) => Ok(stream.counted(&samples).expect("samples of a stream")),
        Err(failure) => Err(format!("{failure}")),
    };
    streams.iter().zip(answers).map(of).collect()
}

/// What a machine's file says of a section, in bytes a cycle.
fn stated_in(text: &str, section: &str) -> f64 {
    let within = text.split(&format!("\n[{section}]\n")).nth(1).expect("the section");
    let line = within.lines().find_map(|line| line.strip_prefix("bandwidth = ")).expect("its bandwidth");
    line.parse().expect("a number")
}

fn stated(section: &str) -> f64 {
    stated_in(include_str!("../../machines/840m.toml"), section)
}

#[test]
fn streams_reach_the_width_of_each_memory() {
    let own = |path| stream(path, Region::Own, Bytes::kib(8));
    // It gives 12 bytes a cycle, so the queues of all warps take long to fill.
    let (warm_cycles, timed_cycles) = (60_000, 120_000);
    let dram = Stream { warm_cycles, timed_cycles, ..stream(LoadPath::GlobalCg, Region::Together, Bytes::mib(16)) };
    let copy = Stream { traffic: Traffic::Copy, ..dram.clone() };
    let triad = Stream { traffic: Traffic::Triad, unroll: 2, ..dram.clone() };
    let streams = [own(LoadPath::Shared), dram, copy, triad];
    let rates: Vec<Counted> = measured(&streams).into_iter().map(Result::unwrap).collect();
    // Its L1 has no global loads.
    let l1 = measured_on("sim:k20c", &[own(LoadPath::GlobalCa)]).remove(0).unwrap();
    for (rate, limit) in [
        (l1.per_sm(), stated_in(include_str!("../../machines/k20c.toml"), "cache.l1")),
        (rates[0].per_sm(), stated("shared")),
        (rates[1].total(), stated("memory")),
        (rates[2].total(), stated("memory")),
        (rates[3].total(), stated("memory")),
    ] {
        assert!((0.94..1.04).contains(&(rate / limit)), "{rate:.1} of {limit} B/clk: {rates:?}");
    }
}

#[test]
fn textures_and_constants_come_as_fast_as_their_path_gives_them() {
    // Texels of 4 B do not fill a wide path.
    let textures = [AccessWidth::B8, AccessWidth::B16].map(|width| Stream {
        width,
        sms: vec![0],
        ..stream(LoadPath::Texture, Region::Own, Bytes::kib(8))
    });
    let constants = Stream {
        width: AccessWidth::B4,
        unroll: 16,
        sms: vec![0],
        ..stream(LoadPath::Constant, Region::Own, Bytes::kib(1))
    };
    for machine in ["840m", "k20c", "h200"] {
        let text = std::fs::read_to_string(format!("machines/{machine}.toml")).unwrap();
        let streams: Vec<Stream> = textures.iter().chain([&constants]).cloned().collect();
        let rates = measured_on(&format!("sim:{machine}"), &streams);
        for (rate, path) in rates.into_iter().zip(["texture", "texture", "constant"]) {
            let (each, limit) = (rate.unwrap().per_sm(), stated_in(&text, &format!("path.{path}")));
            assert!((0.92..1.04).contains(&(each / limit)), "{machine}: {each:.2} of {limit} B/clk by {path}");
        }
    }
}

#[test]
fn few_bytes_in_flight_are_answered_one_latency_after_the_other() {
    let few = Stream {
        threads_per_block: 32,
        blocks_per_sm: 1,
        unroll: 1,
        ..stream(LoadPath::GlobalCg, Region::Own, Bytes::kib(8))
    };
    let more = Stream { unroll: 4, ..few.clone() };
    let rates: Vec<f64> = measured(&[few, more]).into_iter().map(|rate| rate.unwrap().per_sm()).collect();
    let factor = rates[1] / rates[0];
    assert!((2.5..4.0).contains(&factor), "four times as many bytes in flight: {rates:?}");
}

#[test]
fn what_an_sm_cannot_hold_at_once_is_refused() {
    let crowded =
        Stream { blocks_per_sm: 8, threads_per_block: 1024, ..stream(LoadPath::GlobalCa, Region::Own, Bytes::kib(8)) };
    let reason = measured(&[crowded]).remove(0).unwrap_err();
    assert!(reason.contains("8 blocks of 1024 threads were not on each SM at the same time"), "{reason}");
}

#[test]
fn a_discovery_states_bandwidth_where_it_is_asked_for_and_a_recording_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let limit = stated("shared");
    // One that is named is asked for without a further word.
    for (seed, only, bandwidth) in [(1, "shared", true), (2, "shared.read_bandwidth", false)] {
        let path = folder.path().join(format!("{seed}.strata"));
        let options = Options::effort(Effort::Quick).seed(seed).bandwidth(bandwidth).record(&path);
        let only: [Wanted; 1] = [only.parse().unwrap()];
        let found = Device::open(MACHINE).unwrap().discover_only(&only, options).unwrap();
        let element = &found.topology.elements[&ElementName::Shared];
        let each = element.interval(READ_BANDWIDTH_PER_SM).unwrap();
        assert!(each.low.0 <= limit && limit <= 1.01 * each.high.0, "seed {seed}: {each:?} for {limit}");
        assert!(element.known(READ_BANDWIDTH).is_some() && element.finding(WRITE_BANDWIDTH_PER_SM).is_none());
        let replayed = Recording::open(&path).unwrap().replay().unwrap();
        let gpu_strata::Answer::Discovery(replayed) = replayed else { panic!("not a discovery") };
        assert_eq!(replayed.topology.elements, found.topology.elements);
    }
    let without = Device::open(MACHINE).unwrap().discover_only(&[ElementName::Shared], Options::effort(Effort::Quick));
    assert!(without.unwrap().topology.elements[&ElementName::Shared].finding(READ_BANDWIDTH).is_none());
}

/// [`MACHINE`] with other widths of the L2 and of memory, in bytes a cycle.
fn with_widths(l2: f64, memory: f64) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let mut section = String::new();
    let mut line = |line: &str| {
        if line.starts_with('[') {
            section = line.to_owned();
        }
        match (section.as_str(), line.starts_with("bandwidth = ")) {
            ("[cache.l2]", true) => format!("bandwidth = {l2}"),
            ("[memory]", true) => format!("bandwidth = {memory}"),
            _ => line.to_owned(),
        }
    };
    let text: Vec<String> = include_str!("../../machines/840m.toml").lines().map(&mut line).collect();
    std::fs::write(file.path(), text.join("\n")).unwrap();
    file
}

/// A GPU of which most memory is taken measures DRAM over what is free, and says so.
#[test]
fn little_free_memory_is_said_of_the_bandwidth_of_dram() {
    let only: [Wanted; 1] = ["dram.read_bandwidth".parse().unwrap()];
    let of = |memory: &str| {
        let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
        let text = include_str!("../../machines/840m.toml");
        let text = text.replace("\nmemory = \"2005 MiB\"", &format!("\nmemory = \"{memory}\""));
        std::fs::write(file.path(), text).unwrap();
        let device = format!("sim:{}", file.path().display());
        let found = Device::open(&device).unwrap().discover_only(&only, Options::effort(Effort::Quick)).unwrap();
        let element = &found.topology.elements[&ElementName::Dram];
        let finding = element.finding(READ_BANDWIDTH).unwrap();
        (element.known(READ_BANDWIDTH).is_some(), finding.note.clone().unwrap_or_default())
    };
    let (known, notes) = of("2005 MiB");
    assert!(known && !notes.contains("too little memory"), "{notes}");
    // An eighth of it is half of the eight megabytes that it should be.
    let (known, notes) = of("32 MiB");
    assert!(known && notes.contains("too little memory is free: an array has 3.9"), "{notes}");
}

/// Whatever the L2 and memory give is found, and no launch over more than the L2 holds moves more than memory gives: not one of the
/// search either, in which the L2 may still have what the launch before left there.
#[test]
fn widths_drawn_at_random_are_found() {
    let only: [Wanted; 2] = ["l2.read_bandwidth", "dram.read_bandwidth"].map(|key| key.parse().unwrap());
    for &seed in sim::sample(2, &[1, 2, 3, 4u64]) {
        let dice = |number: u32, most: u64| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(8 * number) % most;
        let (l2, memory) = (40.0 + dice(0, 90) as f64, 6.0 + dice(1, 60) as f64 / 4.0);
        let file = with_widths(l2, memory);
        let path = file.path().with_extension("strata");
        let options = Options::effort(Effort::Quick).seed(seed).record(&path);
        let found =
            Device::open(&format!("sim:{}", file.path().display())).unwrap().discover_only(&only, options).unwrap();
        for (element, width) in [(ElementName::L2, l2), (ElementName::Dram, memory)] {
            let each = found.topology.elements[&element].interval(READ_BANDWIDTH_PER_SM).unwrap();
            let (low, high) = (3.0 * each.low.0, 3.0 * each.high.0);
            // Warps of a simulation stay in step, so that all of them may count for a pass more or less.
            assert!(low <= 1.05 * width && width <= 1.05 * high, "seed {seed}: {element} {low} to {high} for {width}");
        }
        let recorded = strata_recording::Recording::read(&path).unwrap();
        let mut launches = 0;
        for entry in recorded.entries.iter() {
            let (Experiment::Stream(stream), Ok(samples)) = (&entry.experiment, &entry.outcome) else { continue };
            if stream.footprint > Bytes::mib(1) {
                let rate = stream.counted(samples).unwrap().total();
                // A pass at the ends counts for several hundredths.
                assert!(rate <= 1.15 * memory, "seed {seed}: {rate} for {memory} by {stream}");
                launches += 1;
            }
        }
        assert!(launches > 30, "seed {seed}: {launches} launches");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn the_bus_to_the_host_gives_each_way_what_the_file_says() {
    let text = include_str!("../../machines/840m.toml");
    let clock = text.lines().find_map(|line| line.strip_prefix("mhz = ")).unwrap().parse::<f64>().unwrap() * 1e6;
    let width = text.lines().find_map(|line| line.strip_prefix("host_bandwidth = ")).unwrap().parse::<f64>().unwrap();
    for &seed in sim::sample(1, &[1, 2, 3]) {
        let options = Options::effort(Effort::Quick).seed(seed).bandwidth(true);
        let found = Device::open(MACHINE).unwrap().discover_only(&[ElementName::Host], options).unwrap();
        let element = &found.topology.elements[&ElementName::Host];
        for (key, ways) in [
            (READ_BANDWIDTH, 1.0),
            (WRITE_BANDWIDTH, 1.0),
            (HOST_TO_DEVICE_BANDWIDTH, 1.0),
            (DEVICE_TO_HOST_BANDWIDTH, 1.0),
            (BOTH_WAYS_BANDWIDTH, 2.0),
        ] {
            let (rate, is) = (element.interval(key).unwrap(), ways * width * clock);
            assert!(rate.low.0 <= is && is <= rate.high.0, "seed {seed}: {rate:?} for {is}");
        }
    }
}

/// Without a width of its bus a machine file says nothing of copy engines.
#[test]
fn a_machine_without_a_bus_has_no_copies_and_says_why() {
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let text = include_str!("../../machines/840m.toml");
    let without: Vec<&str> = text.lines().filter(|line| !line.contains("host_bandwidth")).collect();
    std::fs::write(file.path(), without.join("\n")).unwrap();
    let device = format!("sim:{}", file.path().display());
    let options = Options::effort(Effort::Quick);
    let only: [Wanted; 2] = ["host.host_to_device_bandwidth", "host.read_bandwidth"].map(|name| name.parse().unwrap());
    let found = Device::open(&device).unwrap().discover_only(&only, options).unwrap();
    let element = &found.topology.elements[&ElementName::Host];
    let reason = element.finding(HOST_TO_DEVICE_BANDWIDTH).unwrap().reason.as_deref().unwrap();
    assert!(reason.contains("does not state its `host_bandwidth`"), "{reason}");
    assert!(element.known(READ_BANDWIDTH).is_some());
}

/// Under next to no load a chase takes what the machine's file says, under half of the load a little more, and the most at the peak.
fn check_loaded(element: &Element, idle: f64, width: f64, seed: u64) {
    let finding = element.finding(LOADED_LATENCY).unwrap();
    for (curve, of) in [(LATENCY_BY_READ_BANDWIDTH, Traffic::Read), (LATENCY_BY_WRITE_BANDWIDTH, Traffic::Write)] {
        let points = &finding.series[curve];
        assert!((points[0].value - idle).abs() < 1.0 && points[0].x < 0.01 * width, "seed {seed}, {of:?}: {points:?}");
        let longest = points.iter().map(|point| point.value).fold(0.0, f64::max);
        let most = points.iter().map(|point| point.x).fold(0.0, f64::max);
        assert!(longest > 1.2 * idle && most < 1.01 * width, "seed {seed}, {of:?}: {points:?}");
    }
    let half = element.interval(LOADED_LATENCY).unwrap();
    assert!(idle < half.high.0 && half.low.0 < 1.2 * idle, "seed {seed}: {half:?} for {idle}");
}

#[test]
fn all_sms_together_keep_the_l2_and_few_of_them_fill_its_width() {
    let size = 1048576.0;
    let only: [Wanted; 3] =
        ["l2.effective_size", "l2.saturating_sms", "l2.loaded_latency"].map(|name| name.parse().unwrap());
    for &seed in sim::sample(1, &[1, 2]) {
        let options = Options::effort(Effort::Quick).seed(seed);
        let found = Device::open(MACHINE).unwrap().discover_only(&only, options).unwrap();
        let element = &found.topology.elements[&ElementName::L2];
        let kept = element.interval(EFFECTIVE_SIZE).unwrap();
        assert!(kept.low.0 as f64 <= size && size <= kept.high.0 as f64, "seed {seed}: {kept:?} for {size}");
        let finding = element.finding(SATURATING_SMS).unwrap();
        let points = &finding.series[BANDWIDTH_BY_SMS];
        let alone = points[0].value;
        let width = stated("cache.l2");
        // One SM takes what it can, and so do more of them until the cache's width is reached.
        let expected = (0.9 * width / alone).ceil();
        assert_eq!((points[0].x, finding.number()), (1.0, Some(expected)), "seed {seed}: {points:?}");
        let most = points.iter().map(|point| point.value).fold(0.0, f64::max);
        assert!((0.95..1.02).contains(&(most / width)), "seed {seed}: {points:?} of {width}");
        let footprints = &element.finding(EFFECTIVE_SIZE).unwrap().series[BANDWIDTH_BY_FOOTPRINT];
        assert!(footprints.last().unwrap().x > 3.0 * size, "{footprints:?}");
        check_loaded(element, 173.0, width, seed);
    }
}

/// A machine file like that of [`MACHINE`], with a bus of so many bytes a cycle and so many outstanding requests.
fn with_outstanding(bus: f64, outstanding: u32) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let text = include_str!("../../machines/840m.toml");
    let line = |line: &str| match line.split_once(" = ") {
        Some(("host_bandwidth", _)) => format!("host_bandwidth = {bus}"),
        Some(("outstanding", _)) => format!("outstanding = {outstanding}"),
        _ => line.to_owned(),
    };
    std::fs::write(file.path(), text.lines().map(line).collect::<Vec<_>>().join("\n")).unwrap();
    file
}

/// What is said of the outstanding loads of a device.
fn outstanding(device: &str, seed: u64) -> Finding {
    let only: [Wanted; 1] = ["l1.outstanding_loads".parse().unwrap()];
    let options = Options::effort(Effort::Quick).seed(seed);
    let found = Device::open(device).unwrap().discover_only(&only, options).unwrap();
    found.topology.elements[&ElementName::L1].finding(OUTSTANDING_LOADS).unwrap().clone()
}

/// The bus of the machine as it is takes twelve cycles for a load: 512 of them take three latencies. So it does not show the limit, and
/// nothing wrong is said. With a bus as fast as an H100's the limit is that of the file.
#[test]
fn an_sm_has_as_many_loads_outstanding_as_the_file_says() {
    for (bus, room) in [(32.0, 512), (26.0, 508), (16.0, 200)] {
        let file = with_outstanding(bus, room);
        for &seed in sim::sample(1, &[1, 2, 3]) {
            let finding = outstanding(&format!("sim:{}", file.path().display()), seed);
            let (Some(low), Some(high)) = (finding.low, finding.high) else { panic!("seed {seed}: {finding:?}") };
            let is = f64::from(room);
            assert!(low <= is && is <= high && high - low <= 8.0, "seed {seed}: {finding:?} for {room}");
        }
    }
    for &seed in sim::sample(1, &[1, 2, 3]) {
        let finding = outstanding(MACHINE, seed);
        let reason = finding.reason.as_deref().unwrap();
        assert!(finding.value.is_none() && reason.contains("a limit does not show"), "seed {seed}: {finding:?}");
    }
}

/// [`MACHINE`] with four SMs and an L2 in two partitions, from one of which to the other so many bytes a cycle cross.
fn in_partitions(copies: bool, crossing: u32) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let partitions = format!(
        "\n[cache.l2.partitions]\ncount = 2\nsms = \"0110\"\nparity = [0x16d4ab000]\ncopies = {copies}\nfar_hit = 60\nfar_memory = 90\n\
         crossing = {crossing}\n\n[[tlb]]"
    );
    let text = include_str!("../../machines/840m.toml").replacen("\n[[tlb]]", &partitions, 1);
    std::fs::write(file.path(), text.replacen("multiprocessors = 3\n", "multiprocessors = 4\n", 1)).unwrap();
    file
}

/// What crosses in both directions limits what SMs read and write of far lines, but for copies that are read. Near lines come as fast as
/// the cache gives them.
#[test]
fn far_lines_come_as_fast_as_partitions_are_connected() {
    let keys = [NEAR_READ_BANDWIDTH, FAR_READ_BANDWIDTH, NEAR_WRITE_BANDWIDTH, FAR_WRITE_BANDWIDTH];
    let only = keys.map(|key| Wanted::attribute(ElementName::L2, key));
    let (width, clock) = (stated("cache.l2"), 1.124e9);
    for &(seed, copies, crossing) in sim::sample(2, &[(1, false, 16), (3, true, 16), (2, false, 24)]) {
        let file = in_partitions(copies, crossing);
        let options = Options::effort(Effort::Quick).seed(seed);
        let device = format!("sim:{}", file.path().display());
        let found = Device::open(&device).unwrap().discover_only(&only, options).unwrap();
        let element = &found.topology.elements[&ElementName::L2];
        let crossed = 2.0 * f64::from(crossing);
        let truths = [width, if copies { width } else { crossed }, width, crossed];
        for (key, truth) in keys.into_iter().zip(truths) {
            let interval = element.interval(key).unwrap();
            // The list of the pieces is read besides, a sector for each piece of 2 KiB or more: this GPU caches no global loads in its SMs.
            let (low, high) = (interval.low.0 / clock, 1.017 * interval.high.0 / clock);
            assert!(
                low <= truth && truth <= high,
                "seed {seed}, {}: {low:.1} to {high:.1} B/clk for {truth}",
                key.attribute().key()
            );
        }
    }
}

/// A load of a far line takes longer by what crossing to it takes, under little and under half of the load.
#[test]
fn near_and_far_loads_are_told_apart_under_load() {
    let keys = [NEAR_LOADED_LATENCY, FAR_LOADED_LATENCY];
    let only = keys.map(|key| Wanted::attribute(ElementName::L2, key));
    let file = in_partitions(false, 4096);
    let device = format!("sim:{}", file.path().display());
    let found = Device::open(&device).unwrap().discover_only(&only, Options::effort(Effort::Quick).seed(2)).unwrap();
    let element = &found.topology.elements[&ElementName::L2];
    for (key, idle) in keys.into_iter().zip([173.0, 233.0]) {
        let points = &element.finding(key).unwrap().series[LATENCY_BY_READ_BANDWIDTH];
        assert!((points[0].value - idle).abs() < 1.0, "{points:?} for {idle}");
        let half = element.interval(key).unwrap();
        assert!(idle < half.high.0 && half.low.0 < 1.2 * idle, "{half:?} for {idle}");
    }
}

/// Where there is one partition, nothing is far, and the reason says so.
#[test]
fn nothing_is_near_or_far_in_one_partition() {
    let only = [Wanted::attribute(ElementName::Dram, FAR_READ_BANDWIDTH)];
    let found = Device::open(MACHINE).unwrap().discover_only(&only, Options::effort(Effort::Quick)).unwrap();
    let element = &found.topology.elements[&ElementName::Dram];
    let reason = element.finding(FAR_READ_BANDWIDTH).unwrap().reason.as_deref().unwrap();
    assert!(reason.contains("all SMs take the same time to the same line"), "{reason}");
}

/// Copies that go on by themselves come as fast as the L2 and memory give them, and are worth the room in shared memory that they take:
/// with few warps as much is in flight as with many.
#[test]
fn asynchronous_copies_reach_the_width_of_what_they_copy_from() {
    let text = include_str!("../../machines/840m.toml")
        .replace("compute_capability = \"5.0\"", "compute_capability = \"9.0\"")
        .replace("per_multiprocessor = \"64 KiB\"", "per_multiprocessor = \"228 KiB\"");
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(file.path(), &text).unwrap();
    let clock = text.lines().find_map(|line| line.strip_prefix("mhz = ")).unwrap().parse::<f64>().unwrap() * 1e6;
    let only: [Wanted; 4] =
        ["bulk_copy_bandwidth", "bulk_copy_dram_bandwidth", "cp_async_bandwidth", "cp_async_dram_bandwidth"]
            .map(|key| format!("async_copy.{key}").parse().unwrap());
    for &seed in sim::sample(1, &[1, 2]) {
        let options = Options::effort(Effort::Quick).seed(seed);
        let device = format!("sim:{}", file.path().display());
        let found = Device::open(&device).unwrap().discover_only(&only, options).unwrap();
        let element = &found.topology.elements[&ElementName::AsyncCopy];
        for (key, section) in [
            (BULK_COPY_BANDWIDTH, "cache.l2"),
            (BULK_COPY_DRAM_BANDWIDTH, "memory"),
            (CP_ASYNC_BANDWIDTH, "cache.l2"),
            (CP_ASYNC_DRAM_BANDWIDTH, "memory"),
        ] {
            let (rate, is) = (element.interval(key).unwrap(), stated(section) * clock);
            // Warps of a simulation stay in step, so that all of them may count for a pass more or less.
            assert!(rate.low.0 <= 1.02 * is && is <= 1.05 * rate.high.0, "seed {seed}: {section} {rate:?} for {is}");
            let points = &element.finding(key).unwrap().series[BANDWIDTH_BY_BYTES_IN_FLIGHT];
            assert!(points.len() > 5 && points[0].value < points[4].value, "{points:?}");
        }
    }
    // Before Hopper there is one of the two ways.
    std::fs::write(file.path(), text.replace("compute_capability = \"9.0\"", "compute_capability = \"8.0\"")).unwrap();
    let device = format!("sim:{}", file.path().display());
    let found = Device::open(&device).unwrap().discover_only(&only[..1], Options::effort(Effort::Quick)).unwrap();
    let finding = found.topology.elements[&ElementName::AsyncCopy].finding(BULK_COPY_BANDWIDTH).unwrap();
    assert!(finding.reason.as_deref().unwrap().contains("compute capability 9.0 or later"), "{finding:?}");
}
