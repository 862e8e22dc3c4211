//! JSON objects of a provider.

use serde::de::DeserializeOwned;

/// Reads an object; serde alone would take a list of its members' values for one too.
pub(super) fn object<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    let start = json.iter().find(|byte| !byte.is_ascii_whitespace());
    (start == Some(&b'{'))
        .then(|| serde_json::from_slice(json).ok())
        .flatten()
}
