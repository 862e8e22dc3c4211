//! The result of the access check.

use std::sync::Arc;

use drover_api::rest::{Explanation, ThroughView};
use drover_ui_core::explain::{AccessResult, access_result, how, resource, unasked};
use drover_ui_core::messages::t;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState};
use drover_ui_kit::table::{Column, Row, Sorting, Table, sorted};
use leptos::prelude::*;

use crate::screens::cells::two;

/// A binding that allows the request.
#[derive(Clone, Debug, PartialEq)]
struct BindingRow(ThroughView);

impl BindingRow {
    fn subject_name(&self) -> &str {
        self.0.user.as_deref().unwrap_or(&self.0.subject)
    }
}

impl Row for BindingRow {
    fn key(&self) -> String {
        let way = &self.0;
        let role = way.cluster_role.as_deref().unwrap_or_default();
        format!(
            "{} {} {} {role}",
            way.subject, way.binding_kind, way.binding
        )
    }
}

fn columns() -> Vec<Column<BindingRow>> {
    vec![
        Column::new(
            "who",
            t().labels.subject(),
            "col-subject",
            |row: &BindingRow| strong(row.subject_name(), &row.0.subject),
        )
        .by(|a, b| a.subject_name().cmp(b.subject_name())),
        Column::new("role", t().labels.role(), "col-role", |row: &BindingRow| {
            strong(&row.0.role, &how(&row.0))
        })
        .by(|a, b| a.0.role.cmp(&b.0.role)),
        Column::new(
            "binding",
            t().access.binding(),
            "col-binding",
            |row: &BindingRow| strong(&row.0.binding, &row.0.binding_kind),
        )
        .by(|a, b| a.0.binding.cmp(&b.0.binding)),
    ]
}

fn strong(first: &str, second: &str) -> AnyView {
    let (words, exact) = (first.to_owned(), first.to_owned());
    two(
        view! { <b class="truncate" title=exact>{words}</b> },
        second,
    )
}

/// Shows the result of the access check, with the bindings that allow the request.
#[component]
pub(super) fn Answer(answer: Explanation) -> impl IntoView {
    let (access_result, words) = access_result(&answer);
    let about = resource(&answer).map(|text| view! { <p class="muted">{text}</p> });
    let unasked =
        unasked(&answer).map(|text| view! { <Banner mood=BannerKind::Info>{text}</Banner> });
    if access_result == AccessResult::No {
        let advice = if answer.user.is_some() {
            t().access.denied_user()
        } else {
            t().access.denied()
        };
        return view! {
            {about}
            {unasked}
            <EmptyState reason=EmptyReason::NoPermission title=words advice=advice/>
        }
        .into_any();
    }
    let more = answer.more.then(|| {
        let text = t().access.more();
        view! { <Banner mood=BannerKind::Info>{text}</Banner> }
    });
    let sorting = RwSignal::new(Sorting {
        column: "who",
        descending: false,
    });
    let ways: Vec<_> = answer.through.into_iter().map(BindingRow).collect();
    let rows = Memo::new(move |_| Arc::new(sorted(ways.clone(), &columns(), sorting.get())));
    view! {
        <div role="status"><h2>{words}</h2></div>
        {about}
        {unasked}
        {more}
        <div class="home-list">
            <Table label=t().access.bindings() columns=columns() rows=rows sorting=sorting tall=true/>
        </div>
    }
    .into_any()
}
