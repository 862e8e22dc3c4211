//! Implements `drover cluster rotate-keys`.

use drover_api::rest::{ClusterView, KeyRotation};
use jiff::Timestamp;
use reqwest::Method;

use crate::args::ClusterRotateKeys;
use crate::client::Client;
use crate::failure::Failure;
use crate::terminal::notice;
use crate::wait::{Progress, wait_for};

/// Requests new keys of the cluster's agents. With `--wait`, waits until the server has replaced all
/// keys.
pub(super) async fn run(client: &Client, args: &ClusterRotateKeys) -> Result<(), Failure> {
    let name = args.name.as_str();
    let path = ["v1", "clusters", name, "rotate-keys"];
    let KeyRotation { requested_at } = client.call(Method::POST, &path, &()).await?;
    if !args.wait {
        notice(&format!(
            "Requested new keys for the agents of {name:?}. Check: drover cluster get {name}"
        ));
        return Ok(());
    }
    let replaced = wait_for(args.timeout.0, || async {
        let cluster = super::find(client, name).await?;
        let owners = owners_of_old_keys(&cluster, requested_at);
        Ok(if owners.is_empty() {
            Progress::Done
        } else {
            Progress::Pending(format!(
                "{name}: waiting for the key of {}",
                owners.join(", ")
            ))
        })
    });
    replaced.await?;
    notice(&format!("Replaced the keys of the agents of {name:?}."));
    Ok(())
}

/// Returns the agents whose key the server bound before a request for new keys.
fn owners_of_old_keys(cluster: &ClusterView, requested_at: Timestamp) -> Vec<String> {
    let is_old = |bound_at: Option<Timestamp>| bound_at.is_some_and(|at| at <= requested_at);
    let agent = is_old(cluster.key_bound_at).then(|| "the agent".to_owned());
    let nodes = cluster.node_agents.iter();
    let nodes = nodes.filter(|agent| is_old(agent.key_bound_at));
    let nodes = nodes.map(|agent| format!("the node agent on {}", agent.node));
    agent.into_iter().chain(nodes).collect()
}

#[cfg(test)]
mod tests {
    use drover_api::agent::NodeClass;
    use drover_api::kinds::ClusterSpec;
    use drover_api::rest::{ClusterRights, NodeAgentView};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;

    #[test]
    fn wait_ends_when_all_keys_are_newer_than_the_request() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let (meta, rights) = (ObjectMeta::default(), ClusterRights::default());
        let mut cluster = ClusterView::of(meta, ClusterSpec::default(), None, rights);
        assert_eq!(owners_of_old_keys(&cluster, at(10)), [""; 0]);
        let node = |node: &str, key_bound_at| NodeAgentView {
            node: node.to_owned(),
            class: NodeClass::ControlPlane,
            key_bound_at,
        };
        cluster.key_bound_at = Some(at(10));
        cluster.node_agents = vec![
            node("cp-1", Some(at(11))),
            node("cp-2", Some(at(9))),
            node("cp-3", None),
        ];
        let owners = owners_of_old_keys(&cluster, at(10));
        assert_eq!(owners, ["the agent", "the node agent on cp-2"]);
    }
}
