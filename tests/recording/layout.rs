//! What the version of the format stands for.

use super::*;

/// The structures of other modules are part of the format. This notices when one of them changes its fields, their
/// order, or the order of an enum's variants.
#[test]
fn the_layout_of_blocks_belongs_to_the_version() {
    fn describe(layout: &mut Vec<u8>, value: &impl serde::Serialize) {
        layout.extend(serde_json::to_vec(value).unwrap());
        layout.extend(postcard::to_stdvec(value).unwrap());
    }
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
        0xa9e4_36de,
        "a block's layout changed: raise `recording::VERSION`, as no older recording can be read, then this number"
    );
}
