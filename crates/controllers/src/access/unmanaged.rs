//! Unmanaged bindings in a cluster that name Drover's users and groups.
//!
//! A user with permission to write bindings in a cluster can name a Drover user in a binding. The
//! server leaves such a binding unchanged while any binding on the hub gives the user a role in the
//! cluster. The route that explains access lists the unmanaged binding.
//!
//! When no binding on the hub gives the user a role in the cluster, the server removes the user
//! from the unmanaged binding. The server deletes an unmanaged binding that has no subjects left.
//! Without this removal, a later role in the cluster would also give the user the access of the
//! unmanaged binding. The server does not remove a user whose account, provider or role is only
//! disabled.

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

pub(super) use self::bound::BoundSubjects;

/// The result of removing subjects from unmanaged bindings.
#[derive(Default)]
pub(super) struct SweepResult {
    /// The changed and deleted bindings, for display.
    pub(super) changed: Vec<String>,
    /// The error of the first failed read or write.
    pub(super) failed: Option<ApplyError>,
}

/// Removes the subjects that are not in `bound` from the unmanaged bindings of a cluster. Changes a
/// limited number of objects. The next reconciliation changes the remaining objects.
pub(super) async fn sweep(
    client: &Client,
    bound: impl FnOnce() -> BoundSubjects + Send,
) -> SweepResult {
    let mut result = SweepResult::default();
    // Most clusters have no unmanaged binding of a Drover user; compute the subjects only if
    // needed.
    let known = LazyLock::new(bound);
    let found = match UnmanagedBindings::read(client, |person| !known.contains(person)).await {
        Ok(found) => found,
        Err(error) => {
            result.failed = Some(error);
            return result;
        }
    };
    let stays = |subject: &Subject| person(subject).is_none_or(|person| known.contains(&person));
    for binding in found.everywhere {
        let api = Api::all(client.clone());
        result.remove_subjects(&api, binding, stays).await;
    }
    for binding in found.within {
        let namespace = binding.namespace().unwrap_or_default();
        let api = Api::namespaced(client.clone(), &namespace);
        result.remove_subjects(&api, binding, stays).await;
    }
    result
}

impl SweepResult {
    /// Removes the subjects that are not in `bound` from a binding. If the binding changed
    /// concurrently, the next reconciliation removes the subjects.
    async fn remove_subjects<K>(
        &mut self,
        api: &Api<K>,
        binding: K,
        stays: impl Fn(&Subject) -> bool,
    ) where
        K: RoleBindingLike + Resource<DynamicType = ()> + Serialize + DeserializeOwned + Debug,
    {
        let Some(remaining) = remaining(binding.subjects(), stays) else {
            return;
        };
        let (name, kind) = (binding.name_any(), K::kind(&()));
        let place = binding
            .namespace()
            .map_or_else(String::new, |it| format!("{it}/"));
        let called = format!("{kind} {place}{name}");
        let operation = format!("remove users without a role from the {called}");
        let done = if remaining.is_empty() {
            let params = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: binding.uid(),
                    resource_version: binding.resource_version(),
                }),
                ..DeleteParams::default()
            };
            call(operation, api.delete(&name, &params)).await.map(drop)
        } else {
            let (changed, params) = (binding.with(remaining), PostParams::default());
            call(operation, api.replace(&name, &params, &changed))
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

/// Returns the subjects that remain in the binding. Returns `None` if all subjects remain.
fn remaining(subjects: &[Subject], stays: impl Fn(&Subject) -> bool) -> Option<Vec<Subject>> {
    let remaining: Vec<_> = subjects.iter().filter(|it| stays(it)).cloned().collect();
    (remaining.len() < subjects.len()).then_some(remaining)
}

#[cfg(test)]
mod tests;
