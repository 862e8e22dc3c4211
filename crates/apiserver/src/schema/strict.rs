//! Reading JSON while noticing fields that are there twice.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads JSON; the second part tells each field that is there twice, as strict decoding does
/// (`duplicate field "spec.foo"`). The last one counts.
///
/// # Errors
/// When it is not JSON, or nested too deep.
pub fn from_slice(bytes: &[u8]) -> Result<(Value, Vec<String>), serde_json::Error> {
    let mut duplicates = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Seed {
        at: "",
        duplicates: &mut duplicates,
    }
    .deserialize(&mut reader)?;
    reader.end()?;
    Ok((value, duplicates))
}

struct Seed<'a> {
    at: &'a str,
    duplicates: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            let at = format!("{}[{}]", self.at, items.len());
            let seed = Seed {
                at: &at,
                duplicates: self.duplicates,
            };
            match from.next_element_seed(seed)? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            let at = match self.at {
                "" => key.clone(),
                outer => format!("{outer}.{key}"),
            };
            let seed = Seed {
                at: &at,
                duplicates: self.duplicates,
            };
            let value = from.next_value_seed(seed)?;
            if map.insert(key, value).is_some() {
                let said = format!("duplicate field {at:?}");
                if !self.duplicates.contains(&said) {
                    self.duplicates.push(said);
                }
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::from_slice;

    #[test]
    fn a_field_that_is_there_twice_is_told_once_and_its_last_value_counts() {
        let text = br#"{"a":1,"b":{"c":[{"d":1,"d":2,"d":3}]},"a":null}"#;
        let (value, duplicates) = from_slice(text).unwrap();
        assert_eq!(value, json!({"a": null, "b": {"c": [{"d": 3}]}}));
        assert_eq!(
            duplicates,
            [r#"duplicate field "b.c[0].d""#, r#"duplicate field "a""#]
        );
    }

    #[test]
    fn a_hundred_thousand_brackets_are_an_error_and_not_the_end() {
        assert!(from_slice(&[b'['; 100_000]).is_err());
        assert!(from_slice(b"{} {}").is_err());
    }
}
