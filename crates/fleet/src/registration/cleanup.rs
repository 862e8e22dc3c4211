//! Deletes the Secrets with credentials that agents had time to read.

use std::time::Duration;

use drover_hub::{HubError, call};
use drover_reconcile::{Action, Attempt, Reconciler};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};

use super::CREDENTIAL;
use super::credentials::delete_credential;
use crate::namespaces::REGISTRATION_NAMESPACE;

/// Time after which a Secret with a credential is deleted. Fleet's agent waits 30 minutes for it.
const LIFETIME: SignedDuration = SignedDuration::from_mins(40);
/// Interval of the search for expired Secrets.
const INTERVAL: Duration = Duration::from_mins(1);

/// The controller that deletes expired Secrets.
pub(super) struct Cleanup {
    pub(super) client: Client,
}

impl Reconciler for Cleanup {
    type Key = ();
    type Error = HubError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, HubError> {
        let secrets = Api::<Secret>::namespaced(self.client.clone(), REGISTRATION_NAMESPACE);
        let params = ListParams::default().labels(CREDENTIAL);
        // The response contains no data of the Secrets.
        let listing = secrets.list_metadata(&params);
        let listed = call("list the credentials of Fleet agents", listing).await?;
        let now = Timestamp::now();
        for secret in listed {
            let created = secret.metadata.creation_timestamp.as_ref();
            if created.is_some_and(|created| is_expired(created.0, now)) {
                delete_credential(&self.client, &secret.name_any()).await?;
            }
        }
        Ok(Action::requeue(INTERVAL))
    }
}

fn is_expired(created: Timestamp, now: Timestamp) -> bool {
    now.duration_since(created) >= LIFETIME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credential_expires_after_40_minutes() {
        let created = Timestamp::UNIX_EPOCH;
        let after = |seconds| is_expired(created, created + SignedDuration::from_secs(seconds));
        assert!(!after(40 * 60 - 1));
        assert!(after(40 * 60));
    }
}
