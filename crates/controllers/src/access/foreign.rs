//! Bindings in a cluster that are not Drover's and name its people.
//!
//! Whoever may write bindings in a cluster can name a person of Drover's there. While that person is
//! bound to anything in the cluster, this is the cluster's own matter, and `explain` tells of it. Once
//! nothing names them any more, their name is taken out, and a binding that names nobody is deleted: what
//! somebody once gave them by hand shall not be there again with the next role that they are given,
//! however small. Who or what is only switched off for a while (a person, a provider, a role) stays.

mod bound;

use std::fmt::Debug;
use std::sync::LazyLock;

use k8s_openapi::api::rbac::v1::Subject;
use kube::api::{Api, DeleteParams, PostParams, Preconditions};
use kube::{Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;

use drover_apply::unmanaged::{RoleBindingLike, UnmanagedBindings, person};
use drover_apply::{ApplyError, call, is_conflict, is_gone};

pub(super) use self::bound::Bound;

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
    let found = match UnmanagedBindings::read(client, |person| !known.has(person)).await {
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
        K: RoleBindingLike + Resource<DynamicType = ()> + Serialize + DeserializeOwned + Debug,
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
            Err(ApplyError::Call { source, .. }) if is_conflict(&source) || is_gone(&source) => {}
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
