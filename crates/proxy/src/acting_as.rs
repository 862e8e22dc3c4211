//! User impersonation (`kubectl --as`) through Drover.
//!
//! The hub and the cluster must both allow the impersonation. On the hub, a role of the user must
//! grant the verb `impersonate`. Drover checks the verb before it resolves any name. On the
//! cluster, Drover sends a `SubjectAccessReview` for the user's name on the cluster. This review is
//! necessary, because the account that sends the request may impersonate every user with a binding
//! (CVE-2026-44945).
//!
//! Only names that Drover assigns can be impersonated. A user is impersonated by the name in
//! `drover user list` or by `drover:user:<uid>`, and a group by `drover:<provider>:<id>`. An agent
//! refuses all other names, for example `system:` names, nodes and service accounts. To check the
//! permissions of a service account, run `kubectl auth can-i --list` on the cluster itself.

use std::time::Duration;

use drover_access::grants::RightsHolder;
use drover_access::impersonation::{self, ImpersonationError};
use drover_access::names::{AUTHENTICATED, KubernetesIdentity};
use drover_access::permit::{Holder, Permit, Target};
use drover_api::agent::Lane;
use drover_api::ids::UserUid;
use http::HeaderMap;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

use super::Proxy;
use super::open::may_be_acted_as;
use super::refusal::Refusal;
use drover_api::client_error::shorten_parse_error;

/// Time limit for all access reviews of one request, in total.
const TIMEOUT: Duration = Duration::from_secs(5);

impl Proxy {
    /// Returns the requested identity after the hub and the cluster have allowed the impersonation.
    pub(super) async fn acting_as(
        &self,
        headers: &HeaderMap,
        permit: &Permit,
        cluster: &str,
    ) -> Result<Option<KubernetesIdentity>, Refusal> {
        if !impersonation::is_requested(headers) {
            return Ok(None);
        }
        // Check the permission before resolving names, so that a caller without the permission
        // receives the same error for every name.
        let Holder::User { identity: who, .. } = permit.holder() else {
            return Err(Refusal::MayNotActAs);
        };
        let holder = RightsHolder {
            user: who.user(),
            groups: who.groups(),
        };
        let grants = self.hub.stores().grants.current();
        if !grants.may_act_as_others(holder, permit.target()) {
            return Err(Refusal::MayNotActAs);
        }
        let users = &self.hub.stores().users;
        let resolve = |name: &str| {
            let user = users.by_name(name).filter(|user| may_be_acted_as(user))?;
            user.metadata.uid.clone().map(UserUid::new)
        };
        let Some(requested_value) = impersonation::requested(headers, resolve)? else {
            return Ok(None);
        };
        // A user that the header names by UID must also exist.
        let user = users.by_uid(requested_value.user().uid().as_str());
        if !user.is_some_and(|user| may_be_acted_as(&user)) {
            let name = requested_value.user().to_string();
            return Err(ImpersonationError::UnknownUser(name).into());
        }
        let client = match permit.target() {
            Target::Hub => self.hub.client(),
            Target::Cluster(uid) => self.tunnels.client(uid, Lane::Controller),
        };
        // Boxed, because otherwise the future of every request reserves memory for the reviews.
        let asking = Box::pin(cluster_allows(client, who, &requested_value, cluster));
        tokio::time::timeout(TIMEOUT, asking)
            .await
            .map_err(|_| Refusal::ActingAsUnknown(cluster.to_owned()))??;
        Ok(Some(requested_value))
    }
}

/// Sends a `SubjectAccessReview` to the cluster for the user and each group of `requested`. Returns an
/// error unless the cluster allows `identity` to impersonate the user and all groups.
async fn cluster_allows(
    client: Client,
    identity: &KubernetesIdentity,
    requested: &KubernetesIdentity,
    cluster: &str,
) -> Result<(), Refusal> {
    let reviews: Api<SubjectAccessReview> = Api::all(client);
    let user = std::iter::once(("users", requested.user().as_str()));
    let groups = requested
        .groups()
        .iter()
        .map(|group| ("groups", group.as_str()));
    for (resource, name) in user.chain(groups) {
        let review = review(identity, resource, name);
        let answer = reviews.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| {
            let error = shorten_parse_error(error);
            tracing::warn!(
                cluster.name = cluster,
                error = &error as &dyn std::error::Error,
                "failed to check the permission to impersonate on a cluster"
            );
            Refusal::ActingAsUnknown(cluster.to_owned())
        })?;
        if !answer.status.is_some_and(|status| status.allowed) {
            return Err(Refusal::ClusterForbidsActingAs {
                cluster: cluster.to_owned(),
                user: identity.user().to_string(),
                target: format!("{} {name:?}", resource.trim_end_matches('s')),
            });
        }
    }
    Ok(())
}

fn review(identity: &KubernetesIdentity, resource: &str, name: &str) -> SubjectAccessReview {
    let groups = identity.groups().iter().map(ToString::to_string);
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(identity.user().to_string()),
            groups: Some(groups.chain([AUTHENTICATED.to_owned()]).collect()),
            resource_attributes: Some(ResourceAttributes {
                verb: Some("impersonate".to_owned()),
                resource: Some(resource.to_owned()),
                version: Some("v1".to_owned()),
                name: Some(name.to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}
