//! Simulated clusters in the server's process, for demonstrations and tests. Each cluster is a
//! Kubernetes API with simulated nodes (`drover-simulate`). The server registers each cluster with
//! a registration token. An agent in the server's process connects the cluster over a tunnel. Each
//! cluster stores its state in a separate directory across restarts. The module removes clusters
//! above the configured number.

mod example;
mod files;
mod join;
mod limits;
mod memory;
mod node_agents;
mod place;
mod pods;

use std::sync::Arc;
use std::time::Duration;

use drover_api::kinds::{Cluster, ClusterSpec};
use drover_simulate::{ClusterOptions, Plan};
use kube::{Resource as _, ResourceExt as _};
use serde_json::json;
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use join::JoinError;
pub use limits::{Limits, TooMany};
pub use memory::in_small_pages;
pub use place::DemoFolder;

use drover_agent_gateway::registration::RegistrationState;
use drover_entropy::backoff::Backoff;
use drover_git_hosting::Repositories;
use drover_hub::{Hub, HubError, call};

/// Label of the Clusters that this module created. The module changes only Clusters with the label.
const SIMULATED: &str = "management.drover.dev/simulated";
/// Label with the environment of a simulated cluster: `dev` or `prod`. The example repository has
/// different content for each environment.
const ENVIRONMENT: &str = "env";
/// Maximum number of clusters that start at the same time.
const START_CONCURRENCY: usize = 4;

/// Options of the simulated clusters: their number and the directory of their state.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// Number of clusters. The server removes simulated clusters with higher numbers.
    pub clusters: u32,
    /// Directory with one subdirectory per cluster.
    pub folder: DemoFolder,
}

/// The reason why a simulated cluster does not run.
#[derive(Debug, Error)]
pub enum DemoError {
    /// The directory of the cluster's state cannot be used.
    #[error("cannot store the state of the simulated cluster")]
    Folder(#[from] std::io::Error),
    /// A Cluster with this name exists without the label of simulated clusters.
    #[error(
        "cannot start the simulated cluster: a Cluster with the same name exists and is not \
         simulated; delete the Cluster, or use a smaller number with --demo-clusters"
    )]
    Taken,
    /// The cluster failed to start.
    #[error(transparent)]
    Start(#[from] drover_simulate::StartError),
    /// A request to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The cluster cannot be registered or connected.
    #[error(transparent)]
    Join(#[from] JoinError),
}

/// Runs the simulated clusters until `stop` is cancelled.
pub(crate) async fn run(
    options: DemoOptions,
    hub: Hub,
    registration: RegistrationState,
    repositories: Option<Repositories>,
    stop: CancellationToken,
) {
    let has_clusters = options.clusters > 0;
    let example = {
        let (hub, registration, stop) = (hub.clone(), registration.clone(), stop.clone());
        async move {
            if has_clusters {
                example::run(repositories, hub, registration, stop).await;
            }
        }
    };
    let clusters = run_clusters(options, hub, registration, stop);
    tokio::join!(example, clusters);
}

async fn run_clusters(
    options: DemoOptions,
    hub: Hub,
    registration: RegistrationState,
    stop: CancellationToken,
) {
    let starting = Arc::new(Semaphore::new(START_CONCURRENCY));
    let mut clusters = JoinSet::new();
    let desired: Vec<String> = (0..options.clusters).map(name).collect();
    let leftovers = options.folder.names().into_iter();
    let leftovers = leftovers.filter(|name| !desired.contains(name));
    let going = leftovers.map(|name| (name, Plan::empty(1), DesiredState::Goes));
    let staying = (0..options.clusters).map(|number| {
        let fate = DesiredState::Stays(environment(number));
        (name(number), Plan::demo(number), fate)
    });
    for (name, plan, fate) in staying.chain(going) {
        let simulated = Simulated {
            folder: options.folder.of(&name),
            name,
            plan,
            fate,
            hub: hub.clone(),
            registration: registration.clone(),
            starting: Arc::clone(&starting),
            stop: stop.clone(),
        };
        clusters.spawn(simulated.keep());
    }
    while let Some(ended) = clusters.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "simulated cluster did not stop before the timeout");
        }
    }
}

/// Returns the name of the simulated cluster with this number. The names of the first three
/// clusters describe their content.
fn name(number: u32) -> String {
    match number {
        0 => "demo-small".to_owned(),
        1 => "demo-large".to_owned(),
        2 => "demo-troubled".to_owned(),
        number => format!("demo-{:03}", number + 1),
    }
}

/// Returns the environment of the simulated cluster with this number.
fn environment(number: u32) -> &'static str {
    if number % 2 == 1 { "prod" } else { "dev" }
}

/// The desired state of a simulated cluster.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DesiredState {
    /// The cluster runs in this environment.
    Stays(&'static str),
    Goes,
}

/// The reason why a simulated cluster stopped.
enum StopReason {
    /// The server stops. The cluster's state is preserved.
    Stopped,
    /// The Cluster was deleted. The state of the simulated cluster is removed.
    Gone,
}

struct Simulated {
    name: String,
    plan: Plan,
    fate: DesiredState,
    folder: place::ClusterFolder,
    hub: Hub,
    registration: RegistrationState,
    starting: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Simulated {
    /// Starts the simulated cluster with retries. Runs the cluster until the server stops or the
    /// Cluster is deleted.
    async fn keep(self) {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(1));
        while !self.stop.is_cancelled() {
            match Box::pin(self.live()).await {
                Ok(StopReason::Stopped) => return,
                Ok(StopReason::Gone) => return self.forget(),
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(
                        cluster.name = self.name,
                        error,
                        "simulated cluster failed; restarting"
                    );
                }
            }
            let pause = tokio::time::sleep(backoff.next_delay());
            self.stop.run_until_cancelled(pause).await;
        }
    }

    fn forget(&self) {
        match self.folder.remove() {
            Ok(()) => tracing::info!(cluster.name = self.name, "removed a simulated cluster"),
            Err(error) => {
                tracing::warn!(cluster.name = self.name, %error, "failed to remove the folder of a simulated cluster");
            }
        }
    }

    async fn live(&self) -> Result<StopReason, DemoError> {
        let turn = Arc::clone(&self.starting).acquire_owned().await;
        let Some(cluster) = self.member().await? else {
            return Ok(StopReason::Gone);
        };
        let options = ClusterOptions::new(self.folder.file()?, self.plan.clone());
        let simulated = drover_simulate::Cluster::start(options).await?;
        let joined = join::join(&self.registration, &cluster, &simulated, &self.folder).await;
        let ended = match joined {
            Ok(agent) => {
                drop(turn);
                self.until_the_end(&cluster, agent).await
            }
            Err(error) => Err(error.into()),
        };
        simulated.stop().await;
        ended
    }

    /// Returns the Cluster from the hub. Creates a missing Cluster only if the desired state is
    /// [`DesiredState::Stays`]. Adds a missing label of the environment.
    async fn member(&self) -> Result<Option<Cluster>, DemoError> {
        let api = self.hub.clusters();
        let found = call("read a simulated cluster", api.get_opt(&self.name)).await?;
        if let Some(cluster) = found {
            let ours = cluster.labels().contains_key(SIMULATED);
            // A deletion in progress continues; it needs the agent.
            if !ours {
                return Err(DemoError::Taken);
            }
            return self.with_environment(cluster).await.map(Some);
        }
        let DesiredState::Stays(environment) = self.fate else {
            return Ok(None);
        };
        let spec = ClusterSpec {
            description: Some(self.plan.description.clone()),
            ..ClusterSpec::default()
        };
        let mut cluster = Cluster::new(&self.name, spec);
        for (label, value) in [(SIMULATED, "true"), (ENVIRONMENT, environment)] {
            let labels = cluster.labels_mut();
            labels.insert(label.to_owned(), value.to_owned());
        }
        let writer = self.hub.writer();
        let created = writer
            .create("create a simulated cluster", &cluster)
            .await?;
        Ok(Some(created))
    }

    /// Adds the label of the environment to a Cluster that an older version of Drover created.
    async fn with_environment(&self, cluster: Cluster) -> Result<Cluster, DemoError> {
        let missing = !cluster.labels().contains_key(ENVIRONMENT);
        let deleting = cluster.meta().deletion_timestamp.is_some();
        match self.fate {
            DesiredState::Stays(environment) if missing && !deleting => {
                let patch = json!({ "metadata": { "labels": { ENVIRONMENT: environment } } });
                let writer = self.hub.writer();
                let operation = "label a simulated cluster";
                Ok(writer.patch(operation, &self.name, &patch).await?)
            }
            _ => Ok(cluster),
        }
    }

    async fn until_the_end(
        &self,
        cluster: &Cluster,
        agent: join::Agent,
    ) -> Result<StopReason, DemoError> {
        let uid = cluster.uid().unwrap_or_default();
        if self.fate == DesiredState::Goes && cluster.meta().deletion_timestamp.is_none() {
            // The loop below waits until the Cluster is removed.
            let writer = self.hub.writer().without_wait();
            writer.delete("delete a simulated cluster", cluster).await?;
        }
        let stop = self.stop.child_token();
        let gone = async {
            while !self.hub.stores().clusters.wait_until_gone(&uid).await {}
            stop.cancel();
        };
        // The agent stops when the server does, or when its Cluster is deleted.
        tokio::select! {
            () = agent.run(stop.clone()) => {}
            () = async { gone.await; std::future::pending().await } => {}
        }
        Ok(if self.stop.is_cancelled() {
            StopReason::Stopped
        } else {
            StopReason::Gone
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demo_cluster_names_are_valid_and_unique() {
        let mut names: Vec<String> = (0..1200).map(name).collect();
        assert!(
            names
                .iter()
                .all(|name| name.len() <= 63 && place::is_name(name))
        );
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 1200);
    }
}
