//! The live list of related pods or jobs of an object.

use drover_ui_core::feed::Objects;
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_core::object::{Crash, Object, PodLine, Related, crashes};
use drover_ui_kit::badge::Badge;
use drover_ui_kit::notice::Skeleton;
use leptos::prelude::*;

use super::words::{Age, AgeForm, Link, Refused};
use crate::freshness::{Freshness, StaleBanner};
use crate::reflector::Store;
use crate::screens::cluster::CurrentCluster;
use crate::screens::kinds::tone_of;

/// The maximum number of shown objects. The list of the kind shows all objects.
const MAX_SHOWN: usize = 200;

/// Starts the live list of related objects.
pub(super) fn follow(cluster: &str, target: &Related) -> Store<Object> {
    Store::begin::<Objects>(target.source(cluster))
}

/// Returns the related objects. Returns `None` before the list is loaded.
pub(super) fn belonging(followed: Store<Object>, target: &Related) -> Option<Vec<Object>> {
    let items = followed.items()?;
    let ours = items.iter().filter(|item| {
        let owner = target.owner.as_ref();
        owner.is_none_or(|owner| item.is_owned_by(owner))
    });
    Some(ours.cloned().collect())
}

/// Shows the card with the related objects.
#[component]
pub(super) fn RelatedObjects(
    cluster: StoredValue<String>,
    target: Related,
    /// The kind of the owner.
    of: Kind,
    /// The signal that the component sets to the crashes of the pods.
    crashing: RwSignal<Vec<Crash>>,
) -> impl IntoView {
    let followed = cluster.with_value(|cluster| follow(cluster, &target));
    let kind = target.kind;
    let target = StoredValue::new(target);
    let ours = Memo::new(move |_| target.with_value(|target| belonging(followed, target)));
    // Pages of nodes do not show crashes, because the pods of a node have many owners.
    let tells = kind == Kind::PODS && of != Kind::NODES;
    Effect::new(move || {
        let found = ours.with(|ours| ours.iter().flatten().flat_map(crashes).collect::<Vec<_>>());
        if tells && crashing.with_untracked(|known| *known != found) {
            crashing.set(found);
        }
    });
    let not_ready = expect_context::<CurrentCluster>().not_ready_nodes();
    let count = move || ours.with(|ours| ours.as_ref().map(|ours| format!(" ({})", ours.len())));
    let list = move || match (ours.get(), followed.freshness()) {
        (None, Freshness::Stale { problem, .. }) => {
            view! { <Refused problem=problem of=kind.heading/> }.into_any()
        }
        (None, _) => view! { <Skeleton lines=3/> }.into_any(),
        (Some(ours), _) if ours.is_empty() => {
            view! { <p class="muted">{t().object.none_related(kind.heading)}</p> }.into_any()
        }
        (Some(ours), _) => {
            view! { <Lines kind=kind ours=ours not_ready=not_ready.get() cluster=cluster/> }
                .into_any()
        }
    };
    view! {
        <section class="card">
            <h3>{kind.heading}{count}</h3>
            <StaleBanner
                freshness=Signal::derive(move || followed.freshness())
                shown=Signal::derive(move || ours.with(Option::is_some))
            />
            {list}
        </section>
    }
}

#[component]
fn Lines(
    kind: Kind,
    ours: Vec<Object>,
    not_ready: Vec<String>,
    cluster: StoredValue<String>,
) -> impl IntoView {
    let more = ours.len().saturating_sub(MAX_SHOWN);
    let rows = ours.iter().take(MAX_SHOWN).map(|one| {
        let line = match kind {
            Kind::PODS => PodLine::on(one, &not_ready),
            _ => PodLine::of_job(one),
        };
        view! { <OneLine line=line cluster=cluster/> }
    });
    let rows = rows.collect_view();
    let more = (more > 0).then(|| {
        view! { <p class="muted">{t().object.more_related(more)}</p> }
    });
    view! { <ul class="related-list">{rows}</ul>{more} }
}

#[component]
fn OneLine(line: PodLine, cluster: StoredValue<String>) -> impl IntoView {
    let ready = (!line.ready.is_empty()).then(|| t().object.ready(&line.ready));
    let restarts = match line.restarts {
        0 => None,
        count => Some(t().pods.crash(None, count)),
    };
    let node = line.node.map(
        |node| view! { <span>{t().object.on_node()}" "<Link cluster=cluster to=node/></span> },
    );
    let age = line
        .created
        .map(|at| view! { <span><Age at=at form=AgeForm::Old/></span> });
    view! {
        <li>
            <Link cluster=cluster to=line.pod/>
            <span title=line.object_state.why><Badge tone=tone_of(line.object_state.severity) words=line.object_state.words/></span>
            <span class="muted row">
                {ready.map(|it| view! { <span>{it}</span> })}
                {restarts.map(|it| view! { <span>{it}</span> })}
                {node}
                {age}
            </span>
        </li>
    }
}
