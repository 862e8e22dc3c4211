//! Aborts requests whose permit was withdrawn, within seconds after the change on the hub.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use drover_access::grants::{Grants, Provenance, RightsHolder};
use drover_access::names::UserName;
use drover_access::permit::{Holder, Permit, Target};
use drover_api::ids::UserUid;
use drover_api::kinds::{Token, User};
use drover_reconcile::{Action, Attempt, Backoff, Options, Reconciler, Runtime};
use jiff::Timestamp;
use kube::ResourceExt as _;
use tokio_util::sync::CancellationToken;

use super::{AbortReason, OpenStreams};
use crate::open::in_flight::InFlightRequest;
use drover_audit::Audit;
use drover_hub::Stores;
use drover_hub::stores::groups::groups_of;
use drover_hub::stores::identity_status;
use drover_identity::accounts::TokenValidity;
use drover_identity::{Accounts, Authenticator, LastUse};

/// Interval of checks while the hub's state does not change. These checks detect expired tokens.
const INTERVAL: Duration = Duration::from_secs(1);
/// Delay between a change of the hub's state and the check. Several changes in quick succession
/// cause a single check.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Duration after the start of a request during which the stores may lack the request's token. The
/// server reads a new token from the hub before the hub's watch delivers the token. The sum of this
/// duration and the check interval is well below the documented limit of five seconds.
const NEW_TOKEN_GRACE: Duration = Duration::from_secs(2);

/// Time limit of each step of the shutdown.
const SHUTDOWN_STEP_TIMEOUT: Duration = Duration::from_secs(3);

/// The controller that aborts each request in flight when its permit becomes invalid.
struct OpenRequests {
    open: OpenStreams,
    stores: Stores,
    authenticator: Authenticator,
}

impl Reconciler for OpenRequests {
    type Key = ();
    type Error = Infallible;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, Infallible> {
        self.abort_withdrawn();
        Ok(Action::requeue(INTERVAL))
    }
}

impl OpenRequests {
    fn abort_withdrawn(&self) {
        let stores = &self.stores;
        let (accounts, last_use) = (self.authenticator.accounts(), self.authenticator.last_use());
        let now = Timestamp::now();
        let trusted = stores.health().is_trusted();
        let grants = stores.grants.fresh(stores);
        let aborted = self.open.abort_if(|permit, in_flight| {
            if trusted {
                let validity = withdrawn(permit, (stores, &grants), accounts, last_use, now);
                abort_reason(&validity, in_flight).or_else(|| acted_as_gone(in_flight, stores))
            } else {
                Some(AbortReason::HubUnreachable)
            }
        });
        if aborted > 0 {
            tracing::info!(
                requests = aborted,
                "aborted open requests: the permits of the requests were revoked"
            );
        }
    }
}

/// Runs the controller. The controller checks every request in flight after each change of the
/// hub's state, and every second.
pub async fn run_revocation(
    open: OpenStreams,
    stores: Stores,
    authenticator: Authenticator,
    runtime: Runtime,
) {
    let changed = stores.changed();
    let reconciler = OpenRequests {
        open,
        stores,
        authenticator,
    };
    let options = Options {
        cooldown: DEBOUNCE,
        backoff: Backoff::new(INTERVAL, INTERVAL),
        ..Options::new("revocation")
    };
    let runtime = runtime.in_every_replica();
    runtime.run_single(options, reconciler, [changed]).await;
}

/// Runs the shutdown after `stop` is cancelled. Waits briefly for requests in flight, and aborts
/// the remaining requests. Waits until the audit log has written all records.
pub async fn shut_down(open: OpenStreams, audit: Audit, stop: CancellationToken) {
    stop.cancelled().await;
    let all_ended = async || {
        while !open.is_empty() {
            tokio::time::sleep(DEBOUNCE).await;
        }
    };
    if tokio::time::timeout(SHUTDOWN_STEP_TIMEOUT, all_ended())
        .await
        .is_err()
    {
        let aborted = open.abort_if(|_, _| Some(AbortReason::ServerShutdown));
        tracing::info!(
            requests = aborted,
            "aborted open requests: the server is shutting down"
        );
        let _ = tokio::time::timeout(SHUTDOWN_STEP_TIMEOUT, all_ended()).await;
    }
    if tokio::time::timeout(SHUTDOWN_STEP_TIMEOUT, audit.flush())
        .await
        .is_err()
    {
        tracing::error!("failed to write the last audit records before the shutdown deadline");
    }
}

/// The validity of a permit according to the stores.
enum PermitValidity {
    Valid,
    Revoked(AbortReason),
    /// An object that the permit requires is missing. The object was deleted, or the watch has not
    /// delivered the object yet.
    Missing(AbortReason),
}

/// Returns the reason for aborting the request. Returns `None` while its permit is valid, or while
/// a new token may not have reached the stores.
fn abort_reason(validity: &PermitValidity, in_flight: &InFlightRequest) -> Option<AbortReason> {
    match validity {
        PermitValidity::Valid => {
            in_flight.seen_in_memory();
            None
        }
        PermitValidity::Revoked(reason) => Some(*reason),
        PermitValidity::Missing(reason) => {
            let new = !in_flight.was_in_memory() && in_flight.opened().elapsed() < NEW_TOKEN_GRACE;
            (!new).then_some(*reason)
        }
    }
}

/// Returns a reason for aborting the request if the impersonated user is disabled or deleted. The
/// stores contained the user at the start of the request.
fn acted_as_gone(in_flight: &InFlightRequest, stores: &Stores) -> Option<AbortReason> {
    let user = stores.users.by_uid(in_flight.acting()?.as_str());
    let there = user.is_some_and(|user| may_be_acted_as(&user));
    (!there).then_some(AbortReason::ActedAsUserDisabled)
}

/// Returns true if the user is enabled and is not being deleted. Only such a user can be
/// impersonated.
pub(crate) fn may_be_acted_as(user: &User) -> bool {
    user.spec.enabled && user.metadata.deletion_timestamp.is_none()
}

/// Returns true if the stores contain all objects that a permit requires.
pub(crate) fn is_in_memory(permit: &Permit, stores: &Stores, now: Timestamp) -> bool {
    match permit.holder() {
        Holder::User { user, token_id, .. } => {
            let token = stores.tokens.by_name(token_id);
            let standing = valid_person(user, token.as_deref(), stores, now);
            standing.is_ok()
        }
        // The hub validated the token of the account, so the stores need not contain the token.
        Holder::Account(_) => true,
    }
}

fn withdrawn(
    permit: &Permit,
    (stores, grants): (&Stores, &Grants),
    accounts: &Accounts,
    last_use: &LastUse,
    now: Timestamp,
) -> PermitValidity {
    if now >= permit.expires_at() {
        return PermitValidity::Revoked(AbortReason::TokenExpired);
    }
    let right = match permit.holder() {
        Holder::User {
            user,
            token_id,
            provenance,
            ..
        } => {
            let token = stores.tokens.by_name(token_id);
            // An open request counts as use of a session. The user interface displays the last use.
            if let Some(token) = token.as_deref().filter(|t| t.spec.idle_seconds.is_some()) {
                last_use.record(token, now);
            }
            match valid_person(user, token.as_deref(), stores, now) {
                Ok(person) => has_roles(&person, provenance, (stores, grants), now),
                Err(validity) => validity,
            }
        }
        Holder::Account(account) => match accounts.validity(account.token) {
            TokenValidity::Valid => PermitValidity::Valid,
            TokenValidity::Revoked => PermitValidity::Revoked(AbortReason::TokenRevoked),
            TokenValidity::Unknown => PermitValidity::Revoked(AbortReason::HubUnreachable),
        },
    };
    let (PermitValidity::Valid, Target::Cluster(uid)) = (&right, permit.target()) else {
        return right;
    };
    let cluster = stores.clusters.by_uid(uid.as_str());
    if cluster.is_some_and(|cluster| cluster.metadata.deletion_timestamp.is_none()) {
        PermitValidity::Valid
    } else {
        PermitValidity::Revoked(AbortReason::ClusterDeleted)
    }
}

/// Returns the user of a token, if the token is valid and the user is enabled.
fn valid_person(
    user: &UserUid,
    token: Option<&Token>,
    stores: &Stores,
    now: Timestamp,
) -> Result<Arc<User>, PermitValidity> {
    let token = match token {
        None => return Err(PermitValidity::Missing(AbortReason::TokenRevoked)),
        // A token that was recreated under the same ID is a different token.
        Some(token)
            if token.metadata.deletion_timestamp.is_some() || token.spec.user_uid != *user =>
        {
            return Err(PermitValidity::Revoked(AbortReason::TokenRevoked));
        }
        Some(token) => token,
    };
    match stores.users.by_uid(user.as_str()) {
        None => Err(PermitValidity::Missing(AbortReason::UserDisabled)),
        Some(user) if !user.spec.enabled || user.metadata.deletion_timestamp.is_some() => {
            Err(PermitValidity::Revoked(AbortReason::UserDisabled))
        }
        Some(user) => match identity_status::check_token(token, &user, stores, now) {
            Ok(()) => Ok(user),
            Err(_) => Err(PermitValidity::Revoked(AbortReason::ProviderSessionEnded)),
        },
    }
}

/// Returns true if the user still has every role of the permit.
fn has_roles(
    person: &User,
    provenance: &Provenance,
    (stores, grants): (&Stores, &Grants),
    now: Timestamp,
) -> PermitValidity {
    let user = UserName::of(&UserUid::new(person.uid().unwrap_or_default()));
    let groups = groups_of(person, stores, now);
    let holder = RightsHolder {
        user: &user,
        groups: &groups,
    };
    if grants.still_has(holder, provenance) {
        PermitValidity::Valid
    } else {
        PermitValidity::Revoked(AbortReason::AccessRemoved)
    }
}
