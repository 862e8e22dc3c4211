//! Registers and connects idle clusters.

use std::path::Path;
use std::time::Duration;

use drover_e2e::{ControlPlane, Program, Running, Server};
use serde_json::json;

use super::stage::StageError;
use crate::fleet::{self, manifest};

/// Timeout of registrations and connections.
const JOIN_TIMEOUT: Duration = Duration::from_mins(3);

/// Imports `count` clusters and connects their agents. The clusters share one API server.
pub(super) async fn join(
    server: &Server,
    cluster: &ControlPlane,
    first: u32,
    count: u32,
    logs: &Path,
) -> Result<Running, StageError> {
    for number in first..first + count {
        let name = fleet::name(number);
        let command = server.command_line();
        let imported = command.run(["cluster", "import", &name]).await?.stdout;
        let items = manifest::in_namespace(&imported, &name).ok_or(StageError::Unreadable {
            command: "drover cluster import",
        })?;
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        let kubectl = cluster.command_line().with_stdin(list.to_string());
        kubectl.run(["apply", "-f", "-"]).await?;
    }
    let own = std::env::current_exe().map_err(|source| StageError::Prepare {
        path: "drover-bench".into(),
        source,
    })?;
    let mut running = Program::new(&format!("fleet-from-{first}"), own, logs)
        .args([
            "fleet",
            "--first",
            &first.to_string(),
            "--count",
            &count.to_string(),
        ])
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig_path())
        .start()?;
    running.wait_for_log("ready", JOIN_TIMEOUT).await?;
    Ok(running)
}

/// Grants all permissions to the service accounts of all lanes, in all namespaces.
pub(super) async fn permit_all_lanes(cluster: &ControlPlane) -> Result<(), StageError> {
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "bench-fleet"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:serviceaccounts"}],
    });
    let kubectl = cluster.command_line().with_stdin(binding.to_string());
    kubectl.run(["apply", "-f", "-"]).await?;
    Ok(())
}
