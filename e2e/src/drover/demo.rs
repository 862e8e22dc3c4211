//! Runs `drover server --demo-clusters`: a server on its embedded hub, with simulated clusters.

use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::login::log_in;
use super::programs::find_drover;
use super::{DroverError, prepare};
use crate::kubectl::CommandLine;
use crate::ports::PortLease;
use crate::program::{Program, ProgramError, Running};
use crate::wait::eventually;

/// Timeout of the start. The first start creates the hub and its keys.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// Timeout of the creation, registration and connection of the simulated clusters.
const CLUSTERS_TIMEOUT: Duration = Duration::from_mins(3);
/// Timeout of the graceful shutdown of the server.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// The options of the demonstration server.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// Folder of the server's state. Later starts with the same folder reuse the state.
    pub folder: PathBuf,
    /// Port on the loopback interface. `None` selects a free port.
    pub port: Option<u16>,
    /// Number of simulated clusters.
    pub clusters: u32,
}

/// A running server with simulated clusters. Dropping the value stops the server.
#[derive(Debug)]
pub struct DemoServer {
    running: Running,
    /// Path of `drover`. The simulated clusters run in the server, so the demonstration needs no
    /// agent.
    drover: PathBuf,
    folder: PathBuf,
    address: SocketAddr,
    fingerprint: String,
    _port: Option<PortLease>,
}

impl DemoServer {
    /// Starts the server and waits until it is ready.
    pub async fn start(options: DemoOptions) -> Result<Self, DroverError> {
        let drover = find_drover()?;
        let folder = options.folder;
        fs::create_dir_all(folder.join("home")).map_err(prepare(&folder))?;
        // The fingerprint of the authority is read from the log, so remove the log of earlier
        // starts.
        let _ = fs::remove_file(folder.join("drover-server.log"));
        let lease = match options.port {
            Some(_) => None,
            None => Some(PortLease::take(Ipv4Addr::LOCALHOST.into())?),
        };
        let port = options.port.or_else(|| lease.as_ref().map(PortLease::port));
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port.unwrap_or_default());
        let mut program = Program::new("drover-server", &drover, &folder)
            .args(["server", "--listen", &address.to_string()])
            .args(["--demo-clusters", &options.clusters.to_string()])
            .arg("--data-dir")
            .arg(folder.join("data"))
            .arg("--audit-log")
            .arg(folder.join("audit.jsonl"));
        let first = folder.join("first-password");
        if !first.exists() {
            program = program.arg("--first-password-file").arg(first);
        }
        let mut running = program.start()?;
        let serving = running.wait_for_log("authority=", START_TIMEOUT).await?;
        Ok(Self {
            running,
            drover,
            address,
            fingerprint: fingerprint(&serving)?,
            folder,
            _port: lease,
        })
    }

    /// Returns the URL of the server, in the format `https://host:port`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Returns the fingerprint of the CA, which is the value for `drover login --ca-fingerprint`.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Returns the folder of the server's state.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the process of the server.
    pub fn running(&mut self) -> &mut Running {
        &mut self.running
    }

    /// Returns the process ID of the server.
    pub fn id(&self) -> u32 {
        self.running.id()
    }

    /// Returns the path of the program `drover`.
    pub fn program(&self) -> &Path {
        &self.drover
    }

    /// Returns a `drover` command with a separate home folder. The home folder stores the login of
    /// the administrator.
    pub fn command_line(&self) -> CommandLine {
        let home = self.folder.join("home");
        CommandLine::new(&self.drover, &home.join("kubeconfig"), &home)
    }

    /// Logs in as the first administrator. Returns the new password.
    pub async fn log_in(&self) -> Result<String, DroverError> {
        let trust = ["--ca-fingerprint", &self.fingerprint];
        log_in(&self.folder, &self.url(), trust, &self.command_line()).await
    }

    /// Returns the environment variables of the browser tests. The file
    /// `e2e/browser/stage/stage.ts` reads these variables.
    pub(crate) fn browser_environment(
        &self,
        password: &str,
        kubectl: &Path,
    ) -> [(&'static str, OsString); 6] {
        let programs = self.program().parent().unwrap_or_else(|| Path::new("."));
        [
            ("DROVER_TEST_URL", self.url().into()),
            ("DROVER_TEST_PASSWORD", password.into()),
            ("DROVER_TEST_FINGERPRINT", self.fingerprint().into()),
            ("DROVER_TEST_FOLDER", self.folder().into()),
            ("DROVER_TEST_PROGRAMS", programs.into()),
            ("DROVER_TEST_KUBECTL", kubectl.into()),
        ]
    }

    /// Returns the output of `drover cluster list --output json`.
    pub async fn clusters(&self) -> Result<Vec<serde_json::Value>, DroverError> {
        let output = self
            .command_line()
            .run(["cluster", "list", "--output", "json"])
            .await?;
        let read = serde_json::from_str::<serde_json::Value>(&output.stdout);
        let unreadable = |text: String| DroverError::Unreadable {
            subject: "the list of clusters",
            text,
        };
        let list = read.map_err(|error| unreadable(error.to_string()))?;
        let items = list.get("items").unwrap_or(&list).as_array().cloned();
        items.ok_or_else(|| unreadable(output.stdout))
    }

    /// Waits until `expected` clusters exist and all clusters are ready.
    pub async fn wait_for_clusters(&self, expected: usize) -> Result<(), DroverError> {
        let subject = format!("{expected} clusters that are ready");
        Ok(eventually(&subject, CLUSTERS_TIMEOUT, async || {
            let clusters = self.clusters().await?;
            let ready = clusters.iter().filter(|cluster| is_ready(cluster)).count();
            if (clusters.len(), ready) == (expected, expected) {
                return Ok(());
            }
            let text = format!("{ready} ready of {}", clusters.len());
            Err(DroverError::Unreadable {
                subject: "a list that is not complete",
                text,
            })
        })
        .await?)
    }

    /// Stops the server gracefully.
    pub async fn stop(mut self) -> Result<(), ProgramError> {
        self.running.terminate(STOP_TIMEOUT).await.map(drop)
    }
}

fn is_ready(cluster: &serde_json::Value) -> bool {
    let conditions = cluster["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
}

fn fingerprint(line: &str) -> Result<String, DroverError> {
    let found = line
        .split("authority=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    found
        .map(str::to_owned)
        .ok_or_else(|| DroverError::Unreadable {
            subject: "the authority's fingerprint in the log",
            text: line.to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprint_equals_the_fingerprint_in_the_server_log() {
        let line = r#"INFO serving standing=Leading { term: 1 } authority="SHA256:58:E9""#;
        assert_eq!(fingerprint(line).unwrap(), "SHA256:58:E9");
        assert!(fingerprint("authority=none").is_err());
    }
}
