//! `kubectl --as` through Drover: acting as another of Drover's people.
//!
//! Both sides must allow it. The hub's side: a role of the person's there lets them impersonate
//! users; it is checked before any name is resolved. The cluster's side:
//! its own RBAC, asked with a SubjectAccessReview about the person's name there, because the
//! account that carries the request may impersonate everybody who has a binding (CVE-2026-44945).
//!
//! Only names that Drover itself gives can be taken: a user by the name that `drover user list`
//! shows or by `drover:user:<uid>`, groups as `drover:<provider>:<id>`. An agent refuses every
//! other name, and so no `system:` name, node or service account can be reached this way. To see
//! what a service account may do, ask `kubectl auth can-i --list` on the cluster itself.

use std::time::Duration;

use drover_access::grants::Who;
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

use super::Road;
use super::open::may_be_acted_as;
use super::refusal::Refusal;
use drover_api::client_error::told;

/// How long a cluster may take for all the questions together.
const PATIENCE: Duration = Duration::from_secs(5);

impl Road {
    /// The identity that the request asks to act as, once the hub and the cluster allow it.
    pub(super) async fn acting_as(
        &self,
        headers: &HeaderMap,
        permit: &Permit,
        cluster: &str,
    ) -> Result<Option<KubernetesIdentity>, Refusal> {
        if !impersonation::is_requested(headers) {
            return Ok(None);
        }
        // Before any name is resolved: a caller without the right gets one answer for every name.
        let Holder::Person { identity: who, .. } = permit.holder() else {
            return Err(Refusal::MayNotActAs);
        };
        let holder = Who {
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
        let Some(asked) = impersonation::requested(headers, resolve)? else {
            return Ok(None);
        };
        // Asked for by UID, a user must be there as well.
        let user = users.by_uid(asked.user().uid().as_str());
        if !user.is_some_and(|user| may_be_acted_as(&user)) {
            let name = asked.user().to_string();
            return Err(ImpersonationError::UnknownUser(name).into());
        }
        let client = match permit.target() {
            Target::Hub => self.hub.client(),
            Target::Cluster(uid) => self.tunnels.client(uid, Lane::Controller),
        };
        // Boxed: the future of each request would have room for it.
        let asking = Box::pin(cluster_allows(client, who, &asked, cluster));
        tokio::time::timeout(PATIENCE, asking)
            .await
            .map_err(|_| Refusal::ActingAsUnknown(cluster.to_owned()))??;
        Ok(Some(asked))
    }
}

/// Asks the cluster whether `who` may impersonate the user and each group of `asked`.
async fn cluster_allows(
    client: Client,
    who: &KubernetesIdentity,
    asked: &KubernetesIdentity,
    cluster: &str,
) -> Result<(), Refusal> {
    let reviews: Api<SubjectAccessReview> = Api::all(client);
    let user = std::iter::once(("users", asked.user().as_str()));
    let groups = asked
        .groups()
        .iter()
        .map(|group| ("groups", group.as_str()));
    for (resource, name) in user.chain(groups) {
        let review = review(who, resource, name);
        let answer = reviews.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| {
            let error = told(error);
            tracing::warn!(
                cluster.name = cluster,
                error = &error as &dyn std::error::Error,
                "a cluster could not be asked about an impersonation"
            );
            Refusal::ActingAsUnknown(cluster.to_owned())
        })?;
        if !answer.status.is_some_and(|status| status.allowed) {
            return Err(Refusal::ClusterForbidsActingAs {
                cluster: cluster.to_owned(),
                who: who.user().to_string(),
                what: format!("{} {name:?}", resource.trim_end_matches('s')),
            });
        }
    }
    Ok(())
}

fn review(who: &KubernetesIdentity, resource: &str, name: &str) -> SubjectAccessReview {
    let groups = who.groups().iter().map(ToString::to_string);
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(who.user().to_string()),
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
