//! The facts about the nodes of a cluster.

use std::sync::Arc;

use drover_api::kinds::NodeFacts;
use drover_api::rest::ClusterView;
use drover_ui_core::cluster::node_problems;
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_core::url::segment;
use leptos::prelude::*;

use super::facts::NOTHING;
use crate::clock::Clock;
use crate::live::listing::Listing;
use crate::session::Session;

/// Shows the facts about nodes, if the cluster reports facts.
#[component]
pub(super) fn Nodes(name: String, cluster: Signal<Arc<ClusterView>>) -> impl IntoView {
    let facts = facts(&name, cluster);
    let total = Memo::new(move |_| cluster.with(|it| it.nodes.map_or(0, |nodes| nodes.total)));
    move || {
        let nodes = facts.get();
        let shown = nodes.len();
        let some = move || {
            let total = total.get();
            let is_part = usize::try_from(total).is_ok_and(|total| total > shown);
            is_part.then(|| view! { <p class="muted">{t().cluster.some_nodes(shown, total)}</p> })
        };
        let rows = nodes
            .into_iter()
            .map(|node| view! { <NodeRow node=node cluster=&name/> });
        (shown > 0).then(|| {
            view! {
                <section class="card">
                    <h2>{t().labels.nodes()}</h2>
                    <div class="wide-pairs" tabindex="0" role="region" aria-label=t().labels.nodes()>
                        <table class="pairs">
                            <thead><tr>{heads()}</tr></thead>
                            <tbody>{rows.collect_view()}</tbody>
                        </table>
                    </div>
                    {some}
                </section>
            }
        })
    }
}

/// Returns the facts about nodes. Administrators watch Cluster objects, which contain the facts. For
/// other users, the page polls the cluster, because lists of clusters do not contain the facts.
fn facts(name: &str, cluster: Signal<Arc<ClusterView>>) -> Memo<Vec<NodeFacts>> {
    if expect_context::<Session>().is_administrator() {
        return Memo::new(move |_| cluster.with(|it| it.node_facts.clone()));
    }
    let polled = Listing::<ClusterView>::follow_one(format!("/v1/clusters/{}", segment(name)));
    Memo::new(move |_| {
        let items = polled.items().unwrap_or_default();
        let found = items.first();
        found.map_or_else(Vec::new, |it| it.node_facts.clone())
    })
}

fn heads() -> impl IntoView {
    let heads = [
        t().labels.name(),
        t().cluster.kubelet(),
        t().workloads.operating_system(),
        t().workloads.kernel(),
        t().workloads.runtime(),
        t().cluster.node_agent_version(),
        t().cluster.problems(),
    ];
    let heads = heads.map(|head| view! { <th scope="col">{head}</th> });
    heads.into_iter().collect_view()
}

#[component]
fn NodeRow<'a>(node: NodeFacts, cluster: &'a str) -> impl IntoView + use<> {
    let clock = expect_context::<Clock>();
    let shown = |text: String| {
        if text.is_empty() {
            NOTHING.to_owned()
        } else {
            text
        }
    };
    let screen = Kind::NODES.object_screen(cluster, None, &node.name);
    let agent = node.node_agent.as_ref().map(|agent| agent.version.clone());
    let facts = [
        node.kubelet_version.clone(),
        node.os_image.clone(),
        node.kernel_version.clone(),
        node.container_runtime.clone(),
        agent.unwrap_or_default(),
    ];
    let facts = facts.map(|fact| view! { <td>{shown(fact)}</td> });
    let name = node.name.clone();
    // Certificates expire while the page is open.
    let problems = move || shown(node_problems(&node, clock.now()).join(", "));
    view! {
        <tr>
            <th scope="row"><a href=screen>{name}</a></th>
            {facts.into_iter().collect_view()}
            <td>{problems}</td>
        </tr>
    }
}
