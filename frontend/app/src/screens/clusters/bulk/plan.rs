//! The plan of an action on several objects, with the result for each object.

use drover_ui_core::action::{PlannedObject, Step};
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_core::progress::Outcome;
use drover_ui_kit::code::Code;
use leptos::prelude::*;

use super::run::BulkPlan;
use crate::screens::batch::Batch;

/// Shows each object with its request, and with the result or the reason for no request.
#[component]
pub(super) fn PlanTable(plan: Memo<BulkPlan>, sent: Memo<usize>, batch: Batch) -> impl IntoView {
    let rows = move || {
        let rows = plan.get();
        let rows = rows.iter().map(|object| row(object, batch));
        rows.collect_view()
    };
    let summary = move || {
        t().bulk
            .plan_summary(sent.get(), plan.with(|plan| plan.len()))
    };
    view! {
        <p role="status">{summary}</p>
        <div class="bulk-plan" tabindex="0" role="region" aria-label=t().bulk.plan()>
            <table class="pairs">
                <thead>
                    <tr>
                        <th scope="col">{t().bulk.object()}</th>
                        <th scope="col">{t().bulk.request()}</th>
                        <th scope="col">{t().bulk.result()}</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

fn row(object: &PlannedObject, batch: Batch) -> AnyView {
    let name = object.key.words();
    let key = object.key.to_string();
    let (request, reason) = match &object.step {
        Step::Send(planned) => {
            let request = &planned.request;
            let line = format!("{} {}", request.method, request.path());
            (Some(line), planned.missing.clone())
        }
        Step::Omit(reason) => (None, Some(reason.clone())),
    };
    let result = Memo::new(move |_| match batch.outcome(&key) {
        Some(Outcome::Done) => t().bulk.done().to_owned(),
        Some(Outcome::Failed) => t().bulk.failed().to_owned(),
        Some(Outcome::Cancelled) => t().bulk.cancelled().to_owned(),
        None => {
            let reason = reason.clone();
            reason.unwrap_or_else(|| t().bulk.waiting().to_owned())
        }
    });
    view! {
        <tr>
            <th scope="row">{name}</th>
            <td><code>{request}</code></td>
            <td>{result}</td>
        </tr>
    }
    .into_any()
}

/// Shows the equivalent kubectl commands.
#[component]
pub(super) fn Commands(kind: Kind, plan: Memo<BulkPlan>) -> impl IntoView {
    let lines = Memo::new(move |_| {
        let lines = plan.with(|plan| {
            let lines = plan.iter().filter_map(|object| object.command(kind));
            lines.collect::<Vec<_>>()
        });
        lines.join("\n")
    });
    view! {
        <Show when=move || lines.with(|lines| !lines.is_empty())>
            <details class="bulk-commands">
                <summary>{t().bulk.commands()}</summary>
                <Code label=t().bulk.commands() text=lines/>
            </details>
        </Show>
    }
}
