//! Restores the scroll position of a list when the user navigates back. The browser cannot restore
//! the position, because the list scrolls in an element and its rows load later.

use std::collections::VecDeque;
use std::time::Duration;

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::{Element, Event};

use crate::unsaved::listen_first;

/// The CSS selectors of the elements that scroll.
const SCROLLERS: &str = ".main, .table-scroll";
/// The maximum number of screens whose positions are stored.
const MAX_SCREENS: usize = 50;
/// The time limit for restoring a position. The page retries until the rows of a list appear.
const RESTORE_WITHIN: Duration = Duration::from_secs(5);
const RETRY_EVERY: Duration = Duration::from_millis(50);

/// Scroll offsets in pixels, in the order of the elements in the page.
type Offsets = Vec<i32>;

#[derive(Clone, Copy)]
struct Scrolled {
    /// The offsets by URL, oldest entry first.
    screens: StoredValue<VecDeque<(String, Offsets)>>,
    /// The offsets that the page is restoring; `None` while the user scrolls.
    restoring: StoredValue<Option<Offsets>>,
    /// The number of remaining retries.
    retries: StoredValue<u128>,
}

/// Stores the positions until the reactive owner is cleaned up.
pub(super) fn keep() {
    let scrolled = Scrolled {
        screens: StoredValue::new(VecDeque::new()),
        restoring: StoredValue::new(None),
        retries: StoredValue::new(0),
    };
    // Scroll events do not bubble, so the listener captures them.
    listen_first(window().into(), "scroll", move |_: Event| scrolled.record());
    for name in ["wheel", "pointerdown", "keydown", "touchstart"] {
        listen_first(window().into(), name, move |_: Event| {
            scrolled.restoring.set_value(None);
        });
    }
    let back = window_event_listener(ev::popstate, move |_| scrolled.restore());
    on_cleanup(move || back.remove());
}

impl Scrolled {
    fn record(self) {
        if self.restoring.with_value(Option::is_some) {
            return;
        }
        let (url, offsets) = (url(), scrollers().iter().map(Element::scroll_top).collect());
        self.screens.update_value(|screens| {
            screens.retain(|(known, _)| *known != url);
            screens.push_back((url, offsets));
            if screens.len() > MAX_SCREENS {
                screens.pop_front();
            }
        });
    }

    fn restore(self) {
        let url = url();
        let kept = self.screens.with_value(|screens| {
            let mut screens = screens.iter();
            let kept = screens.find(|(known, _)| *known == url);
            kept.map(|(_, offsets)| offsets.clone())
        });
        self.restoring.set_value(kept);
        let retries = RESTORE_WITHIN.as_millis() / RETRY_EVERY.as_millis();
        self.retries.set_value(retries);
        self.retry();
    }

    /// Scrolls the elements to the stored offsets. Retries until the rows exist or the time limit
    /// expires.
    fn retry(self) {
        set_timeout(
            move || {
                // The frame is disposed after a sign-out.
                let Some(Some(target)) = self.restoring.try_get_value() else {
                    return;
                };
                let remaining = self.retries.get_value();
                if remaining == 0 || scroll_to(&target) {
                    self.restoring.set_value(None);
                } else {
                    self.retries.set_value(remaining - 1);
                    self.retry();
                }
            },
            RETRY_EVERY,
        );
    }
}

/// Scrolls the elements. Returns true if each element reached its offset.
fn scroll_to(target: &[i32]) -> bool {
    let scrollers = scrollers();
    for (element, offset) in scrollers.iter().zip(target) {
        if element.scroll_top() != *offset {
            element.set_scroll_top(*offset);
        }
    }
    let mut reached = scrollers.iter().zip(target);
    scrollers.len() >= target.len() && reached.all(|(element, at)| element.scroll_top() == *at)
}

fn scrollers() -> Vec<Element> {
    let Ok(found) = document().query_selector_all(SCROLLERS) else {
        return Vec::new();
    };
    let found = (0..found.length()).filter_map(|place| found.get(place));
    found.filter_map(|node| node.dyn_into().ok()).collect()
}

fn url() -> String {
    window().location().href().unwrap_or_default()
}
