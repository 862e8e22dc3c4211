//! The dialog that deletes an object.

use drover_ui_core::action::{Access, Action, Cascade, Change, deletion_danger};
use drover_ui_core::messages::t;
use drover_ui_kit::code::Code;
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::field::Select;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::ActionTarget;
use super::form::explained;
use crate::screens::form::Sending;
use crate::session::Session;

/// Shows the dialog that deletes an object.
#[component]
pub(super) fn DeleteDialog(target: ActionTarget, open: RwSignal<bool>) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let sending = Sending::new();
    let named = target.named.get_value();
    let object = StoredValue::new(target.object.get_untracked());
    let title = t()
        .actions
        .title(t().buttons.delete(), named.kind.name, &named.name);
    let danger = deletion_danger(named.kind);
    let typed = danger.is_some().then(|| named.name.clone());
    let danger = StoredValue::new(danger.unwrap_or_default());
    let cascade = RwSignal::new(Cascade::default().key().to_owned());
    let change = move || cascade.with(|key| Change::Delete(Cascade::of_key(key)));
    let command = Signal::derive(move || {
        let change = change();
        target
            .named
            .with_value(|named| object.with_value(|object| change.command(named, object)))
    });
    let delete = move |()| {
        let (change, named) = (untrack(change), target.named.get_value());
        let request = object.with_value(|object| change.request(&named, object));
        let access = Access::of(Action::Delete, &named);
        let request = async move {
            let answer = session.change(&request).await;
            answer.map_err(|problem| explained(problem, &access))
        };
        sending.send(request, move |_| {
            toasts.say(change.done(&named));
            // The dialog can be closed before the response arrives.
            let _ = open.try_set(false);
        });
    };
    view! {
        <Confirm
            open=open
            title=title
            verb=t().buttons.delete()
            typed=typed
            busy=sending.busy()
            refused=sending.elsewhere(&[])
            on_confirm=delete
        >
            <p>{t().actions.delete_effect()}" "{danger.get_value()}</p>
            <Select label=t().actions.cascade() options=Cascade::options() value=cascade/>
            <Code label=t().labels.command() text=command wraps=true/>
        </Confirm>
    }
}
