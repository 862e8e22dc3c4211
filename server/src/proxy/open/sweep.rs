//! Ends requests whose permit is gone, within seconds of the hub saying so.

use std::time::Duration;

use drover_access::permit::{Permit, Target};
use jiff::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{CutReason, OpenStreams};
use crate::hub::Stores;

/// Time between looks without a change: tokens expire by the clock alone.
const EVERY: Duration = Duration::from_secs(1);
/// Changes often come in bursts; one look answers them all.
const GATHER: Duration = Duration::from_millis(100);
/// For so long after it was opened a request may stand on a token that memory does not hold yet:
/// a token just made is read from the hub before the hub's watch tells of it.
const NEW: Duration = Duration::from_secs(4);

/// Looks at every request under way whenever the hub's state changes, and every second, until
/// `stop`; those whose permit does not hold any more are cut.
pub async fn watch_permits(open: OpenStreams, stores: Stores, stop: CancellationToken) {
    let watching = async {
        let mut changed = stores.changed();
        loop {
            let now = Timestamp::now();
            let trusted = stores.health().is_trusted();
            let cut = open.cut_if(|permit, journey| {
                if trusted {
                    withdrawn(permit, journey.opened(), &stores, now)
                } else {
                    Some(CutReason::Untrusted)
                }
            });
            if cut > 0 {
                tracing::info!(
                    requests = cut,
                    "open requests were cut: their permits are gone"
                );
            }
            tokio::time::sleep(GATHER).await;
            let _ = tokio::time::timeout(EVERY, changed.changed()).await;
        }
    };
    stop.run_until_cancelled(watching).await;
}

/// Why a permit does not hold any more, as far as memory knows.
fn withdrawn(
    permit: &Permit,
    opened: Instant,
    stores: &Stores,
    now: Timestamp,
) -> Option<CutReason> {
    if now >= permit.expires_at() {
        return Some(CutReason::TokenExpired);
    }
    match stores.tokens.by_name(permit.token_id()) {
        Some(token) if token.metadata.deletion_timestamp.is_some() => {
            return Some(CutReason::TokenGone);
        }
        // Another token under the same id is another token.
        Some(token) if token.spec.user_uid != *permit.user() => return Some(CutReason::TokenGone),
        None if opened.elapsed() >= NEW => return Some(CutReason::TokenGone),
        Some(_) | None => {}
    }
    match stores.users.by_uid(permit.user().as_str()) {
        Some(user) if !user.spec.enabled || user.metadata.deletion_timestamp.is_some() => {
            return Some(CutReason::UserGone);
        }
        Some(user) if !user.spec.administrator => return Some(CutReason::RightGone),
        None if opened.elapsed() >= NEW => return Some(CutReason::UserGone),
        Some(_) | None => {}
    }
    let Target::Cluster(uid) = permit.target() else {
        return None;
    };
    let cluster = stores.clusters.by_uid(uid.as_str());
    let cluster = cluster.filter(|c| c.metadata.deletion_timestamp.is_none());
    cluster.is_none().then_some(CutReason::ClusterGone)
}
