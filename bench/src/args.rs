//! The command line.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use drover_e2e::with_causes;

use crate::access::Access;
use crate::api::Api;
use crate::backend::Backend;
use crate::fleet::Fleet;
use crate::hub::Hub;
use crate::proxy::ProxyBench;
use crate::scale::Agents;
use crate::scale::Scale;
use crate::ui::Ui;

/// Drover's benches.
#[derive(Parser)]
#[command(name = "drover-bench")]
enum Bench {
    /// Proxied requests: added latency, throughput, stalled readers, memory
    Proxy(ProxyBench),
    /// The embedded hub beside kube-apiserver on etcd: writes, reads, watches, memory, start
    Hub(Hub),
    /// The server with very many clusters: memory of each, reconnecting after a crash, latency
    Scale(Scale),
    /// Who may do what, with very many people and bindings: time of a decision, memory
    Access(Access),
    /// The web UI in a browser: weight, cold and warm load, thousands of rows
    Ui(Ui),
    /// The API server of a benched cluster; started by the benches
    #[command(hide = true)]
    Backend(Backend),
    /// Agents of many clusters in one process; started by the benches
    #[command(hide = true)]
    Fleet(Fleet),
    /// Agents of very many clusters in one process, with the API server that they share; started by
    /// the benches
    #[command(hide = true)]
    Agents(Agents),
    /// The embedded hub's API by itself; started by the benches
    #[command(hide = true)]
    Api(Api),
}

pub(crate) fn run() -> ExitCode {
    let bench = Bench::parse();
    match start(bench) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is nowhere else to say it.
            let text = with_causes(&*error);
            let _ = writeln!(std::io::stderr(), "drover-bench: {text}");
            ExitCode::FAILURE
        }
    }
}

fn start(bench: Bench) -> Result<(), Box<dyn Error>> {
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .map_err(|_| "the provider of cryptography is already chosen")?;
    match bench {
        Bench::Proxy(proxy) => generates(proxy.run()),
        Bench::Hub(hub) => generates(hub.run()),
        Bench::Scale(scale) => generates(scale.run()),
        Bench::Access(access) => generates(access.run()),
        Bench::Ui(ui) => generates(ui.run()),
        Bench::Backend(backend) => served(backend.run()),
        Bench::Fleet(fleet) => served(fleet.run()),
        Bench::Agents(agents) => served(agents.run()),
        Bench::Api(api) => served(api.run()),
    }
}

/// Runs what generates load, on one thread: its CPU is then a share of one core, which is easy to
/// judge.
fn generates<E: Error + 'static>(
    work: impl Future<Output = Result<(), E>>,
) -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(work)
        .map_err(Into::into)
}

/// Runs what is loaded, on two threads.
fn served<E: Error + 'static>(
    work: impl Future<Output = Result<(), E>>,
) -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(work)
        .map_err(Into::into)
}
