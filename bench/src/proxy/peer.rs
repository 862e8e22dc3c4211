//! The reference proxy: a reverse proxy through one tunnel of rancher/remotedialer.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use drover_e2e::{NoFreePort, PortLease, Program, ProgramError, Running};

use crate::certificate::Files;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The reason why the reference proxy cannot start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PeerError {
    /// Go is not installed.
    #[error("cannot start `go`; install Go 1.26 or newer, and add `go` to PATH")]
    StartGo(#[source] io::Error),
    /// The Go compiler failed.
    #[error("`go build` of bench/remotedialer failed:\n{output}", output = .0)]
    Compile(String),
    /// The operating system has no free port.
    #[error(transparent)]
    NoFreePort(#[from] NoFreePort),
    /// The server or the client of the reference proxy failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// The server and the client of the reference proxy. The processes stop when the value is dropped.
pub(super) struct Peer {
    client: Running,
    server: Running,
    front: PortLease,
}

impl Peer {
    /// Starts the server and the client of the reference proxy in front of `target`. Uses TLS if
    /// `files` is set.
    pub(super) async fn start(
        target: &str,
        files: Option<&Files>,
        logs: &Path,
    ) -> Result<Self, PeerError> {
        let program = build()?;
        let (front, tunnel) = (PortLease::take(LOOPBACK)?, PortLease::take(LOOPBACK)?);
        let address = |lease: &PortLease| format!("{LOOPBACK}:{}", lease.port());
        let (kind, scheme) = if files.is_some() {
            ("tls", "wss")
        } else {
            ("plain", "ws")
        };
        let mut server = Program::new(&format!("remotedialer-server-{kind}"), &program, logs)
            .args([
                "server",
                "-front",
                &address(&front),
                "-tunnel",
                &address(&tunnel),
            ])
            .args(["-target", target]);
        if let Some(files) = files {
            server = server
                .arg("-cert")
                .arg(&files.certificate)
                .arg("-key")
                .arg(&files.key);
        }
        let mut server = server.start()?;
        server.wait_for_log("ready", START_TIMEOUT).await?;
        let url = format!("{scheme}://{}/connect", address(&tunnel));
        let mut client = Program::new(&format!("remotedialer-client-{kind}"), &program, logs)
            .args(["client", "-tunnel", &url])
            .start()?;
        client.wait_for_log("ready", START_TIMEOUT).await?;
        Ok(Self {
            client,
            server,
            front,
        })
    }

    /// Returns the address of the reference proxy for its clients.
    pub(super) fn address(&self) -> String {
        format!("{LOOPBACK}:{}", self.front.port())
    }

    /// Returns the processes of the reference proxy whose CPU usage is measured.
    pub(super) fn processes(&self) -> [(&'static str, u32); 2] {
        [
            ("reference's server", self.server.id()),
            ("reference's client", self.client.id()),
        ]
    }
}

/// Builds the reference proxy, unless Go's cache contains the program.
fn build() -> Result<PathBuf, PeerError> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("remotedialer");
    let target = crate::figures::target_folder();
    let program = target.join("bench").join("remotedialer");
    let output = Command::new("go")
        .args([
            "build",
            "-mod=readonly",
            "-trimpath",
            "-buildvcs=false",
            "-o",
        ])
        .arg(&program)
        .arg(".")
        .current_dir(sources)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .output()
        .map_err(PeerError::StartGo)?;
    if output.status.success() {
        Ok(program)
    } else {
        Err(PeerError::Compile(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ))
    }
}
