//! Bindings in a cluster that are not Drover's and name its users or groups.

use std::fmt::Debug;
use std::ops::ControlFlow;

use drover_access::admission::{HUB_LABEL, RBAC};
use drover_access::grants::Subject as Person;
use drover_access::names::{GroupName, UserName};
use drover_api::group::ACCESS_LABEL;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleBinding, RoleRef, Subject};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::differ::Comparable;
use super::{ApplyError, Objects};

/// Bindings of one kind that are looked at in a turn; there are hardly ever any.
const MOST: usize = 2000;

/// A kind of RBAC that gives a role to subjects.
pub trait Gives: Comparable {
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

/// What is in a cluster, is not Drover's, and names people of Drover.
pub struct Foreign {
    /// In the whole cluster.
    pub everywhere: Vec<ClusterRoleBinding>,
    /// In single namespaces.
    pub within: Vec<RoleBinding>,
    /// Whether there are more.
    pub more: bool,
}

impl Foreign {
    /// Reads those that name somebody who is `meant`, a page at a time.
    pub async fn read(
        client: &Client,
        meant: impl Fn(&Person) -> bool,
    ) -> Result<Self, ApplyError> {
        let label = format!("!{ACCESS_LABEL},!{HUB_LABEL}");
        let (all, within) = (
            Objects::all(client, &label),
            Objects::within(client, &label),
        );
        let (everywhere, more) = naming(&all, &meant).await?;
        let (within, also_more) = naming(&within, &meant).await?;
        Ok(Self {
            everywhere,
            within,
            more: more || also_more,
        })
    }
}

/// Those that name somebody who is meant, and whether there are more.
async fn naming<K>(
    objects: &Objects<K>,
    meant: impl Fn(&Person) -> bool,
) -> Result<(Vec<K>, bool), ApplyError>
where
    K: Gives + Resource<DynamicType = ()> + Serialize + DeserializeOwned + Debug,
{
    let mut found = Vec::new();
    let names = |binding: &K| {
        let mut people = binding.subjects().iter().filter_map(person);
        people.any(|person| meant(&person))
    };
    let take = |page: Vec<K>, _| {
        found.extend(page.into_iter().filter(names));
        if found.len() > MOST {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    objects.pages(take).await?;
    let more = found.len() > MOST;
    found.truncate(MOST);
    Ok((found, more))
}

/// Whom of Drover a subject names.
pub fn person(subject: &Subject) -> Option<Person> {
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
