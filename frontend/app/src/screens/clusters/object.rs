//! The page of a Kubernetes object: overview, events, manifest and logs.

mod actions;
mod crash;
mod diff;
mod events;
mod facts;
mod history;
mod logs;
mod manifest;
mod metrics;
mod overview;
mod permission;
mod related;
mod relations;
mod secret;
mod terminal;
mod words;

use drover_ui_core::feed::Objects;
use drover_ui_core::kind::Kind;
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::messages::t;
use drover_ui_core::metrics::{History, has_metrics};
use drover_ui_core::object::secret::RedactedSecrets;
use drover_ui_core::object::{Object, Overview, runs_pods};
use drover_ui_core::problem::Problem;
use drover_ui_core::source::Source;
use drover_ui_core::url::segment;
use drover_ui_kit::badge::Badge;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState, Skeleton};
use drover_ui_kit::tabs::{Tab, Tabs};
use jiff::Timestamp;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::components::A;
use leptos_router::hooks::{use_navigate, use_params_map, use_query_map};

use crate::clock::{now, time_of_day};
use crate::freshness::{Freshness, StaleBanner};
use crate::reflector::Store;
use crate::screens::cluster::{ClusterFrame, ClusterHead, ClusterScreen, CurrentCluster};
use crate::screens::head::Crumb;
use crate::screens::kinds::{NoDiscovery, tone_of};
use crate::served_kinds::{KindOfUrl, ServedKinds};
use actions::ObjectActions;
use events::Events;
use history::HistoryTab;
use logs::Logs;
pub(crate) use logs::SeveralLogs;
use manifest::ManifestTab;
use metrics::MetricsTab;
use overview::OverviewTab;
use terminal::TerminalTab;
use words::{Age, AgeForm, Refused};

/// Shows the page of an object.
#[component]
pub(crate) fn ObjectPage() -> impl IntoView {
    let params = use_params_map();
    let of = move |name: &str| params.with(|params| params.get(name).unwrap_or_default());
    let served = expect_context::<ServedKinds>();
    let kind = Memo::new(move |_| served.of_url(&of("kind")));
    let place = Memo::new(move |_| {
        let KindOfUrl::Known(kind) = kind.get() else {
            return None;
        };
        let namespace = of("namespace");
        Some(KubectlObject {
            cluster: of("cluster"),
            kind,
            namespace: kind.namespace_of_screen(&namespace).map(str::to_owned),
            name: of("name"),
        })
    });
    let screen = Signal::derive(move || ClusterScreen::Of(of("name")));
    view! {
        <ClusterFrame>
            {move || {
                let reason = match (place.get(), kind.get()) {
                    (Some(named), _) => return view! { <Whole named=named/> }.into_any(),
                    (None, KindOfUrl::Failed) => view! { <NoDiscovery/> }.into_any(),
                    (None, KindOfUrl::Unknown) => view! { <Skeleton lines=8/> }.into_any(),
                    (None, _) => view! { <NoKind kind=of("kind")/> }.into_any(),
                };
                view! { <ClusterHead screen=screen/>{reason} }.into_any()
            }}
        </ClusterFrame>
    }
}

#[component]
fn NoKind(kind: String) -> impl IntoView {
    view! {
        <EmptyState
            reason=EmptyReason::NotFound
            title=t().object.no_page(&kind)
            advice=t().object.no_page_advice()
        />
    }
}

/// The live object of the page.
#[derive(Clone, Copy)]
struct LiveObject {
    /// The location of the object.
    named: StoredValue<KubectlObject>,
    /// The most recent state of the object that the server sent.
    object: Memo<Option<Object>>,
    /// The time of the deletion.
    gone: RwSignal<Option<Timestamp>>,
    followed: Store<Object>,
}

impl LiveObject {
    fn follow(named: KubectlObject) -> Self {
        let list = named
            .kind
            .list_path(&named.cluster, named.namespace.as_deref());
        let field = segment(&format!("metadata.name={}", named.name));
        let source = Source::objects(list).choosing(&format!("fieldSelector={field}"));
        let followed = match named.kind {
            Kind::SECRETS => Store::begin::<RedactedSecrets>(source),
            _ => Store::begin::<Objects>(source),
        };
        let present = Memo::new(move |_| Some(followed.items()?.first().cloned()));
        let object = Memo::new(move |last: Option<&Option<Object>>| {
            present.get().flatten().or_else(|| last.cloned().flatten())
        });
        let gone = RwSignal::new(None);
        Effect::new(move |was: Option<bool>| {
            let is_there = present.with(|it| it.as_ref().map(Option::is_some));
            match is_there {
                Some(false) if was == Some(true) => gone.set(Some(now())),
                Some(true) => gone.set(None),
                _ => {}
            }
            is_there.or(was).unwrap_or_default()
        });
        Self {
            named: StoredValue::new(named),
            object,
            gone,
            followed,
        }
    }

    /// Returns the object, for views that exist only after the object is loaded.
    fn known(self) -> Signal<Object> {
        let object = self.object;
        Signal::derive(move || {
            object
                .get()
                .expect("the view exists only after the object is loaded")
        })
    }
}

#[derive(Clone, PartialEq)]
enum PageState {
    Loading,
    Problem(Problem),
    Missing,
    There,
}

#[component]
fn Whole(named: KubectlObject) -> impl IntoView {
    let shown = LiveObject::follow(named);
    let in_sight = expect_context::<CurrentCluster>();
    in_sight.follows(Signal::derive(move || shown.followed.freshness()));
    let list_state = Memo::new(move |_| {
        let (answered, freshness) = (shown.followed.items().is_some(), shown.followed.freshness());
        match (shown.object.with(Option::is_some), answered, freshness) {
            (true, ..) => PageState::There,
            (false, true, _) => PageState::Missing,
            (false, false, Freshness::Stale { problem, .. }) => PageState::Problem(problem),
            (false, false, _) => PageState::Loading,
        }
    });
    move || {
        let reason = match list_state.get() {
            PageState::Loading => view! { <Skeleton lines=8/> }.into_any(),
            PageState::Problem(problem) => {
                let of = shown.named.with_value(|named| named.kind.heading);
                view! { <Refused problem=problem of=of/> }.into_any()
            }
            PageState::Missing => view! { <Missing named=shown.named.get_value()/> }.into_any(),
            PageState::There => return view! { <There shown=shown/> }.into_any(),
        };
        let screen = shown.named.with_value(screen_of);
        view! { <ClusterHead screen=screen/>{reason} }.into_any()
    }
}

/// Returns the screen of an object below the list of its kind.
fn screen_of(named: &KubectlObject) -> ClusterScreen {
    let kind = named.kind;
    ClusterScreen::ObjectOf {
        list: Crumb::new(kind.heading, kind.list_screen(&named.cluster)),
        name: named.name.clone(),
    }
}

#[component]
fn Missing(named: KubectlObject) -> impl IntoView {
    let kind = named.kind;
    let title = t()
        .object
        .not_found(kind.name, &named.name, named.namespace.as_deref());
    view! {
        <EmptyState
            reason=EmptyReason::NotFound
            title=title
            advice=t().object.not_found_advice()
        >
            <A href=kind.list_screen(&named.cluster)>{t().object.all(kind.heading)}</A>
        </EmptyState>
    }
}

#[component]
fn There(shown: LiveObject) -> impl IntoView {
    let object = shown.known();
    let named = shown.named.get_value();
    let kind = named.kind;
    let not_ready = expect_context::<CurrentCluster>().not_ready_nodes();
    let overview = Memo::new(move |_| {
        object.with(|object| not_ready.with(|nodes| Overview::in_cluster(kind, object, nodes)))
    });
    let object_state = Memo::new(move |_| overview.with(|it| it.object_state.clone()));
    let reason = move || {
        let reason = object_state.get().and_then(|state| state.why);
        reason.map(|reason| view! { <p class="object-message">{reason}</p> })
    };
    let badge = move || {
        let state = object_state.get();
        state.map(|state| view! { <Badge tone=tone_of(state.severity) words=state.words/> })
    };
    let created = Memo::new(move |_| object.with(Object::created));
    let place = match &named.namespace {
        Some(namespace) => t().object.in_namespace(kind.name, namespace),
        None => kind.name.to_owned(),
    };
    let screen = screen_of(&named);
    let actions = move || view! { <ObjectActions named=shown.named object=object/> };
    view! {
        <ClusterHead screen=screen badge=badge actions=actions/>
        <p class="muted">{place}{move || created.get().map(|at| view! { ", " <Age at=at form=AgeForm::Old/> })}</p>
        {reason}
        <Gone shown=shown/>
        <StaleBanner
            freshness=Signal::derive(move || shown.followed.freshness())
            shown=Signal::derive(|| true)
        />
        <Parts shown=shown object=object overview=overview/>
    }
}

/// Shows a warning if the object was deleted or recreated.
#[component]
fn Gone(shown: LiveObject) -> impl IntoView {
    let object = shown.object;
    let first =
        StoredValue::new(object.with_untracked(|it| it.as_ref().map(|it| it.uid().to_owned())));
    let renewed = Memo::new(move |_| {
        let uid = object.with(|it| it.as_ref().map(|it| it.uid().to_owned()));
        uid != first.get_value()
    });
    move || {
        let words = match (shown.gone.get(), renewed.get()) {
            (Some(at), _) => t().object.deleted_at(&time_of_day(at)),
            (None, true) => t().object.replaced().to_owned(),
            (None, false) => return None,
        };
        Some(view! { <Banner mood=BannerKind::Warning>{words}</Banner> })
    }
}

/// Reports whether the page of an object has a terminal.
pub(crate) fn has_terminal(kind: Kind) -> bool {
    kind == Kind::PODS || kind == Kind::NODES
}

/// Returns the tabs for a kind.
fn tabs(kind: Kind) -> Vec<Tab> {
    let all = [
        ("overview", t().cluster.overview()),
        ("events", t().object.events()),
        ("metrics", t().metrics.metrics()),
        ("yaml", t().roles.yaml()),
        ("history", t().history.history()),
        ("logs", t().settings.logs()),
        ("terminal", t().terminal.terminal()),
    ];
    let tabs = all.into_iter().filter(|(key, _)| match *key {
        "logs" => runs_pods(kind),
        "metrics" => has_metrics(kind),
        "terminal" => has_terminal(kind),
        _ => true,
    });
    tabs.map(|(key, words)| Tab {
        key: key.to_owned(),
        words: words.to_owned(),
    })
    .collect()
}

/// Returns a callback that opens a tab of the object page.
fn choosing(named: &KubectlObject) -> Callback<String> {
    let screen = named
        .kind
        .object_screen(&named.cluster, named.namespace.as_deref(), &named.name);
    let navigate = use_navigate();
    Callback::new(move |key: String| {
        let path = match key.as_str() {
            "overview" => screen.clone(),
            key => format!("{screen}?tab={key}"),
        };
        let stay = NavigateOptions {
            scroll: false,
            ..NavigateOptions::default()
        };
        navigate(&path, stay);
    })
}

#[component]
fn Parts(shown: LiveObject, object: Signal<Object>, overview: Memo<Overview>) -> impl IntoView {
    let LiveObject { named, gone, .. } = shown;
    let query = use_query_map();
    let kind = named.with_value(|named| named.kind);
    let chosen = Memo::new(move |_| {
        let tab = query.with(|query| query.get("tab").unwrap_or_default());
        let found = tabs(kind).into_iter().find(|it| it.key == tab);
        found.map_or_else(|| "overview".to_owned(), |found| found.key)
    });
    let choose = named.with_value(choosing);
    // The samples remain while the user visits other tabs.
    let history = RwSignal::new(History::default());
    view! {
        <div class="object-views">
            <Tabs label=t().object.views() tabs=tabs(kind) chosen=chosen on_choose=choose>
                {move || {
                    let named = named.get_value();
                    match chosen.get().as_str() {
                        "events" => view! { <Events named=named object=object/> }.into_any(),
                        "metrics" => view! { <MetricsTab named=named object=object history=history/> }.into_any(),
                        "history" => view! { <HistoryTab named=named object=object gone=gone/> }.into_any(),
                        "yaml" => view! { <ManifestTab named=named object=object/> }.into_any(),
                        "logs" => view! { <Logs named=named object=object gone=gone/> }.into_any(),
                        "terminal" => view! { <TerminalTab named=named object=object/> }.into_any(),
                        _ => view! { <OverviewTab named=named object=object overview=overview/> }.into_any(),
                    }
                }}
            </Tabs>
        </div>
    }
}
