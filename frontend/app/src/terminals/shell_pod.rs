//! The pods that the page creates for shells.

use std::time::Duration;

use drover_api::rest::{IssuedToken, KubeconfigResponse};
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::terminal::kubectl_shell::{KubectlShell, with_token, write_path};
use drover_ui_core::terminal::stored::ShellPod;
use drover_ui_core::terminal::{PodContainer, PodIdentity, PodProgress};
use drover_ui_core::url::segment;
use futures::channel::oneshot;
use leptos::task::spawn_local;
use serde_json::Value;

use super::Terminals;
use crate::clock::sleep;
use crate::exec;
use crate::session::Session;

/// The path of the user's tokens.
const TOKENS: &str = "/v1/tokens";
/// Number of reads of the pod before the page gives up, one each second.
const MAX_READS: u32 = 120;

/// A pod without a terminal. Dropping the value deletes the pod and revokes its token, for example
/// if the user cancels.
pub(super) struct OpeningPod {
    terminals: Terminals,
    pod: ShellPod,
    identity: Option<PodIdentity>,
    is_opened: bool,
}

impl OpeningPod {
    /// Creates a pod. `container` is the container of the shell, without the name of the pod.
    pub(super) async fn create(
        terminals: Terminals,
        container: PodContainer,
        manifest: Value,
    ) -> Result<Self, Problem> {
        // A cancelled request drops the created pod, which deletes the pod.
        finish(async move {
            let pods = container.pods_path();
            let created: Value = terminals.session.send("POST", &pods, &manifest).await?;
            let name = created["metadata"]["name"].as_str().unwrap_or_default();
            let pod = ShellPod {
                container: PodContainer {
                    pod: name.to_owned(),
                    ..container
                },
                token: None,
            };
            terminals.keep(&pod);
            Ok(Self {
                identity: PodIdentity::of(&created, &pod.container.container),
                terminals,
                pod,
                is_opened: false,
            })
        })
        .await
    }

    /// Returns the pod.
    pub(super) fn pod(&self) -> &ShellPod {
        &self.pod
    }

    /// Returns the pod for its open terminal.
    pub(super) fn opened(mut self) -> ShellPod {
        self.is_opened = true;
        self.terminals.forget(&self.pod);
        self.pod.clone()
    }

    /// Waits until the container is running. `progress` receives the state of the pod.
    pub(super) async fn until_running(&self, progress: impl Fn(String)) -> Result<(), Problem> {
        for _ in 0..MAX_READS {
            let pod = self.read().await?;
            match PodProgress::of(&pod, &self.pod.container.container) {
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

    /// Reads the pod. Returns an error if the pod or its image is not the one that the page created.
    async fn read(&self) -> Result<Value, Problem> {
        let container = &self.pod.container;
        let pod: Value = self.terminals.session.get(&container.pod_path()).await?;
        let identity = PodIdentity::of(&pod, &container.container);
        if identity.is_some() && identity == self.identity {
            Ok(pod)
        } else {
            let words = t().terminal.pod_changed(&container.pod);
            Err(Problem::strange(&words))
        }
    }

    /// Creates the token of a kubectl shell, and writes the kubeconfig into the running container.
    pub(super) async fn write_kubeconfig(&mut self, shell: &KubectlShell) -> Result<(), Problem> {
        let session = self.terminals.session;
        let request = shell.kubeconfig_request();
        let response: KubeconfigResponse = session.send("POST", "/v1/kubeconfig", &request).await?;
        let token = create_token(self.terminals, shell, &self.pod).await?;
        self.pod.token = Some(token.metadata.id.clone());
        let config = with_token(&response.kubeconfig, &token.token);
        let config = config.ok_or_else(|| Problem::strange(t().kubectl_shell.no_kubeconfig()))?;
        self.read().await?;
        let written = exec::write(&write_path(&self.pod.container), config.expose()).await;
        written.map_err(|problem| {
            let words = t().kubectl_shell.not_written(&problem.words());
            Problem::new(ProblemKind::Failed, words)
        })
    }
}

impl Drop for OpeningPod {
    fn drop(&mut self) {
        if !self.is_opened {
            self.terminals.delete_pod(self.pod.clone());
        }
    }
}

/// Completes a request that creates an object, also if the caller stops waiting. Without a caller,
/// the response is dropped.
async fn finish<T: 'static>(
    request: impl Future<Output = Result<T, Problem>> + 'static,
) -> Result<T, Problem> {
    let (sender, receiver) = oneshot::channel();
    spawn_local(async move { drop(sender.send(request.await)) });
    let answer = receiver.await;
    answer.unwrap_or_else(|_| Err(Problem::strange(t().kubectl_shell.cancelled())))
}

/// Creates the token of the shell in a pod. A cancelled request deletes the pod and the token.
async fn create_token(
    terminals: Terminals,
    shell: &KubectlShell,
    pod: &ShellPod,
) -> Result<IssuedToken, Problem> {
    let [token, shortened] = shell.tokens(&pod.container.pod);
    let (session, mut pod) = (terminals.session, pod.clone());
    let created = finish(async move {
        let answer = match session.send("POST", TOKENS, &token).await {
            Err(problem) if problem.of_field("ttlSeconds").is_some() => {
                session.send("POST", TOKENS, &shortened).await
            }
            answer => answer,
        };
        let created: IssuedToken = answer?;
        pod.token = Some(created.metadata.id.clone());
        terminals.keep(&pod);
        Ok(Unclaimed {
            terminals,
            created: Some((created, pod)),
        })
    });
    let claimed = created.await?.created.take();
    claimed
        .map(|(token, _)| token)
        .ok_or_else(|| Problem::strange(t().kubectl_shell.cancelled()))
}

/// A token that no shell uses yet. Dropping the value deletes the token and its pod.
struct Unclaimed {
    terminals: Terminals,
    created: Option<(IssuedToken, ShellPod)>,
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some((_, pod)) = self.created.take() {
            self.terminals.delete_pod(pod);
        }
    }
}

/// Revokes the token of a shell. Returns the text of an error.
pub(super) async fn revoke(session: Session, pod: &ShellPod) -> Result<(), String> {
    let Some(id) = &pod.token else { return Ok(()) };
    let revoked = delete_existing(session, &format!("{TOKENS}/{}", segment(id))).await;
    revoked.map_err(|problem| t().kubectl_shell.not_revoked(&problem.message))
}

/// Deletes the pod of a shell. Returns the text of an error.
pub(super) async fn delete(session: Session, pod: &ShellPod) -> Result<(), String> {
    let deleted = delete_existing(session, &pod.container.pod_path()).await;
    deleted.map_err(|problem| {
        t().terminal
            .not_deleted(&pod.container.pod, &problem.message)
    })
}

async fn delete_existing(session: Session, path: &str) -> Result<(), Problem> {
    match session.delete(path).await {
        Err(problem) if problem.kind == ProblemKind::NotFound => Ok(()),
        answer => answer,
    }
}
