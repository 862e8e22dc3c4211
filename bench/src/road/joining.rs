//! Clusters that join and then do nothing.

use std::path::Path;
use std::time::Duration;

use drover_e2e::{ControlPlane, Program, Running, Server};
use serde_json::{Value, json};

use super::stage::StageError;
use crate::fleet;

/// Also covers the registrations before.
const JOINED: Duration = Duration::from_mins(3);

/// Objects of the import manifest that an agent outside of its cluster needs.
const NEEDED: [&str; 4] = ["Namespace", "ServiceAccount", "ConfigMap", "Secret"];

/// Imports `count` clusters and connects their agents, all on the one API server.
pub(super) async fn join(
    server: &Server,
    cluster: &ControlPlane,
    first: u32,
    count: u32,
    logs: &Path,
) -> Result<Running, StageError> {
    for number in first..first + count {
        let name = fleet::name(number);
        let manifest = server
            .command_line()
            .run(["cluster", "import", &name])
            .await?
            .stdout;
        let objects = in_namespace(&manifest, &name)?;
        let kubectl = cluster.command_line().with_stdin(objects);
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
    running.wait_for_log("ready", JOINED).await?;
    Ok(running)
}

/// Lets every lane's account do its work, whichever namespace it is in.
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

/// The needed objects of a manifest, moved into another namespace, as a JSON list.
fn in_namespace(manifest: &str, namespace: &str) -> Result<String, StageError> {
    const COMMAND: &str = "drover cluster import";
    let unreadable = || StageError::Unreadable { command: COMMAND };
    let mut items = Vec::new();
    // A line of its own: certificates have dashes at the ends of theirs.
    let marked = format!("\n{manifest}");
    let documents = marked.split("\n---\n");
    for document in documents.filter(|text| !text.trim().is_empty()) {
        let mut object: Value = serde_saphyr::from_str(document).map_err(|_| unreadable())?;
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        if !NEEDED.contains(&kind.as_str()) {
            continue;
        }
        let field = if kind == "Namespace" {
            "name"
        } else {
            "namespace"
        };
        object["metadata"][field] = json!(namespace);
        items.push(object);
    }
    if items.is_empty() {
        return Err(unreadable());
    }
    Ok(json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_moved_into_the_namespace_and_the_rest_is_left_out() {
        let manifest = "---\nkind: Namespace\nmetadata:\n  name: drover-agent\n\
                        ---\nkind: Secret\nmetadata:\n  name: s\n  namespace: drover-agent\n\
                        data:\n  ca: |\n    -----BEGIN X-----\n    -----END X-----\n\
                        ---\nkind: Deployment\nmetadata:\n  name: d\n";
        let list: Value = serde_json::from_str(&in_namespace(manifest, "x").unwrap()).unwrap();
        assert_eq!(list["items"].as_array().unwrap().len(), 2);
        assert_eq!(list["items"][0]["metadata"]["name"], "x");
        assert_eq!(list["items"][1]["metadata"]["namespace"], "x");
        assert_eq!(
            list["items"][1]["data"]["ca"],
            "-----BEGIN X-----\n-----END X-----\n"
        );
    }
}
