//! The terminals of the page. The terminals stay open while the user opens other screens.

mod dock;
mod module;
mod shell_pod;

use std::time::Duration;

use drover_api::rest::{List, TerminalCreate, TerminalView};
use drover_ui_core::problem::Problem;
use drover_ui_core::terminal::kubectl_shell::{self, KubectlShell};
use drover_ui_core::terminal::node_shell::NodeShell;
use drover_ui_core::terminal::stored::{self, ShellPod, StoredTerminal};
use drover_ui_core::terminal::{PodContainer, TerminalProgram, TerminalState};
use drover_ui_core::url::segment;
use drover_ui_kit::toast::Toasts;
use futures::future::select;
use leptos::prelude::*;
use leptos::task::spawn_local;

pub(crate) use dock::Dock;

use crate::clock::sleep;
use crate::session::{Closing, Session};
use shell_pod::OpeningPod;

const PATH: &str = "/v1/terminals";
/// The key in the storage of the browser tab, for the terminals.
const STORED: &str = "drover-terminals";
/// The time that a sign-out waits for the deletion of pods and tokens.
const SIGN_OUT_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the terminals that this browser tab had.
fn stored_terminals() -> Vec<StoredTerminal> {
    let storage = window().session_storage().ok().flatten();
    let stored = storage.and_then(|storage| storage.get_item(STORED).ok().flatten());
    stored::parse(&stored.unwrap_or_default())
}

fn store(terminals: &[StoredTerminal]) {
    if let Ok(Some(storage)) = window().session_storage() {
        // Without storage, a reload of the page does not restore the terminals.
        let _ = storage.set_item(STORED, &stored::format(terminals));
    }
}

/// A terminal in the dock.
#[derive(Clone)]
struct TerminalTab {
    /// The ID of the terminal on the server.
    id: String,
    title: String,
    state: ArcRwSignal<TerminalState>,
    /// The pod that the page created for the terminal, and deletes with the terminal.
    pod: Option<ShellPod>,
}

/// The terminals of the page, as a context of the frame.
#[derive(Clone, Copy)]
pub(crate) struct Terminals {
    session: Session,
    toasts: Toasts,
    tabs: RwSignal<Vec<TerminalTab>>,
    active: RwSignal<Option<String>>,
    minimized: RwSignal<bool>,
    /// The pods without a terminal: pods that start, and pods that are not deleted yet.
    pods: RwSignal<Vec<ShellPod>>,
}

impl Terminals {
    /// Provides the terminals as a context.
    pub(crate) fn provide() -> Self {
        let terminals = Self {
            session: expect_context::<Session>(),
            toasts: expect_context::<Toasts>(),
            tabs: RwSignal::new(Vec::new()),
            active: RwSignal::new(None),
            minimized: RwSignal::new(false),
            pods: RwSignal::new(Vec::new()),
        };
        provide_context(terminals);
        let end = move |()| Box::pin(terminals.end_kubectl_shells()) as Closing;
        terminals.session.close_before_sign_out(end);
        terminals.restore();
        terminals
    }

    /// Reports whether the page has terminals.
    pub(crate) fn has_any(self) -> Memo<bool> {
        Memo::new(move |_| self.tabs.with(|tabs| !tabs.is_empty()))
    }

    /// Shows the terminals again that this browser tab had before a reload of the page.
    fn restore(self) {
        let known = stored_terminals();
        if !known.is_empty() {
            spawn_local(async move {
                match self.session.get::<List<TerminalView>>(PATH).await {
                    Ok(list) => self.show(known, &list.items),
                    // The terminals end after two minutes.
                    Err(_) => {
                        for pod in known.into_iter().filter_map(|terminal| terminal.pod) {
                            self.delete_pod(pod);
                        }
                    }
                }
            });
        }
        Effect::new(move |was: Option<()>| {
            let terminals = self.tabs.with(|tabs| {
                let stored = |tab: &TerminalTab| StoredTerminal {
                    id: tab.id.clone(),
                    pod: tab.pod.clone(),
                };
                tabs.iter().map(stored).collect::<Vec<_>>()
            });
            let pods = self.pods.get().into_iter();
            let pods = pods.map(StoredTerminal::without_terminal);
            let terminals: Vec<_> = terminals.into_iter().chain(pods).collect();
            // The first run precedes the restored terminals.
            if was.is_some() {
                store(&terminals);
            }
        });
    }

    /// Shows the known terminals that are open. Deletes the pods of the other known terminals.
    fn show(self, known: Vec<StoredTerminal>, views: &[TerminalView]) {
        for StoredTerminal { id, pod } in known {
            let is_open = |view: &&TerminalView| view.id == id && view.ending.is_none();
            match (views.iter().find(is_open), pod) {
                (Some(view), pod) => {
                    let container = view.container.as_deref().unwrap_or_default();
                    let title = format!("{}/{container} ({})", view.pod, view.cluster);
                    self.add(id, title, pod);
                }
                (None, Some(pod)) => self.delete_pod(pod),
                (None, None) => {}
            }
        }
    }

    /// Opens a terminal in a container of a pod.
    pub(crate) async fn open_in_pod(
        self,
        container: &PodContainer,
        request: &TerminalCreate,
    ) -> Result<(), Problem> {
        let view: TerminalView = self.session.send("POST", PATH, request).await?;
        self.add(view.id, container.title(), None);
        Ok(())
    }

    /// Opens a shell on a node. `progress` receives the state of the pod while the pod starts.
    pub(crate) async fn open_on_node(
        self,
        shell: &NodeShell,
        progress: impl Fn(String),
    ) -> Result<(), Problem> {
        let container = shell.container(String::new());
        let pod = OpeningPod::create(self, container, shell.pod()).await?;
        pod.until_running(progress).await?;
        let request = pod.pod().container.request(TerminalProgram::Attach, "");
        let title = format!("{} ({})", shell.node, shell.cluster);
        self.open_in_shell_pod(pod, &request, title).await
    }

    /// Opens a shell with kubectl in a cluster. `progress` receives the state of the pod while the
    /// pod starts.
    pub(crate) async fn open_kubectl(
        self,
        shell: &KubectlShell,
        progress: impl Fn(String),
    ) -> Result<(), Problem> {
        let container = shell.container(String::new());
        let mut pod = OpeningPod::create(self, container, shell.pod()).await?;
        pod.until_running(progress).await?;
        pod.write_kubeconfig(shell).await?;
        let request = kubectl_shell::terminal(&pod.pod().container);
        self.open_in_shell_pod(pod, &request, shell.title()).await
    }

    async fn open_in_shell_pod(
        self,
        pod: OpeningPod,
        request: &TerminalCreate,
        title: String,
    ) -> Result<(), Problem> {
        let view: TerminalView = self.session.send("POST", PATH, request).await?;
        self.add(view.id, title, Some(pod.opened()));
        Ok(())
    }

    fn add(self, id: String, title: String, pod: Option<ShellPod>) {
        let tab = TerminalTab {
            id: id.clone(),
            title,
            state: ArcRwSignal::new(TerminalState::default()),
            pod,
        };
        self.tabs.update(|tabs| tabs.push(tab));
        self.active.set(Some(id));
        self.minimized.set(false);
    }

    /// Closes a terminal, and shows the next terminal.
    fn close(self, id: &str) {
        let mut closed = None;
        self.tabs.update(|tabs| {
            if let Some(at) = tabs.iter().position(|tab| tab.id == id) {
                closed = Some(tabs.remove(at));
            }
        });
        let Some(tab) = closed else { return };
        let next = self
            .tabs
            .with_untracked(|tabs| tabs.last().map(|tab| tab.id.clone()));
        if self
            .active
            .with_untracked(|active| active.as_deref() == Some(id))
        {
            self.active.set(next);
        }
        let path = format!("{PATH}/{}", segment(id));
        let ended = tab.state.with_untracked(TerminalState::is_ended);
        spawn_local(async move {
            // An error means that the terminal has ended, or ends after two minutes.
            if !ended {
                let _ = self.session.delete(&path).await;
            }
            if let Some(pod) = tab.pod {
                self.delete_pod(pod);
            }
        });
    }

    /// Stores a pod, so that a sign-out or a reloaded page deletes the pod.
    fn keep(self, pod: &ShellPod) {
        self.forget(pod);
        let _ = self.pods.try_update(|pods| pods.push(pod.clone()));
    }

    /// Removes a pod from the stored pods.
    fn forget(self, pod: &ShellPod) {
        let remove = |pods: &mut Vec<ShellPod>| pods.retain(|it| it.container != pod.container);
        let _ = self.pods.try_update(remove);
    }

    /// Deletes the pod of a shell and its token, or shows the errors.
    fn delete_pod(self, pod: ShellPod) {
        self.keep(&pod);
        spawn_local(async move {
            if self.end(&pod).await {
                self.forget(&pod);
            }
        });
    }

    /// Revokes the token of a shell, and deletes its pod. Shows the errors, and returns true without
    /// errors.
    async fn end(self, pod: &ShellPod) -> bool {
        let revoked = shell_pod::revoke(self.session, pod).await;
        let deleted = shell_pod::delete(self.session, pod).await;
        let errors = [revoked, deleted].into_iter().filter_map(Result::err);
        errors.map(|words| self.toasts.warn(words)).count() == 0
    }

    /// Ends the shells whose pods contain a token. The tokens do not end with the session.
    async fn end_kubectl_shells(self) {
        let opened = self.tabs.with_untracked(|tabs| {
            let pods = tabs.iter().filter_map(|tab| tab.pod.clone());
            pods.collect::<Vec<_>>()
        });
        let pods = opened.into_iter().chain(self.pods.get_untracked());
        let pods: Vec<_> = pods.filter(|pod| pod.token.is_some()).collect();
        let end = async {
            // The tokens precede the pods, because a cluster can be slow.
            for pod in &pods {
                if let Err(words) = shell_pod::revoke(self.session, pod).await {
                    self.toasts.warn(words);
                }
            }
            for pod in &pods {
                if let Err(words) = shell_pod::delete(self.session, pod).await {
                    self.toasts.warn(words);
                }
            }
        };
        // The lifetime of the pods and tokens limits the effect of an error.
        select(Box::pin(end), Box::pin(sleep(SIGN_OUT_TIMEOUT))).await;
    }
}
