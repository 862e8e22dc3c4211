//! Confirmation dialogs.

use drover_ui_core::messages::t;
use leptos::prelude::*;

use crate::button::{Button, Role, Weight};
use crate::dialog::Dialog;
use crate::field::TextField;
use crate::notice::{Banner, BannerKind};

/// Shows a dialog with the consequences of an action. The dialog stays open during the action and
/// after an error. The caller closes the dialog.
#[component]
pub fn Confirm(
    /// True while the dialog is open.
    open: RwSignal<bool>,
    /// The title: a question.
    #[prop(into)]
    title: String,
    /// The label of the confirm button: a verb.
    #[prop(into)]
    verb: String,
    /// The label of the cancel button.
    #[prop(into, default = t().buttons.cancel().to_owned())]
    keep: String,
    /// The text that the user must type before an irreversible action.
    #[prop(optional_no_strip, into)]
    typed: Option<String>,
    /// True while the action is running.
    #[prop(optional, into)]
    busy: Signal<bool>,
    /// The error of the action.
    #[prop(optional, into)]
    refused: Signal<Option<String>>,
    /// Runs the action.
    #[prop(into)]
    on_confirm: Callback<()>,
    /// The text about the consequences.
    children: ChildrenFn,
) -> impl IntoView {
    let words = StoredValue::new((verb, keep, typed));
    let children = StoredValue::new(children);
    view! {
        <Dialog open=open title=title held=busy>
            <Question open=open words=words busy=busy refused=refused on_confirm=on_confirm>
                {children.with_value(|children| children())}
            </Question>
        </Dialog>
    }
}

#[component]
fn Question(
    open: RwSignal<bool>,
    words: StoredValue<(String, String, Option<String>)>,
    busy: Signal<bool>,
    refused: Signal<Option<String>>,
    on_confirm: Callback<()>,
    children: Children,
) -> impl IntoView {
    let (verb, keep, required_text) = words.get_value();
    let typed = RwSignal::new(String::new());
    let label = required_text.clone();
    let incomplete = Signal::derive(move || {
        let required_text = required_text.as_ref();
        required_text.is_some_and(|required_text| typed.with(|typed| typed.trim() != required_text))
    });
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if !busy.get_untracked() && !incomplete.get_untracked() {
            on_confirm.run(());
        }
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            {children()}
            {move || refused.get().map(|reason| view! { <Banner mood=BannerKind::Error>{reason}</Banner> })}
            {label.map(|label| view! {
                <TextField label=t().kit.type_to_confirm(&label) value=typed focused=true/>
            })}
            <div class="dialog-foot">
                <Button disabled=busy on_press=move |()| open.set(false)>{keep}</Button>
                <Button weight=Weight::Danger role=Role::Submit busy=busy disabled=incomplete>
                    {verb}
                </Button>
            </div>
        </form>
    }
}
