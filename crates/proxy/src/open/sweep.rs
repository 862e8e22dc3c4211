//! Ends requests whose permit is gone, within seconds of the hub saying so.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use drover_access::grants::{Basis, Grants, Who};
use drover_access::names::UserName;
use drover_access::permit::{Holder, Permit, Target};
use drover_api::ids::UserUid;
use drover_api::kinds::{Token, User};
use drover_reconcile::{Action, Attempt, Backoff, Options, Reconciler, Runtime};
use jiff::Timestamp;
use kube::ResourceExt as _;
use tokio_util::sync::CancellationToken;

use super::{CutReason, OpenStreams};
use crate::open::journey::Journey;
use drover_audit::Audit;
use drover_hub::Stores;
use drover_hub::stores::groups::groups_of;
use drover_hub::stores::standing;
use drover_identity::accounts::Standing;
use drover_identity::{Accounts, Authenticator, LastUse};

/// Time between looks without a change: tokens expire by the clock alone.
const EVERY: Duration = Duration::from_secs(1);
/// Changes often come in bursts; one look answers them all.
const GATHER: Duration = Duration::from_millis(100);
/// For so long after it was opened a request may stand on a token that memory does not hold yet:
/// a token just made is read from the hub before the hub's watch tells of it.
/// With the look's own second it stays well below the five that are promised.
const NEW: Duration = Duration::from_secs(2);

/// How long each step of the server's end may take.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Cuts requests under way whose permit does not hold any more.
struct OpenRequests {
    open: OpenStreams,
    stores: Stores,
    authenticator: Authenticator,
}

impl Reconciler for OpenRequests {
    type Key = ();
    type Error = Infallible;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, Infallible> {
        self.cut_withdrawn();
        Ok(Action::requeue(EVERY))
    }
}

impl OpenRequests {
    fn cut_withdrawn(&self) {
        let stores = &self.stores;
        let (accounts, last_use) = (self.authenticator.accounts(), self.authenticator.last_use());
        let now = Timestamp::now();
        let trusted = stores.health().is_trusted();
        let grants = stores.grants.fresh(stores);
        let cut = self.open.cut_if(|permit, journey| {
            if trusted {
                let verdict = withdrawn(permit, (stores, &grants), accounts, last_use, now);
                settled(&verdict, journey).or_else(|| acted_as_gone(journey, stores))
            } else {
                Some(CutReason::Untrusted)
            }
        });
        if cut > 0 {
            tracing::info!(requests = cut, "aborted open requests: permits withdrawn");
        }
    }
}

/// Runs the controller: it checks every request under way whenever the hub's state changes, and
/// every second.
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
        cooldown: GATHER,
        backoff: Backoff::new(EVERY, EVERY),
        ..Options::new("revocation")
    };
    let runtime = runtime.in_every_replica();
    runtime.run_single(options, reconciler, [changed]).await;
}

/// Once `stop` is cancelled, lets what is under way end by itself for a moment, cuts the rest, and
/// waits until all of it is in the audit log.
pub async fn end_in_order(open: OpenStreams, audit: Audit, stop: CancellationToken) {
    stop.cancelled().await;
    let all_ended = async || {
        while !open.is_empty() {
            tokio::time::sleep(GATHER).await;
        }
    };
    if tokio::time::timeout(LAST_WORDS, all_ended()).await.is_err() {
        let cut = open.cut_if(|_, _| Some(CutReason::ServerEnds));
        tracing::info!(requests = cut, "open requests were cut: the server ends");
        let _ = tokio::time::timeout(LAST_WORDS, all_ended()).await;
    }
    if tokio::time::timeout(LAST_WORDS, audit.flush())
        .await
        .is_err()
    {
        tracing::error!("the last records of the audit log could not be written in time");
    }
}

/// What memory says of a permit.
enum Verdict {
    Holds,
    Withdrawn(CutReason),
    /// Something it stands on is not there: gone, or so new that the hub has not told of it yet.
    Missing(CutReason),
}

/// Turns what memory says now into what is to be done, with what it said before.
fn settled(verdict: &Verdict, journey: &Journey) -> Option<CutReason> {
    match verdict {
        Verdict::Holds => {
            journey.seen_in_memory();
            None
        }
        Verdict::Withdrawn(reason) => Some(*reason),
        Verdict::Missing(reason) => {
            let new = !journey.was_in_memory() && journey.opened().elapsed() < NEW;
            (!new).then_some(*reason)
        }
    }
}

/// Whether the user whom a request acts as may not use Drover any more; memory held them when it
/// was opened.
fn acted_as_gone(journey: &Journey, stores: &Stores) -> Option<CutReason> {
    let user = stores.users.by_uid(journey.acting()?.as_str());
    let there = user.is_some_and(|user| may_be_acted_as(&user));
    (!there).then_some(CutReason::ActedAsGone)
}

/// Whether anybody may act as this user.
pub(crate) fn may_be_acted_as(user: &User) -> bool {
    user.spec.enabled && user.metadata.deletion_timestamp.is_none()
}

/// Whether memory holds what a permit stands on.
pub(crate) fn is_in_memory(permit: &Permit, stores: &Stores, now: Timestamp) -> bool {
    match permit.holder() {
        Holder::Person { user, token_id, .. } => {
            let token = stores.tokens.by_name(token_id);
            let standing = persons_standing(user, token.as_deref(), stores, now);
            standing.is_ok()
        }
        // Its token is in memory since the hub has judged it.
        Holder::Account(_) => true,
    }
}

fn withdrawn(
    permit: &Permit,
    (stores, grants): (&Stores, &Grants),
    accounts: &Accounts,
    last_use: &LastUse,
    now: Timestamp,
) -> Verdict {
    if now >= permit.expires_at() {
        return Verdict::Withdrawn(CutReason::TokenExpired);
    }
    let right = match permit.holder() {
        Holder::Person {
            user,
            token_id,
            basis,
            ..
        } => {
            let token = stores.tokens.by_name(token_id);
            // A session with something open is in use: a page shows it.
            if let Some(token) = token.as_deref().filter(|t| t.spec.idle_seconds.is_some()) {
                last_use.note(token);
            }
            match persons_standing(user, token.as_deref(), stores, now) {
                Ok(person) => persons_roles(&person, basis, (stores, grants), now),
                Err(verdict) => verdict,
            }
        }
        Holder::Account(account) => match accounts.standing(account.token) {
            Standing::Good => Verdict::Holds,
            Standing::Withdrawn => Verdict::Withdrawn(CutReason::TokenGone),
            Standing::Unsure => Verdict::Withdrawn(CutReason::Untrusted),
        },
    };
    let (Verdict::Holds, Target::Cluster(uid)) = (&right, permit.target()) else {
        return right;
    };
    let cluster = stores.clusters.by_uid(uid.as_str());
    if cluster.is_some_and(|cluster| cluster.metadata.deletion_timestamp.is_none()) {
        Verdict::Holds
    } else {
        Verdict::Withdrawn(CutReason::ClusterGone)
    }
}

/// The person, while their token holds and they can work.
fn persons_standing(
    user: &UserUid,
    token: Option<&Token>,
    stores: &Stores,
    now: Timestamp,
) -> Result<Arc<User>, Verdict> {
    let token = match token {
        None => return Err(Verdict::Missing(CutReason::TokenGone)),
        // Another token under the same id is another token.
        Some(token)
            if token.metadata.deletion_timestamp.is_some() || token.spec.user_uid != *user =>
        {
            return Err(Verdict::Withdrawn(CutReason::TokenGone));
        }
        Some(token) => token,
    };
    match stores.users.by_uid(user.as_str()) {
        None => Err(Verdict::Missing(CutReason::UserGone)),
        Some(user) if !user.spec.enabled || user.metadata.deletion_timestamp.is_some() => {
            Err(Verdict::Withdrawn(CutReason::UserGone))
        }
        Some(user) => match standing::of_token(token, &user, stores, now) {
            Ok(()) => Ok(user),
            Err(_) => Err(Verdict::Withdrawn(CutReason::ProviderFallen)),
        },
    }
}

/// Whether they still have every role that the permit stands on.
fn persons_roles(
    person: &User,
    basis: &Basis,
    (stores, grants): (&Stores, &Grants),
    now: Timestamp,
) -> Verdict {
    let user = UserName::of(&UserUid::new(person.uid().unwrap_or_default()));
    let groups = groups_of(person, stores, now);
    let who = Who {
        user: &user,
        groups: &groups,
    };
    if grants.still_has(who, basis) {
        Verdict::Holds
    } else {
        Verdict::Withdrawn(CutReason::RightGone)
    }
}
