//! The dialog that lists the saved views, with the actions on each view.

use drover_api::rest::ViewView;
use drover_ui_core::messages::t;
use drover_ui_core::view::{sharing, title};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::code::copy;
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::dialog::Dialog;
use drover_ui_kit::icon::Icon;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use crate::command::origin;
use crate::saved_views::SavedViews;
use crate::screens::form::Sending;
use crate::unsaved::UnsavedGuard;

/// Shows the dialog.
#[component]
pub(super) fn ManageViews(
    open: RwSignal<bool>,
    /// Opens the form for a view.
    #[prop(into)]
    on_edit: Callback<ViewView>,
) -> impl IntoView {
    let views = expect_context::<SavedViews>();
    let deleted = RwSignal::new(None::<ViewView>);
    let is_empty = Memo::new(move |_| views.all().is_empty());
    let row = move |view: ViewView| view! { <ViewRow view=view open=open deleted=deleted on_edit=on_edit/> };
    view! {
        <Dialog open=open title=t().views.manage_title()>
            <div class="dialog-body">
                <p class="muted">{t().views.manage_help()}</p>
                <Show when=move || !is_empty.get() fallback=|| view! { <p>{t().views.empty()}</p> }>
                    <ul class="view-list">
                        {move || views.all().iter().cloned().map(row).collect_view()}
                    </ul>
                </Show>
            </div>
        </Dialog>
        <DeleteView deleted=deleted/>
    }
}

#[component]
fn ViewRow(
    view: ViewView,
    open: RwSignal<bool>,
    deleted: RwSignal<Option<ViewView>>,
    on_edit: Callback<ViewView>,
) -> impl IntoView {
    let (toasts, guard) = (expect_context::<Toasts>(), expect_context::<UnsavedGuard>());
    let (name, path, link) = (
        title(&view),
        view.path.clone(),
        format!("{}{}", origin(), view.path),
    );
    let go = move |event: web_sys::MouseEvent| {
        event.prevent_default();
        open.set(false);
        guard.go(&path);
    };
    let copy_label = t().views.copy_link_of(&name);
    let (edit_label, delete_label) = (t().views.edit(&view.name), t().views.delete(&view.name));
    let (visible_to, target) = (sharing(&view), view.path.clone());
    let own = view.own.then(move || {
        let remove = view.clone();
        view! {
            <Button weight=Weight::Quiet icon=Icon::Settings on_press=move |()| on_edit.run(view.clone())>
                <span class="visually-hidden">{edit_label}</span>
            </Button>
            <Button weight=Weight::Quiet icon=Icon::Trash on_press=move |()| deleted.set(Some(remove.clone()))>
                <span class="visually-hidden">{delete_label}</span>
            </Button>
        }
    });
    view! {
        <li>
            <span class="two-lines">
                <a class="truncate" href=target on:click=go>{name}</a>
                <span class="muted truncate">{visible_to}</span>
            </span>
            <Button weight=Weight::Quiet icon=Icon::Copy on_press=move |()| copy(link.clone(), toasts)>
                <span class="visually-hidden">{copy_label}</span>
            </Button>
            {own}
        </li>
    }
}

/// Shows the question before the deletion of a view.
#[component]
fn DeleteView(deleted: RwSignal<Option<ViewView>>) -> impl IntoView {
    let (views, toasts) = (expect_context::<SavedViews>(), expect_context::<Toasts>());
    move || {
        let view = deleted.get()?;
        let (open, sending) = (RwSignal::new(true), Sending::new());
        let title = t().views.delete_title(&view.name);
        let go = move |()| {
            let view = view.clone();
            let id = view.id.clone();
            let request = async move { views.delete(&id).await };
            sending.send(request, move |()| {
                toasts.say(t().views.deleted(&view.name));
                let _ = open.try_set(false);
            });
        };
        Some(view! {
            <Confirm
                open=open
                title=title
                verb=t().buttons.delete()
                busy=sending.busy()
                refused=sending.elsewhere(&[])
                on_confirm=go
            >
                <p>{t().views.delete_effect()}</p>
            </Confirm>
        })
    }
}
