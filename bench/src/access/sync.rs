//! Applies roles to many clusters.
//!
//! The server runs the simulated clusters in its own process, so the server's figures include the
//! clusters. A thousand users receive a role in every cluster. Each user has one binding. The
//! measurement ends when the API of each cluster contains bindings for all users.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use drover_api::group::ACCESS_LABEL;
use drover_e2e::{DemoOptions, DemoServer, DroverError};
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::administrator::{Administrator, AdministratorError};
use crate::figures::{Figures, Goal};
use crate::meter::print_progress;
use crate::process::{ProcessError, stop};

/// Number of simulated clusters.
const CLUSTERS: u32 = 200;
const PEOPLE: usize = 1000;
/// Number of concurrent requests to the server.
const CONCURRENCY: usize = 16;
/// Interval between polls of a cluster.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const TIMEOUT: Duration = Duration::from_mins(10);
const HUB: &str = "/k8s/clusters/local/apis/management.drover.dev/v1alpha1";
const ROLE: &str = "bench";

/// The reason why the measurement failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SyncError {
    /// A program of Drover failed.
    #[error(transparent)]
    Drover(#[from] DroverError),
    /// The server cannot be stopped.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A request to the server failed.
    #[error(transparent)]
    Api(#[from] AdministratorError),
    /// A folder cannot be created.
    #[error("cannot create a folder for the server's data")]
    Folder(#[source] std::io::Error),
    /// The measurement exceeded its timeout.
    #[error(
        "timed out after {seconds} s: {left} of {CLUSTERS} clusters do not have the expected \
         bindings",
        seconds = TIMEOUT.as_secs()
    )]
    Slow { left: usize },
}

/// Measures the time that the server takes to apply the bindings to all clusters. Adds the result
/// to `figures`.
pub(super) async fn measure(figures: &mut Figures) -> Result<(), SyncError> {
    let folder = TempDir::with_prefix("drover-bench-").map_err(SyncError::Folder)?;
    print_progress(&format!(
        "a server with {CLUSTERS} clusters and {PEOPLE} users"
    ));
    let mut server = DemoServer::start(DemoOptions {
        folder: folder.path().to_owned(),
        port: None,
        clusters: CLUSTERS,
    })
    .await?;
    server.log_in().await?;
    server.wait_for_clusters(CLUSTERS as usize).await?;
    let clusters = server.clusters().await?;
    let names = clusters.iter().filter_map(|it| it["name"].as_str());
    let clusters: Vec<_> = names.map(str::to_owned).collect();
    let api = Administrator::of(&server, folder.path()).await?;
    let people = people(&api).await?;
    let role = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "GlobalRole",
        "metadata": { "name": ROLE }, "spec": { "inEveryCluster": ["cluster-viewer"] },
    });
    api.post(&format!("{HUB}/globalroles"), role).await?;

    print_progress("granting a role in all clusters to all users");
    let start = Instant::now();
    bind(&api).await?;
    figures.add("bind_1000_s", start.elapsed().as_secs_f64(), Goal::None);
    until(&api, &clusters, start, |there| people.is_subset(there)).await?;
    let name = "sync_1000x200_s";
    figures.add(name, start.elapsed().as_secs_f64(), Goal::AtMost(60.0));

    print_progress("and away");
    let start = Instant::now();
    api.delete(&format!("{HUB}/globalroles/{ROLE}")).await?;
    until(&api, &clusters, start, |there| people.is_disjoint(there)).await?;
    let name = "take_away_1000x200_s";
    figures.add(name, start.elapsed().as_secs_f64(), Goal::None);
    Ok(stop(server.running()).await?)
}

/// Creates users, and returns the names that the users have in clusters.
async fn people(api: &Administrator) -> Result<HashSet<String>, SyncError> {
    let one = async |n: usize| {
        let user = json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "User",
            "metadata": { "name": person(n) }, "spec": {},
        });
        let created = api.post(&format!("{HUB}/users"), user).await?;
        let uid = created["metadata"]["uid"].as_str();
        let uid = uid.ok_or(AdministratorError::Unreadable {
            content: "a new user",
        })?;
        Ok(format!("drover:user:{uid}"))
    };
    let created = futures::stream::iter((0..PEOPLE).map(one));
    created.buffer_unordered(CONCURRENCY).try_collect().await
}

async fn bind(api: &Administrator) -> Result<(), SyncError> {
    let one = async |n: usize| {
        let binding = json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "GlobalRoleBinding",
            "metadata": { "name": person(n) },
            "spec": { "role": { "name": ROLE }, "subject": { "user": { "name": person(n) } } },
        });
        let path = format!("{HUB}/globalrolebindings");
        api.post(&path, binding).await.map(drop)
    };
    let created = futures::stream::iter((0..PEOPLE).map(one));
    Ok(created.buffer_unordered(CONCURRENCY).try_collect().await?)
}

fn person(n: usize) -> String {
    format!("bench-{n:04}")
}

/// Waits until the bindings of each cluster have the expected subjects.
async fn until(
    api: &Administrator,
    clusters: &[String],
    start: Instant,
    expected: impl Fn(&HashSet<String>) -> bool,
) -> Result<(), SyncError> {
    let mut remaining = clusters.to_vec();
    while let Some(cluster) = remaining.last() {
        if expected(&named(api, cluster).await?) {
            remaining.pop();
            continue;
        }
        if start.elapsed() > TIMEOUT {
            return Err(SyncError::Slow {
                left: remaining.len(),
            });
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

/// Returns the subjects of the bindings in a cluster.
async fn named(api: &Administrator, cluster: &str) -> Result<HashSet<String>, SyncError> {
    let kind = "apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let path = format!("/k8s/clusters/{cluster}/{kind}?labelSelector={ACCESS_LABEL}%3Drole");
    let list: Value = serde_json::from_str(&api.get(&path).await?).unwrap_or_default();
    let bindings = list["items"].as_array().into_iter().flatten();
    let subjects = bindings.filter_map(|binding| binding["subjects"].as_array());
    let names = subjects.flatten().filter_map(|one| one["name"].as_str());
    Ok(names.map(str::to_owned).collect())
}
