//! Why there is no list.

use drover_ui_core::cluster::Health;
use drover_ui_core::kind::Kind;
use drover_ui_core::problem::{Problem, ProblemKind};
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
    let things = kind.heading;
    let told = move || {
        let (cluster, state) = (name.get(), state.get());
        let away = matches!(problem.kind, ProblemKind::Later | ProblemKind::Failed)
            && matches!(state.health, Health::Disconnected | Health::Waiting);
        let (why, title, advice) = match problem.kind {
            _ if away => (
                Absence::Offline,
                format!("{cluster} cannot be asked: {}", state.words),
                state.why.unwrap_or_else(|| problem.message.clone()),
            ),
            ProblemKind::Offline => (
                Absence::Offline,
                "The server cannot be reached".to_owned(),
                problem.message.clone(),
            ),
            ProblemKind::Forbidden => (
                Absence::NoPermission,
                match &namespace {
                    Some(namespace) => format!("You may not list {things} in {namespace}"),
                    None => format!("You may not list {things} in all of {cluster}"),
                },
                advice(kind, namespace.is_none(), &problem.message),
            ),
            ProblemKind::NotFound => (
                Absence::NotFound,
                format!("{cluster} does not serve {things}"),
                format!(
                    "Its API has no {} of {}. A newer or older Kubernetes may have them elsewhere.",
                    kind.plural, kind.api_version
                ),
            ),
            _ => (
                Absence::Failed,
                format!("{things} cannot be listed"),
                problem.message.clone(),
            ),
        };
        let advice = format!("{advice} The page keeps trying.");
        view! { <Nothing why=why title=title advice=advice/> }
    };
    view! { <div class="run-list">{told}</div> }
}

fn advice(kind: Kind, everywhere: bool, message: &str) -> String {
    let next = if everywhere && kind.namespaced {
        "Type a namespace above in which you may, or ask an administrator for a role in this cluster."
    } else {
        "Ask an administrator for a role in this cluster that allows it."
    };
    format!("{message} {next}")
}
