//! A form in a dialog: on its way to the server, and what was refused.

use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::dialog::Dialog;
use drover_ui_kit::notice::{Banner, Mood};
use futures::future::{AbortHandle, abortable};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast as _;
use web_sys::{HtmlElement, ScrollIntoViewOptions, ScrollLogicalPosition};

/// Whether a form is being sent, and what the server said against it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    busy: RwSignal<bool>,
    problem: RwSignal<Option<Problem>>,
    /// What is on its way.
    going: StoredValue<Option<AbortHandle>>,
}

impl Sending {
    /// Nothing was sent yet.
    pub(crate) fn new() -> Self {
        Self {
            busy: RwSignal::new(false),
            problem: RwSignal::new(None),
            going: StoredValue::new(None),
        }
    }

    /// Begins anew, as a form does that is opened again.
    pub(crate) fn forget(self) {
        self.problem.set(None);
    }

    /// Whether it is on its way.
    pub(crate) fn busy(self) -> Signal<bool> {
        self.busy.into()
    }

    /// What was said against a field.
    pub(crate) fn of(self, field: &'static str) -> Signal<Option<String>> {
        let of =
            move |problem: &Option<Problem>| problem.as_ref().and_then(|it| it.of_field(field));
        Signal::derive(move || self.problem.with(of))
    }

    /// What was said that is about none of these fields.
    pub(crate) fn elsewhere(self, fields: &'static [&'static str]) -> Signal<Option<String>> {
        Signal::derive(move || {
            let problem = self.problem.get()?;
            let named = fields.iter().any(|field| problem.of_field(field).is_some());
            (!named).then_some(problem.message)
        })
    }

    /// Sends it, unless it is on its way; `then` is told the answer if there is a good one.
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

    /// The same, in the place of what is on its way: only the newest question has an answer.
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
            // The dialog and its signals may be disposed by now.
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

    /// Waits no more for what is on its way. For questions: a change is made all the same.
    pub(crate) fn stop(self) {
        let going = self.going.try_update_value(Option::take).flatten();
        if let Some(handle) = going {
            handle.abort();
        }
        let _ = self.busy.try_set(false);
    }
}

/// Brings what was refused into view: a form may be longer than its dialog, and is sent from its end.
fn show_problem() {
    let dialog = document().query_selector("dialog[open]").ok().flatten();
    let find = |wanted: &str| match &dialog {
        Some(dialog) => dialog.query_selector(wanted).ok().flatten(),
        None => document()
            .query_selector(&format!("main {wanted}"))
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

/// A dialog with a form, which begins anew whenever it is opened; while it is sent, nothing closes it.
#[component]
pub(crate) fn FormDialog<F, V>(
    /// Whether it is open.
    open: RwSignal<bool>,
    /// What it is about.
    #[prop(into)]
    title: String,
    /// Whether it must be used for another reason: it shows what cannot be shown again.
    #[prop(optional, into)]
    held: Signal<bool>,
    /// The form, and what sends it.
    children: F,
) -> impl IntoView
where
    F: Fn(Sending) -> V + Send + Sync + 'static,
    V: IntoView + 'static,
{
    let (sending, form) = (Sending::new(), StoredValue::new(children));
    let held = Signal::derive(move || sending.busy.get() || held.get());
    view! {
        <Dialog open=open title=title held=held>
            {
                sending.forget();
                form.with_value(|form| form(sending))
            }
        </Dialog>
    }
}

/// What was refused, above the fields; what is about a field stands there.
#[component]
pub(crate) fn Refusal(
    /// The form.
    sending: Sending,
    /// Fields that show their own errors.
    #[prop(default = &[])]
    fields: &'static [&'static str],
) -> impl IntoView {
    let elsewhere = sending.elsewhere(fields);
    move || {
        let why = elsewhere.get()?;
        Some(view! { <Banner mood=Mood::Error>{why}</Banner> })
    }
}

/// The buttons below a form.
#[component]
pub(crate) fn FormFoot(
    /// The dialog.
    open: RwSignal<bool>,
    /// What the form does: a verb, and with what.
    verb: &'static str,
    /// The form.
    sending: Sending,
    /// Whether the form may be submitted.
    #[prop(optional, into)]
    disabled: Signal<bool>,
    /// Another button, before these.
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
