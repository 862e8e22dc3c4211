//! The navigation within a cluster: the kinds that the cluster serves, in groups.

use drover_ui_core::cluster::{members_screen, screen as cluster_screen};
use drover_ui_core::discovery::{KindGroup, navigation};
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_kit::icon::{Icon, Picture};
use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_location;

use crate::namespace::ChosenNamespace;
use crate::screens::address;
use crate::served_kinds::ServedKinds;

/// Shows the navigation between the screens of a cluster.
#[component]
pub(super) fn ClusterNavigation(cluster: String, namespace: ChosenNamespace) -> impl IntoView {
    let served = expect_context::<ServedKinds>();
    let (overview, members) = (cluster_screen(&cluster), members_screen(&cluster));
    let (title, heading) = (cluster.clone(), cluster.clone());
    let name = StoredValue::new(cluster);
    let groups = Memo::new(move |_| served.get().map(|served| navigation(&served)));
    let kinds = move || {
        let Some(groups) = groups.get() else {
            let words = match served.problem() {
                Some(_) => t().navigation.failed(),
                None => t().navigation.loading(),
            };
            return view! { <p class="rail-note" role="status">{words}</p> }.into_any();
        };
        let (custom, known): (Vec<_>, Vec<_>) = groups.into_iter().partition(|it| it.custom);
        let group = move |group| view! { <Group group=group cluster=name namespace=namespace/> };
        let custom_heading = (!custom.is_empty())
            .then(|| view! { <p class="rail-heading">{t().navigation.custom()}</p> });
        view! {
            {known.into_iter().map(group).collect_view()}
            {custom_heading}
            {custom.into_iter().map(group).collect_view()}
        }
        .into_any()
    };
    view! {
        <nav class="rail-cluster" aria-label=t().cluster.navigation()>
            <ul>
                <li><A href="/" exact=true><Picture icon=Icon::ChevronDown/><span>{t().navigation.leave()}</span></A></li>
            </ul>
            <p class="rail-heading rail-name truncate" title=title>{heading}</p>
            <ul>
                <li><A href=overview exact=true><span>{t().cluster.overview()}</span></A></li>
                <li><A href=members><span>{t().palette.members()}</span></A></li>
            </ul>
            {kinds}
        </nav>
    }
}

/// Shows the kinds of a group. The groups of custom resources are closed unless the current screen
/// shows one of their kinds.
#[component]
fn Group(
    group: KindGroup,
    cluster: StoredValue<String>,
    namespace: ChosenNamespace,
) -> impl IntoView {
    let screens: Vec<String> = cluster.with_value(|cluster| {
        let screens = group.kinds.iter().map(|kind| kind.list_screen(cluster));
        screens.collect()
    });
    let pathname = use_location().pathname;
    let is_current = Memo::new(move |_| {
        let is_within = |screen: &String| {
            pathname.with(|path| {
                let rest = path.strip_prefix(screen.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        screens.iter().any(is_within)
    });
    let links = group.kinds.into_iter().map(move |kind: Kind| {
        let path = move || {
            let namespace = namespace.get();
            let namespace = if kind.namespaced { namespace } else { String::new() };
            let screen = cluster.with_value(|cluster| kind.list_screen(cluster));
            address::path(&screen, &[("namespace", namespace)])
        };
        view! { <li><A href=path><span class="truncate" title=kind.heading>{kind.heading}</span></A></li> }
    });
    view! {
        <details class="rail-group" open=!group.custom || is_current.get_untracked()>
            <summary class="rail-heading"><span class="truncate" title=group.heading.clone()>{group.heading.clone()}</span></summary>
            <ul>{links.collect_view()}</ul>
        </details>
    }
}
