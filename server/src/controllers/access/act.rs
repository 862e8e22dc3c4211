//! Access in one place: what is there is read, what differs is done.

use std::fmt::Debug;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::differ::{Comparable, Difference, Key, differ};
use super::wanted::Wanted;
use crate::tunnels::told;

/// Most time for one call through the tunnel.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Objects a page when listing.
const PAGE: u32 = 500;
/// Writes in one cluster at a time.
const AT_ONCE: usize = 8;

/// Why access in a cluster is not as the hub wants it.
#[derive(Debug, Error)]
pub enum AccessError {
    /// Drover's account there may not: it has the rights of an older version.
    #[error(
        "could not {what}: Drover's account there may not; apply this version's manifest or chart \
         again, which gives it the rights"
    )]
    NotAllowed {
        /// Completes "could not …".
        what: String,
        /// What the client said.
        source: Box<kube::Error>,
    },
    /// An object of the name is there, and is not Drover's.
    #[error("could not {what}: there is one that is not Drover's; delete or rename it")]
    Taken {
        /// Completes "could not …".
        what: String,
    },
    /// The cluster said no, or could not be reached.
    #[error("could not {what}: {source}")]
    Refused {
        /// Completes "could not …".
        what: String,
        /// What the client said.
        source: Box<kube::Error>,
    },
    /// No answer came.
    #[error("could not {what}: no answer within {} s", TIMEOUT.as_secs())]
    TimedOut {
        /// Completes "could not …".
        what: String,
    },
    /// More than one of them.
    #[error("{first}; and {others} more could not be done")]
    Several {
        /// The first.
        first: Box<Self>,
        /// How many besides.
        others: usize,
    },
}

/// The four kinds that rights are made of, each everywhere.
struct Kinds {
    cluster_roles: Objects<ClusterRole>,
    cluster_bindings: Objects<ClusterRoleBinding>,
    roles: Objects<Role>,
    bindings: Objects<RoleBinding>,
}

/// Makes access in a place what is wanted there; `label` marks what is Drover's.
///
/// What takes rights away comes first, and what fails keeps nothing else from being done: first
/// bindings go, then roles and bindings are written, then roles go.
pub async fn apply(client: &Client, label: &str, wanted: &Wanted) -> Result<(), AccessError> {
    let kinds = Kinds {
        cluster_roles: Objects::all(client, label),
        cluster_bindings: Objects::all(client, label),
        roles: Objects::within(client, label),
        bindings: Objects::within(client, label),
    };
    // Roles in namespaces are the hub's only; a cluster's account may not even list them.
    let with_roles = label == super::HUB_LABEL;
    let roles = if with_roles {
        kinds.roles.compare(&wanted.roles).await?
    } else {
        differ(&[], &[])
    };
    let cluster_roles = kinds.cluster_roles.compare(&wanted.cluster_roles).await?;
    let cluster_bindings = kinds
        .cluster_bindings
        .compare(&wanted.cluster_bindings)
        .await?;
    let bindings = kinds.bindings.compare(&wanted.bindings).await?;
    let mut failures = Vec::new();
    kinds
        .cluster_bindings
        .take(&cluster_bindings, &mut failures)
        .await;
    kinds.bindings.take(&bindings, &mut failures).await;
    kinds
        .cluster_roles
        .write(&cluster_roles, &mut failures)
        .await;
    kinds.roles.write(&roles, &mut failures).await;
    kinds
        .cluster_bindings
        .write(&cluster_bindings, &mut failures)
        .await;
    kinds.bindings.write(&bindings, &mut failures).await;
    kinds
        .cluster_roles
        .take(&cluster_roles, &mut failures)
        .await;
    kinds.roles.take(&roles, &mut failures).await;
    all(failures)
}

fn all(failures: Vec<AccessError>) -> Result<(), AccessError> {
    let others = failures.len().saturating_sub(1);
    match failures.into_iter().next() {
        None => Ok(()),
        Some(only) if others == 0 => Err(only),
        Some(first) => Err(AccessError::Several {
            first: Box::new(first),
            others,
        }),
    }
}

/// Objects of one kind that carry a label.
struct Objects<K> {
    client: Client,
    label: String,
    everywhere: Api<K>,
    place: fn(Client, &str) -> Api<K>,
}

impl<K: Resource<DynamicType = (), Scope = ClusterResourceScope>> Objects<K> {
    fn all(client: &Client, label: &str) -> Self {
        Self {
            client: client.clone(),
            label: label.to_owned(),
            everywhere: Api::all(client.clone()),
            place: |client, _| Api::all(client),
        }
    }
}

impl<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>> Objects<K> {
    fn within(client: &Client, label: &str) -> Self {
        Self {
            client: client.clone(),
            label: label.to_owned(),
            everywhere: Api::all(client.clone()),
            place: |client, namespace| Api::namespaced(client, namespace),
        }
    }
}

impl<K> Objects<K>
where
    K: Comparable + Resource<DynamicType = ()> + Serialize + DeserializeOwned + Debug,
{
    async fn compare(&self, wanted: &[K]) -> Result<Difference<K>, AccessError> {
        Ok(differ(&self.list().await?, wanted))
    }

    async fn list(&self) -> Result<Vec<K>, AccessError> {
        let what = || format!("list every {} that Drover keeps", K::kind(&()));
        let mut params = ListParams::default().labels(&self.label).limit(PAGE);
        let mut found = Vec::new();
        loop {
            let page = call(what(), self.everywhere.list(&params)).await?;
            found.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                None => return Ok(found),
                Some(token) => params = params.continue_token(&token),
            }
        }
    }

    /// Deletes what is not wanted, and what has to be made anew.
    async fn take(&self, difference: &Difference<K>, failures: &mut Vec<AccessError>) {
        for keys in [&difference.delete, &difference.make_anew] {
            for together in keys.chunks(AT_ONCE) {
                let deleted = together.iter().map(|key| self.delete(key));
                let deleted = join_all(deleted.collect::<Vec<_>>()).await;
                failures.extend(deleted.into_iter().filter_map(Result::err));
            }
        }
    }

    /// Makes what is not there, and puts right what is there otherwise.
    async fn write(&self, difference: &Difference<K>, failures: &mut Vec<AccessError>) {
        for (objects, there) in [(&difference.replace, true), (&difference.create, false)] {
            for together in objects.chunks(AT_ONCE) {
                let written = together.iter().map(|object| self.put(object, there));
                let written = join_all(written.collect::<Vec<_>>()).await;
                failures.extend(written.into_iter().filter_map(Result::err));
            }
        }
    }

    async fn put(&self, object: &K, there: bool) -> Result<(), AccessError> {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        let api = (self.place)(self.client.clone(), &namespace);
        let params = PostParams::default();
        let what = |verb: &str| format!("{verb} {}", called(&K::kind(&()), &namespace, &name));
        // Replaced, not patched: what somebody else has added to it is to go.
        let written = if there {
            call(what("put right"), api.replace(&name, &params, object)).await
        } else {
            call(what("make"), api.create(&params, object)).await
        };
        match written {
            Err(AccessError::Refused { source, .. }) if !there && is_conflict(&source) => {
                Err(AccessError::Taken { what: what("make") })
            }
            written => written.map(drop),
        }
    }

    async fn delete(&self, (namespace, name): &Key) -> Result<(), AccessError> {
        let api = (self.place)(self.client.clone(), namespace);
        let what = format!("delete {}", called(&K::kind(&()), namespace, name));
        match call(what, api.delete(name, &DeleteParams::default())).await {
            Err(AccessError::Refused { source, .. }) if is_gone(&source) => Ok(()),
            deleted => deleted.map(drop),
        }
    }
}

fn called(kind: &str, namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        format!("{kind} {name}")
    } else {
        format!("{kind} {name} in the namespace {namespace}")
    }
}

/// Whether what was asked for is not there.
pub(crate) fn is_gone(error: &kube::Error) -> bool {
    has_code(error, 404)
}

fn is_conflict(error: &kube::Error) -> bool {
    has_code(error, 409)
}

fn has_code(error: &kube::Error, code: u16) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == code)
}

/// Waits for one call through the tunnel, a bounded time.
pub(crate) async fn call<T>(
    what: String,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, AccessError> {
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => {
            let source = Box::new(told(source));
            Err(if has_code(&source, 403) {
                AccessError::NotAllowed { what, source }
            } else {
                AccessError::Refused { what, source }
            })
        }
        Err(_) => Err(AccessError::TimedOut { what }),
    }
}
