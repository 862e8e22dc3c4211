//! Applies a plan to the namespaces of a cluster: labels, creations, quotas and limits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use drover_api::group::PROJECT_LABEL;
use drover_api::kinds::Project;
use drover_apply::compare::Comparable;
use drover_apply::diff::diff;
use drover_apply::error::{ApplyError, Failure, call, combine, is_conflict, is_gone};
use drover_apply::inventory::MAX_OBJECTS;
use drover_apply::objects::{CONCURRENCY, Objects, PAGE_SIZE};
use drover_apply::owner::Owner;
use futures::future::join_all;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{LimitRange, Namespace, ResourceQuota};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::decide::{Decision, Decisions, Namespaces, uid};
use super::limits;
use crate::managed::Secrets;

/// The result of applying a plan to the namespaces of a cluster.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Maps the UID of each project to the namespaces that the project owns after the plan is
    /// applied. The inner map contains the UID of each namespace by name.
    pub(super) own: BTreeMap<String, BTreeMap<String, String>>,
    /// The failed operations.
    pub(super) failures: Vec<Failure>,
}

/// A namespace to create.
struct PendingCreation<'a> {
    project: &'a Project,
    name: &'a str,
    secret: &'a str,
}

/// Reads all namespaces of the cluster, or only the namespaces with Drover's label.
pub(super) async fn observe(client: &Client, everything: bool) -> Result<Namespaces, ApplyError> {
    let api: Api<Namespace> = Api::all(client.clone());
    let mut params = ListParams::default().limit(PAGE_SIZE);
    if !everything {
        params = params.labels(PROJECT_LABEL);
    }
    let mut found = Namespaces::new();
    loop {
        let listing = api.list_metadata(&params);
        let page = call("list namespaces".to_owned(), listing).await?;
        let named = page
            .items
            .into_iter()
            .map(|it| (it.name_any(), it.metadata));
        found.extend(named);
        if found.len() > MAX_OBJECTS {
            return Err(ApplyError::ListTooLong {
                operation: "list namespaces".to_owned(),
            });
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            None => return Ok(found),
            Some(token) => params = params.continue_token(&token),
        }
    }
}

/// Applies the plan to the cluster. A failure does not prevent the other changes.
pub(super) async fn apply(
    client: &Client,
    projects: &[Arc<Project>],
    decisions: &Decisions,
    found: &Namespaces,
    secrets: &Secrets,
) -> Outcome {
    let mut outcome = Outcome::default();
    let owners = owners(projects, decisions);
    apply_labels(client, decisions, found, &owners, &mut outcome).await;
    create_namespaces(client, projects, decisions, secrets, &mut outcome).await;
    let mut desired = ProjectLimits::default();
    for project in projects {
        let Some(decision) = decisions.get(&uid(project)) else {
            continue;
        };
        let own = outcome.own.get(&uid(project)).into_iter().flatten();
        for (namespace, _) in own {
            if decision.has_valid_limits() {
                desired.quotas.extend(limits::quota(project, namespace));
                desired.limits.extend(limits::limits(project, namespace));
            } else {
                desired.unchanged.insert(namespace.clone());
            }
        }
    }
    desired.apply(client, &mut outcome.failures).await;
    outcome
}

/// Removes the labels, quotas and limits of all projects from a cluster. The namespaces stay.
///
/// If the cluster's account has no permission to list namespaces, the cluster has none of these
/// objects.
pub(crate) async fn clean(client: &Client) -> Result<(), ApplyError> {
    let found = match observe(client, false).await {
        Err(ApplyError::Forbidden { .. }) => return Ok(()),
        found => found?,
    };
    let outcome = apply(client, &[], &Decisions::new(), &found, &Secrets::new()).await;
    combine(outcome.failures.into_iter().map(|failure| failure.error))
}

/// Returns the project that owns each namespace according to the plan.
fn owners<'a>(
    projects: &'a [Arc<Project>],
    decisions: &'a Decisions,
) -> BTreeMap<&'a str, &'a Project> {
    let mut owners = BTreeMap::new();
    for project in projects {
        let decision = decisions.get(&uid(project)).into_iter();
        let own = decision.flat_map(Decision::own);
        owners.extend(own.map(|(name, _)| (name.as_str(), &**project)));
    }
    owners
}

/// Sets the labels of owned namespaces, and removes the labels from all other namespaces.
async fn apply_labels(
    client: &Client,
    decisions: &Decisions,
    found: &Namespaces,
    owners: &BTreeMap<&str, &Project>,
    outcome: &mut Outcome,
) {
    let there = found
        .iter()
        .filter(|(_, there)| there.deletion_timestamp.is_none());
    let due: Vec<(&String, Value)> = there
        .filter_map(|(name, there)| {
            let patch = limits::patch(there, owners.get(name.as_str()).copied())?;
            Some((name, patch))
        })
        .collect();
    let mut failed = BTreeSet::new();
    for together in due.chunks(CONCURRENCY) {
        let patched = together
            .iter()
            .map(|(name, patch)| label(client, name, patch));
        for failure in join_all(patched).await.into_iter().filter_map(Result::err) {
            failed.insert(failure.namespace.clone());
            outcome.failures.push(failure);
        }
    }
    for (project, decision) in decisions {
        let labelled = decision.own().filter(|(name, _)| {
            // An owned namespace stays owned even if labelling it failed.
            decision.retained.contains_key(*name) || !failed.contains(*name)
        });
        let labelled = labelled.map(|(name, uid)| (name.clone(), uid.clone()));
        outcome.own.insert(project.clone(), labelled.collect());
    }
}

async fn label(client: &Client, name: &str, patch: &Value) -> Result<(), Failure> {
    let api: Api<Namespace> = Api::all(client.clone());
    let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
    let patched = api.patch_metadata(name, &params, &patch);
    match call(format!("label namespace {name}"), patched).await {
        Err(ApplyError::Call { source, .. }) if is_gone(&source) => Ok(()),
        Ok(_) => Ok(()),
        Err(error) => Err(Failure {
            namespace: name.to_owned(),
            error,
        }),
    }
}

/// Creates the namespaces in the `to_create` lists of the decisions.
async fn create_namespaces(
    client: &Client,
    projects: &[Arc<Project>],
    decisions: &Decisions,
    secrets: &Secrets,
    outcome: &mut Outcome,
) {
    let mut due = Vec::new();
    for project in projects {
        let to_create = decisions.get(&uid(project)).into_iter();
        for name in to_create.flat_map(|decision| &decision.to_create) {
            if let Some(secret) = secrets.get(&(uid(project), name.clone())) {
                due.push(PendingCreation {
                    project,
                    name,
                    secret,
                });
            }
        }
    }
    for together in due.chunks(CONCURRENCY) {
        let created = together
            .iter()
            .map(|making| making.create_namespaces(client));
        for (making, created) in together.iter().zip(join_all(created).await) {
            match created {
                Ok(created) => {
                    let own = outcome.own.entry(uid(making.project)).or_default();
                    own.insert(making.name.to_owned(), created);
                }
                Err(error) => outcome.failures.push(Failure {
                    namespace: making.name.to_owned(),
                    error,
                }),
            }
        }
    }
}

impl PendingCreation<'_> {
    async fn create_namespaces(&self, client: &Client) -> Result<String, ApplyError> {
        let operation = || format!("create namespace {}", self.name);
        let namespace = Namespace {
            metadata: limits::namespace(self.project, self.name, self.secret),
            ..Namespace::default()
        };
        let (api, params): (Api<Namespace>, _) = (Api::all(client.clone()), PostParams::default());
        match call(operation(), api.create(&params, &namespace)).await {
            Ok(created) => Ok(created.uid().unwrap_or_default()),
            Err(ApplyError::Call { source, .. }) if is_conflict(&source) => {
                Err(ApplyError::NameTaken {
                    operation: operation(),
                })
            }
            Err(error) => Err(error),
        }
    }
}

/// Quotas and limits of all projects in a cluster.
#[derive(Default)]
struct ProjectLimits {
    quotas: Vec<ResourceQuota>,
    limits: Vec<LimitRange>,
    /// Namespaces whose quota and limits the controller does not change.
    unchanged: BTreeSet<String>,
}

impl ProjectLimits {
    async fn apply(&self, client: &Client, failures: &mut Vec<Failure>) {
        self.apply_each(client, &self.quotas, failures).await;
        self.apply_each(client, &self.limits, failures).await;
    }

    async fn apply_each<K>(&self, client: &Client, desired: &[K], failures: &mut Vec<Failure>)
    where
        K: Comparable
            + Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Serialize
            + DeserializeOwned
            + Debug,
    {
        let objects = Objects::<K>::namespaced(client, Owner::label(PROJECT_LABEL));
        let present = match objects.inventory().await {
            Ok(inventory) => inventory.objects,
            // A simulated cluster does not serve the kind; only a write of a desired object fails
            // there.
            Err(ApplyError::Call { source, .. }) if is_gone(&source) => Vec::new(),
            Err(error) => {
                failures.push(Failure {
                    namespace: String::new(),
                    error,
                });
                return;
            }
        };
        let free = present.into_iter().filter(|object| {
            let namespace = object.namespace().unwrap_or_default();
            !self.unchanged.contains(&namespace)
        });
        let diff = diff(&free.collect::<Vec<_>>(), desired);
        failures.extend(objects.prune(&diff).await);
        failures.extend(objects.write(&diff).await);
    }
}
