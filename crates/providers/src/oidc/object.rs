//! Parsing of JSON objects in provider responses.

use serde::de::DeserializeOwned;

/// Parses a JSON object. Rejects a JSON array, which serde accepts as a list of field values.
pub(super) fn object<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    let start = json.iter().find(|byte| !byte.is_ascii_whitespace());
    (start == Some(&b'{'))
        .then(|| serde_json::from_slice(json).ok())
        .flatten()
}
