//! The published schemas (`schema/`), and whether a report is what its schema says.

// Every test binary that has this uses another part of it.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// The published schema of the documents of this `schema`, such as `strata/topology/1`.
///
/// Panics if there is none.
pub fn path_of(document: &str) -> PathBuf {
    let name = document.strip_prefix("strata/").expect("a document of strata").replace('/', "-");
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schema").join(format!("{name}.json"))
}

/// What is wrong with a document, by the published schema that it names; `closed`: keys that the schema does not know are
/// wrong, too. A reader must pass over them, but we write none.
pub fn defects(document: &Value, closed: bool) -> Vec<String> {
    let name = document["schema"].as_str().expect("a document names its schema");
    let mut schema: Value = serde_json::from_str(&fs::read_to_string(path_of(name)).unwrap()).unwrap();
    if closed {
        close(&mut schema);
    }
    let validator = jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&schema)
        .expect("a published schema is a schema");
    validator.iter_errors(document).map(|error| format!("{}: {error:.300}", error.instance_path())).collect()
}

/// Holds a report in JSON against its published schema.
#[track_caller]
pub fn conforms(report: &str) {
    let found = defects(&serde_json::from_str(report).unwrap(), true);
    assert_eq!(found, Vec::<String>::new());
}

/// Forbids keys that are not named wherever some are.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(words) => {
            words.values_mut().for_each(close);
            if words.get("properties").is_some_and(Value::is_object) && words.contains_key("type") {
                words.entry("additionalProperties").or_insert(Value::Bool(false));
            }
        }
        Value::Array(all) => all.iter_mut().for_each(close),
        _ => {}
    }
}

/// The object at a path of a document.
#[track_caller]
pub fn object<'d>(document: &'d mut Value, path: &str) -> &'d mut Map<String, Value> {
    let found = document.pointer_mut(path).unwrap_or_else(|| panic!("nothing at {path}"));
    found.as_object_mut().unwrap_or_else(|| panic!("no object at {path}"))
}
