//! Objects of roles and projects, written as the server on behalf of a caller.
//!
//! The hub asks no rule of the server, so every write goes through [`Written`], which first asks
//! about it the rules that apply when the caller writes with kubectl.

use std::fmt::Debug;

use drover_access::admission::{Operation, Write};
use drover_access::identity::Identity;
use drover_access::names::UserName;
use drover_api::group::GROUP;
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use drover_entropy::random;
use drover_http_edge::status::Status;
use drover_hub::admission::role_check::check_write;
use drover_hub::{Hub, Store, Writer, call, only};

/// A kind that people's roles say who may write.
pub(super) struct Written<'a, K> {
    hub: &'a Hub,
    caller: &'a Identity,
    store: &'a Store<K>,
}

impl<'a, K> Written<'a, K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
    K: Resource<Scope = k8s_openapi::ClusterResourceScope>,
{
    pub(super) fn new(hub: &'a Hub, caller: &'a Identity, store: &'a Store<K>) -> Self {
        Self { hub, caller, store }
    }

    fn api(&self) -> Api<K> {
        Api::all(self.hub.client())
    }

    fn writer(&self) -> Writer<'a, K> {
        Writer::new(self.api(), self.store).with_manager()
    }

    /// Asks about `said`, what the caller says, and makes `object` of it, the same with the UIDs that
    /// the server writes beside names.
    pub(super) async fn create(&self, said: &K, object: &K) -> Result<K, Status> {
        let name = object.name_any();
        let asked = value(said)?;
        self.ask(Operation::Create, &name, Some(&asked), None)
            .await?;
        let created = self.writer().create("create an object", object).await;
        created.map_err(|error| match error.code() {
            Some(409) => Status::already_exists(kind::<K>(), &name),
            _ => error.into(),
        })
    }

    /// The same for an object whose name is drawn from what it says: one of that name that says
    /// something else keeps nobody out, and this gets another name, which begins with `prefix`.
    pub(super) async fn create_drawn(
        &self,
        said: &K,
        object: &K,
        prefix: &str,
    ) -> Result<K, Status> {
        let taken = match self.create(said, object).await {
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
        let (mut said, mut object) = (said.clone(), object.clone());
        said.meta_mut().name = Some(other.clone());
        object.meta_mut().name = Some(other);
        self.create(&said, &object).await
    }

    /// Asks what [`Self::replace`] asks, for a caller that writes by other means.
    pub(super) async fn check_replace(&self, old: &K, object: &K) -> Result<(), Status> {
        let (before, after) = (value(old)?, value(object)?);
        let name = object.name_any();
        self.ask(Operation::Update, &name, Some(&after), Some(&before))
            .await
    }

    /// The same for a new object.
    pub(super) async fn check_create(&self, object: &K) -> Result<(), Status> {
        let said = value(object)?;
        let name = object.name_any();
        self.ask(Operation::Create, &name, Some(&said), None).await
    }

    /// The same for an object that is deleted.
    pub(super) async fn check_delete(&self, object: &K) -> Result<(), Status> {
        let (name, before) = (object.name_any(), value(object)?);
        self.ask(Operation::Delete, &name, None, Some(&before))
            .await
    }

    /// Writes what was read as `old`, and is a conflict if somebody else was faster.
    pub(super) async fn replace(&self, old: &K, object: &K) -> Result<K, Status> {
        let name = object.name_any();
        let (before, after) = (value(old)?, value(object)?);
        self.ask(Operation::Update, &name, Some(&after), Some(&before))
            .await?;
        Ok(self.writer().replace("change an object", object).await?)
    }

    pub(super) async fn delete(&self, object: &K) -> Result<(), Status> {
        self.check_delete(object).await?;
        let writer = self.writer();
        Ok(writer.delete_if_present("delete an object", object).await?)
    }

    async fn ask(
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

/// Deletes what was made just now if its owner could not be: whoever made it could neither use it nor
/// make it again.
pub(super) async fn or_take_back<K>(
    api: &Api<K>,
    made: &K,
    owner: Result<(), Status>,
) -> Result<(), Status>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let Err(status) = owner else {
        return Ok(());
    };
    let name = made.name_any();
    let params = only(made.uid());
    let deleting = api.delete(&name, &params);
    if let Err(error) = call("delete what has no owner", deleting).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(
            error,
            kind = kind::<K>(),
            name,
            "what was made has no owner, and stays"
        );
    }
    Err(status)
}

fn value(object: &impl Serialize) -> Result<Value, Status> {
    serde_json::to_value(object)
        .map_err(|error| Status::internal(format!("an object cannot be written: {error}")))
}

fn kind<K: Resource<DynamicType = ()>>() -> &'static str {
    match K::kind(&()) {
        std::borrow::Cow::Borrowed(kind) => kind,
        std::borrow::Cow::Owned(_) => "object",
    }
}

#[cfg(test)]
mod tests;
