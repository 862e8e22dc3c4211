//! The node agents of a simulated cluster. The simulated DaemonSet controller creates their pods. This
//! module runs a node agent for each running pod on a control-plane node.

use std::collections::BTreeMap;

use drover_agent_link::connection::Connection;
use drover_api::agent::{NODE_TOKEN_AUDIENCE, NodeClass};
use drover_api::group::{AGENT_NAMESPACE, NODE_AGENT_NAMESPACE};
use drover_node_agent::args::NodeArgs;
use drover_node_agent::enrollment::NodeEnrollment;
use drover_node_agent::wire::assemble;
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
            let account = NodeClass::ControlPlane.service_account();
            for (name, pod) in pods.into_iter().filter(|(_, pod)| pod.account == account) {
                if !started.contains_key(&name) {
                    let ended = stop.child_token();
                    started.insert(name.clone(), ended.clone());
                    let this = self.clone();
                    tasks.spawn(async move { this.run_pod(name, pod, ended).await });
                }
            }
            if running.changed().await.is_err() {
                return;
            }
            while tasks.try_join_next().is_some() {}
        }
    }

    /// Runs the node agent of one pod until `stop` is cancelled. Starts again after an error.
    async fn run_pod(&self, name: String, pod: RunningPod, stop: CancellationToken) {
        loop {
            let started = self.start(&name, &pod, stop.clone());
            match stop.run_until_cancelled(started).await {
                None => return,
                Some(Ok((connection, folder))) => {
                    let renewing = keep_fresh(|| self.renew_tokens(&name, &pod, &folder));
                    let renewing = stop.run_until_cancelled(renewing);
                    tokio::join!(Box::pin(connection.run()), renewing);
                    return;
                }
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
        name: &str,
        pod: &RunningPod,
        stop: CancellationToken,
    ) -> Result<(Connection<NodeEnrollment>, NodeAgentFolder), JoinError> {
        let folder = self.folder.node_agent(&pod.uid)?;
        self.renew_tokens(name, pod, &folder).await?;
        let mut config = self.config.clone();
        config.auth_info.token_file = Some(folder.token().display().to_string());
        let node = NodeArgs {
            node: pod.node.clone(),
            token_file: folder.node_token(),
            key_folder: folder.path().to_owned(),
        };
        let connection = assemble(&config, AGENT_NAMESPACE, name.to_owned(), node, stop)?;
        Ok((connection, folder))
    }

    /// Requests the tokens of the pod, as the kubelet does.
    async fn renew_tokens(
        &self,
        name: &str,
        pod: &RunningPod,
        folder: &NodeAgentFolder,
    ) -> Result<(), JoinError> {
        let bound = BoundObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            name: Some(name.to_owned()),
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
