//! The menu of saved views: opens views, and the dialogs that save and manage views.

mod form;
mod manage;

use drover_api::rest::ViewView;
use drover_ui_core::messages::t;
use drover_ui_core::view::{sharing_key, title};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::menu::{Item, Menu};
use leptos::prelude::*;

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

/// Shows the menu with the saved views, and its dialogs.
#[component]
pub(crate) fn ViewsMenu() -> impl IntoView {
    let (views, guard) = (
        expect_context::<SavedViews>(),
        expect_context::<UnsavedGuard>(),
    );
    // The effect runs after the first requests of the page, whose responses the page already has.
    Effect::new(move || views.refresh());
    let (editing, managing) = (RwSignal::new(false), RwSignal::new(false));
    let edited = RwSignal::new(EditedView::default());
    let save = move || {
        edited.set(EditedView::of_page());
        editing.set(true);
    };
    let edit = move |view: ViewView| {
        managing.set(false);
        edited.set(EditedView::of(&view));
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
        <ViewForm open=editing edited=edited/>
        <ManageViews open=managing on_edit=edit/>
    }
}
