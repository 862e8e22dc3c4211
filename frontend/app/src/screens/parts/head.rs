//! The header of a page: the pages above it, the title, the state and the actions.

use drover_ui_core::messages::t;
use drover_ui_kit::menu::{Item, Menu};
use leptos::prelude::*;
use leptos_router::components::A;

/// A link to a page above the current page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Crumb {
    /// The title of the page.
    pub(crate) words: String,
    /// The URL path of the page.
    pub(crate) path: String,
}

impl Crumb {
    pub(crate) fn new(words: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            path: path.into(),
        }
    }

    /// Returns the link to the list of clusters.
    pub(crate) fn clusters() -> Self {
        Self::new(t().frame.clusters(), "/")
    }

    /// Returns the link to the list of projects.
    pub(crate) fn projects() -> Self {
        Self::new(t().frame.projects(), "/projects")
    }

    /// Returns the link to the list of roles.
    pub(crate) fn roles() -> Self {
        Self::new(t().frame.roles(), "/roles")
    }
}

/// Shows the header of a page.
#[component]
pub(crate) fn PageHead(
    /// The pages above the page, the highest page first.
    #[prop(optional, into)]
    crumbs: Signal<Vec<Crumb>>,
    /// The title of the page.
    #[prop(into)]
    title: Signal<String>,
    /// The main action as a button, and a menu with the other actions.
    #[prop(optional, into)]
    actions: ViewFn,
    /// The state and the freshness of the page.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    let link = |Crumb { words, path }: Crumb| view! { <li><A href=path>{words}</A></li> };
    let path = move || {
        let crumbs = crumbs.get();
        (!crumbs.is_empty()).then(|| {
            view! {
                <nav class="crumbs" aria-label=t().frame.breadcrumbs()>
                    <ol>{crumbs.into_iter().map(link).collect_view()}</ol>
                </nav>
            }
        })
    };
    view! {
        <header class="page-head">
            <div class="page-title">{path}<h1>{title}</h1></div>
            {children.map(|children| children())}
            <span class="grow"></span>
            {move || actions.run()}
        </header>
    }
}

/// Shows the menu with the actions of a page.
#[component]
pub(crate) fn ActionsMenu(
    /// The object of the actions, for screen readers: `Deployment web`.
    #[prop(into)]
    of: String,
    items: Vec<Item>,
) -> impl IntoView {
    (!items.is_empty()).then(|| view! { <Menu label=of items=items>{t().actions.menu()}</Menu> })
}
