//! The columns of the list of clusters.

use std::cmp::Ordering;
use std::sync::Arc;

use drover_api::rest::ClusterView;
use drover_ui_core::age::age;
use drover_ui_core::cluster::{Load, State, state};
use drover_ui_core::messages::t;
use drover_ui_core::quantity;
use drover_ui_kit::badge::Badge;
use drover_ui_kit::meter::Meter;
use drover_ui_kit::table::{Column, Row, Sorting};
use leptos::prelude::*;

use super::tone;
use crate::clock::Clock;
use crate::screens::cells::two;
use drover_ui_core::cluster::screen as cluster_screen;

/// The default order: by state, failing clusters first.
pub(super) const BY_DEFAULT: Sorting = Sorting {
    column: "state",
    descending: false,
};
/// The placeholder for a missing value.
const NOTHING: &str = "–";

/// A row of the list of clusters.
#[derive(Clone, PartialEq)]
pub(super) struct ClusterRow {
    pub(super) cluster: Arc<ClusterView>,
    pub(super) state: State,
}

impl ClusterRow {
    pub(super) fn new(cluster: Arc<ClusterView>) -> Self {
        Self {
            state: state(&cluster),
            cluster,
        }
    }

    fn part(&self, resource: &str) -> Option<f64> {
        Load::of(&self.cluster, resource)?.part()
    }
}

impl Row for ClusterRow {
    fn key(&self) -> String {
        self.cluster.uid.clone()
    }

    fn name(&self) -> String {
        self.cluster.name.clone()
    }
}

/// Returns the columns of the list of clusters.
pub(super) fn columns() -> Vec<Column<ClusterRow>> {
    vec![
        Column::new("state", t().labels.state(), "col-state", state_cell).by(by_state),
        Column::new("name", t().labels.name(), "col-name", name_cell).by(by_name),
        Column::new("version", t().labels.version(), "col-version", version_cell).by(by_version),
        Column::new("nodes", t().labels.nodes(), "col-nodes figure", nodes_cell).by(by_nodes),
        Column::new("cpu", t().labels.cpu(), "col-load", cpu_cell).by(by_cpu),
        Column::new("memory", t().labels.memory(), "col-load", memory_cell).by(by_memory),
        Column::new("pods", t().labels.pods(), "col-load", pods_cell).by(by_pods),
        Column::new("agent", t().labels.agent(), "col-agent", agent_cell).by(by_agent),
        Column::new("age", t().labels.age(), "col-age figure", age_cell).by(by_age),
    ]
}

fn by_name(a: &ClusterRow, b: &ClusterRow) -> Ordering {
    a.cluster.name.cmp(&b.cluster.name)
}

fn by_state(a: &ClusterRow, b: &ClusterRow) -> Ordering {
    let order = a.state.health.cmp(&b.state.health);
    order.then_with(|| by_name(a, b))
}

fn by_version(a: &ClusterRow, b: &ClusterRow) -> Ordering {
    numbers(&a.cluster).cmp(&numbers(&b.cluster))
}

/// Parses a version into numbers, so that `v1.9.2` sorts before `v1.10.0`.
fn numbers(cluster: &ClusterView) -> Vec<u64> {
    let text = cluster.kubernetes_version.as_deref().unwrap_or_default();
    let parts = text.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

fn by_nodes(a: &ClusterRow, b: &ClusterRow) -> Ordering {
    let total = |row: &ClusterRow| row.cluster.nodes.map(|nodes| nodes.total);
    total(a).cmp(&total(b))
}

/// Sorts by the used share of a resource. Unknown shares are first.
fn by_part(a: &ClusterRow, b: &ClusterRow, resource: &str) -> Ordering {
    let part = |row: &ClusterRow| row.part(resource).unwrap_or(-1.0);
    part(a).total_cmp(&part(b))
}

fn by_cpu(a: &ClusterRow, b: &ClusterRow) -> Ordering {
    by_part(a, b, "cpu")
}

fn by_memory(a: &ClusterRow, b: &ClusterRow) -> Ordering {
    by_part(a, b, "memory")
}

fn by_pods(a: &ClusterRow, b: &ClusterRow) -> Ordering {
    by_part(a, b, "pods")
}

fn by_agent(a: &ClusterRow, b: &ClusterRow) -> Ordering {
    let version = |row: &ClusterRow| row.cluster.agent.as_ref().map(|it| it.version.clone());
    version(a).cmp(&version(b))
}

/// Sorts by creation time, newest first.
fn by_age(a: &ClusterRow, b: &ClusterRow) -> Ordering {
    b.cluster.created_at.cmp(&a.cluster.created_at)
}

fn name_cell(row: &ClusterRow) -> AnyView {
    let name = row.cluster.name.clone();
    let labels = row
        .cluster
        .labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"));
    let below = match &row.cluster.description {
        Some(text) => text.clone(),
        None => labels.collect::<Vec<_>>().join("  "),
    };
    let link = view! { <a class="truncate" href=cluster_screen(&name)>{name.clone()}</a> };
    two(link, &below)
}

fn state_cell(row: &ClusterRow) -> AnyView {
    let badge = view! { <Badge tone=tone(row.state.health) words=row.state.summary.clone()/> };
    two(badge, row.state.detail.as_deref().unwrap_or_default())
}

fn text(words: impl Into<String>) -> AnyView {
    view! { <span class="truncate">{words.into()}</span> }.into_any()
}

fn version_cell(row: &ClusterRow) -> AnyView {
    text(row.cluster.kubernetes_version.as_deref().unwrap_or(NOTHING))
}

fn nodes_cell(row: &ClusterRow) -> AnyView {
    text(match row.cluster.nodes {
        Some(nodes) if nodes.ready == nodes.total => nodes.total.to_string(),
        Some(nodes) => format!("{} / {}", nodes.ready, nodes.total),
        None => NOTHING.to_owned(),
    })
}

/// Shows the used or requested part of a resource. `shown` formats the part, and `all` the total.
fn load_cell(
    row: &ClusterRow,
    resource: &str,
    shown: fn(f64) -> String,
    all: fn(f64) -> String,
) -> AnyView {
    let load = Load::of(&row.cluster, resource);
    let part = load.and_then(|load| load.part());
    let words = match (load, load.and_then(|load| load.taken())) {
        (Some(load), Some(taken)) => {
            let (taken, total) = (shown(taken), all(load.total));
            if load.used.is_some() {
                t().home.used(&taken, &total)
            } else {
                t().home.requested(&taken, &total)
            }
        }
        _ => t().states.unknown().to_owned(),
    };
    view! { <Meter part=part words=words/> }.into_any()
}

fn cpu_cell(row: &ClusterRow) -> AnyView {
    load_cell(row, "cpu", quantity::cores, quantity::cores_with_unit)
}

fn memory_cell(row: &ClusterRow) -> AnyView {
    load_cell(row, "memory", quantity::bytes, quantity::bytes)
}

fn pods_cell(row: &ClusterRow) -> AnyView {
    let load = Load::of(&row.cluster, "pods");
    let part = load.and_then(|load| load.part());
    let words = match load.and_then(|load| Some((load.requested?, load.total))) {
        Some((here, room)) => t().home.used_pods(here, room),
        None => t().states.unknown().to_owned(),
    };
    view! { <Meter part=part words=words/> }.into_any()
}

fn agent_cell(row: &ClusterRow) -> AnyView {
    text(match &row.cluster.agent {
        Some(agent) if agent.tunnels > 0 => format!("{} ×{}", agent.version, agent.tunnels),
        Some(agent) => agent.version.clone(),
        None => NOTHING.to_owned(),
    })
}

fn age_cell(row: &ClusterRow) -> AnyView {
    let (clock, created_at) = (expect_context::<Clock>(), row.cluster.created_at);
    view! { <span>{move || age(created_at, clock.now())}</span> }.into_any()
}
