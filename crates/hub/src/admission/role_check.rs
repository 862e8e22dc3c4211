//! Checks writes against Drover's roles (`drover_access::admission::admit_by_roles`): finds the
//! writer's roles in the stores, and decides by these roles.
//!
//! The stores can be slightly older than the hub's state.
//!
//! - *The server repeats the check of rejected writes*: `kubectl apply -f` can create a role and
//!   its binding. The hub then requests the review of the binding before the stores contain the
//!   role. The server therefore repeats the check of a rejected write after each change of the
//!   grants, for `GRANTS_TIMEOUT` at most. Each check uses the writer's current identity and roles.
//! - *The server checks allowed writes once*: a recently revoked role stays effective until the
//!   stores sync, as in all decisions of Drover. A role can be deleted and created again. For a new
//!   binding or project, the check therefore reads the referenced objects from the hub, and
//!   requires that their UIDs are equal to the UIDs in the stores (`matches_hub`). A user can
//!   delete a role only if no other role on the hub refers to the role (`is_unused`). A change
//!   between these reads and the hub's own write remains undetected.
//! - *The hub repeats the review* when the object changes before it is stored.
//! - Two concurrent writes may be checked against the same state. Each write is compared with its
//!   writer's permissions. Roles that inherit each other grant no permissions.
//! - While the stores are too old or not synced, the check rejects every write.

use std::fmt::Debug;
use std::time::Duration;

use drover_access::admission::roles::{HubRoles, UserWithGroups, Writer, WriterRights};
use drover_access::admission::{
    ReferenceKind, Refusal, Write, admit_by_roles, changed_user, deleted_role, depends_on_writer,
    references_in,
};
use drover_access::identity::Identity;
use drover_access::names::UserName;
use drover_api::kinds::{GlobalRole, RoleTemplate, User};
use jiff::Timestamp;
use k8s_openapi::ClusterResourceScope;
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::{AdmissionError, WriteAuthorizer};
use crate::stores::grants::Objects;
use crate::stores::groups::groups_of;
use crate::{Hub, HubError, Store, Stores, call};
use drover_http_edge::status::Status;

/// The maximum time that a rejected write waits for newer grants.
const GRANTS_TIMEOUT: Duration = Duration::from_millis(500);
/// The maximum number of rejected writes that wait concurrently. The server returns further
/// rejections immediately, so a user with many rejected writes does not delay other users.
pub(super) static WAITING: Semaphore = Semaphore::const_new(8);
/// The maximum number of rejected direct writes to the hub that wait concurrently. Writes through
/// this server have a separate maximum.
pub(super) static DIRECT_WAITING: Semaphore = Semaphore::const_new(8);

/// Checks all rules for a write that the server makes for a caller.
///
/// Ignores the writer and the groups in `write`, and checks the permissions of the caller.
pub async fn check_write(
    hub: &Hub,
    caller: &Identity,
    write: &Write<'_>,
) -> Result<(), AdmissionError> {
    let authorizer = WriteAuthorizer {
        client: hub.client(),
        stores: hub.stores().clone(),
    };
    authorizer
        .check_for_user(&UserName::of(&caller.user_uid), write)
        .await
}

/// Checks `write` against the current Drover roles of its writer.
pub(super) async fn check_writer(
    client: &Client,
    stores: &Stores,
    write: &Write<'_>,
    room: &'static Semaphore,
) -> Result<(), AdmissionError> {
    let requester = match Writer::of(write) {
        Writer::User(user) => Requester::User(user),
        Writer::HubUser
            if depends_on_writer(write) && has_all_permissions(client, write).await? =>
        {
            Requester::Resolved(WriterRights::HubAdministrator)
        }
        Writer::HubUser | Writer::InvalidUser => Requester::Resolved(WriterRights::OtherUser),
    };
    check_until_current(client, stores, write, &requester, room).await
}

/// The writer of a checked write.
enum Requester {
    /// A user whose roles are in the stores.
    User(UserName),
    /// A writer without a User object in the stores.
    Resolved(WriterRights),
}

async fn check_until_current(
    client: &Client,
    stores: &Stores,
    write: &Write<'_>,
    requester: &Requester,
    room: &'static Semaphore,
) -> Result<(), AdmissionError> {
    let mut changed = stores.grants.changed();
    let deadline = Instant::now() + GRANTS_TIMEOUT;
    let mut permit = None;
    loop {
        changed.mark_unchanged();
        stores
            .health()
            .check()
            .map_err(AdmissionError::Unavailable)?;
        let error: AdmissionError = match check_stores(stores, write, requester) {
            Err(refusal) => refusal.into(),
            Ok(()) if matches_hub(client, stores, write).await? => return Ok(()),
            Ok(()) => stores_outdated(),
        };
        let other_user = matches!(requester, Requester::Resolved(WriterRights::OtherUser));
        if other_user || Instant::now() >= deadline {
            return Err(error);
        }
        if permit.is_none() {
            let Ok(waiting) = room.try_acquire() else {
                return Err(error);
            };
            permit = Some(waiting);
        }
        // The loop checks once more after the deadline.
        let _ = timeout_at(deadline, changed.changed()).await;
    }
}

/// Checks the write against the current stores.
fn check_stores(stores: &Stores, write: &Write<'_>, requester: &Requester) -> Result<(), Refusal> {
    let rights = match requester {
        Requester::User(user) => {
            enabled_user(stores, user).map_or(WriterRights::DisabledUser, WriterRights::User)
        }
        Requester::Resolved(rights) => rights.clone(),
    };
    // A disabled user's roles count again after the user is enabled.
    let changed = changed_user(write).and_then(|user| any_user(stores, &user));
    let grants = stores.grants.fresh(stores);
    let objects = Objects::of(stores);
    let facts = objects.facts();
    let hub_roles = HubRoles {
        facts: &facts,
        grants: &grants,
    };
    admit_by_roles(write, &rights, changed.as_ref(), hub_roles)
}

/// Compares the hub with the stores before a write is allowed.
///
/// For a new binding or project, reports whether the referenced objects have the same UID on the
/// hub and in the stores. For the deletion of a role, reports whether no other role on the hub
/// refers to the role.
async fn matches_hub(
    client: &Client,
    stores: &Stores,
    write: &Write<'_>,
) -> Result<bool, AdmissionError> {
    for named in references_in(write) {
        let (name, client) = (named.name, client.clone());
        let has_same_uid = match named.kind {
            ReferenceKind::Cluster => has_same_uid(client, &stores.clusters, name).await,
            ReferenceKind::Project => has_same_uid(client, &stores.projects, name).await,
            ReferenceKind::RoleTemplate => has_same_uid(client, &stores.role_templates, name).await,
            ReferenceKind::GlobalRole => has_same_uid(client, &stores.global_roles, name).await,
        };
        if !has_same_uid.map_err(AdmissionError::RolesUnknown)? {
            return Ok(false);
        }
    }
    match deleted_role(write) {
        Some(name) => is_unused(client, name)
            .await
            .map_err(AdmissionError::RolesUnknown),
        None => Ok(true),
    }
}

async fn has_same_uid<K>(client: Client, store: &Store<K>, name: &str) -> Result<bool, HubError>
where
    K: Resource<Scope = ClusterResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::all(client);
    let stored = call("read an object that a binding names", api.get_opt(name)).await?;
    let known = store.by_name(name);
    let uid = |object: &K| object.meta().uid.clone();
    Ok(stored.as_ref().and_then(uid) == known.as_deref().and_then(uid))
}

async fn is_unused(client: &Client, name: &str) -> Result<bool, HubError> {
    let names = |list: &[String]| list.iter().any(|other| other == name);
    let params = ListParams::default();
    let templates: Api<RoleTemplate> = Api::all(client.clone());
    let globals: Api<GlobalRole> = Api::all(client.clone());
    let operation = "list the roles that refer to a role";
    let (templates, globals) = tokio::try_join!(
        call(operation, templates.list(&params)),
        call(operation, globals.list(&params)),
    )?;
    let mut inheriting = templates.iter().map(|role| &role.spec.inherits);
    let mut granting = globals.iter().map(|role| &role.spec.in_every_cluster);
    Ok(!inheriting.any(|list| names(list)) && !granting.any(|list| names(list)))
}

fn stores_outdated() -> AdmissionError {
    AdmissionError::Unavailable(Status::unavailable(
        "the server has not loaded the latest version of an object to which this write refers; \
         try again",
        1,
    ))
}

/// Returns the user with current groups. Returns `None` unless the user exists, is enabled and is
/// not being deleted.
fn enabled_user(stores: &Stores, name: &UserName) -> Option<UserWithGroups> {
    let user = stores.users.by_uid(name.uid().as_str())?;
    let is_active = user.spec.enabled && user.metadata.deletion_timestamp.is_none();
    is_active.then(|| with_groups(stores, name, &user))
}

/// Returns the user with current groups, enabled or disabled.
fn any_user(stores: &Stores, name: &UserName) -> Option<UserWithGroups> {
    let user = stores.users.by_uid(name.uid().as_str())?;
    Some(with_groups(stores, name, &user))
}

fn with_groups(stores: &Stores, name: &UserName, user: &User) -> UserWithGroups {
    UserWithGroups {
        user: name.clone(),
        groups: groups_of(user, stores, Timestamp::now()),
    }
}

/// Reports whether the hub's RBAC allows the writer every verb on every resource and path.
async fn has_all_permissions(client: &Client, write: &Write<'_>) -> Result<bool, AdmissionError> {
    let all = || Some("*".to_owned());
    let objects = SubjectAccessReviewSpec {
        resource_attributes: Some(ResourceAttributes {
            verb: all(),
            group: all(),
            version: all(),
            resource: all(),
            ..ResourceAttributes::default()
        }),
        ..SubjectAccessReviewSpec::default()
    };
    let paths = SubjectAccessReviewSpec {
        non_resource_attributes: Some(NonResourceAttributes {
            verb: all(),
            path: all(),
        }),
        ..SubjectAccessReviewSpec::default()
    };
    for requested in [objects, paths] {
        if !allows(client, write, requested).await.map_err(unknown)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn unknown(source: HubError) -> AdmissionError {
    AdmissionError::WriterUnknown(source)
}

async fn allows(
    client: &Client,
    write: &Write<'_>,
    requested: SubjectAccessReviewSpec,
) -> Result<bool, HubError> {
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(write.writer.to_owned()),
            groups: Some(write.groups.to_vec()),
            ..requested
        },
        ..SubjectAccessReview::default()
    };
    let params = PostParams::default();
    let asking = reviews.create(&params, &review);
    let answer = call("check the writer's permissions", asking).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

#[cfg(test)]
mod tests;
