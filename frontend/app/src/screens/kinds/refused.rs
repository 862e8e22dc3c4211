//! Why there is no list.

use drover_ui_core::cluster::{Health, State};
use drover_ui_core::kind::Kind;
use drover_ui_core::problem::{Problem, ProblemKind, sentence};
use drover_ui_kit::notice::{Absence, Nothing};
use leptos::prelude::*;

use crate::screens::cluster::InSight;

/// The list was refused, or not reached: why, and what to do.
#[component]
pub(super) fn Refused(
    /// Why.
    problem: Problem,
    /// What was asked for.
    kind: Kind,
    /// In which namespace.
    namespace: Option<String>,
) -> impl IntoView {
    let InSight { name, state, .. } = expect_context();
    let told = move || {
        let (why, title, advice) = state.with(|state| match away(&problem, state) {
            Some(advice) => (
                Absence::Offline,
                format!("{} cannot be asked: {}", name.get(), state.words),
                advice,
            ),
            None => words(&problem, kind, &name.get(), namespace.as_deref()),
        });
        let advice = format!("{advice} The page keeps trying.");
        view! { <Nothing why=why title=title advice=advice/> }
    };
    view! { <div class="run-list">{told}</div> }
}

/// What to do about a cluster of which the server knows that it cannot be asked.
fn away(problem: &Problem, state: &State) -> Option<String> {
    let unreached = matches!(problem.kind, ProblemKind::Later | ProblemKind::Failed);
    let known = matches!(state.health, Health::Disconnected | Health::Waiting);
    let advice = state.why.as_ref().unwrap_or(&problem.message);
    (unreached && known).then(|| sentence(advice.clone()))
}

fn words(
    problem: &Problem,
    kind: Kind,
    cluster: &str,
    namespace: Option<&str>,
) -> (Absence, String, String) {
    let (things, message) = (kind.heading, problem.message.clone());
    match problem.kind {
        ProblemKind::Offline => {
            let title = "The server cannot be reached".to_owned();
            (Absence::Offline, title, message)
        }
        ProblemKind::Forbidden => {
            let title = match namespace {
                Some(namespace) => format!("You may not list {things} in {namespace}"),
                None => format!("You may not list {things} in all of {cluster}"),
            };
            let advice = advice(kind, namespace.is_none(), &message);
            (Absence::NoPermission, title, advice)
        }
        ProblemKind::NotFound => (
            Absence::NotFound,
            format!("{cluster} does not serve {things}"),
            format!(
                "Its API has no {} of {}. An older or newer Kubernetes may have them elsewhere.",
                kind.plural, kind.api_version
            ),
        ),
        ProblemKind::SignedOut => (
            Absence::Failed,
            format!("{cluster} refuses Drover’s agent"),
            format!(
                "{message} Its API server does not take the agent’s service account: look at the agent’s log."
            ),
        ),
        _ => (
            Absence::Failed,
            format!("{things} cannot be listed"),
            message,
        ),
    }
}

fn advice(kind: Kind, everywhere: bool, message: &str) -> String {
    let next = if everywhere && kind.namespaced {
        "Type a namespace above in which you may, or ask an administrator for a role in this cluster."
    } else {
        "Ask an administrator for a role in this cluster that allows it."
    };
    format!("{message} {next}")
}
