//! The servers and users in the entries of a kubeconfig.

use serde_json::{Map, Value};

use super::NAMED;
use crate::args::ServerUrl;

type Kubeconfig = Map<String, Value>;

fn entries<'a>(config: &'a Kubeconfig, list: &str) -> impl Iterator<Item = &'a Value> {
    config
        .get(list)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Returns the kind and name of each existing entry that conflicts with a new entry. Two entries
/// conflict if they have the same name, but different servers or users.
pub(super) fn conflicts(present: &Kubeconfig, new: &Kubeconfig) -> Vec<String> {
    let mut found = Vec::new();
    for list in NAMED {
        for entry in entries(new, list) {
            let name = entry.get("name");
            let old = entries(present, list).find(|old| old.get("name") == name);
            if old.is_some_and(|old| target(list, old) != target(list, entry)) {
                let kind = list.trim_end_matches('s');
                let name = name.and_then(Value::as_str).unwrap_or_default();
                found.push(format!("{kind} {name:?}"));
            }
        }
    }
    found
}

/// Returns the fields that identify the server and the user of an entry. Returns the same value for
/// every Drover credential in a user entry, because the name of the entry identifies the server and
/// the user.
fn target(list: &str, entry: &Value) -> Vec<Value> {
    let at = |path: &str| entry.pointer(path).cloned().unwrap_or_default();
    match list {
        "clusters" => vec![at("/cluster/server")],
        "contexts" => vec![at("/context/cluster"), at("/context/user")],
        _ => {
            let token = at("/user/token");
            let drovers = token
                .as_str()
                .is_some_and(|token| token.starts_with("drover_"))
                || is_own(&at("/user/exec"));
            vec![if drovers {
                "drover".into()
            } else {
                at("/user")
            }]
        }
    }
}

/// Reports whether an exec plug-in runs `drover credential` and sets no environment variables.
fn is_own(exec: &Value) -> bool {
    exec["command"] == "drover" && exec["args"][0] == "credential" && exec["env"].is_null()
}

/// Returns all exec commands in a kubeconfig except `drover credential`.
pub(crate) fn foreign_commands(config: &Kubeconfig) -> Vec<String> {
    entries(config, "users")
        .filter_map(|user| user.pointer("/user/exec"))
        .filter(|exec| !exec.is_null() && !is_own(exec))
        .map(|exec| exec["command"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Returns the Drover servers of a kubeconfig, without duplicates.
pub(crate) fn servers(config: &Kubeconfig) -> Vec<ServerUrl> {
    let mut found: Vec<ServerUrl> = Vec::new();
    for cluster in entries(config, "clusters") {
        let address = cluster.pointer("/cluster/server").and_then(Value::as_str);
        let server = address.and_then(|address| address.split_once("/k8s/clusters/"));
        if let Some(Ok(server)) = server.map(|(server, _)| server.parse())
            && !found.contains(&server)
        {
            found.push(server);
        }
    }
    found
}
