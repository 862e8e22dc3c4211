//! Small things that all parts of an object's page show: times, links, states, refusals.

use drover_ui_core::age::age;
use drover_ui_core::object::Reference;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_kit::notice::{Absence, EmptyState};
use jiff::Timestamp;
use leptos::prelude::*;
use leptos_router::components::A;

use crate::clock::{Clock, in_full};

/// How long ago something was; the moment itself for who asks.
#[component]
pub(super) fn Age(at: Timestamp) -> impl IntoView {
    let clock = expect_context::<Clock>();
    view! {
        <time datetime=at.to_string() title=in_full(at).to_string()>{move || age(at, clock.now())}</time>
    }
}

/// Another object: a link if this page has a screen for it.
#[component]
pub(super) fn Link(cluster: StoredValue<String>, to: Reference) -> impl IntoView {
    match to.target {
        Some(target) => {
            let path = cluster.with_value(|cluster| target.screen(cluster));
            view! { <A href=path>{to.words}</A> }.into_any()
        }
        None => view! { <span>{to.words}</span> }.into_any(),
    }
}

/// A place whose things the cluster does not give: why, and what to do.
#[component]
pub(super) fn Refused(problem: Problem, of: &'static str) -> impl IntoView {
    let Problem { kind, message, .. } = problem;
    let (why, title, advice) = match kind {
        ProblemKind::Forbidden => (
            Absence::NoPermission,
            format!("You may not see: {of}"),
            "Ask an administrator for a role in this cluster that allows it.",
        ),
        ProblemKind::Offline => (
            Absence::Offline,
            "The server cannot be reached".to_owned(),
            "The page keeps trying.",
        ),
        ProblemKind::Later => (
            Absence::Offline,
            "The cluster does not answer".to_owned(),
            "Look at the cluster’s overview for the reason. The page keeps trying.",
        ),
        ProblemKind::SignedOut => (
            Absence::Failed,
            "The cluster refuses Drover’s agent".to_owned(),
            "Its API server does not take the agent’s service account: look at the agent’s log.",
        ),
        ProblemKind::NotFound => (
            Absence::NotFound,
            format!("There is no such thing: {of}"),
            "It was deleted or never was.",
        ),
        _ => (
            Absence::Failed,
            format!("Cannot be shown: {of}"),
            "The page keeps trying.",
        ),
    };
    let advice = format!("{message} {advice}");
    view! { <EmptyState why=why title=title advice=advice/> }
}
