//! Runs the real Prometheus, which reads the metrics of cAdvisor from a real kubelet.

use std::time::Duration;

use serde_json::json;

use crate::control_plane::ControlPlane;
use crate::kubectl::CommandError;
use crate::network::NodeNetwork;
use crate::pki::{PkiError, write};
use crate::ports::{NoFreePort, PortLease};
use crate::program::{Program, ProgramError, Running};
use crate::wait::{TimedOut, eventually};

/// Debian's package `prometheus` contains the program.
const PROGRAM: &str = "/usr/bin/prometheus";
/// The port of the kubelet.
const KUBELET_PORT: u16 = 10250;
/// Timeout of the start, which reads the metrics of the kubelet twice.
const READY: Duration = Duration::from_mins(1);
const NAMESPACE: &str = "monitoring";

/// The reason why Prometheus cannot start.
#[derive(Debug, thiserror::Error)]
pub enum PrometheusError {
    /// A certificate or the configuration cannot be written.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// All ports that tests can lease are in use.
    #[error(transparent)]
    NoFreePort(#[from] NoFreePort),
    /// Prometheus failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The Service cannot be created in the cluster.
    #[error(transparent)]
    Register(#[from] TimedOut),
    /// The address of the pod cannot be set.
    #[error("cannot set the address of Prometheus's pod")]
    Status(#[source] CommandError),
}

/// A running Prometheus. The Service `prometheus-operated` in the namespace `monitoring` of the
/// cluster reaches it.
#[derive(Debug)]
pub struct Prometheus {
    _running: Running,
    _port: PortLease,
}

impl Prometheus {
    /// Starts Prometheus for a cluster with a node. Waits until the API server's proxy reaches it.
    pub async fn start(
        cluster: &ControlPlane,
        network: &NodeNetwork,
    ) -> Result<Self, PrometheusError> {
        let port = PortLease::take(network.host_address())?;
        let identity = cluster.identity("prometheus", Some("system:masters"))?;
        let files = identity
            .certificate
            .write(&cluster.folder().join("pki"), "prometheus")?;
        let configuration = json!({
            "global": {"scrape_interval": "5s"},
            "scrape_configs": [{
                "job_name": "kubelet", "scheme": "https", "metrics_path": "/metrics/cadvisor",
                "tls_config": {
                    "ca_file": cluster.ca_file(), "cert_file": files.certificate, "key_file": files.key,
                },
                "static_configs": [{
                    "targets": [format!("{}:{KUBELET_PORT}", network.node_address())],
                }],
            }],
        });
        let file = cluster.folder().join("prometheus.yml");
        // JSON is valid YAML.
        write(&file, &configuration.to_string())?;
        let program = Program::new("prometheus", PROGRAM, &cluster.logs());
        let mut running = program
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                cluster.folder().join("prometheus").display()
            ))
            .arg(format!(
                "--web.listen-address={}:{}",
                network.host_address(),
                port.port()
            ))
            .start()?;
        register(cluster, network, port.port()).await?;
        let query = format!(
            "/api/v1/namespaces/{NAMESPACE}/services/prometheus-operated:9090/proxy/-/ready"
        );
        running
            .wait_until("the proxy to Prometheus", READY, async |_| {
                cluster.kubectl(["get", "--raw", &query]).await.map(drop)
            })
            .await?;
        Ok(Self {
            _running: running,
            _port: port,
        })
    }
}

/// Creates the Service. The proxy of the API server connects only to the address of a pod, so a pod
/// without a node has the address of this machine.
async fn register(
    cluster: &ControlPlane,
    network: &NodeNetwork,
    port: u16,
) -> Result<(), PrometheusError> {
    let (name, address) = ("prometheus-operated", network.host_address());
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1", "kind": "Service",
            "metadata": {
                "name": name, "namespace": NAMESPACE, "labels": {"operated-prometheus": "true"},
            },
            "spec": {"ports": [{"name": "http-web", "port": 9090, "targetPort": port}]},
        },
        {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "schedulerName": "none",
                "containers": [{"name": "prometheus", "image": "registry.invalid/prometheus"}],
            },
        },
        {
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "subsets": [{
                "addresses": [{
                    "ip": address,
                    "targetRef": {"kind": "Pod", "name": name, "namespace": NAMESPACE},
                }],
                "ports": [{"name": "http-web", "port": port}],
            }],
        },
    ]});
    let status = json!({"status": {"podIP": address, "podIPs": [{"ip": address}]}}).to_string();
    let apply = cluster.command_line().with_stdin(objects.to_string());
    // The service account of the pods exists shortly after its namespace.
    let create = async || apply.run(["apply", "-f", "-"]).await;
    eventually("the Service of Prometheus", READY, create).await?;
    cluster
        .kubectl([
            "patch",
            "pod",
            name,
            "-n",
            NAMESPACE,
            "--subresource=status",
            "-p",
            &status,
        ])
        .await
        .map_err(PrometheusError::Status)?;
    Ok(())
}
