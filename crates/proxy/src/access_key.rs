//! The identity of a caller in a cluster, for components that share data of a cluster between
//! callers.

use std::sync::Arc;

use drover_access::identity::{Identity, Principal};
use drover_access::path::{ClusterName, ClusterPath};
use drover_access::permit::{Denied, Holder, Target};
use drover_api::group::LOCAL_CLUSTER;
use http::request;

use super::Proxy;
use super::refusal::Refusal;
use drover_http_edge::networks;
use drover_http_edge::status::Status;

/// The identity of a user in a cluster. Requests of users with equal keys have equal permissions in
/// the cluster, because the cluster receives the same user and groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AccessKey {
    target: Target,
    user: String,
    groups: Vec<String>,
}

impl AccessKey {
    /// Creates the key from the user and the groups that the cluster receives.
    pub const fn new(target: Target, user: String, groups: Vec<String>) -> Self {
        Self {
            target,
            user,
            groups,
        }
    }

    /// Returns the cluster.
    pub const fn target(&self) -> &Target {
        &self.target
    }
}

impl Proxy {
    /// Authenticates the caller of a request and checks its permit, without sending the request.
    /// The result is valid at the time of the call, so that callers repeat the check.
    pub async fn access_key(&self, head: &request::Parts) -> Result<AccessKey, Status> {
        let key = self.find_access_key(head).await;
        key.map_err(Refusal::into_status)
    }

    /// Returns the target of a cluster's name if the identity has a permit for the cluster, without
    /// a request. The result is valid at the time of the call, so that callers repeat the check.
    pub fn permitted_target(&self, identity: Arc<Identity>, name: &str) -> Option<Target> {
        let cluster = ClusterName::parse(name).ok()?;
        let (access, _) = self
            .permit(&Principal::User(identity), &cluster, name)
            .ok()?;
        Some(access.permit.target().clone())
    }

    async fn find_access_key(&self, head: &request::Parts) -> Result<AccessKey, Refusal> {
        let path = ClusterPath::parse(&head.uri)?;
        let from = networks::sender(&head.extensions);
        let principal = self.authenticator.principal(head.into(), from).await?;
        let name = match &path.cluster {
            ClusterName::Local => LOCAL_CLUSTER,
            ClusterName::Named(name) => name,
        };
        let (access, _) = self.permit(&principal, &path.cluster, name)?;
        let Holder::User { identity, .. } = access.permit.holder() else {
            return Err(Denied::OnlyTheHub.into());
        };
        let groups = identity.groups().iter().map(ToString::to_string);
        let (target, user) = (access.permit.target().clone(), identity.user().to_string());
        Ok(AccessKey::new(target, user, groups.collect()))
    }
}
