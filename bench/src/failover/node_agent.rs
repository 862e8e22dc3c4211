//! Measures the program `drover-node-agent`: its memory with a tunnel, and its webhook.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use drover_e2e::{NoFreePort, PortLease, Program, ProgramError, Running};
use drover_node_agent::args::NodeArgs;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::Measurement;
use super::clusters::{Clusters, ClustersError};
use super::webhook::{Reviewer, Tokens, WebhookError};
use crate::api::serve_connection;
use crate::certificate::{self, CertificateError, Files};
use crate::figures::measure::Measure;
use crate::figures::{Figures, Goal, median};
use crate::load::{Exchange as _, ExchangeError, spread};
use crate::meter::{Meter, print_progress, shares_line};
use crate::process::{ProcessError, rss_kib, stop};
use crate::scale::{Stub, StubRefused, node_name, settle};

const KIB_PER_MIB: f64 = 1024.0;
/// Token reviews per second.
const RATE: f64 = 1000.0;
/// Maximum number of concurrent token reviews.
const CONCURRENCY: usize = 64;
const START_TIMEOUT: Duration = Duration::from_mins(2);

/// The reason why the node agent cannot be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodeAgentError {
    /// The program failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The program cannot be measured or stopped.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A certificate cannot be created or used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The client cannot connect to the webhook.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// The files of the node agent cannot be written.
    #[error(transparent)]
    Clusters(#[from] ClustersError),
    /// The operating system has no free port.
    #[error(transparent)]
    NoFreePort(#[from] NoFreePort),
    /// The stub of the API server rejects a Secret.
    #[error("the stub of the API server rejects a Secret")]
    Secret(#[from] StubRefused),
    /// The stub of the API server cannot listen.
    #[error("cannot listen for the stub of the API server")]
    Listen(#[source] io::Error),
    /// A file cannot be written.
    #[error("cannot write {path}")]
    Write { path: PathBuf, source: io::Error },
    /// A token review failed.
    #[error("a token review failed")]
    Review(#[from] ExchangeError),
}

/// Measures the program on the second node of a cluster.
pub(super) async fn measure(
    clusters: &Clusters,
    cluster: &str,
    folder: &Path,
    effort: &Measure<Measurement>,
    figures: &mut Figures,
) -> Result<(), NodeAgentError> {
    let certificate = certificate::make(folder)?;
    let api_server = serve(&clusters.stub, &certificate).await?;
    let files = clusters.node_agent_files(cluster, &node_name(1))?;
    let port = PortLease::take(Ipv4Addr::LOCALHOST.into())?;
    let webhook = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port.port());
    let kubeconfig = kubeconfig(api_server, &certificate, folder)?;
    let mut program = start(cluster, &files, &kubeconfig, webhook, folder)?;
    program.wait_for_log("connected to", START_TIMEOUT).await?;
    settle().await;
    let rss = rss_kib(program.id())? / KIB_PER_MIB;
    figures.add("node_agent_rss_mib", rss, Goal::AtMost(12.0));
    stop(&mut program).await?;
    let tokens = Tokens::new();
    for secret in tokens.secrets(&certificate)? {
        clusters.stub.put(secret)?;
    }
    // The stub sends no events, so that only a new process reads the Secrets.
    let mut program = start(cluster, &files, &kubeconfig, webhook, folder)?;
    let serving = "serving the authorized endpoint's webhook";
    program.wait_for_log(serving, START_TIMEOUT).await?;
    let meter = Meter::start(&[("node agent", program.id())])?;
    let connect = async || Reviewer::connect(webhook, &certificate, &tokens, CONCURRENCY).await;
    measure_reviews(connect, effort, figures).await?;
    figures.note(shares_line("token reviews", &meter.shares()?));
    let rss = rss_kib(program.id())? / KIB_PER_MIB;
    figures.add("node_agent_rss_after_reviews_mib", rss, Goal::None);
    Ok(stop(&mut program).await?)
}

/// Sends token reviews on a new connection in each turn.
async fn measure_reviews(
    connect: impl AsyncFn() -> Result<Vec<Reviewer>, WebhookError>,
    effort: &Measure<Measurement>,
    figures: &mut Figures,
) -> Result<(), NodeAgentError> {
    print_progress("token reviews");
    let (mut p50, mut p99, mut missed) = (Vec::new(), Vec::new(), 0);
    for _ in 0..effort.turns {
        let mut clients = connect().await?;
        for client in &mut clients {
            client.exchange().await?;
        }
        let seen = spread(clients, RATE, effort.duration()).await?;
        p50.push(seen.quantile_ms(0.5));
        p99.push(seen.quantile_ms(0.99));
        missed += seen.missed;
    }
    figures.add("webhook_rate_rps", RATE, Goal::None);
    figures.add("webhook_p50_ms", median(&p50), Goal::None);
    figures.add("webhook_p99_ms", median(&p99), Goal::AtMost(5.0));
    if missed > 0 {
        figures.note(format!("token reviews: {missed} requests were not sent"));
    }
    Ok(())
}

/// Serves the stub of the API server with TLS until the process ends.
async fn serve(stub: &Stub, certificate: &Files) -> Result<SocketAddr, NodeAgentError> {
    let config = certificate::server(&certificate.certificate, &certificate.key)?;
    let (acceptor, stub) = (TlsAcceptor::from(config), stub.clone());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.map_err(NodeAgentError::Listen)?;
    let address = listener.local_addr().map_err(NodeAgentError::Listen)?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve_connection(stream, acceptor.clone(), stub.clone()));
        }
    });
    Ok(address)
}

fn kubeconfig(
    api_server: SocketAddr,
    certificate: &Files,
    folder: &Path,
) -> Result<PathBuf, NodeAgentError> {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "stub",
        "clusters": [{"name": "stub", "cluster": {
            "server": format!("https://{api_server}"),
            "certificate-authority": certificate.authority,
        }}],
        "users": [{"name": "stub", "user": {"token": "of-a-stub"}}],
        "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
    });
    let path = folder.join("node-agent.kubeconfig");
    fs::write(&path, config.to_string()).map_err(|source| NodeAgentError::Write {
        path: path.clone(),
        source,
    })?;
    Ok(path)
}

fn start(
    cluster: &str,
    files: &NodeArgs,
    kubeconfig: &Path,
    webhook: SocketAddr,
    logs: &Path,
) -> Result<Running, NodeAgentError> {
    // The program is in the folder of this program.
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.with_file_name("drover-node-agent");
    let running = Program::new("drover-node-agent", program, logs)
        .args(["--namespace", cluster, "--replica", "node-agent"])
        .args(["--node", &files.node])
        .args(["--endpoint-listen", &webhook.to_string()])
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .arg("--token-file")
        .arg(&files.token_file)
        .arg("--key-folder")
        .arg(&files.key_folder)
        .start()?;
    Ok(running)
}
