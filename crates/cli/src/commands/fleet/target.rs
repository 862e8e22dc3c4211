//! Implements `drover fleet target`.

use std::path::Path;
use std::sync::Arc;

use drover_api::fleet::labels::CONTENT_NAME;
use drover_api::fleet::{
    Bundle, BundleDeployment, BundleDeploymentSpec, BundleNamespaceMapping, ClusterGroup, Content,
    FleetCluster,
};
use drover_api::gitops::FLEET_NAMESPACE;
use drover_gitops::ids::{Manifest, content_id, content_objects};
use drover_gitops::targeting::{
    ClusterFacts, GoTemplates, Group, Groups, Target, Targeting, deployment_labels,
    deployment_namespace,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::{documents, folder};
use crate::args::FleetTarget;
use crate::client::{CallError, Client};
use crate::failure::Failure;
use crate::kubernetes::HubObjects;
use crate::terminal::{notice, print};

/// Maximum size of a file with a Bundle, in bytes.
const MAX_BUNDLE_BYTES: u64 = 64 << 20;

/// A cluster that a Bundle selects.
#[derive(Debug)]
pub(super) struct Selected {
    pub(super) cluster: Arc<FleetCluster>,
    /// Names of the groups of the cluster.
    pub(super) groups: Vec<String>,
    pub(super) target: Target,
}

/// The files of a Bundle on the hub.
#[derive(Debug)]
struct Files {
    /// Name of the Content, or empty for a HelmOp.
    name: String,
    objects: Vec<Content>,
}

/// Prints the Content and the BundleDeployments of a Bundle.
pub(super) async fn run(client: &Client, args: &FleetTarget) -> Result<(), Failure> {
    let mut bundle = read_bundle(&args.bundle_file)?;
    let own = bundle.metadata.namespace.take();
    let namespace = args.namespace.clone().or(own);
    let namespace = namespace.unwrap_or_else(|| FLEET_NAMESPACE.to_owned());
    bundle.metadata.namespace = Some(namespace.clone());
    let files = files(&bundle)?;
    let clusters = HubClusters::read(client, &namespace).await?;
    let selected = clusters.select(&bundle, &files.name)?;
    if args.dump_input_list {
        let list: Vec<Value> = selected.iter().map(description).collect();
        notice(&drover_gitops::targeting::yaml_text(&json!(list)));
    }
    if selected.is_empty() {
        notice(&format!(
            "The Bundle selects no cluster in the namespace {namespace}."
        ));
    }
    let contents = files.objects.iter().map(|content| json!(content));
    let deployments = selected.iter().filter_map(|selected| {
        let deployment = deployment(&bundle, selected, &files.name);
        if deployment.is_none() {
            let name = selected.cluster.metadata.name.as_deref();
            let name = name.unwrap_or_default();
            notice(&format!(
                "The cluster {name} has no BundleDeployment: the server has not prepared its namespace yet."
            ));
        }
        deployment.map(|deployment| json!(deployment))
    });
    let all: Vec<Value> = contents.chain(deployments).collect();
    Ok(print(&documents(&all))?)
}

/// Reads a Bundle from a YAML file.
fn read_bundle(file: &Path) -> Result<Bundle, Failure> {
    let path = file.display().to_string();
    let data = folder::read_argument(file, MAX_BUNDLE_BYTES)?;
    let wrong = |reason: &dyn std::fmt::Display| {
        Failure::Other(format!(
            "cannot read the Bundle in {path}: {reason}; create the file with: drover fleet apply -o FILE"
        ))
    };
    let text = std::str::from_utf8(&data).map_err(|error| wrong(&error))?;
    let value: Value = serde_saphyr::from_str(text).map_err(|error| wrong(&error))?;
    if value["kind"] != "Bundle" {
        return Err(wrong(&"the file contains no object of the kind Bundle"));
    }
    // The error contains the path of the field.
    let bundle: Bundle = serde_path_to_error::deserialize(value).map_err(|error| wrong(&error))?;
    if bundle.metadata.name.as_deref().is_none_or(str::is_empty) {
        return Err(wrong(&"metadata.name is empty"));
    }
    if !bundle.spec.values_hash.is_empty() {
        return Err(wrong(
            &"spec.valuesHash is set, and the Helm values are in a Secret on the hub",
        ));
    }
    Ok(bundle)
}

/// Returns the Content with the files of a Bundle.
fn files(bundle: &Bundle) -> Result<Files, Failure> {
    let separate = &bundle.spec.contents_id;
    if bundle.spec.helm_op_options.is_some() || !separate.is_empty() {
        if !separate.is_empty() {
            notice(&format!(
                "The files of the Bundle are in the Content {separate} on the hub."
            ));
        }
        return Ok(Files {
            name: separate.clone(),
            objects: Vec::new(),
        });
    }
    let manifest = Manifest {
        resources: bundle.spec.resources.clone(),
    };
    let sha256 = manifest.sha256();
    let objects = content_objects(&sha256, &manifest).map_err(|error| {
        Failure::Other(format!("cannot compress the files of the Bundle: {error}"))
    })?;
    Ok(Files {
        name: content_id(&sha256),
        objects,
    })
}

/// The clusters and groups of a namespace on the hub.
#[derive(Debug)]
pub(super) struct HubClusters {
    /// The clusters, in the order of their names.
    clusters: Vec<Arc<FleetCluster>>,
    groups: Groups,
}

impl HubClusters {
    /// Reads the clusters and groups of a namespace.
    pub(super) async fn read(client: &Client, namespace: &str) -> Result<Self, CallError> {
        let objects = |plural| HubObjects::fleet(client, plural, Some(namespace));
        let (clusters, groups) = (objects("clusters"), objects("clustergroups"));
        let mappings = objects("bundlenamespacemappings");
        let (clusters, groups, mappings) = futures::try_join!(
            clusters.list(None),
            groups.list(None),
            mappings.list::<BundleNamespaceMapping>(None),
        )?;
        if !mappings.is_empty() {
            notice(
                "The output contains no clusters of other namespaces, which the BundleNamespaceMappings \
                 permit.",
            );
        }
        Ok(Self::new(clusters, groups))
    }

    fn new(mut clusters: Vec<FleetCluster>, groups: Vec<ClusterGroup>) -> Self {
        clusters.retain(|cluster| cluster.metadata.deletion_timestamp.is_none());
        clusters.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        Self {
            clusters: clusters.into_iter().map(Arc::new).collect(),
            groups: Groups::new(groups.into_iter().map(Arc::new).collect()),
        }
    }

    /// Returns the clusters that a Bundle selects. `content` is the name of the Content with its files.
    pub(super) fn select(&self, bundle: &Bundle, content: &str) -> Result<Vec<Selected>, Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::Other(format!("cannot compute the targets of the Bundle: {error}"))
        };
        let targeting = Targeting::new(bundle).map_err(|error| failed(&error))?;
        let mut selected = Vec::new();
        for cluster in &self.clusters {
            let members = self.groups.of(cluster);
            let of_cluster: Vec<Group<'_>> = members.iter().map(|it| it.as_group()).collect();
            let facts = ClusterFacts::of(cluster, &of_cluster);
            let target = targeting.target(&facts, content, None, &GoTemplates);
            if let Some(target) = target.map_err(|error| failed(&error))? {
                let groups = of_cluster.iter().map(|group| group.name.to_owned());
                selected.push(Selected {
                    groups: groups.collect(),
                    target,
                    cluster: Arc::clone(cluster),
                });
            }
        }
        Ok(selected)
    }
}

/// Returns the BundleDeployment of a cluster after the rollout. Its options contain the Helm values. A
/// new Fleet Cluster has none.
fn deployment(bundle: &Bundle, selected: &Selected, content: &str) -> Option<BundleDeployment> {
    let options = selected.target.deployment_options();
    let id = &selected.target.deployment_id;
    let mut labels = deployment_labels(bundle, &ClusterFacts::of(&selected.cluster, &[]));
    if !content.is_empty() {
        labels.insert(CONTENT_NAME.to_owned(), content.to_owned());
    }
    Some(BundleDeployment {
        metadata: ObjectMeta {
            name: bundle.metadata.name.clone(),
            namespace: Some(deployment_namespace(&selected.cluster)?),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        spec: BundleDeploymentSpec {
            paused: bundle.spec.paused || selected.cluster.spec.paused,
            staged_options: options.clone(),
            staged_deployment_id: id.clone(),
            correct_drift: options.correct_drift.clone(),
            options,
            deployment_id: id.clone(),
            depends_on: bundle.spec.depends_on.clone(),
            helm_chart_options: bundle.spec.helm_op_options.clone(),
            ..BundleDeploymentSpec::default()
        },
        status: None,
    })
}

/// Describes a selected cluster.
fn description(selected: &Selected) -> Value {
    let facts = ClusterFacts::of(&selected.cluster, &[]);
    json!({
        "cluster": {
            "name": facts.name,
            "namespace": facts.namespace,
            "labels": facts.labels,
        },
        "clusterGroups": selected.groups,
        "deploymentID": selected.target.deployment_id,
        "options": selected.target.deployment_options(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::from_value;

    use super::*;

    fn bundle(targets: &Value) -> Bundle {
        from_value(json!({
            "apiVersion": "fleet.cattle.io/v1alpha1",
            "kind": "Bundle",
            "metadata": { "name": "shop", "namespace": "fleet-default", "labels": { "app": "shop" } },
            "spec": {
                "resources": [{ "name": "a.yaml", "content": "kind: ConfigMap" }],
                "helm": { "values": { "region": "${ .ClusterLabels.region }" } },
                "targets": targets,
            },
        }))
        .unwrap()
    }

    fn cluster(name: &str, env: &str) -> FleetCluster {
        from_value(json!({
            "metadata": {
                "name": name, "namespace": "fleet-default",
                "labels": { "env": env, "region": format!("r-{name}") },
            },
            "spec": {},
            "status": { "namespace": "n" },
        }))
        .unwrap()
    }

    #[test]
    fn bundle_deployments_of_selected_clusters_have_their_rendered_values() {
        let group = json!({
            "metadata": { "name": "prod", "namespace": "fleet-default" },
            "spec": { "selector": { "matchLabels": { "env": "prod" } } },
        });
        let clusters = vec![
            cluster("b", "prod"),
            cluster("c", "test"),
            cluster("a", "prod"),
        ];
        let bundle = bundle(&json!([{ "clusterGroup": "prod" }]));
        let files = files(&bundle).unwrap();
        let groups = vec![from_value(group).unwrap()];
        let selected = HubClusters::new(clusters, groups)
            .select(&bundle, &files.name)
            .unwrap();
        let deployments: Vec<BundleDeployment> = selected
            .iter()
            .filter_map(|selected| deployment(&bundle, selected, &files.name))
            .collect();
        let regions: Vec<_> = deployments
            .iter()
            .map(|it| it.spec.options.helm.clone().unwrap().values.unwrap()["region"].clone())
            .collect();
        assert_eq!(regions, ["r-a", "r-b"]);
        for (selected, deployment) in selected.iter().zip(&deployments) {
            assert_eq!(selected.groups, ["prod"]);
            assert_eq!(
                deployment.spec.deployment_id,
                deployment.spec.staged_deployment_id
            );
            assert!(deployment.spec.deployment_id.starts_with(&files.name));
            let labels = deployment.metadata.labels.as_ref().unwrap();
            assert_eq!(labels[CONTENT_NAME], files.name);
            assert_eq!(labels["app"], "shop");
        }
    }

    #[test]
    fn template_error_names_the_cluster() {
        let mut other = cluster("a", "prod");
        other.metadata.labels.as_mut().unwrap().remove("region");
        let bundle = bundle(&json!([{ "clusterSelector": {} }]));
        let error = HubClusters::new(vec![other], Vec::new())
            .select(&bundle, "s-1")
            .unwrap_err();
        let text = error.text();
        assert!(text.contains("fleet-default/a"), "{text}");
    }

    #[test]
    fn file_without_a_bundle_is_an_error_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bundle.yaml");
        for (text, reason) in [
            ("kind: Pod\n", "no object of the kind Bundle"),
            ("kind: Bundle\n", "metadata.name is empty"),
            (
                "kind: Bundle\nmetadata: {name: a}\nspec: {valuesHash: x}\n",
                "spec.valuesHash",
            ),
            (
                "kind: Bundle\nmetadata: {name: a}\nspec: {paused: 3}\n",
                "spec.paused: invalid type",
            ),
            ("a: [", "cannot read the Bundle"),
        ] {
            std::fs::write(&file, text).unwrap();
            let error = read_bundle(&file).unwrap_err().text();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
