//! A real control plane with the program `drover-agent`.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use drover_api::group::AGENT_NAMESPACE;
use drover_e2e::{
    Agent, AgentOptions, CommandError, ControlPlane, DroverError, Options, StartError,
};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use serde_json::json;

use super::super::bundles::NAMESPACE;
use super::super::requests::Requests;
use crate::scale::{Stage, StageError};

/// Timeout of a change.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Prefix of the user names of the agent's service accounts.
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
    /// A file cannot be written.
    #[error("cannot write {path}")]
    Write { path: PathBuf, source: io::Error },
    /// The cluster cannot be watched.
    #[error("cannot watch a ConfigMap in the cluster")]
    Watch(#[source] Box<kube::Error>),
    /// The change did not reach the cluster.
    #[error("the change did not reach the cluster within {} s", TIMEOUT.as_secs())]
    NotChanged,
}

/// A control plane with its agent. Dropping the value stops both.
pub(super) struct Member {
    agent: Agent,
    cluster: ControlPlane,
}

impl Member {
    /// Starts a control plane, imports it, and starts its agent.
    pub(super) async fn start(stage: &mut Stage, name: &str) -> Result<Self, ControlPlaneError> {
        let cluster = ControlPlane::start(Options {
            name: name.to_owned(),
            audit: true,
            ..Options::default()
        })
        .await?;
        let manifest = stage.import_named(name).await?;
        let kubectl = cluster.command_line().with_stdin(manifest);
        kubectl.run(["apply", "-f", "-"]).await?;
        let mut agent = Agent::start(AgentOptions {
            replica: format!("{name}-agent"),
            kubeconfig: kubeconfig(&cluster).await?,
            logs: cluster.logs(),
            arguments: Vec::new(),
        })?;
        agent.wait_until_connected().await?;
        Ok(Self { agent, cluster })
    }

    pub(super) fn name(&self) -> &str {
        self.cluster.name()
    }

    /// Returns the process ID of the agent.
    pub(super) fn agent_id(&self) -> u32 {
        self.agent.id()
    }

    /// Returns the numbers of requests of the agent to its cluster since its start by verb and resource,
    /// except watches and Leases.
    pub(super) fn requests(&self) -> Result<Requests, ControlPlaneError> {
        let events = self.cluster.audit_events()?.into_iter();
        let requests = events.filter_map(|event| {
            let object = event.object_ref?;
            let is_agent = event.user.username.starts_with(ACCOUNTS);
            let is_counted = event.stage == "ResponseComplete" && event.verb != "watch";
            (is_agent && is_counted && object.resource != "leases").then(|| {
                let verb = event.verb.to_uppercase();
                (verb, object.resource)
            })
        });
        Ok(requests.collect())
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

/// Writes a kubeconfig with a token of the agent's service account.
async fn kubeconfig(cluster: &ControlPlane) -> Result<PathBuf, ControlPlaneError> {
    let create = [
        "create",
        "token",
        "drover-agent",
        "--namespace",
        AGENT_NAMESPACE,
        "--duration=24h",
    ];
    let token = cluster.kubectl(create).await?.stdout;
    let authority = cluster.folder().join("agent-ca.crt");
    write(&authority, cluster.ca())?;
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "cluster",
        "clusters": [{ "name": "cluster", "cluster": {
            "server": cluster.url(), "certificate-authority": authority,
        } }],
        "users": [{ "name": "agent", "user": { "token": token.trim() } }],
        "contexts": [{ "name": "cluster", "context": { "cluster": "cluster", "user": "agent" } }],
    });
    let file = cluster.folder().join("agent.kubeconfig");
    write(&file, &config.to_string())?;
    Ok(file)
}

fn write(path: &std::path::Path, text: &str) -> Result<(), ControlPlaneError> {
    fs::write(path, text).map_err(|source| ControlPlaneError::Write {
        path: path.to_owned(),
        source,
    })
}
