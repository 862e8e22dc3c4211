//! The report of a node agent about its node, in a ConfigMap of the cluster. The agent reads the reports
//! of all nodes and sends them to the server.

mod certificates;
mod clock;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use drover_api::agent::NodeClass;
use drover_api::client_error::message;
use drover_api::group::{NODE_AGENT_NAMESPACE, NODE_REPORT_ENTRY, NODE_REPORT_LABEL};
use drover_api::kinds::{LocalApiServer, NodeAgentReport, WebhookState};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::info;

use self::certificates::expiry;
use self::clock::ApiServers;

/// A name in the certificates of every API server. The certificates of some distributions do not
/// contain the loopback address.
pub(crate) const API_SERVER_NAME: &str = "kubernetes.default.svc";
/// Interval at which the node agent collects the facts.
const INTERVAL: Duration = Duration::from_mins(1);
/// Maximum time until the node agent writes an unchanged report again, because another writer may have
/// changed or deleted the ConfigMap.
const REWRITE: Duration = Duration::from_mins(30);
/// First and longest interval between two attempts to write a report. The interval doubles after each
/// failure, because the manifest of an earlier version does not permit the write.
const RETRY: (Duration, Duration) = (Duration::from_secs(10), Duration::from_mins(20));
/// Timeout of a call to the API server.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Entry of the ConfigMap with the address of the API server on the node. Only other node agents use the
/// entry, to check whether they can connect.
const ADDRESS_ENTRY: &str = "api-server";
/// Field manager of the ConfigMap.
const FIELD_MANAGER: &str = "drover-node-agent";
/// Maximum number of reports of control-plane nodes that the node agent reads.
const MAX_REPORTS: u32 = 20;

/// The node on which the node agent runs.
#[derive(Clone, Debug)]
pub struct NodeIdentity {
    /// Name of the node.
    pub node: String,
    /// Class of the node. The webhook runs only on control-plane nodes.
    pub class: NodeClass,
    /// IP address of the node.
    pub address: Option<IpAddr>,
    /// Name and UID of the node agent's pod.
    pub pod: Option<(String, String)>,
    /// Address of the kubelet. `None` if the node has no kubelet.
    pub kubelet: Option<SocketAddr>,
    /// Loopback address of the API server on the node. `None` if the node has no API server.
    pub api_server: Option<SocketAddr>,
}

/// The writer of the report.
pub(crate) struct Reporter {
    config_maps: Api<ConfigMap>,
    identity: NodeIdentity,
    api_servers: ApiServers,
    webhook: watch::Receiver<WebhookState>,
}

impl Reporter {
    /// Creates the writer. `config` is the configuration of `own` and connects to other API servers of
    /// the cluster.
    pub(crate) fn new(
        own: kube::Client,
        config: kube::Config,
        identity: NodeIdentity,
        webhook: watch::Receiver<WebhookState>,
    ) -> Self {
        Self {
            config_maps: Api::namespaced(own, NODE_AGENT_NAMESPACE),
            api_servers: ApiServers::new(config, identity.address),
            identity,
            webhook,
        }
    }

    /// Writes the report after each change, until the future is dropped.
    pub(crate) async fn run(mut self) {
        let mut written: Option<(NodeAgentReport, Instant)> = None;
        let mut retry = RETRY.0;
        loop {
            self.webhook.mark_unchanged();
            let report = self.collect().await;
            let is_current =
                |(last, at): &(NodeAgentReport, Instant)| *last == report && at.elapsed() < REWRITE;
            if !written.as_ref().is_some_and(is_current) {
                if let Err(error) = self.write(&report).await {
                    info!(
                        error,
                        "cannot write the report about the node; trying again; if the error is \
                         Forbidden, apply the manifest of this version"
                    );
                    tokio::time::sleep(retry).await;
                    retry = (retry * 2).min(RETRY.1);
                    continue;
                }
                written = Some((report, Instant::now()));
                retry = RETRY.0;
            }
            let changed = self.webhook.changed();
            // After the timeout, the node agent collects the facts again.
            let _ = tokio::time::timeout(INTERVAL, changed).await;
        }
    }

    async fn collect(&mut self) -> NodeAgentReport {
        let addresses = self.api_server_addresses().await;
        let (clock_offset_seconds, unreachable_api_servers) =
            self.api_servers.check(&addresses).await;
        let NodeIdentity {
            kubelet,
            api_server,
            ..
        } = self.identity;
        let (kubelet, certificate) =
            tokio::join!(async { expiry("kubelet", kubelet?).await }, async {
                expiry("kube-apiserver", api_server?).await
            });
        // An API server that does not respond has no entry.
        let responding = api_server.filter(|_| certificate.is_some());
        let local = responding.map(|address| LocalApiServer {
            port: address.port(),
            webhook: *self.webhook.borrow(),
        });
        NodeAgentReport {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            api_server: local,
            certificates: kubelet.into_iter().chain(certificate).collect(),
            clock_offset_seconds,
            unreachable_api_servers,
        }
    }

    /// Returns the addresses of the API servers in the reports of other node agents.
    async fn api_server_addresses(&self) -> Vec<String> {
        let params = ListParams::default().limit(MAX_REPORTS).labels(&format!(
            "{NODE_REPORT_LABEL}={}",
            NodeClass::ControlPlane.label()
        ));
        let listed = tokio::time::timeout(TIMEOUT, self.config_maps.list(&params)).await;
        let Ok(Ok(listed)) = listed else {
            return Vec::new();
        };
        let others = listed
            .iter()
            .filter(|map| map.name_any() != self.identity.node);
        let addresses = others.filter_map(|map| map.data.as_ref()?.get(ADDRESS_ENTRY).cloned());
        addresses.collect()
    }

    async fn write(&self, report: &NodeAgentReport) -> Result<(), String> {
        let identity = &self.identity;
        let json = serde_json::to_string(report).expect("a report can be serialized as JSON");
        let mut data = BTreeMap::from([(NODE_REPORT_ENTRY.to_owned(), json)]);
        if let (Some(server), Some(ip)) = (&report.api_server, identity.address) {
            let address = SocketAddr::new(ip, server.port).to_string();
            data.insert(ADDRESS_ENTRY.to_owned(), address);
        }
        let owner = identity.pod.as_ref().map(|(name, uid)| OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            name: name.clone(),
            uid: uid.clone(),
            ..OwnerReference::default()
        });
        let config_map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(identity.node.clone()),
                labels: Some(BTreeMap::from([(
                    NODE_REPORT_LABEL.to_owned(),
                    identity.class.label().to_owned(),
                )])),
                owner_references: owner.map(|owner| vec![owner]),
                ..ObjectMeta::default()
            },
            data: Some(data),
            ..ConfigMap::default()
        };
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let patch = Patch::Apply(&config_map);
        let patched = self.config_maps.patch(&identity.node, &params, &patch);
        match tokio::time::timeout(TIMEOUT, patched).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(message(&error)),
            Err(_) => Err("no response from the API server".to_owned()),
        }
    }
}
