//! Runs the real metrics-server for `kubectl top` and the `metrics.k8s.io` API.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::control_plane::ControlPlane;
use crate::kubectl::CommandError;
use crate::network::NodeNetwork;
use crate::pki::{PkiError, write};
use crate::ports::{NoFreePort, PortLease};
use crate::program::{Program, ProgramError, Running};
use crate::tools::{BuildError, Tool};

/// Timeout of the start. The start includes two measurements with an interval of 10 s.
const READY: Duration = Duration::from_mins(3);
const SERVICE: &str = "metrics-server.kube-system.svc";

/// The reason why metrics-server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The program metrics-server cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A certificate cannot be created.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// All ports that tests can lease are in use.
    #[error(transparent)]
    NoFreePort(#[from] NoFreePort),
    /// The program metrics-server failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The APIService cannot be registered in the cluster.
    #[error("cannot register the metrics.k8s.io API")]
    Register(#[source] CommandError),
}

/// A running metrics-server. The cluster serves its API as an aggregated API.
#[derive(Debug)]
pub struct MetricsServer {
    _running: Running,
    _port: PortLease,
}

impl MetricsServer {
    /// Starts metrics-server for a cluster with a node. Waits until the cluster reports the first
    /// usage metrics of the node.
    pub async fn start(
        cluster: &ControlPlane,
        network: &NodeNetwork,
    ) -> Result<Self, MetricsError> {
        let port = PortLease::take(network.host_address())?;
        let folder = cluster.folder().join("pki");
        let serving = cluster
            .server_certificate("metrics-server", &[SERVICE.to_owned()])?
            .write(&folder, "metrics-server")?;
        let identity = cluster.identity("metrics-server", Some("system:masters"))?;
        let kubeconfig = cluster.folder().join("metrics-server.kubeconfig");
        write(&kubeconfig, &identity.kubeconfig)?;
        let path = Tool::MetricsServer.locate().await?;
        let mut program = Program::new("metrics-server", path, &cluster.logs())
            .arg(format!("--bind-address={}", network.host_address()))
            .arg(format!("--secure-port={}", port.port()))
            .arg("--tls-cert-file")
            .arg(&serving.certificate)
            .arg("--tls-private-key-file")
            .arg(&serving.key)
            .arg("--kubelet-certificate-authority")
            .arg(cluster.ca_file())
            .arg("--kubelet-preferred-address-types=InternalIP")
            .arg("--metric-resolution=10s")
            .arg("--kubelet-request-timeout=8s");
        for flag in [
            "--kubeconfig",
            "--authentication-kubeconfig",
            "--authorization-kubeconfig",
        ] {
            program = program.arg(flag).arg(&kubeconfig);
        }
        let mut running = program.start()?;
        register(cluster, network, port.port()).await?;
        running
            .wait_until("the node's usage", READY, async |_| {
                cluster.kubectl(["top", "nodes"]).await.map(drop)
            })
            .await?;
        Ok(Self {
            _running: running,
            _port: port,
        })
    }
}

async fn register(
    cluster: &ControlPlane,
    network: &NodeNetwork,
    port: u16,
) -> Result<(), MetricsError> {
    let name = json!({"name": "metrics-server", "namespace": "kube-system"});
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": "v1", "kind": "Service", "metadata": name,
            "spec": {"ports": [{"name": "https", "port": 443, "targetPort": port}]},
        },
        {
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {
                "name": "metrics-server", "namespace": "kube-system",
                "labels": {"kubernetes.io/service-name": "metrics-server"},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": [network.host_address()], "conditions": {"ready": true}}],
            "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "spec": {
                "group": "metrics.k8s.io", "version": "v1beta1",
                "groupPriorityMinimum": 100, "versionPriority": 100,
                "service": name,
                "caBundle": STANDARD.encode(cluster.ca()),
            },
        },
    ]});
    cluster
        .command_line()
        .with_stdin(objects.to_string())
        .run(["apply", "-f", "-"])
        .await
        .map_err(MetricsError::Register)?;
    Ok(())
}
