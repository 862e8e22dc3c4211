//! How the agent becomes a member: key, registration, memory, and the token forgotten.
//!
//! ```text
//!  Begin ─► Keyed ─┬─(remembered)──────────────► Remembered ─► Done
//!                  └─► Armed ─► Registered ─────►┘
//! ```
//!
//! Each arrow is one write, or none; a crash on either side of any of them is healed by walking
//! from `Begin` again, and two replicas may walk at once.

mod store;

use std::sync::Arc;

use drover_access::proof;
use drover_access::token::RegistrationToken;
use drover_api::agent::{RegisterRequest, RegisterResponse};
use drover_api::ids::ClusterUid;
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;

use crate::key::{ClusterKey, KeyError};
use crate::server::{CallError, Server, ServerBinding};
pub use store::{
    BINDING_CONFIG_MAP, DEPLOYMENT, KEY_SECRET, Memory, REGISTRATION_SECRET, STATUS_CONFIG_MAP,
    Store, StoreError, data,
};

/// Why the agent is not a member yet.
#[derive(Debug, Error)]
pub enum RegistrationError {
    /// The cluster's own API did not do what it must.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The token in the Secret is no registration token.
    #[error(
        "the token in Secret {REGISTRATION_SECRET} is not a registration token; apply the manifest of \"drover cluster import\" again"
    )]
    MalformedToken,
    /// The server did not register the key.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The server speaks of another cluster than the one asked for.
    #[error("the server registered cluster {got} where {wanted} was asked for")]
    OtherCluster {
        /// UID in the manifest.
        wanted: ClusterUid,
        /// UID in the answer.
        got: ClusterUid,
    },
}

/// What a member has: enough to connect.
#[derive(Clone, Debug)]
pub struct Membership {
    /// Name of the Cluster at the server, for people.
    pub cluster_name: String,
    /// Its UID.
    pub cluster_uid: ClusterUid,
    /// The bound key.
    pub key: Arc<ClusterKey>,
}

/// Where the walk stands; each state holds all that the next arrow needs.
#[derive(Debug)]
pub enum Step {
    /// Nothing is known.
    Begin,
    /// The key exists in the cluster, whoever made it.
    Keyed {
        /// The shared key.
        key: Arc<ClusterKey>,
        /// What an earlier walk remembered.
        memory: Option<Memory>,
    },
    /// Not registered as far as is known; a token may be there.
    Armed {
        /// The shared key.
        key: Arc<ClusterKey>,
        /// Absent when it was used up; then only a bound key is accepted.
        token: Option<SecretString>,
    },
    /// The server has bound the key.
    Registered(Membership),
    /// The cluster remembers that it is registered.
    Remembered(Membership),
    /// The token is forgotten too.
    Done(Membership),
}

/// Walks from [`Step::Begin`] to [`Step::Done`].
#[derive(Debug)]
pub struct Registrar<'a> {
    /// The agent's objects in its cluster.
    pub store: &'a Store,
    /// Which server, and as which Cluster.
    pub binding: &'a ServerBinding,
    /// The road there.
    pub server: &'a Server,
    /// Whether to believe what an earlier walk remembered; not once the server has denied it.
    pub trust_memory: bool,
}

impl Registrar<'_> {
    /// Walks to the end.
    pub async fn walk(&self) -> Result<Membership, RegistrationError> {
        let mut step = Step::Begin;
        loop {
            step = match step {
                Step::Done(membership) => return Ok(membership),
                unfinished => self.advance(unfinished).await?,
            };
        }
    }

    /// Takes one arrow.
    pub async fn advance(&self, step: Step) -> Result<Step, RegistrationError> {
        Ok(match step {
            Step::Begin => {
                let (stored, memory) = self.store.key_or_create(ClusterKey::generate).await?;
                Step::Keyed {
                    key: Arc::new(ClusterKey::from_pkcs8(&stored)?),
                    memory,
                }
            }
            Step::Keyed { key, memory } => match self.remembered(&key, memory) {
                Some(membership) => Step::Remembered(membership),
                None => Step::Armed {
                    key,
                    token: self.store.registration_token().await?,
                },
            },
            Step::Armed { key, token } => Step::Registered(self.register(key, token).await?),
            Step::Registered(membership) => {
                self.store
                    .remember(&Memory {
                        cluster_uid: membership.cluster_uid.clone(),
                        cluster_name: membership.cluster_name.clone(),
                    })
                    .await?;
                Step::Remembered(membership)
            }
            Step::Remembered(membership) => {
                self.store.forget_registration_token().await?;
                Step::Done(membership)
            }
            Step::Done(membership) => Step::Done(membership),
        })
    }

    /// A memory counts for the Cluster it speaks of; a manifest of another one begins afresh.
    fn remembered(&self, key: &Arc<ClusterKey>, memory: Option<Memory>) -> Option<Membership> {
        let memory = memory
            .filter(|memory| self.trust_memory && memory.cluster_uid == self.binding.cluster_uid)?;
        Some(Membership {
            cluster_name: memory.cluster_name,
            cluster_uid: memory.cluster_uid,
            key: Arc::clone(key),
        })
    }

    async fn register(
        &self,
        key: Arc<ClusterKey>,
        token: Option<SecretString>,
    ) -> Result<Membership, RegistrationError> {
        let token_id = match &token {
            None => String::new(),
            Some(token) => RegistrationToken::parse(token.expose_secret())
                .ok_or(RegistrationError::MalformedToken)?
                .id()
                .to_owned(),
        };
        let wanted = &self.binding.cluster_uid;
        let message = proof::register_message(wanted, key.public(), &token_id);
        let request = RegisterRequest {
            cluster_uid: wanted.clone(),
            public_key: key.public().encode(),
            signature: key.sign(&message),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let answer: RegisterResponse = self
            .server
            .call("/v1/agent/register", token.as_ref(), &request)
            .await?;
        if answer.cluster_uid != *wanted {
            return Err(RegistrationError::OtherCluster {
                wanted: wanted.clone(),
                got: answer.cluster_uid,
            });
        }
        Ok(Membership {
            cluster_name: answer.cluster_name,
            cluster_uid: answer.cluster_uid,
            key,
        })
    }
}
