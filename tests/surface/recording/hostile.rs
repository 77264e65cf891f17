//! Files that are made to do harm.

use super::*;

/// The experiment of [`chase`] as a block has it behind the number of its kind, which is 1.
fn wire_chase() -> Chase {
    match chase(8, 1) {
        Experiment::Chase(chase) => chase,
        other => panic!("{other:?}"),
    }
}

#[test]
fn blocks_come_in_order() {
    let plain = |block: u32| postcard::to_stdvec(&(block, header())).unwrap();
    assert_eq!(read(&framed(&[&plain(0)])).unwrap().header, header());
    for (blocks, what) in [
        (vec![plain(0), plain(0)], "block 1 at byte"),
        (vec![plain(0), plain(0)], "a second header"),
        (vec![vec![2, 0]], "before the header"),
        (vec![plain(9)], "not what one holds"),
        (vec![[plain(0), vec![0]].concat()], "1 bytes follow its content"),
        (vec![plain(0), vec![2, 200]], "not what one holds"),
    ] {
        let text = message(read(&framed(&blocks.iter().map(Vec::as_slice).collect::<Vec<_>>())));
        assert!(text.contains(what), "{text}");
    }
    let lists = |suite: Suite| (suite.parts, suite.threads, suite.distances, suite.jumps);
    let asked = postcard::to_stdvec(&(4u32, lists(suite()))).unwrap();
    let counts = postcard::to_stdvec(&(7u32, (vec![2u32], vec![3u32], 256u32))).unwrap();
    let code = postcard::to_stdvec(&(1u32, Code::new("k", "ptx", None))).unwrap();
    assert_eq!(read(&framed(&[&plain(0), &asked, &code])).unwrap().asked, Some(suite()));
    for blocks in [[&plain(0), &asked, &asked], [&plain(0), &code, &asked]] {
        let text = message(read(&framed(&blocks.map(Vec::as_slice))));
        assert!(text.contains("a question that does not follow the header"), "{text}");
    }
    assert!(message(read(&framed(&[&asked]))).contains("before the header"));
    let counted = Suite { barriers: vec![2], variables: vec![3], statements: 256, ..suite() };
    assert_eq!(read(&framed(&[&plain(0), &asked, &counts])).unwrap().asked, Some(counted));
    for blocks in [&[&plain(0), &counts][..], &[&plain(0), &asked, &code, &counts]] {
        let blocks: Vec<&[u8]> = blocks.iter().map(|block| block.as_slice()).collect();
        let text = message(read(&framed(&blocks)));
        assert!(text.contains("counts that do not follow a question"), "{text}");
    }

    let mut writer = Writer::new(Vec::new()).unwrap();
    assert!(matches!(writer.measured(&entries()), Err(Error::OutOfOrder { .. })));
    assert!(matches!(writer.asked(&suite()), Err(Error::OutOfOrder { .. })));
    writer.header(&header()).unwrap();
    assert!(matches!(writer.header(&header()), Err(Error::OutOfOrder { .. })));
    writer.measured(&entries()).unwrap();
    assert!(matches!(writer.asked(&suite()), Err(Error::OutOfOrder { .. })));
    writer.end(&run_at_end()).unwrap();
    assert!(matches!(writer.measured(&entries()), Err(Error::OutOfOrder { .. })));
    assert!(matches!(writer.asked(&suite()), Err(Error::OutOfOrder { .. })));
}

/// Fails the test when more is asked for than a careful reader needs.
struct Guarded<'a>(&'a [u8], usize);

impl Read for Guarded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1 = self.1.checked_sub(count).expect("no more is read once the lengths are known to be impossible");
        Ok(count)
    }
}

#[test]
fn lengths_are_checked_before_anything_is_read_or_allocated() {
    let content = vec![0; 4096];
    for (packed, plain, what) in [
        (100, u32::MAX, "more than the 32 MiB allowed"),
        (100, MAX_BLOCK as u32 + 1, "more than the 32 MiB allowed"),
        (u32::MAX, 100, "bytes for a content of 100"),
        (u32::MAX, u32::MAX, "more than the 32 MiB allowed"),
    ] {
        let file = [framed(&[]), frame(packed, plain, &content)].concat();
        let text = message(Recording::from_reader(Guarded(&file, 16 + 12)));
        assert!(text.contains(what), "{text}");
    }
}

#[test]
fn what_decompresses_to_more_than_it_claims_is_refused() {
    let bomb = zstd::bulk::compress(&vec![0; 2 * MAX_BLOCK], 3).unwrap();
    for plain in [100_000, MAX_BLOCK as u32] {
        let text = message(read(&[framed(&[]), frame(bomb.len() as u32, plain, &bomb)].concat()));
        assert!(text.contains(&format!("does not decompress to the {plain} bytes it claims")), "{text}");
    }
    // Streamed, so that the frame does not state its content's length either.
    let mut stream = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
    stream.write_all(&vec![0; 2 * MAX_BLOCK]).unwrap();
    let bomb = stream.finish().unwrap();
    let text = message(read(&[framed(&[]), frame(bomb.len() as u32, MAX_BLOCK as u32, &bomb)].concat()));
    assert!(text.contains("does not decompress"), "{text}");
    let short = zstd::bulk::compress(&[0; 10], 3).unwrap();
    let text = message(read(&[framed(&[]), frame(short.len() as u32, 11, &short)].concat()));
    assert!(text.contains("holds 10 bytes and claims 11"), "{text}");
}

#[test]
fn lists_in_a_block_are_not_believed() {
    // A batch of 2^60 entries, and latencies of 2^60 bytes: a length, and nothing behind it.
    let endless = [2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
    let start = postcard::to_stdvec(&(0u32, header())).unwrap();
    assert!(message(read(&framed(&[&start, &endless]))).contains("not what one holds"));
    let entry = postcard::to_stdvec(&(2u32, 1u32, (1u32, 1u32, wire_chase(), 1u16, 0u32, 1u64 << 60))).unwrap();
    assert!(message(read(&framed(&[&start, &entry]))).contains("not what one holds"));
    let many = Header { run: RunInfo { warnings: vec![String::new(); MAX_FACTS], ..RunInfo::default() }, ..header() };
    let mut facts = postcard::to_stdvec(&(0u32, &many)).unwrap();
    assert!(message(read(&framed(&[&facts]))).contains("bytes of facts are more than"));
    facts.splice(..1, [0x80, 0]);
    assert!(message(read(&framed(&[&facts]))).contains("bytes of facts are more than"), "the variant in two bytes");
    let much = Suite { threads: vec![1; MAX_FACTS], ..suite() };
    let asked = postcard::to_stdvec(&(4u32, (&much.parts, &much.threads, &much.distances, &much.jumps))).unwrap();
    assert!(message(read(&framed(&[&start, &asked]))).contains("bytes of facts are more than"));
    let endless = [4, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
    assert!(message(read(&framed(&[&start, &endless]))).contains("not what one holds"));

    let mut writer = Writer::new(Vec::new()).unwrap();
    assert!(matches!(writer.header(&many), Err(Error::Oversized { .. })));
    writer.header(&header()).expect("nothing was written before");
    assert!(matches!(writer.asked(&much), Err(Error::Oversized { .. })));
    assert!(read(&writer.into_inner()).is_ok());
}

#[test]
fn planes_that_do_not_fit_are_damage() {
    let samples = |planes: &[u8]| {
        let lists = (0u8, 0u8, 3u32, 0u64);
        postcard::to_stdvec(&(2u32, 1u32, 1u32, 1u32, wire_chase(), 1u16, 0u32, planes, lists, 1.0)).unwrap()
    };
    let start = postcard::to_stdvec(&(0u32, header())).unwrap();
    let measured = |planes: &[u8]| match &read(&framed(&[&start, &samples(planes)]))?.entries[0].outcome {
        Ok(samples) => Ok(samples.latencies.clone()),
        Err(failure) => panic!("{failure}"),
    };
    assert!(measured(&[]).unwrap().is_empty());
    assert_eq!(measured(&[1, 35, 230]).unwrap(), [35, 230]);
    assert_eq!(measured(&[2, 35, 230, 0, 1]).unwrap(), [35, 486]);
    assert_eq!(measured(&[4, 1, 2, 3, 4]).unwrap(), [0x0403_0201]);
    for planes in [&[2, 1, 2, 3][..], &[0, 1], &[5, 1, 2, 3, 4, 5], &[0]] {
        assert!(matches!(measured(planes), Err(Error::Damaged { block: 1, .. })), "{planes:?}");
    }
}

proptest! {
    #[test]
    fn noise_is_no_recording(noise in prop::collection::vec(any::<u8>(), 0..300), block in 0u8..6) {
        prop_assert!(read(&noise).is_err());
        let start = postcard::to_stdvec(&(0u32, header())).unwrap();
        let _ = read(&framed(&[&start, &[&[block], &noise[..]].concat()]));
        let _ = read(&[framed(&[&start]), noise].concat());
    }
}

/// A part of the run that is none is refused; one that only a later version knows is passed over.
#[test]
fn parts_of_the_run_are_checked() {
    let begin = postcard::to_stdvec(&(0u32, header())).unwrap();
    let with = |name: &str, json: &str| {
        let part = postcard::to_stdvec(&(6u32, name, json)).unwrap();
        read(&framed(&[&begin, &part]))
    };
    assert_eq!(with("colour", "no JSON").unwrap().run_info().host, None);
    let more = with("host", r#"{"architecture": "x", "colour": "red"}"#).unwrap();
    assert_eq!(more.host.unwrap().architecture, "x");
    let later = with("selection", r#"{"only": ["l1.colour"], "bandwidth": true, "colour": "red"}"#).unwrap();
    assert_eq!(later.selection().only[0].to_string(), "l1.colour");
    let deep = "[".repeat(100_000);
    let hosts = ["", "{}", "[]", "{\"architecture\": 7}", "{\"architecture\": \"x\", \"cores\": -1}", &deep];
    let selections = ["", "{}", "[]", r#"{"only": ["colour"], "bandwidth": true}"#, &deep];
    let all = hosts.map(|json| ("host", json)).into_iter().chain(selections.map(|json| ("selection", json)));
    for (name, json) in all {
        let refused = message(with(name, json));
        assert!(refused.contains("part of the run"), "{name}, {json:.40}: {refused}");
    }
}
