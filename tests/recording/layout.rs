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
    let kernels = [Kernel::Clock, Kernel::Lap, Kernel::PerLoad, Kernel::PerTwoLoads, Kernel::Disturb];
    let (granule, page, path, stride) = (Bytes(32), Bytes(4096), LoadPath::Local, Bytes(64));
    let orders = [Order::Sequential, Order::Random, Order::Scattered { granule }, Order::Paged { page, lines: 3 }];
    let prepares = [Prepare::Nothing, Prepare::FlushL2, Prepare::Fill { passes: 2 }];
    let partner = Some(Partner { path, footprint: page, stride, laps: 4, thread: 5, block: 6 });
    // Those that were there when the version was given; later ones stand behind them.
    let paths: [LoadPath; 8] = LoadPath::ALL[..8].try_into().unwrap();
    let elements: [ElementName; 11] = ElementName::ALL[..11].try_into().unwrap();
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
        0x3f8b_0e7e,
        "a block's layout changed: raise `recording::VERSION`, as no older recording can be read, then this number"
    );
}

/// What came later stands behind what was there, so that older recordings are read as they were written.
#[test]
fn later_variants_stand_behind_earlier_ones() {
    let first = |value: Vec<u8>| value[0];
    let listed = Order::Listed { offsets: vec![4] };
    let pages = Order::Pages { granule: Bytes(128), lines: 2, shuffled: true };
    let lanes = Order::Lanes { offsets: vec![4], bank_width: None };
    assert_eq!([&listed, &pages, &lanes].map(|order| first(postcard::to_stdvec(order).unwrap())), [4, 5, 6]);
    assert_eq!(first(postcard::to_stdvec(&Kernel::Warp).unwrap()), 5);
}
