//! Implements `drover fleet monitor`.

mod infos;
mod problems;

use std::time::Duration;

use drover_api::fleet::labels::BUNDLE_NAMESPACE;
use drover_api::fleet::{Bundle, BundleDeployment, ClusterGroup, Content, FleetCluster, GitRepo};
use jiff::Timestamp;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use self::problems::diagnostics;
use crate::args::FleetMonitor;
use crate::client::{CallError, Client};
use crate::failure::Failure;
use crate::kubernetes::HubObjects;
use crate::output::encode_line;
use crate::table::printable;
use crate::terminal::{notice, print};

/// Fleet's objects on the hub at one time.
#[derive(Debug, Default)]
struct Snapshot {
    git_repos: Vec<GitRepo>,
    bundles: Vec<Bundle>,
    deployments: Vec<BundleDeployment>,
    contents: Vec<Content>,
    clusters: Vec<FleetCluster>,
    groups: Vec<ClusterGroup>,
}

/// Prints snapshots as lines of JSON.
pub(super) async fn run(client: &Client, args: &FleetMonitor) -> Result<(), Failure> {
    loop {
        match read(client, args.namespace.as_deref()).await {
            Ok(snapshot) => {
                let value = snapshot.value(Timestamp::now(), args.agent_staleness.0);
                print(&encode_line(&value)?)?;
            }
            // The next snapshot can succeed.
            Err(error) if args.watch && error.is_transient() => {
                notice(&printable(&error.to_string()));
            }
            Err(error) => return Err(error.into()),
        }
        if !args.watch {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_secs(args.interval)).await;
    }
}

/// Reads the objects of a namespace, and the BundleDeployments of its Bundles.
async fn read(client: &Client, namespace: Option<&str>) -> Result<Snapshot, CallError> {
    let objects = |plural, namespace| HubObjects::fleet(client, plural, namespace);
    let (git_repos, bundles) = (
        objects("gitrepos", namespace),
        objects("bundles", namespace),
    );
    let (clusters, groups) = (
        objects("clusters", namespace),
        objects("clustergroups", namespace),
    );
    // BundleDeployments are in the namespaces of the clusters.
    let labels = namespace.map(|namespace| format!("{BUNDLE_NAMESPACE}={namespace}"));
    let (deployments, contents) = (
        objects("bundledeployments", None),
        objects("contents", None),
    );
    let (git_repos, bundles, deployments, contents, clusters, groups) = futures::try_join!(
        git_repos.list(None),
        bundles.list(None),
        deployments.list(labels),
        contents.list(None),
        clusters.list(None),
        groups.list(None),
    )?;
    Ok(Snapshot {
        git_repos,
        bundles,
        deployments,
        contents,
        clusters,
        groups,
    })
}

impl Snapshot {
    /// Returns the snapshot with the field names of Fleet.
    fn value(&self, now: Timestamp, staleness: Duration) -> Value {
        let cluster = |cluster: &FleetCluster| infos::cluster(cluster, now);
        json!({
            "timestamp": infos::seconds(now),
            "gitrepos": self.git_repos.iter().map(infos::git_repo).collect::<Vec<_>>(),
            "bundles": self.bundles.iter().map(infos::bundle).collect::<Vec<_>>(),
            "bundledeployments": self.deployments.iter().map(infos::deployment).collect::<Vec<_>>(),
            "contents": self.contents.iter().map(infos::content).collect::<Vec<_>>(),
            "clusters": self.clusters.iter().map(cluster).collect::<Vec<_>>(),
            "clustergroups": self.groups.iter().map(infos::group).collect::<Vec<_>>(),
            "contentIssues": self.content_issues(),
            "diagnostics": diagnostics(self, now, staleness),
        })
    }

    /// Returns the BundleDeployments whose Content is missing or is being deleted.
    fn content_issues(&self) -> Vec<Value> {
        let find = |id: &str| {
            let name = id.split(':').next().unwrap_or_default();
            self.contents
                .iter()
                .find(|content| content.name_any() == name)
        };
        let issue = |deployment: &BundleDeployment| {
            let spec = &deployment.spec;
            // A HelmOp has no Content.
            if spec.helm_chart_options.is_some() {
                return None;
            }
            let mut issues = Vec::new();
            match find(&spec.deployment_id) {
                None if !spec.deployment_id.is_empty() => issues.push("content_not_found"),
                Some(content) if content.metadata.deletion_timestamp.is_some() => {
                    issues.push("content_has_deletion_timestamp");
                }
                _ => {}
            }
            if !spec.staged_deployment_id.is_empty() && find(&spec.staged_deployment_id).is_none() {
                issues.push("staged_content_not_found");
            }
            (!issues.is_empty()).then(|| {
                json!({
                    "namespace": deployment.namespace().unwrap_or_default(),
                    "name": deployment.name_any(),
                    "issues": issues,
                })
            })
        };
        self.deployments.iter().filter_map(issue).collect()
    }
}
