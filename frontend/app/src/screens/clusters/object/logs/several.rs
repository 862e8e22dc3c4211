//! The page with the log of pods of several clusters, ordered by time.

use drover_ui_core::backoff::Backoff;
use drover_ui_core::feed::Objects;
use drover_ui_core::log::{LOGS_SCREEN, LogSelection, LogTarget, MAX_STREAMS, TargetPods};
use drover_ui_core::messages::t;
use drover_ui_core::object::{Object, Related, containers, related};
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::field::TextField;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState, Skeleton};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde_json::Value;

use super::bar::{Bar, FailureList};
use super::log_view::{LogOrigin, LogView};
use super::reader::Reader;
use super::reader::many::{LogPod, SourceLabel};
use super::view::LogView;
use super::{NoPods, container_options};
use crate::clock::chance;
use crate::freshness::Freshness;
use crate::network::rest;
use crate::reflector::{Store, until_cleanup};
use crate::screens::head::{Crumb, PageHead};
use crate::screens::title::title;
use crate::session::Session;
use crate::unsaved::UnsavedGuard;

/// Shows the log of the pods that the URL selects.
#[component]
pub(crate) fn SeveralLogs() -> impl IntoView {
    title(t().several_logs.title());
    let query = use_query_map();
    let selection =
        Memo::new(move |_| query.with(|query| LogSelection::of_query(|name| query.get(name))));
    view! {
        <div class="page">
            <PageHead crumbs=vec![Crumb::clusters()] title=t().several_logs.title()/>
            {move || match selection.get() {
                None => view! {
                    <LabelsForm selection=None/>
                    <EmptyState
                        reason=EmptyReason::Empty
                        title=t().several_logs.no_selection()
                        advice=t().several_logs.no_selection_advice()
                    />
                }
                .into_any(),
                Some(selection) => {
                    let has_labels = matches!(selection, LogSelection::Labels { .. });
                    let form = has_labels.then(|| selection.clone());
                    view! {
                        {form.map(|selection| view! { <LabelsForm selection=Some(selection)/> })}
                        <SelectedLog selection=selection/>
                    }
                    .into_any()
                }
            }}
        </div>
    }
}

/// Shows the form that selects pods by their labels.
#[component]
fn LabelsForm(selection: Option<LogSelection>) -> impl IntoView {
    let guard = expect_context::<UnsavedGuard>();
    let (clusters, namespace, selector) = match selection {
        Some(LogSelection::Labels {
            clusters,
            namespace,
            selector,
        }) => (clusters.join(", "), namespace, selector),
        _ => (String::new(), "default".to_owned(), String::new()),
    };
    let (clusters, namespace, selector) = (
        RwSignal::new(clusters),
        RwSignal::new(namespace),
        RwSignal::new(selector),
    );
    let entered = Memo::new(move |_| {
        LogSelection::of_query(|name| match name {
            "clusters" => Some(clusters.get()),
            "namespace" => Some(namespace.with(|it| it.trim().to_owned())),
            "selector" => Some(selector.get()),
            _ => None,
        })
    });
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if let Some(selection) = entered.get_untracked() {
            guard.go(&selection.screen());
        }
    };
    view! {
        <form class="terminal-form" on:submit=submit>
            <TextField label=t().several_logs.clusters() value=clusters help=t().several_logs.clusters_help().to_owned()/>
            <TextField label=t().labels.namespace() value=namespace/>
            <TextField label=t().several_logs.selector() value=selector help=t().several_logs.selector_help().to_owned()/>
            <Button
                weight=Weight::Primary
                role=Role::Submit
                disabled=Signal::derive(move || entered.with(Option::is_none))
            >
                {t().several_logs.show()}
            </Button>
        </form>
    }
}

/// The live pods of a target.
#[derive(Clone)]
struct FollowedTarget {
    target: LogTarget,
    pods: Store<Object>,
}

impl FollowedTarget {
    /// Lists and watches the pods of a target until cleanup.
    fn begin(target: LogTarget) -> Self {
        let session = expect_context::<Session>();
        let pods = Store::new();
        let followed = Self { target, pods };
        let task = followed.clone();
        until_cleanup(async move { task.follow(session).await });
        followed
    }

    async fn follow(self, session: Session) {
        let Some(related) = self.related(session).await else {
            self.pods.show(Vec::new());
            return self.pods.mark_live();
        };
        let source = related.source(&self.target.cluster);
        self.pods
            .follow::<Object, Objects>(session, source, Object::clone)
            .await;
    }

    /// Returns the query for the pods. Reads a workload until the cluster sends the workload.
    async fn related(&self, session: Session) -> Option<Related> {
        let named = match &self.target.pods {
            TargetPods::Query(related) => return Some(related.clone()),
            TargetPods::Of(named) => named,
        };
        let mut backoff = Backoff::default();
        loop {
            match session.get::<Value>(&named.api_path()).await {
                Ok(object) => return related(named.kind, &Object::from(object)),
                Err(problem) => self.pods.mark_stale(session, problem),
            }
            rest(backoff.after_failure(chance())).await;
        }
    }

    /// Returns the pods. Returns `None` before the first response.
    fn pods(&self) -> Option<Vec<LogPod>> {
        let pods = self.pods.items()?;
        let of = |pod: &Object| LogPod {
            cluster: self.target.cluster.clone(),
            pod: pod.clone(),
        };
        Some(pods.iter().map(of).collect())
    }

    /// Returns the error of the target, with its name.
    fn problem(&self) -> Option<String> {
        let label = &self.target.label;
        match self.pods.freshness() {
            Freshness::Stale { problem, .. } => Some(t().log.of_source(label, &problem.message)),
            Freshness::Live if self.pods.items()?.is_empty() => Some(
                t().log
                    .of_source(label, t().several_logs.target_without_pods()),
            ),
            _ => None,
        }
    }
}

/// Shows the log of the selected pods. A cluster that fails does not hide the other clusters.
#[component]
fn SelectedLog(selection: LogSelection) -> impl IntoView {
    let view = LogView::of_url(LOGS_SCREEN.to_owned(), selection.query());
    let followed: Vec<_> = selection
        .targets()
        .into_iter()
        .map(FollowedTarget::begin)
        .collect();
    let followed = StoredValue::new(followed);
    let pods = Memo::new(move |_| {
        let known: Vec<_> = followed.with_value(|all| {
            let known = all.iter().filter_map(FollowedTarget::pods);
            known.collect()
        });
        (!known.is_empty()).then(|| known.into_iter().flatten().collect::<Vec<_>>())
    });
    let problems = Memo::new(move |_| {
        followed.with_value(|all| {
            let problems = all.iter().filter_map(FollowedTarget::problem);
            problems.collect::<Vec<_>>()
        })
    });
    let label = if selection.has_several_namespaces() {
        SourceLabel::Namespace
    } else {
        SourceLabel::Cluster
    };
    let options = container_options(pods);
    let request = Memo::new(move |_| Some(view.request_of_all("", "")));
    let reader = Reader::begin_many(request, pods, label);
    let count = Memo::new(move |_| {
        pods.with(|pods| {
            let pods = pods.iter().flatten();
            pods.flat_map(|it| containers(&it.pod)).count()
        })
    });
    let too_many = move || {
        let many = count.get() > MAX_STREAMS && view.container.with(String::is_empty);
        many.then(|| {
            view! { <Banner mood=BannerKind::Warning>{t().several_logs.too_many(MAX_STREAMS)}</Banner> }
        })
    };
    let is_known = Memo::new(move |_| pods.with(Option::is_some));
    let has_pods = Memo::new(move |_| count.get() > 0);
    let origin = StoredValue::new(LogOrigin::Selection(selection));
    view! {
        <div class="stack log-view">
            <FailureList failures=problems.into()/>
            {move || match (is_known.get(), has_pods.get()) {
                (_, true) => view! {
                    <Bar view=view reader=reader options=options request=request/>
                    {too_many}
                    <LogView view=view reader=reader request=request origin=origin/>
                }
                .into_any(),
                (true, false) => view! { <NoPods/> }.into_any(),
                (false, false) if problems.with(Vec::is_empty) => view! { <Skeleton lines=8/> }.into_any(),
                (false, false) => ().into_any(),
            }}
        </div>
    }
}
