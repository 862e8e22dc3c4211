//! The frame of all screens of a cluster: name, state, freshness and navigation.

use std::sync::Arc;

use drover_api::rest::ClusterView;
use drover_ui_core::cluster::{Health, State, screen as cluster_screen, state};
use drover_ui_core::messages::t;
use drover_ui_kit::badge::Badge;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState, Skeleton};
use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_params_map;

use crate::freshness::{Freshness, FreshnessMark};
use crate::live::Clusters;
use crate::screens::head::{Crumb, PageHead};
use crate::screens::home::tone;
use crate::screens::title::title;

/// The current cluster, as a context within [`ClusterFrame`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct CurrentCluster {
    /// The current state of the cluster. After the deletion of the cluster, the state before the
    /// deletion.
    pub(crate) cluster: Signal<Arc<ClusterView>>,
    pub(crate) name: Memo<String>,
    pub(crate) state: Memo<State>,
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

/// Provides the cluster of the URL parameter `cluster` to a screen. The screen is rendered after the
/// cluster is loaded.
#[component]
pub(crate) fn ClusterFrame(
    /// The content of the screen, with a [`ClusterHead`].
    children: ChildrenFn,
) -> impl IntoView {
    let clusters = expect_context::<Clusters>();
    let params = use_params_map();
    let name = Memo::new(move |_| params.with(|params| params.get("cluster").unwrap_or_default()));
    let found = Memo::new(move |_| {
        let items = clusters.items()?;
        let name = name.get();
        let found = items.iter().find(|cluster| cluster.name == name);
        Some(found.cloned())
    });
    // The memo renders the frame again only when the type of the answer changes. The content
    // subscribes to the cluster.
    let kind = Memo::new(move |_| found.with(|found| found.as_ref().map(Option::is_some)));
    let children = StoredValue::new(children);
    move || match kind.get() {
        None => {
            title(&name.get());
            view! { <div class="page"><Skeleton lines=8/></div> }.into_any()
        }
        Some(false) => view! { <Unknown name=name.get()/> }.into_any(),
        Some(true) => view! { <Known found=found children=children/> }.into_any(),
    }
}

#[component]
fn Unknown(name: String) -> impl IntoView {
    title(&name);
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
fn Known(found: LoadedCluster, children: StoredValue<ChildrenFn>) -> impl IntoView {
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
    provide_context(CurrentCluster {
        cluster,
        name,
        state,
        own: RwSignal::new(None),
    });
    view! { <div class="page">{children.with_value(|children| children())}</div> }
}

/// A screen of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClusterScreen {
    /// The overview of the cluster.
    Overview,
    /// A screen below the overview, such as a list.
    Of(String),
    /// The screen of an object in a list.
    ObjectOf {
        /// The list that contains the object.
        list: Crumb,
        name: String,
    },
}

impl ClusterScreen {
    /// Returns the title of the screen in a cluster.
    fn title(&self, cluster: &str) -> String {
        match self {
            Self::Overview => cluster.to_owned(),
            Self::Of(title) | Self::ObjectOf { name: title, .. } => title.clone(),
        }
    }

    /// Returns the pages above the screen.
    fn crumbs(self, cluster: &str) -> Vec<Crumb> {
        let mut crumbs = vec![Crumb::clusters()];
        if self != Self::Overview {
            crumbs.push(Crumb::new(cluster, cluster_screen(cluster)));
        }
        if let Self::ObjectOf { list, .. } = self {
            crumbs.push(list);
        }
        crumbs
    }
}

/// Shows the header of a cluster screen, and a warning if the cluster is not ready.
#[component]
pub(crate) fn ClusterHead(
    #[prop(into)] screen: Signal<ClusterScreen>,
    /// The actions of the screen.
    #[prop(optional, into)]
    actions: ViewFn,
    /// The state of an object. The default is the state of the cluster.
    #[prop(optional, into)]
    badge: Option<ViewFn>,
) -> impl IntoView {
    let clusters = expect_context::<Clusters>();
    let CurrentCluster {
        name, state, own, ..
    } = expect_context();
    Effect::new(move || {
        let (screen, name) = (screen.get(), name.get());
        match screen {
            ClusterScreen::Overview => title(&name),
            screen => title(&format!("{} · {name}", screen.title(&name))),
        }
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
    // The lists of a cluster that is ready have more space without its state.
    let shown = move || {
        let overview = screen.with(|screen| *screen == ClusterScreen::Overview);
        overview || state.with(|state| state.health != Health::Ready)
    };
    let of_cluster = move || {
        view! {
            <Show when=shown>
                <Badge
                    tone=Signal::derive(move || tone(state.get().health))
                    words=Signal::derive(move || state.get().summary)
                />
            </Show>
        }
    };
    view! {
        <PageHead
            crumbs=Signal::derive(move || screen.get().crumbs(&name.get()))
            title=Signal::derive(move || screen.get().title(&name.get()))
            actions=actions
        >
            {match badge {
                Some(badge) => (move || badge.run()).into_any(),
                None => of_cluster().into_any(),
            }}
            <FreshnessMark freshness=freshness/>
        </PageHead>
        {advice}
    }
}
