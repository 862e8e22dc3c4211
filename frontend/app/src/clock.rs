//! The current time, date formats, timers and random numbers of the browser.

use std::time::Duration;

use drover_ui_core::messages::{LocalTime, language};
use futures::channel::oneshot;
use jiff::Timestamp;
use leptos::prelude::*;

/// The interval at which shown ages are updated.
const TICK: Duration = Duration::from_secs(10);

/// The current time, updated every [`TICK`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(RwSignal<Timestamp>);

impl Clock {
    /// Starts the clock of the page.
    pub(crate) fn provide() {
        let clock = Self(RwSignal::new(now()));
        let ticking = set_interval_with_handle(move || clock.0.set(now()), TICK);
        on_cleanup(move || {
            if let Ok(ticking) = ticking {
                ticking.clear();
            }
        });
        provide_context(clock);
    }

    /// Returns the current time and subscribes the caller to updates.
    pub(crate) fn now(self) -> Timestamp {
        self.0.get()
    }
}

/// Returns the current time of the browser.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the browser reports whole milliseconds that fit an i64"
)]
pub(crate) fn now() -> Timestamp {
    Timestamp::from_millisecond(js_sys::Date::now() as i64).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Formats the time of day in the browser's time zone: `14:03:59`.
pub(crate) fn time_of_day(at: Timestamp) -> LocalTime {
    let date = local(at);
    let (hours, minutes) = (date.get_hours(), date.get_minutes());
    LocalTime::new(format!("{hours:02}:{minutes:02}:{:02}", date.get_seconds()))
}

/// Formats hours and minutes in the browser's time zone: `14:03`.
pub(crate) fn minute(at: Timestamp) -> LocalTime {
    let date = local(at);
    LocalTime::new(format!("{:02}:{:02}", date.get_hours(), date.get_minutes()))
}

/// Formats the date in the language of the page.
pub(crate) fn date(at: Timestamp) -> LocalTime {
    let options = wasm_bindgen::JsValue::UNDEFINED;
    let text = local(at).to_locale_date_string(&locale(), &options);
    LocalTime::new(text.into())
}

/// Formats date and time in the language of the page. Uses the browser's locale if the locale has
/// the language of the page.
pub(crate) fn in_full(at: Timestamp) -> LocalTime {
    let options = wasm_bindgen::JsValue::UNDEFINED;
    let text = local(at).to_locale_string(&locale(), &options);
    LocalTime::new(text.into())
}

/// Returns the browser's locale, such as `en-GB`, if its language is the language of the page. The
/// locale determines the order of day and month, and the 12-hour or 24-hour clock.
fn locale() -> String {
    let tag = language().tag();
    let browser = window().navigator().language();
    browser
        .filter(|locale| locale.split('-').next() == Some(tag))
        .unwrap_or_else(|| tag.to_owned())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds since 1970 fit the 53 bits of an f64"
)]
fn local(at: Timestamp) -> js_sys::Date {
    js_sys::Date::new(&wasm_bindgen::JsValue::from_f64(at.as_millisecond() as f64))
}

pub(crate) async fn sleep(duration: Duration) {
    let (done, waiting) = oneshot::channel::<()>();
    set_timeout(
        move || {
            // The receiver can be dropped before the timer ends.
            let _ = done.send(());
        },
        duration,
    );
    // The timer always sends before it is dropped.
    let _ = waiting.await;
}

/// Returns a random number between 0 and 1.
pub(crate) fn chance() -> f64 {
    js_sys::Math::random()
}
