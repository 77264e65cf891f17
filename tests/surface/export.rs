//! The tables and files that a recording is exported as.

use std::fs;
use std::path::Path;

use strata_gpu::DeviceFacts;
use strata_model::experiment::{
    AccessWidth, BankWidth, Chase, Clock, Disturb, Experiment, LoadPath, Order, Partner, PatternRun, Place, Prepare,
    WARP, Warp,
};
use strata_model::facts::HostFacts;
use strata_model::order;
use strata_model::pattern::Pattern;
use strata_model::samples::{ClockSpan, CodeFacts, Failure, Lap, ProgramFacts, Samples};
use strata_model::topology::RunInfo;
use strata_model::units::Bytes;
use strata_recording::{Code, Entry, Header, Recording, Writer};
use strata_report::export;

fn chase() -> Chase {
    Chase { order: Order::Random, seed: 9, ..Chase::each_load(LoadPath::GlobalCa, Bytes(256), Bytes(32)) }
}

fn recording(entries: &[Entry]) -> Recording {
    let device = DeviceFacts {
        name: "GPU, \"fast\"".into(),
        compute_capability: (9, 0),
        l2_size: 50 << 20,
        ..DeviceFacts::default()
    };
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.header(&Header { device, run: RunInfo::default() }).unwrap();
    writer.code(&Code::new("lap_ca", "text", Some(vec![1, 2, 3]))).unwrap();
    writer.code(&Code::new("lap_ca", "other text", Some(vec![4, 5]))).unwrap();
    writer.code(&Code::new("../away", "text", Some(vec![6]))).unwrap();
    writer.code(&Code::new("none", "text", None)).unwrap();
    writer.measured(entries).unwrap();
    writer.host(&HostFacts { memory: Some(1 << 40), ..HostFacts::default() }).unwrap();
    writer.end(&RunInfo { seed: 42, warnings: vec!["one".into(), "two".into()], ..RunInfo::default() }).unwrap();
    Recording::from_reader(&writer.into_inner()[..]).unwrap()
}

fn entries() -> Vec<Entry> {
    let samples = Samples { latencies: (100..112).collect(), sm: 7, base: 0x7f12_3400, ..Samples::default() };
    let partner = Partner {
        path: LoadPath::Texture,
        footprint: Bytes(64),
        stride: Bytes(4),
        laps: 2,
        thread: 32,
        block_threads: 64,
    };
    let laps = vec![Lap { loads: 8, cycles: 280 }, Lap { loads: 16, cycles: 560 }];
    let clocks = vec![ClockSpan { cycles: 1_980, nanoseconds: 1_000 }];
    let disturb = Disturb {
        prepare: Prepare::Fill { passes: 2 },
        order: Order::Paged { page: Bytes(128), lines: 2 },
        place: Place::on(3),
        seed: 9,
        ..Disturb::new(LoadPath::GlobalCa, Bytes(256), Bytes(32), partner)
    };
    let offsets = std::array::from_fn::<u64, WARP, _>(|lane| 8 * (lane as u64 % 2));
    let warp = Warp { bank_width: Some(BankWidth::B8), ..Warp::new(AccessWidth::B8, offsets, Bytes(64), 8) };
    let sums = Pattern::Sums { threads: 32, variables: 40, statements: 512, padding: 0 };
    let code = Some(CodeFacts { bytes: 7_000, local_loads: 20, local_stores: 13 });
    let program = ProgramFacts { registers: 255, local_bytes: 400, compile_us: 80_000, code };
    let with = |program| Samples { program: Some(program), ..Samples::default() };
    let sums = |rounds| PatternRun::new(sums, LoadPath::GlobalCa, rounds).into();
    vec![
        Entry::new(4, chase().into(), Ok(samples), 0.5),
        Entry::new(5, disturb.into(), Err(Failure::failed("illegal, \"address\"\nat line 2")), 1.0),
        Entry::new(
            6,
            Clock { span_us: 10, sm: 0, repeat: 0 }.into(),
            Ok(Samples { laps, clocks, ..Samples::default() }),
            1.5,
        ),
        Entry::new(7, warp.into(), Err(Failure::Interrupted), 2.0),
        Entry::new(8, sums(2), Ok(with(program)), 2.5),
        Entry::new(9, sums(3), Ok(with(ProgramFacts { code: None, ..program })), 3.0),
    ]
}

fn table(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap()
}

#[test]
fn every_experiment_and_every_sample_has_a_row() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("new/folder");
    let summary = export::csv(&recording(&entries()), &dir).unwrap();
    let rows: Vec<_> =
        summary.files.iter().map(|f| (f.path.strip_prefix(&dir).unwrap().to_str().unwrap(), f.rows)).collect();
    let device = table(&dir, "device.csv").lines().count() as u64 - 1;
    let expected = [
        ("experiments.csv", 6),
        ("latencies.csv", 12),
        ("laps.csv", 2),
        ("clocks.csv", 1),
        ("blocks.csv", 0),
        ("programs.csv", 2),
        ("device.csv", device),
    ];
    assert_eq!(rows, expected);
    for file in &summary.files {
        assert_eq!(file.bytes, fs::metadata(&file.path).unwrap().len());
    }

    let experiments = table(&dir, "experiments.csv");
    let (header, rows) = experiments.split_once("\r\n").unwrap();
    assert_eq!(
        header,
        "number,kernel,kernel_version,path,footprint_B,stride_B,order,granule_B,page_B,lines_per_page,first_page,offsets_B,bank_width_B,\
         pattern,warm_laps,timed_loads,rounds,walk,prepare,fill_passes,alone,sm_asked,allocation,carveout_percent,partner_path,\
         partner_footprint_B,partner_stride_B,partner_thread,partner_block_threads,seed,repeat,at_s,outcome,failure,\
         smid,base_address,threads_per_block,shared_per_block_B,\
         laps_between_windows"
    );
    let expected = [
        "4,per_load,1,ca,256,32,random,,,,,,,,1,8,,resident,nothing,,false,,0,0,,,,,,9,0,0.5,measured,,7,0x7f123400,,,1",
        "5,disturb,1,ca,256,32,paged,,128,2,,,,,1,8,,,fill,2,false,3,0,0,tex,64,4,32,64,9,0,1,failed,\
         \"illegal, \"\"address\"\"\nat line 2\",,,,,",
        "6,clock,1,,,,,,,,,,,\"{\"\"span_us\"\":10,\"\"sm\"\":0,\"\"repeat\"\":0}\",,,,,,,true,0,,,,,,,,,0,1.5,measured,,0,,,,",
        "7,warp,1,shared,64,8,lanes,,,,,LANES,8,,1,8,1,,,,false,,,,,,,,,,0,2,failed,\
         interrupted before it was measured,,,,,",
        "8,pattern,1,ca,320,,pattern,,,,,,,\"{\"\"sums\"\":{\"\"threads\"\":32,\"\"variables\"\":40,\"\"statements\"\":512,\
         \"\"padding\"\":0}}\",,512,2,,nothing,,true,,,,,,,,,0,0,2.5,measured,,0,,,,",
        "9,pattern,1,ca,320,,pattern,,,,,,,\"{\"\"sums\"\":{\"\"threads\"\":32,\"\"variables\"\":40,\"\"statements\"\":512,\
         \"\"padding\"\":0}}\",,512,3,,nothing,,true,,,,,,,,,0,0,3,measured,,0,,,,",
    ];
    let lanes = ["0 8"; WARP / 2].join(" ");
    assert_eq!(rows, expected.map(|row| format!("{}\r\n", row.replace("LANES", &lanes))).concat());
    assert_eq!(table(&dir, "laps.csv"), "number,lap,loads,duration_cycles\r\n6,0,8,280\r\n6,1,16,560\r\n");
    assert_eq!(table(&dir, "clocks.csv"), "number,reading,sm_clock_cycles,global_timer_ns\r\n6,0,1980,1000\r\n");
    assert_eq!(
        table(&dir, "programs.csv"),
        "number,registers,local_B,compile_us,code_B,local_loads,local_stores\r\n\
         8,255,400,80000,7000,20,13\r\n9,255,400,80000,,,\r\n"
    );
    let device = table(&dir, "device.csv");
    for line in [
        "key,value",
        "device.name,\"GPU, \"\"fast\"\"\"",
        "device.compute_capability.0,9",
        "device.l2_size_B,52428800",
        "device.uuid,",
        "run.seed,42",
        "run.warnings.1,two",
        "run.simulated,false",
        "run.host.memory_B,1099511627776",
    ] {
        assert!(device.split("\r\n").any(|row| row == line), "{line} is not in\n{device}");
    }
}

#[test]
fn a_latency_stands_beside_its_offset() {
    let dir = tempfile::tempdir().unwrap();
    export::csv(&recording(&entries()), dir.path()).unwrap();
    let offsets = order::offsets(chase().chain());
    let expected: String =
        (0..12).map(|load| format!("4,{load},{},{}\r\n", offsets[load % offsets.len()], 100 + load)).collect();
    assert_eq!(table(dir.path(), "latencies.csv"), format!("number,load,offset_B,latency_cycles\r\n{expected}"));
}

#[test]
fn experiments_that_describe_no_chain_have_no_offsets() {
    let paged = |page: u64, lines, footprint| Chase {
        order: Order::Paged { page: Bytes(page), lines },
        footprint: Bytes(footprint),
        ..chase()
    };
    let impossible = [
        Experiment::from(Chase { stride: Bytes(0), ..chase() }),
        Chase { footprint: Bytes(u64::MAX), ..chase() }.into(),
        Chase { order: Order::Scattered { granule: Bytes(0) }, ..chase() }.into(),
        paged(0, 0, 256).into(),
        paged(32, u32::MAX, u64::MAX).into(),
        paged(1 << 62, 1, 1 << 62).into(),
        Clock { span_us: 1, sm: 0, repeat: 0 }.into(),
    ];
    let entry = |(i, e): (usize, &Experiment)| {
        let samples = Samples { latencies: vec![i as u32], ..Samples::default() };
        Entry::new(i as u32, e.clone(), Ok(samples), 0.0)
    };
    let entries: Vec<Entry> = impossible.iter().enumerate().map(entry).collect();
    let dir = tempfile::tempdir().unwrap();
    export::csv(&recording(&entries), dir.path()).unwrap();
    let expected: String = (0..impossible.len()).map(|i| format!("{i},0,,{i}\r\n")).collect();
    assert_eq!(table(dir.path(), "latencies.csv"), format!("number,load,offset_B,latency_cycles\r\n{expected}"));
}

#[test]
fn machine_code_is_written_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let summary = export::code(&recording(&[]), dir.path()).unwrap();
    let files: Vec<_> = summary
        .files
        .iter()
        .map(|file| (file.path.file_name().unwrap().to_str().unwrap(), fs::read(&file.path).unwrap()))
        .collect();
    let expected = [("lap_ca.cubin", vec![1, 2, 3]), ("lap_ca-2.cubin", vec![4, 5]), ("___away.cubin", vec![6])];
    assert_eq!(files, expected);
    assert!(summary.files.iter().all(|file| file.path.parent() == Some(dir.path())), "none is written elsewhere");
}

#[test]
fn an_error_names_the_file_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = export::csv(&recording(&[]), &file).unwrap_err().to_string();
    assert!(error.contains("file`") && error.contains("name a folder"), "{error}");
    fs::create_dir(dir.path().join("latencies.csv")).unwrap();
    let error = export::csv(&recording(&[]), dir.path()).unwrap_err().to_string();
    assert!(error.contains("latencies.csv`") && error.contains("another folder"), "{error}");
}
