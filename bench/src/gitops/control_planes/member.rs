//! A real control plane with the program `drover-agent` or Fleet's agent.

use std::time::Duration;

use drover_api::group::AGENT_NAMESPACE;
use drover_e2e::{
    Agent, AgentOptions, CommandError, ControlPlane, DroverError, FleetAgent, Options, StartError,
};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};

use super::super::bundles::NAMESPACE;
use super::super::requests::Requests;
use crate::scale::{Stage, StageError};

/// Timeout of a change.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Prefix of the user names of the service accounts of `drover-agent`.
const ACCOUNTS: &str = "system:serviceaccount:drover-agent:";

/// The reason why a control plane or its agent failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlPlaneError {
    /// The control plane failed.
    #[error(transparent)]
    ControlPlane(#[from] StartError),
    /// A command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The agent failed.
    #[error(transparent)]
    Agent(#[from] DroverError),
    /// The cluster cannot be imported.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The cluster cannot be watched.
    #[error("cannot watch a ConfigMap in the cluster")]
    Watch(#[source] Box<kube::Error>),
    /// The change did not reach the cluster.
    #[error("the change did not reach the cluster within {} s", TIMEOUT.as_secs())]
    NotChanged,
}

/// The agent of a cluster.
enum Program {
    Drover(Agent),
    Fleet(FleetAgent),
}

/// A control plane with its agent. Dropping the value stops both.
pub(super) struct Member {
    agent: Program,
    cluster: ControlPlane,
}

impl Member {
    /// Starts a control plane, imports it, and starts its agent.
    pub(super) async fn start(stage: &mut Stage, name: &str) -> Result<Self, ControlPlaneError> {
        let cluster = Self::control_plane(name).await?;
        let manifest = stage.import_named(name).await?;
        let kubectl = cluster.command_line().with_stdin(manifest);
        kubectl.run(["apply", "-f", "-"]).await?;
        let kubeconfig = cluster.account_kubeconfig(AGENT_NAMESPACE, "drover-agent");
        let mut agent = Agent::start(AgentOptions {
            replica: format!("{name}-agent"),
            kubeconfig: kubeconfig.await?,
            logs: cluster.logs(),
            arguments: Vec::new(),
        })?;
        agent.wait_until_connected().await?;
        Ok(Self {
            agent: Program::Drover(agent),
            cluster,
        })
    }

    /// Starts a control plane that writes an audit log.
    pub(super) async fn control_plane(name: &str) -> Result<ControlPlane, StartError> {
        ControlPlane::start(Options {
            name: name.to_owned(),
            audit: true,
            ..Options::default()
        })
        .await
    }

    /// Returns a member with Fleet's agent.
    pub(super) const fn of_fleet(agent: FleetAgent, cluster: ControlPlane) -> Self {
        Self {
            agent: Program::Fleet(agent),
            cluster,
        }
    }

    pub(super) fn name(&self) -> &str {
        self.cluster.name()
    }

    /// Returns the process ID of the agent.
    pub(super) fn agent_id(&self) -> u32 {
        match &self.agent {
            Program::Drover(agent) => agent.id(),
            Program::Fleet(agent) => agent.id(),
        }
    }

    /// Returns true if the agent starts a renderer.
    pub(super) const fn has_renderer(&self) -> bool {
        matches!(self.agent, Program::Drover(_))
    }

    /// Returns the numbers of requests of the agent to its cluster since its start by verb and resource,
    /// except watches and Leases.
    pub(super) fn requests(&self) -> Result<Requests, ControlPlaneError> {
        let prefix = match self.agent {
            Program::Drover(_) => ACCOUNTS,
            Program::Fleet(_) => FleetAgent::user_prefix(),
        };
        let events = self.cluster.audit_events()?;
        Ok(Requests::of_users(events, |user| user.starts_with(prefix)))
    }

    /// Starts to follow a ConfigMap.
    pub(super) async fn follow(&self, name: &str) -> Result<Change, ControlPlaneError> {
        let failed = |error| ControlPlaneError::Watch(Box::new(error));
        let api = Api::<ConfigMap>::namespaced(self.cluster.client(), NAMESPACE);
        let fields = format!("metadata.name={name}");
        let listed = api.list(&ListParams::default().fields(&fields)).await;
        let version = listed.map_err(failed)?.metadata.resource_version;
        let params = WatchParams::default().fields(&fields);
        let events = api.watch(&params, &version.unwrap_or_default()).await;
        Ok(Change(events.map_err(failed)?.boxed()))
    }
}

/// The events of a ConfigMap.
pub(super) struct Change(BoxStream<'static, kube::Result<WatchEvent<ConfigMap>>>);

impl Change {
    /// Waits until the ConfigMap has this version in its data.
    pub(super) async fn until_version(mut self, version: &str) -> Result<(), ControlPlaneError> {
        let has_version = |map: &ConfigMap| {
            let data = map.data.as_ref();
            data.and_then(|data| data.get("version"))
                .map(String::as_str)
                == Some(version)
        };
        let changed = async {
            while let Some(event) = self.0.next().await {
                match event {
                    Ok(WatchEvent::Added(map) | WatchEvent::Modified(map)) if has_version(&map) => {
                        return Ok(());
                    }
                    Ok(_) => {}
                    Err(error) => return Err(ControlPlaneError::Watch(Box::new(error))),
                }
            }
            Err(ControlPlaneError::NotChanged)
        };
        match tokio::time::timeout(TIMEOUT, changed).await {
            Ok(changed) => changed,
            Err(_) => Err(ControlPlaneError::NotChanged),
        }
    }
}
