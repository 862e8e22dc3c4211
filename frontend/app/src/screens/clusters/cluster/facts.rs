//! The fields on the overview page of a cluster: version, nodes, pods, agent, resources, conditions
//! and components.

use std::sync::Arc;

use drover_api::cluster_state::active_agent;
use drover_api::kinds::ConnectionSwitch;
use drover_api::rest::ClusterView;
use drover_rows::Severity;
use drover_ui_core::age::age;
use drover_ui_core::cluster::{LastContact, Load, last_contact, words};
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_core::quantity;
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::meter::Meter;
use leptos::prelude::*;

use crate::clock::{Clock, in_full};

/// The text for a value that the cluster does not report.
pub(super) const NOTHING: &str = "–";

/// Shows version, nodes, pods and agent of a cluster.
#[component]
pub(super) fn Overview(cluster: Signal<Arc<ClusterView>>) -> impl IntoView {
    let clock = expect_context::<Clock>();
    let of = move |read: fn(&ClusterView) -> Option<String>| {
        move || {
            cluster
                .with(|cluster| read(cluster))
                .unwrap_or_else(|| NOTHING.to_owned())
        }
    };
    let seen = move || match cluster.with(|cluster| last_contact(cluster)) {
        LastContact::Connected => t().cluster.connected().to_owned(),
        LastContact::At(at) => t().durations.ago(&age(at, clock.now())),
        LastContact::Never => t().labels.never().to_owned(),
    };
    let key = move || {
        let bound_at = cluster.with(|cluster| cluster.key_bound_at);
        bound_at.map_or_else(
            || NOTHING.to_owned(),
            |at| t().cluster.key_bound(&age(at, clock.now())),
        )
    };
    let connection = move || {
        let last = cluster.with(|cluster| active_agent(cluster).cloned());
        last.map_or_else(
            || NOTHING.to_owned(),
            |last| {
                let time = age(last.at.0, clock.now());
                t().cluster
                    .connection(&agent_of(&last), &time, &last.reason)
            },
        )
    };
    let nodes_screen = move || cluster.with(|cluster| Kind::NODES.list_screen(&cluster.name));
    let created_at = move || cluster.with(|cluster| in_full(cluster.created_at).to_string());
    view! {
        <dl class="facts">
            <dt>{t().labels.description()}</dt><dd>{of(|it| it.description.clone())}</dd>
            <dt>{t().labels.labels()}</dt><dd>{of(labels)}</dd>
            <dt>{t().labels.kubernetes()}</dt><dd>{of(|it| it.kubernetes_version.clone())}</dd>
            <dt>{t().labels.nodes()}</dt><dd><a href=nodes_screen>{of(nodes)}</a></dd>
            <dt>{t().labels.pods()}</dt><dd>{of(pods)}</dd>
            <dt>{t().labels.agent()}</dt><dd>{of(agent)}</dd>
            <dt>{t().labels.agent_image()}</dt><dd>{of(|it| it.agent.as_ref()?.image.clone())}</dd>
            <dt>{t().labels.agent_key()}</dt><dd>{key}</dd>
            <dt>{t().labels.connection()}</dt><dd>{connection}</dd>
            <dt>{t().labels.reports()}</dt><dd>{of(reports)}</dd>
            <dt>{t().labels.node_agents()}</dt><dd>{of(node_agents)}</dd>
            <dt>{t().labels.last_seen()}</dt><dd>{seen}</dd>
            <dt>{t().labels.created()}</dt><dd>{created_at}</dd>
            <dt>{t().labels.uid()}</dt><dd><code>{of(|it| Some(it.uid.clone()))}</code></dd>
        </dl>
    }
}

fn labels(cluster: &ClusterView) -> Option<String> {
    let labels = cluster
        .labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"));
    let text = labels.collect::<Vec<_>>().join(", ");
    (!text.is_empty()).then_some(text)
}

fn nodes(cluster: &ClusterView) -> Option<String> {
    let nodes = cluster.nodes?;
    Some(t().cluster.nodes_ready(nodes.ready, nodes.total))
}

fn pods(cluster: &ClusterView) -> Option<String> {
    let load = Load::of(cluster, "pods")?;
    Some(match load.requested {
        Some(here) => t().cluster.pods(here, load.total),
        None => t().cluster.pod_capacity(load.total),
    })
}

fn agent(cluster: &ClusterView) -> Option<String> {
    let agent = cluster.agent.as_ref()?;
    let protocol = agent.protocol.to_string();
    Some(t().cluster.agent(&agent.version, &protocol, agent.tunnels))
}

/// Returns the agent that receives the requests after a switch.
fn agent_of(switch: &ConnectionSwitch) -> String {
    agent_on(switch.node.as_deref())
}

/// Returns the agent that sends the reports about the cluster and its nodes.
fn reports(cluster: &ClusterView) -> Option<String> {
    active_agent(cluster)?;
    let connection = cluster.connection.as_ref()?;
    Some(agent_on(connection.reporting_node.as_deref()))
}

fn agent_on(node: Option<&str>) -> String {
    match node {
        None => t().cluster.cluster_agent().to_owned(),
        Some(node) => t().cluster.node_agent(node),
    }
}

fn node_agents(cluster: &ClusterView) -> Option<String> {
    let agents = cluster.node_agents.iter().map(|agent| {
        if agent.key_bound_at.is_some() {
            agent.node.clone()
        } else {
            t().cluster.node_agent_not_registered(&agent.node)
        }
    });
    let agents = agents.collect::<Vec<_>>().join(", ");
    (!agents.is_empty()).then_some(agents)
}

/// Shows the switches between the agent and node agents, if the cluster had any.
#[component]
pub(super) fn Switches(cluster: Signal<Arc<ClusterView>>) -> impl IntoView {
    let clock = expect_context::<Clock>();
    let switches = Memo::new(move |_| {
        cluster.with(|cluster| {
            cluster
                .connection
                .as_ref()
                .map_or_else(Vec::new, |it| it.switches.clone())
        })
    });
    move || {
        let found = switches.get();
        (found.len() > 1).then(|| {
            let lines = found.into_iter().map(|switch| {
                let text = move || {
                    let time = age(switch.at.0, clock.now());
                    t().cluster
                        .switch(&agent_of(&switch), &time, &switch.reason)
                };
                view! { <li>{text}</li> }
            });
            view! {
                <section class="card">
                    <h2>{t().cluster.switches()}</h2>
                    <ul>{lines.collect_view()}</ul>
                </section>
            }
        })
    }
}

/// A resource of the usage table: the name in the API, the label, and the formats of a part and of
/// the total.
type Resource = (
    &'static str,
    &'static str,
    fn(f64) -> String,
    fn(f64) -> String,
);

fn resources() -> [Resource; 2] {
    let (cpu, memory) = (t().labels.cpu(), t().labels.memory());
    [
        ("cpu", cpu, quantity::cores, quantity::cores_with_unit),
        ("memory", memory, quantity::bytes, quantity::bytes),
    ]
}

/// Shows usage and requests of the resources.
#[component]
pub(super) fn Resources(cluster: Signal<Arc<ClusterView>>) -> impl IntoView {
    let rows = resources().map(|resource| {
        let load = Memo::new(move |_| cluster.with(|cluster| Load::of(cluster, resource.0)));
        view! {
            <dt>{resource.1}</dt>
            <dd class="stack">
                <Line load=load resource=resource amount=Amount::Used/>
                <Line load=load resource=resource amount=Amount::Requested/>
            </dd>
        }
    });
    view! { <dl class="facts">{rows.into_iter().collect_view()}</dl> }
}

/// The type of a displayed amount: usage or requests.
#[derive(Clone, Copy)]
enum Amount {
    Used,
    Requested,
}

impl Amount {
    const fn of(self, load: &Load) -> Option<f64> {
        match self {
            Self::Used => load.used,
            Self::Requested => load.requested,
        }
    }

    fn words(self, amount: &str, total: &str) -> String {
        match self {
            Self::Used => t().home.used(amount, total),
            Self::Requested => t().home.requested(amount, total),
        }
    }

    fn unknown(self, total: &str) -> String {
        match self {
            Self::Used => t().cluster.usage_unknown(total),
            Self::Requested => t().cluster.requests_unknown(total),
        }
    }
}

#[component]
fn Line(load: Memo<Option<Load>>, resource: Resource, amount: Amount) -> impl IntoView {
    let (_, _, shown, all) = resource;
    let part = move || {
        let load = load.get()?;
        amount.of(&load).map(|taken| load.part_of(taken))
    };
    let words =
        Signal::derive(
            move || match load.get().map(|load| (amount.of(&load), load.total)) {
                Some((Some(taken), total)) => amount.words(&shown(taken), &all(total)),
                Some((None, total)) => amount.unknown(&all(total)),
                None => t().states.unknown().to_owned(),
            },
        );
    view! {
        <div class="meter-row">
            <Meter part=Signal::derive(part) words=words/>
            <span class="muted" aria-hidden="true">{words}</span>
        </div>
    }
}

/// Shows the conditions of the cluster.
#[component]
pub(super) fn Conditions(cluster: Signal<Arc<ClusterView>>) -> impl IntoView {
    let clock = expect_context::<Clock>();
    let rows = move || {
        let conditions = cluster.with(|cluster| cluster.conditions.clone());
        let rows = conditions.into_iter().map(|condition| {
            let (tone, status) = match condition.status.as_str() {
                "True" => (Tone::Good, t().states.yes()),
                "False" => (Tone::Bad, t().states.no()),
                _ => (Tone::Neutral, t().states.unknown()),
            };
            let since = condition.last_transition_time.0;
            let text = [words(&condition.reason), condition.message].join(": ");
            view! {
                <li class="condition">
                    <b>{words(&condition.type_)}</b>
                    <span class="row"><Badge tone=tone words=status.to_owned()/><span>{text}</span></span>
                    <span class="muted">{move || t().durations.lasting(&age(since, clock.now()))}</span>
                </li>
            }
        });
        rows.collect_view()
    };
    view! { <ul class="conditions">{rows}</ul> }
}

/// Shows the components of the control plane, if the cluster reports components.
#[component]
pub(super) fn Components(cluster: Signal<Arc<ClusterView>>) -> impl IntoView {
    move || {
        let components = cluster.with(|cluster| cluster.components.clone());
        let rows = components.into_iter().map(|component| {
            let (tone, health) = if component.healthy {
                (Tone::Good, t().states.severity(Severity::Healthy))
            } else {
                (Tone::Bad, t().cluster.unhealthy())
            };
            view! {
                <li class="condition">
                    <b>{component.name}</b>
                    <span class="row">
                        <Badge tone=tone words=health.to_owned()/>
                        <span>{component.message}</span>
                    </span>
                </li>
            }
        });
        let rows: Vec<_> = rows.collect();
        (!rows.is_empty()).then(|| {
            view! {
                <section class="card"><h2>{t().cluster.components()}</h2><ul class="conditions">{rows}</ul></section>
            }
        })
    }
}
