//! The Lease of the replica that deploys bundles.
//!
//! A replica takes the Lease if no other replica has it, or if the holder has not renewed it for
//! [`DURATION`] on this replica's clock. Each write names the resource version, so that only one replica
//! can take the Lease.

use std::time::Duration;

use drover_api::group::DEPLOYER_LEASE;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease as Object, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt as _};
use tokio::time::Instant;

/// Time after which another replica can take a Lease that is not renewed.
const DURATION: Duration = Duration::from_secs(30);
/// Interval of renewals, and of attempts to take the Lease.
const INTERVAL: Duration = Duration::from_secs(8);
/// Time after the last renewal at which a replica stops to deploy.
const DEADLINE: Duration = Duration::from_secs(22);
/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The time of the last renewal.
pub(super) struct Term(Instant);

/// A held or free Lease, as a replica last saw it.
struct Seen {
    version: String,
    since: Instant,
}

/// The Lease, and the name of this replica.
pub(super) struct Lease {
    api: Api<Object>,
    replica: String,
}

impl Lease {
    pub(super) fn new(client: Client, namespace: &str, replica: String) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            replica,
        }
    }

    /// Waits until this replica has the Lease.
    pub(super) async fn acquire(&self) -> Term {
        let mut seen: Option<Seen> = None;
        loop {
            let begin = Instant::now();
            match self.read().await {
                Ok(None) if self.create().await => return Term(begin),
                Ok(Some(lease)) => {
                    let version = lease.resource_version().unwrap_or_default();
                    if seen.as_ref().is_none_or(|seen| seen.version != version) {
                        seen = Some(Seen {
                            version,
                            since: begin,
                        });
                    }
                    let is_expired = seen
                        .as_ref()
                        .is_some_and(|it| it.since.elapsed() > DURATION);
                    if (self.may_take(&lease) || is_expired) && self.write(lease).await {
                        return Term(begin);
                    }
                }
                Ok(None) => {}
                Err(error) => tracing::debug!(error, "cannot read the Lease of the deployer"),
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Renews the Lease until another replica has it, or until no renewal succeeded for some time.
    pub(super) async fn renew(&self, term: &Term) {
        let mut renewed = term.0;
        while renewed.elapsed() < DEADLINE {
            tokio::time::sleep(INTERVAL).await;
            let begin = Instant::now();
            match self.read().await {
                Ok(Some(lease)) if holder(&lease) == Some(&self.replica) => {
                    if self.write(lease).await {
                        renewed = begin;
                    }
                }
                Ok(_) => return,
                Err(error) => tracing::debug!(error, "cannot renew the Lease of the deployer"),
            }
        }
    }

    /// Gives the Lease to another replica.
    pub(super) async fn release(&self) {
        if let Ok(Some(mut lease)) = self.read().await
            && holder(&lease) == Some(&self.replica)
        {
            lease.spec.get_or_insert_default().holder_identity = None;
            self.replace(&lease).await;
        }
    }

    fn may_take(&self, lease: &Object) -> bool {
        holder(lease).is_none_or(|holder| *holder == self.replica)
    }

    async fn read(&self) -> Result<Option<Object>, String> {
        match tokio::time::timeout(TIMEOUT, self.api.get_opt(DEPLOYER_LEASE)).await {
            Ok(found) => found.map_err(|error| error.to_string()),
            Err(_) => Err("no response".to_owned()),
        }
    }

    async fn create(&self) -> bool {
        let lease = Object {
            metadata: ObjectMeta {
                name: Some(DEPLOYER_LEASE.to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(self.spec(None)),
        };
        let params = PostParams::default();
        let created = self.api.create(&params, &lease);
        matches!(tokio::time::timeout(TIMEOUT, created).await, Ok(Ok(_)))
    }

    async fn write(&self, mut lease: Object) -> bool {
        lease.spec = Some(self.spec(lease.spec.take()));
        self.replace(&lease).await
    }

    async fn replace(&self, lease: &Object) -> bool {
        let params = PostParams::default();
        let replaced = self.api.replace(DEPLOYER_LEASE, &params, lease);
        matches!(tokio::time::timeout(TIMEOUT, replaced).await, Ok(Ok(_)))
    }

    fn spec(&self, before: Option<LeaseSpec>) -> LeaseSpec {
        let before = before.unwrap_or_default();
        let is_new = before.holder_identity.as_ref() != Some(&self.replica);
        let transitions = before.lease_transitions.unwrap_or_default() + i32::from(is_new);
        let now = MicroTime(Timestamp::now());
        LeaseSpec {
            holder_identity: Some(self.replica.clone()),
            lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
            lease_transitions: Some(transitions),
            acquire_time: if is_new {
                Some(now.clone())
            } else {
                before.acquire_time.clone()
            },
            renew_time: Some(now),
            ..before
        }
    }
}

fn holder(lease: &Object) -> Option<&String> {
    let holder = lease.spec.as_ref()?.holder_identity.as_ref();
    holder.filter(|holder| !holder.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: Option<&str>) -> Object {
        Object {
            spec: Some(LeaseSpec {
                holder_identity: holder.map(str::to_owned),
                lease_transitions: Some(3),
                ..LeaseSpec::default()
            }),
            ..Object::default()
        }
    }

    #[tokio::test]
    async fn replica_takes_only_a_free_lease_and_its_own_lease() {
        let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("no hub"))
        });
        let own = Lease::new(
            Client::new(service, "default"),
            "drover-agent",
            "a".to_owned(),
        );
        for (holder, may_take, transitions) in [
            (None, true, 4),
            (Some(""), true, 4),
            (Some("a"), true, 3),
            (Some("b"), false, 4),
        ] {
            let lease = lease(holder);
            assert_eq!(own.may_take(&lease), may_take, "{holder:?}");
            let spec = own.spec(lease.spec);
            assert_eq!(spec.lease_transitions, Some(transitions), "{holder:?}");
            assert_eq!(spec.holder_identity.as_deref(), Some("a"));
        }
    }
}
