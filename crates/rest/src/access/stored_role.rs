//! Roles of both kinds on the hub: found, made, changed and deleted as the caller.

use std::fmt::Debug;
use std::sync::Arc;

use drover_access::identity::Identity;
use drover_api::kinds::{GlobalRole, GlobalRoleSpec, RoleTemplate, RoleTemplateSpec};
use drover_api::rest::{RoleCreate, RoleUpdate};
use k8s_openapi::ClusterResourceScope;
use kube::core::object::HasSpec;
use kube::{Api, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::RestState;
use crate::authorized_writes::AuthorizedWriter;
use crate::spec;
use drover_http_edge::status::Status;
use drover_hub::{Store, Stores, call};

/// One of the two kinds of roles.
pub(crate) trait StoredRole:
    Resource<DynamicType = (), Scope = ClusterResourceScope>
    + HasSpec<Spec: Serialize + DeserializeOwned>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
{
    /// Its name.
    const KIND: &'static str;

    /// Those that are known.
    fn store(stores: &Stores) -> &Store<Self>;

    /// One that says this.
    fn saying(name: &str, spec: Self::Spec) -> Self;
}

impl StoredRole for RoleTemplate {
    const KIND: &'static str = "RoleTemplate";

    fn store(stores: &Stores) -> &Store<Self> {
        &stores.role_templates
    }

    fn saying(name: &str, spec: RoleTemplateSpec) -> Self {
        Self::new(name, spec)
    }
}

impl StoredRole for GlobalRole {
    const KIND: &'static str = "GlobalRole";

    fn store(stores: &Stores) -> &Store<Self> {
        &stores.global_roles
    }

    fn saying(name: &str, spec: GlobalRoleSpec) -> Self {
        Self::new(name, spec)
    }
}

/// The role of this name.
pub(crate) fn find<K: StoredRole>(state: &RestState, name: &str) -> Result<Arc<K>, Status> {
    let role = K::store(state.hub.stores()).by_name(name);
    role.ok_or_else(|| Status::not_found(K::KIND, name))
}

/// The same, from the hub: what the caller is judged by is what they change.
async fn stored<K: StoredRole>(state: &RestState, name: &str) -> Result<K, Status> {
    let api: Api<K> = Api::all(state.hub.client());
    let stored = call("read a role", api.get_opt(name)).await?;
    stored.ok_or_else(|| Status::not_found(K::KIND, name))
}

/// Makes a role.
pub(crate) async fn create<K: StoredRole>(
    state: &RestState,
    caller: &Identity,
    request: &RoleCreate,
) -> Result<K, Status> {
    let role = K::saying(&request.name, spec::read(&request.spec)?);
    let store = K::store(state.hub.stores());
    let writer = AuthorizedWriter::new(&state.hub, caller, store);
    writer.create(&role, &role).await
}

/// Writes what a role says from now on: from the version that was sent, or from any.
pub(crate) async fn replace<K: StoredRole>(
    state: &RestState,
    caller: &Identity,
    name: &str,
    request: &RoleUpdate,
) -> Result<K, Status> {
    let spec = spec::read(&request.spec)?;
    let old = stored::<K>(state, name).await?;
    let now = old.resource_version();
    if let Some(version) = &request.resource_version
        && Some(version) != now.as_ref()
    {
        return Err(Status::conflict(format!(
            "somebody else has changed the role {name:?} meanwhile: look at what it says now, and \
             send your change again"
        )));
    }
    let mut changed = old.clone();
    *changed.spec_mut() = spec;
    let store = K::store(state.hub.stores());
    let writer = AuthorizedWriter::new(&state.hub, caller, store);
    writer.replace(&old, &changed).await
}

/// Deletes a role; whoever has it by a binding has it no more.
pub(crate) async fn delete<K: StoredRole>(
    state: &RestState,
    caller: &Identity,
    name: &str,
) -> Result<(), Status> {
    let role = stored::<K>(state, name).await?;
    let store = K::store(state.hub.stores());
    AuthorizedWriter::new(&state.hub, caller, store)
        .delete(&role)
        .await
}
