//! The problems that the agents report: unhealthy clusters, nodes with problems, expiring
//! certificates, and clusters with little capacity.

use std::sync::Arc;

use drover_api::rest::ClusterView;
use drover_ui_core::cluster::{
    Health, is_unhealthy, nearly_full, problems_of_nodes, screen as cluster_screen, state,
};
use drover_ui_core::messages::t;
use drover_ui_kit::badge::Badge;
use leptos::prelude::*;

use super::LOADED;
use crate::screens::home::tone;

/// The problem of one cluster.
#[derive(Clone, Debug, PartialEq)]
struct Reason {
    cluster: String,
    /// The state of an unhealthy cluster.
    state: Option<(Health, String)>,
    detail: String,
}

/// The problems that the agents of all clusters report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reported {
    unhealthy: Vec<Reason>,
    nodes: Vec<Reason>,
    capacity: Vec<Reason>,
}

impl Reported {
    pub(super) fn of(clusters: &[Arc<ClusterView>]) -> Self {
        let mut reported = Self::default();
        for cluster in clusters {
            let reason = |state, detail| Reason {
                cluster: cluster.name.clone(),
                state,
                detail,
            };
            let now = state(cluster);
            if is_unhealthy(now.health) {
                let detail = now.detail.unwrap_or_default();
                let shown = Some((now.health, now.summary));
                reported.unhealthy.push(reason(shown, detail));
            }
            if let Some(message) = problems_of_nodes(cluster) {
                reported.nodes.push(reason(None, message.to_owned()));
            }
            let shares = nearly_full(cluster).into_iter();
            let shares = shares.map(|(resource, part)| {
                let percent = format!("{:.0}", (part * 100.0).floor());
                t().problems_page.share(resource, &percent)
            });
            let shares: Vec<String> = shares.collect();
            if !shares.is_empty() {
                reported.capacity.push(reason(None, shares.join(", ")));
            }
        }
        reported
    }

    /// Reports whether the agents report no problem.
    pub(super) fn is_empty(&self) -> bool {
        self.unhealthy.is_empty() && self.nodes.is_empty() && self.capacity.is_empty()
    }
}

/// Shows a card for each type of problem.
#[component]
pub(super) fn ReportedProblems(reported: Memo<Reported>) -> impl IntoView {
    move || {
        let Reported {
            unhealthy,
            nodes,
            capacity,
        } = reported.get();
        let cards = [
            (t().frame.clusters(), unhealthy),
            (t().problems_page.nodes(), nodes),
            (t().problems_page.capacity(), capacity),
        ];
        cards.map(|(heading, reasons)| view! { <Card heading=heading reasons=reasons/> })
    }
}

#[component]
fn Card(heading: &'static str, reasons: Vec<Reason>) -> impl IntoView {
    let count = reasons.len();
    let line = |reason: Reason| {
        let badge = reason.state.map(|(health, summary)| {
            view! { <Badge tone=tone(health) words=summary/> }
        });
        view! {
            <li class="problem">
                {badge}
                <a href=cluster_screen(&reason.cluster)>{reason.cluster.clone()}</a>
                <span class="muted">{reason.detail}</span>
            </li>
        }
    };
    (count > 0).then(|| {
        view! {
            <section class="card">
                <h2>{heading}" "<span class="count">{count}</span></h2>
                <ul class="problem-list">{reasons.into_iter().take(LOADED).map(line).collect_view()}</ul>
            </section>
        }
    })
}
