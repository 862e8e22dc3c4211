//! Computes the tokens of a cluster's authorized endpoint.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use drover_access::endpoint::entry;
use drover_access::grants::{Grants, RightsHolder};
use drover_access::identity::Principal;
use drover_access::names::UserName;
use drover_access::permit::{self, Holder, Target};
use drover_api::endpoint::EndpointToken;
use drover_api::ids::ClusterUid;
use drover_api::kinds::{Token, TokenPurpose};
use drover_hub::Stores;
use drover_identity::authenticator::token_identity;
use jiff::Timestamp;

use super::written_digest;
use crate::Controllers;
use crate::managed::ManagedCluster;

/// Returns the tokens that node agents of a cluster accept, ordered by ID: the tokens that are limited to
/// this cluster and that the proxy accepts for this cluster.
pub(super) fn desired(cluster: &ClusterUid, stores: &Stores, now: Timestamp) -> Vec<EndpointToken> {
    let (tokens, _) = stores.tokens.page(None, usize::MAX, |token| {
        scope(token).is_some_and(|scope| scope == cluster)
    });
    accepted(cluster, &tokens, stores, &stores.grants.fresh(stores), now)
}

fn accepted(
    cluster: &ClusterUid,
    tokens: &[Arc<Token>],
    stores: &Stores,
    grants: &Grants,
    now: Timestamp,
) -> Vec<EndpointToken> {
    let target = Target::Cluster(cluster.clone());
    let accepted = tokens.iter().filter_map(|token| {
        let (identity, until) = token_identity(token, stores, now).ok()?;
        let identity = Arc::new(identity);
        let principal = Principal::User(Arc::clone(&identity));
        let permit = permit::decide(&principal, &target, grants, now).ok()?;
        match permit.holder() {
            Holder::User {
                identity: at_cluster,
                ..
            } => {
                let user = UserName::of(&identity.user_uid);
                let holder = RightsHolder {
                    user: &user,
                    groups: &identity.groups,
                };
                let is_safe = !grants.may_impersonate_system_users(holder, cluster);
                is_safe.then(|| entry(&identity, at_cluster, &token.spec.hash, until))
            }
            Holder::Account(_) => None,
        }
    });
    accepted.collect()
}

/// Returns the cluster to which a token is limited, if node agents can accept the token. Tokens of
/// `drover credential` live for a few minutes, and kubectl gets them from the server.
fn scope(token: &Token) -> Option<&ClusterUid> {
    let scope = token.spec.cluster.as_ref()?;
    let accepted = matches!(
        token.spec.purpose,
        TokenPurpose::Api | TokenPurpose::Kubeconfig
    );
    accepted.then_some(&scope.uid)
}

/// Returns a digest of the tokens, for comparisons within one process.
pub(super) fn digest(tokens: &[EndpointToken]) -> u64 {
    let mut hasher = DefaultHasher::new();
    tokens.hash(&mut hasher);
    hasher.finish()
}

/// Returns the clusters with an enabled endpoint whose tokens have changed since the last write.
pub(crate) fn outdated(controllers: &Controllers) -> Vec<ClusterUid> {
    let is_enabled = |managed: &ManagedCluster| {
        let cluster = managed.object();
        cluster.is_some_and(|cluster| cluster.spec.authorized_endpoint.enabled)
    };
    let mut enabled = controllers.uids(is_enabled);
    if enabled.is_empty() {
        return enabled;
    }
    let (stores, now) = (controllers.hub.stores(), Timestamp::now());
    let (tokens, _) = stores
        .tokens
        .page(None, usize::MAX, |token| scope(token).is_some());
    let mut by_cluster: HashMap<ClusterUid, Vec<Arc<Token>>> = HashMap::new();
    for token in tokens {
        if let Some(uid) = scope(&token).cloned() {
            by_cluster.entry(uid).or_default().push(token);
        }
    }
    let grants = stores.grants.current();
    enabled.retain(|uid| {
        let tokens = by_cluster.remove(uid).unwrap_or_default();
        let wanted = digest(&accepted(uid, &tokens, stores, &grants, now));
        let managed = controllers.cluster(uid);
        managed.is_some_and(|managed| written_digest(&managed) != Some(wanted))
    });
    enabled
}

#[cfg(test)]
mod tests;
