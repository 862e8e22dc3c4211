//! Runs `drover-agent` as a process, for a cluster without nodes.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{DroverError, Programs};
use crate::ports::PortLease;
use crate::program::{Program, Running};

/// Timeout for the connection of the agent to its server.
const CONNECT_TIMEOUT: Duration = Duration::from_mins(2);

/// The options of an agent.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// Name of the agent's replica.
    pub replica: String,
    /// Kubeconfig for the cluster's API server. The user in the kubeconfig must have all
    /// permissions in the agent's namespace.
    pub kubeconfig: PathBuf,
    /// Folder for the agent's log file.
    pub logs: PathBuf,
    /// Additional command line arguments of the agent.
    pub arguments: Vec<String>,
}

/// A running agent. Dropping the value stops the agent.
#[derive(Debug)]
pub struct Agent {
    running: Running,
    health: PortLease,
}

impl Agent {
    /// Starts an agent. The caller must have applied the import manifest of the cluster.
    pub fn start(options: AgentOptions) -> Result<Self, DroverError> {
        let programs = Programs::find()?;
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let health = PortLease::take(address)?;
        let name = format!("drover-agent-{}", options.replica);
        let running = Program::new(&name, &programs.agent, &options.logs)
            .args(["--replica", &options.replica])
            .args(["--health-listen", &format!("{address}:{}", health.port())])
            .arg("--kubeconfig")
            .arg(options.kubeconfig)
            .args(options.arguments)
            .start()?;
        Ok(Self { running, health })
    }

    /// Waits until the agent is connected to its server.
    pub async fn wait_until_connected(&mut self) -> Result<(), DroverError> {
        let port = self.health.port();
        let attempt = async |_: &Running| ready(port).await;
        Ok(self
            .running
            .wait_until("/readyz", CONNECT_TIMEOUT, attempt)
            .await?)
    }

    /// Returns the process ID of the agent.
    pub fn id(&self) -> u32 {
        self.running.id()
    }

    /// Returns the process of the agent.
    pub fn running(&mut self) -> &mut Running {
        &mut self.running
    }

    /// Returns the path of the agent's log file.
    pub fn log_path(&self) -> &Path {
        self.running.log_path()
    }
}

/// Requests `/readyz` from the agent. Returns the text of the response if the agent is not ready.
async fn ready(port: u16) -> Result<(), String> {
    let exchange = async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream
            .write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = exchange.await.map_err(|error| error.to_string())?;
    if answer.starts_with("HTTP/1.1 200") {
        Ok(())
    } else {
        Err(answer)
    }
}
