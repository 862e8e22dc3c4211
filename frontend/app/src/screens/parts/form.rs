//! Forms in dialogs: sending, errors and buttons.

use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::dialog::Dialog;
use drover_ui_kit::notice::{Banner, BannerKind};
use futures::future::{AbortHandle, abortable};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast as _;
use web_sys::{HtmlElement, ScrollIntoViewOptions, ScrollLogicalPosition};

/// The state of a form: the pending request, and the error of the previous request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    busy: RwSignal<bool>,
    problem: RwSignal<Option<Problem>>,
    /// The handle that aborts the pending request.
    going: StoredValue<Option<AbortHandle>>,
}

impl Sending {
    /// Creates the state of a form without a request.
    pub(crate) fn new() -> Self {
        Self {
            busy: RwSignal::new(false),
            problem: RwSignal::new(None),
            going: StoredValue::new(None),
        }
    }

    /// Resets the error when the form opens again.
    pub(crate) fn forget(self) {
        self.problem.set(None);
    }

    /// Reports whether a request is pending.
    pub(crate) fn busy(self) -> Signal<bool> {
        self.busy.into()
    }

    /// Returns the error of a field.
    pub(crate) fn of(self, field: &'static str) -> Signal<Option<String>> {
        let of =
            move |problem: &Option<Problem>| problem.as_ref().and_then(|it| it.of_field(field));
        Signal::derive(move || self.problem.with(of))
    }

    /// Returns the error of the last request, unless the error refers to one of `fields`.
    pub(crate) fn elsewhere(self, fields: &'static [&'static str]) -> Signal<Option<String>> {
        Signal::derive(move || {
            let problem = self.problem.get()?;
            let named = fields.iter().any(|field| problem.of_field(field).is_some());
            (!named).then_some(problem.message)
        })
    }

    /// Sends a request unless a request is pending. `then` receives the response of a successful
    /// request.
    pub(crate) fn send<T: 'static>(
        self,
        request: impl Future<Output = Result<T, Problem>> + 'static,
        then: impl FnOnce(T) + 'static,
    ) {
        if self.busy.get_untracked() {
            return;
        }
        self.send_instead(request, then);
    }

    /// Aborts the pending request, and sends a new request. `then` receives the response of a
    /// successful request.
    pub(crate) fn send_instead<T: 'static>(
        self,
        request: impl Future<Output = Result<T, Problem>> + 'static,
        then: impl FnOnce(T) + 'static,
    ) {
        self.stop();
        let (request, handle) = abortable(request);
        self.going.set_value(Some(handle));
        self.busy.set(true);
        self.problem.set(None);
        spawn_local(async move {
            let Ok(answer) = request.await else { return };
            // The dialog and its signals can be disposed before the response arrives.
            let _ = self.busy.try_set(false);
            match answer {
                Ok(answer) => then(answer),
                Err(refused) => {
                    let _ = self.problem.try_set(Some(refused));
                    request_animation_frame(show_problem);
                }
            }
        });
    }

    /// Aborts the pending request. Use the method only for reads, and for uploads whose incomplete
    /// result the page reports, because the server can still apply a change after the abort.
    pub(crate) fn stop(self) {
        let going = self.going.try_update_value(Option::take).flatten();
        if let Some(handle) = going {
            handle.abort();
        }
        let _ = self.busy.try_set(false);
    }
}

/// Scrolls to the error. A form can be longer than its dialog, and the submit button is at the end.
fn show_problem() {
    let dialog = document().query_selector("dialog[open]").ok().flatten();
    let find = |name: &str| match &dialog {
        Some(dialog) => dialog.query_selector(name).ok().flatten(),
        None => document()
            .query_selector(&format!("main {name}"))
            .ok()
            .flatten(),
    };
    let field = find("[aria-invalid=true]").and_then(|it| it.dyn_into::<HtmlElement>().ok());
    match field {
        // The focus scrolls the field into view.
        Some(field) => drop(field.focus()),
        None => {
            if let Some(banner) = find(".banner.error") {
                let nearest = ScrollIntoViewOptions::new();
                nearest.set_block(ScrollLogicalPosition::Nearest);
                banner.scroll_into_view_with_scroll_into_view_options(&nearest);
            }
        }
    }
}

/// Shows a dialog with a form. The form resets when the dialog opens. The dialog cannot be closed
/// while a request is pending.
#[component]
pub(crate) fn FormDialog<F, V>(
    /// True while the dialog is open.
    open: RwSignal<bool>,
    #[prop(into)] title: String,
    /// True if the dialog must stay open, for example while the dialog shows a secret.
    #[prop(optional, into)]
    is_locked: Signal<bool>,
    /// Renders the form.
    children: F,
) -> impl IntoView
where
    F: Fn(Sending) -> V + Send + Sync + 'static,
    V: IntoView + 'static,
{
    let (sending, form) = (Sending::new(), StoredValue::new(children));
    let is_locked = Signal::derive(move || sending.busy.get() || is_locked.get());
    view! {
        <Dialog open=open title=title held=is_locked>
            {
                sending.forget();
                form.with_value(|form| form(sending))
            }
        </Dialog>
    }
}

/// Shows the error of the form above its fields. Errors of the listed fields appear at the fields.
#[component]
pub(crate) fn Refusal(
    /// The state of the form.
    sending: Sending,
    /// The names of the form fields that show the server's errors next to their inputs.
    #[prop(default = &[])]
    fields: &'static [&'static str],
) -> impl IntoView {
    let elsewhere = sending.elsewhere(fields);
    move || {
        let reason = elsewhere.get()?;
        Some(view! { <Banner mood=BannerKind::Error>{reason}</Banner> })
    }
}

/// Shows the buttons below a form.
#[component]
pub(crate) fn FormFoot(
    /// True while the dialog is open.
    open: RwSignal<bool>,
    /// The label of the submit button: a verb and its object.
    verb: &'static str,
    /// The state of the form.
    sending: Sending,
    /// True to disable the submit button.
    #[prop(optional, into)]
    disabled: Signal<bool>,
    /// An additional button before the cancel button.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <div class="dialog-foot">
            {children.map(|children| children())}
            <Button disabled=sending.busy() on_press=move |()| open.set(false)>{t().buttons.cancel()}</Button>
            <Button weight=Weight::Primary role=Role::Submit busy=sending.busy() disabled=disabled>{verb}</Button>
        </div>
    }
}
