//! Roles and who is given them: nobody gives more than they have, by whichever object.
//!
//! | what is written | what its writer has to have themselves |
//! |---|---|
//! | a RoleTemplate | in every cluster: all that it said, and all that it says |
//! | a GlobalRole | on the hub and in every cluster: all that it said, and all that it says |
//! | a binding, made or deleted | where it holds: all that its role allows |
//! | a project's quota, defaults and pod security | in its cluster: the right to change projects |
//! | a project's namespaces | in the project: the right to change them; to take one over: everything in the cluster, or that right in the project that has it |
//!
//! Their groups are not those of the request: on the way to the hub some are left out, and whoever
//! may impersonate could name any. What somebody has is a [`Person`] that the server looked up.
//!
//! What cannot be resolved is neither stored nor bound, because nobody knows what it will allow.

mod bindings;
mod projects;
pub mod quota;
mod templates;

pub use projects::is_reserved;

use drover_api::group::GROUP;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Operation, Refusal, Write};
use crate::grants::{Escalation, Facts, Grants, Place, Who};
use crate::names::{GroupName, UserName};
use crate::roles::{BUILT_IN_LABEL, Rights, Scoped, is_built_in};

/// What is known of the hub's roles and bindings when something is written.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The objects.
    pub facts: &'a Facts<'a>,
    /// What they come to.
    pub grants: &'a Grants,
}

/// Somebody with a User object, and the groups that count now: never those that a request names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Their name.
    pub user: UserName,
    /// Their groups.
    pub groups: Vec<GroupName>,
}

impl Person {
    /// As grants know them.
    pub fn who(&self) -> Who<'_> {
        Who {
            user: &self.user,
            groups: &self.groups,
        }
    }
}

/// What somebody who writes may give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Giver {
    /// A person of Drover: what their roles allow.
    Person(Person),
    /// A name of Drover's whose User is not there or disabled, whatever the hub still lets them do.
    Gone,
    /// Whoever may do everything on the hub, which they can make themselves an administrator with.
    HubAdministrator,
    /// Anybody else whom only the hub knows.
    Stranger,
}

/// Of whom it has to be known what they may give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writer {
    /// A person of Drover: whether they are there, and which groups count, is for the hub's objects
    /// to say.
    Person(UserName),
    /// Somebody whom the hub knows: whether they may do everything there is for the hub to say.
    OfHub,
    /// A name that is Drover's and no person's.
    Nobody,
}

impl Writer {
    /// Whoever writes.
    pub fn of(write: &Write<'_>) -> Self {
        match UserName::parse(write.writer) {
            Some(user) => Self::Person(user),
            None if write.by_person() => Self::Nobody,
            None => Self::OfHub,
        }
    }
}

impl Giver {
    /// Whether they pass a check of what they have.
    fn check(&self, check: impl FnOnce(Who<'_>) -> Result<(), Escalation>) -> Result<(), Refusal> {
        match self {
            Self::HubAdministrator => Ok(()),
            Self::Gone => Err(gone()),
            Self::Stranger => Err(stranger()),
            Self::Person(person) => {
                check(person.who()).map_err(|escalation| Refusal::new(escalation.to_string()))
            }
        }
    }

    /// Whether they may do this to an object of Drover's own that belongs to a place.
    fn may(&self, known: Known<'_>, verb: &str, resource: &str, place: &Place) -> bool {
        match self {
            Self::HubAdministrator => true,
            Self::Gone | Self::Stranger => false,
            Self::Person(person) => {
                let who = person.who();
                known.grants.may(who, verb, resource, "", place)
            }
        }
    }

    /// Whether they may do everything on the hub and in every cluster.
    pub(super) fn administers(&self, known: Known<'_>) -> bool {
        match self {
            Self::HubAdministrator => true,
            Self::Gone | Self::Stranger => false,
            Self::Person(person) => known.grants.administers(person.who()),
        }
    }
}

fn stranger() -> Refusal {
    Refusal::new(
        "only people of Drover, and whoever may do everything on the hub, write roles, bindings and \
         projects: use Drover's own address of the hub, the cluster \"local\"",
    )
}

fn gone() -> Refusal {
    Refusal::new(
        "your user is not there any more, or is disabled: ask an administrator to enable it",
    )
}

/// Kinds whose writers give or take rights.
const RESOURCES: [&str; 6] = [
    "clusterroletemplatebindings",
    "globalrolebindings",
    "globalroles",
    "projectroletemplatebindings",
    "projects",
    "roletemplates",
];

/// Whether a write is one that is judged here.
pub(super) fn concerns(write: &Write<'_>) -> bool {
    write.group == GROUP && write.subresource.is_empty() && RESOURCES.contains(&write.resource)
}

/// A kind that is named where something is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedKind {
    /// A cluster.
    Cluster,
    /// A project.
    Project,
    /// A role in clusters or projects.
    RoleTemplate,
    /// A role on the hub and in every cluster.
    GlobalRole,
}

/// An object that a new binding or project names, and that will be pinned in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// Its kind.
    pub kind: NamedKind,
    /// Its name.
    pub name: &'a str,
}

/// What a new binding or project names that its writer has to have rights of.
pub fn names_in<'a>(write: &Write<'a>) -> Vec<Named<'a>> {
    if write.operation != Operation::Create || !concerns(write) {
        return Vec::new();
    }
    let (role, cluster, project) = (
        "/spec/role/name",
        "/spec/cluster/name",
        "/spec/project/name",
    );
    let named = match write.resource {
        "globalrolebindings" => vec![(NamedKind::GlobalRole, role)],
        "clusterroletemplatebindings" => vec![
            (NamedKind::RoleTemplate, role),
            (NamedKind::Cluster, cluster),
        ],
        "projectroletemplatebindings" => vec![
            (NamedKind::RoleTemplate, role),
            (NamedKind::Project, project),
        ],
        "projects" => vec![(NamedKind::Cluster, cluster)],
        _ => Vec::new(),
    };
    let named = named.into_iter().filter_map(|(kind, field)| {
        let name = write.of(field).and_then(Value::as_str)?;
        Some(Named { kind, name })
    });
    named.collect()
}

/// The role in clusters or projects that a write deletes, on which no other may rest.
pub fn deleted_role<'a>(write: &Write<'a>) -> Option<&'a str> {
    let deletes = write.operation == Operation::Delete && write.resource == "roletemplates";
    (deletes && concerns(write)).then(|| write.called())
}

/// Whether a write leaves what is said as it is, so that it gives and takes nothing.
pub(super) fn keeps(write: &Write<'_>) -> bool {
    write.operation == Operation::Update && !write.changes("/spec")
}

/// Whether a role, a binding or a project may be stored.
pub(super) fn admit(write: &Write<'_>, writer: &Giver, known: Known<'_>) -> Result<(), Refusal> {
    if !concerns(write) {
        return Ok(());
    }
    match writer {
        Giver::Gone => return Err(gone()),
        Giver::Stranger if !keeps(write) => return Err(stranger()),
        Giver::Person(_) | Giver::HubAdministrator | Giver::Stranger => {}
    }
    kept_by_nobody(write)?;
    match write.resource {
        "roletemplates" => {
            built_in(write)?;
            templates::admit_template(write, writer, known)
        }
        "globalroles" => {
            built_in(write)?;
            templates::admit_global(write, writer, known)
        }
        "globalrolebindings" | "clusterroletemplatebindings" | "projectroletemplatebindings" => {
            bindings::admit(write, writer, known)
        }
        "projects" => projects::admit(write, writer, known),
        _ => Ok(()),
    }
}

/// Kubernetes deletes what belongs to something that is gone, and no rule concerns Kubernetes; and
/// what waits for somebody stays while everybody thinks that it is gone.
fn kept_by_nobody(write: &Write<'_>) -> Result<(), Refusal> {
    if write.operation == Operation::Delete {
        return Ok(());
    }
    let parts = ["ownerReferences", "finalizers"];
    let changed = parts
        .iter()
        .find(|part| write.changes(&format!("/metadata/{part}")));
    match changed {
        None => Ok(()),
        Some(part) => Err(Refusal::new(format!(
            "{} belong to nobody and wait for nobody but Drover's server: leave metadata.{part} as \
             it is",
            write.resource
        ))),
    }
}

/// What an object said before it is written.
enum Before<T> {
    /// There was none.
    Nothing,
    /// This, as far as it matters.
    Known(T),
    /// It cannot be read, or it cannot be resolved: it may have said anything, and may again.
    Unknown,
}

impl<S: DeserializeOwned> Before<S> {
    fn read(old: Option<&Value>) -> Self {
        match spec(old) {
            Ok(None) => Self::Nothing,
            Ok(Some(said)) => Self::Known(said),
            Err(_) => Self::Unknown,
        }
    }
}

impl<T> Before<T> {
    fn and_then<U>(self, known: impl FnOnce(T) -> Option<U>) -> Before<U> {
        match self {
            Self::Nothing => Before::Nothing,
            Self::Unknown => Before::Unknown,
            Self::Known(said) => known(said).map_or(Before::Unknown, Before::Known),
        }
    }

    fn known(&self) -> Option<&T> {
        match self {
            Self::Known(said) => Some(said),
            Self::Nothing | Self::Unknown => None,
        }
    }

    /// What nobody knows is for those who have everything.
    fn check(&self, writer: &Giver, known: Known<'_>) -> Result<(), Refusal> {
        match self {
            Self::Nothing | Self::Known(_) => Ok(()),
            Self::Unknown => all(writer, known),
        }
    }
}

/// Whether somebody has everything, on the hub and in every cluster.
fn all(writer: &Giver, known: Known<'_>) -> Result<(), Refusal> {
    everything_at(writer, known, &Place::Hub)?;
    everything_at(writer, known, &Place::EveryCluster)
}

/// Whether somebody has everything at a place.
fn everything_at(writer: &Giver, known: Known<'_>, place: &Place) -> Result<(), Refusal> {
    let everything = Scoped {
        cluster: Rights::everything(),
        project: Rights::default(),
    };
    writer.check(|who| known.grants.may_give(who, &everything, place))
}

/// The roles of the start are as they are: others inherit from them, and people rely on them.
fn built_in(write: &Write<'_>) -> Result<(), Refusal> {
    let label = |object: Option<&Value>| {
        let labels = object.and_then(|object| object.pointer("/metadata/labels"));
        labels
            .and_then(|labels| labels.get(BUILT_IN_LABEL))
            .cloned()
    };
    let name = write.called();
    let changed = write.operation == Operation::Delete || write.changes("/spec");
    if label(write.old).is_some() && changed {
        return Err(Refusal::new(format!(
            "{name:?} is a role of the start and stays as it is: make a role of your own, which may \
             inherit from it"
        )));
    }
    if write.operation == Operation::Create && is_built_in(name) {
        return Err(Refusal::new(format!(
            "{name:?} is the name of a role of the start, which the server makes: choose another"
        )));
    }
    if write.operation != Operation::Delete && label(write.object) != label(write.old) {
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

#[cfg(test)]
mod tests;
