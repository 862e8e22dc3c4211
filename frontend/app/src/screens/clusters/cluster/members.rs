//! The screen with the members of a cluster.

use drover_ui_core::member::Scope;
use drover_ui_core::messages::t;
use leptos::prelude::*;
use leptos_router::components::A;

use super::{ClusterFrame, ClusterHead, ClusterScreen, CurrentCluster};
use crate::command::CliCommand;
use crate::screens::access;
use crate::screens::members::Members;

/// Shows the members of a cluster.
#[component]
pub(crate) fn ClusterMembers() -> impl IntoView {
    let screen = || ClusterScreen::Of(t().palette.members().to_owned());
    view! {
        <ClusterFrame>
            <ClusterHead screen=screen()/>
            <Here/>
        </ClusterFrame>
    }
}

#[component]
fn Here() -> impl IntoView {
    let in_sight = expect_context::<CurrentCluster>();
    move || {
        // The list is created again for another cluster.
        let name = in_sight.name.get();
        let ask = access::path_of(&name);
        let scope = Scope::Cluster(name);
        let command = scope.list_command();
        view! {
            <Members scope=scope follows=move |freshness| in_sight.follows(freshness)/>
            <footer class="page-foot">
                <CliCommand line=command/>
                <A href=ask>{t().cluster.check_access()}</A>
            </footer>
        }
    }
}
