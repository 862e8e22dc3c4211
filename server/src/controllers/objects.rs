//! Objects of Drover's in a cluster: listed by a label, compared with what is wanted, and written where
//! they differ.

pub mod differ;

use std::fmt::Debug;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use self::differ::{Comparable, Difference, Key, differ};
use crate::tunnels::told;

/// Most time for one call through the tunnel.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Objects a page when listing.
pub(super) const PAGE: u32 = 500;
/// Writes in one cluster at a time.
pub(super) const AT_ONCE: usize = 8;

/// Why something in a cluster is not as the hub wants it.
#[derive(Debug, Error)]
pub enum ApplyError {
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

/// What could not be done, and in which namespace, empty for what is in none.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) namespace: String,
    pub(super) error: ApplyError,
}

/// What failed, as one.
pub(super) fn all(failures: impl IntoIterator<Item = ApplyError>) -> Result<(), ApplyError> {
    let mut failures = failures.into_iter();
    let first = failures.next();
    let others = failures.count();
    match first {
        None => Ok(()),
        Some(only) if others == 0 => Err(only),
        Some(first) => Err(ApplyError::Several {
            first: Box::new(first),
            others,
        }),
    }
}

/// Objects of one kind that carry a label.
pub(super) struct Objects<K> {
    client: Client,
    label: String,
    everywhere: Api<K>,
    place: fn(Client, &str) -> Api<K>,
}

impl<K: Resource<DynamicType = (), Scope = ClusterResourceScope>> Objects<K> {
    pub(super) fn all(client: &Client, label: &str) -> Self {
        Self {
            client: client.clone(),
            label: label.to_owned(),
            everywhere: Api::all(client.clone()),
            place: |client, _| Api::all(client),
        }
    }
}

impl<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>> Objects<K> {
    pub(super) fn within(client: &Client, label: &str) -> Self {
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
    /// What is to be done about those that are there.
    pub(super) async fn compare(&self, wanted: &[K]) -> Result<Difference<K>, ApplyError> {
        Ok(differ(&self.list().await?, wanted))
    }

    /// All of them.
    pub(super) async fn list(&self) -> Result<Vec<K>, ApplyError> {
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
    pub(super) async fn take(&self, difference: &Difference<K>, failures: &mut Vec<Failure>) {
        for keys in [&difference.delete, &difference.make_anew] {
            for together in keys.chunks(AT_ONCE) {
                let deleted = together.iter().map(|key| self.delete(key));
                let deleted = join_all(deleted.collect::<Vec<_>>()).await;
                failures.extend(deleted.into_iter().filter_map(Result::err));
            }
        }
    }

    /// Makes what is not there, and puts right what is there otherwise.
    pub(super) async fn write(&self, difference: &Difference<K>, failures: &mut Vec<Failure>) {
        for (objects, there) in [(&difference.replace, true), (&difference.create, false)] {
            for together in objects.chunks(AT_ONCE) {
                let written = together.iter().map(|object| self.put(object, there));
                let written = join_all(written.collect::<Vec<_>>()).await;
                failures.extend(written.into_iter().filter_map(Result::err));
            }
        }
    }

    async fn put(&self, object: &K, there: bool) -> Result<(), Failure> {
        let namespace = object.namespace().unwrap_or_default();
        let put = self.put_in(&namespace, object, there).await;
        put.map_err(|error| Failure { namespace, error })
    }

    async fn put_in(&self, namespace: &str, object: &K, there: bool) -> Result<(), ApplyError> {
        let name = object.name_any();
        let api = (self.place)(self.client.clone(), namespace);
        let params = PostParams::default();
        let what = |verb: &str| format!("{verb} {}", called(&K::kind(&()), namespace, &name));
        // Replaced, not patched: what somebody else has added to it is to go.
        let written = if there {
            call(what("put right"), api.replace(&name, &params, object)).await
        } else {
            call(what("make"), api.create(&params, object)).await
        };
        match written {
            Err(ApplyError::Refused { source, .. }) if !there && is_conflict(&source) => {
                Err(ApplyError::Taken { what: what("make") })
            }
            written => written.map(drop),
        }
    }

    async fn delete(&self, (namespace, name): &Key) -> Result<(), Failure> {
        let api = (self.place)(self.client.clone(), namespace);
        let what = format!("delete {}", called(&K::kind(&()), namespace, name));
        match call(what, api.delete(name, &DeleteParams::default())).await {
            Err(ApplyError::Refused { source, .. }) if is_gone(&source) => Ok(()),
            Ok(_) => Ok(()),
            Err(error) => Err(Failure {
                namespace: namespace.clone(),
                error,
            }),
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
pub(super) fn is_gone(error: &kube::Error) -> bool {
    has_code(error, 404)
}

/// Whether it is there already, or is another than was seen.
pub(super) fn is_conflict(error: &kube::Error) -> bool {
    has_code(error, 409)
}

fn has_code(error: &kube::Error, code: u16) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == code)
}

/// Waits for one call through the tunnel, a bounded time.
pub(crate) async fn call<T>(
    what: String,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, ApplyError> {
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => {
            let source = Box::new(told(source));
            Err(if has_code(&source, 403) {
                ApplyError::NotAllowed { what, source }
            } else {
                ApplyError::Refused { what, source }
            })
        }
        Err(_) => Err(ApplyError::TimedOut { what }),
    }
}
