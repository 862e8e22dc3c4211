//! Admission of the hub's RBAC roles and bindings.

use serde_json::Value;

use super::privilege_escalation::{self, RuleScope};
use super::{Operation, Refusal, Write, defaults, same};
use crate::names;

/// Subjects that include all users or all authenticated users.
const EVERYBODY: &[&str] = &[
    "system:anonymous",
    "system:authenticated",
    "system:serviceaccounts",
    "system:unauthenticated",
];

/// Label of the roles and bindings that grant hub access.
pub const HUB_LABEL: &str = "management.drover.dev/hub-access";
/// Name prefix of the roles and bindings that grant hub access.
pub const HUB_PREFIX: &str = "drover-hub-";

/// The name and the namespace of an RBAC role on the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleName {
    /// Namespace of the Role; `None` for a ClusterRole.
    pub namespace: Option<String>,
    /// Name of the Role or ClusterRole.
    pub name: String,
}

/// Returns the role of a binding if admission of the binding depends on the role's rules.
pub(super) fn role_needed(write: &Write<'_>) -> Option<RoleName> {
    if !is_binding(write) || !judged_by_role(write) {
        return None;
    }
    let text = |part: &str| write.of(part).and_then(Value::as_str).unwrap_or_default();
    let namespaced = text("/roleRef/kind") == "Role";
    Some(RoleName {
        namespace: namespaced.then(|| write.namespace.to_owned()),
        name: text("/roleRef/name").to_owned(),
    })
}

pub(super) fn admit(write: &Write<'_>, server: &str, role: Option<&Value>) -> Result<(), Refusal> {
    if is_the_servers(write) {
        return Err(Refusal::new(format!(
            "{object:?} has a name or label that is reserved for Drover's server: change the \
             GlobalRole or the GlobalRoleBinding instead",
            object = write.object_name()
        )));
    }
    let deleted = write.operation == Operation::Delete;
    if is_binding(write) {
        return if deleted {
            Ok(())
        } else {
            admit_binding(write, server, role)
        };
    }
    if !deleted {
        admit_role(write, server)?;
    }
    defaults::admit(write)
}

/// Reports whether an object grants hub access. The label or the prefix of the name identifies such
/// an object. Users must not change the label or add a finalizer, because the object could then
/// outlive the granted role.
fn is_the_servers(write: &Write<'_>) -> bool {
    let labelled = |object: Option<&Value>| {
        let labels = object.and_then(|object| object.pointer("/metadata/labels"));
        labels.is_some_and(|labels| labels.get(HUB_LABEL).is_some())
    };
    write.object_name().starts_with(HUB_PREFIX) || labelled(write.object) || labelled(write.old)
}

fn is_binding(write: &Write<'_>) -> bool {
    matches!(write.resource, "rolebindings" | "clusterrolebindings")
}

fn judged_by_role(write: &Write<'_>) -> bool {
    let new = new_subjects(write);
    !new.is_empty()
        && (write.is_by_drover_user() || new.iter().any(|subject| is_everybody(subject)))
}

/// Returns the subjects that the write adds to a binding. If the write changes the binding's role,
/// returns all subjects.
fn new_subjects<'a>(write: &Write<'a>) -> Vec<&'a Value> {
    let list = |value: Option<&'a Value>| {
        let list = value.and_then(Value::as_array);
        list.into_iter().flatten()
    };
    let same_role = same(write.of("/roleRef"), write.of_old("/roleRef"));
    let had: Vec<_> = list(write.of_old("/subjects").filter(|_| same_role)).collect();
    let subjects = list(write.of("/subjects"));
    subjects.filter(|subject| !had.contains(subject)).collect()
}

fn name_of(subject: &Value) -> &str {
    subject["name"].as_str().unwrap_or_default()
}

fn is_everybody(subject: &Value) -> bool {
    subject["kind"] != "ServiceAccount" && EVERYBODY.contains(&name_of(subject))
}

fn admit_binding(write: &Write<'_>, server: &str, role: Option<&Value>) -> Result<(), Refusal> {
    let new = new_subjects(write);
    let drovers = new.iter().find(|subject| {
        subject["kind"] != "ServiceAccount" && name_of(subject).starts_with(names::PREFIX)
    });
    if let Some(subject) = drovers {
        return Err(Refusal::new(format!(
            "only Drover's server can bind roles to the Drover user or group {subject:?}, \
             because other bindings would remain after the user loses the Drover role",
            subject = name_of(subject)
        )));
    }
    if !judged_by_role(write) {
        return Ok(());
    }
    if role.is_none() && write.is_by_drover_user() {
        return Err(missing(write));
    }
    let scope = scope(write);
    let Some(action) = role.and_then(|role| privilege_escalation::of_role(role, scope, server))
    else {
        return Ok(());
    };
    let everybody = new.iter().find(|subject| is_everybody(subject));
    Err(Refusal::new(match everybody {
        Some(subject) => format!(
            "the role lets users {action}, and the binding would make all accounts of {group:?} \
             administrators of Drover: bind the role to individual accounts",
            group = name_of(subject)
        ),
        None => format!(
            "the role lets users {action}, and the binding would make its subjects \
             administrators of Drover even after you lose your permissions: make users \
             administrators with \"drover user\", or bind a role with fewer permissions"
        ),
    }))
}

/// Rejects a binding of a role that does not exist. If the role is created later, admission of the
/// role does not check existing bindings.
fn missing(write: &Write<'_>) -> Refusal {
    let text = |part: &str| write.of(part).and_then(Value::as_str).unwrap_or_default();
    Refusal::new(format!(
        "cannot bind the {kind} {name:?}: the role does not exist; create the role before the \
         binding",
        kind = text("/roleRef/kind"),
        name = text("/roleRef/name")
    ))
}

fn scope<'a>(write: &Write<'a>) -> RuleScope<'a> {
    if write.namespace.is_empty() {
        RuleScope::Everywhere
    } else {
        RuleScope::Namespace(write.namespace)
    }
}

/// Checks the rules of a role that a Drover user writes. Bindings of the role can already exist, or
/// can be created later.
fn admit_role(write: &Write<'_>, server: &str) -> Result<(), Refusal> {
    if !write.is_by_drover_user() {
        return Ok(());
    }
    if write.changes("/aggregationRule") && write.of("/aggregationRule").is_some() {
        return Err(Refusal::new(
            "cannot write a role with aggregationRule: changes of other roles can add rules to the \
             role; remove aggregationRule and list the rules",
        ));
    }
    // Labels select the roles that aggregate a role's rules.
    let gains = write.changes("/metadata/labels") || !added_rules(write).is_empty();
    let action = write
        .object
        .filter(|_| gains)
        .and_then(|role| privilege_escalation::of_role(role, scope(write), server));
    match action {
        None => Ok(()),
        Some(action) => Err(Refusal::new(format!(
            "the permission to {action} would make users administrators of Drover: remove the \
             permission from the role, or make the users administrators with \"drover user\""
        ))),
    }
}

fn added_rules<'a>(write: &Write<'a>) -> Vec<&'a Value> {
    let list = |value: Option<&'a Value>| value.and_then(Value::as_array).into_iter().flatten();
    let had: Vec<_> = list(write.of_old("/rules")).collect();
    let rules = list(write.of("/rules"));
    rules.filter(|rule| !had.contains(rule)).collect()
}
