//! The overview page of a cluster.

mod actions;
mod annotate;
mod create;
mod endpoint;
mod facts;
mod frame;
mod kubectl_shell;
mod members;
mod nodes;

use std::sync::Arc;

use drover_api::rest::{ClusterRights, ClusterView};
use drover_ui_core::cluster::Health;
use drover_ui_core::messages::t;
use drover_ui_core::rights::RequiredRight;
use drover_ui_core::shell;
use drover_ui_core::url::segment;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::menu::Item;
use drover_ui_kit::notice::{Banner, BannerKind};
use leptos::prelude::*;

use crate::command::CliCommand;
use crate::palette::{ClusterDialog, PageActions};
use crate::screens::head::ActionsMenu;
use crate::screens::labels::OneLabels;
use actions::{DeleteCluster, Kubeconfig, RotateKeys};
use annotate::DescriptionDialog;
use create::CreateObjects;
use endpoint::Endpoint;
use facts::{Components, Conditions, Overview, Resources, Switches};
pub(crate) use frame::{ClusterFrame, ClusterHead, ClusterScreen, CurrentCluster};
use kubectl_shell::KubectlShellDialog;
pub(crate) use members::ClusterMembers;
use nodes::Nodes;

/// Shows the overview of a cluster.
#[component]
pub(crate) fn ClusterPage() -> impl IntoView {
    view! {
        <ClusterFrame>
            <ClusterHead screen=ClusterScreen::Overview actions=|| view! { <Actions/> }/>
            <Facts/>
        </ClusterFrame>
    }
}

/// The dialogs of the cluster's actions; true while a dialog is open.
#[derive(Clone, Copy)]
struct Dialogs {
    create: RwSignal<bool>,
    kubectl_shell: RwSignal<bool>,
    labels: RwSignal<bool>,
    description: RwSignal<bool>,
    kubeconfig: RwSignal<bool>,
    rotate_keys: RwSignal<bool>,
    delete: RwSignal<bool>,
}

impl Dialogs {
    fn new() -> Self {
        let closed = || RwSignal::new(false);
        Self {
            create: closed(),
            kubectl_shell: closed(),
            labels: closed(),
            description: closed(),
            kubeconfig: closed(),
            rotate_keys: closed(),
            delete: closed(),
        }
    }

    /// Returns the items of the menu.
    fn items(self, rights: &ClusterRights, waits: bool) -> Vec<Item> {
        let (words, labels) = (&t().cluster, t().cluster_labels.labels());
        let change = RequiredRight::ChangeClusters.unless(rights.may_change);
        let item = |icon, words: &str, open: RwSignal<bool>| {
            Item::action(icon, words, move || open.set(true))
        };
        let mut items = vec![
            item(Icon::Tag, labels, self.labels).missing(change.clone()),
            item(Icon::Lines, words.edit_description(), self.description).missing(change.clone()),
            item(Icon::Clock, words.rotate_keys_menu(), self.rotate_keys).missing(change),
            item(Icon::Trash, t().buttons.delete_menu(), self.delete)
                .missing(RequiredRight::DeleteCluster.unless(rights.may_delete))
                .danger(),
        ];
        // A cluster that waits for its agent accepts no objects and no shells.
        if waits {
            items.insert(0, item(Icon::Key, words.kubeconfig(), self.kubeconfig));
        } else {
            let shell = t().kubectl_shell.menu();
            items.insert(0, item(Icon::Plus, t().create.menu(), self.create));
            items.insert(1, item(Icon::Terminal, shell, self.kubectl_shell));
        }
        items
    }
}

#[component]
fn Actions() -> impl IntoView {
    let CurrentCluster {
        name,
        cluster,
        state,
        ..
    } = expect_context();
    let dialogs = Dialogs::new();
    let actions = expect_context::<PageActions>();
    actions.open_in(name, ClusterDialog::Create, dialogs.create);
    actions.open_in(name, ClusterDialog::KubectlShell, dialogs.kubectl_shell);
    let rights = Memo::new(move |_| cluster.with(|cluster| cluster.rights.clone()));
    let waits = Memo::new(move |_| state.with(|state| state.health == Health::Waiting));
    let main = move || {
        if !waits.get() {
            let open = move |()| dialogs.kubeconfig.set(true);
            return view! { <Button weight=Weight::Primary icon=Icon::Key on_press=open>{t().cluster.kubeconfig()}</Button> }
                .into_any();
        }
        if rights.with(|rights| rights.may_import) {
            let path = format!("/import?cluster={}", segment(&name.get()));
            return view! { <a class="button primary" href=path>{t().cluster.show_import()}</a> }
                .into_any();
        }
        let missing = RequiredRight::ImportCluster.unless(false);
        view! { <Button missing=missing>{t().cluster.show_import()}</Button> }.into_any()
    };
    let menu = move || {
        let items = rights.with(|rights| dialogs.items(rights, waits.get()));
        view! { <ActionsMenu of=name.get() items=items/> }
    };
    view! {
        {main}
        {menu}
        <CreateObjects name=name open=dialogs.create/>
        <KubectlShellDialog name=name open=dialogs.kubectl_shell/>
        <OneLabels open=dialogs.labels cluster=cluster/>
        <DescriptionDialog open=dialogs.description cluster=cluster/>
        <Kubeconfig name=name cluster=cluster open=dialogs.kubeconfig/>
        <RotateKeys name=name open=dialogs.rotate_keys/>
        <DeleteCluster name=name open=dialogs.delete/>
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
