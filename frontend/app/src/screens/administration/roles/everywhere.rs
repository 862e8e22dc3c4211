//! The screen with the members of all clusters.

use drover_ui_core::member::Scope;
use drover_ui_core::messages::t;
use leptos::prelude::*;
use leptos_router::components::A;

use crate::command::CliCommand;
use crate::freshness::{Freshness, FreshnessMark, StaleBanner};
use crate::screens::head::{Crumb, PageHead};
use crate::screens::members::Members;
use crate::screens::title::title;

/// Shows the members of all clusters.
#[component]
pub(crate) fn GlobalMembers() -> impl IntoView {
    title(t().roles.global_roles());
    let told = RwSignal::new(None::<Signal<Freshness>>);
    let mark = move || {
        let freshness = told.get()?;
        Some(view! { <FreshnessMark freshness=freshness/> })
    };
    let stale = move || {
        let freshness = told.get()?;
        Some(view! { <StaleBanner freshness=freshness shown=Signal::derive(|| true)/> })
    };
    let scope = Scope::Everywhere;
    let command = scope.list_command();
    view! {
        <div class="page">
            <PageHead crumbs=vec![Crumb::roles()] title=t().palette.global_members()>{mark}</PageHead>
            {stale}
            <p class="muted">
                {t().roles.global_members_help()}
            </p>
            <Members scope=scope follows=move |freshness| told.set(Some(freshness))/>
            <footer class="page-foot">
                <CliCommand line=command/>
                <A href="/roles">{t().roles.all_roles()}</A>
            </footer>
        </div>
    }
}
