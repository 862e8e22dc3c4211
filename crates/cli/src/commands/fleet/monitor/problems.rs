//! The problems in a snapshot, with Fleet's field names.

use std::collections::BTreeSet;
use std::time::Duration;

use drover_api::fleet::labels::{BUNDLE_NAME, BUNDLE_NAMESPACE, COMMIT, REPO_NAME};
use drover_api::fleet::{Bundle, BundleDeployment, FleetCluster, GitRepo};
use drover_gitops::ids::content_id;
use jiff::Timestamp;
use kube::{Resource, ResourceExt};
use serde_json::{Map, Value, json};

use super::{Snapshot, infos};

/// Size of the JSON from which on a Bundle is large, in bytes.
const LARGE_BUNDLE: usize = 1 << 20;

/// Namespace and name of an object.
type Name = (String, String);

/// Returns the problems of a snapshot. Lists without entries are omitted.
pub(super) fn diagnostics(snapshot: &Snapshot, now: Timestamp, staleness: Duration) -> Value {
    let known = Known::new(snapshot);
    let bundles = |test: &dyn Fn(&Bundle) -> bool| -> Vec<Value> {
        let found = snapshot.bundles.iter().filter(|bundle| test(bundle));
        found.map(infos::bundle).collect()
    };
    let deployments = |test: &dyn Fn(&BundleDeployment) -> bool| -> Vec<Value> {
        let found = snapshot.deployments.iter().filter(|it| test(it));
        found.map(infos::deployment).collect()
    };
    let repos = |test: &dyn Fn(&GitRepo) -> bool| -> Vec<Value> {
        let found = snapshot.git_repos.iter().filter(|repo| test(repo));
        found.map(infos::git_repo).collect()
    };
    let stale = snapshot
        .clusters
        .iter()
        .filter(|it| is_stale(it, now, staleness));
    let empty = snapshot.groups.iter().filter(|group| {
        let status = group.status.as_ref();
        status.is_none_or(|status| status.cluster_count == 0)
    });
    let lists = [
        ("stuckBundleDeployments", deployments(&is_stuck)),
        (
            "gitrepoBundleInconsistencies",
            bundles(&|bundle| differs_from_repo(bundle, &snapshot.git_repos)),
        ),
        (
            "largeBundles",
            bundles(&|bundle| infos::size(bundle) > LARGE_BUNDLE),
        ),
        (
            "bundlesWithMissingContent",
            bundles(&|bundle| known.lacks_content(bundle)),
        ),
        (
            "bundlesWithNoDeployments",
            bundles(&|bundle| !known.deployed.contains(&name(bundle))),
        ),
        (
            "gitreposWithNoBundles",
            repos(&|repo| !known.with_bundles.contains(&name(repo))),
        ),
        (
            "clustersWithAgentIssues",
            stale.map(|it| infos::cluster(it, now)).collect(),
        ),
        (
            "clustergroupsWithNoClusters",
            empty.map(infos::group).collect(),
        ),
        (
            "bundlesWithMissingGitrepo",
            bundles(&|bundle| owner(bundle).is_some_and(|owner| !known.repos.contains(&owner))),
        ),
        (
            "bundledeploymentsWithMissingBundle",
            deployments(&|it| bundle_of(it).is_some_and(|name| !known.bundles.contains(&name))),
        ),
        (
            "gitreposWithGenerationMismatch",
            repos(&|repo| {
                let status = repo.status.as_ref();
                differs(repo, status.map_or(0, |status| status.observed_generation))
            }),
        ),
        (
            "bundlesWithGenerationMismatch",
            bundles(&|bundle| {
                let status = bundle.status.as_ref();
                differs(
                    bundle,
                    status.map_or(0, |status| status.observed_generation),
                )
            }),
        ),
        (
            "bundledeploymentsWithSyncGenerationMismatch",
            deployments(&has_other_sync_generation),
        ),
    ];
    let counts = [
        (
            "bundlesWithDeletionTimestamp",
            deleted(snapshot.bundles.iter()),
        ),
        (
            "bundleDeploymentsWithDeletionTimestamp",
            deleted(snapshot.deployments.iter()),
        ),
        (
            "contentsWithDeletionTimestamp",
            deleted(snapshot.contents.iter()),
        ),
    ];
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let lists = lists.map(|(name, list)| (name.to_owned(), json!(list)));
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let counts = counts.map(|(name, count)| (name.to_owned(), json!(count)));
    Value::Object(lists.chain(counts).collect::<Map<_, _>>())
}

/// The names of the objects in a snapshot.
struct Known {
    repos: BTreeSet<Name>,
    /// GitRepos with Bundles.
    with_bundles: BTreeSet<Name>,
    bundles: BTreeSet<Name>,
    /// Bundles with BundleDeployments.
    deployed: BTreeSet<Name>,
    contents: BTreeSet<String>,
}

impl Known {
    fn new(snapshot: &Snapshot) -> Self {
        Self {
            repos: snapshot.git_repos.iter().map(name).collect(),
            with_bundles: snapshot.bundles.iter().filter_map(owner).collect(),
            bundles: snapshot.bundles.iter().map(name).collect(),
            deployed: snapshot.deployments.iter().filter_map(bundle_of).collect(),
            contents: snapshot
                .contents
                .iter()
                .map(ResourceExt::name_any)
                .collect(),
        }
    }

    fn lacks_content(&self, bundle: &Bundle) -> bool {
        let status = bundle.status.as_ref();
        let sha256 = status.map_or("", |status| &status.resources_sha256_sum);
        // A Bundle without BundleDeployments needs no Content.
        bundle.spec.helm_op_options.is_none()
            && !sha256.is_empty()
            && self.deployed.contains(&name(bundle))
            && !self.contents.contains(&content_id(sha256))
    }
}

fn name<K: Resource>(object: &K) -> Name {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// Returns the GitRepo of a Bundle.
fn owner(bundle: &Bundle) -> Option<Name> {
    let repo = bundle.labels().get(REPO_NAME)?;
    Some((bundle.namespace().unwrap_or_default(), repo.clone()))
}

fn bundle_of(deployment: &BundleDeployment) -> Option<Name> {
    let labels = deployment.labels();
    Some((
        labels.get(BUNDLE_NAMESPACE)?.clone(),
        labels.get(BUNDLE_NAME)?.clone(),
    ))
}

fn differs<K: Resource>(object: &K, observed: i64) -> bool {
    object.meta().generation.is_some_and(|it| it != observed)
}

fn is_stuck(deployment: &BundleDeployment) -> bool {
    let applied = deployment.status.as_ref();
    let applied = applied.map_or("", |status| &status.applied_deployment_id);
    deployment.metadata.deletion_timestamp.is_some()
        || deployment.spec.deployment_id != applied
        || has_other_sync_generation(deployment)
}

/// Reports whether the agent has not deployed a bundle again that the user requested.
fn has_other_sync_generation(deployment: &BundleDeployment) -> bool {
    let wanted = deployment.spec.options.force_sync_generation;
    let status = deployment.status.as_ref();
    wanted > 0 && status.and_then(|status| status.sync_generation) != Some(wanted)
}

/// Reports whether a Bundle has another commit than its GitRepo, or was not deployed again as requested.
fn differs_from_repo(bundle: &Bundle, repos: &[GitRepo]) -> bool {
    let owner = owner(bundle);
    let repo = repos.iter().find(|repo| Some(name(*repo)) == owner);
    repo.is_some_and(|repo| {
        let commit = repo.status.as_ref().map_or("", |status| &status.commit);
        let own = bundle.labels().get(COMMIT).map_or("", String::as_str);
        own != commit
            || bundle.spec.options.force_sync_generation != repo.spec.force_sync_generation
    })
}

/// Reports whether the last check-in of an agent is too long ago.
fn is_stale(cluster: &FleetCluster, now: Timestamp, staleness: Duration) -> bool {
    infos::last_seen(cluster).is_none_or(|seen| {
        let age = now.duration_since(seen);
        !age.is_negative() && age.unsigned_abs() > staleness
    })
}

fn deleted<'a, K: Resource + 'a>(objects: impl Iterator<Item = &'a K>) -> usize {
    objects
        .filter(|object| object.meta().deletion_timestamp.is_some())
        .count()
}

#[cfg(test)]
mod tests {
    use serde_json::from_value;

    use super::*;

    fn list<T: serde::de::DeserializeOwned>(items: Value) -> Vec<T> {
        from_value(items).unwrap()
    }

    fn metadata(name: &str, labels: &Value) -> Value {
        json!({ "name": name, "namespace": "fleet-default", "generation": 2, "labels": labels })
    }

    #[test]
    fn each_problem_names_its_objects() {
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        let (good, lost) = (
            json!({ REPO_NAME: "shop", COMMIT: "c2" }),
            json!({ REPO_NAME: "gone" }),
        );
        let of = |bundle| json!({ BUNDLE_NAME: bundle, BUNDLE_NAMESPACE: "fleet-default" });
        let snapshot = Snapshot {
            git_repos: list(json!([
                { "metadata": metadata("shop", &json!({})), "status": { "commit": "c2", "observedGeneration": 2 } },
                { "metadata": metadata("empty", &json!({})), "status": { "observedGeneration": 1 } },
            ])),
            bundles: list(json!([
                { "metadata": metadata("good", &good), "status": { "observedGeneration": 2, "resourcesSha256Sum": "aa" } },
                { "metadata": metadata("old", &json!({ REPO_NAME: "shop", COMMIT: "c1" })), "status": { "observedGeneration": 1 } },
                { "metadata": metadata("lost", &lost), "status": { "observedGeneration": 2 } },
            ])),
            deployments: list(json!([
                { "metadata": metadata("good", &of("good")), "spec": { "deploymentID": "s-aa:1" },
                  "status": { "appliedDeploymentID": "s-aa:1" } },
                { "metadata": metadata("old", &of("old")), "spec": { "deploymentID": "s-bb:1" } },
                { "metadata": metadata("other", &of("other")), "spec": { "options": { "forceSyncGeneration": 2 } },
                  "status": { "syncGeneration": 1 } },
            ])),
            contents: list(json!([{ "metadata": { "name": "s-aa" } }])),
            clusters: list(json!([
                { "metadata": metadata("a", &json!({})), "status": { "agent": { "lastSeen": "2026-11-30T11:00:00Z" } } },
                { "metadata": metadata("b", &json!({})), "status": { "agent": { "lastSeen": "2026-11-29T11:00:00Z" } } },
                { "metadata": metadata("c", &json!({})) },
            ])),
            groups: list(json!([{ "metadata": metadata("none", &json!({})) }])),
        };
        let found = diagnostics(&snapshot, now, Duration::from_hours(24));
        let names = |list: &Value| -> Vec<String> {
            let items = list.as_array().unwrap().iter();
            items
                .map(|it| it["name"].as_str().unwrap().to_owned())
                .collect()
        };
        let lists: Vec<(String, String)> = found
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, list)| (name.clone(), names(list).join(" ")))
            .collect();
        let lists: Vec<_> = lists
            .iter()
            .map(|(name, list)| (&**name, &**list))
            .collect();
        assert_eq!(
            lists,
            [
                ("bundledeploymentsWithMissingBundle", "other"),
                ("bundledeploymentsWithSyncGenerationMismatch", "other"),
                ("bundlesWithGenerationMismatch", "old"),
                ("bundlesWithMissingGitrepo", "lost"),
                ("bundlesWithNoDeployments", "lost"),
                ("clustergroupsWithNoClusters", "none"),
                ("clustersWithAgentIssues", "b c"),
                ("gitrepoBundleInconsistencies", "old"),
                ("gitreposWithGenerationMismatch", "empty"),
                ("gitreposWithNoBundles", "empty"),
                ("stuckBundleDeployments", "old other"),
            ]
        );
        let issues = snapshot.content_issues();
        assert_eq!(issues.len(), 1, "{issues:?}");
        assert_eq!(issues[0]["issues"], json!(["content_not_found"]));
    }
}
