//! What Drover's roles say of a write: whoever writes is looked up in the hub's objects, and judged
//! by what those come to (`drover_access::admission::admit_by_roles`).
//!
//! The objects are those in memory, which may be a moment behind the hub.
//!
//! - *A refusal waits*: with a role and its binding in one `kubectl apply -f`, the binding is asked
//!   about before memory has heard of the role. So whoever would be refused is judged again whenever
//!   the grants change, for `GRANTS_WITHIN` at most. Each judgement is a whole one, of who they
//!   are by then, what they have and what is written, and nothing of an earlier one is kept: whoever
//!   is let through could have come that much later and would have been let through as well.
//! - *A permission does not wait*: what somebody lost a moment ago may count for as long as memory
//!   needs to hear of it, as with everything that Drover decides. It is no way to more than they had.
//!   A role that grows just now is given as if it had been given just before. One that was deleted and
//!   made again is another object, to which the new binding would be pinned although the old one was
//!   judged: so what a new binding or project names is read from the hub itself, and has to be what
//!   memory has (`is_as_known`), and a role goes when none on the hub rests on it (`is_unused`). What is
//!   left is the time between that and the hub's own writing.
//! - *What is written stays what was judged*: the hub asks again if the object changes meanwhile.
//! - Two writes at the same time may be judged from the same memory. What each gives is checked
//!   against what its writer has, and what the two come to together is checked when it counts:
//!   roles that inherit each other allow nothing.
//! - Stores that were not read yet, or not for too long, authorizer nobody: the write is refused for now.

use std::fmt::Debug;
use std::time::Duration;

use drover_access::admission::roles::{Giver, Known, Person, Writer};
use drover_access::admission::{
    NamedKind, Refusal, Write, admit_by_roles, changed_user, deleted_role, depends_on_writer,
    names_in,
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

/// Longest that a write waits for memory to hear of what was written just before it.
const GRANTS_WITHIN: Duration = Duration::from_millis(500);
/// Refusals that wait at a time; beyond them it is refused at once, so that whoever is refused all
/// the time keeps nobody waiting.
pub(super) static WAITING: Semaphore = Semaphore::const_new(8);
/// The same of what is written to the hub directly, so that who asks there keeps no caller of this
/// server from waiting.
pub(super) static WAITING_ON_HUB: Semaphore = Semaphore::const_new(8);

/// Asks all rules about a write that the server makes for a caller.
///
/// The writer and the groups of `write` are not looked at: it is the caller who is judged.
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

/// Asks the rules on roles about a write of whoever it names.
pub(super) async fn check_writer(
    client: &Client,
    stores: &Stores,
    write: &Write<'_>,
    room: &'static Semaphore,
) -> Result<(), AdmissionError> {
    let by = match Writer::of(write) {
        Writer::Person(user) => By::Person(user),
        Writer::OfHub if depends_on_writer(write) && may_do_everything(client, write).await? => {
            By::Known(Giver::HubAdministrator)
        }
        Writer::OfHub | Writer::Nobody => By::Known(Giver::Stranger),
    };
    check_until_current(client, stores, write, &by, room).await
}

/// Who writes.
enum By {
    /// Somebody whose roles are looked up.
    Person(UserName),
    /// Somebody of whom nothing is in the stores.
    Known(Giver),
}

async fn check_until_current(
    client: &Client,
    stores: &Stores,
    write: &Write<'_>,
    by: &By,
    room: &'static Semaphore,
) -> Result<(), AdmissionError> {
    let mut changed = stores.grants.changed();
    let until = Instant::now() + GRANTS_WITHIN;
    let mut waits = None;
    loop {
        changed.mark_unchanged();
        stores
            .health()
            .check()
            .map_err(AdmissionError::Unavailable)?;
        let not: AdmissionError = match look(stores, write, by) {
            Err(refusal) => refusal.into(),
            Ok(()) if is_as_known(client, stores, write).await? => return Ok(()),
            Ok(()) => not_as_known(),
        };
        let stranger = matches!(by, By::Known(Giver::Stranger));
        if stranger || Instant::now() >= until {
            return Err(not);
        }
        if waits.is_none() {
            let Ok(waiting) = room.try_acquire() else {
                return Err(not);
            };
            waits = Some(waiting);
        }
        // A last look follows when the time is over, whatever has changed.
        let _ = timeout_at(until, changed.changed()).await;
    }
}

/// Judges by what is in memory now.
fn look(stores: &Stores, write: &Write<'_>, by: &By) -> Result<(), Refusal> {
    let giver = match by {
        By::Person(user) => person(stores, user).map_or(Giver::Gone, Giver::Person),
        By::Known(giver) => giver.clone(),
    };
    // A disabled person's roles count when they are enabled again.
    let changed = changed_user(write).and_then(|user| anybody(stores, &user));
    let grants = stores.grants.fresh(stores);
    let objects = Objects::of(stores);
    let facts = objects.facts();
    let known = Known {
        facts: &facts,
        grants: &grants,
    };
    admit_by_roles(write, &giver, changed.as_ref(), known)
}

/// Whether what a new binding or project names is on the hub what memory has by that name, and no role
/// there rests on one that is deleted.
async fn is_as_known(
    client: &Client,
    stores: &Stores,
    write: &Write<'_>,
) -> Result<bool, AdmissionError> {
    for named in names_in(write) {
        let (name, client) = (named.name, client.clone());
        let same = match named.kind {
            NamedKind::Cluster => is_the_same(client, &stores.clusters, name).await,
            NamedKind::Project => is_the_same(client, &stores.projects, name).await,
            NamedKind::RoleTemplate => is_the_same(client, &stores.role_templates, name).await,
            NamedKind::GlobalRole => is_the_same(client, &stores.global_roles, name).await,
        };
        if !same.map_err(AdmissionError::RolesUnknown)? {
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

async fn is_the_same<K>(client: Client, store: &Store<K>, name: &str) -> Result<bool, HubError>
where
    K: Resource<Scope = ClusterResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::all(client);
    let stored = call("read what a binding names", api.get_opt(name)).await?;
    let known = store.by_name(name);
    let uid = |object: &K| object.meta().uid.clone();
    Ok(stored.as_ref().and_then(uid) == known.as_deref().and_then(uid))
}

async fn is_unused(client: &Client, name: &str) -> Result<bool, HubError> {
    let names = |list: &[String]| list.iter().any(|other| other == name);
    let params = ListParams::default();
    let templates: Api<RoleTemplate> = Api::all(client.clone());
    let globals: Api<GlobalRole> = Api::all(client.clone());
    let what = "read what rests on a role";
    let (templates, globals) = tokio::try_join!(
        call(what, templates.list(&params)),
        call(what, globals.list(&params)),
    )?;
    let mut heirs = templates.iter().map(|role| &role.spec.inherits);
    let mut giving = globals.iter().map(|role| &role.spec.in_every_cluster);
    Ok(!heirs.any(|list| names(list)) && !giving.any(|list| names(list)))
}

fn not_as_known() -> AdmissionError {
    AdmissionError::Unavailable(Status::unavailable(
        "what it names, or what rests on it, was written just now, and is not known yet; try again",
        1,
    ))
}

/// Somebody who is there and enabled, with the groups that count now.
fn person(stores: &Stores, name: &UserName) -> Option<Person> {
    let user = stores.users.by_uid(name.uid().as_str())?;
    let stays = user.spec.enabled && user.metadata.deletion_timestamp.is_none();
    stays.then(|| with_groups(stores, name, &user))
}

/// Somebody who is there, disabled or not, with the groups that count now.
fn anybody(stores: &Stores, name: &UserName) -> Option<Person> {
    let user = stores.users.by_uid(name.uid().as_str())?;
    Some(with_groups(stores, name, &user))
}

fn with_groups(stores: &Stores, name: &UserName, user: &User) -> Person {
    Person {
        user: name.clone(),
        groups: groups_of(user, stores, Timestamp::now()),
    }
}

/// Whether the hub lets a writer do everything.
async fn may_do_everything(client: &Client, write: &Write<'_>) -> Result<bool, AdmissionError> {
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
    for asked in [objects, paths] {
        if !allows(client, write, asked).await.map_err(unknown)? {
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
    asked: SubjectAccessReviewSpec,
) -> Result<bool, HubError> {
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(write.writer.to_owned()),
            groups: Some(write.groups.to_vec()),
            ..asked
        },
        ..SubjectAccessReview::default()
    };
    let params = PostParams::default();
    let asking = reviews.create(&params, &review);
    let answer = call("ask what whoever writes may do", asking).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

#[cfg(test)]
mod tests;
