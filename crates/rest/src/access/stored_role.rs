//! Reads and writes RoleTemplates and GlobalRoles on the hub with the caller's permissions.

use std::sync::Arc;

use drover_access::identity::Identity;
use drover_api::kinds::{GlobalRole, GlobalRoleSpec, RoleTemplate, RoleTemplateSpec};
use drover_api::rest::{RoleCreate, RoleUpdate};
use kube::core::object::HasSpec;
use kube::{Api, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::RestState;
use crate::authorized_writes::AuthorizedWriter;
use crate::spec;
use drover_http_edge::status::Status;
use drover_hub::{StoredKind, call};

/// A RoleTemplate or a GlobalRole.
pub(crate) trait StoredRole:
    StoredKind + HasSpec<Spec: Serialize + DeserializeOwned>
{
    /// The name of the role kind, for example `RoleTemplate`.
    const KIND: &'static str;

    /// Creates a role object with this name and spec. Does not write the object.
    fn with_spec(name: &str, spec: Self::Spec) -> Self;
}

impl StoredRole for RoleTemplate {
    const KIND: &'static str = "RoleTemplate";

    fn with_spec(name: &str, spec: RoleTemplateSpec) -> Self {
        Self::new(name, spec)
    }
}

impl StoredRole for GlobalRole {
    const KIND: &'static str = "GlobalRole";

    fn with_spec(name: &str, spec: GlobalRoleSpec) -> Self {
        Self::new(name, spec)
    }
}

/// Returns the role with this name from the store.
pub(crate) fn find<K: StoredRole>(state: &RestState, name: &str) -> Result<Arc<K>, Status> {
    let role = K::store(state.hub.stores()).by_name(name);
    role.ok_or_else(|| Status::not_found(K::KIND, name))
}

/// Reads the role with this name from the hub. Does not use the store, because the caller's
/// permissions depend on the current rules.
async fn read_from_hub<K: StoredRole>(state: &RestState, name: &str) -> Result<K, Status> {
    let api: Api<K> = Api::all(state.hub.client());
    let stored = call("read a role", api.get_opt(name)).await?;
    stored.ok_or_else(|| Status::not_found(K::KIND, name))
}

/// Creates a role.
pub(crate) async fn create<K: StoredRole>(
    state: &RestState,
    caller: &Identity,
    request: &RoleCreate,
) -> Result<K, Status> {
    let role = K::with_spec(&request.name, spec::read(&request.spec)?);
    let writer = AuthorizedWriter::new(&state.hub, caller);
    writer.create(&role, &role).await
}

/// Replaces the spec of a role. Returns a conflict if the request contains a resource version that
/// is not current.
pub(crate) async fn replace<K: StoredRole>(
    state: &RestState,
    caller: &Identity,
    name: &str,
    request: &RoleUpdate,
) -> Result<K, Status> {
    let spec = spec::read(&request.spec)?;
    let old = read_from_hub::<K>(state, name).await?;
    let now = old.resource_version();
    if let Some(version) = &request.resource_version
        && Some(version) != now.as_ref()
    {
        return Err(Status::conflict(format!(
            "the role {name:?} has changed since your last read: reload the role, and send your \
             change again"
        )));
    }
    let mut changed = old.clone();
    *changed.spec_mut() = spec;
    let writer = AuthorizedWriter::new(&state.hub, caller);
    writer.replace(&old, &changed).await
}

/// Deletes a role. Subjects of its bindings lose its permissions.
pub(crate) async fn delete<K: StoredRole>(
    state: &RestState,
    caller: &Identity,
    name: &str,
) -> Result<(), Status> {
    let role = read_from_hub::<K>(state, name).await?;
    AuthorizedWriter::new(&state.hub, caller)
        .delete(&role)
        .await
}
