//! The authorized endpoint of a cluster: state, API servers and actions.

mod disable;
mod form;
mod setup;

use std::sync::Arc;

use drover_api::rest::{ClusterView, EndpointPatch, EndpointView};
use drover_ui_core::age::age;
use drover_ui_core::endpoint::{EndpointState, path, state};
use drover_ui_core::lifetime;
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::rights::RequiredRight;
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::notice::Skeleton;
use leptos::prelude::*;

use super::CurrentCluster;
use super::facts::NOTHING;
use crate::clock::Clock;
use crate::freshness::MissingBanner;
use crate::live::listing::Listing;
use crate::screens::cells::tone;
use crate::session::Session;
use disable::DisableEndpoint;
use form::ChangeEndpoint;
use setup::SetUp;

/// The polled endpoint of a cluster.
#[derive(Clone, Copy, Debug)]
struct PolledEndpoint {
    /// The name of the cluster.
    cluster: StoredValue<String>,
    listing: Listing<EndpointView>,
    /// The endpoint; `None` before the first response.
    view: Memo<Option<EndpointView>>,
}

impl PolledEndpoint {
    fn of(cluster: String) -> Self {
        let listing = Listing::follow_one(path(&cluster));
        Self {
            cluster: StoredValue::new(cluster),
            listing,
            view: Memo::new(move |_| listing.items()?.first().cloned()),
        }
    }

    /// Returns a value of the endpoint. Returns the default before the first response.
    fn with<T: Default>(self, read: impl Fn(&EndpointView) -> T) -> T {
        self.view
            .with(|view| view.as_ref().map(read).unwrap_or_default())
    }

    /// Returns the request that changes the endpoint.
    fn change(
        self,
        session: Session,
        patch: EndpointPatch,
    ) -> impl Future<Output = Result<EndpointView, Problem>> {
        let target = path(&self.cluster.get_value());
        async move { session.send("PATCH", &target, &patch).await }
    }
}

/// Shows the authorized endpoint.
#[component]
pub(super) fn Endpoint(name: String, cluster: Signal<Arc<ClusterView>>) -> impl IntoView {
    let endpoint = PolledEndpoint::of(name);
    let freshness = Signal::derive(move || endpoint.listing.freshness());
    expect_context::<CurrentCluster>().follows(freshness);
    let known = Memo::new(move |_| endpoint.view.with(Option::is_some));
    view! {
        <section class="card">
            <h2>{t().endpoint.title()}</h2>
            <p class="muted">{t().endpoint.purpose()}</p>
            <MissingBanner freshness=freshness known=known words=t().endpoint.failed()/>
            <Show when=move || known.get() fallback=|| view! { <Skeleton/> }>
                <Facts endpoint=endpoint/>
                <Actions endpoint=endpoint cluster=cluster/>
            </Show>
        </section>
    }
}

#[component]
fn Facts(endpoint: PolledEndpoint) -> impl IntoView {
    let enabled = Memo::new(move |_| endpoint.with(|it| it.enabled));
    let balancer = move || {
        let fqdn = endpoint.with(|it| it.fqdn.clone());
        fqdn.unwrap_or_else(|| NOTHING.to_owned())
    };
    let limit = move || lifetime::words(endpoint.with(|it| it.offline_seconds.into()));
    view! {
        <dl class="facts">
            <dt>{t().labels.state()}</dt><dd><State endpoint=endpoint/></dd>
            <Show when=move || enabled.get()>
                <dt>{t().endpoint.load_balancer()}</dt><dd>{balancer}</dd>
                <dt>{t().endpoint.offline_limit()}</dt><dd>{limit}</dd>
            </Show>
        </dl>
        <Show when=move || enabled.get()>
            <h3>{t().endpoint.api_servers()}</h3>
            <ApiServers endpoint=endpoint/>
        </Show>
    }
}

/// Shows the state of the endpoint, with the message and the age of the condition.
#[component]
fn State(endpoint: PolledEndpoint) -> impl IntoView {
    let clock = expect_context::<Clock>();
    let found = Memo::new(move |_| endpoint.with(state));
    move || {
        let Some(state) = found.get() else {
            return view! {
                <span class="row">
                    <Badge tone=Tone::Neutral words=t().endpoint.disabled().to_owned()/>
                    <span>{t().endpoint.disabled_help()}</span>
                </span>
            }
            .into_any();
        };
        let EndpointState {
            status,
            words,
            message,
            since,
        } = state;
        let since = since.map(|since| {
            let lasting = move || t().durations.lasting(&age(since, clock.now()));
            view! { <span class="muted">{lasting}</span> }
        });
        view! {
            <span class="row"><Badge tone=tone(status) words=words/><span>{message}</span>{since}</span>
        }
        .into_any()
    }
}

/// Shows the API servers, and whether each API server calls the webhook.
#[component]
fn ApiServers(endpoint: PolledEndpoint) -> impl IntoView {
    let servers = Memo::new(move |_| endpoint.with(|it| it.api_servers.clone()));
    move || {
        let servers = servers.get();
        if servers.is_empty() {
            return view! { <p class="muted">{t().endpoint.no_api_servers()}</p> }.into_any();
        }
        let rows = servers.into_iter().map(|server| {
            let (tone, calls) = if server.calls_webhook {
                (Tone::Good, t().states.yes())
            } else {
                (Tone::Bad, t().states.no())
            };
            view! {
                <tr>
                    <th scope="row">{server.node}</th>
                    <td><code>{server.address}</code></td>
                    <td><Badge tone=tone words=calls.to_owned()/></td>
                </tr>
            }
        });
        view! {
            <table class="pairs">
                <thead>
                    <tr>
                        <th scope="col">{t().pods.node()}</th>
                        <th scope="col">{t().about.address()}</th>
                        <th scope="col">{t().endpoint.calls_webhook()}</th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        }
        .into_any()
    }
}

/// Shows the buttons, and the dialogs that the buttons open.
#[component]
fn Actions(endpoint: PolledEndpoint, cluster: Signal<Arc<ClusterView>>) -> impl IntoView {
    let [changing, disabling, setting_up] = [(); 3].map(|()| RwSignal::new(false));
    let enabled = Memo::new(move |_| endpoint.with(|it| it.enabled));
    // The server requires the permission that the import of the cluster also requires.
    let may = move || cluster.with(|it| it.rights.may_import);
    let missing = Signal::derive(move || RequiredRight::ChangeEndpoint.unless(may()));
    let enable = move || {
        view! { <Button missing=missing on_press=move |()| changing.set(true)>{t().buttons.enable_menu()}</Button> }
    };
    view! {
        <div class="row">
            <Show when=move || enabled.get() fallback=enable>
                <Button weight=Weight::Primary on_press=move |()| setting_up.set(true)>{t().endpoint.set_up_menu()}</Button>
                <Button missing=missing on_press=move |()| changing.set(true)>{t().buttons.edit_menu()}</Button>
                <Button missing=missing on_press=move |()| disabling.set(true)>{t().buttons.disable_menu()}</Button>
            </Show>
        </div>
        <ChangeEndpoint endpoint=endpoint open=changing/>
        <DisableEndpoint endpoint=endpoint open=disabling/>
        <SetUp endpoint=endpoint open=setting_up/>
    }
}
