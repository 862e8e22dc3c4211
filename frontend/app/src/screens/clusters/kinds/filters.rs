//! The filters of a list.

use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::source::AS_METADATA;
use drover_ui_core::url::segment;
use drover_ui_kit::field::{SearchField, SuggestField};
use drover_ui_kit::picker::Choice;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::Deserialize;

use crate::fetch::Request;
use crate::namespace::ChosenNamespace;
use crate::screens::cluster::CurrentCluster;

/// The maximum number of suggested namespaces. Users can type other namespaces.
const SUGGESTED: u32 = 1_000;

/// Shows a text filter, and a namespace filter for namespaced kinds.
#[component]
pub(super) fn Filters(
    /// The accessible name of the text filter.
    label: String,
    /// The placeholder of the text filter.
    hint: &'static str,
    text: RwSignal<String>,
    /// The suggestions for the text filter.
    #[prop(default = None)]
    found: Option<Signal<Vec<Choice>>>,
    /// The selected namespace; `None` for cluster-scoped kinds.
    namespace: Option<RwSignal<String>>,
) -> impl IntoView {
    view! {
        {namespace.map(|namespace| view! { <Namespace value=namespace/> })}
        <div class="list-search"><SearchField label=label hint=hint value=text slash=true found=found/></div>
    }
}

#[derive(Deserialize)]
struct Names {
    items: Vec<NamedItem>,
}

#[derive(Deserialize)]
struct NamedItem {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

#[component]
fn Namespace(value: RwSignal<String>) -> impl IntoView {
    let in_sight = expect_context::<CurrentCluster>();
    let namespace = expect_context::<ChosenNamespace>();
    Effect::new(move || namespace.set(value.get()));
    let known = RwSignal::new(Vec::new());
    let cluster = in_sight.name.get_untracked();
    let rights = in_sight.cluster.get_untracked().rights.clone();
    if rights.all_namespaces || rights.namespaces.is_empty() {
        spawn_local(async move {
            // Users can type a namespace without suggestions.
            if let Ok(names) = namespaces(&cluster).await {
                let _ = known.try_set(names);
            }
        });
    } else {
        known.set(rights.namespaces);
    }
    view! {
        <SuggestField label=t().labels.namespace() hint=t().kinds.all_namespaces() choices=known value=value/>
    }
}

async fn namespaces(cluster: &str) -> Result<Vec<String>, Problem> {
    let cluster = segment(cluster);
    let path = format!("/k8s/clusters/{cluster}/api/v1/namespaces?limit={SUGGESTED}");
    let names: Names = Request::get(path).accepting(AS_METADATA).answer().await?;
    let names = names.items.into_iter();
    Ok(names.map(|named| named.metadata.name).collect())
}
