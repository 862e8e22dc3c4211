//! The namespace of a release.

use std::time::Instant;

use drover_api::fleet::BundleDeploymentOptions;
use drover_apply::{ApplyError, call, is_conflict};
use drover_gitops::targeting::Selector;
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt as _;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;

use super::{DeployError, Deployer, REMEMBERED};
use crate::cluster::{Cluster, ClusterError};

/// Field manager of the namespace's labels and annotations.
const NAMESPACE_MANAGER: &str = "drover-deploy-namespace";
/// Prefix of the labels that bundles cannot set on namespaces.
const POD_SECURITY: &str = "pod-security.kubernetes.io/";

impl Deployer {
    /// Returns an error if the restrictions of the bundle do not permit the namespace. A namespace that
    /// does not exist has no labels, so the bundle cannot create it.
    pub(super) async fn check_namespace(
        &self,
        options: &BundleDeploymentOptions,
        name: &str,
    ) -> Result<(), DeployError> {
        let Some(selector) = &options.allowed_target_namespace_selector else {
            return Ok(());
        };
        let selector = Selector::new(selector)?;
        // The service account of the bundle may have no permission to read namespaces.
        let api: Api<Namespace> = Api::all(self.cluster.client().clone());
        let found = call(format!("read Namespace {name}"), api.get_metadata_opt(name)).await;
        let found = found.map_err(ClusterError::from)?;
        if found.is_some_and(|found| selector.matches(found.labels())) {
            return Ok(());
        }
        Err(DeployError::Namespace(name.to_owned()))
    }

    /// Creates the namespace of the release, and sets the configured labels and annotations.
    pub(super) async fn ensure_namespace(
        &self,
        cluster: &Cluster,
        options: &BundleDeploymentOptions,
        name: &str,
    ) -> Result<(), DeployError> {
        let api: Api<Namespace> = Api::all(cluster.client().clone());
        if !options.namespace_labels.is_empty() || !options.namespace_annotations.is_empty() {
            let mut labels = options.namespace_labels.clone();
            labels.retain(|label, _| !label.starts_with(POD_SECURITY));
            let patch = Patch::Apply(json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": name, "labels": labels, "annotations": options.namespace_annotations},
            }));
            let params = PatchParams::apply(NAMESPACE_MANAGER).force();
            let applied = api.patch(name, &params, &patch);
            call(format!("apply Namespace {name}"), applied)
                .await
                .map_err(ClusterError::from)?;
            return Ok(());
        }
        let known = self
            .namespaces
            .lock()
            .get(name)
            .is_some_and(|at| at.elapsed() < REMEMBERED);
        if known {
            return Ok(());
        }
        let found = call(format!("read Namespace {name}"), api.get_metadata_opt(name)).await;
        if found.map_err(ClusterError::from)?.is_none() {
            let metadata = ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            };
            let namespace = Namespace {
                metadata,
                ..Namespace::default()
            };
            let params = PostParams::default();
            match call(
                format!("create Namespace {name}"),
                api.create(&params, &namespace),
            )
            .await
            {
                Err(ApplyError::Call { source, .. }) if is_conflict(&source) => {}
                created => drop(created.map_err(ClusterError::from)?),
            }
        }
        let mut namespaces = self.namespaces.lock();
        namespaces.retain(|_, at| at.elapsed() < REMEMBERED);
        namespaces.insert(name.to_owned(), Instant::now());
        Ok(())
    }
}
