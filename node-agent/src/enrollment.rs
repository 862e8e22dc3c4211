//! The registration of the node's key at the server.

use std::path::PathBuf;
use std::time::Duration;

use drover_access::proof::{self, PublicKey};
use drover_agent_link::binding::ServerBinding;
use drover_agent_link::enrollment::Enrollment;
use drover_agent_link::key::AgentKey;
use drover_agent_link::registration::{
    Membership, ReadBindingError, RegistrationError, Store, StoreError,
};
use drover_agent_link::server::Server;
use drover_api::agent::{NodeRegisterRequest, NodeRegisterResponse};
use tracing::info;

use crate::args::NodeArgs;
use crate::files::{Files, Record, read_token};

/// Shortest and longest interval at which a node agent without a tunnel reads whether the server has
/// selected its node. Many nodes of a large cluster read the same ConfigMap, so the interval doubles
/// after each read.
const SELECTION_INTERVAL: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(1));

/// The source of the server's address and of the node's key.
#[derive(Debug)]
pub struct NodeEnrollment {
    /// The objects of the cluster agent.
    store: Store,
    /// Name of the node.
    node: String,
    /// File with the token that proves the node.
    token_file: PathBuf,
    /// The key and its record.
    files: Files,
}

impl NodeEnrollment {
    /// Creates the enrollment of a node agent. The folder of the key must survive a restart of the
    /// container.
    pub fn new(store: Store, args: NodeArgs) -> Self {
        Self {
            store,
            node: args.node,
            token_file: args.token_file,
            files: Files::new(args.key_folder),
        }
    }

    /// Waits until the server selects the node for a tunnel.
    async fn selected(&self) -> Result<(), StoreError> {
        let (shortest, longest) = SELECTION_INTERVAL;
        let mut interval = shortest;
        while !self.store.tunnel_nodes().await?.contains(&self.node) {
            if interval == shortest {
                info!(
                    node = self.node,
                    "the server has not selected this node for a tunnel; waiting"
                );
            }
            tokio::time::sleep(interval).await;
            interval = (interval * 2).min(longest);
        }
        Ok(())
    }

    async fn register(
        &self,
        binding: &ServerBinding,
        server: &Server,
        key: &AgentKey,
    ) -> Result<NodeRegisterResponse, RegistrationError> {
        let message = proof::node_register_message(&binding.cluster_uid, key.public());
        let request = NodeRegisterRequest {
            cluster_uid: binding.cluster_uid.clone(),
            public_key: key.public().encode(),
            token: read_token(&self.token_file)?,
            signature: key.sign(&message),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let response: NodeRegisterResponse = server.call("/v1/agent/node", None, &request).await?;
        if response.node != self.node {
            return Err(RegistrationError::OtherNode {
                expected: self.node.clone(),
                bound: response.node,
            });
        }
        Ok(response)
    }
}

impl Enrollment for NodeEnrollment {
    async fn binding(&self) -> Result<ServerBinding, ReadBindingError> {
        self.selected().await?;
        self.store.binding().await
    }

    async fn enroll(
        &self,
        binding: &ServerBinding,
        server: &Server,
        trust_record: bool,
    ) -> Result<Membership, RegistrationError> {
        let keys = self.files.keys_or_create()?;
        let recorded = self.files.record();
        let recorded =
            recorded.filter(|record| trust_record && record.cluster_uid == binding.cluster_uid);
        let record = if let Some(record) = recorded {
            record
        } else {
            let registered = self.register(binding, server, &keys.current).await?;
            let record = Record {
                cluster_uid: binding.cluster_uid.clone(),
                cluster_name: registered.cluster_name,
            };
            self.files.write_record(&record)?;
            record
        };
        Ok(Membership {
            cluster_name: record.cluster_name,
            cluster_uid: record.cluster_uid,
            node: Some(self.node.clone()),
            key: keys.current,
            other_keys: keys.others,
        })
    }

    async fn next_key(&self) -> Result<AgentKey, RegistrationError> {
        self.files.next_key()
    }

    async fn use_key(&self, public: &PublicKey) -> Result<(), RegistrationError> {
        self.files.use_key(public)
    }

    /// Does nothing, because the kubelet replaces the token.
    async fn clean_up(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
