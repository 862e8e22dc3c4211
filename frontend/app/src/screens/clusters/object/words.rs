//! Components of the object page: ages, links and errors.

use drover_ui_core::age::age;
use drover_ui_core::messages::t;
use drover_ui_core::object::Reference;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use jiff::Timestamp;
use leptos::prelude::*;
use leptos_router::components::A;

use crate::clock::{Clock, in_full};

/// Shows an age, with the time in the tooltip.
#[component]
pub(super) fn Age(at: Timestamp, #[prop(optional)] form: AgeForm) -> impl IntoView {
    let clock = expect_context::<Clock>();
    view! {
        <time datetime=at.to_string() title=in_full(at).to_string()>
            {move || form.words(&age(at, clock.now()))}
        </time>
    }
}

/// The format of an age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AgeForm {
    /// The format `5m ago`, for the age of an event in the past.
    #[default]
    Ago,
    /// The format `for 5m`, for the duration of a state.
    Lasting,
    /// The format `5m old`, for the age of an object.
    Old,
}

impl AgeForm {
    fn words(self, age: &str) -> String {
        match self {
            Self::Ago => t().durations.ago(age),
            Self::Lasting => t().durations.lasting(age),
            Self::Old => t().durations.old(age),
        }
    }
}

/// Shows the name of an object, with a link if the kind of the object has a screen.
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

/// Shows the error of a request to the cluster, with cause and next step.
#[component]
pub(super) fn Refused(problem: Problem, of: &'static str) -> impl IntoView {
    let Problem { kind, message, .. } = problem;
    let (reason, title, advice) = match kind {
        ProblemKind::Forbidden => (
            EmptyReason::NoPermission,
            t().object.forbidden(of),
            t().kinds.ask_for_role(),
        ),
        ProblemKind::Offline => (
            EmptyReason::Offline,
            t().problems.offline_title().to_owned(),
            t().object.retrying(),
        ),
        ProblemKind::Later => (
            EmptyReason::Offline,
            t().object.cluster_offline().to_owned(),
            t().object.cluster_offline_advice(),
        ),
        ProblemKind::SignedOut => (
            EmptyReason::Failed,
            t().object.agent_refused().to_owned(),
            t().object.agent_refused_advice(),
        ),
        ProblemKind::NotFound => (
            EmptyReason::NotFound,
            t().object.missing(of),
            t().object.missing_advice(),
        ),
        _ => (
            EmptyReason::Failed,
            t().object.failed(of),
            t().object.retrying(),
        ),
    };
    let advice = format!("{message} {advice}");
    view! { <EmptyState reason=reason title=title advice=advice/> }
}
