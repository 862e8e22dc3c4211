//! What to do about the Lease, and how it is written. Pure.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::ObjectMeta;

use super::{LEASE, LEASE_DURATION};

/// What to do about the Lease.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Somebody else has it.
    Wait { holder: String },
    /// Write it with this term.
    Take { term: i32 },
}

/// Decides from the stored Lease, how long it has not changed, and whether its holder's process
/// is known to be gone.
pub(super) fn decide(stored: Option<&Lease>, me: &str, silent: Duration, gone: bool) -> Move {
    let Some(stored) = stored else {
        return Move::Take { term: 1 };
    };
    let spec = stored.spec.as_ref();
    let term = spec.and_then(|spec| spec.lease_transitions).unwrap_or(0);
    match holder(stored) {
        held if held == me => Move::Take { term },
        "" => Move::Take {
            term: term.saturating_add(1),
        },
        _ if gone || silent >= LEASE_DURATION => Move::Take {
            term: term.saturating_add(1),
        },
        other => Move::Wait {
            holder: other.to_owned(),
        },
    }
}

/// Who holds a Lease; empty if nobody does.
pub(super) fn holder(lease: &Lease) -> &str {
    lease
        .spec
        .as_ref()
        .and_then(|spec| spec.holder_identity.as_deref())
        .unwrap_or_default()
}

/// The Lease as `holder` writes it over the stored one.
pub(super) fn lease(stored: Option<&Lease>, holder: &str, term: i32) -> Lease {
    let now = MicroTime(Timestamp::now());
    let old = stored.and_then(|lease| lease.spec.as_ref());
    let same_term = old.is_some_and(|spec| spec.lease_transitions == Some(term));
    let acquired = old
        .and_then(|spec| spec.acquire_time.clone())
        .filter(|_| same_term);
    Lease {
        metadata: stored.map_or_else(
            || ObjectMeta {
                name: Some(LEASE.to_owned()),
                ..ObjectMeta::default()
            },
            |lease| lease.metadata.clone(),
        ),
        spec: Some(LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: i32::try_from(LEASE_DURATION.as_secs()).ok(),
            acquire_time: Some(acquired.unwrap_or_else(|| now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(term),
            ..LeaseSpec::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lease_is_taken_only_when_free_or_silent_for_its_life_or_its_holder_is_gone() {
        let held = |holder: &str, term| lease(None, holder, term);
        let just_short = Duration::from_millis(14_999);
        let wait = || Move::Wait {
            holder: "other".into(),
        };
        for (stored, silent, gone, wanted) in [
            (None, Duration::ZERO, false, Move::Take { term: 1 }),
            (
                Some(held("me", 4)),
                Duration::ZERO,
                false,
                Move::Take { term: 4 },
            ),
            (
                Some(held("", 4)),
                Duration::ZERO,
                false,
                Move::Take { term: 5 },
            ),
            (Some(held("other", 4)), just_short, false, wait()),
            (
                Some(held("other", 4)),
                LEASE_DURATION,
                false,
                Move::Take { term: 5 },
            ),
            (
                Some(held("other", 4)),
                Duration::ZERO,
                true,
                Move::Take { term: 5 },
            ),
        ] {
            assert_eq!(
                decide(stored.as_ref(), "me", silent, gone),
                wanted,
                "{stored:?} {silent:?}"
            );
        }
    }

    #[test]
    fn a_lease_of_a_foreign_clock_is_judged_by_our_own() {
        // Its renewTime lies years back; it still has to stay silent for LEASE_DURATION before our eyes.
        let mut stored = lease(None, "other", 1);
        if let Some(spec) = &mut stored.spec {
            spec.renew_time = Some(MicroTime(Timestamp::UNIX_EPOCH));
        }
        assert_eq!(
            decide(Some(&stored), "me", Duration::ZERO, false),
            Move::Wait {
                holder: "other".into()
            }
        );
    }
}
