//! The pod of a shell on a node.

use std::time::Duration;

use drover_api::rest::{TerminalCreate, TerminalView};
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::terminal::{NodeShell, PodContainer, PodProgress, TerminalProgram};
use drover_ui_core::url::segment;
use serde_json::Value;

use crate::clock::sleep;
use crate::session::Session;

/// Number of reads of the pod before the page gives up, one each second.
const MAX_READS: u32 = 120;

/// A pod of a shell on a node.
#[derive(Clone, Debug)]
pub(super) struct NodePod {
    pub(super) name: String,
    cluster: String,
    namespace: String,
    path: String,
}

impl NodePod {
    /// Creates the pod.
    pub(super) async fn create(session: Session, shell: &NodeShell) -> Result<Self, Problem> {
        let pods = shell.pods_path();
        let pod: Value = session.send("POST", &pods, &shell.pod()).await?;
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        Ok(Self {
            name: name.to_owned(),
            cluster: shell.cluster.clone(),
            namespace: shell.namespace.clone(),
            path: format!("{pods}/{}", segment(name)),
        })
    }

    /// Returns the pod of a terminal that is a shell on a node.
    pub(super) fn of(view: &TerminalView) -> Option<Self> {
        let is_shell = NodeShell::is_pod(&view.pod, view.container.as_deref());
        is_shell.then(|| {
            let pods = NodeShell::path_of_pods(&view.cluster, &view.namespace);
            Self {
                path: format!("{pods}/{}", segment(&view.pod)),
                name: view.pod.clone(),
                cluster: view.cluster.clone(),
                namespace: view.namespace.clone(),
            }
        })
    }

    /// Waits until the shell is running.
    pub(super) async fn until_running(
        &self,
        session: Session,
        progress: impl Fn(String),
    ) -> Result<(), Problem> {
        for _ in 0..MAX_READS {
            let pod: Value = session.get(&self.path).await?;
            match PodProgress::of(&pod) {
                PodProgress::Running => return Ok(()),
                PodProgress::Failed(reason) => {
                    return Err(Problem::strange(&t().terminal.not_started(&reason)));
                }
                PodProgress::Starting(reason) => {
                    progress(t().terminal.starting(reason.as_deref().unwrap_or_default()));
                }
            }
            sleep(Duration::from_secs(1)).await;
        }
        let reason = t().terminal.not_started(t().terminal.too_slow());
        Err(Problem::strange(&reason))
    }

    /// Returns the request for the terminal of the shell.
    pub(super) fn terminal(&self) -> TerminalCreate {
        let container = PodContainer {
            cluster: self.cluster.clone(),
            namespace: self.namespace.clone(),
            pod: self.name.clone(),
            container: NodeShell::CONTAINER.to_owned(),
        };
        container.request(TerminalProgram::Attach, "")
    }

    /// Deletes the pod.
    pub(super) async fn delete(&self, session: Session) -> Result<(), Problem> {
        session.delete(&self.path).await
    }
}
