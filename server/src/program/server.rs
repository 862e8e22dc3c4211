//! `drover server` and its subcommands.

use drover_api::kinds::User;
use drover_cli::{Failure, notice, print};
use drover_tunnel::memory::{MemoryLimit, MemorySize};
use kube::Api;
use secrecy::{ExposeSecret, SecretString};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::args::{self, HubKubeconfig, Recover, ServerArgs, ServerCommand, ServerOptions};
use crate::demo::{DemoFolder, DemoOptions, Limits, in_small_pages};
use crate::memory::MemoryPlan;
use drover_entropy::random_password;
use drover_http_edge::listen::Proxies;
use drover_http_edge::networks::TrustedProxies;
use drover_hub::admission::account::find_account_mismatch;
use drover_hub::connect::{Connection, HubOptions, ProcessEnvironment, connect};
use drover_hub::settings::Settings;
use drover_hub::{Hub, Keys, Stores};
use drover_identity::administrators::Candidate;
use drover_identity::{PasswordLogins, Passwords, administrators};

use crate::wire;
use drover_charts::ChartSettings;
use drover_fleet::Loopback;
use drover_git::FetcherSettings;
use drover_port_forwards::ForwardDomain;
use drover_telemetry::{Collector, LogFilter, LogFormat, LogOptions};
use std::path::PathBuf;

/// Runs the server or a subcommand.
pub(crate) async fn run(args: ServerArgs) -> Result<(), Failure> {
    match args.command {
        Some(ServerCommand::Recover(args)) => recover(args).await,
        Some(ServerCommand::Image(args)) => super::image::of_server(&args.image),
        None => serve(args.options).await,
    }
}

async fn serve(options: ServerOptions) -> Result<(), Failure> {
    let log = LogOptions {
        format: match options.log_format {
            args::LogFormat::Text => LogFormat::Text,
            args::LogFormat::Json => LogFormat::Json,
        },
        filter: options.log_filter.clone(),
        collector: options.otlp_endpoint.clone().map(|endpoint| Collector {
            endpoint,
            authority: options.otlp_ca.clone(),
        }),
    };
    let logging = drover_telemetry::start(&log).map_err(Failure::command)?;
    let stop = CancellationToken::new();
    let signals = stop_on_signals(stop.clone()).map_err(Failure::Start)?;
    let options = wired(options, logging.filter.clone())?;
    let ended = wire::run(options, stop).await;
    signals.abort();
    logging.finish().await;
    ended.map_err(Failure::command)
}

fn wired(options: ServerOptions, log_filter: LogFilter) -> Result<wire::ServerOptions, Failure> {
    let hub = hub_options(options.hub)?;
    let git = git_options(&hub, options.git_cache)?;
    let demo = demo_options(&hub, options.demo_clusters)?;
    Ok(wire::ServerOptions {
        hub,
        hub_webhook: options.hub_webhook,
        charts: chart_options(&git),
        git,
        demo,
        import_loopback: Loopback::Forbidden,
        listen: options.listen,
        proxies: Proxies {
            forwarded_for: TrustedProxies::new(&options.trusted_proxies),
            proxy_protocol: TrustedProxies::new(&options.proxy_protocol_from),
        },
        server_url: options.server_url.map(|url| url.to_string()),
        forward_domain: options.forward_domain.or_else(|| {
            let is_loopback = options.listen.ip().is_loopback();
            is_loopback.then(ForwardDomain::loopback)
        }),
        tls: tls_files(options.tls),
        first_password_file: options.first_password_file,
        audit_log: options.audit_log,
        memory: MemoryPlan::of(MemoryLimit::new(
            options.memory_limit.map(MemorySize::bytes),
        )),
        log_filter,
        log_filter_by_setting: options.log_filter.is_none(),
    })
}

fn tls_files(files: args::TlsFiles) -> Option<wire::TlsFiles> {
    Some(wire::TlsFiles {
        certificate: files.certificate?,
        key: files.key?,
        authority: files.authority,
    })
}

/// Returns the settings of the git worker, which is this program.
fn git_options(hub: &HubOptions, cache: Option<PathBuf>) -> Result<FetcherSettings, Failure> {
    let cache_dir = cache.unwrap_or_else(|| match hub {
        HubOptions::Embedded(data) => data.folder().join("git-cache"),
        _ => std::env::temp_dir().join("drover-git-cache"),
    });
    Ok(FetcherSettings {
        program: std::env::current_exe().map_err(Failure::Start)?,
        arguments: vec!["git-worker".into()],
        cache_dir,
        limits: drover_git::Limits::default(),
        max_workers: drover_fleet::GIT_WORKERS,
    })
}

/// Returns the settings of the program that fetches charts, which is beside this program.
fn chart_options(git: &FetcherSettings) -> ChartSettings {
    let program = git.program.with_file_name("drover-render");
    ChartSettings::new(program, git.cache_dir.join("charts"))
}

/// Returns the options of the simulated clusters. The data folder of the embedded hub contains
/// their state.
fn demo_options(hub: &HubOptions, clusters: u32) -> Result<Option<DemoOptions>, Failure> {
    match hub {
        HubOptions::Embedded(place) => {
            let carried = Limits::of_this_process().carry(clusters);
            carried.map_err(|error| Failure::Other(error.to_string()))?;
            if clusters > 0 {
                in_small_pages();
            }
            Ok(Some(DemoOptions {
                clusters,
                folder: DemoFolder::within(place.folder()),
            }))
        }
        _ if clusters == 0 => Ok(None),
        _ => Err(Failure::Other(
            "cannot run --demo-clusters without the embedded hub; use --data-dir instead of \
            --kubeconfig"
                .to_owned(),
        )),
    }
}

fn hub_options(hub: HubKubeconfig) -> Result<HubOptions, Failure> {
    HubOptions::choose(
        hub.kubeconfig,
        hub.kubeconfig_context,
        hub.data.data_dir,
        &ProcessEnvironment::read(),
    )
    .map_err(Failure::command)
}

/// Stops gracefully on SIGTERM or SIGINT, and immediately on the second signal.
fn stop_on_signals(stop: CancellationToken) -> std::io::Result<tokio::task::JoinHandle<()>> {
    let mut term = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(tokio::spawn(async move {
        for first in [true, false] {
            tokio::select! {
                _ = term.recv() => {}
                _ = interrupt.recv() => {}
            }
            if first {
                tracing::info!(
                    "stopping the server; a second signal aborts the server \
                                immediately"
                );
                stop.cancel();
            } else {
                tracing::warn!("aborting the server because of a second signal");
                std::process::abort();
            }
        }
    }))
}

/// Sets a new random password for a user on the hub. Makes the user an administrator if no enabled
/// administrator exists. Access to the hub already permits every change, so no further
/// authorization is necessary.
async fn recover(args: Recover) -> Result<(), Failure> {
    let hub = hub_options(args.hub.clone())?;
    let connection = connect(&hub).await.map_err(Failure::command)?;
    let done = recover_on(&connection, &args).await;
    connection.close().await;
    done
}

async fn recover_on(connection: &Connection, args: &Recover) -> Result<(), Failure> {
    let client = connection.client();
    if !connection.is_embedded()
        && let Some(stranger) = find_account_mismatch(&client).await
    {
        return Err(Failure::command(stranger));
    }
    let found = administrators::find_or_create(&client, &args.user).await;
    let Candidate { user, needed } = found.map_err(Failure::command)?;
    let password = reset(client.clone(), &user, needed).await?;
    if needed {
        let put = administrators::grant_administrator(&client, &user).await;
        put.map_err(Failure::command)?;
    }
    print(&format!("{}\n", password.expose_secret()))?;
    let ended = if needed {
        "All sessions and tokens of the user have ended: create new tokens for programs."
    } else {
        "The other sessions of the user have ended."
    };
    notice(&format!(
        "Standard output contains the new password of {:?}. The next login must change it. {ended}",
        args.user
    ));
    if needed {
        notice("There was no enabled administrator: the user is now an enabled administrator.");
    } else if !user.spec.enabled {
        notice(&format!(
            "The user is disabled. To enable the user, an administrator runs: drover user enable {}",
            drover_api::shell::word(&args.user)
        ));
    }
    Ok(())
}

/// Sets a new password. If `all` is true, also revokes all tokens of the user, so that stolen
/// tokens do not get administrator permissions.
async fn reset(client: kube::Client, user: &User, all: bool) -> Result<SecretString, Failure> {
    let stores = Stores::new();
    let secrets = Api::namespaced(client.clone(), drover_api::group::HUB_NAMESPACE);
    let keys = Keys::load(&secrets).await.map_err(Failure::command)?;
    let settings = Settings::new(stores.clone(), "");
    let passwords = Passwords::new().map_err(Failure::command)?;
    let logins = PasswordLogins::new(Hub::new(client, stores, keys), settings, passwords);
    let password = random_password().map_err(|_| {
        Failure::Other("cannot generate a password: the random number generator of the system failed; try again".to_owned())
    })?;
    let set = if all {
        logins
            .reset_password_and_revoke_tokens(user, password.clone())
            .await
    } else {
        logins.reset_password(user, password.clone()).await
    };
    set.map_err(Failure::command)?;
    Ok(password)
}
