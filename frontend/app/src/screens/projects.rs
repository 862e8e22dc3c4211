//! Projects: all that the person may see, and one of them.

mod columns;
mod delete;
mod form;
mod one;
mod pairs;
mod view;

use std::sync::Arc;

use drover_api::rest::ProjectView;
use drover_ui_core::project::{passes, readiness};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::field::SearchField;
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{Absence, Nothing, Skeleton};
use drover_ui_kit::table::{Table, sorted};
use leptos::prelude::*;

use crate::command::SameCommand;
use crate::freshness::{FreshnessMark, StaleBanner};
use crate::gate::Gate;
use crate::live::Clusters;
use crate::live::listing::Listing;
use crate::screens::list::{Refused, What, counted};
use crate::screens::title::title;
use columns::{ProjectRow, columns};
use form::CreateProject;
pub(crate) use one::ProjectPage;
use view::View;

const PATH: &str = "/v1/projects";

type Rows = Memo<Arc<Vec<ProjectRow>>>;

/// The screen.
#[component]
pub(crate) fn Projects() -> impl IntoView {
    title("Projects");
    let (listing, view) = (Listing::<ProjectView>::follow(PATH), View::of_url());
    let freshness = Signal::derive(move || listing.freshness());
    // Whoever sees no cluster makes no project in one.
    let clusters = expect_context::<Clusters>();
    let has_clusters = Memo::new(move |_| {
        clusters
            .items()
            .is_some_and(|clusters| !clusters.is_empty())
    });
    let rows: Rows = Memo::new(move |_| {
        let items = listing.items().unwrap_or_default();
        let rows = items.iter().map(|project| ProjectRow {
            readiness: readiness(project),
            project: project.clone(),
        });
        Arc::new(sorted(rows.collect(), &columns(), view.sorting.get()))
    });
    let shown: Rows = Memo::new(move |_| {
        let (rows, typed) = (rows.get(), view.text.get());
        let fits = rows.iter().filter(|row| passes(&row.project, &typed));
        Arc::new(fits.cloned().collect())
    });
    view! {
        <div class="page">
            <header class="page-head">
                <h1>"Projects"</h1>
                <FreshnessMark freshness=freshness/>
                <span class="grow"></span>
                <div class="home-filter">
                    <SearchField label="Filter projects" hint="name, cluster, state" value=view.text/>
                </div>
                <Show when=move || has_clusters.get()>
                    <Button weight=Weight::Primary icon=Icon::Plus on_press=move |()| view.making.set(true)>
                        "Make a project"
                    </Button>
                </Show>
            </header>
            <StaleBanner freshness=freshness shown=Signal::derive(move || listing.items().is_some())/>
            <List listing=listing rows=rows shown=shown view=view/>
            <footer class="page-foot">
                <SameCommand line="drover project list".to_owned()/>
                <span>{move || counted(shown.with(|it| it.len()), rows.with(|it| it.len()))}</span>
            </footer>
        </div>
        <CreateProject open=view.making/>
    }
}

#[component]
fn List(listing: Listing<ProjectView>, rows: Rows, shown: Rows, view: View) -> impl IntoView {
    let what = Memo::new(move |_| {
        let (all, some) = (rows.with(|it| it.len()), shown.with(|it| it.len()));
        What::of(listing.items().is_some(), listing.freshness(), all, some)
    });
    view! {
        <div class="home-list">
            {move || match what.get() {
                What::Loading => view! { <Skeleton lines=6/> }.into_any(),
                What::Problem(problem) => view! { <Refused problem=problem things="projects"/> }.into_any(),
                What::Empty => view! { <NoProjects/> }.into_any(),
                What::NoMatch => view! { <NoMatch view=view/> }.into_any(),
                What::Rows => view! {
                    <Table label="Projects" columns=columns() rows=shown sorting=view.sorting/>
                }.into_any(),
            }}
        </div>
    }
}

#[component]
fn NoProjects() -> impl IntoView {
    let title = if expect_context::<Gate>().is_administrator() {
        "No projects yet"
    } else {
        "No projects for you yet"
    };
    view! {
        <Nothing
            why=Absence::Empty
            title=title
            advice="A project is a set of namespaces with members and bounds. Who may make one in a cluster does so here; others see one as soon as somebody gives them a role in it."
        />
    }
}

#[component]
fn NoMatch(view: View) -> impl IntoView {
    view! {
        <Nothing why=Absence::NoMatch title="No project fits" advice="Fewer words show more.">
            <Button on_press=move |()| view.show_all()>"Show all projects"</Button>
        </Nothing>
    }
}
