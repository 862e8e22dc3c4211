//! The actions of the keys of a list.

use drover_ui_core::action::{Action, ObjectKey, bulk_actions};
use drover_ui_core::keys::ListKey;
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_core::object::runs_pods;
use drover_ui_core::selection::{MAX_SELECTED, Selection};
use drover_ui_kit::table::KeyHandler;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use crate::keys::KeysHelp;
use crate::palette::PaletteOpen;
use crate::screens::bulk::BulkRequest;
use crate::screens::object::has_terminal;
use crate::unsaved::UnsavedGuard;

/// Returns the handler for the keys of a list.
pub(super) fn list_keys(
    kind: Kind,
    selection: RwSignal<Selection>,
    chosen: RwSignal<Option<BulkRequest>>,
) -> KeyHandler {
    let (guard, toasts) = (expect_context::<UnsavedGuard>(), expect_context::<Toasts>());
    let (palette, help) = (
        expect_context::<PaletteOpen>(),
        expect_context::<KeysHelp>(),
    );
    let go = move |key: Option<ObjectKey>, query: &str| {
        key.is_some_and(|key| {
            guard.go(&format!("{}{query}", key.screen(kind)));
            true
        })
    };
    // The action applies to the selected objects, or to the object of the row.
    let act = move |action: Action, key: Option<ObjectKey>| {
        let selected = selection.with_untracked(|it| BulkRequest::of_selection(action, it));
        let keys = if selected.keys.is_empty() {
            key.into_iter().collect()
        } else {
            selected.keys
        };
        let is_possible = !keys.is_empty() && bulk_actions(kind).contains(&action);
        if is_possible && keys.len() > MAX_SELECTED {
            toasts.warn(t().bulk.too_many(MAX_SELECTED));
        } else if is_possible {
            chosen.set(Some(BulkRequest { action, keys }));
        }
        is_possible
    };
    Callback::new(move |(action, row): (ListKey, Option<String>)| {
        let key = row.as_deref().and_then(ObjectKey::parse);
        match action {
            ListKey::Open | ListKey::Describe => go(key, ""),
            ListKey::Yaml => go(key, "?tab=yaml"),
            ListKey::Edit => go(key, "?tab=yaml&edit=yes"),
            ListKey::Logs if runs_pods(kind) => go(key, "?tab=logs"),
            ListKey::Shell if has_terminal(kind) => go(key, "?tab=terminal"),
            ListKey::Delete => act(Action::Delete, key),
            ListKey::Restart => act(Action::Restart, key),
            ListKey::Select => row.is_some_and(|row| {
                selection.update(|selection| {
                    let is_selected = selection.contains(&row);
                    selection.set(&row, !is_selected);
                });
                true
            }),
            ListKey::Clear => {
                let has_rows = !selection.with_untracked(Selection::is_empty);
                if has_rows {
                    selection.update(Selection::clear);
                }
                has_rows
            }
            ListKey::Palette => {
                palette.open();
                true
            }
            ListKey::Help => {
                help.open();
                true
            }
            // The table moves the focus, and the filter focuses itself.
            ListKey::Logs
            | ListKey::Shell
            | ListKey::Down
            | ListKey::Up
            | ListKey::First
            | ListKey::Last
            | ListKey::Filter => false,
        }
    })
}
