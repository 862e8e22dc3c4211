//! The dialogs that download and upload files of a container.

mod download;
mod upload;

use drover_ui_core::action::transfer::{Transfer, TransferProblem};
use drover_ui_core::action::{Access, Action};
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::quantity;
use drover_ui_core::terminal::{PodContainer, running_containers};
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::ActionTarget;
use crate::screens::form::{FormDialog, Sending};
use crate::session::Session;
use download::DownloadForm;
use upload::UploadForm;

/// Shows the dialog of a download or an upload.
#[component]
pub(super) fn TransferDialog(
    action: Action,
    target: ActionTarget,
    open: RwSignal<bool>,
) -> impl IntoView {
    let title = target.named.with_value(|named| {
        let verb = action.words().trim_end_matches('…');
        t().actions.title(verb, named.kind.name, &named.name)
    });
    view! {
        <FormDialog open=open title=title let:sending>
            {
                let containers = target.object.with_untracked(running_containers);
                let form = TransferForm { action, target, open, sending };
                match action {
                    _ if containers.is_empty() => view! { <NoContainer/> }.into_any(),
                    Action::Upload => view! { <UploadForm form=form containers=containers/> }.into_any(),
                    _ => view! { <DownloadForm form=form containers=containers/> }.into_any(),
                }
            }
        </FormDialog>
    }
}

#[component]
fn NoContainer() -> impl IntoView {
    view! {
        <EmptyState
            reason=EmptyReason::Empty
            title=t().transfer.not_running_title()
            advice=t().transfer.not_running_advice()
        />
    }
}

/// The form of a transfer.
#[derive(Clone, Copy)]
struct TransferForm {
    action: Action,
    target: ActionTarget,
    open: RwSignal<bool>,
    sending: Sending,
}

impl TransferForm {
    /// Returns a container of the pod.
    fn container(self, name: String) -> PodContainer {
        self.target.named.with_value(|named| PodContainer {
            cluster: named.cluster.clone(),
            namespace: named.namespace.clone().unwrap_or_default(),
            pod: named.name.clone(),
            container: name,
        })
    }

    /// Converts the error of a transfer. A browser does not report the reason why a WebSocket was
    /// not opened, so the page checks the permission and the state of the container.
    async fn explain(
        self,
        session: Session,
        container: &PodContainer,
        problem: TransferProblem,
    ) -> Problem {
        let mut problem = problem;
        if problem == TransferProblem::NotOpened {
            let access = self
                .target
                .named
                .with_value(|named| Access::of(self.action, named));
            if session.is_denied(&container.cluster, &access).await == Some(true) {
                return Problem::new(ProblemKind::Forbidden, access.missing() + ".");
            }
            let running = self.target.object.try_with_untracked(running_containers);
            let is_running = |running: Vec<String>| running.contains(&container.container);
            if !running.is_some_and(is_running) {
                problem = TransferProblem::NotRunning;
            }
        }
        Problem::new(ProblemKind::Failed, problem.words())
    }
}

/// Shows the buttons of a transfer.
#[component]
fn TransferFoot(
    form: TransferForm,
    /// The message after the user has cancelled the transfer.
    cancelled: &'static str,
    verb: &'static str,
    #[prop(into)] disabled: Signal<bool>,
) -> impl IntoView {
    let toasts = expect_context::<Toasts>();
    let TransferForm { open, sending, .. } = form;
    // A transfer ends with its dialog.
    on_cleanup(move || sending.stop());
    let busy = sending.busy();
    let cancel = move |()| {
        if busy.get_untracked() {
            sending.stop();
            toasts.say(cancelled);
        } else {
            open.set(false);
        }
    };
    let label = move || {
        if busy.get() {
            t().transfer.cancel()
        } else {
            t().buttons.cancel()
        }
    };
    view! {
        <div class="dialog-foot">
            <Button on_press=cancel>{label}</Button>
            <Button weight=Weight::Primary role=Role::Submit busy=busy disabled=disabled>{verb}</Button>
        </div>
    }
}

/// Returns the protocol's path of a transfer, and the name of the program.
fn command(transfer: &Transfer, container: &PodContainer) -> (String, &'static str) {
    (transfer.path(container), transfer.program())
}

/// Formats a number of bytes.
#[expect(
    clippy::cast_precision_loss,
    reason = "the text contains three digits of the number"
)]
fn bytes(count: u64) -> String {
    quantity::bytes(count as f64)
}
