//! The overview fields of an object: cards with labels and values, and tables.

use drover_ui_core::feed::Objects;
use drover_ui_core::messages::t;
use drover_ui_core::object::{
    Fact, FactTable, FactValue, ListedSections, Object, Section, SectionContent,
};
use drover_ui_kit::notice::Skeleton;
use leptos::prelude::*;
use leptos_router::components::A;

use super::words::{Age, Link, Refused};
use crate::freshness::{Freshness, StaleBanner};
use crate::reflector::Store;

/// The length in characters above which the page collapses a value.
const LONG: usize = 120;
/// The number of columns above which a table scrolls on narrow screens.
const MAX_NARROW_COLUMNS: usize = 4;

/// Shows the sections with labels and values as cards.
#[component]
pub(super) fn FactCards(
    #[prop(into)] sections: Signal<Vec<Section>>,
    cluster: StoredValue<String>,
) -> impl IntoView {
    move || {
        let sections = sections.get().into_iter();
        let cards = sections.filter_map(|section| match section.content {
            SectionContent::Facts(facts) => {
                Some(view! { <Facts heading=section.heading facts=facts cluster=cluster/> })
            }
            SectionContent::Table(_) => None,
        });
        cards.collect_view()
    }
}

/// Shows the sections with tables.
#[component]
pub(super) fn FactTables(
    #[prop(into)] sections: Signal<Vec<Section>>,
    cluster: StoredValue<String>,
) -> impl IntoView {
    move || {
        let sections = sections.get().into_iter();
        let tables = sections.filter_map(|section| match section.content {
            SectionContent::Facts(_) => None,
            SectionContent::Table(table) => {
                Some(view! { <OneTable heading=section.heading table=table cluster=cluster/> })
            }
        });
        tables.collect_view()
    }
}

/// Shows the sections that come from a live list of other objects.
#[component]
pub(super) fn ListedFacts(list: ListedSections, cluster: StoredValue<String>) -> impl IntoView {
    let source = cluster.with_value(|cluster| list.source(cluster));
    let followed = Store::<Object>::begin::<Objects>(source);
    let kind = list.kind;
    let sections = Memo::new(move |_| Some(list.sections(&followed.items()?)));
    let known = Signal::derive(move || sections.get().unwrap_or_default());
    let is_empty = move || followed.items().is_some_and(|items| items.is_empty());
    let problem = Memo::new(move |_| match followed.freshness() {
        Freshness::Stale { problem, .. } if !followed.is_known() => Some(problem),
        _ => None,
    });
    view! {
        <StaleBanner
            freshness=Signal::derive(move || followed.freshness())
            shown=Signal::derive(move || sections.with(Option::is_some))
        />
        {move || match problem.get() {
            Some(problem) => view! { <Refused problem=problem of=kind.heading/> }.into_any(),
            None if !followed.is_known() => view! { <Skeleton lines=2/> }.into_any(),
            None if is_empty() => {
                view! { <p class="muted">{t().object.none_related(kind.heading)}</p> }.into_any()
            }
            None => view! {
                <div class="cards"><FactCards sections=known cluster=cluster/></div>
                <FactTables sections=known cluster=cluster/>
            }
            .into_any(),
        }}
    }
}

#[component]
fn Facts(heading: &'static str, facts: Vec<Fact>, cluster: StoredValue<String>) -> impl IntoView {
    let facts = facts.into_iter().map(|fact| {
        let Fact { name, worth } = fact;
        view! { <dt>{name}</dt><dd><Value worth=worth cluster=cluster/></dd> }
    });
    view! {
        <section class="card"><h3>{heading}</h3><dl class="facts">{facts.collect_view()}</dl></section>
    }
}

#[component]
fn OneTable(
    heading: &'static str,
    table: FactTable,
    cluster: StoredValue<String>,
) -> impl IntoView {
    let FactTable {
        columns,
        rows,
        hidden,
    } = table;
    let is_wide = columns.len() > MAX_NARROW_COLUMNS;
    let heads = columns
        .into_iter()
        .map(|column| view! { <th scope="col">{column}</th> });
    let rows = rows.into_iter().map(|row| {
        let cells = row.into_iter();
        let cells = cells.map(|worth| view! { <td><Value worth=worth cluster=cluster/></td> });
        view! { <tr>{cells.collect_view()}</tr> }
    });
    let table = view! {
        <table class="pairs">
            <thead><tr>{heads.collect_view()}</tr></thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
    };
    let table = if is_wide {
        view! { <div class="wide-pairs" tabindex="0" role="region" aria-label=heading>{table}</div> }
            .into_any()
    } else {
        table.into_any()
    };
    let more = (hidden > 0).then(|| view! { <p class="muted">{t().facts.more_rows(hidden)}</p> });
    view! { <section class="card"><h3>{heading}</h3>{table}{more}</section> }
}

/// Shows the value of an overview field.
#[component]
pub(super) fn Value(worth: FactValue, cluster: StoredValue<String>) -> impl IntoView {
    match worth {
        FactValue::Text(text) => text.into_any(),
        FactValue::Codes(codes) => {
            let codes = codes
                .into_iter()
                .map(|code| view! { <code class="object-code">{code}</code> });
            view! { <span class="stack-tight">{codes.collect_view()}</span> }.into_any()
        }
        FactValue::Lines(lines) => {
            let lines = lines.into_iter().map(|line| view! { <span>{line}</span> });
            view! { <span class="stack-tight">{lines.collect_view()}</span> }.into_any()
        }
        FactValue::Long(text) if is_long(&text) => {
            let summary = t().facts.bytes(text.len());
            view! { <LongText summary=summary text=text/> }.into_any()
        }
        FactValue::Long(text) => view! { <code class="object-code">{text}</code> }.into_any(),
        FactValue::At(at) => view! { <Age at=at/> }.into_any(),
        FactValue::Links(links) => {
            let links = links.into_iter();
            let links = links.map(|to| view! { <Link cluster=cluster to=to/> });
            view! { <span class="stack-tight">{links.collect_view()}</span> }.into_any()
        }
        FactValue::List(kind) => {
            let path = cluster.with_value(|cluster| kind.list_screen(cluster));
            view! { <A href=path>{t().facts.all_of(kind.name)}</A> }.into_any()
        }
    }
}

/// Reports whether the page collapses a value.
pub(super) fn is_long(text: &str) -> bool {
    text.len() > LONG || text.contains('\n')
}

/// Shows a collapsed text.
#[component]
pub(super) fn LongText(summary: String, text: String) -> impl IntoView {
    view! {
        <details class="object-long-value">
            <summary><code class="object-code">{summary}</code></summary>
            <pre tabindex="0">{text}</pre>
        </details>
    }
}
