//! The page of a project: overview, namespaces, quotas and members.

use drover_api::rest::ProjectView;
use drover_ui_core::kind::Kind;
use drover_ui_core::member::Scope;
use drover_ui_core::messages::t;
use drover_ui_core::project::{
    self, NamespaceState, Pair, defaults, namespaces, pod_security, quota, readiness,
};
use drover_ui_core::shell;
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::notice::{Banner, BannerKind};
use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_params_map;

use super::delete::DeleteProject;
use super::form::ChangeProject;
use super::{PATH, PROJECTS, SCREEN};
use crate::clock::in_full;
use crate::command::CliCommand;
use crate::freshness::{Freshness, FreshnessMark, StaleBanner};
use crate::live::listing::Listing;
use crate::screens::address;
use crate::screens::cells::tone;
use crate::screens::head::{ActionsMenu, Crumb, PageHead};
use crate::screens::list::{NotFoundState, OneScreen};
use crate::screens::members::Members;
use crate::screens::title::title;
use drover_ui_core::cluster::screen as cluster_screen;
use drover_ui_kit::icon::Icon;
use drover_ui_kit::menu::Item;

const NOTHING: &str = "–";

/// Shows the page of the project that the URL parameter `project` selects.
#[component]
pub(crate) fn ProjectPage() -> impl IntoView {
    let params = use_params_map();
    let name = Memo::new(move |_| params.with(|params| params.get("project").unwrap_or_default()));
    let listing = Listing::<ProjectView>::follow(PATH);
    let found = Memo::new(move |_| {
        let items = listing.items()?;
        let name = name.get();
        items.iter().find(|project| project.name == name).cloned()
    });
    move || {
        let name = name.get();
        title(&name);
        let unknown = name.clone();
        view! {
            <OneScreen kind=PROJECTS listing=listing found=found unknown=move || view! {
                <NotFoundState kind=PROJECTS all=SCREEN title=t().projects.not_found(&unknown)
                    advice=t().projects.not_found_advice()/>
            }>
                <Known name=name.clone() found=found listing=listing/>
            </OneScreen>
        }
    }
}

#[component]
fn Known(
    name: String,
    found: Memo<Option<ProjectView>>,
    listing: Listing<ProjectView>,
) -> impl IntoView {
    let freshness = Signal::derive(move || listing.freshness());
    let (changing, deleting) = (RwSignal::new(false), RwSignal::new(false));
    let has = move |has_field: fn(&ProjectView) -> bool| {
        Memo::new(move |_| {
            found.with(|it| it.as_ref().is_some_and(|it| !it.deleting && has_field(it)))
        })
    };
    let (may_change, may_delete) = (has(|it| it.may_change), has(|it| it.may_delete));
    let of_members = RwSignal::new(None::<Signal<Freshness>>);
    let all = Signal::derive(move || match of_members.get() {
        Some(own) => freshness.get().and(own.get()),
        None => freshness.get(),
    });
    let scope = Scope::Project(name.clone());
    let heading = Signal::derive(move || {
        let title = found.with(|it| it.as_ref().map(|it| project::title(it).to_owned()));
        title.unwrap_or_default()
    });
    let state = move || {
        let readiness = found.with(|it| it.as_ref().map(readiness))?;
        Some(view! { <Badge tone=tone(readiness.status) words=readiness.words/> })
    };
    let reason = move || {
        let reason = found.with(|it| it.as_ref().and_then(|it| readiness(it).why))?;
        Some(view! { <Banner mood=BannerKind::Warning>{reason}</Banner> })
    };
    let facts = move || {
        found
            .get()
            .map(|project| view! { <Facts project=project/> })
    };
    let named = name.clone();
    let actions = move || {
        let edit = may_change.get().then(|| {
            view! {
                <Button weight=Weight::Primary on_press=move |()| changing.set(true)>{t().buttons.edit_menu()}</Button>
            }
        });
        let delete = may_delete.get().then(|| {
            let open = move || deleting.set(true);
            Item::action(Icon::Trash, t().buttons.delete_menu(), open).danger()
        });
        view! { {edit}<ActionsMenu of=named.clone() items=delete.into_iter().collect()/> }
    };
    view! {
        <div class="page">
            <PageHead crumbs=vec![Crumb::projects()] title=heading actions=actions>
                {state}
                <FreshnessMark freshness=all/>
            </PageHead>
            <StaleBanner freshness=freshness shown=Signal::derive(|| true)/>
            {reason}
            {facts}
            <h2>{t().palette.members()}</h2>
            <Members scope=scope follows=move |own| of_members.set(Some(own))/>
            <footer class="page-foot">
                <CliCommand line=format!("drover project get {}", shell::word(&name))/>
            </footer>
        </div>
        <ChangeProject project=Signal::derive(move || found.get()) open=changing listing=listing/>
        <DeleteProject name=name open=deleting listing=listing/>
    }
}

#[component]
fn Facts(project: ProjectView) -> impl IntoView {
    let bounds = view! { <Pairs heads=[t().labels.resource(), t().projects.project_total(), t().projects.per_namespace()] pairs=quota(&project)/> };
    let defaults = view! { <Pairs heads=[t().labels.resource(), t().projects.request(), t().projects.limit()] pairs=defaults(&project)/> };
    let namespaces = view! { <Namespaces project=project.clone()/> };
    let security = pod_security(&project);
    let described = project.description.unwrap_or_else(|| NOTHING.to_owned());
    view! {
        <div class="cards">
            <section class="card">
                <h2>{t().cluster.overview()}</h2>
                <dl class="facts">
                    <dt>{t().labels.name()}</dt><dd>{project.name}</dd>
                    <dt>{t().labels.cluster()}</dt>
                    <dd><a href=cluster_screen(&project.cluster)>{project.cluster.clone()}</a></dd>
                    <dt>{t().labels.description()}</dt><dd>{described}</dd>
                    <dt>{t().projects.pod_security()}</dt><dd>{security}</dd>
                    <dt>{t().labels.created()}</dt><dd>{in_full(project.created_at).to_string()}</dd>
                    <dt>{t().labels.uid()}</dt><dd><code>{project.uid}</code></dd>
                </dl>
            </section>
            <section class="card"><h2>{t().labels.namespaces()}</h2>{namespaces}</section>
            <section class="card"><h2>{t().projects.quota()}</h2>{bounds}</section>
            <section class="card"><h2>{t().projects.defaults()}</h2>{defaults}</section>
        </div>
    }
}

#[component]
fn Namespaces(project: ProjectView) -> impl IntoView {
    let all = namespaces(&project);
    if all.is_empty() {
        return view! { <p class="muted">{t().projects.no_namespaces()}</p> }.into_any();
    }
    let rows = all.into_iter().map(|(name, belonging)| {
        let tone = match belonging {
            NamespaceState::Own => Tone::Good,
            NamespaceState::Coming => Tone::Busy,
            NamespaceState::Leaving => Tone::Neutral,
        };
        let parts = [("namespace", name.clone())];
        let pods = address::path(&Kind::PODS.list_screen(&project.cluster), &parts);
        let name = match belonging {
            NamespaceState::Coming => view! { <b>{name}</b> }.into_any(),
            NamespaceState::Own | NamespaceState::Leaving => {
                view! { <A href=pods>{name}</A> }.into_any()
            }
        };
        view! { <li class="row">{name}<Badge tone=tone words=belonging.words().to_owned()/></li> }
    });
    view! { <ul class="stack">{rows.collect_view()}</ul> }.into_any()
}

/// Shows a table with one row per resource and two quantities per row, such as request and limit.
#[component]
fn Pairs(heads: [&'static str; 3], pairs: Vec<Pair>) -> impl IntoView {
    if pairs.is_empty() {
        return view! { <p class="muted">{t().labels.not_set()}</p> }.into_any();
    }
    let value = |value: Option<String>| value.unwrap_or_else(|| NOTHING.to_owned());
    let rows = pairs.into_iter().map(|pair| {
        view! {
            <tr>
                <th scope="row">{pair.resource}</th>
                <td>{value(pair.first)}</td>
                <td>{value(pair.second)}</td>
            </tr>
        }
    });
    let heads = heads.map(|head| view! { <th scope="col">{head}</th> });
    view! {
        <table class="pairs">
            <thead><tr>{heads.into_iter().collect_view()}</tr></thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
    }
    .into_any()
}
