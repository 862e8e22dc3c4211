//! The overview page of a cluster.

mod actions;
mod annotate;
mod endpoint;
mod facts;
mod frame;
mod members;
mod nodes;

use std::sync::Arc;

use drover_api::rest::ClusterView;
use drover_ui_core::cluster::Health;
use drover_ui_core::messages::t;
use drover_ui_core::rights::RequiredRight;
use drover_ui_core::shell;
use drover_ui_core::url::segment;
use drover_ui_kit::button::Button;
use drover_ui_kit::notice::{Banner, BannerKind};
use leptos::prelude::*;

use crate::command::CliCommand;
use actions::{DeleteCluster, Kubeconfig, RotateKeys};
use annotate::Annotate;
use endpoint::Endpoint;
use facts::{Components, Conditions, Overview, Resources, Switches};
pub(crate) use frame::{ClusterFrame, CurrentCluster};
pub(crate) use members::ClusterMembers;
use nodes::Nodes;

/// Shows the overview of a cluster.
#[component]
pub(crate) fn ClusterPage() -> impl IntoView {
    view! { <ClusterFrame actions=|| view! { <Actions/> }><Facts/></ClusterFrame> }
}

#[component]
fn Actions() -> impl IntoView {
    let in_sight = expect_context::<CurrentCluster>();
    let (name, cluster) = (in_sight.name, in_sight.cluster);
    let rights = Memo::new(move |_| cluster.with(|cluster| cluster.rights.clone()));
    let import = move || {
        let waits = in_sight.state.with(|state| state.health == Health::Waiting);
        let path = format!("/import?cluster={}", segment(&name.get()));
        let may = rights.with(|rights| rights.may_import);
        waits.then(|| {
            if may {
                return view! { <a class="button primary" href=path>{t().cluster.show_import()}</a> }
                    .into_any();
            }
            let missing = RequiredRight::ImportCluster.unless(false);
            view! { <Button missing=missing>{t().cluster.show_import()}</Button> }.into_any()
        })
    };
    let change = Signal::derive(move || {
        RequiredRight::ChangeClusters.unless(rights.with(|it| it.may_change))
    });
    let delete = Signal::derive(move || {
        RequiredRight::DeleteCluster.unless(rights.with(|it| it.may_delete))
    });
    view! {
        {import}
        <Annotate cluster=cluster missing=change/>
        <Kubeconfig name=name cluster=cluster/>
        <RotateKeys name=name missing=change/>
        <DeleteCluster name=name missing=delete/>
    }
}

/// Shows a warning on the page of the cluster that runs the hub.
#[component]
fn HostsHub(cluster: Signal<Arc<ClusterView>>) -> impl IntoView {
    let hosts = Memo::new(move |_| cluster.with(|cluster| cluster.hosts_hub));
    move || {
        hosts
            .get()
            .then(|| view! { <Banner mood=BannerKind::Warning>{t().cluster.hosts_hub()}</Banner> })
    }
}

#[component]
fn Facts() -> impl IntoView {
    let CurrentCluster { cluster, name, .. } = expect_context();
    view! {
        <HostsHub cluster=cluster/>
        <div class="cards">
            <section class="card"><h2>{t().cluster.overview()}</h2><Overview cluster=cluster/></section>
            <section class="card"><h2>{t().cluster.resources()}</h2><Resources cluster=cluster/></section>
        </div>
        <section class="card"><h2>{t().cluster.conditions()}</h2><Conditions cluster=cluster/></section>
        {move || {
            // The requests of the sections start again for another cluster.
            let name = name.get();
            view! { <Nodes name=name.clone() cluster=cluster/><Endpoint name=name cluster=cluster/> }
        }}
        <Components cluster=cluster/>
        <Switches cluster=cluster/>
        <footer class="page-foot">
            <CliCommand line=Signal::derive(move || format!("drover cluster get {}", shell::word(&name.get())))/>
        </footer>
    }
}
