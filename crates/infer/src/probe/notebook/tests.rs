//! What is asked, cited and kept.

use std::cell::Cell;

use super::super::gap::Unknown;
use super::super::levels::HitMiss;
use super::*;

use strata_model::experiment::{Chase, LoadPath};
use strata_model::units::Bytes;

fn chase(repeat: u32) -> Chase {
    let timing = Timing::resident(1);
    Chase { repeat, timing, ..Chase::each_load(LoadPath::GlobalCa, Bytes(1024), Bytes(32)) }
}

#[test]
fn what_is_missing_is_noted_once_and_then_read() {
    let mut notebook = Notebook::new(DeviceFacts::default(), Effort::Quick, 0);
    let wanted = [chase(0), chase(1), chase(0)];
    assert_eq!(notebook.read(&wanted).unwrap_err(), Gap::Missing);
    assert_eq!(notebook.take_missing(), [chase(0).into(), chase(1).into()]);
    notebook.add(7, chase(0).into(), Ok(Samples { latencies: vec![40], ..Samples::default() }));
    notebook.add(8, chase(1).into(), Err(Failure::failed("broken")));
    notebook.add(9, chase(2).into(), Ok(Samples::default()));
    let failed = |how: &str| Gap::from(Unknown::Failed(how.into()));
    assert_eq!(notebook.read(&[chase(2)]).unwrap_err(), failed("the samples hold 0 latencies, not 1"));
    assert_eq!(notebook.read(&wanted).unwrap_err(), failed("broken"));
    let finding = notebook.finding(|| {
        let measurements = notebook.read(&[chase(0)])?;
        Ok(Finding::measured(measurements[0].latencies()[0].into(), "read"))
    });
    assert_eq!((finding.value, finding.experiments), (Some(40_u64), vec![7]));
    assert!(notebook.take_missing().is_empty());
}

/// Hits and misses of nothing in particular.
const LEVELS: HitMiss = HitMiss { threshold: 50, hit: 40.0, miss: 60.0, spread: 1.0 };

#[test]
fn what_is_inferred_once_still_cites_its_experiments() {
    let mut notebook = Notebook::new(DeviceFacts::default(), Effort::Quick, 0);
    notebook.add(3, chase(0).into(), Ok(Samples { latencies: vec![40], ..Samples::default() }));
    let times = Cell::new(0);
    let levels = || {
        notebook.once(&notebook.memo.l2_levels, (), || {
            times.set(times.get() + 1);
            notebook.read(&[chase(0)])?;
            Ok(LEVELS)
        })
    };
    for _ in 0..2 {
        let finding = notebook.finding(|| Ok(Finding::measured(levels()?.hit, "hit")));
        assert_eq!((finding.value, finding.experiments), (Some(40.0), vec![3]));
    }
    assert_eq!(times.get(), 1);
}

#[test]
fn what_is_missing_is_inferred_again_and_what_is_unknown_is_not() {
    let mut notebook = Notebook::new(DeviceFacts::default(), Effort::Quick, 0);
    let times = Cell::new(0);
    let ask = |notebook: &Notebook| {
        notebook.once(&notebook.memo.l2_levels, (), || {
            times.set(times.get() + 1);
            notebook.read(&[chase(0)])?;
            Gap::unknown("unclear")
        })
    };
    assert_eq!(ask(&notebook), Err(Gap::Missing));
    notebook.add(1, chase(0).into(), Ok(Samples { latencies: vec![40], ..Samples::default() }));
    for _ in 0..2 {
        assert_eq!(ask(&notebook), Err(Unknown::because("unclear").into()));
    }
    assert_eq!(times.get(), 2);
}

#[test]
fn what_is_forgotten_is_asked_and_inferred_again() {
    let mut notebook = Notebook::new(DeviceFacts::default(), Effort::Quick, 0);
    let level = |notebook: &Notebook| {
        notebook.once(&notebook.memo.l2_levels, (), || {
            let hit = f64::from(notebook.read(&[chase(0)])?[0].latencies()[0]);
            Ok(HitMiss { hit, ..LEVELS })
        })
    };
    let samples = |cycles| Ok(Samples { latencies: vec![cycles], ..Samples::default() });
    notebook.add(1, chase(0).into(), samples(4000));
    assert_eq!(level(&notebook).unwrap().hit, 4000.0);
    notebook.forget(&[chase(0).into()]);
    assert_eq!(level(&notebook), Err(Gap::Missing));
    notebook.add(2, chase(0).into(), samples(40));
    assert_eq!(level(&notebook).unwrap().hit, 40.0);
}

#[test]
fn answers_are_kept_by_question_and_key() {
    let notebook = Notebook::new(DeviceFacts::default(), Effort::Quick, 0);
    let fetch = |bytes: u64| crate::probe::fetch::Fetch { granularity: Bytes(bytes), agreement: 1.0 };
    let sector = |path, bytes| notebook.once(&notebook.memo.sector, path, || Ok(fetch(bytes)));
    assert_eq!(sector(LoadPath::GlobalCa, 32), Ok(fetch(32)));
    assert_eq!(sector(LoadPath::Texture, 64), Ok(fetch(64)));
    assert_eq!(sector(LoadPath::GlobalCa, 128), Ok(fetch(32)));
}
