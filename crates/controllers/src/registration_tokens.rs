//! Deletes registration tokens that expired, were used, or have no Cluster.

use std::time::Duration;

use drover_api::kinds::{Cluster, ClusterRegistrationToken};
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use jiff::Timestamp;
use kube::ResourceExt as _;

use drover_hub::{Hub, HubError};

/// Time between two deletions of unusable tokens.
const INTERVAL: Duration = Duration::from_mins(1);

/// Reports whether an agent can never use the token. `cluster` is the Cluster with the UID in the
/// token.
pub(crate) fn is_spent(
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

/// The reconciler that deletes unusable registration tokens.
struct RegistrationTokens {
    hub: Hub,
}

impl Reconciler for RegistrationTokens {
    type Key = ();
    type Error = HubError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, HubError> {
        if self.hub.stores().health().is_trusted() {
            purge(&self.hub).await?;
        }
        Ok(Action::requeue(INTERVAL))
    }
}

/// Runs the controller of registration tokens.
pub(super) async fn run(hub: &Hub, runtime: &Runtime) {
    let options = Options::new("registration-tokens");
    let reconciler = RegistrationTokens { hub: hub.clone() };
    runtime.run_single(options, reconciler, []).await;
}

async fn purge(hub: &Hub) -> Result<(), HubError> {
    let now = Timestamp::now();
    let tokens = &hub.stores().registration_tokens;
    let writer = hub.writer::<ClusterRegistrationToken>();
    for token in tokens.all() {
        let cluster = hub
            .stores()
            .clusters
            .by_uid(token.spec.cluster_uid.as_str());
        if !is_spent(&token, cluster.as_deref(), now) {
            continue;
        }
        let deleting = writer.delete_if_present("delete a spent registration token", &token);
        deleting.await?;
    }
    Ok(())
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
    fn registration_token_is_deleted_after_expiry_or_registration_or_cluster_deletion() {
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
                    previous_key: None,
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
