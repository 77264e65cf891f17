//! The published JSON schemas: they are what `strata schema` prints, every committed report is what they say, and what is
//! not is refused.
//!
//! `UPDATE_GOLDEN=1 cargo test --test surface schemas` writes them anew; a change that takes something away is a new version.

use std::fs;
use std::path::Path;

use crate::published::{defects, object, path_of};
use serde_json::{Value, json};
use strata_model::characterization::{self, Characterization};
use strata_model::links::{self, Links};
use strata_model::node::{self, Node};
use strata_model::topology::{self, Topology};
use strata_report::compare::{self, Comparison};
use strata_report::policy::{self, Acceptance};
use strata_report::report;
use strata_report::{fleet, health};

/// The committed reports of this schema.
fn recorded(schema: &str) -> Vec<Value> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let reports = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let all = reports.map(|path| serde_json::from_str::<Value>(&fs::read_to_string(path).unwrap()).unwrap());
    let found: Vec<Value> = all.filter(|report| report["schema"] == schema).collect();
    assert!(!found.is_empty(), "no report of {schema} was found");
    found
}

#[test]
fn what_is_published_is_what_is_printed() {
    let printed = [
        (topology::SCHEMA, report::schema::<Topology>().unwrap()),
        (characterization::SCHEMA, report::schema::<Characterization>().unwrap()),
        (compare::SCHEMA, report::schema::<Comparison>().unwrap()),
        (compare::several::SCHEMA, report::schema::<compare::Several>().unwrap()),
        (node::SCHEMA, report::schema::<Node>().unwrap()),
        (policy::ACCEPTANCE, report::schema::<Acceptance>().unwrap()),
        (fleet::SCHEMA, report::schema::<fleet::Fleet>().unwrap()),
        (health::SCHEMA, report::schema::<health::Health>().unwrap()),
        (links::SCHEMA, report::schema::<Links>().unwrap()),
    ];
    for (name, now) in printed {
        let path = path_of(name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &now).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == now, "{} is not what `strata schema` prints; UPDATE_GOLDEN=1 writes it", path.display());
    }
}

#[test]
fn committed_reports_are_what_their_schemas_say() {
    for schema in [topology::SCHEMA, characterization::SCHEMA] {
        for report in recorded(schema) {
            assert_eq!(defects(&report, true), Vec::<String>::new(), "{}", report["device"]["name"]);
        }
    }
}

/// Something that is done to a report.
type Change = dyn Fn(&mut Value);

#[test]
fn a_changed_topology_is_refused() {
    let report = recorded(topology::SCHEMA).remove(0);
    let wrong: [(&str, &Change); 9] = [
        ("another version", &|report| report["schema"] = json!("strata/topology/1 ")),
        ("no elements", &|report| drop(object(report, "").remove("elements"))),
        ("a name that is a number", &|report| report["device"]["name"] = json!(7)),
        ("no name", &|report| drop(object(report, "/device").remove("name"))),
        ("an element that is a list", &|report| report["elements"]["l1"] = json!([])),
        ("a bound that is text", &|report| report["elements"]["l1"]["size"]["low"] = json!("220672")),
        ("a source of another kind", &|report| report["elements"]["l1"]["size"]["source"] = json!("guessed")),
        ("a value without a source", &|report| drop(object(report, "/elements/l1/size").remove("source"))),
        ("an unknown without a reason", &|report| drop(object(report, "/elements/l1/sets").remove("reason"))),
    ];
    for (what, change) in wrong {
        let mut changed = report.clone();
        change(&mut changed);
        assert!(!is_valid(&changed), "{what} was not seen");
    }
    // A later strata of the same version may know more.
    let mut more = report.clone();
    more["elements"]["l1"]["colour"] = json!("red");
    assert_eq!(defects(&more, false), Vec::<String>::new());
    assert!(!defects(&more, true).is_empty(), "but this one writes nothing that its schema does not name");
}

/// Whether this is a topology of version 1, whatever it says of itself.
fn is_valid(document: &Value) -> bool {
    let schema = serde_json::from_str(&fs::read_to_string(path_of(topology::SCHEMA)).unwrap()).unwrap();
    jsonschema::draft202012::is_valid(&schema, document)
}

#[test]
fn a_changed_characterization_is_refused() {
    let report = recorded(characterization::SCHEMA).remove(0);
    let wrong: [(&str, &Change); 6] = [
        ("a time that is no date", &|report| report["run"]["started"] = json!("yesterday")),
        ("no time, not even null", &|report| drop(object(report, "/run").remove("started"))),
        ("no parts", &|report| drop(object(report, "").remove("parts"))),
        ("block sizes that are text", &|report| report["asked"]["threads"] = json!("32")),
        ("a clock that is text", &|report| report["run"]["measured_clock_mhz"] = json!("fast")),
        ("a part without its question", &|report| drop(object(report, "/parts/locality").remove("question"))),
    ];
    for (what, change) in wrong {
        let mut changed = report.clone();
        change(&mut changed);
        assert!(!defects(&changed, false).is_empty(), "{what} was not seen");
    }
}

/// Generators of types name them by their titles, and need to know how long a list is and which units there are.
#[test]
fn schemas_say_what_generators_ask() {
    for schema in [report::schema::<Topology>().unwrap(), report::schema::<Characterization>().unwrap()] {
        let schema: Value = serde_json::from_str(&schema).unwrap();
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            assert_eq!(definition["title"], json!(name));
        }
        let mut lists = Vec::new();
        fixed(&schema, &mut lists);
        assert!(!lists.is_empty() && lists.iter().all(|items| *items == json!(false)), "{lists:?}");
        let efforts = &schema["$defs"]["RunInfo"]["properties"]["effort"]["enum"];
        assert_eq!(efforts, &json!(["quick", "standard", "thorough", "imported", ""]));
        let started = &schema["$defs"]["RunInfo"]["properties"]["started"];
        assert_eq!((&started["type"], &started["format"]), (&json!(["string", "null"]), &json!("date-time")));
    }
    let report = recorded(topology::SCHEMA).remove(0);
    let mut changed = report.clone();
    changed["elements"]["l1"]["size"]["unit"] = json!("KiB");
    assert!(!is_valid(&changed), "another unit was not seen");
    let mut changed = report.clone();
    changed["run"]["effort"] = json!("heroic");
    assert!(!is_valid(&changed), "another effort was not seen");
}

/// What follows the described places of each list.
fn fixed(schema: &Value, found: &mut Vec<Value>) {
    match schema {
        Value::Object(map) => {
            if map.contains_key("prefixItems") {
                found.push(map.get("items").cloned().unwrap_or(Value::Null));
            }
            map.values().for_each(|value| fixed(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| fixed(value, found)),
        _ => {}
    }
}
