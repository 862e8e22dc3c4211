//! The error of a list, with cause and next step.

use drover_ui_core::cluster::{Health, State};
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, ProblemKind, sentence};
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use leptos::prelude::*;

use crate::screens::cluster::CurrentCluster;

/// Shows the error of a list, with cause and next step.
#[component]
pub(super) fn Refused(
    /// The error of the request.
    problem: Problem,
    /// The kind of the list.
    kind: Kind,
    /// The selected namespace.
    namespace: Option<String>,
) -> impl IntoView {
    let CurrentCluster { name, state, .. } = expect_context();
    let content = move || {
        let (reason, title, advice) = state.with(|state| match away(&problem, state) {
            Some(advice) => (
                EmptyReason::Offline,
                t().kinds.unreachable(&name.get(), &state.summary),
                advice,
            ),
            None => words(&problem, kind, &name.get(), namespace.as_deref()),
        });
        let advice = t().problems.retrying(&advice);
        view! { <EmptyState reason=reason title=title advice=advice/> }
    };
    view! { <div class="object-list">{content}</div> }
}

/// Returns the advice for a cluster that is not reachable.
fn away(problem: &Problem, state: &State) -> Option<String> {
    let unreached = matches!(problem.kind, ProblemKind::Later | ProblemKind::Failed);
    let known = matches!(state.health, Health::Disconnected | Health::Waiting);
    let advice = state.detail.as_ref().unwrap_or(&problem.message);
    (unreached && known).then(|| sentence(advice.clone()))
}

fn words(
    problem: &Problem,
    kind: Kind,
    cluster: &str,
    namespace: Option<&str>,
) -> (EmptyReason, String, String) {
    let (things, message) = (kind.heading, problem.message.clone());
    match problem.kind {
        ProblemKind::Offline => {
            let title = t().problems.offline_title().to_owned();
            (EmptyReason::Offline, title, message)
        }
        ProblemKind::Forbidden => {
            let title = match namespace {
                Some(namespace) => t().kinds.forbidden(things, namespace),
                None => t().kinds.forbidden_everywhere(things, cluster),
            };
            let advice = advice(kind, namespace.is_none(), &message);
            (EmptyReason::NoPermission, title, advice)
        }
        ProblemKind::NotFound => (
            EmptyReason::NotFound,
            t().kinds.not_served(cluster, things),
            t().kinds.not_served_advice(kind.plural, kind.api_version),
        ),
        ProblemKind::SignedOut => (
            EmptyReason::Failed,
            t().kinds.agent_refused(cluster),
            t().kinds.agent_refused_advice(&message),
        ),
        _ => (EmptyReason::Failed, t().kinds.failed(things), message),
    }
}

fn advice(kind: Kind, everywhere: bool, message: &str) -> String {
    let next = if everywhere && kind.namespaced {
        t().kinds.choose_namespace_or_ask()
    } else {
        t().kinds.ask_for_role()
    };
    format!("{message} {next}")
}
