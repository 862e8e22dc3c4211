//! The actions of the page that the palette also shows.

use drover_ui_core::messages::t;
use drover_ui_kit::icon::Icon;
use leptos::prelude::*;

use super::Command;
use crate::unsaved::UnsavedGuard;
use drover_ui_core::cluster::screen as cluster_screen;

/// An action on the object of the page.
#[derive(Clone)]
pub(crate) struct PageAction {
    pub(crate) icon: Icon,
    /// The action and the object.
    pub(crate) title: String,
    /// Opens the dialog of the action.
    pub(crate) run: Callback<()>,
}

/// A dialog of the page of a cluster that the palette opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClusterDialog {
    /// Creates objects from manifests.
    Create,
    /// Opens a shell with kubectl.
    KubectlShell,
}

impl ClusterDialog {
    const fn icon(self) -> Icon {
        match self {
            Self::Create => Icon::Plus,
            Self::KubectlShell => Icon::Terminal,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Create => t().create.menu(),
            Self::KubectlShell => t().kubectl_shell.menu(),
        }
    }
}

/// The actions of the page, as a context.
#[derive(Clone, Copy)]
pub(crate) struct PageActions {
    /// The number of the page, and its actions.
    actions: RwSignal<(u32, Vec<PageAction>)>,
    /// The number of the last page with actions.
    last: StoredValue<u32>,
    /// The dialog that a page opens, and the cluster of the page.
    requested: RwSignal<Option<(ClusterDialog, String)>>,
}

impl PageActions {
    pub(crate) fn provide() {
        provide_context(Self {
            actions: RwSignal::new((0, Vec::new())),
            last: StoredValue::new(0),
            requested: RwSignal::new(None),
        });
    }

    /// Shows actions in the palette until the reactive owner is cleaned up.
    pub(crate) fn offer(self, actions: impl Fn() -> Vec<PageAction> + Send + Sync + 'static) {
        let page = self.last.get_value() + 1;
        self.last.set_value(page);
        Effect::new(move || self.actions.set((page, actions())));
        on_cleanup(move || {
            // The next page can offer its actions before this page is cleaned up, and the frame
            // can be disposed before the page.
            let _ = self.actions.try_maybe_update(|(owner, actions)| {
                let is_own = *owner == page;
                if is_own {
                    actions.clear();
                }
                (is_own, ())
            });
        });
    }

    /// Opens a dialog when the palette requests it for the cluster.
    pub(crate) fn open_in(
        self,
        cluster: Memo<String>,
        dialog: ClusterDialog,
        open: RwSignal<bool>,
    ) {
        Effect::new(move || {
            let is_requested = self.requested.with(|requested| {
                let is_own = |(it, name): &(ClusterDialog, String)| {
                    *it == dialog && cluster.with(|cluster| cluster == name)
                };
                requested.as_ref().is_some_and(is_own)
            });
            if is_requested {
                self.requested.set(None);
                open.set(true);
            }
        });
    }

    /// Returns the entries of the actions. Cancels a request whose page did not open.
    pub(super) fn commands(self) -> Vec<Command> {
        self.requested
            .update_untracked(|requested| *requested = None);
        let command = |PageAction { icon, title, run }| Command {
            icon,
            title,
            kind: t().palette.kind_command().to_owned(),
            run,
        };
        let (_, actions) = self.actions.get();
        actions.into_iter().map(command).collect()
    }

    /// Returns the entry that opens a dialog of a cluster.
    pub(super) fn dialog(self, dialog: ClusterDialog, cluster: &str) -> Command {
        let guard = expect_context::<UnsavedGuard>();
        let cluster = cluster.to_owned();
        Command {
            icon: dialog.icon(),
            title: t().palette.of_cluster(&cluster, dialog.words()),
            kind: t().palette.kind_command().to_owned(),
            run: Callback::new(move |()| {
                self.requested.set(Some((dialog, cluster.clone())));
                guard.go(&cluster_screen(&cluster));
            }),
        }
    }
}
