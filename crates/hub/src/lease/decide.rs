//! Pure functions that decide the next step of the election and build the Lease to write.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::ObjectMeta;

use super::{LEASE, LEASE_DURATION};

/// The next step of this server in the election.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A different server holds the Lease.
    Wait { holder: String },
    /// This server writes the Lease with this number of leader transitions.
    Take { term: i32 },
}

/// Decides the next step. The inputs are the stored Lease, the time since its last change, and
/// whether its holder's process has ended.
pub(super) fn decide(stored: Option<&Lease>, me: &str, silent: Duration, gone: bool) -> Step {
    let Some(stored) = stored else {
        return Step::Take { term: 1 };
    };
    let spec = stored.spec.as_ref();
    let term = spec.and_then(|spec| spec.lease_transitions).unwrap_or(0);
    match holder(stored) {
        held if held == me => Step::Take { term },
        "" => Step::Take {
            term: term.saturating_add(1),
        },
        _ if gone || silent >= LEASE_DURATION => Step::Take {
            term: term.saturating_add(1),
        },
        other => Step::Wait {
            holder: other.to_owned(),
        },
    }
}

/// Returns the holder of a Lease. Returns an empty string if the Lease is free.
pub(super) fn holder(lease: &Lease) -> &str {
    lease
        .spec
        .as_ref()
        .and_then(|spec| spec.holder_identity.as_deref())
        .unwrap_or_default()
}

/// Builds the Lease that `holder` writes over the stored Lease.
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
    fn lease_is_acquired_only_if_free_or_expired_or_its_holder_process_ended() {
        let owned = |holder: &str, term| lease(None, holder, term);
        let just_short = Duration::from_millis(14_999);
        let wait = || Step::Wait {
            holder: "other".into(),
        };
        for (stored, silent, gone, expected) in [
            (None, Duration::ZERO, false, Step::Take { term: 1 }),
            (
                Some(owned("me", 4)),
                Duration::ZERO,
                false,
                Step::Take { term: 4 },
            ),
            (
                Some(owned("", 4)),
                Duration::ZERO,
                false,
                Step::Take { term: 5 },
            ),
            (Some(owned("other", 4)), just_short, false, wait()),
            (
                Some(owned("other", 4)),
                LEASE_DURATION,
                false,
                Step::Take { term: 5 },
            ),
            (
                Some(owned("other", 4)),
                Duration::ZERO,
                true,
                Step::Take { term: 5 },
            ),
        ] {
            assert_eq!(
                decide(stored.as_ref(), "me", silent, gone),
                expected,
                "{stored:?} {silent:?}"
            );
        }
    }

    #[test]
    fn lease_expiry_is_measured_with_the_local_clock() {
        // The renewTime is years old, and the server still waits for LEASE_DURATION by its own
        // clock.
        let mut stored = lease(None, "other", 1);
        if let Some(spec) = &mut stored.spec {
            spec.renew_time = Some(MicroTime(Timestamp::UNIX_EPOCH));
        }
        assert_eq!(
            decide(Some(&stored), "me", Duration::ZERO, false),
            Step::Wait {
                holder: "other".into()
            }
        );
    }
}
