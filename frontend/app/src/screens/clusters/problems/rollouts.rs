//! The last rollouts of Deployments in all clusters. Each rollout creates a ReplicaSet.

use std::sync::Arc;

use drover_rows::Row;
use drover_rows::protocol::ViewSpec;
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use jiff::SignedDuration;
use leptos::prelude::*;

use super::Line;
use crate::clock::Clock;
use crate::rows::RowConnection;

/// The number of rollouts on the page.
const SHOWN: usize = 8;
/// The age of the oldest rollout on the page.
const RECENT: SignedDuration = SignedDuration::from_hours(24);

/// Shows the newest ReplicaSets of the clusters.
#[component]
pub(super) fn Rollouts(clusters: Vec<String>) -> impl IntoView {
    if clusters.is_empty() {
        return ().into_any();
    }
    let kind = Kind::REPLICA_SETS;
    let newest = ViewSpec {
        sort: "created-at".to_owned(),
        descending: true,
        count: SHOWN,
        ..ViewSpec::default()
    };
    let list = kind.list_of(clusters, Vec::new());
    let rows = expect_context::<RowConnection>();
    let live = rows.subscribe(list, Signal::derive(move || newest.clone()));
    let clock = expect_context::<Clock>();
    let recent = Memo::new(move |_| {
        let since = clock.now() - RECENT;
        live.known.with(|known| {
            let rows = known.window().map(|(_, row)| Arc::clone(row));
            let is_recent = |row: &Arc<Row>| row.created.is_some_and(|created| created >= since);
            rows.filter(is_recent).collect::<Vec<_>>()
        })
    });
    let card = move || {
        let recent = recent.get();
        (!recent.is_empty()).then(|| {
            let lines = recent
                .into_iter()
                .map(|row| view! { <Line kind=kind row=row/> });
            view! {
                <section class="card">
                    <h2>{t().problems_page.rollouts()}</h2>
                    <ul class="problem-list">{lines.collect_view()}</ul>
                </section>
            }
        })
    };
    card.into_any()
}
