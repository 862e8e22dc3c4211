//! Creates and connects the server's modules.

use std::sync::Arc;

use axum::{Extension, Router, middleware};

use super::certificate::Certificate;
use super::gate::{Gate, Hsts};
use super::imports;
use super::{Base, ServerOptions, StartError};
use crate::demo;
use crate::ui;
use drover_agent_gateway::registration;
use drover_agent_gateway::registration::RegistrationState;
use drover_agent_gateway::registration::notice::Notices;
use drover_agent_gateway::tunnels::Tunnels;
use drover_audit::{Audit, Destination, audited};
use drover_charts::Charts;
use drover_controllers::{Controllers, run_hub_access};
use drover_fleet::{Gitops, ImportOptions};
use drover_git::Fetcher;
use drover_git_hosting::{GitHosting, Repositories};
use drover_history::{HistoryStore, ObjectHistories};
use drover_http_edge::caching::without_cache;
use drover_http_edge::status::Status;
use drover_hub::Stores;
use drover_hub::admission::WriteAuthorizer;
use drover_hub::admission::install::Installer;
use drover_hub::admission::review;
use drover_hub::admission::review::Reviews;
use drover_hub::admission::webhook_status::{WebhookState, WebhookStatus};
use drover_hub::connect::HubOptions;
use drover_hub::lease::{Leadership, LeaseState};
use drover_hub::settings::reconciler;
use drover_identity::accounts::WatchableKinds;
use drover_identity::providers::conditions;
use drover_identity::{
    Authenticator, DeviceLogins, LastUse, PasswordLogins, Passwords, ProviderLogins,
    ProviderLogouts, Providers, Refresher, tokens,
};
use drover_port_forwards::PortForwards;
use drover_proxy::{OpenStreams, Proxy, run_revocation, shut_down};
use drover_rest as rest;
use drover_rest::telemetry;
use drover_rest::telemetry::Telemetry;
use drover_rest::{ClusterQueryLimiter, RestState};
use drover_row_service::RowService;
use drover_telemetry::{Health, Metrics};
use drover_terminals::Terminals;

/// Creates the modules, starts their background tasks, and returns the service for all requests.
pub(super) fn build(
    base: &Base,
    options: &ServerOptions,
    passwords: Passwords,
    certificate: &Certificate,
) -> Result<Gate, StartError> {
    let metrics = Metrics::new();
    metrics.register(|registry| base.runtime.metrics.register(registry));
    let audit = Audit::open(&Destination::named(&options.audit_log), &metrics)?;
    let tunnels = Tunnels::within(options.memory.tunnels, &metrics);
    let authenticator = identity(base);
    settings(base, options);
    let health = Health::new();
    readiness(&health, base.hub.stores(), &base.leadership);
    let trust: Option<Arc<str>> = certificate.trust().map(Arc::from);

    let logins = PasswordLogins::new(base.hub.clone(), base.settings.clone(), passwords);
    let (hub, settings, limits) = (&base.hub, &base.settings, logins.limits());
    let providers = Providers::new(hub.clone());
    let provider_logins = ProviderLogins::new(
        hub.clone(),
        settings.clone(),
        providers.clone(),
        limits.clone(),
    );
    let refresher = Refresher::new(hub.clone(), providers, provider_logins.locks().clone());
    let conditions = conditions::run(hub.clone(), provider_logins.clone(), base.runtime.clone());
    base.spawn(conditions);
    let provider_logouts = ProviderLogouts::new(
        hub.clone(),
        settings.clone(),
        provider_logins.providers().clone(),
        provider_logins.locks().clone(),
    );
    let policy = ui::Policy::default();
    let (page, telling) = (policy.clone(), provider_logouts.clone());
    base.spawn(telling.run_origins(move |origins| page.let_post(origins), base.runtime.clone()));
    let refreshing = refresher.clone();
    base.spawn(refreshing.run(base.runtime.clone()));
    let people = rest::router(RestState {
        hub: base.hub.clone(),
        authenticator: authenticator.clone(),
        devices: DeviceLogins::new(hub.clone(), settings.clone(), limits.clone()),
        logins,
        provider_logins,
        sign_in_sources: base.sign_in_sources.clone(),
        provider_logouts,
        refresher,
        tunnels: tunnels.clone(),
        cluster_queries: ClusterQueryLimiter::default(),
        lookups: rest::Lookups::default(),
        audit: audit.reader().clone(),
        settings: base.settings.clone(),
        trust: trust.clone(),
    });
    let shown = certificate.shown();
    let notices = Arc::new(Notices::new(&base.hub));
    let registration = RegistrationState::new(
        base.hub.clone(),
        base.settings.clone(),
        authenticator.clone(),
        tunnels.clone(),
        trust.clone(),
        Arc::new(move || registration::pin::of_certificate(&shown.leaf()?)),
        notices.clone(),
    );
    let repositories = repositories(&options.hub)?;
    run_demo(base, options, &registration, repositories.clone());
    let agents = registration::router(registration);
    let controllers = Controllers::new(
        base.hub.clone(),
        tunnels.clone(),
        base.settings.clone(),
        notices,
        base.runtime.clone(),
    );
    base.spawn(controllers.run());
    let proxy = new_proxy(base, &audit, &authenticator, tunnels, &metrics, &health);
    let (proxy, rows, history) = lists(base, options, proxy, authenticator.clone());
    let terminals = Terminals::new(Arc::clone(&proxy), authenticator.clone());
    let forwards = port_forwards(base, options, &proxy, authenticator.clone());
    let rules = admission(base, options, certificate, &metrics, &health);
    let git = git_hosting(base, authenticator.clone(), repositories);
    let telemetry = telemetry::router(Telemetry {
        metrics,
        hub_metrics: base.hub_metrics.clone(),
        health,
        log_filter: options.log_filter.clone(),
        authenticator,
    });
    let routes = people
        .merge(agents)
        .merge(from_clusters(terminals, forwards.clone(), history))
        .merge(gitops(base, options, trust))
        .merge(git)
        .merge(telemetry)
        .layer(middleware::from_fn_with_state(audit, audited))
        // The audit log contains the requests to clusters, and not the page's connection.
        .merge(rows)
        .merge(rules)
        .merge(ui::router())
        .fallback(ui::screen_or_not_found)
        .method_not_allowed_fallback(async || Status::method_not_allowed())
        .layer(Extension(policy));
    let (leadership, hsts) = (base.leadership.clone(), Hsts::with(certificate));
    Ok(Gate::new(proxy, forwards, routes, leadership, hsts))
}

/// Returns the router of the routes whose responses contain data of clusters.
fn from_clusters(terminals: Terminals, forwards: PortForwards, history: Router) -> Router {
    drover_terminals::router(terminals)
        .merge(drover_port_forwards::router(forwards))
        .merge(history)
        .layer(middleware::map_response(without_cache))
}

/// Starts the simulated clusters and the example repository when this server becomes the leader.
fn run_demo(
    base: &Base,
    options: &ServerOptions,
    registration: &RegistrationState,
    repositories: Option<Repositories>,
) {
    let Some(demo) = options.demo.clone() else {
        return;
    };
    let (hub, registration) = (base.hub.clone(), registration.clone());
    let demo = demo::run(demo, hub, registration, repositories, base.stop.clone());
    base.spawn(when_leading(base, demo));
}

/// Opens the git repositories in the data folder of an embedded hub. A server with an external hub
/// has no data folder, and therefore no repositories.
fn repositories(hub: &HubOptions) -> Result<Option<Repositories>, StartError> {
    match hub {
        HubOptions::Embedded(data) => Ok(Some(Repositories::open(data.repositories())?)),
        HubOptions::Kubeconfig { .. } | HubOptions::Pod => Ok(None),
    }
}

fn git_hosting(
    base: &Base,
    authenticator: Authenticator,
    repositories: Option<Repositories>,
) -> Router {
    let (hub, limits) = (base.hub.clone(), drover_git_hosting::Limits::default());
    drover_git_hosting::router(GitHosting::new(hub, authenticator, repositories, limits))
}

/// Starts the controllers of Fleet's kinds. Returns the route for webhooks of git servers.
fn gitops(base: &Base, options: &ServerOptions, trust: Option<Arc<str>>) -> Router {
    let fetcher = Fetcher::new(options.git.clone());
    let charts = Charts::new(options.charts.clone());
    let (hub, runtime) = (base.hub.clone(), base.runtime.clone());
    let settings = base.settings.clone();
    let import = ImportOptions {
        manifest: imports::manifest(settings.clone()),
        loopback: options.import_loopback,
    };
    let gitops = Gitops::new(hub, runtime, fetcher, charts, settings, trust, import);
    let webhooks = drover_fleet::webhooks::router(gitops.webhooks());
    base.spawn(gitops.run());
    webhooks
}

/// Returns the routes of the admission webhook for an external hub.
fn admission(
    base: &Base,
    options: &ServerOptions,
    certificate: &Certificate,
    metrics: &Metrics,
    health: &Health,
) -> Router {
    if base.hub_is_embedded {
        WebhookStatus::new(WebhookState::InForce, metrics, health);
        return Router::new();
    }
    let authorizer = WriteAuthorizer {
        client: base.hub.client(),
        stores: base.hub.stores().clone(),
    };
    let reviews = Reviews::new(authorizer, base.hub.keys().webhook_path_segment());
    let installer = Installer {
        client: base.hub.client(),
        reviews: reviews.clone(),
        address: options.hub_webhook.clone(),
        settings: base.settings.clone(),
        trust: certificate.trust().map(str::to_owned),
        status: WebhookStatus::new(WebhookState::Unknown, metrics, health),
    };
    base.spawn(installer.run(base.runtime.clone()));
    review::router(reviews)
}

fn identity(base: &Base) -> Authenticator {
    let last_use = LastUse::default();
    let authenticator = Authenticator::new(base.hub.clone(), last_use.clone());
    let accounts = authenticator.accounts().clone();
    let watchable_kinds = if base.hub_is_embedded {
        WatchableKinds::All
    } else {
        WatchableKinds::AccountsAndPods
    };
    base.spawn(accounts.run(watchable_kinds, base.runtime.clone()));
    base.spawn(last_use.run(base.hub.clone(), base.runtime.clone()));
    base.spawn(tokens::run_purge(base.hub.clone(), base.runtime.clone()));
    authenticator
}

fn settings(base: &Base, options: &ServerOptions) {
    base.spawn(reconciler::run(
        base.hub.clone(),
        base.settings.clone(),
        base.runtime.clone(),
    ));
    if options.log_filter_by_setting {
        base.spawn(reconciler::run_log_filter(
            base.settings.clone(),
            options.log_filter.clone(),
            base.runtime.clone(),
        ));
    }
}

fn new_proxy(
    base: &Base,
    audit: &Audit,
    authenticator: &Authenticator,
    tunnels: Tunnels,
    metrics: &Metrics,
    health: &Health,
) -> Proxy {
    let open = OpenStreams::new();
    let recorded = audit.clone();
    health.check("audit", move || recorded.problem().map_or(Ok(()), Err));
    base.spawn(shut_down(open.clone(), audit.clone(), base.stop.clone()));
    base.spawn(run_revocation(
        open.clone(),
        base.hub.stores().clone(),
        authenticator.clone(),
        base.runtime.clone(),
    ));
    base.spawn(run_hub_access(base.hub.clone(), base.runtime.clone()));
    Proxy::new(
        base.hub.clone(),
        authenticator.clone(),
        tunnels,
        open,
        audit.clone(),
        metrics.clone(),
    )
}

/// Starts the row service and the history of objects. Returns the proxy, which reports writes to the
/// history, the route of the row service and the route of the history.
fn lists(
    base: &Base,
    options: &ServerOptions,
    proxy: Proxy,
    authenticator: Authenticator,
) -> (Arc<Proxy>, Router, Router) {
    let versions = HistoryStore::new(options.memory.history);
    let proxy = Arc::new(proxy.with_write_observer(Arc::new(versions.clone())));
    let rows = RowService::new(
        Arc::clone(&proxy),
        authenticator.clone(),
        options.memory.rows,
        versions.clone(),
        base.stop.clone(),
    );
    base.spawn(rows.clone().run());
    let history = ObjectHistories::new(versions, Arc::clone(&proxy), authenticator);
    base.spawn(history.clone().run(base.stop.clone()));
    let rows = drover_row_service::router(rows);
    (proxy, rows, drover_history::router(history))
}

/// Starts the task that ends port forwards. Returns the port forwards.
fn port_forwards(
    base: &Base,
    options: &ServerOptions,
    proxy: &Arc<Proxy>,
    authenticator: Authenticator,
) -> PortForwards {
    let domain = options.forward_domain.clone();
    let forwards = PortForwards::new(Arc::clone(proxy), authenticator, domain);
    base.spawn(forwards.clone().run(base.stop.clone()));
    forwards
}

/// Starts a background task after this server becomes the leader.
fn when_leading(
    base: &Base,
    task: impl Future<Output = ()> + Send + 'static,
) -> impl Future<Output = ()> + Send + 'static {
    let (mut leadership, stop) = (base.leadership.clone(), base.stop.clone());
    async move {
        let leading = leadership.wait_for(LeaseState::may_control);
        if let Some(Some(_)) = stop.run_until_cancelled(leading).await {
            task.await;
        }
    }
}

/// Registers the readiness checks.
fn readiness(health: &Health, stores: &Stores, leadership: &Leadership) {
    let stores = stores.clone();
    health.check("hub", move || {
        let checked = stores.health().check();
        checked.map_err(|status| status.message().to_owned())
    });
    let leadership = leadership.clone();
    health.check("lease", move || match leadership.state() {
        state if state.may_serve() => Ok(()),
        LeaseState::Waiting { holder } if !holder.is_empty() => Err(format!("{holder} serves")),
        _ => Err("no server serves yet".to_owned()),
    });
}

#[cfg(test)]
mod tests;
