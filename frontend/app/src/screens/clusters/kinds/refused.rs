//! The error of a list, with cause and next step.

use drover_ui_core::explain::Question;
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::refusal::{Refusal, RefusalReason};
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use leptos::prelude::*;

use crate::screens::access::path;
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
        let refusal = state.with(|state| {
            let namespace = namespace.as_deref();
            Refusal::of(&problem, kind, &name.get(), namespace, state)
        });
        let advice = t().problems.retrying(&refusal.advice);
        let reason = empty_reason(refusal.reason);
        let forbidden = refusal.reason == RefusalReason::NoPermission;
        let why = forbidden.then(|| {
            let question = Question {
                cluster: name.get(),
                verb: "list".to_owned(),
                resource: kind.url_segment(),
                namespace: namespace.clone().unwrap_or_default(),
                ..Question::default()
            };
            view! { <a href=path(&question)>{t().access.why()}</a> }
        });
        view! { <EmptyState reason=reason title=refusal.title advice=advice>{why}</EmptyState> }
    };
    view! { <div class="object-list">{content}</div> }
}

const fn empty_reason(reason: RefusalReason) -> EmptyReason {
    match reason {
        RefusalReason::Offline => EmptyReason::Offline,
        RefusalReason::NoPermission => EmptyReason::NoPermission,
        RefusalReason::NotFound => EmptyReason::NotFound,
        RefusalReason::Failed => EmptyReason::Failed,
    }
}
