//! The Bundles of local folders, and the clusters that they select.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drover_api::fleet::labels::COMMIT;
use drover_api::fleet::{Bundle, BundleDeployment, BundleDeploymentSpec, BundleResource};
use drover_deploy::cluster::Cluster;
use drover_deploy::deployment::{Change, DeployError, Input, Place, Preview, Previewer};
use drover_deploy::object::ObjectKey;
use drover_deploy::renderer::{Renderer, Settings};
use drover_gitops::ids::Manifest;
use drover_gitops::targeting::{ClusterFacts, deployment_namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::super::target::{HubClusters, Selected};
use super::super::{charts, local_bundles};
use crate::args::FolderArgs;
use crate::client::{CallError, Client};
use crate::failure::Failure;
use crate::kubernetes::{ClusterApi, HubObjects};

/// Namespace of agents in the clusters.
const AGENT_NAMESPACE: &str = "drover-agent";

/// The Bundles of local folders, with the clusters that each Bundle selects.
pub(super) struct Plan {
    client: Option<Client>,
    previewer: Previewer,
    bundles: Vec<(Bundle, Vec<Selected>)>,
    /// The clusters on the command line. Empty for all clusters.
    only: Vec<String>,
    clusters: BTreeMap<String, Cluster>,
}

/// A Bundle in one cluster, or a Bundle without a cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deployment<'a> {
    bundle: &'a Bundle,
    selected: Option<&'a Selected>,
}

impl Deployment<'_> {
    pub(super) fn bundle_name(&self) -> &str {
        self.bundle.metadata.name.as_deref().unwrap_or_default()
    }

    pub(super) fn cluster_name(&self) -> &str {
        self.selected.map_or("-", cluster_name)
    }

    /// Returns the names of the Bundle and of the cluster.
    pub(super) fn title(&self) -> String {
        let bundle = self.bundle_name();
        match self.selected {
            None => format!("bundle {bundle}"),
            Some(selected) => format!("bundle {bundle}, cluster {}", cluster_name(selected)),
        }
    }

    fn input<'b>(&'b self, spec: &'b BundleDeploymentSpec) -> Input<'b> {
        input(&self.bundle.metadata, spec, &self.bundle.spec.resources)
    }

    fn spec(&self) -> BundleDeploymentSpec {
        let options = match self.selected {
            Some(selected) => selected.target.deployment_options(),
            None => self.bundle.spec.options.clone(),
        };
        BundleDeploymentSpec {
            deployment_id: self.selected.map_or_else(String::new, |selected| {
                selected.target.deployment_id.clone()
            }),
            helm_chart_options: self.bundle.spec.helm_op_options.clone(),
            options,
            ..BundleDeploymentSpec::default()
        }
    }
}

fn cluster_name(selected: &Selected) -> &str {
    ClusterFacts::of(&selected.cluster, &[]).name
}

/// Returns the program that renders bundles.
pub(super) fn renderer() -> Result<Arc<Renderer>, Failure> {
    let program = charts::program().ok_or_else(|| {
        Failure::Other(
            "the program drover-render, which renders bundles, is not beside this program; install \
             drover-render"
                .to_owned(),
        )
    })?;
    Ok(Arc::new(Renderer::new(Settings::new(program))))
}

impl Plan {
    /// Reads the Bundles, and their clusters on the hub if there is a client. `only` are the clusters on
    /// the command line.
    pub(super) async fn read(
        args: &FolderArgs,
        client: Option<Client>,
        only: &[String],
    ) -> Result<Self, Failure> {
        let bundles = local_bundles(args).await?;
        Self::of(bundles, &args.namespace, client, only).await
    }

    /// Returns the plan of the Bundles of a namespace, with their files and Helm values.
    pub(super) async fn of(
        bundles: Vec<Bundle>,
        namespace: &str,
        client: Option<Client>,
        only: &[String],
    ) -> Result<Self, Failure> {
        let previewer = Previewer::new(renderer()?, AGENT_NAMESPACE);
        let clusters = match &client {
            Some(client) => Some(HubClusters::read(client, namespace).await?),
            None => None,
        };
        let select = |mut bundle: Bundle| {
            bundle.metadata.namespace = Some(namespace.to_owned());
            let selected = match &clusters {
                None => Vec::new(),
                Some(clusters) => {
                    let resources = bundle.spec.resources.clone();
                    clusters.select(&bundle, &Manifest { resources }.id())?
                }
            };
            Ok((bundle, selected))
        };
        let bundles = bundles.into_iter().map(select);
        let mut plan = Self {
            client,
            previewer,
            bundles: bundles.collect::<Result<_, Failure>>()?,
            only: only.to_vec(),
            clusters: BTreeMap::new(),
        };
        plan.connect();
        Ok(plan)
    }

    /// Creates access to the clusters. Deployments in one cluster share the discovered kinds.
    fn connect(&mut self) {
        let Some(client) = &self.client else {
            return;
        };
        let selected = self.bundles.iter().flat_map(|(_, selected)| selected);
        let names: Vec<String> = selected.map(|it| cluster_name(it).to_owned()).collect();
        for name in names {
            let api = ClusterApi::new(client, &name);
            self.clusters
                .entry(name)
                .or_insert_with(|| Cluster::new(api.kube_client("default")));
        }
    }

    /// Returns the deployments of all Bundles in the clusters of the command line.
    pub(super) fn deployments(&self) -> Vec<Deployment<'_>> {
        let mut deployments = Vec::new();
        for (bundle, selected) in &self.bundles {
            if self.client.is_none() {
                deployments.push(Deployment {
                    bundle,
                    selected: None,
                });
            }
            let is_wanted = |selected: &&Selected| {
                self.only.is_empty() || self.only.iter().any(|name| name == cluster_name(selected))
            };
            deployments.extend(
                selected
                    .iter()
                    .filter(is_wanted)
                    .map(|selected| Deployment {
                        bundle,
                        selected: Some(selected),
                    }),
            );
        }
        deployments
    }

    /// Returns the names of the Bundles that select no cluster.
    pub(super) fn unselected(&self) -> impl Iterator<Item = &str> {
        let has_client = self.client.is_some();
        let unselected =
            move |(_, selected): &&(Bundle, Vec<Selected>)| has_client && selected.is_empty();
        let bundles = self.bundles.iter().filter(unselected);
        bundles.map(|(bundle, _)| bundle.metadata.name.as_deref().unwrap_or_default())
    }

    /// Returns an error if there is no deployment, or if no Bundle selects a cluster of the command line.
    pub(super) fn check_selection(&self) -> Result<(), Failure> {
        self.check_clusters()?;
        if !self.deployments().is_empty() {
            return Ok(());
        }
        Err(Failure::Absent(
            "the bundles select no cluster; add targets to the fleet.yaml, the GitRepo or the targets file"
                .to_owned(),
        ))
    }

    /// Returns an error if no Bundle selects a cluster of the command line.
    pub(super) fn check_clusters(&self) -> Result<(), Failure> {
        let selected = self.bundles.iter().flat_map(|(_, selected)| selected);
        let names: BTreeSet<&str> = selected.map(cluster_name).collect();
        let unknown = self.only.iter().filter(|name| !names.contains(&***name));
        match &unknown.map(String::as_str).collect::<Vec<_>>()[..] {
            [] => Ok(()),
            unknown => Err(Failure::Absent(format!(
                "no bundle selects the clusters {}; remove --cluster, or add targets",
                unknown.join(", ")
            ))),
        }
    }

    /// Renders a deployment. `kube_version` applies without a cluster.
    pub(super) async fn render(
        &self,
        deployment: &Deployment<'_>,
        kube_version: &str,
    ) -> Result<Preview, Failure> {
        let spec = deployment.spec();
        let present = self.present(deployment).await?;
        let release = release(present.as_ref());
        let place = match self.cluster(deployment) {
            Some(cluster) => Place::Cluster(cluster),
            None => Place::Offline { kube_version },
        };
        let input = deployment.input(&spec);
        let rendered = self.previewer.render(place, &input, release).await;
        rendered.map_err(|error| failed(deployment, error))
    }

    /// Returns the changes of a deployment in its cluster.
    pub(super) async fn changes(
        &self,
        deployment: &Deployment<'_>,
    ) -> Result<Vec<Change>, Failure> {
        let spec = deployment.spec();
        let present = self.present(deployment).await?;
        let release = release(present.as_ref());
        let Some(cluster) = self.cluster(deployment) else {
            return Ok(Vec::new());
        };
        let status = present.as_ref().and_then(|present| present.status.as_ref());
        let resources = status.map_or(&[][..], |status| &status.resources);
        let objects: Vec<ObjectKey> = resources
            .iter()
            .map(|resource| ObjectKey {
                api_version: resource.api_version.clone(),
                kind: resource.kind.clone(),
                namespace: resource.namespace.clone(),
                name: resource.name.clone(),
            })
            .collect();
        let input = deployment.input(&spec);
        let changes = self.previewer.changes(cluster, &input, release, &objects);
        changes.await.map_err(|error| failed(deployment, error))
    }

    fn cluster(&self, deployment: &Deployment<'_>) -> Option<&Cluster> {
        self.clusters.get(cluster_name(deployment.selected?))
    }

    /// Returns the BundleDeployment on the hub.
    async fn present(
        &self,
        deployment: &Deployment<'_>,
    ) -> Result<Option<BundleDeployment>, CallError> {
        let namespace = deployment
            .selected
            .and_then(|selected| deployment_namespace(&selected.cluster));
        let (Some(client), Some(namespace)) = (&self.client, namespace) else {
            return Ok(None);
        };
        let deployments = HubObjects::fleet(client, "bundledeployments", Some(&namespace));
        deployments.find(deployment.bundle_name()).await
    }
}

fn release(present: Option<&BundleDeployment>) -> Option<&str> {
    let release = &present?.status.as_ref()?.release;
    (!release.is_empty()).then_some(release)
}

/// Returns the input of a deployment. `metadata` is the metadata of a Bundle or BundleDeployment.
pub(super) fn input<'a>(
    metadata: &'a ObjectMeta,
    spec: &'a BundleDeploymentSpec,
    resources: &'a [BundleResource],
) -> Input<'a> {
    let commit = metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get(COMMIT));
    Input {
        name: metadata.name.as_deref().unwrap_or_default(),
        spec,
        resources,
        cluster: "",
        commit: commit.map_or("", String::as_str),
        values: None,
        copies: &[],
    }
}

/// A deployment that cannot be rendered or compared.
#[derive(Debug, thiserror::Error)]
#[error("cannot render the {title}")]
struct Unrendered {
    title: String,
    source: DeployError,
}

fn failed(deployment: &Deployment<'_>, source: DeployError) -> Failure {
    let title = deployment.title();
    Failure::command(Unrendered { title, source })
}
