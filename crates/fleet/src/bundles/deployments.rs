//! Writes the bundle deployments of one bundle.
//!
//! The agent's rights and the Secret with the Helm values exist before a bundle deployment names them.
//! The Secret is deleted before its bundle deployment, so that a crash leaves no Secret.

use drover_api::fleet::labels::{CONTENT_NAME, MANAGED, SECRET_TYPE_DEPLOYMENT_OPTIONS};
use drover_api::fleet::{
    Bundle, BundleDeployment, BundleDeploymentOptions, BundleDeploymentSpec, FleetCluster,
};
use drover_gitops::ids::{DeploymentValues, clear_deployment_values, deployment_values};
use drover_gitops::targeting::{ClusterFacts, deployment_labels};
use drover_hub::{HubError, call};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client, ResourceExt as _};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::copies::{Copies, CopyError, Sources};
use super::is_off_schedule;
use crate::mirror::Key;
use crate::rights::copied::{add_readable, has_copies};
use crate::rights::{Readable, Rights, readable_names, readable_names_without};
use crate::world::World;
use crate::writes::{apply, create, delete, replace_spec};

/// The deployment that a cluster should have.
pub(super) struct Desired<'a> {
    pub(super) bundle: &'a Bundle,
    pub(super) cluster: &'a FleetCluster,
    /// Namespace of the cluster's bundle deployments.
    pub(super) namespace: &'a str,
    /// Name of the Content. Empty for a HelmOp.
    pub(super) content: &'a str,
    pub(super) options: &'a BundleDeploymentOptions,
    pub(super) deployment_id: &'a str,
    /// True to deploy, and false to only stage the deployment.
    pub(super) is_released: bool,
    /// The present bundle deployment.
    pub(super) present: Option<Arc<BundleDeployment>>,
    /// The Secrets and ConfigMaps that the deployment copies.
    pub(super) sources: &'a Sources,
}

/// The result of [`Deployments::write`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// The bundle deployment had the desired state.
    Unchanged,
    Changed,
}

/// The writer of bundle deployments.
#[derive(Clone)]
pub(super) struct Deployments {
    pub(super) client: Client,
    pub(super) rights: Rights,
    pub(super) copies: Copies,
    pub(super) world: World,
}

impl Deployments {
    /// Writes a bundle deployment if it differs from the desired state.
    pub(super) async fn write(&self, desired: &Desired<'_>) -> Result<Written, CopyError> {
        let name = desired.bundle.name_any();
        let labels = labels(desired);
        if let Some(present) = &desired.present
            && has_ids(desired, present)
            && present.spec == spec(desired, present.spec.values_hash.clone())
            && *present.labels() == labels
        {
            return Ok(Written::Unchanged);
        }
        let values = self.values(desired, &name).await?;
        let spec = spec(desired, values.hash.clone());
        let mut readable = Readable::default();
        if !desired.content.is_empty() {
            let contents = self.world.with_parts(desired.content);
            readable.contents.extend(contents);
        }
        if !values.hash.is_empty() {
            readable.secrets.insert(name.clone());
        }
        add_readable(&spec, &mut readable);
        let current = || readable_names(&self.world, desired.namespace);
        self.rights
            .ensure(desired.namespace, &readable, current)
            .await?;
        self.write_values(desired.namespace, &name, &values).await?;
        let before = desired.present.as_ref().map(|it| &it.spec);
        let before = before.filter(|before| has_copies(before));
        let _lock = if has_copies(&spec) || before.is_some() {
            Some(self.copies.lock(desired.namespace).await)
        } else {
            None
        };
        let copies = &self.copies;
        copies
            .write(desired.namespace, &spec, desired.sources)
            .await?;
        let api = Api::namespaced(self.client.clone(), desired.namespace);
        if desired.present.is_none() {
            let created = BundleDeployment {
                metadata: ObjectMeta {
                    name: Some(name.clone()),
                    namespace: Some(desired.namespace.to_owned()),
                    labels: Some(labels.clone()),
                    ..ObjectMeta::default()
                },
                spec: spec.clone(),
                status: None,
            };
            if let Some(created) = create("create a bundle deployment", &api, &created).await? {
                self.world.deployments.observe(created);
                return Ok(Written::Changed);
            }
        }
        let operation = "write a bundle deployment";
        let written = replace_spec(operation, &api, &name, &labels, &spec).await?;
        self.world.deployments.observe(written);
        if let Some(before) = before {
            let (namespace, used) = (desired.namespace, current());
            self.copies.delete(namespace, before, &used).await?;
        }
        Ok(Written::Changed)
    }

    /// Deletes a bundle deployment and its Secret. The agent then deletes the objects in the cluster.
    pub(super) async fn delete(&self, deployment: &BundleDeployment) -> Result<(), HubError> {
        let (namespace, name) = (
            deployment.namespace().unwrap_or_default(),
            deployment.name_any(),
        );
        if !deployment.spec.values_hash.is_empty() {
            let secrets = Api::<Secret>::namespaced(self.client.clone(), &namespace);
            delete("delete the values of a bundle deployment", &secrets, &name).await?;
        }
        if has_copies(&deployment.spec) {
            let _lock = self.copies.lock(&namespace).await;
            let own = Key::new(namespace.clone(), name.clone());
            let others = readable_names_without(&self.world, &namespace, Some(&own));
            let spec = &deployment.spec;
            self.copies.delete(&namespace, spec, &others).await?;
        }
        let api = Api::<BundleDeployment>::namespaced(self.client.clone(), &namespace);
        delete("delete a bundle deployment", &api, &name).await?;
        self.world.deployments.forget(&Key::new(namespace, name));
        Ok(())
    }

    /// Returns the Helm values for the Secret. A deployment that is only staged keeps the current values.
    async fn values(
        &self,
        desired: &Desired<'_>,
        name: &str,
    ) -> Result<DeploymentValues, HubError> {
        let staged = desired.options;
        if desired.is_released {
            return Ok(deployment_values(staged, staged));
        }
        let mut values = deployment_values(&BundleDeploymentOptions::default(), staged);
        let present = desired.present.as_ref();
        if present.is_some_and(|present| !present.spec.values_hash.is_empty()) {
            let secrets = Api::<Secret>::namespaced(self.client.clone(), desired.namespace);
            let secret = call(
                "read the values of a bundle deployment",
                secrets.get_opt(name),
            )
            .await?;
            let current = secret.and_then(|secret| secret.data?.remove("values"));
            values = values.with_current(current.map(|current| current.0).unwrap_or_default());
        }
        Ok(values)
    }

    async fn write_values(
        &self,
        namespace: &str,
        name: &str,
        values: &DeploymentValues,
    ) -> Result<(), HubError> {
        if values.hash.is_empty() {
            return Ok(());
        }
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels: Some([(MANAGED.to_owned(), "true".to_owned())].into()),
                ..ObjectMeta::default()
            },
            type_: Some(SECRET_TYPE_DEPLOYMENT_OPTIONS.to_owned()),
            data: Some(
                [
                    ("values".to_owned(), ByteString(values.values.clone())),
                    (
                        "stagedValues".to_owned(),
                        ByteString(values.staged_values.clone()),
                    ),
                ]
                .into(),
            ),
            ..Secret::default()
        };
        let secrets = Api::namespaced(self.client.clone(), namespace);
        apply("write the values of a bundle deployment", &secrets, &secret).await?;
        Ok(())
    }
}

/// Reports whether a bundle deployment has the desired IDs. The IDs are hashes of the options and their
/// Helm values.
fn has_ids(desired: &Desired<'_>, present: &BundleDeployment) -> bool {
    let id = desired.deployment_id;
    let is_staged = present.spec.staged_deployment_id == id;
    is_staged && (!desired.is_released || present.spec.deployment_id == id)
}

fn spec(desired: &Desired<'_>, values_hash: String) -> BundleDeploymentSpec {
    let mut options = desired.options.clone();
    clear_deployment_values(&mut options);
    let correct_drift = options.correct_drift.clone();
    let staged = desired.deployment_id.to_owned();
    let (current, current_id) = match &desired.present {
        _ if desired.is_released => (options.clone(), staged.clone()),
        Some(present) => (
            present.spec.options.clone(),
            present.spec.deployment_id.clone(),
        ),
        None => (BundleDeploymentOptions::default(), String::new()),
    };
    let access = desired.bundle.spec.helm_op_options.as_ref();
    let present = desired.present.as_ref();
    let generation = desired.sources.generation(&current, access);
    BundleDeploymentSpec {
        downstream_resources_generation: generation
            .unwrap_or_else(|| present.map_or(0, |it| it.spec.downstream_resources_generation)),
        paused: desired.cluster.spec.paused || desired.bundle.spec.paused,
        staged_options: options,
        staged_deployment_id: staged,
        options: current,
        deployment_id: current_id,
        depends_on: desired.bundle.spec.depends_on.clone(),
        correct_drift,
        helm_chart_options: desired.bundle.spec.helm_op_options.clone(),
        values_hash,
        off_schedule: is_off_schedule(desired.cluster),
        ..BundleDeploymentSpec::default()
    }
}

/// Returns the labels of a bundle deployment.
fn labels(desired: &Desired<'_>) -> BTreeMap<String, String> {
    let cluster = ClusterFacts::of(desired.cluster, &[]);
    let mut labels = deployment_labels(desired.bundle, &cluster);
    if !desired.content.is_empty() {
        labels.insert(CONTENT_NAME.to_owned(), desired.content.to_owned());
    }
    labels
}
