use super::*;
use crate::pattern::Pattern;

fn chase() -> Chase {
    Chase::each_load(LoadPath::GlobalCa, Bytes(256), Bytes(32))
}

#[test]
fn json_names_the_kind_beside_its_fields() {
    let chase = Experiment::from(Chase { place: Place::alone_on(3), ..chase() });
    let json = serde_json::to_value(&chase).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "kind": "chase", "path": "global_ca", "footprint": 256, "stride": 32, "order": "sequential",
            "timing": { "each_load": { "loads": 8, "walk": "resident" } }, "warm_laps": 1, "prepare": "nothing",
            "place": { "sm": 3, "allocation": 0, "carveout_percent": 0, "alone": true }, "seed": 0, "repeat": 0,
        })
    );
    let warp = Warp { bank_width: Some(BankWidth::B8), ..Warp::new(AccessWidth::B16, [0; WARP], Bytes(1024), 64) };
    let sums = Pattern::Sums { threads: 32, variables: 40, statements: 512, padding: 0 };
    let sums = PatternRun::new(sums, LoadPath::GlobalCa, 2);
    let clock = Clock { span_us: 10, sm: 0, repeat: 1 };
    for experiment in [chase, warp.into(), sums.into(), clock.into()] {
        let text = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<Experiment>(&text).unwrap(), experiment, "{text}");
    }
}

#[test]
fn what_no_experiment_can_be_is_said() {
    let warp = serde_json::to_string(&Experiment::from(Warp::new(AccessWidth::B8, [0; WARP], Bytes(64), 8))).unwrap();
    let clock = r#"{"kind":"clock","span_us":10,"sm":0,"repeat":0}"#;
    for (json, part) in [
        (warp.replace("\"width\":8", "\"width\":12"), "a lane loads 4, 8 or 16 B at once, not 12 B"),
        (warp.replace("[0,0,", "[0,"), "an array of length 32"),
        (warp.replace("\"bank_width\":null", "\"bank_width\":16"), "4 or 8 B wide, not 16 B"),
        (clock.replace("\"kind\":\"clock\",", ""), "missing field `kind`"),
        (clock.replace("\"clock\"", "\"river\""), "unknown variant `river`"),
        (clock.replace("\"sm\":0,", ""), "missing field `sm`"),
        (clock.replace("\"sm\":0", "\"sm\":0,\"path\":\"texture\""), "unknown field `path`"),
    ] {
        let error = serde_json::from_str::<Experiment>(&json).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn what_types_cannot_rule_out_is_a_defect() {
    let paged = |page, lines, footprint| Chase {
        order: Order::Paged { page: Bytes(page), lines },
        footprint: Bytes(footprint),
        ..chase()
    };
    let listed = |offsets: &[u64]| Chase { order: Order::Listed { offsets: offsets.into() }, ..chase() };
    for (chase, part) in [
        (Chase { stride: Bytes(0), ..chase() }, "no multiple of the 8 B element"),
        (Chase { stride: Bytes(12), ..chase() }, "no multiple of the 8 B element"),
        (Chase { footprint: Bytes(31), ..chase() }, "holds no element"),
        (Chase { footprint: Bytes(u64::MAX), ..chase() }, "beyond the 67108864 allowed"),
        (Chase { order: Order::Scattered { granule: Bytes(0) }, ..chase() }, "does not divide"),
        (paged(0, 0, 256), "no 0 elements"),
        (paged(128, 5, 256), "no 5 elements"),
        (paged(1 << 62, 1, 1 << 62), "more than 67108864 places"),
        (listed(&[0, 256]), "offset 256"),
        (listed(&[0, 8, 0]), "listed twice"),
        (Chase { timing: Timing::EachLoad { loads: 8, walk: Walk::Settled { laps: 0 } }, ..chase() }, "no laps"),
    ] {
        let defect = Experiment::from(chase).defect().unwrap_or_else(|| panic!("allowed, in spite of `{part}`"));
        assert!(defect.contains(part), "{defect}");
    }
    assert_eq!(chase().defect(), None);
}

#[test]
fn strides_of_nothing_have_no_pages() {
    assert_eq!(pages_span(Bytes(0)), LARGE_PAGE.0);
    assert_eq!(pages_span(Bytes(96)), 32);
}
