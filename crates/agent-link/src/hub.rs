//! Access of a cluster agent to the hub's Kubernetes API, without a tunnel.
//!
//! The agent's key is the lasting credential. With the key, the agent obtains tokens that are valid for
//! one hour (`POST /v1/agent/hub-token`), and sends its requests to `/k8s/clusters/local` of the server.
//! All requests share one HTTP/2 connection, or a few HTTP/1.1 connections if the server is behind a load
//! balancer without HTTP/2.
//!
//! ```text
//!            ┌── no session, or 401 ──► obtain a token ──► session
//! request ──►┤
//!            └── session ──► send; after 80 % of the token's lifetime, renew it in the background
//! ```
//!
//! A session contains a token and the connections to the server that issued the token, so that the agent
//! never sends a token to a different server. The agent obtains a token only for a request: an agent
//! without requests causes no traffic.

mod client;
mod connector;
mod direct;
mod error;
mod session;
mod token;

use std::net::IpAddr;
use std::sync::Arc;

use drover_api::ids::ClusterUid;
use drover_api::kinds::CheckInSpec;
use tokio::sync::watch;

use crate::enrollment::Enrollment;
use crate::server::Proxy;
pub use direct::DirectHub;
pub use error::{HubAccessError, HubRequestError, HubTokenError};
use session::Sessions;

/// The places of a cluster's objects on the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubPlace {
    /// UID of the Cluster. A reinstalled hub has other UIDs.
    pub cluster_uid: ClusterUid,
    /// Namespace of the cluster's Fleet Cluster object.
    pub cluster_namespace: String,
    /// Name of the cluster's Fleet Cluster object.
    pub cluster_name: String,
    /// Namespace of the cluster's BundleDeployments.
    pub namespace: String,
    /// The windows in which the agent may access the hub. `None` permits all times.
    pub check_in: Option<CheckInSpec>,
}

/// The access of an agent to the hub. Clones share the token and the connections.
#[derive(Debug)]
pub struct HubAccess<E> {
    sessions: Arc<Sessions<E>>,
}

impl<E> Clone for HubAccess<E> {
    fn clone(&self) -> Self {
        Self {
            sessions: Arc::clone(&self.sessions),
        }
    }
}

impl<E: Enrollment + 'static> HubAccess<E> {
    /// Creates an access without a token. `source` and `proxy` are the local address and the HTTP proxy
    /// of the connections, as in [`Connection`](crate::connection::Connection). Requests need a tokio
    /// runtime.
    pub fn new(enrollment: E, source: Option<IpAddr>, proxy: Option<Proxy>) -> Self {
        Self {
            sessions: Arc::new(Sessions::new(enrollment, source, proxy)),
        }
    }

    /// Returns a client of the hub, and the places of the cluster's objects. Obtains a token if there is
    /// no valid token. After a failed attempt, waits until the next attempt is due.
    ///
    /// The client stays valid: each request uses the current token, and the connections to the current
    /// server. Only the places can change, if the agent moves to a different server or Cluster
    /// ([`places`](Self::places)).
    pub async fn client(&self) -> Result<(kube::Client, HubPlace), HubAccessError> {
        let place = self.sessions.wait_for_session().await?.place.clone();
        let service = client::HubService::new(Arc::clone(&self.sessions));
        let client = kube::Client::new(service, place.namespace.clone());
        Ok((client, place))
    }

    /// Closes the connections to the hub. The next request obtains a new token.
    pub fn disconnect(&self) {
        self.sessions.disconnect();
    }

    /// Returns the places of the cluster's objects, which change if the agent moves to a different server
    /// or Cluster. The value is `None` until the first token.
    pub fn places(&self) -> watch::Receiver<Option<HubPlace>> {
        self.sessions.places()
    }
}

#[cfg(test)]
mod tests;
