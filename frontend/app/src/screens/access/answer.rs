//! What the server answers: who, by which role, and how.

use std::sync::Arc;

use drover_api::rest::{Explanation, ThroughView};
use drover_ui_core::explain::{Verdict, how, unasked, verdict};
use drover_ui_kit::notice::{Absence, Banner, Mood, Nothing};
use drover_ui_kit::table::{Column, Row, Sorting, Table, sorted};
use leptos::prelude::*;

/// A way in which it is allowed.
#[derive(Clone, Debug, PartialEq)]
struct WayRow(ThroughView);

impl WayRow {
    fn who(&self) -> &str {
        self.0.user.as_deref().unwrap_or(&self.0.subject)
    }
}

impl Row for WayRow {
    fn key(&self) -> String {
        let way = &self.0;
        let role = way.cluster_role.as_deref().unwrap_or_default();
        format!(
            "{} {} {} {role}",
            way.subject, way.binding_kind, way.binding
        )
    }
}

fn columns() -> Vec<Column<WayRow>> {
    vec![
        Column {
            key: "who",
            heading: "Who",
            class: "col-person",
            order: Some(|a, b| a.who().cmp(b.who())),
            cell: |row| two(row.who(), &row.0.subject),
        },
        Column {
            key: "role",
            heading: "Role",
            class: "col-role",
            order: Some(|a, b| a.0.role.cmp(&b.0.role)),
            cell: |row| two(&row.0.role, &how(&row.0)),
        },
        Column {
            key: "binding",
            heading: "Binding",
            class: "col-binding",
            order: Some(|a, b| a.0.binding.cmp(&b.0.binding)),
            cell: |row| two(&row.0.binding, &row.0.binding_kind),
        },
    ]
}

fn two(first: &str, second: &str) -> AnyView {
    let line = |text: &str| (text.to_owned(), text.to_owned());
    let ((first, first_exact), (second, second_exact)) = (line(first), line(second));
    view! {
        <div class="two">
            <b class="cut" title=first_exact>{first}</b>
            <span class="soft cut" title=second_exact>{second}</span>
        </div>
    }
    .into_any()
}

/// Whether it can be done, and by whom.
#[component]
pub(super) fn Answer(answer: Explanation) -> impl IntoView {
    let (verdict, words) = verdict(&answer);
    let unasked = unasked(&answer).map(|told| view! { <Banner mood=Mood::Info>{told}</Banner> });
    if verdict == Verdict::No {
        let advice = if answer.user.is_some() {
            "None of their roles in this cluster allows it. An owner of the cluster, or an administrator, can give one that does."
        } else {
            "No role that anybody has in this cluster allows it."
        };
        return view! {
            {unasked}
            <Nothing why=Absence::NoPermission title=words advice=advice/>
        }
        .into_any();
    }
    let more = answer.more.then(|| {
        let told = "There are more ways; these are the first that were found.";
        view! { <Banner mood=Mood::Info>{told}</Banner> }
    });
    let sorting = RwSignal::new(Sorting {
        column: "who",
        descending: false,
    });
    let ways: Vec<_> = answer.through.into_iter().map(WayRow).collect();
    let rows = Memo::new(move |_| Arc::new(sorted(ways.clone(), &columns(), sorting.get())));
    view! {
        <div role="status"><h2>{words}</h2></div>
        {unasked}
        {more}
        <div class="home-list">
            <Table label="Ways" columns=columns() rows=rows sorting=sorting/>
        </div>
    }
    .into_any()
}
