//! Stored objects. The store inserts the revision into the JSON of an object without parsing the
//! JSON.

use std::sync::Arc;

use bytes::Bytes;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::error::StoreError;
use super::read::ObjectRef;

/// The value of an object at one revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The key of the object, such as `/apps/deployments/default/web`.
    pub key: Arc<str>,
    /// The revision of the last change, which is `metadata.resourceVersion`.
    pub revision: u64,
    /// The object as JSON, without `metadata.resourceVersion`.
    pub value: Bytes,
    splice: Splice,
}

/// The position at which `"resourceVersion":"…"` is inserted into the JSON.
///
/// The store computes the position when it writes a value, and stores the position with the value.
/// A search in the JSON can find a wrong position, because text such as `"metadata":{` may occur
/// anywhere in an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Splice {
    /// The revision is not inserted, because the value has no top-level `metadata` object.
    Nowhere,
    /// The revision is inserted at this offset, after the opening brace of the top-level
    /// `metadata`.
    At(u32),
}

/// The reason why a value cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The value is not JSON.
    #[error("cannot store the value: not JSON")]
    NotJson,
    /// The value contains `metadata.resourceVersion`, which only the store sets.
    #[error("cannot store the value: the value contains metadata.resourceVersion")]
    HasRevision,
    /// The value contains `metadata` twice.
    #[error("cannot store the value: duplicate metadata")]
    MetadataTwice,
    /// The value is longer than 2^31 bytes.
    #[error("cannot store the value: longer than 2^31 bytes")]
    TooLong,
    /// The change deletes an object that is expected to be absent.
    #[error("cannot delete an object that is expected to be absent")]
    NothingToDelete,
}

impl Splice {
    /// Finds the insert position in a new value.
    pub(super) fn find(json: &[u8]) -> Result<Self, Malformed> {
        if i32::try_from(json.len()).is_err() {
            return Err(Malformed::TooLong);
        }
        serde_json::from_slice::<IgnoredAny>(json).map_err(|_| Malformed::NotJson)?;
        let mut scan = Scan { json, at: 0 };
        if scan.enter().is_none() {
            return Ok(Self::Nowhere);
        }
        let mut found = None;
        while let Some(key) = scan.key() {
            if !is(key, "metadata") {
                scan.skip_value();
            } else if found.is_some() {
                return Err(Malformed::MetadataTwice);
            } else {
                found = Some(scan.metadata()?);
            }
        }
        Ok(found.unwrap_or(Self::Nowhere))
    }

    /// Returns the position in a value without its first `skipped` bytes.
    pub(super) fn after(self, skipped: usize) -> Self {
        match self {
            Self::Nowhere => Self::Nowhere,
            Self::At(offset) => {
                Self::At(offset.saturating_sub(u32::try_from(skipped).unwrap_or(u32::MAX)))
            }
        }
    }

    /// Appends the JSON value with the revision to `out`.
    pub(super) fn write_json(self, out: &mut Vec<u8>, value: &[u8], revision: u64) {
        let Self::At(offset) = self else {
            out.extend_from_slice(value);
            return;
        };
        let (before, after) = value.split_at((offset as usize).min(value.len()));
        out.reserve(value.len() + 42);
        out.extend_from_slice(before);
        out.extend_from_slice(b"\"resourceVersion\":\"");
        push_decimal(out, revision);
        out.push(b'"');
        if after.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'}') {
            out.push(b',');
        }
        out.extend_from_slice(after);
    }

    /// Returns the database representation of the position.
    pub(super) fn column(self) -> Option<u32> {
        match self {
            Self::Nowhere => None,
            Self::At(offset) => Some(offset),
        }
    }

    /// Parses the database representation of the position.
    pub(super) fn from_column(column: Option<u32>) -> Self {
        column.map_or(Self::Nowhere, Self::At)
    }
}

impl Stored {
    /// Creates a value from a database row.
    pub(super) fn from_row(key: Arc<str>, revision: u64, value: Bytes, splice: Splice) -> Self {
        Self {
            key,
            revision,
            value,
            splice,
        }
    }

    /// Creates a value that is not in the store, for synthetic events.
    ///
    /// # Errors
    ///
    /// See [`Malformed`].
    pub fn new(key: Arc<str>, revision: u64, value: Bytes) -> Result<Self, Malformed> {
        let splice = Splice::find(&value)?;
        Ok(Self::from_row(key, revision, value, splice))
    }

    /// Returns a copy of the value with this revision. Clients receive a deleted object with the
    /// revision of its deletion.
    #[must_use]
    pub fn at_revision(&self, revision: u64) -> Self {
        Self {
            revision,
            ..self.clone()
        }
    }

    /// Parses the object, and adds `metadata.resourceVersion`.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Damaged`] if the stored bytes are corrupt.
    pub fn object(&self) -> Result<Value, StoreError> {
        let mut object: Value =
            serde_json::from_slice(&self.value).map_err(|source| StoreError::Damaged {
                key: Arc::clone(&self.key),
                source,
            })?;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert(
                "resourceVersion".to_owned(),
                self.revision.to_string().into(),
            );
        }
        Ok(object)
    }

    /// Appends the JSON of [`Self::object`] to `out`, without parsing.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        self.splice.write_json(out, &self.value, self.revision);
    }

    pub(super) fn borrowed(&self) -> ObjectRef<'_> {
        ObjectRef {
            key: &self.key,
            revision: self.revision,
            splice: self.splice,
            value: &self.value,
        }
    }

    pub(super) fn splice_column(&self) -> Option<u32> {
        self.splice.column()
    }

    /// Returns the approximate number of bytes in memory.
    pub(crate) fn weight(&self) -> usize {
        self.value.len() + self.key.len()
    }
}

fn push_decimal(out: &mut Vec<u8>, mut number: u64) {
    let start = out.len();
    loop {
        // The remainder is below ten.
        out.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out[start..].reverse();
}

/// Reports whether an escaped member name equals `name`.
fn is(key: &[u8], name: &str) -> bool {
    if !key.contains(&b'\\') {
        return key == name.as_bytes();
    }
    let quoted = [b"\"", key, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).is_ok_and(|read| read == name)
}

/// Iterates over the members of an object in valid JSON.
struct Scan<'a> {
    json: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&mut self) -> Option<u8> {
        while self.json.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        self.json.get(self.at).copied()
    }

    fn enter(&mut self) -> Option<()> {
        (self.peek()? == b'{').then(|| self.at += 1)
    }

    /// Returns the escaped name of the next member, and moves to the value of this member. Returns
    /// `None` at the end.
    fn key(&mut self) -> Option<&'a [u8]> {
        if self.peek()? == b',' {
            self.at += 1;
        }
        if self.peek()? != b'"' {
            return None;
        }
        let start = self.at + 1;
        self.skip_string();
        let key = self.json.get(start..self.at.checked_sub(1)?)?;
        if self.peek()? == b':' {
            self.at += 1;
        }
        Some(key)
    }

    fn metadata(&mut self) -> Result<Splice, Malformed> {
        if self.enter().is_none() {
            self.skip_value();
            return Ok(Splice::Nowhere);
        }
        let offset = u32::try_from(self.at).map_err(|_| Malformed::TooLong)?;
        while let Some(key) = self.key() {
            if is(key, "resourceVersion") {
                return Err(Malformed::HasRevision);
            }
            self.skip_value();
        }
        // Skip the closing brace.
        self.at += 1;
        Ok(Splice::At(offset))
    }

    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(&byte) = self.json.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => return,
                b'\\' => self.at += 1,
                _ => {}
            }
        }
    }

    fn skip_value(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => self.skip_string(),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' | b',' if depth == 0 => return,
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn stored(value: &Value) -> Stored {
        Stored::new("/k".into(), 42, serde_json::to_vec(value).unwrap().into()).unwrap()
    }

    fn written(stored: &Stored) -> Value {
        let mut out = Vec::new();
        stored.write_json(&mut out);
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn revision_is_inserted_only_into_metadata_and_not_into_similar_text() {
        let value = json!({
            "a": {"metadata": {"name": "inner"}},
            "data": {"x": "\"metadata\":{\"name\"", "y\\\"metadata": "}]{"},
            "list": [{"metadata": {}}, "metadata", [1, -2.5e3, null, true]],
            "metadata": {"name": "outer"},
        });
        let written = written(&stored(&value));
        assert_eq!(
            written["metadata"],
            json!({"name": "outer", "resourceVersion": "42"})
        );
        assert_eq!(written["a"], value["a"]);
        assert_eq!(written["list"], value["list"]);
        assert_eq!(written["data"], value["data"]);
    }

    #[test]
    fn revision_is_inserted_into_empty_metadata_without_comma() {
        assert_eq!(
            written(&stored(&json!({"metadata": {}}))),
            json!({"metadata": {"resourceVersion": "42"}})
        );
        let spaced = Bytes::from_static(b" { \"metadata\" : { } , \"z\":1 }");
        let stored = Stored::new("/k".into(), 0, spaced).unwrap();
        assert_eq!(
            written(&stored),
            json!({"metadata": {"resourceVersion": "0"}, "z": 1})
        );
    }

    #[test]
    fn value_that_contains_a_resource_version_is_not_stored() {
        let refused = |text: &'static str| Splice::find(text.as_bytes()).unwrap_err();
        assert_eq!(
            refused(r#"{"metadata":{"labels":{},"resourceVersion":"1"}}"#),
            Malformed::HasRevision
        );
        assert_eq!(refused(r#"{"metadata":{}"#), Malformed::NotJson);
        assert_eq!(
            refused(r#"{"metadat\u0061":{"resource\u0056ersion":"1"}}"#),
            Malformed::HasRevision
        );
        assert_eq!(
            refused(r#"{"metadata":{"a":[{}]},"z":1,"metadata":7}"#),
            Malformed::MetadataTwice
        );
        // A label with this name is not the revision.
        let label = r#"{"metadata":{"labels":{"resourceVersion":"1"}}}"#;
        assert_eq!(Splice::find(label.as_bytes()), Ok(Splice::At(13)));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            Just("metadata".to_owned()),
            Just("resourceVersioN".to_owned()),
            "[a-z\"\\\\{}:,\\PC]{0,8}",
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(text.clone(), inner, 0..5)
                    .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn revision_insertion_into_text_equals_insertion_into_the_parsed_object(value in any_json(), revision: u64, pretty: bool) {
            let text = if pretty {
                serde_json::to_vec_pretty(&value).unwrap()
            } else {
                serde_json::to_vec(&value).unwrap()
            };
            let stored = Stored::new("/k".into(), revision, text.into()).unwrap();
            prop_assert_eq!(written(&stored), stored.object().unwrap());
        }
    }
}
