//! Writes that only administrators may perform, regardless of other roles.
//!
//! | write | reason |
//! |---|---|
//! | an AuthProvider | an AuthProvider determines the identity of users, including administrators |
//! | settings that affect security ([`Setting::needs_administrator`]) | these settings select the agent's image in all clusters, and the lifetime of credentials |
//! | the agent image of a cluster | the agent has all permissions in its cluster |
//! | a user who is an administrator by the User object or by a role | other users must not lock out administrators |
//! | owner references and finalizers of Drover's kinds | the garbage collector deletes an object whose owner does not exist, so permission to update would include permission to delete |

use drover_api::group::GROUP;
use serde_json::Value;

use super::roles::{HubRoles, UserWithGroups, WriterRights};
use super::{Operation, Refusal, Write, owned, roles};
use crate::grants::Grants;
use crate::names::UserName;
use crate::setting::Setting;

/// Reports whether only administrators may perform a write.
pub(super) fn concerns(write: &Write<'_>) -> bool {
    restriction(write).is_some()
}

/// The reason why a write is limited to administrators.
enum Restriction {
    Provider,
    Setting,
    Image,
    User,
    /// The name of the changed field: owner references or finalizers.
    Ownership(&'static str),
}

/// Fields that can cause or prevent the deletion of an object. A user with permission to update an
/// object can set these fields.
const OWNERSHIP: [&str; 2] = ["ownerReferences", "finalizers"];

fn restriction(write: &Write<'_>) -> Option<Restriction> {
    if write.group != GROUP || !write.subresource.is_empty() {
        return None;
    }
    if let Some(field) = changed_ownership(write) {
        return Some(Restriction::Ownership(field));
    }
    let deleted = write.operation == Operation::Delete;
    let stored = write.operation != Operation::Create;
    match write.resource {
        "authproviders" => Some(Restriction::Provider),
        "settings" if deleted || write.changes("/spec/value") => {
            let setting = Setting::parse(write.object_name())?;
            setting
                .needs_administrator()
                .then_some(Restriction::Setting)
        }
        "clusters" if !deleted && write.changes("/spec/agent/image") => Some(Restriction::Image),
        "users" if stored && changes_rights_of_user(write) => Some(Restriction::User),
        _ => None,
    }
}

/// Returns the field of [`OWNERSHIP`] that a write changes. In roles, bindings and projects, only
/// the server may change these fields: see [`roles`]. The module [`owned`] checks these fields of
/// preferences and saved views.
fn changed_ownership(write: &Write<'_>) -> Option<&'static str> {
    let is_elsewhere = roles::concerns(write) || owned::concerns(write);
    if write.operation == Operation::Delete || is_elsewhere {
        return None;
    }
    let mut fields = OWNERSHIP.into_iter();
    fields.find(|field| write.changes(&format!("/metadata/{field}")))
}

/// Reports whether a write deletes a user or changes the user's spec. Labels and annotations of a
/// user do not grant permissions.
fn changes_rights_of_user(write: &Write<'_>) -> bool {
    write.operation == Operation::Delete || write.changes("/spec")
}

/// Returns the name of the user that a write changes or deletes.
pub fn changed_user(write: &Write<'_>) -> Option<UserName> {
    if !matches!(restriction(write)?, Restriction::User) {
        return None;
    }
    let uid = write.of_old("/metadata/uid").and_then(Value::as_str)?;
    Some(UserName::of(&drover_api::ids::UserUid::new(uid)))
}

pub(super) fn admit(
    write: &Write<'_>,
    writer: &WriterRights,
    changed: Option<&UserWithGroups>,
    hub_roles: HubRoles<'_>,
) -> Result<(), Refusal> {
    let Some(restriction) = restriction(write) else {
        return Ok(());
    };
    let reason = match restriction {
        Restriction::Provider => "an AuthProvider determines the identity of users".to_owned(),
        Restriction::Setting => format!("the setting {:?} affects security", write.object_name()),
        Restriction::Image => "spec.agent.image runs in the cluster with all permissions".into(),
        Restriction::User if above_others(write, changed, hub_roles) => {
            format!("{:?} is an administrator", write.object_name())
        }
        Restriction::User => return Ok(()),
        Restriction::Ownership(field) => format!(
            "metadata.{field} of {} determines when Kubernetes deletes {:?}",
            write.resource,
            write.object_name()
        ),
    };
    if writer.administers(hub_roles) {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "{reason}: only administrators can change this object; ask an administrator"
    )))
}

/// Reports whether the changed user is an administrator. For a disabled user, reports whether the
/// user becomes an administrator when the user is enabled, because a disabled user has no grants.
fn above_others(
    write: &Write<'_>,
    changed: Option<&UserWithGroups>,
    hub_roles: HubRoles<'_>,
) -> bool {
    let flag = write.of_old("/spec/administrator").and_then(Value::as_bool);
    flag == Some(true)
        || changed.is_some_and(|person| {
            Grants::administers_if_enabled(hub_roles.facts, person.rights_holder())
        })
}

#[cfg(test)]
mod tests;
