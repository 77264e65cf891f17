//! Every attribute has a name, and every kind of value its JSON.

use std::collections::BTreeSet;

use super::*;

#[test]
fn every_attribute_has_its_own_key_and_a_sentence() {
    let keys: BTreeSet<&str> = Attribute::ALL.iter().map(|attribute| attribute.key()).collect();
    assert_eq!(keys.len(), Attribute::ALL.len());
    for attribute in Attribute::ALL {
        assert_eq!(attribute.key().parse(), Ok(*attribute));
        assert!(attribute.about().ends_with('.') && !attribute.title().is_empty(), "{attribute}");
        let implied = attribute.kind().unit().unwrap_or(attribute.unit());
        assert_eq!(attribute.unit(), implied, "{attribute}: its type has another unit");
    }
    assert!("volume".parse::<Attribute>().is_err());
    let part: Path = "least_configuration.misses".parse().unwrap();
    assert_eq!((part.kind(), part.to_string().as_str()), (Kind::Curve, "least_configuration.misses"));
}

#[test]
fn values_keep_their_json() {
    for (kind, text) in [
        (Kind::Ways, "[17,8]"),
        (Kind::Ways, "16"),
        (Kind::Index, r#"{"kind":"bits","bits":[7,8]}"#),
        (Kind::Index, r#"{"kind":"parity","masks":["0x1080"]}"#),
        (Kind::Index, r#"{"kind":"modulo","sets":33}"#),
        (Kind::Policy, r#""bit_plru""#),
        (Kind::Policy, r#"{"policy":"weighted","probabilities":[0.5,0.25,0.25]}"#),
        (Kind::Policy, r#"{"policy":"weighted","probabilities":[0.5,0.5],"counted":8000}"#),
        (Kind::Policy, r#""of next year""#),
        (Kind::Curve, "[[2112,0.15],[2176,1.0,0.97,1.0]]"),
        (Kind::Elements, r#"["texture","cluster_shared"]"#),
        (Kind::SmMap, r#"[{"sm":0,"partition":1,"group":null}]"#),
        (
            Kind::Spectrum,
            r#"[{"path":"cg","pattern":null,"data":"l2","translation":"l1 miss","cycles":404.0,"low":400.0,"high":410.5,"loads":64}]"#,
        ),
        (
            Kind::Configuration,
            r#"{"size":16384,"sets":32,"ways":4,"index":null,"replacement":"lru","misses":[[16512,0.5]]}"#,
        ),
        (Kind::Padding, r#"[{"width":4,"words":null,"mode":8}]"#),
        (
            Kind::Launches,
            r#"[{"threads_per_block":256,"blocks_per_sm":8,"shared_per_block":0,"carveout_percent":null,"shared_configured":32768,"size":1024,"low":960,"high":1056}]"#,
        ),
        (Kind::BankCurve, r#"[{"width":4,"stride":1,"cycles":23.0,"ways":1}]"#),
        (Kind::Hints, r#"[{"access":"l1_evict_first","effect":"evicted_first"}]"#),
        (Kind::Fetches, r#"[{"access":"l2_fetch128","bytes":128,"most":256}]"#),
        (Kind::Cycles, "40.0"),
        (Kind::Bytes, "4096"),
    ] {
        let value = kind.read(serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!((value.kind(), serde_json::to_string(&value).unwrap().as_str()), (kind, text));
    }
}

#[test]
fn values_without_an_attribute_are_told_by_their_shape() {
    for (text, unit, kind) in [
        ("7", None, Kind::Count),
        ("7", Some("B"), Kind::Bytes),
        ("7.5", Some("cycles"), Kind::Cycles),
        ("7.5", Some("%"), Kind::Number),
        ("[]", None, Kind::Sizes),
        (r#"["texture"]"#, None, Kind::Elements),
        (r#"{"kind":"modulo","sets":33}"#, None, Kind::Index),
        (r#"{"policy":"weighted","probabilities":[0.5]}"#, None, Kind::Policy),
        (r#"[{"width":4,"words":1}]"#, None, Kind::Padding),
    ] {
        assert_eq!(Value::of_unit(serde_json::from_str(text).unwrap(), unit).unwrap().kind(), kind, "{text}");
    }
    assert!(Value::of_unit(serde_json::json!({}), None).is_err());
}

#[test]
fn values_of_another_kind_are_refused_with_a_reason() {
    for (kind, text) in [
        (Kind::Bytes, "\"2 KiB\""),
        (Kind::Bytes, "-1"),
        (Kind::Flag, "1"),
        (Kind::Curve, "[[1]]"),
        (Kind::Index, r#"{"kind":"parity","masks":[16]}"#),
        (Kind::Spectrum, r#"[{"path":"cg"}]"#),
        (Kind::Configuration, "{}"),
    ] {
        let error = kind.read(serde_json::from_str(text).unwrap()).unwrap_err();
        assert!(error.starts_with(&format!("not {}", kind.words())), "{error}");
    }
}
