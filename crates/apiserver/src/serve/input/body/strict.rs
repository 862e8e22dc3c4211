//! JSON decoding that reports duplicate fields as the strict decoding of Kubernetes does.

use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::schema::truncated_path;

/// A decoded body, with the findings of strict decoding.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decoded {
    /// The decoded value, with the last value of each duplicate field.
    pub value: Value,
    /// Findings such as `duplicate field "spec.replicas"`, in the order of the body.
    pub duplicates: Vec<String>,
    /// True if the body is YAML, whose findings contain lines instead of paths.
    pub yaml: bool,
}

impl Decoded {
    /// Returns the errors of strict decoding: one per duplicate field, or a single error for YAML.
    pub(crate) fn strict_errors(&self) -> Vec<String> {
        if !self.yaml || self.duplicates.is_empty() {
            return self.duplicates.clone();
        }
        let all = self.duplicates.join("\n  ");
        vec![format!("yaml: unmarshal errors:\n  {all}")]
    }
}

/// Maximum length of the paths of located findings. The server compares each key of the body with
/// the path, so long paths are too expensive.
const MAX_LOCATED_PATH: usize = 256;

/// Sorts findings such as `unknown field "spec.foo"` by their position in the body. Findings
/// without a position in the body, or with a very long path, come last.
pub(crate) fn sort_findings(bytes: &[u8], findings: &mut [String]) {
    if findings.len() < 2 {
        return;
    }
    let path = |finding: &str| finding.find('"').map(|at| finding[at..].to_owned());
    let mut order = FindingPositions {
        path: String::new(),
        keys: 0,
        found: findings
            .iter()
            .filter_map(|finding| Some((path(finding)?, Vec::new())))
            .filter(|(path, _)| path.len() <= MAX_LOCATED_PATH)
            .collect(),
    };
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    if FindingPositionsSeed(&mut order)
        .deserialize(&mut reader)
        .is_err()
    {
        return;
    }
    findings.sort_by_cached_key(|finding| {
        let places = path(finding).and_then(|path| order.found.get(&path));
        // The second occurrence of a field is the duplicate.
        let nth = usize::from(finding.starts_with("duplicate"));
        let place = places.and_then(|places| places.get(nth)).copied();
        place.unwrap_or(usize::MAX)
    });
}

/// The positions of findings in a body.
struct FindingPositions {
    path: String,
    keys: usize,
    found: HashMap<String, Vec<usize>>,
}

struct FindingPositionsSeed<'o>(&'o mut FindingPositions);

impl<'de> DeserializeSeed<'de> for FindingPositionsSeed<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FindingPositionsSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let length = self.0.path.len();
        for index in 0.. {
            let _ = fmt::Write::write_fmt(&mut self.0.path, format_args!("[{index}]"));
            let next = items.next_element_seed(FindingPositionsSeed(self.0))?;
            self.0.path.truncate(length);
            if next.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let length = self.0.path.len();
        while let Some(key) = entries.next_key::<String>()? {
            let dot = if length == 0 { "" } else { "." };
            let _ = fmt::Write::write_fmt(&mut self.0.path, format_args!("{dot}{key}"));
            self.0.keys += 1;
            if self.0.path.len() <= MAX_LOCATED_PATH {
                let path = format!("{:?}", self.0.path);
                if let Some(places) = self.0.found.get_mut(&path) {
                    places.push(self.0.keys);
                }
            }
            entries.next_value_seed(FindingPositionsSeed(self.0))?;
            self.0.path.truncate(length);
        }
        Ok(())
    }
}

/// Maximum number of reported duplicate fields.
const MAX_REPORTED: usize = 100;

pub(super) fn json(bytes: &[u8]) -> Result<Decoded, serde_json::Error> {
    let mut notes = Notes::default();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Seed(&mut notes).deserialize(&mut reader)?;
    reader.end()?;
    Ok(Decoded {
        value,
        duplicates: notes.duplicates,
        yaml: false,
    })
}

#[derive(Default)]
struct Notes {
    path: String,
    duplicates: Vec<String>,
}

impl Notes {
    /// Extends the path while a function runs.
    fn within<T>(&mut self, step: fmt::Arguments<'_>, run: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        // Writing to a String cannot fail.
        let _ = fmt::Write::write_fmt(&mut self.path, step);
        let result = run(self);
        self.path.truncate(length);
        result
    }
}

struct Seed<'a>(&'a mut Notes);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let index = list.len();
            let next = self.0.within(format_args!("[{index}]"), |notes| {
                items.next_element_seed(Seed(notes))
            })?;
            match next {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let dot = if self.0.path.is_empty() { "" } else { "." };
            let value = self.0.within(format_args!("{dot}{key}"), |notes| {
                if map.contains_key(&key) && notes.duplicates.len() < MAX_REPORTED {
                    let note = format!("duplicate field {:?}", truncated_path(&notes.path));
                    notes.duplicates.push(note);
                }
                entries.next_value_seed(Seed(notes))
            })?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn duplicate_json_fields_are_reported_with_their_path() {
        let body = br#"{"a":1,"b":[{"c":1},{"c":1,"c":2}],"a":{"d":1,"d":2}}"#;
        let decoded = json(body).unwrap();
        assert_eq!(
            decoded.value,
            json!({"a": {"d": 2}, "b": [{"c": 1}, {"c": 2}]})
        );
        assert_eq!(
            decoded.duplicates,
            [
                "duplicate field \"b[1].c\"",
                "duplicate field \"a\"",
                "duplicate field \"a.d\""
            ]
        );
    }

    #[test]
    fn strict_decoding_findings_are_sorted_by_position_in_the_body() {
        let body = br#"{"b":{"x":[{"y":1}]},"a":1,"c":2,"a":3}"#;
        let mut findings = [
            "duplicate field \"a\"",
            "unknown field \"c\"",
            "unknown field \"b.x[0].y\"",
            "unknown field \"elsewhere\"",
        ]
        .map(str::to_owned);
        sort_findings(body, &mut findings);
        assert_eq!(
            findings,
            [
                "unknown field \"b.x[0].y\"",
                "unknown field \"c\"",
                "duplicate field \"a\"",
                "unknown field \"elsewhere\"",
            ]
        );
    }

    #[test]
    fn json_with_trailing_data_is_rejected() {
        assert!(json(b"{} x").is_err());
        assert!(json(b"").is_err());
    }

    #[test]
    fn deeply_nested_json_is_rejected() {
        let body = "[".repeat(100_000);
        assert!(json(body.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn strict_decoder_matches_serde_json(text in "[\\[\\]{}\",:a1.e\\- tn]{0,40}") {
            let plain = serde_json::from_str::<Value>(&text).ok();
            prop_assert_eq!(json(text.as_bytes()).ok().map(|found| found.value), plain);
        }
    }
}
