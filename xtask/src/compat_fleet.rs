//! The recipe `xtask compat-fleet`: Fleet's own agent registers at Drover's hub, and deploys bundles.
//! `DROVER_TEST_HUB=embedded` selects the embedded hub.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_e2e::{
    CommandError, CommandLine, ControlPlane, NoFreePort, Options, PortLease, Program, ProgramError,
    Running, StartError, TimedOut, World, WorldError, WorldOptions, eventually,
};
use serde_json::{Value, json};

use crate::build::{RunError, go_build, target};
use crate::print::print_line;

/// Package of the agent, in the version of `e2e/fleet-agent/go.mod`.
const PACKAGE: &str = "github.com/rancher/fleet/cmd/fleetagent";
/// Namespace of the agent in its cluster.
const NAMESPACE: &str = "cattle-fleet-system";
/// Namespace of the bundles on the hub.
const FLEET: &str = "fleet-default";
const SOON: Duration = Duration::from_mins(2);

/// The reason why the agent does not work with the hub.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompatError {
    /// The agent cannot be built.
    #[error(transparent)]
    Build(#[from] RunError),
    /// The hub and the server do not start.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The agent's cluster does not start.
    #[error(transparent)]
    Cluster(#[from] StartError),
    /// No port is free.
    #[error(transparent)]
    Port(#[from] NoFreePort),
    /// The agent does not start.
    #[error(transparent)]
    Agent(#[from] ProgramError),
    /// A command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The hub or the cluster is not in the expected state in time.
    #[error("{source}\n--- the end of the agent's log:\n{log}")]
    State { source: TimedOut, log: String },
    /// The Secret of the registration token is not valid.
    #[error("cannot read {entry} in the Secret with the values for the agent")]
    Values { entry: &'static str },
    /// The operating system cannot create the async runtime.
    #[error("cannot start the async runtime")]
    Runtime(#[source] io::Error),
}

pub(crate) fn run() -> Result<(), CompatError> {
    let program = build()?;
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(CompatError::Runtime)?
        .block_on(Box::pin(check(program)))
}

/// Builds Fleet's agent from its Go modules, and returns the path.
fn build() -> Result<PathBuf, RunError> {
    let program = target().join("fleetagent");
    print_line(&format!("building {PACKAGE}, which takes some minutes"));
    go_build("e2e/fleet-agent", PACKAGE, &program, "test")?;
    Ok(program)
}

/// A hub, and a cluster with Fleet's agent.
struct Stage {
    world: World,
    cluster: ControlPlane,
    agent: Option<Running>,
}

async fn check(program: PathBuf) -> Result<(), CompatError> {
    let options = Options {
        name: "fleet".to_owned(),
        ..Options::default()
    };
    let mut stage = Stage {
        world: World::start(WorldOptions::Programs).await?,
        cluster: ControlPlane::start(options).await?,
        agent: None,
    };
    stage.register(program).await?;
    print_line("ok: the agent registered, and reports that it is alive");
    stage.deploy().await?;
    print_line("ok: the agent deployed a bundle with plain YAML and a bundle with a chart");
    stage.change().await?;
    print_line("ok: the agent deployed changed Helm values, and corrected drift");
    stage.delete().await?;
    print_line("ok: the agent deleted the objects of deleted bundles");
    Ok(())
}

impl Stage {
    /// Gives the agent the values of a registration token, and waits for its first report.
    async fn register(&mut self, program: PathBuf) -> Result<(), CompatError> {
        let token = object(
            "ClusterRegistrationToken",
            "compat",
            &json!({ "ttl": "1h" }),
        );
        self.until("the registration token", async |stage| {
            stage
                .hub()
                .with_stdin(token.to_string())
                .run(["create", "-f", "-"])
                .await
        })
        .await?;
        let values = self
            .until("the values for the agent", async |stage| {
                stage.on_hub("get secret compat -o json").await
            })
            .await?;
        let objects = agent_objects(&values)?;
        let apply = self.cluster.command_line().with_stdin(objects.to_string());
        apply.run(["apply", "-f", "-"]).await?;
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let (metrics, probe) = (PortLease::take(address)?, PortLease::take(address)?);
        let agent = Program::new("fleetagent", program, &self.world.hub.logs())
            .env("KUBECONFIG", self.cluster.kubeconfig_path())
            .env("HOME", self.cluster.folder())
            .env("NAMESPACE", NAMESPACE)
            .env("POD_NAME", "fleet-agent-0")
            .env("HOSTNAME", "fleet-agent-0")
            .env("CHECKIN_INTERVAL", "5s")
            .env("CATTLE_ELECTION_LEASE_DURATION", "30s")
            .env("CATTLE_ELECTION_RETRY_PERIOD", "10s")
            .env("CATTLE_ELECTION_RENEW_DEADLINE", "25s")
            .env("FLEET_AGENT_PPROF_DISABLED", "true")
            .env(
                "FLEET_AGENT_METRICS_BIND_ADDRESS",
                format!(":{}", metrics.port()),
            )
            .env(
                "FLEET_AGENT_PROBE_BIND_ADDRESS",
                format!(":{}", probe.port()),
            )
            .start()?;
        self.agent = Some(agent);
        self.until("the report of the agent", async |stage| {
            let cluster = stage.cluster_with_label().await?;
            let seen = &cluster["status"]["agent"]["lastSeen"];
            if seen.is_string() {
                Ok(())
            } else {
                Err(cluster["status"].to_string())
            }
        })
        .await
    }

    async fn deploy(&self) -> Result<(), CompatError> {
        for bundle in [plain(), chart("red")] {
            self.apply(&bundle).await?;
        }
        self.wait_for_ready("plain").await?;
        self.wait_for_ready("chart").await?;
        self.wait_for_color("plain", "green").await?;
        self.wait_for_color("chart", "red").await
    }

    async fn change(&self) -> Result<(), CompatError> {
        self.apply(&chart("blue")).await?;
        self.wait_for_color("chart", "blue").await?;
        self.wait_for_ready("chart").await?;
        let drift = [
            "patch",
            "configmap",
            "plain",
            "--namespace",
            "compat",
            "--type",
            "merge",
        ];
        let drift = drift
            .into_iter()
            .chain(["--patch", r#"{"data":{"color":"changed"}}"#]);
        self.cluster.kubectl(drift).await?;
        self.wait_for_color("plain", "green").await
    }

    async fn delete(&self) -> Result<(), CompatError> {
        for name in ["plain", "chart"] {
            self.on_hub(&format!("delete bundles.fleet.cattle.io {name}"))
                .await?;
        }
        self.until("the deletion of the objects", async |stage| {
            let words = "get configmaps --namespace compat -o name";
            let left = stage.cluster.kubectl(words.split(' ')).await;
            let left = left.map_err(|error| error.to_string())?.stdout;
            let names = ["configmap/plain", "configmap/chart"];
            if names.iter().any(|name| left.contains(name)) {
                return Err(left);
            }
            Ok(())
        })
        .await
    }

    async fn apply(&self, bundle: &Value) -> Result<(), CompatError> {
        let apply = self.hub().with_stdin(bundle.to_string());
        apply.run(["apply", "--server-side", "-f", "-"]).await?;
        Ok(())
    }

    async fn wait_for_ready(&self, bundle: &str) -> Result<(), CompatError> {
        self.until(&format!("the state Ready of {bundle}"), async |stage| {
            let words = format!("get bundles.fleet.cattle.io {bundle} -o json");
            let bundle = stage
                .on_hub(&words)
                .await
                .map_err(|error| error.to_string())?;
            let is_current =
                bundle["status"]["observedGeneration"] == bundle["metadata"]["generation"];
            if is_current && bundle["status"]["display"]["readyClusters"] == "1/1" {
                return Ok(());
            }
            Err(bundle["status"].to_string())
        })
        .await
    }

    async fn wait_for_color(&self, name: &str, color: &str) -> Result<(), CompatError> {
        self.until(&format!("the color {color} of {name}"), async |stage| {
            let words =
                format!("get configmap {name} --namespace compat -o jsonpath={{.data.color}}");
            let found = stage.cluster.kubectl(words.split(' ')).await;
            let found = found.map_err(|error| error.to_string())?.stdout;
            if found == color { Ok(()) } else { Err(found) }
        })
        .await
    }

    /// Returns the Fleet Cluster with the label of the agent.
    async fn cluster_with_label(&self) -> Result<Value, String> {
        let words = "get clusters.fleet.cattle.io --selector compat=true -o json";
        let clusters = self
            .on_hub(words)
            .await
            .map_err(|error| error.to_string())?;
        let mut clusters = clusters["items"].as_array().cloned().unwrap_or_default();
        clusters
            .pop()
            .ok_or_else(|| "no Fleet Cluster has the label".to_owned())
    }

    fn hub(&self) -> CommandLine {
        self.world.hub.command_line()
    }

    /// Runs kubectl in the namespace of the bundles, and returns its output.
    async fn on_hub(&self, words: &str) -> Result<Value, CommandError> {
        let words = words.split(' ').chain(["--namespace", FLEET]);
        let output = self.hub().run(words).await?.stdout;
        // A deletion prints plain text.
        Ok(serde_json::from_str(&output).unwrap_or_default())
    }

    /// Repeats an attempt. An error contains the end of the agent's log.
    async fn until<T, E: std::fmt::Display>(
        &self,
        subject: &str,
        attempt: impl AsyncFn(&Self) -> Result<T, E>,
    ) -> Result<T, CompatError> {
        let result = eventually(subject, SOON, async || attempt(self).await).await;
        result.map_err(|source| CompatError::State {
            source,
            log: self
                .agent
                .as_ref()
                .map_or_else(String::new, Running::log_tail),
        })
    }
}

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "fleet.cattle.io/v1alpha1", "kind": kind,
        "metadata": { "name": name, "namespace": FLEET }, "spec": spec,
    })
}

fn plain() -> Value {
    let content = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "plain" },
        "data": { "color": "green" },
    });
    object(
        "Bundle",
        "plain",
        &json!({
            "defaultNamespace": "compat", "correctDrift": { "enabled": true },
            "resources": [{ "name": "plain.yaml", "content": content.to_string() }],
            "targets": [{ "clusterSelector": { "matchLabels": { "compat": "true" } } }],
        }),
    )
}

fn chart(color: &str) -> Value {
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: chart}\n\
                    data: {color: {{ .Values.color | quote }}, label: {{ .Values.label | quote }}}\n";
    object(
        "Bundle",
        "chart",
        &json!({
            "defaultNamespace": "compat",
            "helm": {
                "releaseName": "chart",
                "values": { "color": color, "label": "${ .ClusterLabels.compat }" },
            },
            "resources": [
                { "name": "Chart.yaml", "content": "apiVersion: v2\nname: chart\nversion: 1.0.0\n" },
                { "name": "templates/chart.yaml", "content": template },
            ],
            "targets": [{ "clusterSelector": { "matchLabels": { "compat": "true" } } }],
        }),
    )
}

/// Returns the objects that Fleet's chart creates for the agent, from the Secret of a registration token.
fn agent_objects(secret: &Value) -> Result<Value, CompatError> {
    let values = secret["data"]["values"].as_str().unwrap_or_default();
    let values = STANDARD.decode(values).unwrap_or_default();
    let values = String::from_utf8_lossy(&values);
    let value = |entry: &'static str| {
        let mut lines = values.lines().filter_map(|line| line.split_once(": "));
        let line = lines.find(|(key, _)| *key == entry);
        let text = line.and_then(|(_, text)| serde_json::from_str::<String>(text).ok());
        text.ok_or(CompatError::Values { entry })
    };
    let config = json!({
        "clientID": "compat-client", "labels": { "compat": "true" }, "agentTLSMode": "strict",
    });
    Ok(json!({ "apiVersion": "v1", "kind": "List", "items": [
        { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } },
        {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "fleet-agent", "namespace": NAMESPACE },
            "data": { "config": config.to_string() },
        },
        {
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": "fleet-agent-bootstrap", "namespace": NAMESPACE },
            "stringData": {
                "apiServerURL": value("apiServerURL")?, "apiServerCA": value("apiServerCA")?,
                "token": value("token")?, "tokenName": value("tokenName")?,
                "clusterNamespace": value("clusterNamespace")?,
                "systemRegistrationNamespace": value("systemRegistrationNamespace")?,
            },
        },
    ]}))
}
