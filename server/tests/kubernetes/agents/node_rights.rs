//! Compares the permissions of the node agents' service accounts with the requests in the audit log of a
//! real API server.

use std::net::{Ipv4Addr, SocketAddr};

use drover_api::agent::NodeClass;
use drover_e2e::rights::{Account, Exemptions, forbidden};
use drover_e2e::{ControlPlane, Options, eventually};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::endpoint::{as_node_agent, enable, start_services};
use super::node_agents::{
    allow_workers, create_node, list_nodes, start_on_new_node_of, wait_for_key,
};
use super::rig::{Rig, SOON, control_plane, start};
use crate::place::TestHub;
use crate::server::Server;

const NAMESPACE: &str = "drover-node-agent";

const EXEMPTIONS: Exemptions = Exemptions {
    not_limited_by_namespace: &[],
    not_audited: &[(
        "create configmaps in drover-node-agent",
        "the API server checks it as part of the apply patch that creates the report",
    )],
    not_limited_by_name: &[(
        "configmaps",
        "an admission policy permits only the name of the node",
    )],
};

#[tokio::test]
async fn node_agent_on_a_control_plane_node_needs_exactly_its_permissions() {
    compare(NodeClass::ControlPlane).await;
}

#[tokio::test]
async fn node_agent_on_a_worker_needs_exactly_its_permissions() {
    compare(NodeClass::Worker).await;
}

/// Compares the permissions of a class of node agents with their requests, while the node agent replaces
/// the cluster's agent.
async fn compare(class: NodeClass) {
    drover_agent_link::program::install_crypto();
    let options = Options {
        name: "shop".to_owned(),
        audit: true,
        ..Options::default()
    };
    let (hub, cluster) = tokio::join!(TestHub::chosen(), ControlPlane::start(options));
    let cluster = cluster.unwrap();
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let rig = Rig::on(hub, server, admin);
    rig.join("shop", &cluster).await;
    let agent = start(&cluster, "pod-0").await;
    rig.wait_for("shop", "Ready", ("True", "Ready")).await;
    let account = Account {
        cluster: &cluster,
        namespace: NAMESPACE,
        name: class.service_account(),
    };

    // All lanes, the webhook, and a report that names another API server.
    allow_workers(&rig, class == NodeClass::Worker).await;
    let _node_agent = start_on_new_node_of(class, &rig, &cluster, "node-1").await;
    wait_for_key(&rig).await;
    create_node(&cluster, "cp-2", NodeClass::ControlPlane).await;
    enable(&rig, true).await;
    let listen = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let listen = (class == NodeClass::ControlPlane).then_some(listen);
    let _services = start_services(&cluster, "node-1", class, listen).await;
    agent.terminate().await;
    eventually("a request through the node agent", SOON, async || {
        list_nodes(&rig).await
    })
    .await
    .unwrap();

    let granted = account.granted().await.unwrap();
    assert!(!granted.is_empty());
    assert!(granted.iter().all(|right| right.namespace.is_some()));
    eventually(
        "every permission to be used within its scope",
        SOON,
        async || account.check(&granted, EXEMPTIONS),
    )
    .await
    .unwrap();
    let refused = forbidden(&account.events().unwrap());
    assert!(refused.is_empty(), "{refused:#?}");
}

#[tokio::test]
async fn node_agent_writes_only_the_report_of_its_own_node() {
    drover_agent_link::program::install_crypto();
    let (hub, cluster) = tokio::join!(TestHub::chosen(), control_plane("shop"));
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let rig = Rig::on(hub, server, admin);
    rig.join("shop", &cluster).await;
    for (node, class) in [
        ("cp-1", NodeClass::ControlPlane),
        ("w-1", NodeClass::Worker),
    ] {
        create_node(&cluster, node, class).await;
        let config = as_node_agent(&cluster, node, class).await;
        let client = kube::Client::try_from(config).unwrap();
        let config_maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
        let write = async |name: &str| {
            let report = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name },
                "data": { "report.json": "{}" },
            });
            let params = PatchParams::apply("test").force();
            let written = config_maps
                .patch(name, &params, &Patch::Apply(report))
                .await;
            written.map(drop).map_err(|error| match error {
                kube::Error::Api(status) => status.message,
                other => panic!("{other}"),
            })
        };
        // The API server activates a new policy with a short delay.
        let refused = eventually("the admission policy", SOON, async || {
            match write("kube-root-ca.crt").await {
                Ok(()) => Err("the policy is not active"),
                Err(refused) => Ok(refused),
            }
        });
        let refused = refused.await.unwrap();
        let reason = "a node agent can write only the ConfigMap with the name of its node";
        assert!(refused.contains(reason), "{refused}");
        let other = if node == "cp-1" { "w-1" } else { "cp-1" };
        assert!(write(other).await.unwrap_err().contains(reason));
        write(node).await.unwrap();
    }
}
