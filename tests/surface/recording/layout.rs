//! What the version of the format stands for.

use super::*;

fn describe(layout: &mut Vec<u8>, value: &impl serde::Serialize) {
    // JSON gives the names of the fields. Its null for an unknown time is no part of a recording, which holds an empty text.
    layout.extend(serde_json::to_string(value).unwrap().replace("\"started\":null", "\"started\":\"\"").bytes());
    layout.extend(postcard::to_stdvec(value).unwrap());
}

/// The structures of other modules are part of the format. This notices when one of them changes its fields, their
/// order, or the order of an enum's variants.
#[test]
fn what_all_versions_have_stays_as_it_is() {
    let mut layout = Vec::new();
    let prepares = [Prepare::Nothing, Prepare::FlushL2, Prepare::Fill { passes: 2 }];
    let (path, footprint, stride) = (LoadPath::Local, Bytes(4096), Bytes(64));
    // As a sequence: the names of the fields are no part of the format.
    let partner =
        postcard::to_stdvec(&Partner { path, footprint, stride, laps: 4, thread: 5, block_threads: 6 }).unwrap();
    // Those that were there when the version was given; later ones stand behind them.
    let paths: [LoadPath; 9] = LoadPath::ALL[..9].try_into().unwrap();
    let elements: [ElementName; 14] = ElementName::ALL[..14].try_into().unwrap();
    describe(&mut layout, &(paths, prepares, partner, [Walk::Resident, Walk::Straight], elements));
    describe(&mut layout, &(Lap { loads: 1, cycles: 2 }, ClockSpan { cycles: 3, nanoseconds: 4 }));
    describe(
        &mut layout,
        &[Failure::unsupported("u"), Failure::failed("f"), Failure::NotRecorded, Failure::Interrupted],
    );
    let processes = [OtherProcesses::NotVisible, OtherProcesses::Visible(1)];
    describe(&mut layout, &([Mig::Unknown, Mig::Off, Mig::On], processes, Telemetry::default()));
    describe(&mut layout, &(DeviceFacts::default(), RunInfo::default(), Code::new("k", "ptx", Some(vec![1]))));
    assert_eq!(
        crc32fast::hash(&layout),
        0x560f_79f7,
        "a block's layout changed: no older recording can be read; raise `recording::VERSION` and `OLDEST`, then this number"
    );
}

/// Timings of other tools, which came to version 3 later and stand behind all that it had.
#[test]
fn what_imported_timings_have_stays_as_it_is() {
    let mut layout = Vec::new();
    let series = Level::ALL.map(|level| Question::ALL.map(|question| Series { level, question }));
    describe(&mut layout, &(series, ElementName::ScalarL1));
    assert_eq!(
        crc32fast::hash(&layout),
        0x231c_f2d4,
        "a block's layout changed: no recording of imported timings can be read; raise `recording::VERSION`, then this number"
    );
}

/// What a recording of a characterization says of its question.
#[derive(serde::Serialize)]
struct Lists {
    parts: Vec<PartName>,
    threads: Vec<u32>,
    distances: Vec<u64>,
    jumps: Vec<u64>,
}

/// Patterns and parts that came to version 4 later: they stand behind the others.
#[test]
fn later_patterns_stay_as_they_are() {
    let mut layout = Vec::new();
    describe(&mut layout, &later_patterns());
    describe(&mut layout, &[PartName::Texture3d, PartName::Operands]);
    assert_eq!(
        crc32fast::hash(&layout),
        0x722c_0619,
        "a block's layout changed: no recording of these patterns can be read; raise `recording::VERSION`, then this number"
    );
}

/// What version 3 added.
#[test]
fn what_patterns_have_stays_as_it_is() {
    let mut layout = Vec::new();
    describe(&mut layout, &patterns());
    // Those that were there when the version was given; later ones stand behind them.
    let parts: [PartName; 10] = PartName::ALL[..10].try_into().unwrap();
    let Suite { parts: asked, threads, distances, jumps, .. } = suite();
    describe(&mut layout, &(parts, Lists { parts: asked, threads, distances, jumps }));
    let code = Some(CodeFacts { bytes: 1, local_loads: 2, local_stores: 3 });
    describe(&mut layout, &ProgramFacts { registers: 1, local_bytes: 2, compile_us: 3, code });
    assert_eq!(
        crc32fast::hash(&layout),
        0xf2b1_22a5,
        "a block's layout changed: no recording of patterns can be read; raise `recording::VERSION`, then this number"
    );
}

/// What version 4 added: experiments by kind. Taken from a file, since only the reader and the writer know its form.
#[test]
fn what_version_4_has_stays_as_it_is() {
    let (path, footprint, stride) = (LoadPath::GlobalCa, Bytes(4096), Bytes(128));
    let partner = Partner { path: LoadPath::Texture, footprint, stride, laps: 4, thread: 5, block_threads: 6 };
    let place = Place { sm: Some(1), allocation: 2, carveout_percent: Some(50), alone: true };
    let chase = Chase { place, seed: 7, repeat: 8, ..Chase::each_load(path, footprint, stride) };
    let granule = Bytes(32);
    let orders = [
        Order::Sequential,
        Order::Random,
        Order::Scattered { granule },
        Order::Paged { page: Bytes(1024), lines: 3 },
        Order::Listed { offsets: vec![8, 0] },
        Order::Pages { granule, lines: 2, shuffled: true },
    ];
    let timings =
        [Timing::resident(9), Timing::straight(9), Timing::EachPair { pairs: 9 }, Timing::Laps { loads: 9, rounds: 3 }];
    let offsets = std::array::from_fn(|lane| 4 * lane as u64);
    let series = Series { level: Level::L2, question: Question::Latency };
    let imported = Imported { series, path, footprint: None, stride: Some(stride), loads: 1, repeat: 2 };
    let mut experiments: Vec<Experiment> = vec![
        Clock { span_us: 10, sm: 1, repeat: 2 }.into(),
        Disturb { loads: 3, place, seed: 4, repeat: 5, ..Disturb::new(path, footprint, stride, partner) }.into(),
        imported.into(),
    ];
    experiments.extend(orders.map(|order| Chase { order, ..chase.clone() }.into()));
    experiments.extend(timings.map(|timing| Chase { timing, ..chase.clone() }.into()));
    experiments.extend(AccessWidth::ALL.map(|width| {
        let warp = Warp::new(width, offsets, footprint, 6);
        Warp { bank_width: Some(BankWidth::B8), warm_loads: 7, rounds: 8, place, repeat: 9, ..warp }.into()
    }));
    experiments.extend(patterns().map(|pattern| {
        PatternRun { carveout_percent: Some(1), seed: 2, repeat: 3, ..PatternRun::new(pattern, path, 4) }.into()
    }));
    let entry = |(number, experiment)| Entry::new(number, experiment, Err(Failure::Interrupted), 1.0);
    let entries: Vec<Entry> = (1..).zip(experiments).map(entry).collect();
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.header(&header()).unwrap();
    let begin = writer.bytes() as usize;
    writer.measured(&entries).unwrap();
    let file = writer.into_inner();
    let plain = u32::from_le_bytes(file[begin + 4..begin + 8].try_into().unwrap());
    let content = zstd::bulk::decompress(&file[begin + 12..], plain as usize).unwrap();
    assert_eq!(
        (VERSION, crc32fast::hash(&content)),
        (4, 0x708a_31c3),
        "an experiment's layout changed: raise `recording::VERSION`, read the older form, then mend this number"
    );
}

/// What came to version 4 later and stands behind all that it had: the watch, and what it saw.
#[test]
fn what_a_watch_has_stays_as_it_is() {
    let signs = [Sign::Stopped, Sign::LongLoad, Sign::Process];
    let watch = Watch { span_us: 1, sm: 2, repeat: 3 };
    assert_eq!(
        hash_of(watch.into(), &signs),
        0x691c_11ab,
        "a block's layout changed: no recording of a run that watched can be read; raise `recording::VERSION`, then this number"
    );
}

/// What came later still: launches of a stated shape, and copies.
#[test]
fn what_a_launch_has_stays_as_it_is() {
    let chase = Chase::laps(LoadPath::GlobalCa, Bytes(256), Bytes(32));
    let launched = Launched { chase, threads_per_block: 64, shared_per_block: Bytes(1024) };
    assert_eq!(
        hash_of(launched.into(), &[Sign::Copies]),
        0x47f6_9435,
        "a block's layout changed: no recording with a launch can be read; raise `recording::VERSION`, then this number"
    );
}

/// What came later still: walks with several laps between windows.
#[test]
fn what_a_settled_walk_has_stays_as_it_is() {
    let chase = Chase::each_load(LoadPath::GlobalCg, Bytes(256), Bytes(32));
    let timing = Timing::EachLoad { loads: 8, walk: Walk::Settled { laps: 12 } };
    assert_eq!(
        hash_of(Chase { timing, ..chase }.into(), &[]),
        0x6793_73aa,
        "a block's layout changed: no recording with such a walk can be read; raise `recording::VERSION`, then this number"
    );
}

/// What came later still: streams, and chases while others stream.
#[test]
fn what_a_stream_has_stays_as_it_is() {
    let stream = Stream {
        traffic: Traffic::Copy,
        path: LoadPath::GlobalCg,
        width: AccessWidth::B16,
        unroll: 4,
        threads_per_block: 64,
        blocks_per_sm: 2,
        sms: vec![1, 3],
        footprint: Bytes::kib(64),
        region: Region::Own,
        content: Content::Random,
        prepare: Prepare::FlushL2,
        warm_cycles: 100,
        timed_cycles: 1000,
        repeat: 5,
    };
    let footprint = Bytes::kib(16);
    let chase = LoadedChase { stream: stream.clone(), sm: 2, footprint, stride: Bytes(128), seed: 3, pause: 9 };
    let why = "a block's layout changed: no recording with a stream can be read; raise `recording::VERSION`, then this number";
    assert_eq!(
        (hash_of(stream.clone().into(), &[]), hash_of(chase.clone().into(), &[])),
        (0x39e0_7e86, 0x04d0_5e69),
        "{why}"
    );
    let homes = HomeMap { mask: 0x3000, pages: vec![0, 1] };
    let by_partition = PartitionStream { stream, homes, sms: vec![1, 0], is_far: true };
    let listed = PartitionChase { chase, order: Order::Listed { offsets: vec![0, 8192] } };
    let transfer = Transfer { direction: Direction::Both, bytes: Bytes::mib(8), repeat: 2 };
    assert_eq!(hash_of(transfer.into(), &[]), 0x1c9a_64cb, "{why}");
    let atomics = Atomics {
        memory: AtomicMemory::Shared,
        target: Target::OneAddress,
        unroll: 4,
        threads_per_block: 64,
        blocks_per_sm: 2,
        sms: vec![1, 3],
        warm_cycles: 100,
        timed_cycles: 1000,
        repeat: 5,
    };
    assert_eq!(hash_of(atomics.into(), &[]), 0xa2c7_f8c6, "{why}");
    let clusters = Clusters { size: 4, count: 2, shared_per_block: Bytes::kib(100), span_us: 20, repeat: 3 };
    assert_eq!(hash_of(clusters.into(), &[]), 0x2bae_727a, "{why}");
    let distributed = Distributed {
        size: 4,
        count: 2,
        shared_per_block: Bytes::kib(100),
        work: ClusterWork::Barrier,
        distance: 1,
        steps: 64,
        rounds: 5,
        alone: false,
        repeat: 3,
    };
    assert_eq!(hash_of(distributed.into(), &[]), 0xfaab_48b4, "{why}");
    let copy = AsyncCopy {
        work: CopyWork::BulkStore,
        bytes: Bytes(64),
        place: Bytes(4096),
        sm: 3,
        steps: 16,
        rounds: 5,
        repeat: 3,
    };
    assert_eq!(hash_of(copy.into(), &[]), 0x41f9_87a6, "{why}");
    let walk = CodeWalk {
        footprint: Bytes::kib(24),
        block: CODE_BLOCK,
        sm: Some(2),
        partner: None,
        warm_laps: 2,
        laps: 5,
        repeat: 3,
    };
    assert_eq!(hash_of(walk.into(), &[]), 0x14c0_f392, "{why}");
    // Walks through other blocks are a kind of their own, since there were none before.
    let walk = CodeWalk { block: LEAST_CODE_BLOCK, ..walk };
    assert_eq!(hash_of(walk.into(), &[]), 0x6c0a_7e8f, "{why}");
    let walk = PageWalk {
        pages: 96,
        distance: Bytes::kib(2048),
        walkers: vec![0, 3],
        partners: vec![1],
        laps: 2,
        parts: 16,
        seed: 9,
        repeat: 1,
    };
    assert_eq!(hash_of(walk.into(), &[]), 0x6a9e_2038, "{why}");
    let stream = by_partition.stream.clone();
    let by_window = WindowStream { stream: stream.clone(), windows: 2, sms: vec![0, 1], pieces: 64, seed: 5 };
    assert_eq!(hash_of(by_window.into(), &[]), 0x1f14_f6aa, "{why}");
    let residency = Residency {
        path: LoadPath::GlobalCg,
        access: Access::L2EvictLast,
        lines: 512,
        distance: Bytes(128),
        beside: Bytes(64),
        before: Bytes::mib(100),
        after: Bytes::mib(25),
        step: Bytes(128),
        seed: 7,
        repeat: 2,
    };
    assert_eq!(hash_of(residency.into(), &[]), 0xa700_f333, "{why}");
    let displaced = Displacement {
        traffic: Traffic::Write,
        first: Bytes::mib(14),
        before: Bytes::mib(100),
        after: Bytes::mib(120),
        step: Bytes(128),
        pause: 50_000,
        repeat: 2,
    };
    assert_eq!(hash_of(displaced.into(), &[]), 0x09e7_b084, "{why}");
    let contended = Contention {
        sm: 5,
        warps: 2,
        contended: 1000,
        loaded: Bytes(128),
        places: vec![4000, 8, 131_000],
        passes: 2,
        repeat: 1,
    };
    assert_eq!(hash_of(contended.into(), &[]), 0xce41_7e51, "{why}");
    let copied = CopyStream { stream: stream.clone(), by: CopyWork::CpAsync };
    assert_eq!(hash_of(copied.into(), &[]), 0x7e18_fa93, "{why}");
    let in_cluster = ClusterStream { stream, size: 4, count: 2, shared_per_block: Bytes::kib(100), distance: 1 };
    assert_eq!(hash_of(in_cluster.into(), &[]), 0x839f_3291, "{why}");
    assert_eq!((hash_of(by_partition.into(), &[]), hash_of(listed.into(), &[])), (0xd5e5_4462, 0x49b1_a23c), "{why}");
}

/// What came later still: named parts of the run, as JSON. A new field behind the others changes the number, and nothing else.
#[test]
fn what_host_and_board_have_stays_as_it_is() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.header(&header()).unwrap();
    let begin = writer.bytes() as usize;
    writer.host(&host()).unwrap();
    let middle = writer.bytes() as usize;
    writer.board(&board()).unwrap();
    let layout = plain_blocks(&writer.into_inner(), begin, middle);
    assert_eq!(
        crc32fast::hash(&layout),
        0x173e_0fb3,
        "a block's layout changed: is a recording without the new field of the host or the board still read? Then mend this number"
    );
}

/// Of the blocks of an experiment and of disturbances.
fn hash_of(experiment: Experiment, signs: &[Sign]) -> u32 {
    let consequences = [Consequence::Noted, Consequence::Repeated, Consequence::GivenUp];
    let seen: Vec<Disturbance> = signs
        .iter()
        .copied()
        .zip(consequences)
        .map(|(sign, consequence)| Disturbance {
            from_s: 1.0,
            to_s: 2.0,
            sign,
            stopped_us: Some(3.0),
            processes: Some(4),
            experiments: 5,
            consequence,
        })
        .collect();
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.header(&header()).unwrap();
    let begin = writer.bytes() as usize;
    writer.measured(&[Entry::new(1, experiment, Err(Failure::Interrupted), 1.0)]).unwrap();
    let middle = writer.bytes() as usize;
    writer.seen(&seen).unwrap();
    crc32fast::hash(&plain_blocks(&writer.into_inner(), begin, middle))
}

/// The content of the last two blocks of a file, which begin at these bytes.
fn plain_blocks(file: &[u8], first: usize, second: usize) -> Vec<u8> {
    let block = |begin: usize, end: usize| {
        let plain = u32::from_le_bytes(file[begin + 4..begin + 8].try_into().unwrap());
        zstd::bulk::decompress(&file[begin + 12..end], plain as usize).unwrap()
    };
    [block(first, second), block(second, file.len())].concat()
}

fn patterns() -> [Pattern; 18] {
    let (small, large, distance, step, width) = (Bytes(1), Bytes(64), Bytes(8), Bytes(16), Bytes(4));
    let start = Bytes(32);
    let barriers = |scope| Pattern::Barriers { threads: 1, blocks: 2, writes: 3, between: 4, scope };
    let square = |walk, layout| Pattern::Square { walk, layout, side: 1, loads: 2 };
    let histogram = |counters| Pattern::Histogram { counters, skew: 1, bytes: 2, threads: 3, blocks: 4 };
    let intensity = |from| Pattern::Intensity { operations: 1, from, loads: 2, threads: 3, blocks: 4 };
    let operands = |operand| Pattern::Operands { operand, operations: 1 };
    [
        Pattern::Pairs { pairs: 2, small, large },
        barriers(Scope::Warp),
        barriers(Scope::Block),
        barriers(Scope::Grid),
        barriers(Scope::Nobody),
        Pattern::Reads { threads: 1, reads: 2, distance, step, width, start },
        Pattern::Sums { threads: 1, variables: 2, statements: 3, padding: 4 },
        Pattern::Constants { distinct: 1, stride: step, loads: 2, uniform: true },
        operands(Operand::Immediate),
        operands(Operand::Parameter),
        square(Walk2d::Rows, Layout::Array),
        square(Walk2d::Columns, Layout::Linear),
        square(Walk2d::Tiles, Layout::Array),
        square(Walk2d::Random, Layout::Array),
        histogram(Counters::Global),
        histogram(Counters::Shared),
        intensity(LoadedFrom::Shared),
        intensity(LoadedFrom::Global),
    ]
}

/// Patterns that recordings of format version 4 did not have at first.
fn later_patterns() -> [Pattern; 13] {
    let sampled = |sampling| Pattern::Sampled { walk: Walk2d::Rows, sampling, side: 1, loads: 2 };
    let cube = |walk, layout| Pattern::Cube { walk, layout, side: 1, loads: 2 };
    let sourced = |operands| Pattern::Sourced { operands, operations: 1, threads: 2 };
    [
        Pattern::Writes { threads: 1, writes: 2, distance: Bytes(8), step: Bytes(16) },
        sampled(Sampling::Nearest),
        sampled(Sampling::Normalized),
        sampled(Sampling::Linear),
        cube(Walk3d::Rows, Layout::Array),
        cube(Walk3d::Columns, Layout::Linear),
        cube(Walk3d::Layers, Layout::Array),
        cube(Walk3d::Tiles, Layout::Array),
        cube(Walk3d::Random, Layout::Array),
        sourced(OperandsIn::Registers),
        sourced(OperandsIn::Shared),
        sourced(OperandsIn::L1),
        Pattern::Burst { loads: 1, each: 2, warps: 3 },
    ]
}
