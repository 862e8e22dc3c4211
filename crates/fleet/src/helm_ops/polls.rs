//! Polls Helm repositories and registries for the versions of HelmOps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::HelmOp;
use drover_charts::{Access, ChartRequest, Charts, EntryError, Selection, address};
use drover_gitops::helm_op::{ChartRange, ranges};
use drover_hub::{HubError, call};
use drover_reconcile::{Action, Attempt, Reconciler, Trigger, error_chain};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};
use thiserror::Error;

use super::versions::{Cause, Found, Poll, Versions};
use super::{connect_specs, unpinned};
use crate::bundles::{CopyError, check_type};
use crate::limits::concurrency::ConcurrencyLimits;
use crate::mirror::Key;
use crate::world::World;

/// The reason why a poll has no credential.
#[derive(Debug, Error)]
enum PollError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error("spec.helmSecretName: the Secret {0} does not exist in the namespace of the HelmOp")]
    NoSecret(String),
    #[error("spec.helmSecretName: cannot use the Secret {name}")]
    Entry { name: String, source: EntryError },
    #[error("spec.helmSecretName: cannot use the Secret")]
    Type(#[from] CopyError),
}

/// The controller that polls. The key is the namespace and name of a HelmOp.
pub(crate) struct HelmOpPolls {
    pub(crate) client: Client,
    pub(crate) charts: Arc<Charts>,
    pub(crate) world: World,
    pub(crate) versions: Arc<Versions>,
    /// The controller that writes the bundles.
    pub(crate) helm_ops: Trigger<Key>,
    pub(crate) limits: ConcurrencyLimits,
}

impl HelmOpPolls {
    /// Enqueues HelmOps after each change that can change their versions.
    pub(crate) fn connect(world: &World, trigger: &Trigger<Key>) {
        connect_specs(world, trigger);
    }

    /// Returns the cause of a poll, or `None` if the HelmOp needs no poll.
    fn cause(&self, key: &Key) -> Option<(Arc<HelmOp>, Cause)> {
        let helm_op = self.world.helm_ops.get(key)?;
        let (bundle, resolved) = unpinned(&self.world, key, &helm_op).ok()?;
        let cause = Cause {
            uid: helm_op.uid().unwrap_or_default(),
            generation: helm_op.metadata.generation.unwrap_or_default(),
            secret: resolved.secret_name,
            ranges: ranges(&bundle),
        };
        let is_deleted = helm_op.metadata.deletion_timestamp.is_some();
        (!cause.ranges.is_empty() && !is_deleted).then_some((helm_op, cause))
    }

    /// Finds the versions of all ranges. A failure affects only its range.
    async fn find(&self, key: &Key, helm_op: &HelmOp, cause: &Cause) -> Found {
        let mut access = match self.access(key, &cause.secret).await {
            Ok(access) => access,
            Err(error) => return (BTreeMap::new(), Some(error_chain(&error))),
        };
        // As in Fleet, the Secret does not disable the verification of certificates.
        access.insecure_skip_tls_verify = helm_op.spec.insecure_skip_tls_verify;
        newest(&self.charts, &key.namespace, &access, &cause.ranges).await
    }

    async fn access(&self, key: &Key, name: &str) -> Result<Access, PollError> {
        if name.is_empty() {
            return Ok(Access::default());
        }
        let secrets = Api::<Secret>::namespaced(self.client.clone(), &key.namespace);
        let secret = call("read the credential of a HelmOp", secrets.get_opt(name)).await?;
        let secret = secret.ok_or_else(|| PollError::NoSecret(name.to_owned()))?;
        check_type(name, secret.type_.as_deref())?;
        let data = secret.data.unwrap_or_default();
        let access = Access::default().with_secret(|entry| data.get(entry).map(|bytes| &*bytes.0));
        access.map_err(|source| PollError::Entry {
            name: name.to_owned(),
            source,
        })
    }
}

impl Reconciler for HelmOpPolls {
    type Key = Key;
    type Error = HubError;

    async fn reconcile(&self, key: &Key, _: &Attempt) -> Result<Action, HubError> {
        let Some(_permit) = self.limits.start(key) else {
            return Ok(Action::await_change());
        };
        let Some((helm_op, cause)) = self.cause(key) else {
            if self.versions.forget(key) {
                self.helm_ops.enqueue(key.clone());
            }
            return Ok(Action::await_change());
        };
        let last = self.versions.get(key);
        let next = match last {
            Some(last) if last.is_for(&cause) && is_early(last.next(&helm_op)) => {
                last.next(&helm_op)
            }
            last => {
                let found = Box::pin(self.find(key, &helm_op, &cause)).await;
                let poll = Poll::after(last, cause, found, Timestamp::now());
                let next = poll.next(&helm_op);
                self.versions.set(key, poll);
                self.helm_ops.enqueue(key.clone());
                next
            }
        };
        Ok(next.map_or_else(Action::await_change, |next| {
            let left = Duration::try_from(next.duration_since(Timestamp::now()));
            Action::requeue(left.unwrap_or_default())
        }))
    }
}

/// Finds the newest versions of ranges. The index of a repository is read once for all its charts.
async fn newest(
    charts: &Charts,
    namespace: &str,
    access: &Access,
    ranges: &BTreeSet<ChartRange>,
) -> Found {
    let mut repos: BTreeMap<String, Vec<(&ChartRange, String)>> = BTreeMap::new();
    let (mut found, mut failure) = (BTreeMap::new(), None);
    for range in ranges {
        match address(&range.repo, &range.chart) {
            Ok((repo, chart)) => repos.entry(repo).or_default().push((range, chart)),
            Err(error) => failure = Some(error_chain(&error)),
        }
    }
    for (repo, ranges) in repos {
        let versions = Box::pin(versions(charts, namespace, access, &repo, &ranges)).await;
        for ((range, _), version) in ranges.into_iter().zip(versions) {
            match version {
                Ok(version) => {
                    found.insert(range.clone(), version);
                }
                Err(error) => failure = Some(error),
            }
        }
    }
    (found, failure)
}

/// Returns the newest versions of the charts of a repository, or of registries if `repo` is empty.
async fn versions(
    charts: &Charts,
    namespace: &str,
    access: &Access,
    repo: &str,
    ranges: &[(&ChartRange, String)],
) -> Vec<Result<String, String>> {
    let mut request = ChartRequest {
        repo: repo.to_owned(),
        access: access.clone(),
        group: namespace.to_owned(),
        ..ChartRequest::default()
    };
    if !repo.is_empty() {
        let selections = ranges.iter().map(|(range, chart)| Selection {
            chart: chart.clone(),
            version: range.version.clone(),
        });
        let selections: Vec<Selection> = selections.collect();
        return match Box::pin(charts.newest_versions(&request, &selections)).await {
            Ok(found) => {
                let found = found.into_iter();
                found
                    .map(|it| it.map_err(|error| error_chain(&error)))
                    .collect()
            }
            Err(error) => vec![Err(error_chain(&error)); ranges.len()],
        };
    }
    let mut found = Vec::new();
    for (range, chart) in ranges {
        request.chart.clone_from(chart);
        request.version.clone_from(&range.version);
        let version = Box::pin(charts.newest_version(&request)).await;
        found.push(version.map_err(|error| error_chain(&error)));
    }
    found
}

/// Reports whether the time of the next poll is in the future, or there is no next poll.
fn is_early(next: Option<Timestamp>) -> bool {
    next.is_none_or(|next| next > Timestamp::now())
}
