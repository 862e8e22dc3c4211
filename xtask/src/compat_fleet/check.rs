//! The steps that both pairs of programs share.

use std::time::Duration;

use drover_e2e::{CommandError, CommandLine, ControlPlane, eventually};
use serde_json::Value;

use super::CompatError;
use super::bundles::{DEPLOYED, LABEL, NAMESPACE, chart, plain};
use crate::print::print_line;

const SOON: Duration = Duration::from_mins(2);

/// A hub, and the cluster of an agent.
pub(super) struct Check<'a> {
    /// kubectl for the hub.
    pub(super) hub: CommandLine,
    pub(super) cluster: &'a ControlPlane,
    /// Returns the end of the logs for an error.
    pub(super) log: &'a dyn Fn() -> String,
}

impl Check<'_> {
    /// Waits until the agent has reported that it runs.
    pub(super) async fn until_checked_in(&self) -> Result<(), CompatError> {
        self.until("the report of the agent", async || {
            let status = &self.fleet_cluster().await?["status"];
            if status["agent"]["lastSeen"].is_string() {
                Ok(())
            } else {
                Err(status.to_string())
            }
        })
        .await?;
        print_line("ok: the agent registered, and reports that it is alive");
        Ok(())
    }

    /// Deploys a bundle with YAML, and a bundle with a chart.
    pub(super) async fn deploy(&self) -> Result<(), CompatError> {
        for bundle in [plain(), chart("red")] {
            self.apply(&bundle).await?;
        }
        self.until_ready("plain").await?;
        self.until_ready("chart").await?;
        self.until_color("plain", "green").await?;
        self.until_color("chart", "red").await?;
        let label = self.of_config_map("chart", "label").await;
        if label.as_deref() != Ok("true") {
            self.until_color("chart", "a label of the cluster").await?;
        }
        print_line("ok: the agent deployed a bundle with plain YAML and a bundle with a chart");
        Ok(())
    }

    /// Changes the Helm values of a bundle, and an object in the cluster.
    pub(super) async fn change(&self) -> Result<(), CompatError> {
        self.apply(&chart("blue")).await?;
        self.until_color("chart", "blue").await?;
        self.until_ready("chart").await?;
        self.drift("plain").await?;
        self.until_color("plain", "green").await?;
        print_line("ok: the agent deployed changed Helm values, and corrected drift");
        Ok(())
    }

    /// Changes an object in the cluster.
    pub(super) async fn drift(&self, name: &str) -> Result<(), CompatError> {
        let patch = [
            "patch",
            "configmap",
            name,
            "--namespace",
            DEPLOYED,
            "--type",
            "merge",
            "--patch",
            r#"{"data":{"color":"changed"}}"#,
        ];
        self.cluster.kubectl(patch).await?;
        Ok(())
    }

    /// Deletes bundles, and waits until the cluster has none of their objects, and the hub none of their
    /// bundle deployments.
    pub(super) async fn delete(&self, bundles: &[&str]) -> Result<(), CompatError> {
        for name in bundles {
            self.on_hub(&format!("delete bundles.fleet.cattle.io {name}"))
                .await?;
        }
        self.until("the deletion of the objects", async || {
            let words = format!("get configmaps --namespace {DEPLOYED} -o name");
            let left = self.cluster.kubectl(words.split(' ')).await;
            let mut left = left.map_err(|error| error.to_string())?.stdout;
            let words = "get bundledeployments.fleet.cattle.io --all-namespaces -o name";
            let of_hub = self.hub.run(words.split(' ')).await;
            left += &of_hub.map_err(|error| error.to_string())?.stdout;
            let is_left =
                |name: &&str| left.lines().any(|line| line.ends_with(&format!("/{name}")));
            if bundles.iter().any(is_left) {
                return Err(left);
            }
            Ok(())
        })
        .await?;
        print_line("ok: the agent deleted the objects of deleted bundles");
        Ok(())
    }

    pub(super) async fn apply(&self, bundle: &Value) -> Result<(), CompatError> {
        let apply = self.hub.clone().with_stdin(bundle.to_string());
        apply.run(["apply", "--server-side", "-f", "-"]).await?;
        Ok(())
    }

    /// Waits until the hub reports a bundle as ready.
    pub(super) async fn until_ready(&self, bundle: &str) -> Result<(), CompatError> {
        self.until(&format!("the state Ready of {bundle}"), async || {
            let bundle = self.bundle(bundle).await?;
            let (status, metadata) = (&bundle["status"], &bundle["metadata"]);
            let is_current = status["observedGeneration"] == metadata["generation"];
            if is_current && status["display"]["readyClusters"] == "1/1" {
                return Ok(());
            }
            Err(status.to_string())
        })
        .await
    }

    pub(super) async fn bundle(&self, name: &str) -> Result<Value, String> {
        let words = format!("get bundles.fleet.cattle.io {name} -o json");
        let bundle = self.on_hub(&words).await;
        bundle.map_err(|error| error.to_string())
    }

    async fn until_color(&self, name: &str, color: &str) -> Result<(), CompatError> {
        self.until(&format!("the color {color} of {name}"), async || {
            let found = self.of_config_map(name, "color").await?;
            if found == color { Ok(()) } else { Err(found) }
        })
        .await
    }

    async fn of_config_map(&self, name: &str, key: &str) -> Result<String, String> {
        let words =
            format!("get configmap {name} --namespace {DEPLOYED} -o jsonpath={{.data.{key}}}");
        let found = self.cluster.kubectl(words.split(' ')).await;
        Ok(found.map_err(|error| error.to_string())?.stdout)
    }

    /// Returns the Fleet Cluster with the label of the agent.
    pub(super) async fn fleet_cluster(&self) -> Result<Value, String> {
        let words = format!("get clusters.fleet.cattle.io --selector {LABEL}=true -o json");
        let clusters = self.on_hub(&words).await;
        let clusters = clusters.map_err(|error| error.to_string())?;
        let mut clusters = clusters["items"].as_array().cloned().unwrap_or_default();
        clusters
            .pop()
            .ok_or_else(|| "no Fleet Cluster has the label".to_owned())
    }

    /// Runs kubectl in the namespace of the bundles, and returns its output.
    async fn on_hub(&self, words: &str) -> Result<Value, CommandError> {
        let words = words.split(' ').chain(["--namespace", NAMESPACE]);
        let output = self.hub.run(words).await?.stdout;
        // A deletion prints plain text.
        Ok(serde_json::from_str(&output).unwrap_or_default())
    }

    /// Repeats an attempt. An error contains the end of the logs.
    pub(super) async fn until<T>(
        &self,
        subject: &str,
        attempt: impl AsyncFnMut() -> Result<T, String>,
    ) -> Result<T, CompatError> {
        let result = eventually(subject, SOON, attempt).await;
        result.map_err(|source| CompatError::State {
            source,
            log: (self.log)(),
        })
    }
}
