//! Bindings in a cluster that are not Drover's and name its people.
//!
//! Whoever may write bindings in a cluster can name a person of Drover's there. While that person has a
//! role in the cluster, this is the cluster's own matter, and `explain` tells of it. Once they have none,
//! their name is taken out, and a binding that names nobody any more is deleted: what somebody once gave
//! them by hand shall not be there again with the next role that they are given, however small.

use std::collections::BTreeSet;

use drover_access::admission::RBAC;
use drover_access::grants::Subject as Person;
use drover_access::names::{GroupName, UserName};
use drover_api::group::ACCESS_LABEL;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleBinding, RoleRef, Subject};
use kube::Client;

use crate::controllers::objects::differ::{Comparable, Difference};
use crate::controllers::objects::{ApplyError, Objects, all};

/// A kind of RBAC that gives a role to subjects.
pub(crate) trait Gives: Comparable {
    /// Whom it names.
    fn subjects(&self) -> &[Subject];

    /// What it gives.
    fn role(&self) -> &RoleRef;

    /// The same for these.
    fn with(self, subjects: Vec<Subject>) -> Self;
}

impl Gives for ClusterRoleBinding {
    fn subjects(&self) -> &[Subject] {
        self.subjects.as_deref().unwrap_or_default()
    }

    fn role(&self) -> &RoleRef {
        &self.role_ref
    }

    fn with(mut self, subjects: Vec<Subject>) -> Self {
        self.subjects = Some(subjects);
        self
    }
}

impl Gives for RoleBinding {
    fn subjects(&self) -> &[Subject] {
        self.subjects.as_deref().unwrap_or_default()
    }

    fn role(&self) -> &RoleRef {
        &self.role_ref
    }

    fn with(mut self, subjects: Vec<Subject>) -> Self {
        self.subjects = Some(subjects);
        self
    }
}

/// What is in a cluster and not Drover's.
pub(crate) struct Foreign {
    /// In the whole cluster.
    pub(crate) everywhere: Vec<ClusterRoleBinding>,
    /// In single namespaces.
    pub(crate) within: Vec<RoleBinding>,
}

impl Foreign {
    /// Reads them.
    pub(crate) async fn read(client: &Client) -> Result<Self, ApplyError> {
        let label = format!("!{ACCESS_LABEL}");
        Ok(Self {
            everywhere: Objects::all(client, &label).list().await?.0,
            within: Objects::within(client, &label).list().await?.0,
        })
    }
}

/// Whom of Drover a subject names.
pub(crate) fn person(subject: &Subject) -> Option<Person> {
    // Without a group, RBAC means its own for users and groups.
    if !matches!(subject.api_group.as_deref(), None | Some("" | RBAC)) {
        return None;
    }
    match subject.kind.as_str() {
        "User" => UserName::parse(&subject.name).map(Person::User),
        "Group" => GroupName::parse(&subject.name).map(Person::Group),
        _ => None,
    }
}

/// Takes whoever has no role in the cluster out of bindings there that are not Drover's; gives how many
/// that were.
pub(super) async fn sweep(
    client: &Client,
    users: &BTreeSet<UserName>,
    groups: &BTreeSet<GroupName>,
) -> Result<usize, ApplyError> {
    let stays = |subject: &Subject| match person(subject) {
        Some(Person::User(name)) => users.contains(&name),
        Some(Person::Group(name)) => groups.contains(&name),
        None => true,
    };
    let found = Foreign::read(client).await?;
    let (everywhere, within) = (swept(found.everywhere, stays), swept(found.within, stays));
    let count = everywhere.delete.len()
        + everywhere.replace.len()
        + within.delete.len()
        + within.replace.len();
    let mut failures = Vec::new();
    let label = format!("!{ACCESS_LABEL}");
    let objects = Objects::all(client, &label);
    objects.take(&everywhere, &mut failures).await;
    objects.write(&everywhere, &mut failures).await;
    let objects = Objects::within(client, &label);
    objects.take(&within, &mut failures).await;
    objects.write(&within, &mut failures).await;
    all(failures.into_iter().map(|failure| failure.error))?;
    Ok(count)
}

/// What is to be done so that they name only those who stay.
fn swept<K: Gives>(found: Vec<K>, stays: impl Fn(&Subject) -> bool) -> Difference<K> {
    let mut difference = Difference::default();
    for binding in found {
        let subjects = binding.subjects();
        let left: Vec<_> = subjects.iter().filter(|it| stays(it)).cloned().collect();
        if left.len() == subjects.len() {
            continue;
        }
        if left.is_empty() {
            difference.delete.push(binding);
        } else {
            // As it was seen: what somebody writes meanwhile is looked at with the next turn.
            difference.replace.push(binding.with(left));
        }
    }
    difference
}

#[cfg(test)]
mod tests;
