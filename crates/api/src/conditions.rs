//! Condition types and reasons, and the one way to set them.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// The agent holds a tunnel to the server.
pub const CONNECTED: &str = "Connected";
/// The cluster's key is bound to the Cluster's UID.
pub const REGISTERED: &str = "Registered";
/// The cluster's API server answers its readiness check.
pub const API_SERVER_READY: &str = "APIServerReady";
/// Roles and bindings in the cluster are as the hub wants them.
pub const ACCESS_APPLIED: &str = "AccessApplied";
/// The agent runs the version that the server wants.
pub const AGENT_UP_TO_DATE: &str = "AgentUpToDate";
/// What Drover applied in a cluster that is being deleted is away again.
pub const CLEANED_UP: &str = "CleanedUp";
/// A Setting's value can be taken; a Token is accepted.
pub const VALID: &str = "Valid";
/// A cluster can register with a ClusterRegistrationToken.
pub const USABLE: &str = "Usable";
/// Of a Cluster: everything above that must be true is true. Of a User: the person can work. Of a
/// role: what it allows is known. Of a binding: whoever it names has the role.
pub const READY: &str = "Ready";

/// What a condition says now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// `True`, `False` or `Unknown`.
    pub status: Tristate,
    /// PascalCase cause, stable across releases.
    pub reason: &'static str,
    /// A sentence for people: what is so, and what to do next.
    pub message: String,
}

/// The status of a condition (KEP-1623).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tristate {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody can say at present.
    Unknown,
}

impl Tristate {
    /// The word that goes on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// Sets one condition; `lastTransitionTime` moves only when the status does.
///
/// Returns whether anything but the time changed.
pub fn set_condition(
    conditions: &mut Vec<Condition>,
    kind: &str,
    verdict: &Verdict,
    generation: Option<i64>,
    now: Timestamp,
) -> bool {
    let fresh = |last: Time| Condition {
        last_transition_time: last,
        message: verdict.message.clone(),
        observed_generation: generation,
        reason: verdict.reason.to_owned(),
        status: verdict.status.as_str().to_owned(),
        type_: kind.to_owned(),
    };
    let Some(old) = conditions.iter_mut().find(|c| c.type_ == kind) else {
        conditions.push(fresh(Time(now)));
        return true;
    };
    let since = if old.status == verdict.status.as_str() {
        old.last_transition_time.clone()
    } else {
        Time(now)
    };
    let new = fresh(since);
    let changed = *old != new;
    *old = new;
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(status: Tristate, message: &str) -> Verdict {
        Verdict {
            status,
            reason: "Because",
            message: message.to_owned(),
        }
    }

    #[test]
    fn transition_time_moves_only_when_the_status_does() {
        let mut list = Vec::new();
        let at = |s: i64| Timestamp::from_second(s).unwrap();
        assert!(set_condition(
            &mut list,
            READY,
            &verdict(Tristate::True, "a"),
            None,
            at(1)
        ));
        assert!(!set_condition(
            &mut list,
            READY,
            &verdict(Tristate::True, "a"),
            None,
            at(2)
        ));
        assert!(set_condition(
            &mut list,
            READY,
            &verdict(Tristate::True, "b"),
            None,
            at(3)
        ));
        assert_eq!(list[0].last_transition_time, Time(at(1)));
        assert!(set_condition(
            &mut list,
            READY,
            &verdict(Tristate::False, "b"),
            None,
            at(4)
        ));
        assert_eq!(list[0].last_transition_time, Time(at(4)));
        assert_eq!(list.len(), 1);
    }
}
