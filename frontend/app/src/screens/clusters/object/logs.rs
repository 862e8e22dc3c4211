//! The logs of a pod's containers, and of the pods of a workload.

mod bar;
mod filter;
mod log_view;
mod reader;
mod several;
mod view;

use drover_ui_core::kind::Kind;
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::log::MAX_STREAMS;
use drover_ui_core::messages::t;
use drover_ui_core::object::{Container, Object, PodLine, Related, Role, containers, related};
use drover_ui_core::problem::Problem;
use drover_ui_kit::field::Select;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState, Skeleton};
use jiff::Timestamp;
use leptos::prelude::*;

use super::related::{belonging, follow};
use super::words::Refused;
use crate::freshness::Freshness;
use bar::Bar;
use log_view::{LogOrigin, LogView};
use reader::Reader;
use reader::many::{LogPod, SourceLabel};
pub(crate) use several::SeveralLogs;
use view::LogView;

/// The pod whose log is shown.
#[derive(Clone, Copy)]
struct Pod {
    /// The most recent state of the pod that the server sent.
    known: Memo<Option<Object>>,
    /// True if the pod was deleted.
    is_gone: Signal<bool>,
}

/// Shows the tab with the logs.
#[component]
pub(super) fn Logs(
    named: KubectlObject,
    object: Signal<Object>,
    gone: RwSignal<Option<Timestamp>>,
) -> impl IntoView {
    let screen = named
        .kind
        .object_screen(&named.cluster, named.namespace.as_deref(), &named.name);
    let view = LogView::of_url(screen, vec![("tab", "logs".to_owned())]);
    if named.kind == Kind::PODS {
        let pod = Pod {
            known: Memo::new(move |_| Some(object.get())),
            is_gone: Signal::derive(move || gone.get().is_some()),
        };
        return view! { <PodLog cluster=named.cluster pod=pod view=view/> }.into_any();
    }
    let kind = named.kind;
    let target = Memo::new(move |_| object.with(|object| related(kind, object)));
    let named = StoredValue::new(named);
    (move || match target.get() {
        Some(_) => view! { <PodsLog named=named.get_value() target=target view=view/> }.into_any(),
        None => view! { <NoPods/> }.into_any(),
    })
    .into_any()
}

#[component]
fn NoPods() -> impl IntoView {
    view! {
        <EmptyState
            reason=EmptyReason::Empty
            title=t().log.no_pods()
            advice=t().log.no_pods_advice()
        />
    }
}

#[component]
fn NotThere() -> impl IntoView {
    view! {
        <EmptyState
            reason=EmptyReason::NotFound
            title=t().log.pod_gone()
            advice=t().log.pod_gone_advice()
        />
    }
}

#[derive(Clone, PartialEq)]
enum LogPageState {
    Loading,
    Refused(Problem),
    Empty,
    Pods,
}

/// Shows the pod selector of a workload and the log of the selected pod.
#[component]
fn PodsLog(named: KubectlObject, target: Memo<Option<Related>>, view: LogView) -> impl IntoView {
    let cluster = named.cluster.clone();
    let Some(target) = target.get_untracked() else {
        return view! { <NoPods/> }.into_any();
    };
    let followed = follow(&cluster, &target);
    let pods = Memo::new(move |_| belonging(followed, &target));
    let options = Memo::new(move |_| pods.with(|pods| options_of(pods.as_deref())));
    let pod = chosen_of(view, pods);
    let state = Memo::new(move |_| match (pods.get(), followed.freshness()) {
        (None, Freshness::Stale { problem, .. }) => LogPageState::Refused(problem),
        (None, _) => LogPageState::Loading,
        (Some(pods), _) if pods.is_empty() && view.pod.with(String::is_empty) => {
            LogPageState::Empty
        }
        (Some(_), _) => LogPageState::Pods,
    });
    let cluster = StoredValue::new(cluster);
    let named = StoredValue::new(named);
    let shown = Memo::new(move |_| {
        if view.pod.with(String::is_empty) {
            ShownPods::All
        } else if pod.known.with(Option::is_some) {
            ShownPods::One
        } else {
            ShownPods::Missing
        }
    });
    let choice = move || {
        let mut options = with_chosen(options.get(), &view.pod.get_untracked());
        options.insert(0, (String::new(), t().log.all_pods(options.len())));
        view! { <Select label=t().log.pod() options=options value=view.pod/> }
    };
    (move || match state.get() {
        LogPageState::Loading => view! { <Skeleton lines=8/> }.into_any(),
        LogPageState::Refused(problem) => {
            view! { <Refused problem=problem of=t().log.the_pods()/> }.into_any()
        }
        LogPageState::Empty => view! { <NoPods/> }.into_any(),
        LogPageState::Pods => view! {
            <div class="stack log-view">
                <div class="log-pods">{choice}</div>
                {move || match shown.get() {
                    ShownPods::All => view! { <AllPodsLog workload=named.get_value() pods=pods view=view/> }.into_any(),
                    ShownPods::One => view! { <PodLog cluster=cluster.get_value() pod=pod view=view/> }.into_any(),
                    ShownPods::Missing => view! { <NotThere/> }.into_any(),
                }}
            </div>
        }
        .into_any(),
    })
    .into_any()
}

/// Returns the selected pod of the workload.
fn chosen_of(view: LogView, pods: Memo<Option<Vec<Object>>>) -> Pod {
    let found = Memo::new(move |_| {
        let (pods, chosen) = (pods.get()?, view.pod.get());
        pods.into_iter().find(|pod| pod.name() == chosen)
    });
    let known = Memo::new(move |last: Option<&Option<Object>>| {
        let chosen = view.pod.get();
        let last = last.cloned().flatten();
        found
            .get()
            .or_else(|| last.filter(|last| last.name() == chosen))
    });
    let is_gone = Signal::derive(move || pods.with(Option::is_some) && found.with(Option::is_none));
    Pod { known, is_gone }
}

/// Returns the pods as options, sorted by name, with their states.
fn options_of(pods: Option<&[Object]>) -> Vec<(String, String)> {
    let pods = pods.unwrap_or_default().iter();
    pods.map(|pod| {
        let words = PodLine::of(pod).object_state.words;
        (pod.name().to_owned(), format!("{} ({words})", pod.name()))
    })
    .collect()
}

/// The pods whose log is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShownPods {
    All,
    One,
    /// The selected pod does not exist.
    Missing,
}

/// Shows the logs of all pods of a workload, ordered by time.
#[component]
fn AllPodsLog(
    workload: KubectlObject,
    pods: Memo<Option<Vec<Object>>>,
    view: LogView,
) -> impl IntoView {
    let of = workload.cluster.clone();
    let pods = Memo::new(move |_| {
        let pods = pods.get()?.into_iter();
        let of = |pod| LogPod {
            cluster: of.clone(),
            pod,
        };
        Some(pods.map(of).collect::<Vec<_>>())
    });
    let options = container_options(pods);
    let namespace = workload.namespace.clone().unwrap_or_default();
    let cluster = workload.cluster.clone();
    let request = Memo::new(move |_| Some(view.request_of_all(&cluster, &namespace)));
    let reader = Reader::begin_many(request, pods, SourceLabel::Pod);
    let count = move || {
        pods.with(|pods| {
            let pods = pods.iter().flatten();
            pods.flat_map(|it| containers(&it.pod)).count()
        })
    };
    let too_many = move || {
        let many = count() > MAX_STREAMS && view.container.with(String::is_empty);
        many.then(|| {
            view! { <Banner mood=BannerKind::Warning>{t().log.too_many(MAX_STREAMS)}</Banner> }
        })
    };
    let origin = StoredValue::new(LogOrigin::Workload(workload));
    view! {
        <div class="stack log-view">
            <Bar view=view reader=reader options=options request=request/>
            {too_many}
            <LogView view=view reader=reader request=request origin=origin/>
        </div>
    }
}

/// Returns all containers of the pods as options.
fn container_options(pods: Memo<Option<Vec<LogPod>>>) -> Memo<Vec<(String, String)>> {
    Memo::new(move |_| {
        let mut options = vec![(String::new(), t().log.all_containers().to_owned())];
        pods.with(|pods| {
            let pods = pods.iter().flatten();
            for container in pods.flat_map(|it| containers(&it.pod)) {
                let option = option(&container);
                if !options.contains(&option) {
                    options.push(option);
                }
            }
        });
        options
    })
}

/// Adds the selected pod to the options if the pod was deleted.
fn with_chosen(mut options: Vec<(String, String)>, chosen: &str) -> Vec<(String, String)> {
    if !chosen.is_empty() && !options.iter().any(|(name, _)| name == chosen) {
        options.push((chosen.to_owned(), t().log.gone(chosen)));
    }
    options
}

/// Shows the log of a container of the pod.
#[component]
fn PodLog(cluster: String, pod: Pod, view: LogView) -> impl IntoView {
    let known = pod.known;
    let all =
        Memo::new(move |_| known.with(|pod| pod.as_ref().map(containers).unwrap_or_default()));
    let options = Memo::new(move |_| all.with(|all| all.iter().map(option).collect::<Vec<_>>()));
    Effect::new(move || {
        let chosen = view.container.get();
        let first = known.with(|pod| pod.as_ref().and_then(default_container));
        let is_there = options.with(|options| options.iter().any(|(name, _)| *name == chosen));
        if let Some(first) = first.filter(|_| !is_there) {
            view.container.set(first);
        }
    });
    let request = Memo::new(move |_| {
        let (namespace, name) = known.with(|pod| {
            let pod = pod.as_ref()?;
            Some((pod.namespace()?.to_owned(), pod.name().to_owned()))
        })?;
        view.request(&cluster, &namespace, &name)
    });
    let uid = Memo::new(move |_| known.with(|pod| pod.as_ref().map(|pod| pod.uid().to_owned())));
    let reader = Reader::begin(request, uid, pod);
    view! {
        <div class="stack log-view">
            <Bar view=view reader=reader options=options request=request/>
            <LogView view=view reader=reader request=request/>
        </div>
    }
}

fn option(container: &Container) -> (String, String) {
    let name = container.name.clone();
    let words = match container.role {
        Role::Main => name.clone(),
        role => format!("{name} ({})", role.word()),
    };
    (name, words)
}

/// Returns the default container, like `kubectl logs`.
fn default_container(pod: &Object) -> Option<String> {
    let annotations = pod.annotations().into_iter();
    let mut named = annotations.filter(|(key, _)| key == "kubectl.kubernetes.io/default-container");
    let containers = containers(pod);
    let named = named.next().map(|(_, name)| name);
    let named = named.filter(|name| containers.iter().any(|it| it.name == *name));
    named.or_else(|| containers.first().map(|first| first.name.clone()))
}
