//! Registration of the cluster's key at the server.
//!
//! ```text
//!  Start ─► KeyLoaded ─┬─(recorded)────────────────► Recorded ─► Done
//!                      └─► Unregistered ─► Registered ─►┘
//! ```
//!
//! Each step in the diagram performs at most one write. After a crash at any step, a new run from
//! `Start` completes the registration. Two replicas may run the steps concurrently.

mod store;

use std::path::PathBuf;
use std::sync::Arc;

use drover_access::proof;
use drover_access::token::RegistrationToken;
use drover_api::agent::{RegisterRequest, RegisterResponse};
use drover_api::ids::ClusterUid;
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;

use crate::binding::ServerBinding;
use crate::key::{AgentKey, KeyError, StoredKeys};
use crate::server::{CallError, Server};
pub use store::{
    KEY_SECRET, REGISTRATION_SECRET, ReadBindingError, RegistrationRecord, Store, StoreError,
};

/// The reason why the agent cannot register.
#[derive(Debug, Error)]
pub enum RegistrationError {
    /// A call to the cluster's API failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The stored key cannot be parsed, or no key can be generated.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The Secret does not contain a registration token.
    #[error(
        "the token in Secret {REGISTRATION_SECRET} is not a registration token; apply the \
         manifest of \"drover cluster import\" again"
    )]
    MalformedToken,
    /// A call to the server failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The node agent cannot use one of its files.
    #[error("cannot {operation} {file}: {source}", file = .path.display())]
    File {
        /// The failed operation, as a verb.
        operation: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The server has bound the key to a different node.
    #[error("the server bound the key to the node {bound:?} instead of the node {expected:?}")]
    OtherNode {
        /// Name of the node on which the node agent runs.
        expected: String,
        /// Name of the node in the server's response.
        bound: String,
    },
    /// The server's response contains the UID of a different Cluster.
    #[error(
        "the server registered the cluster {registered_uid} instead of the cluster \
         {expected_uid}; import the cluster again",
        registered_uid = .registered, expected_uid = .expected
    )]
    OtherCluster {
        /// UID of the Cluster in the manifest.
        expected: ClusterUid,
        /// UID of the Cluster in the server's response.
        registered: ClusterUid,
    },
}

/// A registered key: the credential of a connection.
#[derive(Clone, Debug)]
pub struct Membership {
    /// Name of the Cluster at the server, used in messages.
    pub cluster_name: String,
    /// UID of the Cluster at the server.
    pub cluster_uid: ClusterUid,
    /// Name of the node of a node agent. `None` for the cluster agent.
    pub node: Option<String>,
    /// The agent's key that the server has bound to the Cluster or to the node.
    pub key: Arc<AgentKey>,
    /// Other stored keys, of which the server can have bound one instead.
    pub other_keys: Vec<Arc<AgentKey>>,
}

/// State of the registration. Each state contains the input of its next step.
#[derive(Debug)]
pub enum Step {
    /// The initial state, in which no key is loaded.
    Start,
    /// The keys are stored in the agent's cluster.
    KeyLoaded {
        /// The keys that all replicas share.
        keys: StoredKeys,
        /// The record of an earlier registration, or `None` if the Secret contains no record.
        record: Option<RegistrationRecord>,
    },
    /// The key is stored, but the Secret has no record of a registration.
    Unregistered {
        /// The key that all replicas share.
        key: Arc<AgentKey>,
        /// The registration token. If an agent has already used the token, the server accepts only
        /// the key that is bound to the Cluster.
        token: Option<SecretString>,
    },
    /// The server has bound the key to the Cluster.
    Registered(Membership),
    /// The Secret in the agent's cluster contains the record of the registration.
    Recorded(Membership),
    /// The registration token is deleted, and the registration is complete.
    Done(Membership),
}

/// The registration of a key, which runs the steps from [`Step::Start`] to [`Step::Done`].
#[derive(Debug)]
pub struct Registrar<'a> {
    /// Access to the agent's objects in its cluster.
    pub store: &'a Store,
    /// The server's address and the Cluster's UID.
    pub binding: &'a ServerBinding,
    /// Client of the server.
    pub server: &'a Server,
    /// True if the agent trusts the record of an earlier registration. False after the server has
    /// rejected the recorded registration.
    pub trust_record: bool,
}

impl Registrar<'_> {
    /// Runs all steps of the registration.
    pub async fn run(&self) -> Result<Membership, RegistrationError> {
        let mut step = Step::Start;
        loop {
            step = match step {
                Step::Done(membership) => return Ok(membership),
                unfinished => self.advance(unfinished).await?,
            };
        }
    }

    /// Runs the next step of the registration.
    pub async fn advance(&self, step: Step) -> Result<Step, RegistrationError> {
        Ok(match step {
            Step::Start => {
                let (keys, record) = self.store.keys_or_create().await?;
                Step::KeyLoaded { keys, record }
            }
            Step::KeyLoaded { keys, record } => match self.recorded(&keys, record) {
                Some(membership) => Step::Recorded(membership),
                None => Step::Unregistered {
                    key: keys.current,
                    token: self.store.registration_token().await?,
                },
            },
            Step::Unregistered { key, token } => Step::Registered(self.register(key, token).await?),
            Step::Registered(membership) => {
                self.store
                    .record(&RegistrationRecord {
                        cluster_uid: membership.cluster_uid.clone(),
                        cluster_name: membership.cluster_name.clone(),
                    })
                    .await?;
                Step::Recorded(membership)
            }
            Step::Recorded(membership) => {
                self.store.delete_registration_token().await?;
                Step::Done(membership)
            }
            Step::Done(membership) => Step::Done(membership),
        })
    }

    /// Returns the record of an earlier registration if the record is for the Cluster in the
    /// manifest. An administrator can apply a manifest for a different Cluster.
    fn recorded(
        &self,
        keys: &StoredKeys,
        record: Option<RegistrationRecord>,
    ) -> Option<Membership> {
        let record = record
            .filter(|record| self.trust_record && record.cluster_uid == self.binding.cluster_uid)?;
        Some(Membership {
            cluster_name: record.cluster_name,
            cluster_uid: record.cluster_uid,
            node: None,
            key: Arc::clone(&keys.current),
            other_keys: keys.others.clone(),
        })
    }

    async fn register(
        &self,
        key: Arc<AgentKey>,
        token: Option<SecretString>,
    ) -> Result<Membership, RegistrationError> {
        let token_id = match &token {
            None => String::new(),
            Some(token) => RegistrationToken::parse(token.expose_secret())
                .ok_or(RegistrationError::MalformedToken)?
                .id()
                .to_owned(),
        };
        let expected = &self.binding.cluster_uid;
        let message = proof::register_message(expected, key.public(), &token_id);
        let request = RegisterRequest {
            cluster_uid: expected.clone(),
            public_key: key.public().encode(),
            signature: key.sign(&message),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let answer: RegisterResponse = self
            .server
            .call("/v1/agent/register", token.as_ref(), &request)
            .await?;
        if answer.cluster_uid != *expected {
            return Err(RegistrationError::OtherCluster {
                expected: expected.clone(),
                registered: answer.cluster_uid,
            });
        }
        Ok(Membership {
            cluster_name: answer.cluster_name,
            cluster_uid: answer.cluster_uid,
            node: None,
            key,
            other_keys: Vec::new(),
        })
    }
}
