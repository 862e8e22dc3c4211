//! Optimistic concurrency: reads the object, computes the next state, and writes the next state.
//! Repeats all steps after a concurrent change.

use bytes::Bytes;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::resource::Origin;
use crate::serve::input::options::DryRun;
use crate::serve::metadata;
use crate::serve::shared::Target;
use crate::status::ApiError;
use crate::store::{Change, CommitError, Expect, Require, Store, Stored, Write};

/// Maximum number of attempts. A failed attempt means that a concurrent writer succeeded.
const MAX_ATTEMPTS: usize = 64;

/// Maximum size of a stored object, in bytes. etcd has the same limit, and clients rely on the
/// limit.
const MAX_BYTES: usize = 1536 * 1024;

/// A stored object.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub(crate) stored: Stored,
    /// The object in the version of the request, with its resourceVersion.
    pub(crate) object: Value,
}

/// The next state of an object.
#[derive(Debug)]
pub(crate) enum Next {
    /// Store this value as the object.
    Put(Value),
    /// Create this object, if the required objects are unchanged. Otherwise compute the next state
    /// again.
    Create(Value, Vec<Require>),
    /// Delete the object, and send this value to the client.
    Remove(Value),
    /// Leave the object unchanged.
    Keep,
}

/// The result of a write: the object, its revision, and the effect on the store.
#[derive(Debug)]
pub(crate) struct WriteResult {
    /// The object for the response.
    pub(crate) object: Value,
    /// The effect of the write on the store.
    pub(crate) outcome: Outcome,
    /// The revision of the change. `None` if the object did not change.
    pub(crate) revision: Option<u64>,
}

impl WriteResult {
    fn new(object: Value, outcome: Outcome) -> Self {
        Self {
            object,
            outcome,
            revision: None,
        }
    }
}

/// The effect of a write on the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Created,
    Updated,
    Removed,
    /// The object was not written, because it equals the stored object.
    Unchanged,
    /// The edit requested no write.
    Kept,
}

/// Computes the next state of an object. The server calls the edit again after each concurrent
/// change.
pub(crate) trait Edit: Send + Sync {
    fn next<'a>(&'a self, live: Option<&'a Live>) -> BoxFuture<'a, Result<Next, ApiError>>;
}

/// Runs an edit until its write succeeds.
pub(crate) async fn run(
    store: &Store,
    target: &Target,
    dry_run: DryRun,
    edit: &dyn Edit,
) -> Result<WriteResult, ApiError> {
    let key = target.key();
    let mut stored = store.get(&key).await.map_err(ApiError::internal)?;
    for _ in 0..MAX_ATTEMPTS {
        let live = match stored.take() {
            Some(stored) => Some(Live {
                object: target.show(&stored)?,
                stored,
            }),
            None => None,
        };
        let step = Step::of(edit.next(live.as_ref()).await?, live.as_ref(), target)?;
        let (change, written) = match step {
            Step::Done(written) => return Ok(written),
            Step::Commit(change, written) => (change, written),
        };
        if dry_run.is_on() {
            return Ok(written);
        }
        let (change, requires) = change.with_key(&key);
        match store.commit_requiring(change, requires).await {
            Ok(revision) => return Ok(written.at(revision)),
            Err(CommitError::Unmet) => {
                stored = store.get(&key).await.map_err(ApiError::internal)?;
            }
            Err(CommitError::Conflict(newer)) => stored = newer,
            Err(error) => return Err(refusal(&error)),
        }
    }
    Err(target.conflict(MODIFIED))
}

/// The message of a conflict about an outdated resourceVersion.
pub(crate) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

enum Step {
    Done(WriteResult),
    Commit(Pending, WriteResult),
}

struct Pending {
    expect: Expect,
    write: Write,
    requires: Vec<Require>,
}

impl Pending {
    fn with_key(self, key: &str) -> (Change, Vec<Require>) {
        let change = Change {
            key: key.to_owned(),
            expect: self.expect,
            write: self.write,
        };
        (change, self.requires)
    }
}

impl Step {
    fn of(next: Next, live: Option<&Live>, target: &Target) -> Result<Self, ApiError> {
        match (next, live) {
            (Next::Keep, Some(live)) => Ok(Self::Done(WriteResult::new(
                live.object.clone(),
                Outcome::Kept,
            ))),
            (Next::Keep | Next::Put(_), None) => Err(target.not_found()),
            (Next::Remove(object), None) => {
                Ok(Self::Done(WriteResult::new(object, Outcome::Removed)))
            }
            (Next::Remove(object), Some(live)) => {
                let pending = Pending {
                    expect: Expect::Revision(live.stored.revision),
                    write: Write::Delete,
                    requires: Vec::new(),
                };
                let written = WriteResult::new(object, Outcome::Removed);
                Ok(Self::Commit(pending, written))
            }
            (Next::Put(object), live) => Self::put(target, object, live, Vec::new()),
            (Next::Create(object, requires), live) => Self::put(target, object, live, requires),
        }
    }

    fn put(
        target: &Target,
        mut object: Value,
        live: Option<&Live>,
        requires: Vec<Require>,
    ) -> Result<Self, ApiError> {
        let expect = live.map_or(Expect::Absent, |live| {
            Expect::Revision(live.stored.revision)
        });
        metadata::remove(&mut object, "resourceVersion");
        let bytes = if target.resource.storage {
            encode(&object)?
        } else {
            let stored = target.store(object.clone());
            let bytes = encode(&stored)?;
            if target.resource.origin == Origin::Custom {
                // Fields unknown to the storage version are already lost.
                object = stored;
                object["apiVersion"] = target.resource.group_version.to_string().into();
            }
            bytes
        };
        let outcome = match live {
            None => Outcome::Created,
            Some(live) => {
                metadata::copy(&live.object, &mut object, "resourceVersion");
                if bytes == live.stored.value {
                    return Ok(Self::Done(WriteResult::new(object, Outcome::Unchanged)));
                }
                Outcome::Updated
            }
        };
        let pending = Pending {
            expect,
            write: Write::Put(bytes),
            requires,
        };
        Ok(Self::Commit(pending, WriteResult::new(object, outcome)))
    }
}

impl WriteResult {
    fn at(mut self, revision: u64) -> Self {
        self.revision = Some(revision);
        if self.outcome != Outcome::Removed {
            metadata::set(&mut self.object, "resourceVersion", revision.to_string());
        }
        self
    }
}

/// Maximum nesting depth of a stored object. JSON parsers stop at 128, and managed fields add some
/// levels.
const MAX_DEPTH: usize = 100;

fn is_deeper(value: &Value, levels: usize) -> bool {
    let below = |inside: &Value| levels == 0 || is_deeper(inside, levels - 1);
    match value {
        Value::Array(items) => items.iter().any(below),
        Value::Object(fields) => fields.values().any(below),
        _ => false,
    }
}

/// Serializes an object. `apiVersion` and `kind` come first, so that lists can omit both fields
/// without parsing.
///
/// # Errors
///
/// Returns 400 above the maximum depth, and 413 above the maximum size.
pub(crate) fn encode(object: &Value) -> Result<Bytes, ApiError> {
    const FIRST: [&str; 2] = ["apiVersion", "kind"];
    if is_deeper(object, MAX_DEPTH) {
        return Err(ApiError::bad_request(format!(
            "the object, with metadata.managedFields, is nested more than {MAX_DEPTH} levels deep"
        )));
    }
    let fields = object
        .as_object()
        .ok_or_else(|| ApiError::internal("cannot store a value that is not an object"))?;
    let first = FIRST.iter().filter_map(|name| fields.get_key_value(*name));
    let others = fields
        .iter()
        .filter(|(name, _)| !FIRST.contains(&name.as_str()));
    let mut bytes = Vec::with_capacity(1024);
    for (name, value) in first.chain(others) {
        bytes.push(if bytes.is_empty() { b'{' } else { b',' });
        serde_json::to_writer(&mut bytes, name).map_err(ApiError::internal)?;
        bytes.push(b':');
        serde_json::to_writer(&mut bytes, value).map_err(ApiError::internal)?;
    }
    bytes.push(b'}');
    if bytes.len() > MAX_BYTES {
        return Err(ApiError::too_large_for(format_args!(
            "limit is {MAX_BYTES}"
        )));
    }
    Ok(bytes.into())
}

/// Converts an error of the store to a response.
pub(crate) fn refusal(error: &CommitError) -> ApiError {
    match error {
        CommitError::Busy => {
            ApiError::too_many_requests("the store is busy, please try again later", 1)
        }
        CommitError::Closed => ApiError::unavailable("the server is shutting down"),
        other => ApiError::internal(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stored_object_starts_with_version_and_kind() {
        let object = json!({"data": {"k": "v"}, "kind": "K", "metadata": {}, "apiVersion": "v1"});
        let bytes = encode(&object).unwrap();
        assert_eq!(
            bytes,
            r#"{"apiVersion":"v1","kind":"K","data":{"k":"v"},"metadata":{}}"#
        );
    }

    #[test]
    fn stored_object_size_is_limited() {
        let object = json!({"kind": "K", "data": "x".repeat(MAX_BYTES)});
        assert_eq!(encode(&object).unwrap_err().reason, "RequestEntityTooLarge");
    }
}
