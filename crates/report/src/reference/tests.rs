use std::collections::BTreeSet;

use super::*;
use strata_model::attribute::FETCH_GRANULARITY;
use strata_model::characterization::Characterization;
use strata_model::units::Bytes;

#[test]
fn every_file_loads_and_every_value_has_a_source() {
    let all = all().unwrap();
    assert_eq!(all.len(), BUILT_IN.len());
    for reference in &all {
        assert!(!reference.values.is_empty(), "{}", reference.name);
        for value in &reference.values {
            assert!(value.source.len() > 1 && value.title.len() > 10, "{}: {value:?}", reference.name);
            assert!(reference.products().any(|product| product == value.product));
            let ordered = value.low.zip(value.high).is_none_or(|(low, high)| low <= high);
            assert!(ordered, "{}: {value:?}", reference.name);
        }
    }
}

#[test]
fn every_file_is_built_in() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reference");
    let files: BTreeSet<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let known: BTreeSet<String> = BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(files, known);
}

/// A misspelt finding would never be compared with anything; attributes are parsed.
#[test]
fn findings_are_those_that_results_have() {
    let recorded = include_str!("../../../../recordings/2026-11-22-h200-characterize.json");
    let recorded: Characterization = serde_json::from_str(recorded).unwrap();
    for value in all().unwrap().iter().flat_map(|reference| &reference.values) {
        if let Of::Part(part, finding) = &value.of {
            assert!(recorded.parts[part].findings.contains_key(finding), "{part}.{finding}");
        }
    }
}

#[test]
fn a_device_is_told_by_the_words_of_its_name() {
    let all = all().unwrap();
    let of = |device: &str| -> Vec<String> {
        all.iter().flat_map(|reference| reference.products_of(device)).map(str::to_owned).collect()
    };
    for (device, products) in [
        ("NVIDIA H200", &["H200"][..]),
        ("NVIDIA H100 80GB HBM3", &["H100", "H100 SXM"]),
        ("NVIDIA H100 NVL", &["H100", "H100 NVL"]),
        ("NVIDIA GH200 480GB", &["GH200"]),
        ("Tesla V100-PCIE-16GB", &["Tesla V100"]),
        ("NVIDIA A100-PCIE-40GB", &["A100", "A100 40 GiB"]),
        ("GeForce GTX 780", &["GeForce GTX 780"]),
        ("GeForce GTX 780 Ti", &[]),
        ("NVIDIA GeForce RTX 2080 Ti", &["GeForce RTX 2080 Ti"]),
        ("NVIDIA GeForce RTX 3080 Ti", &[]),
        ("AMD Instinct MI210", &[]),
        ("", &[]),
    ] {
        assert_eq!(of(device), products, "{device}");
    }
}

#[test]
fn sizes_are_kept_in_bytes_and_mistakes_are_named() {
    let file = |value: &str| {
        format!(
            "schema = \"strata/reference/1\"\nchip = \"X\"\narchitecture = \"Y\"\ncompute_capability = [1, 0]\n\
             [[product]]\nname = \"P\"\n[source.s]\ntitle = \"T\"\nyear = 2001\n\
             [[published]]\nproduct = \"P\"\nsource = \"s\"\nsure = \"read\"\nat = \"table 1\"\nvalues = [{value}]\n"
        )
    };
    let read = Reference::parse("x", &file("{ of = \"l1.size\", is = 1.5, low = 1, unit = \"KiB\" }")).unwrap();
    let value = &read.values[0];
    assert_eq!((&value.value, value.low, value.unit), (&Some(Bytes(1536).into()), Some(1024.0), Some("B")));
    assert_eq!((value.source.as_str(), value.title.as_str()), ("s, table 1", "T, 2001"));
    for (wrong, word) in [
        ("{ of = \"l9.size\", is = 1 }", "l9"),
        ("{ of = \"l1\", is = 1 }", "no attribute"),
        ("{ of = \"l1.volume\", is = 1 }", "no attribute `volume`"),
        ("{ of = \"l1.size\", is = true }", "not a number of bytes"),
        ("{ of = \"l1.size\" }", "neither"),
        ("{ of = \"l1.size\", is = 1, unit = \"KB\" }", "KB"),
        ("{ of = \"l1.size\", is = 1, sauce = 2 }", "sauce"),
    ] {
        let defect = Reference::parse("x", &file(wrong)).unwrap_err().to_string();
        assert!(defect.contains("reference/x.toml") && defect.contains(word), "{defect}");
    }
    assert!(Reference::parse("x", &file("").replace("source = \"s\"", "source = \"t\"")).is_err());
}

/// A file of one product and two resolutions, with these values.
fn resolved(values: &str) -> Result<Reference, Defect> {
    let head = "schema = \"strata/reference/1\"\nchip = \"X\"\narchitecture = \"Y\"\ncompute_capability = [1, 0]\n\
                [[product]]\nname = \"P\"\n[source.s]\ntitle = \"T\"\n\
                [resolution.step]\nis = 0.5\nunit = \"KiB\"\nwhy = \"its step\"\n\
                [resolution.none]\nis = 0\nunit = \"KiB\"\nwhy = \"?\"\n\
                [resolution.silent]\nis = 1\nunit = \"KiB\"\nwhy = \" \"\n";
    let group = "[[published]]\nproduct = \"P\"\nsource = \"s\"\nsure = \"read\"\n";
    Reference::parse("x", &format!("{head}{group}values = [{values}]\n"))
}

#[test]
fn a_number_is_as_wide_as_its_source_can_resolve() {
    let read = resolved("{ of = \"l1.size\", is = 12, unit = \"KiB\", resolution = \"step\", note = \"n\" }").unwrap();
    let value = &read.values[0];
    assert_eq!((value.low, value.high), (Some(11776.0), Some(12800.0)));
    assert_eq!(value.note.as_deref(), Some("n; known to 512 B: its step"));
    for (wrong, word) in [
        ("{ of = \"l1.size\", is = 1, unit = \"KiB\", resolution = \"stride\" }", "no resolution `stride`"),
        ("{ of = \"l1.latency.cycles\", is = 1, unit = \"cycles\", resolution = \"step\" }", "another unit"),
        ("{ of = \"l1.size\", is = 1, unit = \"KiB\", resolution = \"none\" }", "not greater than 0"),
        ("{ of = \"l1.size\", is = 1, unit = \"KiB\", resolution = \"silent\" }", "no reason"),
        ("{ of = \"l1.size\", is = 1, low = 1, unit = \"KiB\", resolution = \"step\" }", "without a range"),
        ("{ of = \"l1.size\", low = 1, unit = \"KiB\", resolution = \"step\" }", "without a range"),
    ] {
        let defect = resolved(wrong).unwrap_err().to_string();
        assert!(defect.contains(word), "{defect}");
    }
}

#[test]
fn facts_of_a_device_have_their_unit() {
    let read =
        resolved("{ of = \"device.clock\", is = 1.15, unit = \"GHz\" }, { of = \"device.cores\", is = 448 }").unwrap();
    assert_eq!(read.values[0].of, Of::Device(Fact::Clock));
    assert_eq!((read.values[0].value.as_ref().unwrap().number(), read.values[0].unit), (Some(1150.0), Some("MHz")));
    assert_eq!(read.values[1].value.as_ref().unwrap().number(), Some(448.0));
    for (wrong, word) in [
        ("{ of = \"device.clock\", is = 1 }", "this fact is in MHz"),
        ("{ of = \"device.cores\", is = 1, unit = \"B\" }", "this fact is in no unit"),
        ("{ of = \"device.wheels\", is = 4 }", "no fact `wheels` of a device; there are multiprocessors"),
    ] {
        let defect = resolved(wrong).unwrap_err().to_string();
        assert!(defect.contains(word), "{defect}");
    }
}

#[test]
fn ways_by_stride_need_no_latencies() {
    let ways = "ways_at = [{ width = 4, stride = 6, mode = 8, ways = 1 }]";
    let read = resolved(&format!("{{ of = \"shared.bank_curve\", {ways} }}")).unwrap();
    assert_eq!(read.values[0].ways_at, [WaysAt { width: 4, stride: 6, mode: Some(8), ways: 1 }]);
    for wrong in
        [format!("{{ of = \"l1.ways\", {ways} }}"), format!("{{ of = \"shared.bank_curve\", {ways}, low = 1 }}")]
    {
        let defect = resolved(&wrong).unwrap_err().to_string();
        assert!(defect.contains("`ways_at` is for `shared.bank_curve` alone"), "{defect}");
    }
}

/// A finding and a note that says otherwise would be compared with the wrong attribute.
#[test]
fn distances_between_misses_are_fetch_granularities() {
    for value in all().unwrap().iter().flat_map(|reference| &reference.values) {
        let note = value.note.as_deref().unwrap_or_default();
        if note.contains("sector") || note.contains("what is fetched") || note.contains("what a miss fetches") {
            let Of::Element(_, attribute) = &value.of else { panic!("{value:?}") };
            assert_eq!(*attribute, FETCH_GRANULARITY.into(), "{value:?}");
        }
    }
}
