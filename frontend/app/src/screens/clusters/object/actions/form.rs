//! The dialog of an action, and the form that sends the change.

use std::sync::Arc;

use drover_ui_core::action::{Access, Action, Change, explain_problem};
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::messages::t;
use drover_ui_core::object::Object;
use drover_ui_core::problem::Problem;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::code::Code;
use drover_ui_kit::toast::{ToastButton, Toasts};
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde_json::Value;

use super::ActionTarget;
use crate::screens::form::{FormDialog, Refusal, Sending};
use crate::session::Session;

/// The open dialog of an action.
#[derive(Clone, Copy)]
pub(super) struct ActionForm {
    pub(super) action: Action,
    pub(super) named: StoredValue<KubectlObject>,
    /// The state of the object when the dialog opened.
    pub(super) object: StoredValue<Object>,
    /// The current state of the object.
    current: Signal<Object>,
    open: RwSignal<bool>,
    sending: Sending,
}

impl ActionForm {
    /// Returns the name of the object.
    pub(super) fn name(self) -> String {
        self.named.with_value(|named| named.name.clone())
    }
}

/// Shows the dialog of an action.
#[component]
pub(super) fn ActionDialog<F, V>(
    action: Action,
    target: ActionTarget,
    open: RwSignal<bool>,
    /// Renders the form.
    children: F,
) -> impl IntoView
where
    F: Fn(ActionForm) -> V + Send + Sync + 'static,
    V: IntoView + 'static,
{
    let title = target.named.with_value(|named| {
        let verb = action.words().trim_end_matches('…');
        t().actions.title(verb, named.kind.name, &named.name)
    });
    let object = StoredValue::new(target.object.get_untracked());
    view! {
        <FormDialog open=open title=title let:sending>
            {children(ActionForm { action, named: target.named, object, current: target.object, open, sending })}
        </FormDialog>
    }
}

/// Shows the fields of an action, the equivalent command and the buttons.
#[component]
pub(super) fn ChangeForm(
    dialog: ActionForm,
    /// The change with the entered parameters; `None` while a field is invalid.
    #[prop(into)]
    change: Signal<Option<Change>>,
    /// The fields and the consequences.
    children: Children,
) -> impl IntoView {
    let ActionForm {
        action,
        named,
        object,
        current,
        open,
        sending,
    } = dialog;
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let command = move || {
        let of = |change: Change| {
            named.with_value(|named| object.with_value(|object| change.command(named, object)))
        };
        change.get().map(of)
    };
    let verb = Memo::new(move |last: Option<&&'static str>| {
        let verb = change.with(|change| change.as_ref().map(Change::verb));
        let word = || action.words().trim_end_matches('…');
        verb.or_else(|| last.copied()).unwrap_or_else(word)
    });
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let Some(change) = change.get_untracked() else {
            return;
        };
        let (named, opened) = (named.get_value(), object.get_value());
        let object = change.base(&opened, &current.get_untracked()).clone();
        let access = Access::of(action, &named);
        let request = change.request(&named, &object);
        let request = async move {
            let answer = session.change(&request).await;
            answer.map_err(|problem| explained(problem, &access))
        };
        sending.send(request, move |answer| {
            report(session, toasts, &change, named, &object, answer);
            // The dialog can be closed before the response arrives.
            let _ = open.try_set(false);
        });
    };
    let weight = match action {
        Action::Evict => Weight::Danger,
        _ => Weight::Primary,
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            {children()}
            <Refusal sending=sending/>
            {move || command().map(|line| view! { <Code label=t().labels.command() text=line wraps=true/> })}
            <div class="dialog-foot">
                <Button disabled=sending.busy() on_press=move |()| open.set(false)>{t().buttons.cancel()}</Button>
                <Button
                    weight=weight
                    role=Role::Submit
                    busy=sending.busy()
                    disabled=Signal::derive(move || change.with(Option::is_none))
                >
                    {verb}
                </Button>
            </div>
        </form>
    }
}

/// Adds the next step to the error of a change.
pub(super) fn explained(problem: Problem, access: &Access) -> Problem {
    Problem {
        message: explain_problem(&problem, access),
        ..problem
    }
}

/// Shows the success of a change, with a button that undoes the change.
fn report(
    session: Session,
    toasts: Toasts,
    change: &Change,
    named: KubectlObject,
    before: &Object,
    answer: Value,
) {
    let done = change.done(&named);
    let Some(undo) = change.undo(before) else {
        toasts.say(done);
        return;
    };
    // The response of most changes is the changed object.
    let request = undo.request(&named, &Object::from(answer));
    let name = named.name;
    let on_press = move || {
        let (request, name) = (request.clone(), name.clone());
        spawn_local(async move {
            match session.change(&request).await {
                Ok(_) => toasts.say(t().actions.undone(&name)),
                Err(problem) => toasts.warn(t().actions.cannot_undo(&problem.message)),
            }
        });
    };
    let button = ToastButton {
        label: t().actions.undo(),
        on_press: Arc::new(on_press),
    };
    toasts.offer(done, button);
}
