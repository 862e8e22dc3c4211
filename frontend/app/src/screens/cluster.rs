//! One cluster: what it has, what is wrong with it, and the ways to it.

mod deeds;
mod facts;

use std::sync::Arc;

use drover_api::rest::ClusterView;
use drover_ui_core::cluster::{Health, state};
use drover_ui_core::url::segment;
use drover_ui_kit::badge::Badge;
use drover_ui_kit::notice::{Absence, Banner, Mood, Nothing, Skeleton};
use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_params_map;

use crate::command::SameCommand;
use crate::gate::Gate;
use crate::live::{Clusters, FreshnessMark};
use crate::screens::home::tone;
use crate::title::title;
use deeds::{DeleteCluster, Kubeconfig};
use facts::{Components, Conditions, Overview, Resources};

/// Where a cluster is shown.
pub(crate) fn path_of(name: &str) -> String {
    format!("/clusters/{}", segment(name))
}

/// The screen.
#[component]
pub(crate) fn ClusterPage() -> impl IntoView {
    let clusters = expect_context::<Clusters>();
    let params = use_params_map();
    let name = Memo::new(move |_| params.with(|params| params.get("name").unwrap_or_default()));
    Effect::new(move || title(&name.get()));
    let found = Memo::new(move |_| {
        let items = clusters.items()?;
        let name = name.get();
        let found = items.iter().find(|cluster| cluster.name == name);
        Some(found.cloned())
    });
    // Another kind of answer only; what is within follows the cluster by itself.
    let kind = Memo::new(move |_| found.with(|found| found.as_ref().map(Option::is_some)));
    move || match kind.get() {
        None => view! { <div class="page"><Skeleton lines=8/></div> }.into_any(),
        Some(false) => view! { <Unknown name=name.get()/> }.into_any(),
        Some(true) => view! { <Known found=found/> }.into_any(),
    }
}

#[component]
fn Unknown(name: String) -> impl IntoView {
    view! {
        <div class="page">
            <Nothing
                why=Absence::NotFound
                title=format!("There is no cluster “{name}” for you")
                advice="It may have been deleted, have another name, or you have no role in it."
            >
                <A href="/">"All clusters"</A>
            </Nothing>
        </div>
    }
}

/// The cluster; when it is gone the screen is, too, and until then it shows the last that was known.
type Found = Memo<Option<Option<Arc<ClusterView>>>>;

#[component]
fn Known(found: Found) -> impl IntoView {
    let clusters = expect_context::<Clusters>();
    let gate = expect_context::<Gate>();
    let cluster = Memo::new(move |last: Option<&Option<Arc<ClusterView>>>| {
        found.get().flatten().or_else(|| last.cloned().flatten())
    });
    let cluster = Signal::derive(move || {
        cluster
            .get()
            .expect("the screen is shown for a cluster that is known")
    });
    let state = Memo::new(move |_| state(&cluster.get()));
    let name = Memo::new(move |_| cluster.get().name.clone());
    let advice = move || {
        let state = state.get();
        let why = state.why.filter(|_| state.health != Health::Ready);
        why.map(|why| view! { <Banner mood=Mood::Warning>{why}</Banner> })
    };
    let import = move || {
        let waits = state.with(|state| state.health == Health::Waiting);
        let path = format!("/import?cluster={}", segment(&name.get()));
        (waits && gate.is_administrator())
            .then(|| view! { <a class="button primary" href=path>"Show the import command"</a> })
    };
    view! {
        <div class="page">
            <header class="page-head">
                <h1>{name}</h1>
                <Badge
                    tone=Signal::derive(move || tone(state.get().health))
                    words=Signal::derive(move || state.get().words)
                />
                <FreshnessMark clusters=clusters/>
                <span class="grow"></span>
                {import}
                <Kubeconfig name=name/>
                {gate.is_administrator().then(|| view! { <DeleteCluster name=name/> })}
            </header>
            {advice}
            <div class="cards">
                <section class="card"><h2>"Overview"</h2><Overview cluster=cluster/></section>
                <section class="card"><h2>"Resources"</h2><Resources cluster=cluster/></section>
            </div>
            <section class="card"><h2>"Conditions"</h2><Conditions cluster=cluster/></section>
            <Components cluster=cluster/>
            <footer class="page-foot">
                <SameCommand line=Signal::derive(move || format!("drover cluster get {}", name.get()))/>
            </footer>
        </div>
    }
}
