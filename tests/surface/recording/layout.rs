//! What the version of the format stands for.

use super::*;

fn describe(layout: &mut Vec<u8>, value: &impl serde::Serialize) {
    layout.extend(serde_json::to_vec(value).unwrap());
    layout.extend(postcard::to_stdvec(value).unwrap());
}

/// The structures of other modules are part of the format. This notices when one of them changes its fields, their
/// order, or the order of an enum's variants.
#[test]
fn what_version_2_has_stays_as_it_is() {
    let mut layout = Vec::new();
    let kernels = [Kernel::Clock, Kernel::Lap, Kernel::PerLoad, Kernel::PerTwoLoads, Kernel::Disturb, Kernel::Warp];
    let (granule, page, path, stride) = (Bytes(32), Bytes(4096), LoadPath::Local, Bytes(64));
    let orders = [
        Order::Sequential,
        Order::Random,
        Order::Scattered { granule },
        Order::Paged { page, lines: 3 },
        Order::Listed { offsets: vec![4] },
        Order::Pages { granule, lines: 2, shuffled: true },
        Order::Lanes { offsets: vec![4], bank_width: None },
    ];
    let prepares = [Prepare::Nothing, Prepare::FlushL2, Prepare::Fill { passes: 2 }];
    let partner = Some(Partner { path, footprint: page, stride, laps: 4, thread: 5, block: 6 });
    // Those that were there when the version was given; later ones stand behind them.
    let paths: [LoadPath; 9] = LoadPath::ALL[..9].try_into().unwrap();
    let elements: [ElementName; 14] = ElementName::ALL[..14].try_into().unwrap();
    describe(&mut layout, &(kernels, paths, orders, prepares, [Walk::Resident, Walk::Straight], elements));
    describe(&mut layout, &Experiment { partner, sm: Some(1), carveout: Some(50), ..chase(4, 5) });
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
        0x2e2a_1385,
        "a block's layout changed: no older recording can be read; raise `recording::VERSION` and `OLDEST`, then this number"
    );
}

/// Timings of other tools, which came to version 3 later and stand behind all that it had.
#[test]
fn what_imported_timings_have_stays_as_it_is() {
    let mut layout = Vec::new();
    let series = Level::ALL.map(|level| Question::ALL.map(|question| Order::Imported(Series { level, question })));
    describe(&mut layout, &(Kernel::Imported, series, ElementName::ScalarL1));
    assert_eq!(
        crc32fast::hash(&layout),
        0xba2f_3f7e,
        "a block's layout changed: no recording of imported timings can be read; raise `recording::VERSION`, then this number"
    );
}

/// What version 3 adds to it.
#[test]
fn what_version_3_has_stays_as_it_is() {
    let mut layout = Vec::new();
    let (small, large, distance, step, width) = (Bytes(1), Bytes(64), Bytes(8), Bytes(16), Bytes(4));
    let start = Bytes(32);
    let barriers = |scope| Pattern::Barriers { threads: 1, blocks: 2, writes: 3, between: 4, scope };
    let square = |walk, layout| Pattern::Square { walk, layout, side: 1, loads: 2 };
    let histogram = |counters| Pattern::Histogram { counters, skew: 1, bytes: 2, threads: 3, blocks: 4 };
    let intensity = |from| Pattern::Intensity { operations: 1, from, loads: 2, threads: 3, blocks: 4 };
    let operands = |operand| Pattern::Operands { operand, operations: 1 };
    let patterns = [
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
        intensity(From::Shared),
        intensity(From::Global),
    ];
    describe(&mut layout, &(Kernel::Pattern, patterns.map(Order::Pattern)));
    // Those that were there when the version was given; later ones stand behind them.
    let parts: [PartName; 10] = PartName::ALL[..10].try_into().unwrap();
    describe(&mut layout, &(parts, suite()));
    let code = Some(CodeFacts { bytes: 1, local_loads: 2, local_stores: 3 });
    describe(&mut layout, &ProgramFacts { registers: 1, local_bytes: 2, compile_us: 3, code });
    assert_eq!(
        crc32fast::hash(&layout),
        0x7997_0742,
        "a block's layout changed: raise `recording::VERSION`, as no recording of version 3 can be read, then this number"
    );
}
