//! Optimistic read-modify-write: read, let the edit say what is next, write unless somebody else
//! has written in between, and then do it all again.

use bytes::Bytes;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::resource::Origin;
use crate::serve::input::options::DryRun;
use crate::serve::metadata;
use crate::serve::shared::Target;
use crate::status::ApiError;
use crate::store::{Change, CommitError, Expect, Require, Store, Stored, Write};

/// Tries before a write gives up; each lost one means that somebody else's succeeded.
const TRIES: usize = 64;

/// The longest object that is stored, in bytes: etcd's request bound, which clients count on.
const LONGEST: usize = 1536 * 1024;

/// An object as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub(crate) stored: Stored,
    /// At the version of the request, its resource version in place.
    pub(crate) object: Value,
}

/// What is to become of an object.
#[derive(Debug)]
pub(crate) enum Next {
    /// It is to be so.
    Put(Value),
    /// It is to be created, if these objects are still as they were seen; else the edit is asked
    /// again.
    Create(Value, Vec<Require>),
    /// It is to be gone; this is what the client is shown.
    Remove(Value),
    /// It stays as it is.
    Keep,
}

/// What became of it.
#[derive(Debug)]
pub(crate) struct Written {
    /// As the client is shown it.
    pub(crate) object: Value,
    /// How.
    pub(crate) outcome: Outcome,
    /// The revision of the change, if there was one.
    pub(crate) revision: Option<u64>,
}

impl Written {
    fn new(object: Value, outcome: Outcome) -> Self {
        Self {
            object,
            outcome,
            revision: None,
        }
    }
}

/// How a write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Created,
    Updated,
    Removed,
    /// The write would have changed nothing.
    Unchanged,
    /// The edit wanted no write.
    Kept,
}

/// Says what is next, each time anew: the object may have changed meanwhile.
pub(crate) trait Edit: Send + Sync {
    fn next<'a>(&'a self, live: Option<&'a Live>) -> BoxFuture<'a, Result<Next, ApiError>>;
}

/// Runs an edit against the store.
pub(crate) async fn run(
    store: &Store,
    target: &Target,
    dry_run: DryRun,
    edit: &dyn Edit,
) -> Result<Written, ApiError> {
    let key = target.key();
    let mut stored = store.get(&key).await.map_err(ApiError::internal)?;
    for _ in 0..TRIES {
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

/// What a client is told that wrote on top of an older state.
pub(crate) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

enum Step {
    Done(Written),
    Commit(Pending, Written),
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
            (Next::Keep, Some(live)) => {
                Ok(Self::Done(Written::new(live.object.clone(), Outcome::Kept)))
            }
            (Next::Keep | Next::Put(_), None) => Err(target.not_found()),
            (Next::Remove(object), None) => Ok(Self::Done(Written::new(object, Outcome::Removed))),
            (Next::Remove(object), Some(live)) => {
                let pending = Pending {
                    expect: Expect::Revision(live.stored.revision),
                    write: Write::Delete,
                    requires: Vec::new(),
                };
                let written = Written::new(object, Outcome::Removed);
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
                // What the stored version does not know is lost already.
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
                    return Ok(Self::Done(Written::new(object, Outcome::Unchanged)));
                }
                Outcome::Updated
            }
        };
        let pending = Pending {
            expect,
            write: Write::Put(bytes),
            requires,
        };
        Ok(Self::Commit(pending, Written::new(object, outcome)))
    }
}

impl Written {
    fn at(mut self, revision: u64) -> Self {
        self.revision = Some(revision);
        if self.outcome != Outcome::Removed {
            metadata::set(&mut self.object, "resourceVersion", revision.to_string());
        }
        self
    }
}

/// Levels of a stored object. JSON parsers stop at 128, and managed fields grow by some levels.
const DEEPEST: usize = 100;

fn is_deeper(value: &Value, levels: usize) -> bool {
    let below = |inside: &Value| levels == 0 || is_deeper(inside, levels - 1);
    match value {
        Value::Array(items) => items.iter().any(below),
        Value::Object(fields) => fields.values().any(below),
        _ => false,
    }
}

/// An object as it is stored: what it is comes first, so that lists need not parse it to leave
/// that out.
///
/// # Errors
/// 400 if it is nested so deep that it could not be read again, 413 if it is too long.
pub(crate) fn encode(object: &Value) -> Result<Bytes, ApiError> {
    const FIRST: [&str; 2] = ["apiVersion", "kind"];
    if is_deeper(object, DEEPEST) {
        return Err(ApiError::bad_request(format!(
            "the object, with metadata.managedFields, is nested more than {DEEPEST} levels deep"
        )));
    }
    let fields = object
        .as_object()
        .ok_or_else(|| ApiError::internal("not an object"))?;
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
    if bytes.len() > LONGEST {
        return Err(ApiError::too_large_for(format_args!("limit is {LONGEST}")));
    }
    Ok(bytes.into())
}

/// What a client is told whose write the store did not take.
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
    fn what_an_object_is_comes_first() {
        let object = json!({"data": {"k": "v"}, "kind": "K", "metadata": {}, "apiVersion": "v1"});
        let bytes = encode(&object).unwrap();
        assert_eq!(
            bytes,
            r#"{"apiVersion":"v1","kind":"K","data":{"k":"v"},"metadata":{}}"#
        );
    }

    #[test]
    fn an_object_can_be_too_large() {
        let object = json!({"kind": "K", "data": "x".repeat(LONGEST)});
        assert_eq!(encode(&object).unwrap_err().reason, "RequestEntityTooLarge");
    }
}
