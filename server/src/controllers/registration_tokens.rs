//! The end of registration tokens: expired, used, or of a Cluster that is gone.

use std::time::Duration;

use drover_api::kinds::{Cluster, ClusterRegistrationToken};
use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::DeleteParams;

use drover_hub::{Hub, call};

/// Between two sweeps.
const EVERY: Duration = Duration::from_mins(1);

/// Whether a token has no use any more; `cluster` is the one with its UID.
pub fn is_spent(
    token: &ClusterRegistrationToken,
    cluster: Option<&Cluster>,
    now: Timestamp,
) -> bool {
    let Some(cluster) = cluster else { return true };
    let registration = cluster
        .status
        .as_ref()
        .and_then(|status| status.registration.as_ref());
    now >= token.spec.expires_at.0
        || registration.is_some_and(|registration| registration.token_id == token.name_any())
}

/// Deletes spent tokens, again and again.
pub(super) async fn purge(hub: &Hub) {
    loop {
        tokio::time::sleep(EVERY).await;
        if hub.stores().health().is_trusted() {
            sweep(hub).await;
        }
    }
}

async fn sweep(hub: &Hub) {
    let now = Timestamp::now();
    for token in hub.stores().registration_tokens.all() {
        let cluster = hub
            .stores()
            .clusters
            .by_uid(token.spec.cluster_uid.as_str());
        if !is_spent(&token, cluster.as_deref(), now) {
            continue;
        }
        let (api, params) = (hub.registration_tokens(), DeleteParams::default());
        let name = token.name_any();
        let deleted = api.delete(&name, &params);
        if let Err(error) = call("delete a spent registration token", deleted).await
            && !error.is_not_found()
        {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "spent registration tokens stay"
            );
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use drover_api::ids::ClusterUid;
    use drover_api::kinds::{
        ClusterRegistrationTokenSpec, ClusterSpec, ClusterStatus, Registration,
    };
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    #[test]
    fn a_token_is_spent_when_it_expired_registered_or_lost_its_cluster() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let token = ClusterRegistrationToken::new(
            "t",
            ClusterRegistrationTokenSpec {
                cluster_name: "shop".into(),
                cluster_uid: ClusterUid::new("u"),
                hash: String::new(),
                expires_at: Time(at(100)),
            },
        );
        let cluster = |token_id: Option<&str>| {
            let mut cluster = Cluster::new("shop", ClusterSpec::default());
            cluster.status = token_id.map(|id| ClusterStatus {
                registration: Some(Registration {
                    public_key: "k".into(),
                    bound_at: Time(at(0)),
                    token_id: id.into(),
                }),
                ..Default::default()
            });
            cluster
        };
        for (cluster, now, spent) in [
            (Some(cluster(None)), 99, false),
            (Some(cluster(None)), 100, true),
            (Some(cluster(Some("t"))), 0, true),
            (Some(cluster(Some("other"))), 0, false),
            (None, 0, true),
        ] {
            assert_eq!(
                is_spent(&token, cluster.as_ref(), at(now)),
                spent,
                "{cluster:?} {now}"
            );
        }
    }
}
