//! Removes the values of a Secret from its manifest.

use std::fmt::Write as _;

use crate::messages::t;
use crate::object::secret::{LAST_APPLIED, VALUE_FIELDS, decoded_size};

/// The part of the manifest that contains a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A field without values.
    Other,
    /// A field whose children are values.
    Values,
    /// The continuation of a removed value. The number is the indentation of its key.
    Removed(usize),
}

/// Removes the values of a Secret from YAML in the format of API servers. In the fields with values,
/// the function keeps only keys. The function removes lines that it cannot parse.
pub(super) fn without_values(yaml: &str) -> String {
    let mut place = Place::Other;
    let mut kept = String::with_capacity(yaml.len());
    for line in yaml.lines() {
        let indent = line.len() - line.trim_start().len();
        if let Place::Removed(of) = place {
            if indent > of || line.trim().is_empty() {
                continue;
            }
            place = Place::Other;
        }
        let key = key(line);
        if let Some(key) = key.filter(|_| indent == 0 && !line.starts_with('-')) {
            let has_values = VALUE_FIELDS.contains(&key);
            place = if has_values {
                Place::Values
            } else {
                Place::Other
            };
            if has_values {
                // A flow mapping has its values on the line of the field.
                let rest = line.split_once(':').map_or("", |(_, rest)| rest.trim());
                let is_safe = rest.is_empty() || rest == "{}";
                let end = if is_safe { rest } else { "# hidden" };
                let space = if end.is_empty() { "" } else { " " };
                let _ = writeln!(kept, "{key}:{space}{end}");
                continue;
            }
        }
        match (place, key) {
            (Place::Values, Some(key)) if indent == 2 => {
                let (_, value) = line.split_once(':').unwrap_or_default();
                let bytes = decoded_size(value.trim());
                let _ = writeln!(kept, "  {key}: # {}", t().secrets.hidden_bytes(bytes));
            }
            (Place::Values, _) => {}
            (_, Some(LAST_APPLIED)) if !line.trim_end().ends_with("{}") => {
                let _ = writeln!(
                    kept,
                    "{:indent$}{LAST_APPLIED}: # {}",
                    "",
                    t().secrets.hidden()
                );
                place = Place::Removed(indent);
            }
            // An annotation of a flow mapping.
            _ if line.contains(LAST_APPLIED) && line.contains("data") => {}
            _ => {
                kept.push_str(line);
                kept.push('\n');
            }
        }
    }
    kept
}

/// Returns the key of a line of a block mapping, without quotation marks.
fn key(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let is_key = rest.is_empty() || rest.starts_with(char::is_whitespace);
    let key = key.trim().trim_matches(['"', '\'']);
    (is_key && !key.is_empty()).then_some(key)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::manifest::Manifest;

    const SECRET: &str = "apiVersion: v1\ndata:\n  password: aHVudGVyMg==\n  \"1\": aHVudGVyMg==\n  \
        long: >\n    aHVudGVyMg==\n\n    aHVudGVyMg==\n  ? complex\n  : aHVudGVyMg==\nkind: Secret\n\
        metadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n      \
        {\"stringData\":{\"password\":\"hunter2\"}}\n    team: a\n  managedFields:\n  - fieldsV1:\n      \
        f:data:\n        f:password: {}\n  name: db\nstringData:\n  a: hunter2\ntype: Opaque\n";

    #[test]
    fn manifest_of_a_secret_has_keys_without_values() {
        let hidden = Manifest::Yaml(SECRET.to_owned()).without_secret_values();
        let text = hidden.text(true);
        for value in ["hunter2", "aHVudGVyMg"] {
            assert!(!text.contains(value), "{text}");
        }
        assert!(
            text.contains("data:\n  password: # hidden (7 bytes)\n  1: # hidden"),
            "{text}"
        );
        assert!(text.contains("    team: a\n"), "{text}");
        assert!(
            text.contains("        f:password: {}\n  name: db\n"),
            "{text}"
        );
        assert!(text.ends_with("type: Opaque\n"), "{text}");
    }

    #[test]
    fn manifest_of_a_secret_in_json_has_keys_without_values() {
        let value = json!({"data": {"password": "aHVudGVyMg=="}, "type": "Opaque"});
        let text = Manifest::Json(value).without_secret_values().text(true);
        assert!(!text.contains("aHVudGVyMg"), "{text}");
        assert!(
            text.contains("\"password\": \"hidden (7 bytes)\""),
            "{text}"
        );
    }

    #[test]
    fn flow_mappings_of_a_secret_are_removed() {
        for yaml in [
            "data: {password: aHVudGVyMg==}\nkind: Secret\n",
            "\"data\": {password: aHVudGVyMg==}\n",
            "'stringData': {a: aHVudGVyMg==}\n",
            "data:\n- aHVudGVyMg==\n",
            "data: aHVudGVyMg==\n",
            "data:\n    password: aHVudGVyMg==\n",
            "data:\n\n  password: aHVudGVyMg==\n",
            "data:\t{password: aHVudGVyMg==}\n",
            "data:\n\tpassword: aHVudGVyMg==\n",
            "data :\n  password: aHVudGVyMg==\n",
        ] {
            let text = without_values(yaml);
            assert!(!text.contains("aHVudGVyMg"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_value_of_a_serialized_secret_remains(
            keys in proptest::collection::vec("[-._a-zA-Z0-9]{1,200}", 1..6),
        ) {
            let data: Map<String, Value> =
                keys.into_iter().map(|key| (key, json!("aHVudGVyMg=="))).collect();
            let secret = json!({"apiVersion": "v1", "data": data, "kind": "Secret"});
            let yaml = serde_saphyr::to_string(&secret).unwrap();
            prop_assert!(yaml.contains("aHVudGVyMg"));
            let text = without_values(&yaml);
            prop_assert!(!text.contains("aHVudGVyMg"), "{}", text);
        }
    }
}
