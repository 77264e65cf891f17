//! Values of several parts as a reader of a page says them.

use strata_model::attribute::{Configuration, Curve, IndexFunction, Padding, PaddingRow, Policy, Sizes, Value, Ways};
use strata_model::units::Bytes;

/// A value in words; `None` where its plain form already is one.
pub(super) fn value(value: &Value) -> Option<String> {
    Some(match value {
        Value::Sizes(Sizes(sizes)) if !sizes.is_empty() => listed(sizes.iter().map(Bytes::to_string)),
        Value::Configuration(parts) => configuration(parts),
        Value::Padding(Padding(rows)) if !rows.is_empty() => listed(rows.iter().map(padding)),
        Value::Index(function) => index(function),
        Value::Policy(policy) => replacement(policy),
        _ => return None,
    })
}

fn listed(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<String>>().join(", ")
}

fn configuration(parts: &Configuration) -> String {
    let Configuration { size, sets, ways, index: function, replacement: policy, misses } = parts;
    let ways = ways.as_ref().map(|ways| match ways {
        Ways::Equal(ways) => format!("{ways} ways"),
        Ways::Each(all) => format!("ways {}", listed(all.iter().map(u64::to_string))),
    });
    let known = [
        sets.map(|sets| format!("{sets} sets")),
        ways,
        function.as_ref().map(|function| format!("set index by {}", index(function))),
        policy.as_ref().map(|policy| format!("replacement {}", replacement(policy))),
        misses.as_ref().map(|Curve(points)| match points.len() {
            1 => "misses at 1 footprint".to_owned(),
            count => format!("misses at {count} footprints"),
        }),
    ];
    let structure = [sets.is_none(), parts.ways.is_none(), function.is_none(), policy.is_none()];
    let all_unknown = structure.iter().all(|unknown| *unknown);
    let rest = listed(known.into_iter().flatten());
    let unknown = if all_unknown { "; its structure is unknown" } else { "" };
    if rest.is_empty() { format!("{size}{unknown}") } else { format!("{size}, {rest}{unknown}") }
}

fn padding(row: &PaddingRow) -> String {
    let words = match row.words {
        None => "none helps".to_owned(),
        Some(0) => "none needed".to_owned(),
        Some(1) => "1 word".to_owned(),
        Some(words) => format!("{words} words"),
    };
    let mode = row.mode.map_or(String::new(), |mode| format!(" and banks of {mode}"));
    format!("{words} for elements of {}{mode}", row.width)
}

fn index(function: &IndexFunction) -> String {
    match function {
        IndexFunction::Bits { bits } => format!("address bits {}", listed(bits.iter().map(u32::to_string))),
        IndexFunction::Parity { masks } => {
            format!("parities of the address bits in {}", listed(masks.iter().map(|mask| format!("{:#x}", mask.0))))
        }
        IndexFunction::Modulo { sets } => format!("the line number modulo {sets}"),
    }
}

fn replacement(policy: &Policy) -> String {
    match policy {
        Policy::Weighted(odds) => {
            let shares = odds.probabilities.iter().map(|share| format!("{:.1} %", share * 100.0));
            format!("at random, by the order of filling {}", listed(shares))
        }
        other => other.name().replace('_', "-"),
    }
}

#[cfg(test)]
mod tests {
    use strata_model::attribute::Kind;

    use super::*;

    #[track_caller]
    fn says(kind: Kind, json: &str, expected: &str) {
        let read = kind.read(serde_json::from_str(json).unwrap()).unwrap();
        assert_eq!(value(&read).as_deref(), Some(expected));
    }

    #[test]
    fn parts_have_units_and_names() {
        says(
            Kind::Configuration,
            r#"{"size":21504,"misses":[[21632,0.5]]}"#,
            "21 KiB, misses at 1 footprint; its structure is unknown",
        );
        says(
            Kind::Configuration,
            r#"{"size":16384,"sets":32,"ways":4,"index":{"kind":"bits","bits":[7,8]},"replacement":"lru"}"#,
            "16 KiB, 32 sets, 4 ways, set index by address bits 7, 8, replacement lru",
        );
        says(
            Kind::Padding,
            r#"[{"width":4,"words":1},{"width":8,"words":2,"mode":8},{"width":16,"words":null}]"#,
            "1 word for elements of 4 B, 2 words for elements of 8 B and banks of 8 B, none helps for elements of 16 B",
        );
        says(Kind::Index, r#"{"kind":"parity","masks":["0x1080"]}"#, "parities of the address bits in 0x1080");
        says(
            Kind::Policy,
            r#"{"policy":"weighted","probabilities":[0.5,0.25,0.25]}"#,
            "at random, by the order of filling 50.0 %, 25.0 %, 25.0 %",
        );
        says(Kind::Policy, r#""bit_plru""#, "bit-plru");
        says(Kind::Sizes, "[4,2048]", "4 B, 2 KiB");
    }
}
