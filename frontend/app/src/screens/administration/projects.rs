//! The list of projects, and the page of a project.

mod columns;
mod delete;
mod form;
mod one;
mod pairs;

use drover_api::rest::ProjectView;
use drover_ui_core::messages::{Noun, t};
use drover_ui_core::project::{passes, readiness};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use leptos::prelude::*;

use crate::live::Clusters;
use crate::live::listing::Listing;
use crate::screens::list::{Contents, ListKind, ListScreen, View};
use crate::screens::title::title;
use crate::session::Session;
use columns::{BY_DEFAULT, ProjectRow, columns};
use form::CreateProject;
pub(crate) use one::ProjectPage;

const PATH: &str = "/v1/projects";
const SCREEN: &str = "/projects";

/// The kind of the listed objects, and the number of placeholder lines during loading.
const PROJECTS: ListKind = ListKind {
    noun: Noun::Projects,
    lines: 6,
};

/// Shows the list of projects.
#[component]
pub(crate) fn Projects() -> impl IntoView {
    title(t().lists.heading(PROJECTS.noun));
    let listing = Listing::<ProjectView>::follow(PATH);
    let view = View::of_url(SCREEN, &columns(), BY_DEFAULT, Vec::new());
    // Users without clusters cannot create projects.
    let clusters = expect_context::<Clusters>();
    let has_clusters = Memo::new(move |_| {
        clusters
            .items()
            .is_some_and(|clusters| !clusters.is_empty())
    });
    let rows = move || {
        let items = listing.items().unwrap_or_default();
        let rows = items.iter().map(|project| ProjectRow {
            readiness: readiness(project),
            project: project.clone(),
        });
        rows.collect()
    };
    let passing = |typed: String| move |row: &ProjectRow| passes(&row.project, &typed);
    let contents = Contents::new(listing, view, columns(), rows, passing);
    let make = move || {
        view! {
            <Show when=move || has_clusters.get()>
                <Button weight=Weight::Primary icon=Icon::Plus on_press=move |()| view.making.set(true)>
                    {t().projects.create()}
                </Button>
            </Show>
        }
    };
    view! {
        <ListScreen kind=PROJECTS contents=contents command="drover project list" action=make empty=NoProjects/>
        <CreateProject open=view.making/>
    }
}

#[component]
fn NoProjects() -> impl IntoView {
    let title = if expect_context::<Session>().is_administrator() {
        t().projects.empty()
    } else {
        t().projects.empty_for_user()
    };
    view! {
        <EmptyState
            reason=EmptyReason::Empty
            title=title
            advice=t().projects.empty_advice()
        />
    }
}
