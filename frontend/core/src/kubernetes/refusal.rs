//! The error of a list, with cause and next step.

use crate::cluster::{Health, State};
use crate::kind::Kind;
use crate::messages::t;
use crate::problem::{Problem, ProblemKind, sentence};

/// The reason why a list shows no objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// The server or the cluster cannot be reached.
    Offline,
    /// The user does not have the required permission.
    NoPermission,
    /// The cluster does not serve the kind.
    NotFound,
    /// The request failed.
    Failed,
}

/// The texts that a list shows instead of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason of the error.
    pub reason: RefusalReason,
    /// The title.
    pub title: String,
    /// The cause and the next step.
    pub advice: String,
}

impl Refusal {
    /// Describes the error of a list. If the cluster is known to be unreachable, the state of the
    /// cluster is the cause.
    pub fn of(
        problem: &Problem,
        kind: Kind,
        cluster: &str,
        namespace: Option<&str>,
        state: &State,
    ) -> Self {
        let refusal = |reason, title, advice| Self {
            reason,
            title,
            advice,
        };
        if let Some(advice) = unreachable(problem, state) {
            let title = t().kinds.unreachable(cluster, &state.summary);
            return refusal(RefusalReason::Offline, title, advice);
        }
        let (things, message) = (kind.heading, problem.message.clone());
        match problem.kind {
            ProblemKind::Offline => {
                let title = t().problems.offline_title().to_owned();
                refusal(RefusalReason::Offline, title, message)
            }
            ProblemKind::Forbidden => {
                let title = match namespace {
                    Some(namespace) => t().kinds.forbidden(things, namespace),
                    None => t().kinds.forbidden_everywhere(things, cluster),
                };
                let next = if namespace.is_none() && kind.namespaced {
                    t().kinds.choose_namespace_or_ask()
                } else {
                    t().kinds.ask_for_role()
                };
                refusal(
                    RefusalReason::NoPermission,
                    title,
                    format!("{message} {next}"),
                )
            }
            ProblemKind::NotFound => refusal(
                RefusalReason::NotFound,
                t().kinds.not_served(cluster, things),
                t().kinds.not_served_advice(kind.plural, kind.api_version),
            ),
            ProblemKind::SignedOut => refusal(
                RefusalReason::Failed,
                t().kinds.agent_refused(cluster),
                t().kinds.agent_refused_advice(&message),
            ),
            _ => refusal(RefusalReason::Failed, t().kinds.failed(things), message),
        }
    }
}

/// Returns the advice for a cluster that is not reachable.
fn unreachable(problem: &Problem, state: &State) -> Option<String> {
    let unreached = matches!(problem.kind, ProblemKind::Later | ProblemKind::Failed);
    let known = matches!(state.health, Health::Disconnected | Health::Waiting);
    let advice = state.detail.as_ref().unwrap_or(&problem.message);
    (unreached && known).then(|| sentence(advice.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(kind: ProblemKind) -> Problem {
        Problem {
            kind,
            message: "it failed".to_owned(),
            fields: Vec::new(),
        }
    }

    fn refusal(kind: ProblemKind, namespace: Option<&str>, health: Health) -> Refusal {
        let state = State {
            health,
            summary: "agent not connected".to_owned(),
            detail: Some("Check the agent.".to_owned()),
        };
        Refusal::of(&problem(kind), Kind::PODS, "east", namespace, &state)
    }

    #[test]
    fn error_of_an_unreachable_cluster_shows_the_state_of_the_cluster() {
        for kind in [ProblemKind::Later, ProblemKind::Failed] {
            for health in [Health::Disconnected, Health::Waiting] {
                let refusal = refusal(kind, None, health);
                assert_eq!(refusal.reason, RefusalReason::Offline);
                assert!(refusal.title.contains("agent not connected"), "{refusal:?}");
                assert_eq!(refusal.advice, "Check the agent.");
            }
            let refusal = refusal(kind, None, Health::Ready);
            assert_eq!(refusal.reason, RefusalReason::Failed);
            assert_eq!(refusal.advice, "it failed");
        }
        // A missing permission is the cause regardless of the cluster's state.
        let refusal = refusal(ProblemKind::Forbidden, None, Health::Disconnected);
        assert_eq!(refusal.reason, RefusalReason::NoPermission);
    }

    #[test]
    fn forbidden_list_of_all_namespaces_advises_the_selection_of_a_namespace() {
        let all = refusal(ProblemKind::Forbidden, None, Health::Ready);
        assert!(all.title.contains("east"), "{all:?}");
        let next = t().kinds.choose_namespace_or_ask();
        assert_eq!(all.advice, format!("it failed {next}"));
        let one = refusal(ProblemKind::Forbidden, Some("shop"), Health::Ready);
        assert!(one.title.contains("shop"), "{one:?}");
        assert_eq!(
            one.advice,
            format!("it failed {}", t().kinds.ask_for_role())
        );
    }

    #[test]
    fn forbidden_list_of_cluster_scoped_objects_advises_a_role() {
        let state = State {
            health: Health::Ready,
            summary: String::new(),
            detail: None,
        };
        let forbidden = problem(ProblemKind::Forbidden);
        let nodes = Refusal::of(&forbidden, Kind::NODES, "east", None, &state);
        assert!(
            nodes.advice.ends_with(t().kinds.ask_for_role()),
            "{nodes:?}"
        );
    }

    #[test]
    fn unserved_kind_and_refused_agent_have_their_own_texts() {
        let unserved = refusal(ProblemKind::NotFound, None, Health::Ready);
        assert_eq!(unserved.reason, RefusalReason::NotFound);
        assert!(unserved.advice.contains("pods"), "{unserved:?}");
        let refused = refusal(ProblemKind::SignedOut, None, Health::Ready);
        assert_eq!(refused.title, t().kinds.agent_refused("east"));
        let offline = refusal(ProblemKind::Offline, None, Health::Ready);
        assert_eq!(offline.title, t().problems.offline_title());
    }
}
