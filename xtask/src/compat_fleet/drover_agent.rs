//! Drover's agent registers at a hub with Fleet's own controllers, and deploys bundles.

use std::fs;
use std::time::Duration;

use drover_e2e::{
    Agent, AgentOptions, AuditEvent, CommandLine, ControlPlane, FleetHub, FleetHubOptions,
    FleetPrograms, Options, RegistrationValues,
};

use super::CompatError;
use super::bundles::{LABEL, NAMESPACE, in_registry, reported};
use super::check::Check;
use crate::build::root;
use crate::print::print_line;

/// Namespace and account of Drover's agent in its cluster.
const AGENT: &str = "drover-agent";
/// Prefix of the users of agents on the hub.
const USERS: &str = "system:serviceaccount:cluster-fleet-default-";
/// Time in which the agent must not send requests without a change. The statuses have no effect on each other
/// if the agent is idle for longer than all delays of Fleet's controllers.
const IDLE: Duration = Duration::from_secs(40);

pub(super) async fn check(programs: &FleetPrograms) -> Result<(), CompatError> {
    print_line("checking Drover's agent at a hub with Fleet's controllers");
    let options = FleetHubOptions {
        audit: true,
        manages_agents: true,
    };
    let hub = FleetHub::start(programs, options).await?;
    let cluster = ControlPlane::start(Options {
        name: "drover".to_owned(),
        ..Options::default()
    })
    .await?;
    let values = hub.registration("compat").await?;
    install(&cluster, &values).await?;
    let mut agent = Agent::start(AgentOptions {
        replica: "compat".to_owned(),
        kubeconfig: cluster.account_kubeconfig(AGENT, AGENT).await?,
        logs: cluster.logs(),
        arguments: vec!["--fleet-hub".to_owned()],
    })?;
    agent.wait_until_connected().await?;
    let agent = agent;
    let check = Check {
        hub: hub.cluster.command_line(),
        cluster: &cluster,
        log: &|| {
            let log = fs::read_to_string(agent.log_path()).unwrap_or_default();
            format!("{log}\n{}", hub.log_tail())
        },
    };
    check.until_checked_in().await?;
    check.deploy().await?;
    check.change().await?;
    report_drift(&check).await?;
    cluster_is_reported(&check).await?;
    no_foreign_agent(&check).await?;
    no_requests_without_a_change(&hub).await?;
    refuse_registry(&check).await?;
    check
        .delete(&["plain", "chart", "reported", "registry"])
        .await?;
    // Fleet's controller of Clusters ignores the deletion of bundle deployments that were never applied.
    touch(&check, "deleted").await?;
    check
        .until("the Fleet Cluster without bundles", async || {
            let status = &check.fleet_cluster().await?["status"];
            match status["display"]["readyBundles"].as_str() {
                Some("0/0") => Ok(()),
                _ => Err(status.to_string()),
            }
        })
        .await
}

/// Installs the chart of Drover's agent with the values of a registration token, as a user does.
async fn install(cluster: &ControlPlane, values: &RegistrationValues) -> Result<(), CompatError> {
    let file = cluster.folder().join("values.yaml");
    fs::write(&file, values.yaml()).map_err(|source| CompatError::Copy {
        path: file.clone(),
        source,
    })?;
    let (chart, file) = (
        root().join("charts/drover-agent").display().to_string(),
        file.display().to_string(),
    );
    let helm: CommandLine = cluster.helm().await?;
    let label = format!("fleet.labels.{LABEL}=true");
    let words = ["install", AGENT, &chart, "--namespace", AGENT];
    let options = [
        "--create-namespace",
        "--values",
        &file,
        "--set",
        "fleet.enabled=true",
        "--set-string",
        &label,
    ];
    helm.run(words.into_iter().chain(options)).await?;
    Ok(())
}

/// Changes an object of a bundle without `correctDrift`, and changes the object back.
async fn report_drift(check: &Check<'_>) -> Result<(), CompatError> {
    check.apply(&reported()).await?;
    check.until_ready("reported").await?;
    check.drift("reported").await?;
    check
        .until("the state Modified of the bundle", async || {
            let status = &check.bundle("reported").await?["status"];
            let conditions = status["conditions"].to_string();
            let names_object = conditions.contains("configmap.v1 compat/reported modified");
            if status["summary"]["modified"] == 1 && names_object {
                Ok(())
            } else {
                Err(status.to_string())
            }
        })
        .await?;
    // Fleet's controller of Clusters does not watch drift. It reads the statuses after each change of the
    // Cluster, for example a check-in.
    touch(check, "drift").await?;
    check
        .until("the state Modified of the Fleet Cluster", async || {
            let status = &check.fleet_cluster().await?["status"];
            if status["display"]["state"] == "Modified" {
                Ok(())
            } else {
                Err(status.to_string())
            }
        })
        .await?;
    let back = r#"{"data":{"color":"green"}}"#;
    let words = ["patch", "configmap", "reported", "--namespace", "compat"];
    let words = words
        .into_iter()
        .chain(["--type", "merge", "--patch", back]);
    check.cluster.kubectl(words).await?;
    check.until_ready("reported").await?;
    touch(check, "no-drift").await?;
    print_line("ok: Fleet's controllers report the drift, and its end");
    Ok(())
}

/// Changes an annotation of the Fleet Cluster.
async fn touch(check: &Check<'_>, value: &str) -> Result<(), CompatError> {
    let (label, annotation) = (format!("{LABEL}=true"), format!("compat={value}"));
    let words = ["annotate", "clusters.fleet.cattle.io", "--overwrite"];
    let selected = ["--namespace", NAMESPACE, "--selector", &label, &annotation];
    check.hub.run(words.into_iter().chain(selected)).await?;
    Ok(())
}

/// Checks the status of the Fleet Cluster.
async fn cluster_is_reported(check: &Check<'_>) -> Result<(), CompatError> {
    check
        .until("the status of the Fleet Cluster", async || {
            let status = &check.fleet_cluster().await?["status"];
            let is_true = |kind: &str| {
                let conditions = status["conditions"].as_array().into_iter().flatten();
                conditions
                    .filter(|it| it["type"] == kind)
                    .any(|it| it["status"] == "True")
            };
            let summary = &status["summary"];
            if status["display"]["readyBundles"] == "3/3"
                && status["display"]["state"].is_null()
                && summary["ready"] == 3
                && summary["desiredReady"] == 3
                && status["agent"]["namespace"] == AGENT
                && is_true("Ready")
                && is_true("Processed")
            {
                Ok(())
            } else {
                Err(status.to_string())
            }
        })
        .await?;
    print_line("ok: the Fleet Cluster is ready, with the agent's namespace and all bundles");
    Ok(())
}

/// Checks that the hub reports the field of a bundle whose files are in an OCI registry.
async fn refuse_registry(check: &Check<'_>) -> Result<(), CompatError> {
    for object in in_registry() {
        check.apply(&object).await?;
    }
    check
        .until("the error of the bundle in an OCI registry", async || {
            let status = &check.bundle("registry").await?["status"];
            let conditions = status["conditions"].to_string();
            if conditions.contains("spec.ociContents: this agent reads no files") {
                Ok(())
            } else {
                Err(status.to_string())
            }
        })
        .await?;
    print_line("ok: Fleet's controllers report that the agent does not read OCI registries");
    Ok(())
}

/// Checks that Fleet's hub has not deployed Fleet's own agent to the cluster.
async fn no_foreign_agent(check: &Check<'_>) -> Result<(), CompatError> {
    check
        .until("the bundle with Fleet's own agent", async || {
            let words = format!("get bundles.fleet.cattle.io -o name --namespace {NAMESPACE}");
            let bundles = check.hub.run(words.split(' ')).await;
            let bundles = bundles.map_err(|error| error.to_string())?.stdout;
            if bundles.contains("/fleet-agent-") {
                Ok(())
            } else {
                Err(bundles)
            }
        })
        .await?;
    let words = "get deployments,statefulsets --namespace cattle-fleet-system -o name";
    let found = check.cluster.kubectl(words.split(' ')).await?.stdout;
    if !found.trim().is_empty() {
        return Err(CompatError::ForeignAgent { objects: found });
    }
    print_line("ok: Fleet's hub does not deploy its own agent beside Drover's agent");
    Ok(())
}

/// Checks that the statuses of Fleet's controllers and of the agent do not change each other without end.
async fn no_requests_without_a_change(hub: &FleetHub) -> Result<(), CompatError> {
    // The last change of the previous step can still have effects.
    tokio::time::sleep(IDLE / 4).await;
    let before = requests(hub)?.len();
    tokio::time::sleep(IDLE).await;
    let after = requests(hub)?;
    let new: Vec<String> = after.into_iter().skip(before).collect();
    if new.is_empty() {
        print_line("ok: the agent sends no requests to the hub without a change");
        return Ok(());
    }
    Err(CompatError::NotIdle {
        count: new.len(),
        requests: new.join("\n"),
    })
}

/// Returns the completed requests of agents to the hub, except watches.
fn requests(hub: &FleetHub) -> Result<Vec<String>, CompatError> {
    let events = hub.cluster.audit_events()?.into_iter();
    let is_counted = |event: &AuditEvent| {
        event.user.username.starts_with(USERS)
            && event.stage == "ResponseComplete"
            && event.verb != "watch"
    };
    let events = events.filter(is_counted);
    Ok(events
        .map(|event| format!("{} {}", event.verb, event.request_uri))
        .collect())
}
