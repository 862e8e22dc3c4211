//! Roles and who is given them: nobody gives more than they have, by whichever object.
//!
//! | what is written | what its writer has to have themselves |
//! |---|---|
//! | a RoleTemplate | in every cluster: all that it said, and all that it says |
//! | a GlobalRole | on the hub and in every cluster: all that it said, and all that it says |
//! | a binding, made or deleted | where it holds: all that its role allows |
//!
//! What cannot be resolved is neither stored nor bound, because nobody knows what it will allow.

mod bindings;
mod templates;

use drover_api::kinds::{GlobalRoleSpec, RoleTemplateSpec};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Operation, Refusal, Write};
use crate::grants::{Escalation, Facts, Grants, Who};
use crate::names::{GroupName, UserName};
use crate::roles::BUILT_IN_LABEL;

/// What is known of the hub's roles and bindings when something is written.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The objects.
    pub facts: &'a Facts<'a>,
    /// What they come to.
    pub grants: &'a Grants,
}

/// What somebody who writes may give.
#[derive(Clone, Debug)]
pub enum Giver {
    /// A person of Drover: what their roles allow.
    Person {
        /// Their name.
        user: UserName,
        /// Their groups.
        groups: Vec<GroupName>,
    },
    /// Whoever may do everything on the hub, which they can make themselves an administrator with.
    HubAdministrator,
    /// Anybody else whom only the hub knows.
    Stranger,
}

impl Giver {
    /// Who writes; `everything` is whether the hub lets them do everything.
    pub fn of(write: &Write<'_>, everything: bool) -> Self {
        match UserName::parse(write.writer) {
            Some(user) => Self::Person {
                user,
                groups: write
                    .groups
                    .iter()
                    .filter_map(|name| GroupName::parse(name))
                    .collect(),
            },
            None if everything => Self::HubAdministrator,
            None => Self::Stranger,
        }
    }

    /// Whether they pass a check of what they have.
    fn check(&self, check: impl FnOnce(Who<'_>) -> Result<(), Escalation>) -> Result<(), Refusal> {
        match self {
            Self::HubAdministrator => Ok(()),
            Self::Stranger => Err(Refusal::new(
                "only people of Drover, and whoever may do everything on the hub, write roles and \
                 their bindings: use Drover's own address of the hub, the cluster \"local\"",
            )),
            Self::Person { user, groups } => check(Who { user, groups })
                .map_err(|escalation| Refusal::new(escalation.to_string())),
        }
    }
}

/// Whether a role or a binding may be stored.
pub fn admit(write: &Write<'_>, giver: &Giver, known: Known<'_>) -> Result<(), Refusal> {
    match write.resource {
        "roletemplates" => {
            built_in(write)?;
            templates::admit_template(write, giver, known)
        }
        "globalroles" => {
            built_in(write)?;
            templates::admit_global(write, giver, known)
        }
        "globalrolebindings" | "clusterroletemplatebindings" | "projectroletemplatebindings" => {
            bindings::admit(write, giver, known)
        }
        _ => Ok(()),
    }
}

/// The roles of the start are as they are: others inherit from them, and people rely on them.
fn built_in(write: &Write<'_>) -> Result<(), Refusal> {
    let label = |object: Option<&Value>| {
        let labels = object.and_then(|object| object.pointer("/metadata/labels"));
        labels
            .and_then(|labels| labels.get(BUILT_IN_LABEL))
            .is_some()
    };
    if label(write.old) && (write.operation == Operation::Delete || write.changes("/spec")) {
        return Err(Refusal::new(format!(
            "{:?} is a role of the start and stays as it is: make a role of your own, which may \
             inherit from it",
            write.called()
        )));
    }
    if label(write.object) != label(write.old) && write.operation != Operation::Delete {
        return Err(Refusal::new(format!(
            "only Drover's server says which roles are of the start: leave the label \
             \"{BUILT_IN_LABEL}\" as it is"
        )));
    }
    Ok(())
}

/// The spec of an object that is written.
fn spec<S: DeserializeOwned>(object: Option<&Value>) -> Result<Option<S>, Refusal> {
    let Some(spec) = object.map(|object| &object["spec"]) else {
        return Ok(None);
    };
    let read = serde_json::from_value(spec.clone());
    read.map(Some)
        .map_err(|error| Refusal::new(format!("spec cannot be read: {error}")))
}

type Template = RoleTemplateSpec;
type Global = GlobalRoleSpec;

#[cfg(test)]
mod tests;
