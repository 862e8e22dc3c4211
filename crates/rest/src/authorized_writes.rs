//! Writes API objects with the server's identity on behalf of a caller.
//!
//! The hub does not apply the admission rules to the server's own writes. [`AuthorizedWriter`]
//! therefore checks each write with the rules that apply to the caller's writes with kubectl.

use drover_access::admission::{Operation, Write};
use drover_access::identity::Identity;
use drover_access::names::UserName;
use drover_api::group::GROUP;
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde_json::Value;

use drover_entropy::random;
use drover_http_edge::status::Status;
use drover_hub::admission::role_check::check_write;
use drover_hub::{Hub, StoredKind, Writer, call};

/// Writer of objects of one kind. Writes an object only if the admission rules allow the caller's
/// write.
pub(super) struct AuthorizedWriter<'a, K> {
    hub: &'a Hub,
    caller: &'a Identity,
    writer: Writer<'a, K>,
}

impl<'a, K: StoredKind> AuthorizedWriter<'a, K> {
    pub(super) fn new(hub: &'a Hub, caller: &'a Identity) -> Self {
        Self {
            hub,
            caller,
            writer: hub.writer().with_manager(),
        }
    }

    fn api(&self) -> Api<K> {
        Api::all(self.hub.client())
    }

    /// Checks the caller's object `requested` and then creates `object`. `object` is equal to
    /// `requested` plus the UIDs that the server adds to references.
    pub(super) async fn create(&self, requested: &K, object: &K) -> Result<K, Status> {
        self.check_create(requested).await?;
        let created = self.writer.create("create an object", object).await;
        created.map_err(|error| match error.code() {
            Some(409) => Status::already_exists(kind::<K>(), &object.name_any()),
            _ => error.into(),
        })
    }

    /// Creates an object whose name is derived from its spec. If an object with this name exists
    /// and has a different spec, the new object receives a generated name with the prefix `prefix`.
    pub(super) async fn create_with_derived_name(
        &self,
        requested: &K,
        object: &K,
        prefix: &str,
    ) -> Result<K, Status> {
        let taken = match self.create(requested, object).await {
            Err(status) if status.code() == http::StatusCode::CONFLICT => status,
            other => return other,
        };
        let name = object.name_any();
        let stored = call("read an object", self.api().get_opt(&name)).await?;
        let same = match stored {
            Some(stored) => value(&stored)?["spec"] == value(object)?["spec"],
            None => false,
        };
        if same {
            return Err(taken);
        }
        let drawn = random().map_err(|error| Status::internal(error.to_string()))?;
        let other = format!("{prefix}{:032x}", u128::from_be_bytes(drawn));
        let (mut requested, mut object) = (requested.clone(), object.clone());
        requested.meta_mut().name = Some(other.clone());
        object.meta_mut().name = Some(other);
        self.create(&requested, &object).await
    }

    /// Checks a caller's change of an object against the admission rules. Does not write the
    /// object.
    pub(super) async fn check_replace(&self, old: &K, object: &K) -> Result<(), Status> {
        let (before, after) = (value(old)?, value(object)?);
        let name = object.name_any();
        self.check(Operation::Update, &name, Some(&after), Some(&before))
            .await
    }

    /// Checks a caller's creation of an object against the admission rules. Does not write the
    /// object.
    pub(super) async fn check_create(&self, object: &K) -> Result<(), Status> {
        let requested = value(object)?;
        let name = object.name_any();
        self.check(Operation::Create, &name, Some(&requested), None)
            .await
    }

    /// Checks a caller's deletion of an object against the admission rules. Does not delete the
    /// object.
    pub(super) async fn check_delete(&self, object: &K) -> Result<(), Status> {
        let (name, before) = (object.name_any(), value(object)?);
        self.check(Operation::Delete, &name, None, Some(&before))
            .await
    }

    /// Checks and writes a change of `old`. Returns a conflict if the object has changed since
    /// `old` was read.
    pub(super) async fn replace(&self, old: &K, object: &K) -> Result<K, Status> {
        self.check_replace(old, object).await?;
        Ok(self.writer.replace("change an object", object).await?)
    }

    pub(super) async fn delete(&self, object: &K) -> Result<(), Status> {
        self.check_delete(object).await?;
        let deleting = self.writer.delete_if_present("delete an object", object);
        Ok(deleting.await?)
    }

    async fn check(
        &self,
        operation: Operation,
        name: &str,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        let writer = UserName::of(&self.caller.user_uid).to_string();
        let plural = K::plural(&());
        let write = Write {
            writer: &writer,
            groups: &[],
            operation,
            group: GROUP,
            resource: &plural,
            subresource: "",
            namespace: "",
            name,
            object,
            old,
        };
        Ok(check_write(self.hub, self.caller, &write).await?)
    }
}

/// Deletes a created object if its creator did not receive the owner role. Without the role, the
/// caller can neither use nor recreate the object.
pub(super) async fn delete_without_owner<K: StoredKind>(
    writer: Writer<'_, K>,
    created: &K,
    owner: Result<(), Status>,
) -> Result<(), Status> {
    let Err(status) = owner else {
        return Ok(());
    };
    // Finalizers can delay the deletion, so the response does not wait for the store.
    let writer = writer.without_wait();
    let deleted = writer.delete("delete an object without an owner", created);
    if let Err(error) = deleted.await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(
            error,
            kind = kind::<K>(),
            name = created.name_any(),
            "failed to delete an object whose creator has no owner role"
        );
    }
    Err(status)
}

fn value(object: &impl Serialize) -> Result<Value, Status> {
    serde_json::to_value(object)
        .map_err(|error| Status::internal(format!("cannot serialize an object: {error}")))
}

fn kind<K: Resource<DynamicType = ()>>() -> &'static str {
    match K::kind(&()) {
        std::borrow::Cow::Borrowed(kind) => kind,
        std::borrow::Cow::Owned(_) => "object",
    }
}

#[cfg(test)]
mod tests;
