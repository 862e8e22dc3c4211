//! Drover's objects in a cluster: listed by a label, compared with the wanted objects, and written
//! where they differ.
//!
//! *Owns* the calls, their limits and their errors. *Never* decides which objects are wanted.

pub mod differ;
mod limits;
pub mod rbac;
pub mod unmanaged;

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::time::Duration;

use drover_api::client_error::{ClientError, told};
use futures::future::join_all;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use self::differ::{Comparable, Difference};

/// Most time for one call through the tunnel.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Objects a page when listing.
pub const PAGE: u32 = 500;
/// Writes in one cluster at a time.
pub const AT_ONCE: usize = 8;
/// Objects a page at least: so many fit into an answer, however large each is.
const SMALLEST_PAGE: u32 = 4;
/// Objects of one kind that are looked at; whoever may label objects in the cluster can make more.
pub const MOST: usize = 20_000;

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
        source: ClientError,
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
        source: ClientError,
    },
    /// No answer came.
    #[error("could not {what}: no answer within {} s", TIMEOUT.as_secs())]
    TimedOut {
        /// Completes "could not …".
        what: String,
    },
    /// So many objects carry Drover's label that not all were looked at.
    #[error(
        "more than {MOST} objects of the kind {kind} carry Drover's label; those that were seen and are not wanted are being deleted"
    )]
    TooMany {
        /// Their kind.
        kind: String,
    },
    /// There are more than are ever looked at.
    #[error("could not {what}: there are more than {MOST}")]
    Endless {
        /// Completes "could not …".
        what: String,
    },
    /// Something waits for a finalizer that somebody else has set.
    #[error("could not {what}: it waits for a finalizer that somebody has set there")]
    Waits {
        /// Completes "could not …".
        what: String,
    },
    /// It took too long, with everything in it.
    #[error("it was not done within {} s, and is gone on with", .0.as_secs())]
    TooLong(Duration),
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
pub struct Failure {
    /// Its namespace; empty for the whole cluster.
    pub namespace: String,
    /// What failed.
    pub error: ApplyError,
}

impl Failure {
    fn everywhere(error: ApplyError) -> Self {
        Self {
            namespace: String::new(),
            error,
        }
    }
}

/// What failed, as one.
pub fn all(failures: impl IntoIterator<Item = ApplyError>) -> Result<(), ApplyError> {
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

/// Those of one kind that are there.
pub struct Present<K> {
    /// As far as they were looked at.
    pub objects: Vec<K>,
    /// Whether that is all of them.
    pub whole: bool,
}

/// Objects of one kind that carry a label.
pub struct Objects<K> {
    client: Client,
    label: String,
    everywhere: Api<K>,
    place: fn(Client, &str) -> Api<K>,
    /// Whether nobody else has a reason to use the names.
    own_names: bool,
}

impl<K> Objects<K> {
    /// What has one of the wanted names is Drover's, labelled or not: the names come from UIDs.
    pub fn with_own_names(self) -> Self {
        Self {
            own_names: true,
            ..self
        }
    }
}

impl<K: Resource<DynamicType = (), Scope = ClusterResourceScope>> Objects<K> {
    /// Objects of the whole cluster with this label.
    pub fn all(client: &Client, label: &str) -> Self {
        Self {
            client: client.clone(),
            label: label.to_owned(),
            everywhere: Api::all(client.clone()),
            place: |client, _| Api::all(client),
            own_names: false,
        }
    }
}

impl<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>> Objects<K> {
    /// Objects of all namespaces with this label.
    pub fn within(client: &Client, label: &str) -> Self {
        Self {
            client: client.clone(),
            label: label.to_owned(),
            everywhere: Api::all(client.clone()),
            place: |client, namespace| Api::namespaced(client, namespace),
            own_names: false,
        }
    }
}

impl<K> Objects<K>
where
    K: Comparable + Resource<DynamicType = ()> + Serialize + DeserializeOwned + Debug,
{
    /// Those that are there; `None` if they could not be listed.
    pub async fn present(&self, failures: &mut Vec<Failure>) -> Option<Present<K>> {
        let listed = self.list().await;
        listed
            .map_err(|error| failures.push(Failure::everywhere(error)))
            .ok()
    }

    /// Those that carry the label.
    pub async fn list(&self) -> Result<Present<K>, ApplyError> {
        let (mut found, mut whole) = (Vec::new(), true);
        let take = |page: Vec<K>, more: bool| {
            found.extend(page);
            if more && found.len() >= MOST {
                whole = false;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        self.pages(take).await?;
        Ok(Present {
            objects: found,
            whole,
        })
    }

    /// Gives each page to `take` as it comes, with whether there are more, until that breaks off.
    pub async fn pages(
        &self,
        mut take: impl FnMut(Vec<K>, bool) -> ControlFlow<()>,
    ) -> Result<(), ApplyError> {
        let what = || format!("list every {} that Drover keeps", K::kind(&()));
        let mut params = ListParams::default().labels(&self.label).limit(PAGE);
        loop {
            let page = match call(what(), self.everywhere.list(&params)).await {
                Ok(page) => page,
                // An answer is read up to a bound, and objects may be large.
                Err(ApplyError::Refused { source, .. }) if is_unread(&source) => {
                    let limit = params.limit.unwrap_or(PAGE);
                    if limit <= SMALLEST_PAGE {
                        return Err(ApplyError::Refused {
                            what: what(),
                            source,
                        });
                    }
                    params.limit = Some((limit / 4).max(SMALLEST_PAGE));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let next = page.metadata.continue_.filter(|token| !token.is_empty());
            let goes_on = take(page.items, next.is_some()).is_continue();
            match next.filter(|_| goes_on) {
                None => return Ok(()),
                Some(token) => params = params.continue_token(&token),
            }
        }
    }

    /// Deletes what is not wanted, and what has to be made anew.
    pub async fn take(&self, difference: &Difference<K>, failures: &mut Vec<Failure>) {
        for objects in [&difference.delete, &difference.make_anew] {
            for together in objects.chunks(AT_ONCE) {
                let deleted = together.iter().map(|object| self.delete(object));
                let deleted = join_all(deleted.collect::<Vec<_>>()).await;
                failures.extend(deleted.into_iter().filter_map(Result::err));
            }
        }
    }

    /// Puts right what is there otherwise, and makes what is not there.
    pub async fn write(&self, difference: &Difference<K>, failures: &mut Vec<Failure>) {
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
        if there {
            return self.replace_in(namespace, object).await;
        }
        match self.create_in(namespace, object).await {
            Err(ApplyError::Refused { source, .. }) if is_conflict(&source) => {
                self.put_in_place(namespace, object).await
            }
            made => made,
        }
    }

    /// Makes one whose name is in use already, perhaps by what can never become it.
    async fn put_in_place(&self, namespace: &str, object: &K) -> Result<(), ApplyError> {
        if !self.own_names {
            let what = what("make", namespace, object);
            return Err(ApplyError::Taken { what });
        }
        match self.replace_in(namespace, object).await {
            Err(ApplyError::Refused { source, .. }) if has_code(&source, 422) => {
                self.delete_in(namespace, object).await?;
                self.create_in(namespace, object).await
            }
            replaced => replaced,
        }
    }

    async fn create_in(&self, namespace: &str, object: &K) -> Result<(), ApplyError> {
        let api = (self.place)(self.client.clone(), namespace);
        let params = PostParams::default();
        let creating = api.create(&params, object);
        call(what("make", namespace, object), creating)
            .await
            .map(drop)
    }

    /// Replaced, not patched: what somebody else has added to it is to go.
    async fn replace_in(&self, namespace: &str, object: &K) -> Result<(), ApplyError> {
        let (api, name) = (
            (self.place)(self.client.clone(), namespace),
            object.name_any(),
        );
        let params = PostParams::default();
        let replacing = api.replace(&name, &params, object);
        call(what("put right", namespace, object), replacing)
            .await
            .map(drop)
    }

    async fn delete(&self, object: &K) -> Result<(), Failure> {
        let namespace = object.namespace().unwrap_or_default();
        let deleted = self.delete_in(&namespace, object).await;
        deleted.map_err(|error| Failure { namespace, error })
    }

    /// What waits for a finalizer allows what it allowed, so finalizers go first.
    async fn delete_in(&self, namespace: &str, object: &K) -> Result<(), ApplyError> {
        let name = object.name_any();
        let api = (self.place)(self.client.clone(), namespace);
        let what = what("delete", namespace, object);
        if !object.finalizers().is_empty() {
            let mut free = object.clone();
            free.finalizers_mut().clear();
            free.meta_mut().resource_version = None;
            let params = PostParams::default();
            let freed = call(what.clone(), api.replace(&name, &params, &free)).await;
            unless_gone(freed)?;
        }
        let params = DeleteParams::default();
        let deleted = call(what.clone(), api.delete(&name, &params)).await;
        // What is gone at once is answered with a Status.
        match deleted.map(|answer| answer.map_right(drop).left()) {
            Ok(Some(left)) if !left.finalizers().is_empty() => Err(ApplyError::Waits { what }),
            left => unless_gone(left),
        }
    }
}

impl<K: Resource<DynamicType = ()>> Present<K> {
    /// What there is to be said if these are not all.
    pub fn too_many(&self) -> Option<Failure> {
        let kind = || K::kind(&()).into_owned();
        let error = || ApplyError::TooMany { kind: kind() };
        (!self.whole).then(|| Failure::everywhere(error()))
    }
}

/// What somebody else has taken away already needs nothing more.
pub fn unless_gone<T>(done: Result<T, ApplyError>) -> Result<(), ApplyError> {
    match done {
        Err(ApplyError::Refused { source, .. }) if is_gone(&source) => Ok(()),
        done => done.map(drop),
    }
}

/// Whether an answer came and could not be read.
fn is_unread(error: &kube::Error) -> bool {
    !matches!(error, kube::Error::Api(_))
}

/// Completes "could not …": what is done to an object.
fn what<K: Resource<DynamicType = ()>>(verb: &str, namespace: &str, object: &K) -> String {
    let (kind, name) = (K::kind(&()), object.name_any());
    if namespace.is_empty() {
        format!("{verb} {kind} {name}")
    } else {
        format!("{verb} {kind} {name} in the namespace {namespace}")
    }
}

/// Whether what was asked for is not there.
pub fn is_gone(error: &kube::Error) -> bool {
    has_code(error, 404)
}

/// Whether it is there already, or is another than was seen.
pub fn is_conflict(error: &kube::Error) -> bool {
    has_code(error, 409)
}

fn has_code(error: &kube::Error, code: u16) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == code)
}

/// Waits for one call through the tunnel, a bounded time.
pub async fn call<T>(
    what: String,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, ApplyError> {
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => {
            let source = ClientError::from(told(source));
            Err(if has_code(&source, 403) {
                ApplyError::NotAllowed { what, source }
            } else {
                ApplyError::Refused { what, source }
            })
        }
        Err(_) => Err(ApplyError::TimedOut { what }),
    }
}
