//! Deploys, observes and removes one bundle deployment.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use drover_api::client_error::ClientError;
use drover_api::fleet::labels::{BUNDLE_NAME, COMMIT};
use drover_api::fleet::{BundleDeployment, BundleDeploymentStatus, BundleRef};
use drover_api::ids::ClusterUid;
use drover_deploy::deployment::{DeployError, Deployer, Input, Report, status};
use drover_deploy::object::Object;
use drover_deploy::watch::{KindName, Kinds};
use drover_gitops::states::{set_condition, state_of};
use drover_gitops::targeting::Selector;
use drover_reconcile::{Action, Attempt, Reconciler, error_chain};
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::charts::{HelmOpChartError, HelmOpCharts, PERMANENT_PAUSE};
use super::content::{ContentReadError, Contents, Files, call};
use super::deployments::Deployments;
use super::windows::Windows;

/// Interval of observations without a change of an object.
const OBSERVED_AGAIN: Duration = Duration::from_mins(15);
/// Interval of observations while objects are not ready, because some states change without an event.
const NOT_READY: Duration = Duration::from_secs(10);
/// Interval of the checks of other bundles that must be ready first.
const DEPENDENCY: Duration = Duration::from_secs(5);

/// The reason why a bundle deployment is not in its desired state.
#[derive(Debug, Error)]
pub(super) enum BundleDeploymentError {
    #[error(transparent)]
    Content(#[from] ContentReadError),
    #[error(transparent)]
    Chart(#[from] HelmOpChartError),
    #[error(transparent)]
    Deploy(#[from] DeployError),
    #[error("cannot write the status on the hub")]
    Status(#[source] ClientError),
}

/// The status after a deployment, and the state of the objects if they equal the release.
type Deployed = (BundleDeploymentStatus, Option<Report>);

/// The reconciler of bundle deployments. The key is the name.
pub(super) struct Reconcile {
    pub(super) deployer: Arc<Deployer>,
    pub(super) deployments: Arc<Deployments>,
    pub(super) contents: Contents,
    pub(super) charts: HelmOpCharts,
    pub(super) hub: Client,
    /// Namespace of the bundle deployments on the hub.
    pub(super) namespace: String,
    /// UID of the Cluster on the hub.
    pub(super) cluster: ClusterUid,
    pub(super) kinds: Arc<Kinds>,
    pub(super) windows: Arc<Windows>,
}

impl Reconciler for Reconcile {
    type Key = String;
    type Error = BundleDeploymentError;

    async fn reconcile(&self, name: &String, _: &Attempt) -> Result<Action, BundleDeploymentError> {
        if let Some(deployment) = self.deployments.get(name) {
            return Box::pin(self.deploy_and_observe(name, &deployment)).await;
        }
        if let Some(removed) = self.deployments.removed(name) {
            let removing = self
                .deployer
                .remove(name, &removed.options, &removed.release);
            Box::pin(removing).await?;
            self.deployments.forget(name);
            self.set_kinds(name, BTreeSet::new()).await;
        }
        Ok(Action::await_change())
    }
}

impl Reconcile {
    async fn deploy_and_observe(
        &self,
        name: &str,
        deployment: &BundleDeployment,
    ) -> Result<Action, BundleDeploymentError> {
        let spec = &deployment.spec;
        let before = deployment.status.clone().unwrap_or_default();
        let is_waiting = spec.paused || spec.off_schedule || spec.waiting_for_values;
        let is_pending =
            !spec.deployment_id.is_empty() && !is_waiting && must_deploy(deployment, &before);
        let mut after = before.clone();
        let mut deployed_now = None;
        let is_open = self.windows.is_open();
        // The files are on the hub.
        if is_pending && is_open {
            if let Some(missing) = self.missing_dependencies(deployment) {
                set_condition(
                    &mut after.conditions,
                    "Deployed",
                    "False",
                    "WaitingForDependency",
                    &missing,
                    &now(),
                );
                self.write(name, deployment, &before, after).await?;
                return Ok(Action::requeue(DEPENDENCY));
            }
            let deployed = Box::pin(self.deploy(name, deployment, before.clone())).await;
            match deployed {
                Ok((status, report)) => (after, deployed_now) = (status, report),
                Err((status, error)) => {
                    self.write(name, deployment, &before, status).await?;
                    if matches!(&error, BundleDeploymentError::Chart(it) if it.is_permanent()) {
                        return Ok(Action::requeue_about(PERMANENT_PAUSE));
                    }
                    return Err(error);
                }
            }
        }
        if after.release.is_empty() || status::has_failed(&after) {
            self.write(name, deployment, &before, after).await?;
            return Ok(Action::await_change());
        }
        // A paused deployment and a closed window also stop corrections. The options of a pending deployment
        // do not belong to the present release.
        let observed = if let Some(report) = deployed_now {
            Ok(report)
        } else if is_waiting || is_pending && !is_open {
            Box::pin(self.deployer.observe(name, spec, &after.release)).await
        } else {
            Box::pin(self.deployer.correct(name, spec, &after.release)).await
        };
        after = match &observed {
            Ok(report) => {
                let versions = report.versions.clone();
                self.deployments.set_versions(name, versions);
                status::observed(after, report, &now())
            }
            Err(error) => status::unobserved(after, error, &now()),
        };
        self.watch(name, &after).await;
        let pause = if after.ready {
            OBSERVED_AGAIN
        } else {
            NOT_READY
        };
        self.write(name, deployment, &before, after).await?;
        observed?;
        Ok(Action::requeue(pause))
    }

    /// Deploys, and returns the new status, and the state of the objects if they equal the release. An error
    /// that another attempt can solve is also returned.
    async fn deploy(
        &self,
        name: &str,
        deployment: &BundleDeployment,
        before: BundleDeploymentStatus,
    ) -> Result<Deployed, (BundleDeploymentStatus, BundleDeploymentError)> {
        let spec = &deployment.spec;
        let (files, values, copies) = match self.read(deployment).await {
            Ok(read) => read,
            Err(error) => {
                let mut status = before;
                let (conditions, message) = (&mut status.conditions, error_chain(&error));
                set_condition(conditions, "Deployed", "False", "Error", &message, &now());
                return Err((status, error));
            }
        };
        let commit = deployment.labels().get(COMMIT).map_or("", String::as_str);
        let input = Input {
            name,
            spec,
            resources: &files,
            cluster: self.cluster.as_str(),
            commit,
            values: values.as_ref(),
            copies: &copies,
        };
        let deployed = async {
            let outcome = self.deployer.deploy(&input).await?;
            let replaced =
                self.deployer
                    .remove_replaced(name, &spec.options, &before.release, &outcome);
            replaced.await?;
            Ok::<_, DeployError>(outcome)
        };
        match Box::pin(deployed).await {
            Ok(outcome) => {
                let report = self.deployer.report_of(spec, &outcome);
                Ok((
                    status::deployed(before, spec, &outcome.release, &now()),
                    report,
                ))
            }
            Err(error) => {
                let is_permanent = error.is_permanent();
                let status = status::failed(before, spec, &error, &now());
                if is_permanent {
                    Ok((status, None))
                } else {
                    Err((status, error.into()))
                }
            }
        }
    }

    /// Reads the files, the Helm values and the copies of a bundle deployment.
    async fn read(
        &self,
        deployment: &BundleDeployment,
    ) -> Result<(Files, Option<Map<String, Value>>, Vec<Object>), BundleDeploymentError> {
        // A HelmOp has a chart instead of a Content.
        let files = match &deployment.spec.helm_chart_options {
            Some(options) => Box::pin(self.charts.files(deployment, options)).await?,
            None => self.contents.files(deployment).await?,
        };
        let values = self.contents.values(deployment).await?;
        let copies = self.contents.copies(deployment).await?;
        Ok((files, values, copies))
    }

    /// Returns the bundles that must be ready first and are not.
    fn missing_dependencies(&self, deployment: &BundleDeployment) -> Option<String> {
        let all = self.deployments.all();
        let missing: Vec<String> = deployment
            .spec
            .depends_on
            .iter()
            .filter_map(|dependency| missing(dependency, &all))
            .collect();
        (!missing.is_empty())
            .then(|| format!("dependent bundles are not ready: {}", missing.join(", ")))
    }

    async fn watch(&self, name: &str, status: &BundleDeploymentStatus) {
        let kinds = status.resources.iter();
        let kinds = kinds.map(|object| (object.api_version.clone(), object.kind.clone()));
        self.set_kinds(name, kinds.collect()).await;
    }

    async fn set_kinds(&self, name: &str, kinds: BTreeSet<KindName>) {
        let all = self.deployments.set_kinds(name, kinds);
        if let Err(error) = self.kinds.set(&all).await {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "cannot watch the deployed objects; the agent observes them regularly"
            );
        }
    }

    /// Writes a changed status to the hub.
    async fn write(
        &self,
        name: &str,
        deployment: &BundleDeployment,
        before: &BundleDeploymentStatus,
        mut after: BundleDeploymentStatus,
    ) -> Result<(), BundleDeploymentError> {
        let mut current = deployment.clone();
        current.status = Some(after.clone());
        let state = state_of(&current, &deployment.spec.deployment_id);
        state.name().clone_into(&mut after.display.state);
        after.display.deployed = condition(&after, "Deployed");
        after.display.monitored = condition(&after, "Monitored");
        if after == *before {
            return Ok(());
        }
        if !self.windows.is_open() {
            // The list of the next window restores the status on the hub, which the agent then replaces.
            current.status = Some(after);
            self.deployments.set_written(current);
            return Ok(());
        }
        let api = Api::<BundleDeployment>::namespaced(self.hub.clone(), &self.namespace);
        // A merge would keep omitted fields.
        let operations = json!([{ "op": "add", "path": "/status", "value": after }]);
        let operations =
            serde_json::from_value(operations).expect("the operations are constant JSON");
        let patch: Patch<()> = Patch::Json(operations);
        let params = PatchParams::default();
        let patched = api.patch_status(name, &params, &patch);
        match call(format!("the status of {name}"), patched).await {
            Ok(written) => {
                self.deployments.set_written(written);
                Ok(())
            }
            Err(ContentReadError::Hub { source, .. }) if is_gone(&source) => Ok(()),
            Err(ContentReadError::Hub { source, .. }) => Err(BundleDeploymentError::Status(source)),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_gone(error: &ClientError) -> bool {
    matches!(&**error, kube::Error::Api(status) if status.code == 404)
}

/// Reports whether the cluster does not have the desired deployment.
fn must_deploy(deployment: &BundleDeployment, status: &BundleDeploymentStatus) -> bool {
    let spec = &deployment.spec;
    let forced = spec.options.force_sync_generation;
    status.applied_deployment_id != spec.deployment_id
        || forced != status.sync_generation.unwrap_or_default()
        || spec.downstream_resources_generation != status.downstream_resources_generation
}

/// Returns the name of a dependency that no bundle deployment satisfies, or of a bundle deployment that is
/// not in an accepted state.
fn missing(dependency: &BundleRef, all: &[Arc<BundleDeployment>]) -> Option<String> {
    let selector = dependency
        .selector
        .as_ref()
        .and_then(|selector| Selector::new(selector).ok());
    let matches = |deployment: &&Arc<BundleDeployment>| {
        let labels = deployment.labels();
        let has_name =
            dependency.name.is_empty() || labels.get(BUNDLE_NAME) == Some(&dependency.name);
        let is_selected = selector
            .as_ref()
            .is_none_or(|selector| selector.matches(labels));
        has_name && is_selected
    };
    let is_accepted = |deployment: &Arc<BundleDeployment>| {
        let state = state_of(deployment, &deployment.spec.deployment_id);
        if dependency.accepted_states.is_empty() {
            return state.name() == "Ready";
        }
        dependency
            .accepted_states
            .iter()
            .any(|accepted| accepted == state.name())
    };
    let mut found = all.iter().filter(matches).peekable();
    if found.peek().is_none() {
        let name = if dependency.name.is_empty() {
            "no bundle with the labels"
        } else {
            &dependency.name
        };
        return Some(name.to_owned());
    }
    found
        .find(|deployment| !is_accepted(deployment))
        .map(|deployment| deployment.name_any())
}

fn condition(status: &BundleDeploymentStatus, name: &str) -> String {
    let found = status
        .conditions
        .iter()
        .find(|condition| condition.type_ == name);
    found.map_or_else(String::new, |condition| {
        let is_shown = condition.message.is_empty();
        let text = if is_shown {
            &condition.status
        } else {
            &condition.message
        };
        text.clone()
    })
}

fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
