//! Helm values: merging, and values from ConfigMaps and Secrets.

use serde_json::{Map, Value};

/// The reason why values cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ValuesError {
    /// The key is missing.
    #[error("cannot use {object} in valuesFrom: key {key} is missing")]
    MissingKey {
        /// Kind, namespace and name of the object.
        object: String,
        /// The missing key.
        key: String,
    },
    /// The values are not YAML.
    #[error("cannot use {object} in valuesFrom: the values are not valid YAML")]
    Syntax {
        /// Kind, namespace and name of the object.
        object: String,
    },
    /// The values are not a map.
    #[error("cannot use {object} in valuesFrom: the values are not a map")]
    NoMap {
        /// Kind, namespace and name of the object.
        object: String,
    },
}

/// Merges `other` into `values`. Maps are merged, and all other values of `other` replace values.
pub fn merge(values: &mut Map<String, Value>, other: Map<String, Value>) {
    for (key, value) in other {
        match (values.get_mut(&key), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => merge(inner, value),
            (_, value) => {
                values.insert(key, value);
            }
        }
    }
}

/// Parses the values in a ConfigMap or Secret. Errors do not contain the values.
pub fn parse(
    object: &str,
    key: &str,
    text: Option<&str>,
) -> Result<Map<String, Value>, ValuesError> {
    let object = || object.to_owned();
    let text = text.ok_or_else(|| ValuesError::MissingKey {
        object: object(),
        key: key.to_owned(),
    })?;
    match serde_saphyr::from_str::<Value>(text) {
        Ok(Value::Object(values)) => Ok(values),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err(ValuesError::NoMap { object: object() }),
        Err(_) => Err(ValuesError::Syntax { object: object() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other} is not a map"),
        }
    }

    #[test]
    fn maps_are_merged_and_other_values_are_replaced() {
        for (values, other, merged) in [
            (
                json!({"a": {"b": 1}}),
                json!({"a": {"c": 2}}),
                json!({"a": {"b": 1, "c": 2}}),
            ),
            (json!({"a": {"b": 1}}), json!({"a": 2}), json!({"a": 2})),
            (
                json!({"a": 2}),
                json!({"a": {"b": 1}}),
                json!({"a": {"b": 1}}),
            ),
            (json!({"a": [1]}), json!({"a": [2]}), json!({"a": [2]})),
            (json!({}), json!({"a": null}), json!({"a": null})),
        ] {
            let mut result = map(values);
            merge(&mut result, map(other));
            assert_eq!(Value::Object(result), merged);
        }
    }

    #[test]
    fn errors_of_values_name_the_object_and_not_the_values() {
        let secret = "Secret a/b";
        let missing = parse(secret, "values.yaml", None).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "cannot use Secret a/b in valuesFrom: key values.yaml is missing"
        );
        let list = parse(secret, "k", Some("- password"))
            .unwrap_err()
            .to_string();
        assert!(!list.contains("password"), "{list}");
        assert!(parse(secret, "k", Some("a: [")).is_err());
        assert!(parse(secret, "k", Some("")).unwrap().is_empty());
    }
}
