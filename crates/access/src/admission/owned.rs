//! Admission of the objects of one user: preferences and saved views.
//!
//! | write | permissions that the writer needs |
//! |---|---|
//! | creation, change or deletion of an object | the writer is the owner, or an administrator |
//! | content of a view that is shared with everyone | administrator |
//! | content of a view that is shared with a project | a role in the project, or administrator |
//!
//! An owner who loses the permission to share can still delete the shared view or make it private,
//! but cannot change its content.
//!
//! `metadata.ownerReferences` must contain exactly the owner, so that Kubernetes deletes the object
//! with the owner. All references contain UIDs: a user or project with the same name inherits
//! nothing.

use drover_api::group::GROUP;
use drover_api::kinds::{MAX_VIEW_NAME, SavedViewSpec, ViewProject, ViewSharing};
use drover_api::view_path;
use serde_json::{Value, json};

use super::roles::{HubRoles, WriterRights};
use super::{Operation, Refusal, Write, same};
use crate::grants::{ProjectFacts, Scope};

const PREFERENCES: &str = "userpreferences";
const VIEWS: &str = "savedviews";

/// Reports whether these rules apply to a write.
pub(super) fn concerns(write: &Write<'_>) -> bool {
    let kinds = [PREFERENCES, VIEWS];
    write.group == GROUP && write.subresource.is_empty() && kinds.contains(&write.resource)
}

/// Checks the name and the path of a saved view. The rule applies to all writers, because the pages
/// of other users open the path.
pub(super) fn admit_view(write: &Write<'_>) -> Result<(), Refusal> {
    let text = |field| write.of(field).and_then(Value::as_str).unwrap_or_default();
    check_view_name(text("/spec/displayName"))
        .map_err(|reason| Refusal::new(format!("spec.displayName {reason}")))?;
    view_path::check(text("/spec/path"))
        .map_err(|reason| Refusal::new(format!("spec.path {reason}")))
}

/// Checks the name of a saved view. The error completes a sentence that begins with the field.
pub fn check_view_name(name: &str) -> Result<(), String> {
    let is_long = name.chars().count() > MAX_VIEW_NAME;
    if name.trim().is_empty() || name.trim() != name || is_long {
        return Err(format!(
            "must have 1 to {MAX_VIEW_NAME} characters, without a space at the beginning or end"
        ));
    }
    if name.chars().any(char::is_control) {
        return Err("must not contain control characters".to_owned());
    }
    Ok(())
}

/// Allows or rejects a write of an object of one user.
pub(super) fn admit(
    write: &Write<'_>,
    writer: &WriterRights,
    hub_roles: HubRoles<'_>,
) -> Result<(), Refusal> {
    if !concerns(write) {
        return Ok(());
    }
    let administers = writer.administers(hub_roles);
    let is_own = |object: Option<&Value>| object.is_none_or(|object| is_owner(writer, object));
    let may_write = administers || (is_own(write.old) && is_own(write.object));
    if !may_write {
        return Err(Refusal::new(format!(
            "{:?} belongs to a different user: only the owner and administrators can write {}; \
             set spec.userUid to your UID",
            write.object_name(),
            write.resource
        )));
    }
    if write.operation == Operation::Delete {
        return Ok(());
    }
    belongs_to_existing_user(write, hub_roles)?;
    if write.resource == VIEWS && write.changes("/spec") && !administers {
        let spec: Option<SavedViewSpec> = super::roles::spec(write.object)?;
        spec.map_or(Ok(()), |spec| may_share(writer, &spec, hub_roles))?;
    }
    Ok(())
}

/// Reports whether the writer is the owner of the object.
fn is_owner(writer: &WriterRights, object: &Value) -> bool {
    match writer {
        WriterRights::User(person) => {
            object.pointer("/spec/userUid").and_then(Value::as_str)
                == Some(person.user.uid().as_str())
        }
        WriterRights::HubAdministrator | WriterRights::DisabledUser | WriterRights::OtherUser => {
            false
        }
    }
}

/// Checks that the owner exists, and that Kubernetes deletes the object with the owner.
fn belongs_to_existing_user(write: &Write<'_>, hub_roles: HubRoles<'_>) -> Result<(), Refusal> {
    let text = |field| write.of(field).and_then(Value::as_str).unwrap_or_default();
    let (name, uid) = (text("/spec/userName"), text("/spec/userUid"));
    let user = hub_roles.facts.users.get(name);
    if user.is_none_or(|user| user.uid.as_str() != uid) {
        return Err(Refusal::new(format!(
            "no user has the name {name:?} and the UID {uid:?}: correct spec.userName and \
             spec.userUid"
        )));
    }
    let owner = json!([{
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "User", "name": name, "uid": uid,
    }]);
    if !same(write.of("/metadata/ownerReferences"), Some(&owner)) {
        return Err(Refusal::new(format!(
            "metadata.ownerReferences must contain exactly {}, so that Kubernetes deletes the \
             object with the user",
            owner[0]
        )));
    }
    if write.changes("/metadata/finalizers") {
        return Err(Refusal::new(format!(
            "only Drover's server can write finalizers of {}: do not change metadata.finalizers",
            write.resource
        )));
    }
    Ok(())
}

/// Checks the permission of a writer who is not an administrator to share a view.
fn may_share(
    writer: &WriterRights,
    spec: &SavedViewSpec,
    hub_roles: HubRoles<'_>,
) -> Result<(), Refusal> {
    match (spec.shared, &spec.project) {
        (ViewSharing::Private, _) => Ok(()),
        (ViewSharing::Everyone, _) => Err(Refusal::new(
            "only administrators can share a view with everyone: share the view with a project, \
             or ask an administrator",
        )),
        (ViewSharing::Project, project) => {
            let member = project
                .as_ref()
                .is_some_and(|project| is_member(writer, project, hub_roles));
            member.then_some(()).ok_or_else(|| {
                Refusal::new(
                    "you have no role in the project with this name and UID: share the view with \
                     a project whose member you are",
                )
            })
        }
    }
}

fn is_member(writer: &WriterRights, project: &ViewProject, hub_roles: HubRoles<'_>) -> bool {
    let known = hub_roles.facts.projects.get(project.name.as_str());
    let known = known.filter(|known| known.uid == project.uid);
    match (writer, known) {
        (WriterRights::User(person), Some(known)) => {
            let holder = person.rights_holder();
            hub_roles.grants.has_role_at(holder, &scope_of(known))
        }
        _ => false,
    }
}

fn scope_of(project: &ProjectFacts) -> Scope {
    Scope::Project(project.cluster.clone(), project.uid.clone())
}

#[cfg(test)]
mod tests;
