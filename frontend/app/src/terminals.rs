//! The terminals of the page. The terminals stay open while the user opens other screens.

mod dock;
mod module;
mod node_pod;

use drover_api::rest::{List, TerminalCreate, TerminalView};
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::terminal::{NodeShell, PodContainer, TerminalState};
use drover_ui_core::url::segment;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos::task::spawn_local;

pub(crate) use dock::Dock;

use crate::session::Session;
use node_pod::NodePod;

const PATH: &str = "/v1/terminals";
/// The key in the storage of the browser tab, for the IDs of the terminals.
const STORED: &str = "drover-terminals";

/// Returns the IDs of the terminals that this browser tab had.
fn stored_ids() -> Vec<String> {
    let storage = window().session_storage().ok().flatten();
    let stored = storage.and_then(|storage| storage.get_item(STORED).ok().flatten());
    let ids = stored.unwrap_or_default();
    let ids = ids.split(',').filter(|id| !id.is_empty());
    ids.map(str::to_owned).collect()
}

fn store_ids(ids: &str) {
    if let Ok(Some(storage)) = window().session_storage() {
        // Without storage, a reload of the page does not restore the terminals.
        let _ = storage.set_item(STORED, ids);
    }
}

/// A terminal in the dock.
#[derive(Clone)]
struct TerminalTab {
    /// The ID of the terminal on the server.
    id: String,
    title: String,
    state: ArcRwSignal<TerminalState>,
    /// The pod of a node shell, which the page deletes with the terminal.
    pod: Option<NodePod>,
}

/// The terminals of the page, as a context of the frame.
#[derive(Clone, Copy)]
pub(crate) struct Terminals {
    session: Session,
    toasts: Toasts,
    tabs: RwSignal<Vec<TerminalTab>>,
    active: RwSignal<Option<String>>,
    minimized: RwSignal<bool>,
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
        };
        provide_context(terminals);
        terminals.restore();
        terminals
    }

    /// Shows the terminals again that this browser tab had before a reload of the page.
    fn restore(self) {
        let known = stored_ids();
        if !known.is_empty() {
            spawn_local(async move {
                // Without a response, the terminals end after two minutes.
                let Ok(list) = self.session.get::<List<TerminalView>>(PATH).await else {
                    return;
                };
                let views = list.items.into_iter();
                for view in views.filter(|view| known.contains(&view.id) && view.ending.is_none()) {
                    let pod = NodePod::of(&view);
                    let container = view.container.unwrap_or_default();
                    let title = format!("{}/{container} ({})", view.pod, view.cluster);
                    self.add(view.id, title, pod);
                }
            });
        }
        Effect::new(move |was: Option<()>| {
            let ids = self.tabs.with(|tabs| {
                let ids = tabs.iter().map(|tab| tab.id.as_str());
                ids.collect::<Vec<_>>().join(",")
            });
            // The first run precedes the restored terminals.
            if was.is_some() {
                store_ids(&ids);
            }
        });
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
        let pod = NodePod::create(self.session, shell).await?;
        let opened = async {
            pod.until_running(self.session, progress).await?;
            self.session.send("POST", PATH, &pod.terminal()).await
        };
        match opened.await {
            Ok(TerminalView { id, .. }) => {
                let title = format!("{} ({})", shell.node, shell.cluster);
                self.add(id, title, Some(pod));
                Ok(())
            }
            Err(problem) => {
                self.delete_pod(pod);
                Err(problem)
            }
        }
    }

    fn add(self, id: String, title: String, pod: Option<NodePod>) {
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

    /// Deletes the pod of a node shell, or shows the error.
    fn delete_pod(self, pod: NodePod) {
        spawn_local(async move {
            if let Err(problem) = pod.delete(self.session).await {
                let words = t().terminal.not_deleted(&pod.name, &problem.message);
                self.toasts.warn(words);
            }
        });
    }
}
