//! The readiness of bindings, projects, providers and authorized endpoints, from a condition.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::cluster::words;
use crate::messages::t;
use crate::problem::sentence;

/// The readiness status, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// The condition is `False`.
    Failing,
    /// The condition is `Unknown` or missing.
    Coming,
    /// The condition is `True`.
    Ready,
}

/// The readiness with its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The readiness status.
    pub status: Status,
    /// The text for the readiness status.
    pub words: String,
    /// The cause, if the status is not `Ready`.
    pub why: Option<String>,
}

impl Readiness {
    /// Reads the conditions. Without the condition `Ready`, the status is pending.
    pub fn of(conditions: &[Condition]) -> Self {
        Self::of_condition(conditions.iter().find(|it| it.type_ == "Ready"))
    }

    /// Reads a condition. Without a condition, the status is pending.
    pub fn of_condition(ready: Option<&Condition>) -> Self {
        let status = match ready.map(|it| it.status.as_str()) {
            Some("True") => Status::Ready,
            Some("False") => Status::Failing,
            _ => Status::Coming,
        };
        let told = match status {
            Status::Failing => ready.map(|it| words(&it.reason)),
            _ => None,
        };
        let reason = ready.filter(|it| status != Status::Ready && !it.message.is_empty());
        Self {
            status,
            words: told.unwrap_or_else(|| status.words().to_owned()),
            why: reason.map(|it| sentence(it.message.clone())),
        }
    }
}

impl Status {
    fn words(self) -> &'static str {
        match self {
            Self::Failing => t().states.not_ready(),
            Self::Coming => t().states.pending(),
            Self::Ready => t().states.ready(),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn told(status: &str, reason: &str, message: &str) -> Readiness {
        let condition = Condition {
            type_: "Ready".to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            last_transition_time: Time(jiff::Timestamp::UNIX_EPOCH),
            observed_generation: None,
        };
        Readiness::of(&[condition])
    }

    #[test]
    fn condition_with_status_false_is_shown_as_failing_with_its_reason() {
        let gone = told("False", "UserGone", "the user is gone");
        assert_eq!(gone.status, Status::Failing);
        assert_eq!(gone.words, "user gone");
        assert_eq!(gone.why.as_deref(), Some("The user is gone."));
    }

    #[test]
    fn missing_or_unknown_condition_is_shown_as_pending() {
        assert_eq!(Readiness::of(&[]).status, Status::Coming);
        let waits = told("Unknown", "Pending", "waits for the role");
        assert_eq!(waits.status, Status::Coming);
        assert_eq!(waits.why.as_deref(), Some("Waits for the role."));
        let ready = told("True", "Given", "it is given");
        assert_eq!((ready.words.as_str(), ready.why), ("ready", None));
    }
}
