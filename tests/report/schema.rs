//! Whether a JSON value is what a schema says: the words that `schemars` writes, and no other.

use serde_json::Value;

/// Holds a value against a schema; `root` is the document that references point into.
#[track_caller]
pub fn conforms(value: &Value, schema: &Value, root: &Value) {
    if let Err(what) = check(value, schema, root, "") {
        panic!("{what}");
    }
}

fn check(value: &Value, schema: &Value, root: &Value, at: &str) -> Result<(), String> {
    let Some(words) = schema.as_object() else {
        return if schema == &Value::Bool(true) { Ok(()) } else { Err(format!("{at}: nothing may stand here")) };
    };
    for (word, says) in words {
        match word.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" | "required" => {}
            "$ref" => {
                let path = says.as_str().and_then(|s| s.strip_prefix('#')).expect("a reference into the document");
                check(value, root.pointer(path).expect("it is there"), root, at)?;
            }
            "type" => {
                let is = |name: &Value| match name.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    other => panic!("unknown type {other}"),
                };
                if !says.as_array().map_or_else(|| is(says), |any| any.iter().any(is)) {
                    return Err(format!("{at}: {value} is no {says}"));
                }
            }
            "properties" => {
                let fields = value.as_object().into_iter().flatten();
                for (name, field) in
                    fields.filter(|(name, _)| words.get("additionalProperties").is_none() || says.get(name).is_some())
                {
                    let of = says.get(name).ok_or_else(|| format!("{at}: `{name}` is not in the schema"))?;
                    check(field, of, root, &format!("{at}/{name}"))?;
                }
            }
            "additionalProperties" => {
                let declared = |name: &str| words.get("properties").is_some_and(|p| p.get(name).is_some());
                for (name, field) in value.as_object().into_iter().flatten().filter(|(name, _)| !declared(name)) {
                    check(field, says, root, &format!("{at}/{name}"))?;
                }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(item, says, root, &format!("{at}/{i}"))?;
                }
            }
            "prefixItems" => {
                for (i, (item, of)) in value.as_array().into_iter().flatten().zip(says.as_array().unwrap()).enumerate()
                {
                    check(item, of, root, &format!("{at}/{i}"))?;
                }
            }
            "minItems" | "maxItems" => {
                let (count, limit) = (value.as_array().map(|a| a.len() as u64), says.as_u64());
                if count.is_some() && (word == "minItems" && count < limit || word == "maxItems" && count > limit) {
                    return Err(format!("{at}: {count:?} items, {word} {says}"));
                }
            }
            "minimum" | "maximum" => {
                let (number, limit) = (value.as_f64(), says.as_f64());
                if number.is_some() && (word == "minimum" && number < limit || word == "maximum" && number > limit) {
                    return Err(format!("{at}: {value}, {word} {says}"));
                }
            }
            "enum" if !says.as_array().unwrap().contains(value) => {
                return Err(format!("{at}: {value} is none of {says}"));
            }
            "const" if says != value => return Err(format!("{at}: {value} is not {says}")),
            "enum" | "const" => {}
            "anyOf" | "oneOf" => {
                let all = says.as_array().unwrap();
                if !all.iter().any(|one| check(value, one, root, at).is_ok()) {
                    return Err(format!("{at}: {value} is none of {says}"));
                }
            }
            other => panic!("{at}: the schema says `{other}`, which is not understood here"),
        }
    }
    for name in words.get("required").and_then(Value::as_array).into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            return Err(format!("{at}: {name} is missing"));
        }
    }
    Ok(())
}

#[test]
fn what_is_not_in_a_schema_is_seen() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "properties": {"a": {"type": ["integer", "null"], "minimum": 0}}
    });
    let sees = |value| check(&value, &schema, &schema, "").is_err();
    assert!(!sees(serde_json::json!({"a": 1})) && !sees(serde_json::json!({"a": null})));
    let wrong = [r#"{}"#, r#"{"a": -1}"#, r#"{"a": "x"}"#, r#"{"a": 1, "b": 2}"#, "7"];
    assert!(wrong.iter().all(|text| sees(serde_json::from_str(text).unwrap())));
}
