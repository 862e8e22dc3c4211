//! The node agents of a simulated cluster. The simulated DaemonSet controller creates their pods. This
//! module runs a node agent for each running pod.
//!
//! The node agents use the code of the program `drover-node-agent`. A simulated node has no kubelet and no
//! API server of its own: the API server of the cluster listens on the loopback address of this machine.
//! The reports therefore contain no certificates and no API server, and no node agent serves the webhook
//! of the authorized endpoint.

use std::collections::BTreeMap;

use drover_agent_link::connection::Connection;
use drover_api::agent::{NODE_TOKEN_AUDIENCE, NodeClass};
use drover_api::group::{AGENT_NAMESPACE, NODE_AGENT_NAMESPACE};
use drover_node_agent::args::NodeArgs;
use drover_node_agent::enrollment::NodeEnrollment;
use drover_node_agent::report::NodeIdentity;
use drover_node_agent::wire::{Services, assemble};
use k8s_openapi::api::authentication::v1::BoundObjectReference;
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::join::{JoinError, TOKEN_RETRY_DELAY, TokenOf, issue_token, keep_fresh};
use super::place::{ClusterFolder, NodeAgentFolder, write_private};
use super::pods::{self, RunningPod, RunningPods};

/// The node agents of one simulated cluster.
#[derive(Clone)]
pub(super) struct NodeAgents {
    pub(super) client: Client,
    /// The address and the CA of the cluster.
    pub(super) config: kube::Config,
    pub(super) folder: ClusterFolder,
}

impl NodeAgents {
    /// Runs a node agent for each running pod until `stop` is cancelled.
    pub(super) async fn run(&self, stop: &CancellationToken) {
        let pods = |running| self.start_and_stop(running, stop);
        pods::follow(&self.client, NODE_AGENT_NAMESPACE, stop, pods).await;
    }

    async fn start_and_stop(
        &self,
        mut running: watch::Receiver<RunningPods>,
        stop: &CancellationToken,
    ) {
        let mut started: BTreeMap<String, CancellationToken> = BTreeMap::new();
        let mut tasks = JoinSet::new();
        loop {
            let pods = running.borrow_and_update().clone();
            started.retain(|name, ended| {
                let keep = pods.contains_key(name);
                if !keep {
                    ended.cancel();
                }
                keep
            });
            for (name, pod) in pods {
                let mut classes = NodeClass::ALL.into_iter();
                let class = classes.find(|class| class.service_account() == pod.account);
                if let Some(class) = class.filter(|_| !started.contains_key(&name)) {
                    let ended = stop.child_token();
                    started.insert(name.clone(), ended.clone());
                    let this = self.clone();
                    let agent = NodeAgent { class, name, pod };
                    tasks.spawn(async move { this.run_pod(agent, ended).await });
                }
            }
            if running.changed().await.is_err() {
                return;
            }
            while tasks.try_join_next().is_some() {}
        }
    }

    /// Runs the node agent of one pod until `stop` is cancelled. Starts again after an error.
    async fn run_pod(&self, agent: NodeAgent, stop: CancellationToken) {
        loop {
            let starting = Box::pin(self.start(&agent, stop.clone()));
            match stop.run_until_cancelled(starting).await {
                None => return,
                Some(Ok(started)) => return Box::pin(started.run(self, &agent, &stop)).await,
                Some(Err(error)) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::debug!(error, "failed to start a simulated node agent");
                }
            }
            let pause = tokio::time::sleep(TOKEN_RETRY_DELAY);
            stop.run_until_cancelled(pause).await;
        }
    }

    async fn start(
        &self,
        agent: &NodeAgent,
        stop: CancellationToken,
    ) -> Result<Started, JoinError> {
        let (name, pod) = (&agent.name, &agent.pod);
        let folder = self.folder.node_agent(&pod.uid)?;
        self.renew_tokens(agent, &folder).await?;
        let mut config = self.config.clone();
        config.auth_info.token_file = Some(folder.token().display().to_string());
        let node = NodeArgs {
            node: pod.node.clone(),
            token_file: folder.node_token(),
            key_folder: folder.path().to_owned(),
        };
        let identity = NodeIdentity {
            node: pod.node.clone(),
            class: agent.class,
            address: None,
            pod: Some((name.clone(), pod.uid.clone())),
            kubelet: None,
            api_server: None,
        };
        Ok(Started {
            connection: assemble(&config, AGENT_NAMESPACE, name.clone(), node, stop)?,
            services: Services::new(config, None, identity, None)?,
            folder,
        })
    }

    /// Requests the tokens of the pod, as the kubelet does.
    async fn renew_tokens(
        &self,
        agent: &NodeAgent,
        folder: &NodeAgentFolder,
    ) -> Result<(), JoinError> {
        let pod = &agent.pod;
        let bound = BoundObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            name: Some(agent.name.clone()),
            uid: Some(pod.uid.clone()),
        };
        let of = |audience| TokenOf {
            namespace: NODE_AGENT_NAMESPACE,
            account: &pod.account,
            pod: Some(bound.clone()),
            audience,
        };
        let token = issue_token(&self.client, of(None)).await?;
        write_private(&folder.token(), &token)?;
        let token = issue_token(&self.client, of(Some(NODE_TOKEN_AUDIENCE))).await?;
        write_private(&folder.node_token(), &token)?;
        Ok(())
    }
}

/// A node agent with its running pod.
struct NodeAgent {
    class: NodeClass,
    /// Name of the pod.
    name: String,
    pod: RunningPod,
}

/// A node agent that is ready to run.
struct Started {
    connection: Connection<NodeEnrollment>,
    services: Services,
    folder: NodeAgentFolder,
}

impl Started {
    /// Runs the connection and the report, and renews the tokens, until `stop` is cancelled.
    async fn run(self, agents: &NodeAgents, agent: &NodeAgent, stop: &CancellationToken) {
        let renewing = keep_fresh(|| agents.renew_tokens(agent, &self.folder));
        tokio::join!(
            Box::pin(self.connection.run()),
            Box::pin(stop.run_until_cancelled(self.services.run())),
            stop.run_until_cancelled(renewing)
        );
    }
}
