//! The frame of all screens of a cluster: name, state, freshness and navigation.

use std::sync::Arc;

use drover_api::rest::ClusterView;
use drover_ui_core::cluster::{Health, State, state};
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_kit::badge::Badge;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState, Skeleton};
use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_params_map;

use crate::freshness::{Freshness, FreshnessMark};
use crate::live::Clusters;
use crate::screens::address;
use crate::screens::home::tone;
use crate::screens::title::title;
use drover_ui_core::cluster::{members_screen, screen as cluster_screen};

/// The current cluster, as a context within [`ClusterFrame`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct CurrentCluster {
    /// The current state of the cluster. After the deletion of the cluster, the state before the
    /// deletion.
    pub(crate) cluster: Signal<Arc<ClusterView>>,
    pub(crate) name: Memo<String>,
    pub(crate) state: Memo<State>,
    /// The namespace filter. All lists of the cluster use the same filter.
    pub(crate) namespace: RwSignal<Option<String>>,
    own: RwSignal<Option<Signal<Freshness>>>,
}

impl CurrentCluster {
    /// Returns the names of the nodes that are not Ready.
    pub(crate) fn not_ready_nodes(self) -> Memo<Vec<String>> {
        let cluster = self.cluster;
        Memo::new(move |_| cluster.with(|cluster| cluster.not_ready_nodes.clone()))
    }

    /// Shows the freshness of the screen's list in the heading until the screen is cleaned up.
    pub(crate) fn follows(self, freshness: Signal<Freshness>) {
        self.own.set(Some(freshness));
        on_cleanup(move || {
            // The frame can be disposed before the screen.
            let _ = self.own.try_update(|own| {
                if *own == Some(freshness) {
                    *own = None;
                }
            });
        });
    }
}

/// Shows the frame of a cluster screen. The URL parameter `cluster` selects the cluster. The
/// content is rendered after the cluster is loaded.
#[component]
pub(crate) fn ClusterFrame(
    /// The title of the screen, such as `Pods` or `web-0`; `None` for the overview.
    #[prop(optional, into)]
    screen: MaybeProp<String>,
    /// The buttons in the heading.
    #[prop(optional, into)]
    actions: ViewFn,
    /// The content of the screen.
    children: ChildrenFn,
) -> impl IntoView {
    let clusters = expect_context::<Clusters>();
    let params = use_params_map();
    let name = Memo::new(move |_| params.with(|params| params.get("cluster").unwrap_or_default()));
    Effect::new(move || match screen.get() {
        Some(screen) => title(&format!("{screen} · {}", name.get())),
        None => title(&name.get()),
    });
    let found = Memo::new(move |_| {
        let items = clusters.items()?;
        let name = name.get();
        let found = items.iter().find(|cluster| cluster.name == name);
        Some(found.cloned())
    });
    // The memo renders the frame again only when the type of the answer changes. The content
    // subscribes to the cluster.
    let kind = Memo::new(move |_| found.with(|found| found.as_ref().map(Option::is_some)));
    let (actions, children) = (StoredValue::new(actions), StoredValue::new(children));
    move || match kind.get() {
        None => view! { <div class="page"><Skeleton lines=8/></div> }.into_any(),
        Some(false) => view! { <Unknown name=name.get()/> }.into_any(),
        Some(true) => view! { <Known found=found actions=actions children=children/> }.into_any(),
    }
}

#[component]
fn Unknown(name: String) -> impl IntoView {
    view! {
        <div class="page">
            <EmptyState
                reason=EmptyReason::NotFound
                title=t().cluster.not_found(&name)
                advice=t().cluster.not_found_advice()
            >
                <A href="/">{t().palette.all_clusters()}</A>
            </EmptyState>
        </div>
    }
}

/// The cluster: outer `None` before the first response, inner `None` if the cluster does not exist.
type LoadedCluster = Memo<Option<Option<Arc<ClusterView>>>>;

#[component]
fn Known(
    found: LoadedCluster,
    actions: StoredValue<ViewFn>,
    children: StoredValue<ChildrenFn>,
) -> impl IntoView {
    let clusters = expect_context::<Clusters>();
    let cluster = Memo::new(move |last: Option<&Option<Arc<ClusterView>>>| {
        found.get().flatten().or_else(|| last.cloned().flatten())
    });
    let cluster = Signal::derive(move || {
        cluster
            .get()
            .expect("the screen exists only after the cluster is loaded")
    });
    let state = Memo::new(move |_| state(&cluster.get()));
    let name = Memo::new(move |_| cluster.get().name.clone());
    let own = RwSignal::new(None::<Signal<Freshness>>);
    let namespace = RwSignal::new(None::<String>);
    provide_context(CurrentCluster {
        cluster,
        name,
        state,
        namespace,
        own,
    });
    let freshness = Signal::derive(move || match own.get() {
        Some(own) => clusters.freshness().and(own.get()),
        None => clusters.freshness(),
    });
    let advice = move || {
        let state = state.get();
        let reason = state.detail.filter(|_| state.health != Health::Ready);
        reason.map(|reason| view! { <Banner mood=BannerKind::Warning>{reason}</Banner> })
    };
    view! {
        <div class="page">
            <header class="page-head">
                <h1>{name}</h1>
                <Badge
                    tone=Signal::derive(move || tone(state.get().health))
                    words=Signal::derive(move || state.get().summary)
                />
                <FreshnessMark freshness=freshness/>
                <span class="grow"></span>
                {actions.with_value(ViewFn::run)}
            </header>
            <ClusterNavigation name=name namespace=namespace/>
            {advice}
            {children.with_value(|children| children())}
        </div>
    }
}

/// Shows the navigation between the screens of a cluster.
#[component]
fn ClusterNavigation(name: Memo<String>, namespace: RwSignal<Option<String>>) -> impl IntoView {
    let way = move |kind: Kind| {
        let path = move || {
            let namespace = namespace.get().filter(|_| kind.namespaced);
            let parts = [("namespace", namespace.unwrap_or_default())];
            address::path(&kind.list_screen(&name.get()), &parts)
        };
        view! { <li><A href=path>{kind.heading}</A></li> }
    };
    let workloads = Kind::WORKLOADS.map(way);
    view! {
        <nav class="cluster-nav" aria-label=t().cluster.navigation()>
            <ul>
                <li><A href=move || cluster_screen(&name.get()) exact=true>{t().cluster.overview()}</A></li>
            </ul>
            <ul aria-label=t().cluster.workloads()>{workloads.into_iter().collect_view()}</ul>
            <ul>
                {way(Kind::NODES)}
                {way(Kind::EVENTS)}
            </ul>
            <ul>
                <li><A href=move || members_screen(&name.get())>{t().palette.members()}</A></li>
            </ul>
        </nav>
    }
}
