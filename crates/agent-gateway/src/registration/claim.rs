//! Key claims: one Secret per key on the hub. The server creates the Secret before it binds the key
//! to a Cluster.
//!
//! Object names are unique on the hub. If two registrations use the same key concurrently, only one
//! of them creates the claim. After a crash between claim and binding, the same Cluster can
//! register again. The caller searches the stores for a Cluster that is bound to the key without a
//! claim.
//!
//! The server deletes the claim of a key that the agent no longer has ([`release`]), and the hub's
//! garbage collector deletes a claim with its Cluster. A second Cluster can take over a claim only if
//! the first Cluster can no longer be bound to the key, see [`may_bind`]. Otherwise a concurrent
//! registration of the first Cluster could still bind the key.

use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA256, digest};
use drover_access::proof::PublicKey;
use drover_api::kinds::Cluster;
use k8s_openapi::api::core::v1::Secret;
use kube::{Resource as _, ResourceExt};

use super::decide::bound_key;
use drover_hub::secret::{Data, entry, secret};
use drover_hub::{Hub, HubError, call};

/// Name prefix of claims. `drover_access::admission::SERVERS_SECRETS` protects these Secrets.
const PREFIX: &str = "cluster-key-";
const KIND: &str = "management.drover.dev/cluster-key";
const UID: &str = "cluster-uid";
const NAME: &str = "cluster-name";
/// The bound key that the claimed key replaces. Empty for a registration.
const REPLACES: &str = "replaces";

/// The result of claiming a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// The claim belongs to this Cluster, so the caller can bind the key to the Cluster.
    Ours,
    /// A different Cluster is bound to the key, or can still be bound to the key.
    OfOther(String),
    /// A different writer changed the claim concurrently. The caller must retry.
    Changed,
}

/// Claims a key for a Cluster. Call this function before each binding of a key.
pub(super) async fn take(hub: &Hub, key: &PublicKey, cluster: &Cluster) -> Result<Claim, HubError> {
    let (api, name) = (hub.secrets(), name_of(&key.encode()));
    let mut claim = claim_of(&name, cluster);
    let writer = hub.secret_writer();
    match writer.create("claim a cluster's key", &claim).await {
        Ok(_) => {}
        Err(error) if error.is_conflict() => {
            let found = call("read the claim of a key", api.get_opt(&name)).await?;
            let Some(found) = found else {
                return Ok(Claim::Changed);
            };
            let holder = Holder {
                uid: text(&found, UID),
                name: text(&found, NAME),
                replaces: text(&found, REPLACES),
            };
            let is_ours = Some(&holder.uid) == cluster.uid().as_ref();
            if !is_ours && may_bind(hub, key, &holder).await? {
                return Ok(Claim::OfOther(holder.name));
            }
            if !is_ours || text(&claim, REPLACES) != holder.replaces {
                claim.metadata.resource_version = found.resource_version();
                match writer.replace("take a claim over", &claim).await {
                    Ok(_) => {}
                    Err(error) if error.is_conflict() || error.is_not_found() => {
                        return Ok(Claim::Changed);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Err(error) => return Err(error),
    }
    Ok(Claim::Ours)
}

/// Deletes the claim of a key that the agent of a Cluster no longer has.
pub(super) async fn release(
    hub: &Hub,
    public_key: &str,
    cluster: &Cluster,
) -> Result<(), HubError> {
    let name = name_of(public_key);
    let found = call("read the claim of a key", hub.secrets().get_opt(&name)).await?;
    let Some(claim) = found.filter(|claim| Some(text(claim, UID)) == cluster.uid()) else {
        return Ok(());
    };
    let writer = hub.secret_writer();
    writer
        .delete_if_present("delete the claim of a key", &claim)
        .await
}

/// The Cluster that created a claim.
struct Holder {
    uid: String,
    name: String,
    replaces: String,
}

/// Returns true if the holder of a claim is bound to the key, has no bound key yet, or has the key that
/// the claimed key replaces. A bound key changes only to a key whose claim names the bound key.
async fn may_bind(hub: &Hub, key: &PublicKey, holder: &Holder) -> Result<bool, HubError> {
    let found = call("read a cluster", hub.clusters().get_opt(&holder.name)).await?;
    let cluster = found.filter(|cluster| cluster.uid().as_ref() == Some(&holder.uid));
    let encoded = key.encode();
    let may = |bound: &String| *bound == encoded || *bound == holder.replaces;
    Ok(cluster.is_some_and(|cluster| bound_key(&cluster).is_none_or(may)))
}

/// Derives the claim's name from the public key, so that a key has at most one claim.
fn name_of(public_key: &str) -> String {
    let fingerprint = digest(&SHA256, public_key.as_bytes());
    let mut name = PREFIX.to_owned();
    for byte in fingerprint.as_ref() {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

fn claim_of(name: &str, cluster: &Cluster) -> Secret {
    let data = Data::from([
        (
            UID.to_owned(),
            cluster.uid().unwrap_or_default().into_bytes(),
        ),
        (NAME.to_owned(), cluster.name_any().into_bytes()),
        (
            REPLACES.to_owned(),
            bound_key(cluster).cloned().unwrap_or_default().into_bytes(),
        ),
    ]);
    let mut claim = secret(name, KIND, data);
    claim.metadata.owner_references = cluster.owner_ref(&()).map(|owner| vec![owner]);
    claim
}

fn text(claim: &Secret, key: &str) -> String {
    let bytes = entry(claim, key).unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
