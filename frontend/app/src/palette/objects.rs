//! The objects of all clusters that match the entered text of the palette.

use drover_rows::Row;
use drover_rows::protocol::ViewSpec;
use drover_rows::search;
use drover_ui_core::kind::Kind;
use drover_ui_core::list::searched::{
    SearchGaps, SkippedCluster, searched_clusters, skipped_clusters,
};
use drover_ui_core::messages::t;
use drover_ui_core::url::with_query;
use drover_ui_kit::icon::Icon;
use leptos::prelude::*;

use super::Command;
use crate::live::Clusters;
use crate::rows::{LiveList, RowConnection};
use crate::unsaved::UnsavedGuard;

/// The number of characters from which the palette searches objects.
const MIN_TYPED: usize = 2;
/// The number of shown objects of each kind.
const SHOWN: usize = 5;
/// The maximum number of searched clusters. The server limits the lists of a page.
const MAX_CLUSTERS: usize = 100;

/// The objects that match the entered text.
#[derive(Clone, Copy)]
pub(super) struct FoundObjects {
    /// The entries of the objects.
    pub(super) entries: Memo<Vec<Command>>,
    /// The clusters whose objects are not all searched, with the reasons.
    pub(super) skipped: Memo<Vec<SkippedCluster>>,
}

/// Searches objects. The server lists objects with the user's permissions, and keeps the lists for a
/// minute after the palette closes.
pub(super) fn objects(typed: RwSignal<String>) -> FoundObjects {
    let lists = RwSignal::new(Vec::<(Kind, LiveList)>::new());
    let clusters = expect_context::<Clusters>();
    let is_search = Memo::new(move |_| typed.with(|typed| typed.trim().len() >= MIN_TYPED));
    Effect::new(move || {
        let found = is_search.get().then(|| subscribe(clusters, typed));
        lists.set(found.unwrap_or_default());
    });
    let entries = Memo::new_with_compare(
        move |_| {
            let text = typed.get();
            let lists = lists.get();
            let entries = lists.iter().flat_map(|(kind, list)| {
                list.known.with(|known| {
                    let rows = known.window().map(|(_, row)| entry(*kind, row));
                    let all = (known.shown > SHOWN).then(|| all_of(*kind, known.shown, &text));
                    rows.chain(all).collect::<Vec<_>>()
                })
            });
            entries.collect()
        },
        |_, _| true,
    );
    let skipped = Memo::new(move |_| {
        if !is_search.get() {
            return Vec::new();
        }
        let items = clusters.items().unwrap_or_default();
        let lists = lists.get();
        let mut gaps = SearchGaps::default();
        for (kind, list) in lists {
            list.known.with(|known| {
                if kind.namespaced {
                    gaps.add_failed(known);
                }
                gaps.add_truncated(known);
            });
            if let Some(problem) = list.refused.get() {
                gaps.add_refused(problem);
            }
        }
        skipped_clusters(&items, MAX_CLUSTERS, &gaps)
    });
    FoundObjects { entries, skipped }
}

fn subscribe(clusters: Clusters, typed: RwSignal<String>) -> Vec<(Kind, LiveList)> {
    let rows = expect_context::<RowConnection>();
    let items = untrack(|| clusters.items().unwrap_or_default());
    let names = searched_clusters(&items, MAX_CLUSTERS);
    let view = Memo::new(move |_| ViewSpec {
        filter: typed.with(|typed| search::filter(typed)),
        sort: "name".to_owned(),
        count: SHOWN,
        ..ViewSpec::default()
    });
    let list = |kind: Kind| {
        let spec = kind.list_of(names.clone(), Vec::new());
        (kind, rows.subscribe(spec, view.into()))
    };
    if names.is_empty() {
        return Vec::new();
    }
    let kinds = search::SEARCHED_KINDS.into_iter();
    kinds
        .filter_map(|kind| Kind::of_plural(kind.plural))
        .map(list)
        .collect()
}

fn entry(kind: Kind, row: &Row) -> Command {
    let guard = expect_context::<UnsavedGuard>();
    let path = kind.object_screen(&row.cluster, row.namespace(), row.name());
    let place = match row.namespace() {
        Some(namespace) => format!("{} · {} / {namespace}", kind.name, row.cluster),
        None => format!("{} · {}", kind.name, row.cluster),
    };
    Command {
        icon: Icon::Terminal,
        title: row.name().to_owned(),
        kind: place,
        run: Callback::new(move |()| guard.go(&path)),
    }
}

/// Returns the entry for the list of all matching objects of a kind.
fn all_of(kind: Kind, count: usize, text: &str) -> Command {
    let guard = expect_context::<UnsavedGuard>();
    let path = with_query(&kind.everywhere_screen(), &[("q", search::filter(text))]);
    Command {
        icon: Icon::Search,
        title: t().palette.all_objects(count, kind.heading),
        kind: t().palette.kind_page().to_owned(),
        run: Callback::new(move |()| guard.go(&path)),
    }
}
