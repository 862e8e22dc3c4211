//! The hot path of watches: distribution of events to many watchers.

use std::hint::black_box;

use drover_apiserver::store::FanOut;

use crate::work::Work;

const WATCHERS: usize = 200;
const EVENTS: u64 = 20;

pub(crate) fn watch_fan_out() -> Work {
    // The measured run must not include the preparation.
    let mut prepared = [(); 2].map(|()| FanOut::new(WATCHERS, EVENTS)).into_iter();
    Box::new(move || {
        if let Some(fan_out) = prepared.next() {
            black_box(fan_out.run());
        }
    })
}
