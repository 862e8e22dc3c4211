//! The command line of the benchmarks.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use drover_e2e::with_causes;
use tokio::signal::unix::{SignalKind, signal};

use crate::access::Access;
use crate::api::Api;
use crate::backend::Backend;
use crate::failover::Failover;
use crate::gitops::{BundleAgents, Gitops};
use crate::hub::Hub;
use crate::proxy::ProxyBench;
use crate::scale::Scale;
use crate::scale::{Agents, NodeAgents};
use crate::ui::Ui;

/// Drover's benchmarks.
#[derive(Parser)]
#[command(name = "drover-bench")]
enum Bench {
    /// Proxied requests: added latency, throughput, stalled readers, memory
    Proxy(ProxyBench),
    /// The embedded hub compared with kube-apiserver on etcd: writes, reads, watches, memory, start
    Hub(Hub),
    /// The server with many clusters: memory per cluster, reconnects after a crash, latency
    Scale(Scale),
    /// Node agents: takeover after faults of the agent, memory, webhook
    Failover(Failover),
    /// Bundles: time until they are ready in all clusters, requests, memory of agents
    Gitops(Gitops),
    /// Authorization with many users and bindings: duration of a decision, memory
    Access(Access),
    /// The web UI in a browser: size, cold and warm load, thousands of rows
    Ui(Ui),
    /// The API server of a cluster (for the benchmarks)
    #[command(hide = true)]
    Backend(Backend),
    /// Agents of many clusters in one process with a shared API server (for the benchmarks)
    #[command(hide = true)]
    Agents(Agents),
    /// Agents that deploy bundles, of many clusters in one process (for the benchmarks)
    #[command(hide = true)]
    BundleAgents(BundleAgents),
    /// Node agents of many clusters in one process (for the benchmarks)
    #[command(hide = true)]
    NodeAgents(NodeAgents),
    /// The API of the embedded hub (for the benchmarks)
    #[command(hide = true)]
    Api(Api),
}

pub(crate) fn run() -> ExitCode {
    let bench = Bench::parse();
    match start(bench) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Ignore errors, because standard error may be closed.
            let text = with_causes(&*error);
            let _ = writeln!(std::io::stderr(), "drover-bench: {text}");
            ExitCode::FAILURE
        }
    }
}

fn start(bench: Bench) -> Result<(), Box<dyn Error>> {
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .map_err(|_| "cannot set up TLS: a cryptography provider is already installed")?;
    match bench {
        Bench::Proxy(proxy) => run_generator(proxy.run()),
        Bench::Hub(hub) => run_generator(hub.run()),
        Bench::Scale(scale) => run_generator(scale.run()),
        Bench::Failover(failover) => run_generator(failover.run()),
        Bench::Gitops(gitops) => run_generator(gitops.run()),
        Bench::Access(access) => run_generator(access.run()),
        Bench::Ui(ui) => run_generator(ui.run()),
        Bench::Backend(backend) => run_server(backend.run()),
        Bench::Agents(agents) => run_server(agents.run()),
        Bench::BundleAgents(agents) => run_server(agents.run()),
        Bench::NodeAgents(node_agents) => run_server(node_agents.run()),
        Bench::Api(api) => run_server(api.run()),
    }
}

/// Runs a load generator on one thread, so that the generator's CPU usage is a fraction of one
/// core.
fn run_generator<E: Error + 'static>(
    work: impl Future<Output = Result<(), E>>,
) -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(work)
        .map_err(Into::into)
}

/// Runs a server on two threads until SIGTERM. After a normal end, an instrumented program writes its
/// profile.
fn run_server<E: Error + 'static>(
    work: impl Future<Output = Result<(), E>>,
) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            ended = work => ended.map_err(Into::into),
            _ = terminate.recv() => Ok(()),
        }
    })
}
