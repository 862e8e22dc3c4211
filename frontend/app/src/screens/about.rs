//! The screen with information about this server.

use drover_api::rest::Version;
use drover_ui_core::hub::{ApiVersion, HUB_VERSION};
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_kit::notice::{Banner, BannerKind, Skeleton};
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::clock::in_full;
use crate::command::{CliCommand, origin};
use crate::screens::head::PageHead;
use crate::screens::title::title;
use crate::session::{Session, display_name};

/// Shows information about the server, the page and the session.
#[component]
pub(crate) fn About() -> impl IntoView {
    title(t().frame.about());
    let session = expect_context::<Session>();
    let version = RwSignal::new(None::<Result<Version, Problem>>);
    spawn_local(async move {
        let answer = session.get("/v1/version").await;
        // The screen can be disposed before the response arrives.
        let _ = version.try_set(Some(answer));
    });
    let server = move || match version.get() {
        None => view! { <Skeleton/> }.into_any(),
        Some(Err(problem)) => {
            view! { <Banner mood=BannerKind::Error>{problem.message}</Banner> }.into_any()
        }
        Some(Ok(version)) => view! { <Server version=version/> }.into_any(),
    };
    view! {
        <div class="page">
            <PageHead title=t().frame.about()/>
            <div class="cards">
                <section class="card"><h2>{t().about.server()}</h2>{server}</section>
                <section class="card"><h2>{t().about.you()}</h2><You/></section>
            </div>
            <footer class="page-foot"><CliCommand line="drover version".to_owned()/></footer>
        </div>
    }
}

#[component]
fn Server(version: Version) -> impl IntoView {
    let protocols: Vec<String> = version.protocols.iter().map(u32::to_string).collect();
    let warning = version.shared_address.map(|shared| {
        let words = shared.warning();
        view! { <Banner mood=BannerKind::Warning>{words}</Banner> }
    });
    view! {
        {warning}
        <dl class="facts">
            <dt>{t().about.address()}</dt><dd><code>{origin()}</code></dd>
            <dt>{t().labels.version()}</dt><dd>{version.version}</dd>
            <dt>{t().about.commit()}</dt><dd><code>{version.commit}</code></dd>
            <dt>{t().about.page_version()}</dt><dd>{env!("CARGO_PKG_VERSION")}</dd>
            <HubFact/>
            <dt>{t().about.agent_protocols()}</dt><dd>{protocols.join(", ")}</dd>
            <dt>{t().about.rest_api()}</dt><dd><a href="/v1/openapi.json" rel="external">{t().about.openapi()}</a></dd>
        </dl>
    }
}

/// Shows the version of the hub's API. Only administrators can read the version.
#[component]
fn HubFact() -> impl IntoView {
    let session = expect_context::<Session>();
    if !session.is_administrator() {
        return ().into_any();
    }
    let hub = RwSignal::new(None::<Result<ApiVersion, Problem>>);
    spawn_local(async move {
        let answer = session.get(HUB_VERSION).await;
        // The screen can be disposed before the response arrives.
        let _ = hub.try_set(Some(answer));
    });
    let words = move || match hub.get() {
        None => t().kit.loading().to_owned(),
        Some(Ok(version)) => version.words(),
        Some(Err(problem)) => problem.message,
    };
    view! { <dt>{t().about.hub()}</dt><dd>{words}</dd> }.into_any()
}

#[component]
fn You() -> impl IntoView {
    let session = expect_context::<Session>();
    move || {
        session.view().map(|view| {
            let name = display_name(&view);
            let rights = if view.me.administrator {
                t().about.administrator()
            } else {
                t().about.by_roles()
            };
            let idle = view
                .idle_seconds
                .map(|seconds| t().about.idle_timeout(seconds / 60));
            view! {
                <dl class="facts">
                    <dt>{t().labels.name()}</dt><dd>{name}</dd>
                    <dt>{t().about.user_name()}</dt><dd>{view.me.username}</dd>
                    <dt>{t().about.kubernetes_user()}</dt><dd><code>{view.me.kubernetes_user}</code></dd>
                    <dt>{t().labels.permissions()}</dt><dd>{rights}</dd>
                    <dt>{t().about.session_expires()}</dt>
                    <dd>{in_full(view.expires_at).to_string()} {idle}</dd>
                </dl>
            }
        })
    }
}
