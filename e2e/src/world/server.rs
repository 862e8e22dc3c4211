//! Runs the program `drover server` for an environment.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::Hub;
use super::error::{WorldError, prepare};
use crate::drover::Programs;
use crate::kubectl::CommandLine;
use crate::ports::PortLease;
use crate::program::{Program, ProgramError, Running};

const READY: Duration = Duration::from_mins(1);

/// A running server on a free port, with the kubeconfig of its hub.
#[derive(Debug)]
pub struct Server {
    running: Running,
    address: SocketAddr,
    audit: PathBuf,
    curl: CommandLine,
    _port: PortLease,
}

impl Server {
    /// Starts a server on a hub and waits until it is ready.
    pub async fn start(hub: &Hub, address: IpAddr) -> Result<Self, WorldError> {
        let port = PortLease::take(address)?;
        let address = SocketAddr::new(address, port.port());
        let audit = hub.logs().join(format!("audit-{}.jsonl", port.port()));
        let program = Programs::find()?.drover;
        let running = Program::new(&format!("server-{}", port.port()), program, &hub.logs())
            .arg("server")
            .args(hub.arguments())
            .arg(format!("--listen={address}"))
            .arg(format!("--server-url=https://{address}"))
            // A server on the address of a node's network has no default domain.
            .args(["--forward-domain", "forwards.localhost"])
            .arg("--audit-log")
            .arg(&audit)
            .env("HOME", hub.folder())
            .env("DROVER_FAULT_FILE", super::fault_file(hub.folder()))
            .start()?;
        let curl = CommandLine::new(Path::new("curl"), Path::new("/dev/null"), hub.folder())
            .with_limit(Duration::from_secs(30));
        let mut server = Self {
            running,
            address,
            audit,
            curl,
            _port: port,
        };
        server.wait_until_ready().await?;
        Ok(server)
    }

    /// Returns the address on which the server listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the server, in the format `https://HOST:PORT`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Returns the process of the server.
    pub const fn running(&mut self) -> &mut Running {
        &mut self.running
    }

    /// Returns the output of the server. The output contains the log, the first password and the
    /// fingerprint of the certificate authority.
    pub fn printed(&self) -> String {
        self.running.log()
    }

    /// Returns the last lines of the server's output.
    pub fn log_tail(&self) -> String {
        self.running.log_tail()
    }

    /// Returns the resident memory of the server process in KiB.
    pub fn resident_kib(&self) -> Result<u64, WorldError> {
        resident_kib(&self.running)
    }

    /// Waits until the server is ready.
    pub async fn wait_until_ready(&mut self) -> Result<(), ProgramError> {
        let url = format!("{}/readyz", self.url());
        let curl = self.curl.clone();
        self.running
            .wait_until("its /readyz", READY, async |_| {
                let arguments = ["--insecure", "--silent", "--show-error", "--fail", &url];
                curl.run(arguments).await.map(drop)
            })
            .await
    }

    /// Kills the server and starts it again at the same address. Waits until the server is ready.
    pub async fn restart(&mut self) -> Result<(), ProgramError> {
        self.running.restart()?;
        self.wait_until_ready().await
    }

    /// Waits until the server has printed the password of the first administrator.
    pub async fn wait_for_first_password(&mut self) -> Result<(), ProgramError> {
        self.running.wait_for_log("must be changed", READY).await?;
        Ok(())
    }

    /// Returns the password of the first administrator. Reads the password from the server's
    /// output.
    pub fn first_password(&self) -> Result<String, WorldError> {
        let printed = self.printed();
        let password = printed
            .split_once("with the password")
            .and_then(|(_, rest)| rest.split_whitespace().next());
        password
            .map(str::to_owned)
            .ok_or_else(|| WorldError::NotPrinted {
                program: "drover server",
                subject: "the first administrator's password",
                printed: printed.clone(),
            })
    }

    /// Returns the fingerprint of the server's certificate authority. Reads the fingerprint from
    /// the server's output.
    pub fn fingerprint(&self) -> Result<String, WorldError> {
        let printed = self.printed();
        let at = printed.find("SHA256:").ok_or(WorldError::NotPrinted {
            program: "drover server",
            subject: "the fingerprint of its authority",
            printed: printed.clone(),
        })?;
        let fits = |c: char| c.is_ascii_alphanumeric() || c == ':';
        let text = &printed[at..];
        let end = text.find(|c| !fits(c)).unwrap_or(text.len());
        Ok(text[..end].to_owned())
    }

    /// Returns all records of the audit log, oldest first.
    pub fn audit(&self) -> Result<Vec<Value>, WorldError> {
        let text = std::fs::read_to_string(&self.audit).map_err(prepare(&self.audit))?;
        let lines = text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        lines
            .map(|line| {
                serde_json::from_str(line).map_err(|_| WorldError::NotPrinted {
                    program: "drover server",
                    subject: "JSON into the audit log",
                    printed: line.to_owned(),
                })
            })
            .collect()
    }

    /// Returns the path of the audit log.
    pub fn audit_path(&self) -> &Path {
        &self.audit
    }
}

/// Returns the resident memory of a process in KiB.
pub(crate) fn resident_kib(running: &Running) -> Result<u64, WorldError> {
    let path = format!("/proc/{}/status", running.id());
    let status = std::fs::read_to_string(&path).map_err(prepare(&path))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .ok_or(WorldError::NotPrinted {
            program: "the kernel",
            subject: "the memory of a process",
            printed: status,
        })
}
