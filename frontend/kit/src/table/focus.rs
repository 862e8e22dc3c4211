//! The keyboard focus of the rows of a table, and the keys of lists.

use drover_ui_core::keys::ListKey;
use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::{Element, Event, FocusOptions, HtmlElement, KeyboardEvent};

use crate::keys::{SingleKeysOn, is_typed};

/// Handles a key of a list, with the key of the focused row. Returns true if the key had an effect.
pub type KeyHandler = Callback<(ListKey, Option<String>), bool>;

/// The focus of the rows of a table. The document contains only the visible rows.
#[derive(Clone, Copy)]
pub(super) struct RowFocus {
    place: NodeRef<html::Div>,
    /// The height of a row in pixels.
    row: RwSignal<f64>,
    count: Memo<usize>,
    /// The index and the key of the row that had the focus last, until the user focuses another
    /// element.
    focused: StoredValue<Option<(usize, String)>>,
    /// The index of the row that gets the focus when the row is rendered.
    goal: RwSignal<Option<usize>>,
}

impl RowFocus {
    pub(super) fn new(place: NodeRef<html::Div>, row: RwSignal<f64>, count: Memo<usize>) -> Self {
        let focus = Self {
            place,
            row,
            count,
            focused: StoredValue::new(None),
            goal: RwSignal::new(None),
        };
        // A press outside the table moves the focus to the page without a focus event.
        let pressed = window_event_listener(leptos::ev::pointerdown, move |_| {
            focus.focused.set_value(None);
        });
        let moved = window_event_listener(leptos::ev::focusin, move |event| {
            let row = element(&event).and_then(|it| focus.row_of(&it));
            let place = row.and_then(|row| Some((index(&row)?, row.get_attribute("data-row")?)));
            focus.focused.set_value(place);
        });
        on_cleanup(move || {
            pressed.remove();
            moved.remove();
        });
        focus
    }

    /// Focuses the wanted row when the row is rendered, and the focused row again when the table
    /// has moved or rendered the row. Browsers remove the focus from a moved element. `track`
    /// subscribes to the values that the table renders.
    pub(super) fn restores(self, track: impl Fn() + 'static) {
        Effect::new(move || {
            track();
            self.goal.track();
            // The rows are rendered before the next frame.
            request_animation_frame(move || self.restore());
        });
    }

    fn restore(self) {
        if let Some(Some(goal)) = self.goal.try_get_untracked() {
            if let Some(row) = self.rows().find(|row| index(row) == Some(goal)) {
                self.goal.set(None);
                focus_row(&row, false);
            }
            return;
        }
        let focused = self.focused.try_get_value().flatten();
        let is_lost = document()
            .active_element()
            .is_none_or(|active| active.tag_name() == "BODY");
        if let Some((_, key)) = focused.filter(|_| is_lost) {
            let mut rows = self.rows();
            let row = rows.find(|row| row.get_attribute("data-row").as_ref() == Some(&key));
            if let Some(row) = row {
                focus_row(&row, true);
            }
        }
    }

    /// Handles keys while no text field, menu or dialog has the focus.
    pub(super) fn listens(self, on_key: Option<KeyHandler>) {
        let single = SingleKeysOn::reader();
        let listening = window_event_listener(leptos::ev::keydown, move |event| {
            let is_other = event.default_prevented() || event.alt_key() || event.meta_key();
            if is_other || is_typed(&event) || has_dialog() {
                return;
            }
            let action = ListKey::of(&event.key(), event.ctrl_key(), single());
            if action.is_some_and(|action| self.acts(action, &event, on_key)) {
                event.prevent_default();
            }
        });
        on_cleanup(move || listening.remove());
    }

    /// Runs the action of a key. Returns true if the key had an effect.
    fn acts(self, action: ListKey, event: &KeyboardEvent, on_key: Option<KeyHandler>) -> bool {
        let target = element(event);
        let row = target.as_ref().and_then(|it| self.row_of(it));
        let is_arrow = event.key().chars().count() > 1;
        match action {
            // The arrow keys scroll the page if no row has the focus. In a table without a handler,
            // only the arrow keys act.
            ListKey::Down | ListKey::Up if is_arrow && row.is_none() => false,
            ListKey::Down | ListKey::Up if !is_arrow && on_key.is_none() => false,
            ListKey::Down => self.moves(row.as_ref(), true),
            ListKey::Up => self.moves(row.as_ref(), false),
            ListKey::First if on_key.is_some() => self.goes(0),
            ListKey::Last if on_key.is_some() => self.goes(usize::MAX),
            // The browser opens links, and presses buttons and checkboxes.
            ListKey::Open if !is_checkbox(target.as_ref()) => false,
            ListKey::Select
                if target.is_some_and(|it| it.matches("button, summary, input") == Ok(true)) =>
            {
                false
            }
            _ => on_key.is_some_and(|on_key| {
                let key = row.and_then(|row| row.get_attribute("data-row"));
                on_key.run((action, key))
            }),
        }
    }

    /// Focuses the next or the previous row. Without a focused row, focuses the row that had the
    /// focus last, or the first visible row.
    fn moves(self, row: Option<&Element>, down: bool) -> bool {
        let next = row.and_then(|row| {
            if down {
                row.next_element_sibling()
            } else {
                row.previous_element_sibling()
            }
        });
        if let Some(next) = next.filter(|next| next.has_attribute("data-row")) {
            return focus_row(&next, false);
        }
        let last = self.focused.with_value(|it| it.as_ref().map(|it| it.0));
        match (row.and_then(index), last) {
            (Some(index), _) if down => self.goes(index + 1),
            (Some(index), _) => self.goes(index.saturating_sub(1)),
            (None, Some(last)) => self.goes(last),
            (None, None) => {
                let row = self.rows().find(|row| self.is_visible(row));
                row.is_some_and(|row| focus_row(&row, false))
            }
        }
    }

    /// Scrolls to a row and focuses the row after it is rendered.
    fn goes(self, index: usize) -> bool {
        let (Some(place), Some(last)) = (
            self.place.get_untracked(),
            self.count.get_untracked().checked_sub(1),
        ) else {
            return false;
        };
        let goal = index.min(last);
        if !self.rows().any(|row| self::index(&row) == Some(goal)) {
            let goal = f64::from(u32::try_from(goal).unwrap_or(u32::MAX));
            // Browsers limit the position to the height of the content.
            place.set_scroll_top(pixels(goal * self.row.get_untracked()));
        }
        self.goal.set(Some(goal));
        true
    }

    fn is_visible(self, row: &Element) -> bool {
        let Some(place) = self.place.get_untracked() else {
            return false;
        };
        let head = self.row.get_untracked();
        row.get_bounding_client_rect().top() >= place.get_bounding_client_rect().top() + head - 1.0
    }

    /// Returns the row of the table that contains an element.
    fn row_of(self, element: &Element) -> Option<Element> {
        let row = element.closest("tr[data-row]").ok().flatten()?;
        let place = self.place.try_get_untracked().flatten()?;
        place.contains(Some(&row)).then_some(row)
    }

    /// Returns the rendered rows.
    fn rows(self) -> impl Iterator<Item = Element> {
        let place = self.place.try_get_untracked().flatten();
        let rows = place.and_then(|place| place.query_selector_all("tr[data-row]").ok());
        let count = rows.as_ref().map_or(0, web_sys::NodeList::length);
        (0..count).filter_map(move |at| rows.as_ref()?.item(at)?.dyn_into().ok())
    }
}

fn element(event: &Event) -> Option<Element> {
    event.target().and_then(|it| it.dyn_into::<Element>().ok())
}

fn has_dialog() -> bool {
    let dialog = document().query_selector("dialog[open]");
    dialog.is_ok_and(|dialog| dialog.is_some())
}

fn is_checkbox(target: Option<&Element>) -> bool {
    target.is_some_and(|it| it.matches("input[type=checkbox]") == Ok(true))
}

/// Returns the index of a row. The heading has the ARIA index 1.
fn index(row: &Element) -> Option<usize> {
    let index: usize = row.get_attribute("aria-rowindex")?.parse().ok()?;
    index.checked_sub(2)
}

/// Focuses the link of a row, or its checkbox. Returns false if the row has neither.
fn focus_row(row: &Element, prevent_scroll: bool) -> bool {
    let find = |selector| row.query_selector(selector).ok().flatten();
    let target = find("a").or_else(|| find("input"));
    let Some(target) = target.and_then(|it| it.dyn_into::<HtmlElement>().ok()) else {
        return false;
    };
    let options = FocusOptions::new();
    options.set_prevent_scroll(prevent_scroll);
    // The row can be disposed before the focus moves.
    target.focus_with_options(&options).is_ok()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the conversion saturates, and browsers limit the position"
)]
fn pixels(value: f64) -> i32 {
    value as i32
}
