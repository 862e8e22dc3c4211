//! Runs `drover server` on a hub. The first administrator is logged in.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Request;
use kube::Client;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::login::log_in;
use super::{DroverError, Programs, prepare};
use crate::control_plane::ControlPlane;
use crate::kubectl::CommandLine;
use crate::ports::PortLease;
use crate::program::{Program, Running};
use crate::wait::eventually;

/// Timeout of the start. The first start also creates custom resource definitions and hashes a
/// password.
const READY: Duration = Duration::from_mins(2);
/// Timeout until the agent of an imported cluster is connected and roles are applied.
const CLUSTER_READY: Duration = Duration::from_mins(2);
/// The namespace in which the server stores its own objects.
const HUB_NAMESPACE: &str = "drover-system";
const AUTHORITY_SECRET: &str = "server-ca";

/// The options of the server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The listen address of the server.
    pub address: IpAddr,
    /// Listen port of the server. `None` selects a free port.
    pub port: Option<u16>,
    /// The folder for the server's logs, the CLI's home folder and the password. The default is the
    /// hub's folder. Two servers cannot share a folder.
    pub folder: Option<PathBuf>,
    /// Additional command line arguments of the server.
    pub arguments: Vec<String>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            address: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
            port: None,
            folder: None,
            arguments: Vec::new(),
        }
    }
}

/// A running server. Dropping the value stops the server.
pub struct Server {
    running: Running,
    programs: Programs,
    address: SocketAddr,
    folder: PathBuf,
    authority: PathBuf,
    client: Client,
    _port: Option<PortLease>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Server")
            .field("address", &self.address)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Starts the server on `hub` and waits until it is ready.
    pub async fn start(hub: &ControlPlane, options: ServerOptions) -> Result<Self, DroverError> {
        let programs = Programs::find()?;
        let folder = options
            .folder
            .unwrap_or_else(|| hub.folder().join("drover"));
        fs::create_dir_all(folder.join("home")).map_err(prepare(&folder))?;
        let lease = match options.port {
            Some(_) => None,
            None => Some(PortLease::take(options.address)?),
        };
        let port = options
            .port
            .or_else(|| lease.as_ref().map(PortLease::port))
            .unwrap_or_default();
        let address = SocketAddr::new(options.address, port);
        let url = format!("https://{address}");
        let mut running = Program::new("drover-server", &programs.drover, &folder)
            .args([
                "server",
                "--listen",
                &address.to_string(),
                "--server-url",
                &url,
            ])
            .arg("--kubeconfig")
            .arg(hub.kubeconfig_path())
            .arg("--audit-log")
            .arg(folder.join("audit.jsonl"))
            .arg("--first-password-file")
            .arg(folder.join("first-password"))
            .args(options.arguments)
            .start()?;
        let pem = running
            .wait_until("its authority on the hub", READY, async |_| {
                authority(hub).await
            })
            .await?;
        let path = folder.join("ca.crt");
        fs::write(&path, &pem).map_err(prepare(&path))?;
        let client = anonymous(&url, &pem)?;
        let server = client.clone();
        running
            .wait_until("/readyz", READY, async |_| ready(&server).await)
            .await?;
        Ok(Self {
            running,
            programs,
            address,
            folder,
            authority: path,
            client,
            _port: lease,
        })
    }

    /// Returns the URL of the server, in the format `https://host:port`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Returns the path of the file with the server's certificate authority.
    pub fn authority(&self) -> &Path {
        &self.authority
    }

    /// Returns the folder with the server's log, its audit log and the CLI's home folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the audit log. Each line is a JSON object.
    pub fn audit_log(&self) -> PathBuf {
        self.folder.join("audit.jsonl")
    }

    /// Returns the process of the server.
    pub fn running(&mut self) -> &mut Running {
        &mut self.running
    }

    /// Returns the process ID of the server.
    pub fn id(&self) -> u32 {
        self.running.id()
    }

    /// Kills the server and starts it again. Waits until the server is ready.
    pub async fn restart(&mut self) -> Result<(), DroverError> {
        self.running.restart()?;
        self.wait_until_ready().await
    }

    /// Waits until the server is ready.
    pub async fn wait_until_ready(&mut self) -> Result<(), DroverError> {
        let client = self.client.clone();
        Ok(self
            .running
            .wait_until("/readyz", READY, async |_| ready(&client).await)
            .await?)
    }

    /// Returns a `drover` command with a separate home folder. The home folder stores the login of
    /// the administrator.
    pub fn command_line(&self) -> CommandLine {
        // The command line also writes kubeconfigs into this home folder.
        let home = self.folder.join("home");
        CommandLine::new(&self.programs.drover, &home.join("kubeconfig"), &home)
    }

    /// Logs in as the first administrator. Changes the password, because the first login requires a
    /// change. Returns the new password.
    pub async fn log_in(&self) -> Result<String, DroverError> {
        let ca = self.authority.display().to_string();
        let trust = ["--ca-file", &ca];
        log_in(&self.folder, &self.url(), trust, &self.command_line()).await
    }

    /// Registers `cluster` as `name` with the command `drover cluster import NAME | kubectl apply
    /// -f -`. Requires [`Server::log_in`]. A second call with the same arguments has no effect.
    pub async fn import(&self, name: &str, cluster: &ControlPlane) -> Result<(), DroverError> {
        let manifest = self
            .command_line()
            .run(["cluster", "import", name])
            .await?
            .stdout;
        let kubectl = cluster.command_line().with_stdin(manifest);
        kubectl.run(["apply", "-f", "-"]).await?;
        Ok(())
    }

    /// Waits until the cluster `name` is ready: its agent is connected, and roles are applied.
    pub async fn wait_for_cluster(&self, name: &str) -> Result<(), DroverError> {
        let subject = format!("cluster {name}");
        Ok(eventually(&subject, CLUSTER_READY, async || {
            let output = self
                .command_line()
                .run(["cluster", "get", name, "--output", "json"])
                .await?;
            if is_ready(&output.stdout) {
                return Ok(());
            }
            Err(DroverError::Unreadable {
                subject: "a cluster that is not ready",
                text: output.stdout,
            })
        })
        .await?)
    }
}

/// Returns true if the cluster is ready. `cluster` is the output of `drover cluster get --output
/// json`.
fn is_ready(cluster: &str) -> bool {
    let cluster: serde_json::Value = serde_json::from_str(cluster).unwrap_or_default();
    cluster["conditions"].as_array().is_some_and(|conditions| {
        conditions
            .iter()
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    })
}

/// Reads the server's certificate authority from its hub.
async fn authority(hub: &ControlPlane) -> Result<String, DroverError> {
    let secrets: kube::Api<k8s_openapi::api::core::v1::Secret> =
        kube::Api::namespaced(hub.client(), HUB_NAMESPACE);
    let secret = secrets
        .get(AUTHORITY_SECRET)
        .await
        .map_err(|source| DroverError::Client {
            url: hub.url(),
            source: Box::new(source),
        })?;
    let bytes = secret
        .data
        .unwrap_or_default()
        .remove("tls.crt")
        .map(|bytes| bytes.0);
    String::from_utf8(bytes.unwrap_or_default()).map_err(|error| DroverError::Unreadable {
        subject: "the server's authority",
        text: error.to_string(),
    })
}

/// Creates an HTTP client that has no credential and trusts only the certificate authority `pem`.
fn anonymous(url: &str, pem: &str) -> Result<Client, DroverError> {
    let unreadable = |text: String| DroverError::Unreadable {
        subject: "the server's address or authority",
        text,
    };
    let mut config = kube::Config::new(url.parse().map_err(|_| unreadable(url.to_owned()))?);
    let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let roots = roots.map_err(|error| unreadable(error.to_string()))?;
    config.root_cert = Some(roots.iter().map(|der| der.to_vec()).collect());
    Client::try_from(config).map_err(|source| DroverError::Client {
        url: url.to_owned(),
        source: Box::new(source),
    })
}

async fn ready(client: &Client) -> Result<(), String> {
    let request = Request::get("/readyz")
        .body(Vec::new())
        .map_err(|error| error.to_string())?;
    client
        .request_text(request)
        .await
        .map(drop)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_is_ready_if_its_ready_condition_is_true() {
        let with = |status: &str| {
            format!(
                r#"{{"conditions":[{{"type":"Connected","status":"True"}},{{"type":"Ready","status":"{status}"}}]}}"#
            )
        };
        assert!(is_ready(&with("True")));
        assert!(!is_ready(&with("False")));
        assert!(!is_ready("{}"));
        assert!(!is_ready("no JSON"));
    }
}
