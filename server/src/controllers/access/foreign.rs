//! Bindings in a cluster that are not Drover's and name its people.
//!
//! Whoever may write bindings in a cluster can name a person of Drover's there. While that person is
//! bound to anything in the cluster, this is the cluster's own matter, and `explain` tells of it. Once
//! nothing names them any more, their name is taken out, and a binding that names nobody is deleted: what
//! somebody once gave them by hand shall not be there again with the next role that they are given,
//! however small. Who or what is only switched off for a while (a person, a provider, a role) stays.

mod bound;

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use drover_access::admission::RBAC;
use drover_access::grants::Subject as Person;
use drover_access::names::{GroupName, UserName};
use drover_api::group::ACCESS_LABEL;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleBinding, RoleRef, Subject};
use kube::api::{Api, DeleteParams, PostParams, Preconditions};
use kube::{Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::HUB_LABEL;
use crate::controllers::objects::differ::Comparable;
use crate::controllers::objects::{ApplyError, Objects, call, is_conflict, is_gone};

pub(super) use self::bound::Bound;

/// Bindings of one kind that are looked at in a turn; there are hardly ever any.
const MOST: usize = 2000;

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

/// What is in a cluster, is not Drover's, and names people of Drover.
pub(crate) struct Foreign {
    /// In the whole cluster.
    pub(crate) everywhere: Vec<ClusterRoleBinding>,
    /// In single namespaces.
    pub(crate) within: Vec<RoleBinding>,
    /// Whether there are more.
    pub(crate) more: bool,
}

impl Foreign {
    /// Reads those that name somebody who is `meant`, a page at a time.
    pub(crate) async fn read(
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

/// What came of a look.
#[derive(Default)]
pub(super) struct Swept {
    /// The bindings that were changed or deleted, for people.
    pub(super) changed: Vec<String>,
    /// The first that could not be.
    pub(super) failed: Option<ApplyError>,
}

/// Takes those who are not `bound` in a cluster out of bindings there that are not Drover's; where there
/// are very many, the next look goes on.
pub(super) async fn sweep(client: &Client, bound: impl FnOnce() -> Bound + Send) -> Swept {
    let mut swept = Swept::default();
    // There is hardly ever somebody to look up.
    let known = LazyLock::new(bound);
    let found = match Foreign::read(client, |person| !known.has(person)).await {
        Ok(found) => found,
        Err(error) => {
            swept.failed = Some(error);
            return swept;
        }
    };
    let stays = |subject: &Subject| person(subject).is_none_or(|person| known.has(&person));
    for binding in found.everywhere {
        let api = Api::all(client.clone());
        swept.take_out(&api, binding, stays).await;
    }
    for binding in found.within {
        let namespace = binding.namespace().unwrap_or_default();
        let api = Api::namespaced(client.clone(), &namespace);
        swept.take_out(&api, binding, stays).await;
    }
    swept
}

impl Swept {
    /// Changes a binding if it names somebody who does not stay; one that somebody else has changed or
    /// taken away meanwhile is left to the next look.
    async fn take_out<K>(&mut self, api: &Api<K>, binding: K, stays: impl Fn(&Subject) -> bool)
    where
        K: Gives + Resource<DynamicType = ()> + Serialize + DeserializeOwned + Debug,
    {
        let Some(left) = left(binding.subjects(), stays) else {
            return;
        };
        let (name, kind) = (binding.name_any(), K::kind(&()));
        let place = binding
            .namespace()
            .map_or_else(String::new, |it| format!("{it}/"));
        let called = format!("{kind} {place}{name}");
        let what = format!("take people without a role out of the {called}");
        let done = if left.is_empty() {
            let params = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: binding.uid(),
                    resource_version: binding.resource_version(),
                }),
                ..DeleteParams::default()
            };
            call(what, api.delete(&name, &params)).await.map(drop)
        } else {
            let (changed, params) = (binding.with(left), PostParams::default());
            call(what, api.replace(&name, &params, &changed))
                .await
                .map(drop)
        };
        match done {
            Ok(()) => self.changed.push(called),
            Err(ApplyError::Refused { source, .. }) if is_conflict(&source) || is_gone(&source) => {
            }
            Err(error) => {
                self.failed.get_or_insert(error);
            }
        }
    }
}

/// Those who stay; `None` if all of them do.
fn left(subjects: &[Subject], stays: impl Fn(&Subject) -> bool) -> Option<Vec<Subject>> {
    let left: Vec<_> = subjects.iter().filter(|it| stays(it)).cloned().collect();
    (left.len() < subjects.len()).then_some(left)
}

#[cfg(test)]
mod tests;
