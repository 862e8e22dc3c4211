//! Numbers of requests, so that an earlier response does not replace a later response.

use leptos::prelude::*;

/// The number of the last request for a value of a screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LatestRequest(StoredValue<u64>);

impl LatestRequest {
    /// Creates the number of a value that the screen has not requested.
    pub(crate) fn new() -> Self {
        Self(StoredValue::new(0))
    }

    /// Returns the number of a new request.
    pub(crate) fn begin(self) -> u64 {
        self.0.update_value(|number| *number += 1);
        self.0.get_value()
    }

    /// Reports whether no later request exists and the screen still exists.
    pub(crate) fn is_latest(self, number: u64) -> bool {
        self.0.try_get_value() == Some(number)
    }

    /// Reports whether the screen still exists.
    pub(crate) fn is_open(self) -> bool {
        self.0.try_get_value().is_some()
    }
}
