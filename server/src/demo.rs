//! Simulated clusters that the server runs beside itself, for demonstrations and tests.
//!
//! Each is a real Kubernetes API with simulated nodes (`drover-simulate`), registered with a
//! registration token and joined by the code of the real agent over a real tunnel: to the rest of
//! the server it is a cluster like any other. Its state lies in a folder of its own, so that it is
//! still the same after a restart; a folder beyond the number asked for is that of a cluster which
//! is to go.

mod join;
mod limits;
mod memory;
mod place;

use std::sync::Arc;
use std::time::Duration;

use drover_api::kinds::{Cluster, ClusterSpec};
use drover_simulate::{ClusterOptions, Plan};
use kube::{Resource as _, ResourceExt as _};
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
use drover_hub::{Hub, HubError, Writer, call, only};

/// Label of a Cluster that this module made: no other is ever touched.
const SIMULATED: &str = "management.drover.dev/simulated";
/// Clusters that start at the same time.
const STARTING: usize = 4;

/// How many clusters, and where their state lies.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// As many as there shall be; those beyond are removed.
    pub clusters: u32,
    /// Their folder.
    pub folder: DemoFolder,
}

/// Why a simulated cluster is not there.
#[derive(Debug, Error)]
pub enum DemoError {
    /// Its folder cannot be used.
    #[error("cannot keep the simulated cluster's state")]
    Folder(#[from] std::io::Error),
    /// Somebody else's Cluster has its name.
    #[error(
        "a Cluster with this name exists that is no simulated one; delete it, or ask for fewer \
         with --demo-clusters"
    )]
    Taken,
    /// It does not run.
    #[error(transparent)]
    Start(#[from] drover_simulate::StartError),
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// It is not joined.
    #[error(transparent)]
    Join(#[from] JoinError),
}

/// Runs them until `stop`.
pub(crate) async fn run(
    options: DemoOptions,
    hub: Hub,
    registration: RegistrationState,
    stop: CancellationToken,
) {
    let starting = Arc::new(Semaphore::new(STARTING));
    let mut clusters = JoinSet::new();
    let wanted: Vec<String> = (0..options.clusters).map(name).collect();
    let leftovers = options.folder.names().into_iter();
    let leftovers = leftovers.filter(|name| !wanted.contains(name));
    let going = leftovers.map(|name| (name, Plan::empty(1), Fate::Goes));
    let staying =
        (0..options.clusters).map(|number| (name(number), Plan::demo(number), Fate::Stays));
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
            tracing::error!(%error, "a simulated cluster did not end by itself");
        }
    }
}

/// The names of the first three say what they show.
fn name(number: u32) -> String {
    match number {
        0 => "demo-small".to_owned(),
        1 => "demo-large".to_owned(),
        2 => "demo-troubled".to_owned(),
        number => format!("demo-{:03}", number + 1),
    }
}

/// What is to become of a cluster.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    Goes,
}

/// How a cluster's time ended.
enum Ended {
    /// The server ends; its state is kept.
    Stopped,
    /// Its Cluster was deleted; nothing of it is kept.
    Gone,
}

struct Simulated {
    name: String,
    plan: Plan,
    fate: Fate,
    folder: place::ClusterFolder,
    hub: Hub,
    registration: RegistrationState,
    starting: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Simulated {
    /// Tries until it works, then runs until the server ends or the Cluster is deleted.
    async fn keep(self) {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(1));
        while !self.stop.is_cancelled() {
            match Box::pin(self.live()).await {
                Ok(Ended::Stopped) => return,
                Ok(Ended::Gone) => return self.forget(),
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(
                        cluster.name = self.name,
                        error,
                        "a simulated cluster is away"
                    );
                }
            }
            let pause = tokio::time::sleep(backoff.next_delay());
            self.stop.run_until_cancelled(pause).await;
        }
    }

    fn forget(&self) {
        match self.folder.remove() {
            Ok(()) => tracing::info!(cluster.name = self.name, "a simulated cluster is gone"),
            Err(error) => {
                tracing::warn!(cluster.name = self.name, %error, "a simulated cluster's folder stays");
            }
        }
    }

    async fn live(&self) -> Result<Ended, DemoError> {
        let turn = Arc::clone(&self.starting).acquire_owned().await;
        let Some(cluster) = self.member().await? else {
            return Ok(Ended::Gone);
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

    /// Its Cluster on the hub, made if it is to stay.
    async fn member(&self) -> Result<Option<Cluster>, DemoError> {
        let api = self.hub.clusters();
        let found = call("read a simulated cluster", api.get_opt(&self.name)).await?;
        if let Some(cluster) = found {
            let ours = cluster.labels().contains_key(SIMULATED);
            // A deletion that was under way goes on; the agent is needed for it.
            return if ours {
                Ok(Some(cluster))
            } else {
                Err(DemoError::Taken)
            };
        }
        if self.fate == Fate::Goes {
            return Ok(None);
        }
        let spec = ClusterSpec {
            description: Some(self.plan.description.clone()),
            ..ClusterSpec::default()
        };
        let mut cluster = Cluster::new(&self.name, spec);
        cluster
            .labels_mut()
            .insert(SIMULATED.to_owned(), "true".to_owned());
        let writer = Writer::new(api, &self.hub.stores().clusters);
        let made = writer
            .create("create a simulated cluster", &cluster)
            .await?;
        Ok(Some(made))
    }

    async fn until_the_end(
        &self,
        cluster: &Cluster,
        agent: join::Agent,
    ) -> Result<Ended, DemoError> {
        let uid = cluster.uid().unwrap_or_default();
        if self.fate == Fate::Goes && cluster.meta().deletion_timestamp.is_none() {
            let params = only(Some(uid.clone()));
            let api = self.hub.clusters();
            call(
                "delete a simulated cluster",
                api.delete(&self.name, &params),
            )
            .await?;
        }
        let stop = self.stop.child_token();
        let gone = async {
            while !self.hub.stores().clusters.wait_until_gone(&uid).await {}
            stop.cancel();
        };
        // The agent ends when the server does, or when its Cluster is gone.
        tokio::select! {
            () = agent.run(stop.clone()) => {}
            () = async { gone.await; std::future::pending().await } => {}
        }
        Ok(if self.stop.is_cancelled() {
            Ended::Stopped
        } else {
            Ended::Gone
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_clusters_may_have_and_differ() {
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
