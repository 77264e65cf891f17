//! What is written is read, and answered with.

use super::*;

#[test]
fn what_is_written_is_read() {
    let (bytes, _) = small();
    let recording = read(&bytes).unwrap();
    assert_eq!(recording.header, header());
    assert_eq!(recording.asked, Some(suite()));
    assert_eq!(*recording.entries, *entries());
    assert_eq!(recording.end, Some(run_at_end()));
    assert_eq!((recording.cut.as_ref(), recording.bytes), (None, bytes.len() as u64));
    assert_eq!(recording.run_info(), run_at_end());
    let [code] = &recording.codes[..] else { panic!("one kernel was written") };
    assert_eq!(code, &Code::new("per_load_ca", ".version 6.0", Some(b"\x7fELF machine code".to_vec())));
    assert_eq!(code.ptx_sha256[..4], [0xb5, 0xa2, 0x60, 0x7b]);
}

/// A header has the elements, as those of older versions do, and a part has the attributes. A recording without the part asks for all
/// of its elements, with bandwidth if it has streams.
#[test]
fn what_a_discovery_was_asked_for_is_read() {
    let asked = Selection {
        only: vec!["l1.size".parse().unwrap(), ElementName::Dram.into()],
        bandwidth: true,
        atomics: true,
        step: strata_model::topology::STEPS,
    };
    let run = RunInfo { only: asked.only.clone(), ..run_at_end() };
    let written = |selection: Option<&Selection>| {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.header(&Header { run: run.clone(), ..header() }).unwrap();
        selection.into_iter().for_each(|selection| writer.selection(selection).unwrap());
        writer.end(&run).unwrap();
        read(&writer.into_inner()).unwrap()
    };
    let recording = written(Some(&asked));
    assert_eq!((recording.selection(), recording.run_info().only), (asked.clone(), asked.only.clone()));
    let elements = vec![Wanted::from(ElementName::L1), ElementName::Dram.into()];
    assert_eq!(recording.header.run.only, elements);
    assert_eq!(written(None).selection(), Selection { only: elements, ..Selection::default() });
    let names = |only: &[ElementName]| postcard::to_stdvec(only).unwrap();
    assert_eq!(postcard::to_stdvec(&asked.only).unwrap(), names(&[ElementName::L1, ElementName::Dram]));
}

#[test]
fn a_file_is_replaced_and_a_folder_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.strata");
    std::fs::write(&path, vec![b'x'; 100_000]).unwrap();
    let mut writer = Writer::create(&path).unwrap();
    writer.header(&header()).unwrap();
    writer.measured(&entries()).unwrap();
    writer.end(&run_at_end()).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 100_000, "the former file stays until the new one is complete");
    let partial = writer.partial().unwrap();
    assert_eq!(*Recording::read(&partial).unwrap().entries, *entries());
    assert!(matches!(Writer::create(&path), Err(Error::Taken { .. })));
    assert_eq!(writer.complete().unwrap(), std::fs::metadata(&path).unwrap().len());
    assert_eq!((*Recording::read(&path).unwrap().entries).len(), entries().len());
    assert!(!partial.exists());

    let Err(error) = Writer::create(folder.path()) else { panic!("a folder was opened") };
    assert!(error.to_string().contains("choose another file"), "{error}");
    std::fs::write(&path, "").unwrap();
    let empty = message(Recording::read(&path));
    assert!(empty.contains("run.strata`: the file is empty"), "{empty}");
    let missing = message(Recording::read(&folder.path().join("missing.strata")));
    assert!(missing.contains("missing.strata"), "{missing}");
}

#[test]
fn experiments_are_answered_by_their_content() {
    let mut entries = entries();
    let outdated = Entry { kernel_version: 99, ..Entry::new(6, chase(5, 9), Ok(latencies(vec![1])), 3.0) };
    let again = Entry::new(7, entries[2].experiment.clone(), Ok(latencies(vec![40; 4])), 4.0);
    entries.extend([outdated.clone(), again.clone()]);
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.header(&header()).unwrap();
    writer.measured(&entries).unwrap();
    let mut recording = read(&writer.into_inner()).unwrap();

    let asked = [6, 1, 2].map(|i: usize| entries[i].experiment.clone());
    assert_eq!(recording.run(&asked), [again.outcome.clone(), entries[1].outcome.clone(), again.outcome.clone()]);
    let absent = [chase(40, 77), outdated.experiment.clone()];
    assert_eq!((&recording).run(&absent), [Err(Failure::NotRecorded), Err(Failure::NotRecorded)]);
    assert_eq!(recording.number_of(&asked[1]), Some(1));
    assert_eq!(recording.number_of(&outdated.experiment), None);
    assert_eq!(recording.by_number(6), Some(&outdated));
    assert_eq!(recording.by_number(5), Some(&entries[3]));
    assert_eq!(recording.by_number(4), None);
    assert_eq!(recording.outdated(), 1);

    let run = recording.run_info();
    assert_eq!((run.duration_s, run.warnings.len()), (4.0, 2));
    assert!(run.warnings[0].contains("the block that ends a recording is missing"), "{:?}", run.warnings);
    assert!(run.warnings[1].contains("1 of 7 recorded experiments are not used"), "{:?}", run.warnings);
}

#[test]
fn a_failure_is_answered_as_it_was() {
    let (bytes, _) = small();
    let answer = read(&bytes).unwrap().answer(&entries()[2].experiment);
    assert_eq!(answer, Err(Failure::unsupported("no texture, \"here\"")));
}

/// A disk with little room.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn nothing_is_written_after_a_failure() {
    let mut writer = Writer::new(Full(500)).unwrap();
    writer.header(&header()).unwrap();
    let offset = writer.bytes();
    let scattered = (0..500u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let large = Entry::new(0, chase(500, 1), Ok(latencies(scattered)), 0.0);
    let Err(error) = writer.measured(&[large]) else { panic!("500 latencies fit in 500 bytes") };
    assert!(error.to_string().contains(&format!("at byte {offset}")), "{error}");
    assert!(matches!(writer.end(&run_at_end()), Err(Error::Broken { offset: at }) if at == offset));
}

#[test]
fn a_large_batch_is_divided_and_compresses() {
    // A third each of hits, of misses with a small jitter, and of a mixture; by Weyl sequences, no two entries alike.
    let weyl = |i: u64, range: u64| (((i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) * range) >> 24) as u32;
    let load = |number: u64, i: u64| match number % 3 {
        0 => 35,
        1 => 225 + weyl(i + number, 9),
        _ => [35, 230][weyl(i + 7 * number, 2) as usize],
    };
    let entry = |number: u64| {
        let samples = latencies((0..50_000).map(|i| load(number, i)).collect());
        Entry::new(number as u32, chase(50_000, number), Ok(samples), number as f64)
    };
    let batch: Vec<Entry> = (0..60).map(entry).collect();
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.header(&header()).unwrap();
    writer.measured(&batch).unwrap();
    writer.end(&run_at_end()).unwrap();
    let bytes = writer.into_inner();
    assert_eq!(*read(&bytes).unwrap().entries, *batch);
    assert!(bytes.len() < 3_000_000 / 2, "3 million samples take {} bytes", bytes.len());
    assert!(bytes.windows(4).filter(|w| *w == [0x28, 0xb5, 0x2f, 0xfd]).count() >= 4, "two blocks or more of samples");
}

fn seen() -> Vec<Disturbance> {
    let stopped = Disturbance {
        from_s: 0.5,
        to_s: 1.0,
        sign: Sign::Stopped,
        stopped_us: Some(2100.5),
        processes: None,
        experiments: 300,
        consequence: Consequence::Repeated,
    };
    let came = Disturbance { sign: Sign::Process, stopped_us: None, processes: Some(1), ..stopped.clone() };
    let long = Disturbance { sign: Sign::LongLoad, consequence: Consequence::GivenUp, ..stopped.clone() };
    vec![stopped, came, Disturbance { consequence: Consequence::Noted, ..long.clone() }, long]
}

/// A run that watched for other users of the device: what it saw is part of the run again, and of nothing else.
#[test]
fn what_else_used_the_device_is_kept() {
    for seen in [vec![], seen()] {
        let run = RunInfo { disturbances: Some(seen.clone()), ..run_at_end() };
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.header(&header()).unwrap();
        writer.measured(&entries()).unwrap();
        writer.seen(&seen).unwrap();
        writer.end(&run).unwrap();
        let recording = read(&writer.into_inner()).unwrap();
        assert_eq!((recording.seen.as_ref(), &recording.run_info()), (Some(&seen), &run));
        let json = serde_json::to_value(&run).unwrap();
        assert_eq!(serde_json::from_value::<RunInfo>(json).unwrap(), run);
    }
    // Nobody watched: nothing is said.
    let recording = read(&small().0).unwrap();
    assert_eq!((recording.seen, serde_json::to_value(run_at_end()).unwrap().get("disturbances")), (None, None));
}

/// Host and board are part of the run again, each without the other, and of nothing else.
#[test]
fn host_and_board_are_kept() {
    for (host, board) in [(Some(host()), None), (None, Some(board())), (Some(host()), Some(board()))] {
        let run = RunInfo { host: host.clone(), board: board.clone(), ..run_at_end() };
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.header(&header()).unwrap();
        writer.asked(&suite()).unwrap();
        writer.measured(&entries()).unwrap();
        host.iter().for_each(|host| writer.host(host).unwrap());
        board.iter().for_each(|board| writer.board(board).unwrap());
        writer.end(&run).unwrap();
        let recording = read(&writer.into_inner()).unwrap();
        assert_eq!((&recording.host, &recording.board, recording.run_info()), (&host, &board, run.clone()));
        let json = serde_json::to_value(&run).unwrap();
        assert_eq!(serde_json::from_value::<RunInfo>(json).unwrap(), run);
    }
    // A run without them says nothing of them.
    let json = serde_json::to_value(read(&small().0).unwrap().run_info()).unwrap();
    assert_eq!((json.get("host"), json.get("board")), (None, None));
}
