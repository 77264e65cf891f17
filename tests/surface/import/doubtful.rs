//! Timings that show less than they seem to: what is said of them is right, or unknown with the reason.

use super::*;

/// A folder of timings and what is said of it.
struct Timings(tempfile::TempDir);

impl Timings {
    fn new() -> Self {
        Timings(tempfile::tempdir().unwrap())
    }

    fn write(self, series: &str, rows: impl IntoIterator<Item = String>) -> Self {
        fs::write(self.0.path().join(format!("G - {series}.txt")), rows.into_iter().collect::<String>()).unwrap();
        self
    }

    /// The cold chase over this cache.
    fn cold(self, level: &str, cache: &mut Cache) -> Self {
        let row = |stride| row(&[stride], &cache.chase(64 * stride, stride, 1, HIT_MISS));
        self.write(&format!("{level} Fetch Granularity"), (4..=256).step_by(4).map(row))
    }

    fn report(&self) -> Value {
        report(self.0.path())
    }
}

const HIT_MISS: (u32, u32) = (70, 250);

/// The second laps over footprints up to twice the cache, of which `change` makes something else.
fn sizes(cache: &mut Cache, change: impl Fn(u64, usize, u32) -> u32) -> Vec<String> {
    let (size, sector) = (cache.size(), cache.sector);
    let footprints = (size * 3 / 4..=2 * size).step_by(sector.max(size / 128) as usize);
    let lap = |footprint| {
        let loads = cache.chase(footprint, sector, 2, HIT_MISS);
        let loads: Vec<u32> = loads.iter().enumerate().map(|(i, &load)| change(footprint, i, load)).collect();
        row(&[footprint], &loads)
    };
    footprints.map(lap).collect()
}

fn unchanged(_: u64, _: usize, load: u32) -> u32 {
    load
}

fn l1() -> Cache {
    Cache::new(128, 32, 16, 4)
}

/// The reason why an attribute of the element is unknown.
fn reason(report: &Value, element: &str, attribute: &str) -> String {
    let finding = &report["elements"][element][attribute];
    assert!(finding["value"].is_null(), "{finding}");
    finding["reason"].as_str().unwrap().to_owned()
}

#[track_caller]
fn has_size(report: &Value, element: &str, expected: u64) {
    let size = &report["elements"][element]["size"];
    assert_eq!(size["value"], expected, "{size}");
    assert!(size["low"].as_f64().is_none_or(|low| low <= expected as f64), "{size}");
    assert!(size["high"].as_f64().unwrap() >= expected as f64, "{size}");
}

/// Rows of a line series: one footprint that fits and one just beyond the 8 KiB of [`l1`], of whose loads this share is slow.
fn lines(slow: &[(u64, f64)]) -> Vec<String> {
    let loads = |share: f64| -> Vec<u32> {
        (0..100).map(|i| if f64::from(i) < share * 100.0 { HIT_MISS.1 } else { HIT_MISS.0 }).collect()
    };
    let rows = |&(stride, share)| [row(&[stride, 7168], &loads(0.0)), row(&[stride, 8704], &loads(share))];
    slow.iter().flat_map(rows).collect()
}

#[test]
fn a_line_needs_strides_up_to_twice_its_size() {
    let line = |slow: &[(u64, f64)]| {
        let timings = Timings::new().write("L1 Size", sizes(&mut l1(), unchanged));
        timings.write("L1 Line Size", lines(slow)).report()
    };
    let short = line(&[(16, 1.0), (32, 1.0), (48, 1.0), (64, 0.3)]);
    assert!(reason(&short, "l1", "line_size").contains("the strides end at 64 B"), "{short}");
    // At 96 B all loads are slow: a line of 48 B that crowds every other set, or a line of 64 or 128 B.
    let coarse = line(&[(48, 1.0), (96, 1.0), (144, 0.0), (192, 0.0), (240, 0.0)]);
    assert!(reason(&coarse, "l1", "line_size").contains("not exactly one power of two from 46 to 143 B"), "{coarse}");
    let enough = line(&[(32, 1.0), (48, 1.0), (64, 1.0), (80, 0.0), (96, 0.0), (112, 0.0), (128, 1.0)]);
    assert_eq!(value(&enough, "l1", "line_size"), 64);
}

#[test]
fn a_lap_that_ends_before_the_capacity_shows_no_line() {
    // With a stride of 80 B the last load of the lap over 832 B lies at 720 B, which fits into 768 B.
    let mut cache = Cache::new(128, 32, 3, 2);
    let rows = [16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256].map(|stride| {
        let footprints = [704, 768, 832, 896, 960];
        footprints.map(|footprint| row(&[stride, footprint], &cache.chase(footprint, stride, 2, HIT_MISS))).concat()
    });
    let report = Timings::new().write("L1 Size", sizes(&mut cache, unchanged)).write("L1 Line Size", rows).report();
    let line = value(&report, "l1", "line_size");
    assert!(line.is_null() || line == 128, "{}", report["elements"]["l1"]["line_size"]);
}

#[test]
fn a_load_that_an_earlier_level_answered_found_what_another_fetched() {
    let chase = |stride: u64| {
        let load = |i: u64| match stride {
            // Two loads hit the L1.
            120..128 if i == 100 || i == 300 => 30,
            0..120 if i * stride % 128 + stride <= 128 => 200,
            _ => 500,
        };
        row(&[stride], &(0..500).map(load).collect::<Vec<_>>())
    };
    let timings = Timings::new().write("L2 Fetch Granularity", (4..=256).step_by(4).map(chase));
    let report = timings.write("L1 Latency", ["30\n".repeat(99)]).write("L2 Latency", ["200\n".repeat(99)]).report();
    assert_eq!(value(&report, "l2", "fetch_granularity"), 128);
}

#[test]
fn strides_far_apart_do_not_show_what_is_fetched() {
    let mut cache = Cache::new(128, 128, 16, 4);
    let rows = [16, 144, 272].map(|stride| row(&[stride], &cache.chase(64 * stride, stride, 1, HIT_MISS)));
    let report = Timings::new().write("L1 Fetch Granularity", rows).report();
    assert!(reason(&report, "l1", "fetch_granularity").contains("from 17 to 146 B"), "{report}");
}

#[test]
fn one_load_that_is_always_slow_is_not_the_capacity() {
    let mut cache = Cache::new(64, 64, 16, 2);
    let mut rows = sizes(&mut cache, |_, i, load| if i == 27 { HIT_MISS.1 } else { load });
    // Up to 2816 B, as in MT4G's files.
    rows.truncate(21);
    let report = Timings::new().write("Constant L1 Size", rows).cold("Constant L1", &mut cache).report();
    has_size(&report, "constant_l1", 2048);
    assert_eq!(report["elements"]["constant_l1"]["size"]["low"], 2048.0);
}

#[test]
fn slower_hits_are_no_misses() {
    // As loads that miss a TLB: 20 cycles more, where a miss takes 180.
    let slower = |footprint: u64, _: usize, load: u32| if footprint > 6400 { load + 20 } else { load };
    let both = Timings::new().write("L1 Size", sizes(&mut l1(), slower)).cold("L1", &mut l1()).report();
    has_size(&both, "l1", 8192);

    let fits = sizes(&mut l1(), |footprint, _, _| HIT_MISS.0 + if footprint > 6400 { 20 } else { 0 });
    let only = Timings::new().write("L1 Size", fits).cold("L1", &mut l1()).report();
    assert!(reason(&only, "l1", "size").contains("20 cycles more from 6.312 KiB on, which is too little for a miss"));
    assert!(only["elements"]["l1"]["size"]["low"].is_null());
}

#[test]
fn a_first_row_may_have_slow_loads() {
    // 20 of 255 loads, 7.8 %: of all rows, and of the first one alone.
    for (rows, conflicts) in [(u64::MAX, 20.0), (12 << 10, 0.0)] {
        let mut cache = Cache::new(128, 32, 32, 4);
        let slow = |footprint: u64, i: usize, load: u32| {
            if footprint <= rows && i % 13 == 7 { HIT_MISS.1 } else { load }
        };
        let report = Timings::new().write("L1 Size", sizes(&mut cache, slow)).cold("L1", &mut cache).report();
        has_size(&report, "l1", 16 << 10);
        assert_eq!(value(&report, "l1", "conflicts"), conflicts);
    }
}

#[test]
fn strays_of_any_height_do_not_make_a_size() {
    for extra in [20, 150, 600] {
        // Three loads of a hundred, anywhere.
        let strays = |footprint: u64, i: usize, load: u32| {
            let hash = (footprint * 2_654_435_761 + i as u64 * 40_503).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
            if hash.is_multiple_of(33) { load + extra } else { load }
        };
        let report = Timings::new().write("L1 Size", sizes(&mut l1(), strays)).cold("L1", &mut l1()).report();
        let size = &report["elements"]["l1"]["size"];
        let (low, high) = (size["low"].as_f64().unwrap(), size["high"].as_f64().unwrap());
        assert!(low <= 8192.0 && (8192.0..9000.0).contains(&high), "+{extra}: {size}");
    }
}

#[test]
fn the_size_of_an_l2_is_an_upper_bound_where_its_laps_were_timed_in_part() {
    let mut l2 = Cache::new(128, 32, 512, 16);
    let rows = (0..9).map(|k| {
        let footprint = (252 + k) * 4096;
        row(&[footprint], &l2.chase(footprint, 32, 2, HIT_MISS))
    });
    let report = Timings::new().write("L2 Size", rows).report();
    let size = &report["elements"]["l2"]["size"];
    assert_eq!((&size["value"], size.get("low")), (&(1 << 20).into(), None), "{size}");
    assert!(size["note"].as_str().unwrap().contains("earlier misses may be unseen"), "{size}");
}

#[test]
fn a_file_that_cannot_be_read_leaves_only_its_series_out() {
    let rows = sizes(&mut l1(), unchanged);
    for (bad, said) in [
        (
            (1..=100).map(|i| format!("{}\n", i * 32)).collect(),
            "line 1: a stride, a footprint and at least one latency",
        ),
        (String::new(), "is empty"),
        ("32,8192,70,NaN\n".into(), "line 1: `NaN` is not a latency"),
        ("32,8192,70\n32,8192,-70\n".into(), "line 2: `-70` is not a latency"),
        ("32 B,8 KiB,70 cycles\n".into(), "line 1: `32 B` is not a number of bytes"),
    ] {
        let timings = Timings::new().write("L1 Size", rows.clone()).write("L1 Line Size", [bad]);
        let report = timings.report();
        has_size(&report, "l1", 8192);
        let warnings = report["run"]["warnings"].to_string();
        assert!(
            warnings.contains("left out the series for the line size of the L1") && warnings.contains(said),
            "{warnings}"
        );
        assert!(reason(&report, "l1", "line_size").contains("no series"));
    }
}

#[test]
fn rows_may_be_cut_off_repeated_and_in_any_order() {
    let rows = sizes(&mut l1(), unchanged);
    let cut = |row: &String| row.split(',').take(9).collect::<Vec<_>>().join(",") + "\n";
    let at = rows.len() - 3;
    let mut truncated = rows.clone();
    truncated[at] = cut(&rows[at]);
    truncated.push(cut(&rows[at]));
    let disturbed = rows[..20].iter().map(|row| row.replace(",70", ",250"));
    let twice: Vec<String> = disturbed.chain(rows.iter().rev().cloned()).collect();
    for rows in [truncated, twice] {
        has_size(&Timings::new().write("L1 Size", rows).cold("L1", &mut l1()).report(), "l1", 8192);
    }
}

#[test]
fn a_size_needs_footprints_that_fit() {
    let size = |rows: Vec<String>| {
        let latencies = ["70\n".repeat(60)];
        let timings = Timings::new().write("L1 Size", rows).write("L1 Latency", latencies).cold("L1", &mut l1());
        let report = timings.report();
        assert!(report["elements"]["l1"]["size"]["low"].is_null(), "{}", report["elements"]["l1"]["size"]);
        reason(&report, "l1", "size")
    };
    assert!(size(vec![row(&[1024], &[70; 32])]).contains("one footprint only"));
    let misses = (8..40).map(|k| row(&[k * 1024], &[250; 255])).collect();
    assert!(size(misses).contains("these may all be misses"));
    let steady = (8..60).map(|k| row(&[k * 1024], &[30 + 5 * k as u32; 255])).collect();
    assert!(size(steady).contains("loads take longer with the footprint already"));
    let rows: Vec<String> = sizes(&mut l1(), unchanged);
    assert!(size(rows[32..].to_vec()).contains("whether the smallest one fits cannot be seen"));
}

#[test]
fn what_all_multiprocessors_share_out_is_not_that_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let timings = folder.path().join("G");
    fs::create_dir(&timings).unwrap();
    fs::write(timings.join("G - Shared Memory Latency.txt"), "48\n".repeat(60)).unwrap();
    let summary = r#"{"general": {"name": "G", "vendor": "AMD"}, "compute": {"multiProcessorCount": 120}, "memory": {"shared":
        {"sharedMemPerBlock": {"unit": "bytes", "value": 65536},
         "sharedMemPerMultiProcessor": {"unit": "bytes", "value": 7864320}}}}"#;
    fs::write(folder.path().join("G.json"), summary).unwrap();
    let report = report(&timings);
    assert!(reason(&report, "shared", "size").contains("no summary"), "{report}");
    assert!(report["device"]["shared_per_multiprocessor"].is_null(), "{}", report["device"]);
    let warnings = report["run"]["warnings"].to_string();
    assert!(warnings.contains("7.5 MiB of shared memory for one multiprocessor"), "{warnings}");

    let compared =
        strata().arg("compare").args([folder.path().join("G.json"), folder.path().join("G.json")]).output().unwrap();
    let said = String::from_utf8(compared.stdout).unwrap();
    assert!(!said.contains("7864320"), "{said}");
}
