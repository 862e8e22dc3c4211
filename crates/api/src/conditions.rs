//! Types and reasons of conditions, and the function that sets a condition.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Condition of a Cluster: the agent has a tunnel to the server.
pub const CONNECTED: &str = "Connected";
/// Reason of [`CONNECTED`] and [`READY`] of a cluster whose agent opens no tunnel.
pub const GITOPS_ONLY: &str = "GitOpsOnly";
/// Condition of a Cluster: the cluster's key is bound to the Cluster's UID.
pub const REGISTERED: &str = "Registered";
/// Condition of a Cluster: the cluster's API server passes its readiness checks.
pub const API_SERVER_READY: &str = "APIServerReady";
/// Condition of a Cluster: the roles and bindings in the cluster match the hub.
pub const ACCESS_APPLIED: &str = "AccessApplied";
/// Condition of a Cluster: the agent runs the server's version.
pub const AGENT_UP_TO_DATE: &str = "AgentUpToDate";
/// Condition of a Cluster: no node reports a problem.
pub const NODES_HEALTHY: &str = "NodesHealthy";
/// Condition of a Cluster: the tokens are in the cluster, and its API servers call the webhooks of the
/// authorized endpoint.
pub const AUTHORIZED_ENDPOINT_READY: &str = "AuthorizedEndpointReady";
/// Condition of a Cluster: False if the server has not replaced a due key of an agent within a minute.
/// Absent otherwise.
pub const KEYS_CURRENT: &str = "KeysCurrent";
/// Condition of a Cluster that is being deleted: the cluster does not contain objects that Drover
/// applied.
pub const CLEANED_UP: &str = "CleanedUp";
/// Condition of a Setting: the value is valid. Condition of a Token: the token is valid.
pub const VALID: &str = "Valid";
/// Condition of a ClusterRegistrationToken: a cluster can register with the token.
pub const USABLE: &str = "Usable";
/// Summary condition of an object. A Cluster is Ready if all its other conditions are met. A User
/// is Ready if the user can sign in. A role is Ready if its permissions are known. A binding is
/// Ready if it grants its role.
pub const READY: &str = "Ready";

/// The new status, reason and message of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionValue {
    /// The status: `True`, `False` or `Unknown`.
    pub status: Tristate,
    /// The PascalCase reason, stable across releases.
    pub reason: &'static str,
    /// A sentence for users: the state and the next step.
    pub message: String,
}

/// The status of a condition (KEP-1623).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tristate {
    /// The condition is met.
    True,
    /// The condition is not met.
    False,
    /// The state of the condition is not known yet.
    Unknown,
}

impl Tristate {
    /// Returns the status as text in the Kubernetes API: `True`, `False` or `Unknown`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// Sets one condition. `lastTransitionTime` changes only when the status changes. Returns `true` if
/// a field other than `lastTransitionTime` changed.
pub fn set_condition(
    conditions: &mut Vec<Condition>,
    kind: &str,
    condition_value: &ConditionValue,
    generation: Option<i64>,
    now: Timestamp,
) -> bool {
    let fresh = |last: Time| Condition {
        last_transition_time: last,
        message: condition_value.message.clone(),
        observed_generation: generation,
        reason: condition_value.reason.to_owned(),
        status: condition_value.status.as_str().to_owned(),
        type_: kind.to_owned(),
    };
    let Some(old) = conditions.iter_mut().find(|c| c.type_ == kind) else {
        conditions.push(fresh(Time(now)));
        return true;
    };
    let since = if old.status == condition_value.status.as_str() {
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

    fn condition_value(status: Tristate, message: &str) -> ConditionValue {
        ConditionValue {
            status,
            reason: "Because",
            message: message.to_owned(),
        }
    }

    #[test]
    fn transition_time_changes_only_with_the_status() {
        let mut list = Vec::new();
        let at = |s: i64| Timestamp::from_second(s).unwrap();
        assert!(set_condition(
            &mut list,
            READY,
            &condition_value(Tristate::True, "a"),
            None,
            at(1)
        ));
        assert!(!set_condition(
            &mut list,
            READY,
            &condition_value(Tristate::True, "a"),
            None,
            at(2)
        ));
        assert!(set_condition(
            &mut list,
            READY,
            &condition_value(Tristate::True, "b"),
            None,
            at(3)
        ));
        assert_eq!(list[0].last_transition_time, Time(at(1)));
        assert!(set_condition(
            &mut list,
            READY,
            &condition_value(Tristate::False, "b"),
            None,
            at(4)
        ));
        assert_eq!(list[0].last_transition_time, Time(at(4)));
        assert_eq!(list.len(), 1);
    }
}
