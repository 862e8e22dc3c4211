//! A view of long texts, such as logs and manifests, with virtual scrolling.

use drover_ui_core::window::Window;
use leptos::html;
use leptos::prelude::*;

/// The height of a row, in pixels. The style sheet has the same value (`--line-row`).
const ROW_PIXELS: f64 = 20.0;
/// The assumed size before the first measurement.
const INITIAL_VIEWPORT: Viewport = Viewport {
    scrolled: 0.0,
    tall: 600.0,
    columns: 100,
};
/// The text with which the view measures the width of a character.
const PROBE: &str = "0000000000000000000000000000000000000000";

#[derive(Clone, Copy, Debug, PartialEq)]
struct Viewport {
    scrolled: f64,
    tall: f64,
    columns: usize,
}

/// The scroll position and the size of a text view.
#[derive(Clone, Copy, Debug)]
pub struct Scroll {
    place: NodeRef<html::Div>,
    probe: NodeRef<html::Span>,
    sight: RwSignal<Viewport>,
    at_end: RwSignal<bool>,
    columns: Memo<usize>,
}

impl Default for Scroll {
    fn default() -> Self {
        let sight = RwSignal::new(INITIAL_VIEWPORT);
        Self {
            place: NodeRef::new(),
            probe: NodeRef::new(),
            sight,
            at_end: RwSignal::new(true),
            columns: Memo::new(move |_| sight.get().columns),
        }
    }
}

impl Scroll {
    /// Returns the number of characters per row. The caller subscribes to changes.
    pub fn columns(self) -> usize {
        self.columns.get()
    }

    /// Reports whether the view follows the end of the text.
    pub fn is_at_end(self) -> bool {
        self.at_end.get()
    }

    /// Scrolls a row into the middle and stops following the end.
    pub fn show_row(self, row: usize) {
        self.at_end.set(false);
        if let Some(place) = self.place.get_untracked() {
            let rows = f64::from(u32::try_from(row).unwrap_or(u32::MAX));
            let above = rows * ROW_PIXELS - f64::from(place.client_height()) / 2.0;
            place.set_scroll_top(pixels(above));
            self.look();
        }
    }

    /// Scrolls to the end after the next rendering.
    pub fn show_end(self) {
        self.at_end.set(true);
        request_animation_frame(move || {
            if let Some(place) = self.place.get_untracked() {
                place.set_scroll_top(place.scroll_height());
                self.look();
            }
        });
    }

    fn look(self) {
        let (Some(place), Some(probe)) = (self.place.get_untracked(), self.probe.get_untracked())
        else {
            return;
        };
        let letters = f64::from(u32::try_from(PROBE.len()).unwrap_or(1));
        let letter = probe.get_bounding_client_rect().width() / letters;
        let wide = f64::from(place.client_width());
        let columns = if letter > 0.0 {
            usize::try_from(pixels(wide / letter)).unwrap_or_default()
        } else {
            INITIAL_VIEWPORT.columns
        };
        let sight = Viewport {
            scrolled: f64::from(place.scroll_top()),
            tall: f64::from(place.client_height()).max(ROW_PIXELS),
            columns,
        };
        if self.sight.get_untracked() != sight {
            self.sight.set(sight);
        }
    }

    /// Updates the state after scrolling and after changes of rows.
    fn scrolled(self) {
        let Some(place) = self.place.get_untracked() else {
            return;
        };
        let top = f64::from(place.scroll_top());
        let below = place.scroll_height() - place.scroll_top() - place.client_height();
        let near = f64::from(below) < 1.5 * ROW_PIXELS;
        // New rows also increase the distance to the end, without scrolling by the user.
        let went_up = top < self.sight.get_untracked().scrolled - 1.0;
        let at_end = near || (self.at_end.get_untracked() && !went_up);
        if self.at_end.get_untracked() != at_end {
            self.at_end.set(at_end);
        }
        self.look();
    }
}

/// Rounds a number to whole pixels. The result for negative numbers is 0.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the value is clamped to the range of the type"
)]
fn pixels(value: f64) -> i32 {
    value.clamp(0.0, f64::from(i32::MAX)) as i32
}

/// Returns a version number that increases when a signal read by `track` changes.
pub fn look(track: impl Fn() + Send + Sync + 'static) -> Memo<u64> {
    Memo::new(move |last: Option<&u64>| {
        track();
        last.copied().unwrap_or_default() + 1
    })
}

/// The identity of a row: the line number, the index of the row in the line, and the version of the
/// style.
pub type RowKey = (u64, usize, u64);

/// Shows rows of text in a fixed-width font. The view renders a row again only if the key of the
/// row changes.
#[component]
pub fn Sheet(
    /// The scroll position of the view.
    scroll: Scroll,
    /// The accessible name of the view.
    #[prop(into)]
    label: Signal<String>,
    /// The ARIA role: `log` or `region`.
    #[prop(default = "region")]
    role: &'static str,
    /// True if screen readers announce new rows.
    #[prop(optional, into)]
    is_read_out: Signal<bool>,
    /// The number of rows.
    #[prop(into)]
    rows: Signal<usize>,
    /// The number of characters in the longest row.
    #[prop(into)]
    widest: Signal<usize>,
    /// Returns the key of a row.
    #[prop(into)]
    key: Callback<usize, RowKey>,
    /// Renders a row.
    #[prop(into)]
    draw: Callback<usize, AnyView>,
) -> impl IntoView {
    Effect::new(move || {
        scroll.place.track();
        scroll.look();
    });
    let resized = window_event_listener(leptos::ev::resize, move |_| scroll.look());
    on_cleanup(move || resized.remove());
    let count = Memo::new(move |_| rows.get());
    let window = Memo::new(move |_| {
        let sight = scroll.sight.get();
        Window::at(sight.scrolled, sight.tall, ROW_PIXELS, count.get())
    });
    let seen = move || {
        let Window { first, end } = window.get();
        (first..end)
            .map(|row| (row, key.run(row)))
            .collect::<Vec<_>>()
    };
    let padding = move |which: fn((f64, f64)) -> f64| {
        let padding = window.get().padding(ROW_PIXELS, count.get());
        format!("{}px", which(padding))
    };
    view! {
        <div
            class="text-view"
            node_ref=scroll.place
            role=role
            aria-label=label
            aria-live=move || if is_read_out.get() { "polite" } else { "off" }
            tabindex="0"
            on:scroll=move |_| scroll.scrolled()
        >
            <span class="text-probe" aria-hidden="true" node_ref=scroll.probe>{PROBE}</span>
            <div class="text-rows" style:min-width=move || format!("max(100%, {}ch)", widest.get())>
                <div aria-hidden="true" style:height=move || padding(|it| it.0)></div>
                <For each=seen key=|(_, key)| *key let((row, _))>
                    {draw.run(row)}
                </For>
                <div aria-hidden="true" style:height=move || padding(|it| it.1)></div>
            </div>
        </div>
    }
}
