//! Fleet's own programs: its controllers on a control plane, and its agent in a cluster.

mod registration;

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

pub use registration::RegistrationValues;

use super::error::{WorldError, prepare};
use crate::control_plane::{ControlPlane, Options, StartError};
use crate::ports::PortLease;
use crate::program::{Program, Running};
use crate::wait::eventually;

/// Namespace of Fleet's controllers on the hub, and of Fleet's agent in its cluster.
const NAMESPACE: &str = "cattle-fleet-system";
/// Namespace of the bundles, clusters and registration tokens on the hub.
const BUNDLES: &str = "fleet-default";
/// User of Fleet's controllers on the hub.
const CONTROLLERS: &str = "fleet-controllers";
const READY: Duration = Duration::from_mins(3);
/// The environment variables that Fleet's charts set with their default values.
const ENVIRONMENT: [(&str, &str); 14] = [
    ("NAMESPACE", NAMESPACE),
    ("CATTLE_ELECTION_LEASE_DURATION", "30s"),
    ("CATTLE_ELECTION_RETRY_PERIOD", "10s"),
    ("CATTLE_ELECTION_RENEW_DEADLINE", "25s"),
    ("FLEET_AGENT_ELECTION_LEASE_DURATION", "30s"),
    ("FLEET_AGENT_ELECTION_RETRY_PERIOD", "10s"),
    ("FLEET_AGENT_ELECTION_RENEW_DEADLINE", "25s"),
    ("FLEET_AGENT_REPLICA_COUNT", "1"),
    ("BUNDLE_RECONCILER_WORKERS", "50"),
    ("BUNDLEDEPLOYMENT_RECONCILER_WORKERS", "50"),
    ("CLUSTER_RECONCILER_WORKERS", "50"),
    ("CLUSTERGROUP_RECONCILER_WORKERS", "50"),
    ("CONTENT_RECONCILER_WORKERS", "50"),
    ("DRIFT_RECONCILER_WORKERS", "50"),
];

/// A program of Fleet that has not been built.
#[derive(Debug, thiserror::Error)]
#[error("cannot find {path}; run `cargo run -p xtask -- compat-fleet --build`")]
pub struct MissingFleet {
    /// The path at which the program is expected.
    pub path: PathBuf,
}

/// The paths of Fleet's programs and definitions.
#[derive(Clone, Debug)]
pub struct FleetPrograms {
    /// Path of `fleetcontroller`.
    pub controller: PathBuf,
    /// Path of `fleetagent`.
    pub agent: PathBuf,
    /// Path of the file with Fleet's `CustomResourceDefinitions`.
    pub definitions: PathBuf,
}

impl FleetPrograms {
    /// Returns the paths in cargo's target folder. The files can be missing.
    pub fn in_target(target: &Path) -> Self {
        let folder = target.join("fleet");
        Self {
            controller: folder.join("fleetcontroller"),
            agent: folder.join("fleetagent"),
            definitions: folder.join("crds.yaml"),
        }
    }

    /// Returns the paths in cargo's target folder. Returns an error if a file is missing.
    pub fn find(target: &Path) -> Result<Self, MissingFleet> {
        let programs = Self::in_target(target);
        for path in [&programs.controller, &programs.agent, &programs.definitions] {
            if !path.is_file() {
                return Err(MissingFleet { path: path.clone() });
            }
        }
        Ok(programs)
    }
}

/// The options of a [`FleetHub`].
#[derive(Clone, Copy, Debug)]
pub struct FleetHubOptions {
    /// True to write an audit log.
    pub audit: bool,
    /// True if the controllers deploy Fleet's agent as a bundle to each cluster, which is Fleet's default.
    pub manages_agents: bool,
}

/// A control plane with Fleet's controllers. Dropping the value stops its programs.
#[derive(Debug)]
pub struct FleetHub {
    // The fields are dropped in this order: clients before the API server.
    controllers: Vec<Running>,
    ports: Vec<PortLease>,
    /// The control plane of the hub.
    pub cluster: ControlPlane,
}

impl FleetHub {
    /// Starts a control plane with Fleet's definitions, configuration and controllers.
    pub async fn start(
        programs: &FleetPrograms,
        options: FleetHubOptions,
    ) -> Result<Self, WorldError> {
        let cluster = ControlPlane::start(Options {
            name: "fleet-hub".to_owned(),
            audit: options.audit,
            ..Options::default()
        })
        .await?;
        let kubectl = cluster.command_line();
        let definitions = programs.definitions.display().to_string();
        // Fleet's definitions are too large for the annotation of a client-side apply.
        let apply = ["apply", "--server-side", "--filename", &definitions];
        kubectl.run(apply).await?;
        let established = ["--for=condition=Established", "--timeout=60s"];
        let wait = ["wait", "crds", "--all"].into_iter().chain(established);
        kubectl.run(wait).await?;
        let objects = configuration(&cluster, options.manages_agents);
        let apply = kubectl.with_stdin(objects.to_string());
        apply.run(["apply", "--filename", "-"]).await?;
        let identity = cluster.identity(CONTROLLERS, Some("system:masters"));
        let identity = identity.map_err(StartError::Pki)?;
        let kubeconfig = cluster.folder().join("fleet-controllers.kubeconfig");
        std::fs::write(&kubeconfig, identity.kubeconfig).map_err(prepare(&kubeconfig))?;
        let mut hub = Self {
            controllers: Vec::new(),
            ports: Vec::new(),
            cluster,
        };
        // Fleet's chart runs three containers with these arguments. The bootstrap would deploy an agent to
        // the hub's own cluster.
        let disabled = "--disable-bootstrap";
        for arguments in [&[][..], &["agentmanagement", disabled], &["cleanup"]] {
            hub.start_controller(programs, &kubeconfig, arguments)?;
        }
        hub.until_started().await?;
        Ok(hub)
    }

    fn start_controller(
        &mut self,
        programs: &FleetPrograms,
        kubeconfig: &Path,
        arguments: &[&str],
    ) -> Result<(), WorldError> {
        let (metrics, probe) = (port()?, port()?);
        let name = arguments.first().unwrap_or(&"fleetcontroller");
        let program = Program::new(name, &programs.controller, &self.cluster.logs());
        let controller = with_environment(program, &self.cluster)
            .args(arguments)
            .env("KUBECONFIG", kubeconfig)
            .env("FLEET_METRICS_BIND_ADDRESS", address(&metrics))
            .env("FLEET_HEALTHPROBE_BIND_ADDRESS", address(&probe))
            .start()?;
        self.controllers.push(controller);
        self.ports.extend([metrics, probe]);
        Ok(())
    }

    /// Waits until the controllers have created the role of agents, and have their leases.
    async fn until_started(&mut self) -> Result<(), WorldError> {
        let started = eventually("Fleet's controllers", READY, async || {
            let role = ["get", "clusterrole", "fleet-bundle-deployment"];
            self.cluster.kubectl(role).await?;
            let lease = ["--namespace", NAMESPACE, "get", "lease"];
            let lease = lease
                .into_iter()
                .chain(["fleet-controller-leader-election-shard"]);
            self.cluster.kubectl(lease).await.map(drop)
        })
        .await;
        for controller in &mut self.controllers {
            controller.check()?;
        }
        Ok(started?)
    }

    /// Creates a registration token, and returns its values for an agent.
    pub async fn registration(&self, token: &str) -> Result<RegistrationValues, WorldError> {
        RegistrationValues::create(&self.cluster.command_line(), token).await
    }

    /// Returns the user of Fleet's controllers in the audit log.
    pub const fn user_of_controllers() -> &'static str {
        CONTROLLERS
    }

    /// Returns the last lines of the logs of all controllers.
    pub fn log_tail(&self) -> String {
        let tails = self.controllers.iter().map(|controller| {
            let (name, tail) = (controller.name(), controller.log_tail());
            format!("--- {name}:\n{tail}")
        });
        tails.collect::<Vec<_>>().join("\n")
    }
}

/// Fleet's agent as a process of this machine. Dropping the value stops the agent.
#[derive(Debug)]
pub struct FleetAgent {
    running: Running,
    _ports: [PortLease; 2],
}

impl FleetAgent {
    /// Starts the agent of a cluster. [`RegistrationValues::install`] must have created the agent's objects.
    pub async fn start(
        programs: &FleetPrograms,
        cluster: &ControlPlane,
    ) -> Result<Self, WorldError> {
        let kubeconfig = cluster.account_kubeconfig(NAMESPACE, "fleet-agent").await?;
        let ports = [port()?, port()?];
        let program = Program::new("fleetagent", &programs.agent, &cluster.logs());
        let running = with_environment(program, cluster)
            .env("KUBECONFIG", kubeconfig)
            .env("POD_NAME", "fleet-agent-0")
            .env("HOSTNAME", "fleet-agent-0")
            .env("CHECKIN_INTERVAL", "15m")
            // The port of the profiler is fixed.
            .env("FLEET_AGENT_PPROF_DISABLED", "true")
            .env("FLEET_AGENT_METRICS_BIND_ADDRESS", address(&ports[0]))
            .env("FLEET_AGENT_PROBE_BIND_ADDRESS", address(&ports[1]))
            .start()?;
        Ok(Self {
            running,
            _ports: ports,
        })
    }

    /// Returns the process ID of the agent.
    pub fn id(&self) -> u32 {
        self.running.id()
    }

    /// Returns the last lines of the agent's log.
    pub fn log_tail(&self) -> String {
        self.running.log_tail()
    }

    /// Returns the prefix of the names of the agent's users in the audit log of its cluster.
    pub const fn user_prefix() -> &'static str {
        "system:serviceaccount:cattle-fleet-system:"
    }
}

fn port() -> Result<PortLease, WorldError> {
    Ok(PortLease::take(IpAddr::V4(Ipv4Addr::LOCALHOST))?)
}

fn address(port: &PortLease) -> String {
    format!("127.0.0.1:{}", port.port())
}

fn with_environment(program: Program, cluster: &ControlPlane) -> Program {
    let program = program.env("HOME", cluster.folder());
    ENVIRONMENT
        .into_iter()
        .fold(program, |program, (name, value)| program.env(name, value))
}

/// Returns the namespaces, and the configuration with the default values of Fleet's chart.
fn configuration(cluster: &ControlPlane, manages_agents: bool) -> Value {
    use base64::Engine as _;
    let authority = base64::engine::general_purpose::STANDARD.encode(cluster.ca());
    let config = json!({
        "agentImage": "rancher/fleet-agent:v0.16.0", "agentImagePullPolicy": "IfNotPresent",
        "apiServerURL": cluster.url(), "apiServerCA": authority,
        "agentCheckinInterval": "15m", "agentTLSMode": "strict",
        "agentWorkers": { "bundledeployment": "50", "drift": "50" },
        "garbageCollectionInterval": "15m", "ignoreClusterRegistrationLabels": false,
        "manageAgent": manages_agents,
        "bootstrap": { "namespace": "fleet-local" },
    });
    let namespace = |name: &str| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    json!({ "apiVersion": "v1", "kind": "List", "items": [
        namespace(NAMESPACE), namespace(BUNDLES),
        {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "fleet-controller", "namespace": NAMESPACE },
            "data": { "config": config.to_string() },
        },
    ]})
}
