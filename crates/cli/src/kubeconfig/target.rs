//! Where the entries of a kubeconfig lead. Pure.

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

/// Kind and name of each present entry that a new one of its name would lead elsewhere.
pub(super) fn clashes(present: &Kubeconfig, new: &Kubeconfig) -> Vec<String> {
    let mut found = Vec::new();
    for list in NAMED {
        for entry in entries(new, list) {
            let name = entry.get("name");
            let old = entries(present, list).find(|old| old.get("name") == name);
            if old.is_some_and(|old| leads(list, old) != leads(list, entry)) {
                let kind = list.trim_end_matches('s');
                let name = name.and_then(Value::as_str).unwrap_or_default();
                found.push(format!("{kind} {name:?}"));
            }
        }
    }
    found
}

/// What must be the same of two entries that lead to the same place. A token inside and one that
/// the plug-in gets are for the same person at the same server, whose name stands in the entry's.
fn leads(list: &str, entry: &Value) -> Vec<Value> {
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

/// Whether an exec plug-in is `drover credential` and nothing else.
fn is_own(exec: &Value) -> bool {
    exec["command"] == "drover" && exec["args"][0] == "credential" && exec["env"].is_null()
}

/// The commands in a kubeconfig that kubectl would run and that are not drover's.
pub(crate) fn foreign_commands(config: &Kubeconfig) -> Vec<String> {
    entries(config, "users")
        .filter_map(|user| user.pointer("/user/exec"))
        .filter(|exec| !exec.is_null() && !is_own(exec))
        .map(|exec| exec["command"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// The servers whose clusters a kubeconfig names, each once.
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
