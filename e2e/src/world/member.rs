//! A managed cluster with its agents.

use std::time::Duration;

use serde_json::Value;
use serde_json::json;

use super::error::{WorldError, prepare};
use super::images::BuiltImage;
use super::test_user::TestUser;
use crate::control_plane::ControlPlane;
use crate::drover::Programs;
use crate::kubectl::CommandLine;
use crate::network::NodeNetwork;
use crate::node::{JoinError, Node, NodeOptions};
use crate::program::{Program, Running};
use crate::wait::eventually;

const READY: Duration = Duration::from_mins(2);
const NAMESPACE: &str = "drover-agent";
const DIRECT_USER: &str = "direct-user";
/// The condition types that are `True` when a cluster is usable.
const USABLE: [&str; 4] = ["Connected", "Registered", "APIServerReady", "AccessApplied"];

/// A managed cluster. Its agents run as processes of this machine or as pods on its node.
#[derive(Debug)]
pub struct Member {
    agents: Vec<Running>,
    manifest: String,
    /// The node of the cluster. `None` for a cluster without a node.
    pub node: Option<Node>,
    /// The control plane of the cluster.
    pub cluster: ControlPlane,
}

impl Member {
    /// Creates a member from a cluster that is not yet registered at a server.
    pub const fn new(cluster: ControlPlane, node: Option<Node>) -> Self {
        Self {
            agents: Vec::new(),
            manifest: String::new(),
            node,
            cluster,
        }
    }

    /// Returns the name with which the cluster is registered at the server.
    pub fn name(&self) -> &str {
        self.cluster.name()
    }

    /// Starts another node of the cluster. The agent's image is loaded on the node.
    pub async fn join_node(&self, name: &str) -> Result<Node, WorldError> {
        let network = NodeNetwork::acquire().await.map_err(JoinError::Network)?;
        let options = NodeOptions {
            name: name.to_owned(),
        };
        let node = Node::join(&self.cluster, network, options).await?;
        node.load_image(&BuiltImage::Agent.archive()?).await?;
        Ok(node)
    }

    /// Registers the cluster with `drover cluster import NAME | kubectl apply -f -`.
    pub async fn import(&mut self, administrator: &TestUser) -> Result<(), WorldError> {
        let drover = administrator.drover();
        let manifest = drover.run(["cluster", "import", self.name()]).await?.stdout;
        let kubectl = self.cluster.command_line().with_stdin(manifest.clone());
        kubectl.run(["apply", "-f", "-"]).await?;
        self.manifest = manifest;
        Ok(())
    }

    /// Returns the import manifest that was applied most recently.
    pub fn manifest(&self) -> &str {
        &self.manifest
    }

    /// Starts `replicas` agents as programs with the permissions of the agent's service account.
    pub async fn start_agents(&mut self, replicas: usize) -> Result<(), WorldError> {
        let kubeconfig = self.cluster.account_kubeconfig(NAMESPACE, "drover-agent");
        let kubeconfig = kubeconfig.await?;
        let program = Programs::find()?.agent;
        let begin = self.agents.len();
        for number in begin..begin + replicas {
            let name = format!("{}-agent-{number}", self.name());
            let agent = Program::new(&name, &program, &self.cluster.logs())
                .arg("--kubeconfig")
                .arg(&kubeconfig)
                .arg(format!("--replica={name}"))
                .env("HOME", self.cluster.folder())
                .env(
                    "DROVER_FAULT_FILE",
                    super::fault_file(self.cluster.folder()),
                )
                .start()?;
            self.agents.push(agent);
        }
        Ok(())
    }

    /// Returns the agents that run as processes of this machine.
    pub fn agents(&mut self) -> &mut [Running] {
        &mut self.agents
    }

    /// Stops the agents that run as processes of this machine.
    pub fn end_agents(&mut self) {
        self.agents.clear();
    }

    /// Waits until users can access the cluster through the server.
    pub async fn wait_until_usable(&mut self, administrator: &TestUser) -> Result<(), WorldError> {
        let drover = administrator.drover();
        let arguments = ["cluster", "get", self.name(), "--output=json"].map(str::to_owned);
        let subject = format!("cluster {} to be usable", self.name());
        let outcome = eventually(&subject, READY, async || {
            let output = drover.run(&arguments).await.map_err(|e| e.to_string())?;
            let view: Value = serde_json::from_str(&output.stdout).map_err(|e| e.to_string())?;
            USABLE.iter().try_for_each(|kind| holds(&view, kind))
        })
        .await;
        for agent in &mut self.agents {
            agent.check()?;
        }
        Ok(outcome?)
    }

    /// Returns a kubectl command with a direct connection to the cluster. The user has the same
    /// permissions as an administrator of the server has through Drover.
    pub async fn direct(&self) -> Result<CommandLine, WorldError> {
        let file = self.cluster.folder().join("direct.kubeconfig");
        let identity = self.cluster.identity(DIRECT_USER, None);
        let identity = identity.map_err(crate::control_plane::StartError::Pki)?;
        std::fs::write(&file, &identity.kubeconfig).map_err(prepare(&file))?;
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": DIRECT_USER},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                "name": "cluster-admin",
            },
            "subjects": [{
                "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": DIRECT_USER,
            }],
        });
        let kubectl = self.cluster.command_line();
        let apply = kubectl.clone().with_stdin(binding.to_string());
        apply.run(["apply", "-f", "-"]).await?;
        Ok(kubectl.with_kubeconfig(&file))
    }

    /// Returns the last lines of the logs of all agents.
    pub fn story(&self) -> String {
        let tails = self.agents.iter().map(|agent| {
            let (name, tail) = (agent.name(), agent.log_tail());
            format!("--- {name}:\n{tail}")
        });
        tails.collect::<Vec<_>>().join("\n")
    }
}

/// Returns an error unless the condition of the cluster is `True`. The condition is in the output
/// of `drover cluster get`.
fn holds(view: &Value, kind: &str) -> Result<(), String> {
    let conditions = view["conditions"].as_array().into_iter().flatten();
    let found = conditions.filter(|c| c["type"] == kind).collect::<Vec<_>>();
    match found.first() {
        Some(condition) if condition["status"] == "True" => Ok(()),
        Some(condition) => Err(format!("{kind}: {condition}")),
        None => Err(format!("the condition {kind} is missing")),
    }
}
