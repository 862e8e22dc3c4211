//! The menu of saved views: opens views, and the dialogs that save and manage views.

mod form;
mod manage;

use drover_api::rest::ViewView;
use drover_ui_core::messages::t;
use drover_ui_core::view::{sharing_key, title};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::menu::{Item, Menu};
use leptos::prelude::*;

use crate::chunk::LazyParts;
use crate::saved_views::SavedViews;
use crate::unsaved::UnsavedGuard;
use form::ViewForm;
use manage::ManageViews;

/// The content of the form: a new view of the current page, or a view to change.
#[derive(Clone, Debug, Default, PartialEq)]
struct EditedView {
    /// The ID of the view; `None` for a new view.
    id: Option<String>,
    name: String,
    path: String,
    /// The key of the selected sharing.
    sharing: String,
}

impl EditedView {
    /// Returns a new view of the current page.
    fn of_page() -> Self {
        let location = window().location();
        let (path, query) = (location.pathname(), location.search());
        Self {
            path: path.unwrap_or_default() + &query.unwrap_or_default(),
            ..Self::default()
        }
    }

    fn of(view: &ViewView) -> Self {
        Self {
            id: Some(view.id.clone()),
            name: view.name.clone(),
            path: view.path.clone(),
            sharing: sharing_key(view),
        }
    }
}

/// The states of the dialogs of a menu, as a context.
#[derive(Clone, Copy, Default)]
struct Dialogs {
    /// True while the form is open.
    editing: RwSignal<bool>,
    /// True while the list of views is open.
    managing: RwSignal<bool>,
    /// The content of the form.
    edited: RwSignal<EditedView>,
}

/// Shows the menu with the saved views, and its dialogs.
#[component]
pub(crate) fn ViewsMenu() -> impl IntoView {
    let (views, guard) = (
        expect_context::<SavedViews>(),
        expect_context::<UnsavedGuard>(),
    );
    // The effect runs after the first requests of the page, whose responses the page already has.
    Effect::new(move || views.refresh());
    let dialogs = Dialogs::default();
    let Dialogs {
        editing,
        managing,
        edited,
    } = dialogs;
    provide_context(dialogs);
    let content = expect_context::<LazyParts>().view_dialogs;
    let is_used = Memo::new(move |before| before == Some(&true) || editing.get() || managing.get());
    let save = move || {
        edited.set(EditedView::of_page());
        editing.set(true);
    };
    let items = move || {
        let mut items = vec![Item::action(Icon::Plus, t().views.save_menu(), save)];
        items.extend(views.all().iter().map(|view| {
            let path = view.path.clone();
            Item::action(Icon::Lines, title(view), move || guard.go(&path))
        }));
        let manage = move || managing.set(true);
        items.push(Item::action(
            Icon::Settings,
            t().views.manage_menu(),
            manage,
        ));
        items
    };
    view! {
        {move || view! { <Menu label=t().views.menu_help() items=items()>{t().views.menu()}</Menu> }}
        {move || is_used.get().then(content)}
    }
}

/// Shows the dialogs that save and manage views.
#[component]
pub(crate) fn ViewDialogs() -> impl IntoView {
    let Dialogs {
        editing,
        managing,
        edited,
    } = expect_context();
    let edit = move |view: ViewView| {
        managing.set(false);
        edited.set(EditedView::of(&view));
        editing.set(true);
    };
    view! {
        <ViewForm open=editing edited=edited/>
        <ManageViews open=managing on_edit=edit/>
    }
}
