//! The checkboxes that select rows of a table.

use drover_ui_core::messages::t;
use drover_ui_core::selection::{SelectedShare, Selection};
use leptos::prelude::*;
use web_sys::MouseEvent;

/// Renders the checkbox of a row. A click with Shift selects a range.
pub(super) fn row_box(
    key: String,
    name: Signal<String>,
    order: Memo<Vec<String>>,
    selection: RwSignal<Selection>,
) -> impl IntoView {
    let of = key.clone();
    let chosen = move || selection.with(|selection| selection.contains(&of));
    let click = move |event: MouseEvent| {
        let chosen = event_target_checked(&event);
        selection.update(|selection| {
            if event.shift_key() {
                order.with_untracked(|order| selection.reach(order, &key, chosen));
            } else {
                selection.set(&key, chosen);
            }
        });
    };
    view! {
        <td class="table-checkbox">
            <label>
                <input type="checkbox" prop:checked=chosen on:click=click/>
                <span class="visually-hidden">{move || t().kit.select_row(&name.get())}</span>
            </label>
        </td>
    }
}

/// Renders the checkbox that selects all listed rows.
pub(super) fn all_box(order: Memo<Vec<String>>, selection: RwSignal<Selection>) -> impl IntoView {
    let part = Memo::new(move |_| order.with(|order| selection.with(|it| it.part(order))));
    let change = move |event| {
        let chosen = event_target_checked(&event);
        order.with_untracked(|order| selection.update(|it| it.set_all(order, chosen)));
    };
    view! {
        <th scope="col" class="table-checkbox">
            <label>
                <input
                    type="checkbox"
                    prop:checked=move || part.get() == SelectedShare::All
                    prop:indeterminate=move || part.get() == SelectedShare::Some
                    on:change=change
                />
                <span class="visually-hidden">{move || t().kit.select_all_rows(order.with(Vec::len))}</span>
            </label>
        </th>
    }
}
