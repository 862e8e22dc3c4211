//! Limits on memory per caller: unsent responses, initial objects of watches, and request bodies. A
//! request above the limit receives 429.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::response::Response;
use http_body_util::BodyExt as _;
use parking_lot::Mutex;

use crate::serve::answer;
use crate::status::ApiError;

/// Responses up to this size, in bytes, do not count toward the memory limit.
const COUNTED_FROM_BYTES: usize = 64 * 1024;

/// A memory limit per caller and in total, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteLimit {
    /// Maximum number of bytes for one caller.
    pub of_caller: usize,
    /// Maximum number of bytes for all callers together.
    pub of_all: usize,
}

/// Limits on the memory of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryBounds {
    /// The memory limit for unsent responses. Responses of at most 64 KiB do not count.
    pub answers: ByteLimit,
    /// The memory limit for the initial objects and the unsent events of watches.
    pub watches: ByteLimit,
    /// The memory limit for request bodies.
    pub bodies: ByteLimit,
}

impl Default for MemoryBounds {
    /// Returns limits that are suitable for a process with a few GiB of memory.
    fn default() -> Self {
        let large = ByteLimit {
            of_caller: 256 << 20,
            of_all: 1 << 30,
        };
        Self {
            answers: large,
            watches: large,
            bodies: ByteLimit {
                of_caller: 128 << 20,
                of_all: 512 << 20,
            },
        }
    }
}

/// Counts the bytes of one type of memory. Clones share the counters.
#[derive(Debug, Clone)]
pub(crate) struct MemoryLimiter(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    limit: ByteLimit,
    all: usize,
    by_caller: BTreeMap<Arc<str>, usize>,
}

/// Counted bytes of a caller, released on drop.
#[derive(Debug)]
pub(crate) struct CountedBytes {
    state: Arc<Mutex<State>>,
    caller: Arc<str>,
    bytes: usize,
}

impl MemoryLimiter {
    pub(crate) fn new(limit: ByteLimit) -> Self {
        Self(Arc::new(Mutex::new(State {
            limit,
            all: 0,
            by_caller: BTreeMap::new(),
        })))
    }

    /// Counts bytes of a caller.
    ///
    /// # Errors
    ///
    /// Returns 429 if the limit is exceeded. If no bytes of the caller are counted yet, one
    /// response can exceed the limit.
    pub(crate) fn hold(&self, caller: &str, bytes: usize) -> Result<CountedBytes, ApiError> {
        let mut reserved = CountedBytes {
            state: Arc::clone(&self.0),
            caller: caller.into(),
            bytes: 0,
        };
        reserved.resize(bytes)?;
        Ok(reserved)
    }

    /// Counts the bytes of a response until the response is sent. Above the limit, returns a 429
    /// response instead.
    pub(crate) fn guard(&self, caller: &str, response: Response) -> Response {
        let exact = response.body().size_hint().exact();
        let Some(bytes) = exact.and_then(|bytes| usize::try_from(bytes).ok()) else {
            return response;
        };
        if bytes <= COUNTED_FROM_BYTES {
            return response;
        }
        match self.hold(caller, bytes) {
            // The body owns the counter. Its length is unchanged.
            Ok(reserved) => response.map(|body| {
                Body::new(body.map_err(move |error| {
                    let _until_it_is_dropped = &reserved;
                    error
                }))
            }),
            Err(error) => answer::status(&error),
        }
    }
}

impl CountedBytes {
    /// Changes the number of counted bytes.
    ///
    /// # Errors
    ///
    /// Returns 429 if growth exceeds the limit. The number of counted bytes then stays unchanged.
    pub(crate) fn resize(&mut self, bytes: usize) -> Result<(), ApiError> {
        let before = self.bytes;
        self.settle(0);
        if bytes > before {
            self.state.lock().check(&self.caller, bytes)?;
        }
        self.settle(bytes);
        Ok(())
    }

    /// Changes the number of counted bytes without a limit, because the bytes are already in
    /// memory.
    pub(crate) fn settle(&mut self, bytes: usize) {
        let mut state = self.state.lock();
        state.release(&self.caller, self.bytes);
        state.take(&self.caller, bytes);
        self.bytes = bytes;
    }
}

impl State {
    fn check(&self, caller: &str, bytes: usize) -> Result<(), ApiError> {
        let own = self.by_caller.get(caller).copied().unwrap_or(0);
        let is_too_much = own > 0 && own.saturating_add(bytes) > self.limit.of_caller
            || self.all > 0 && self.all.saturating_add(bytes) > self.limit.of_all;
        if is_too_much {
            return Err(ApiError::too_many_requests(
                "too many open responses contain unread data; read the responses first",
                1,
            ));
        }
        Ok(())
    }

    fn take(&mut self, caller: &Arc<str>, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.all += bytes;
        match self.by_caller.get_mut(caller) {
            Some(own) => *own += bytes,
            None => {
                self.by_caller.insert(Arc::clone(caller), bytes);
            }
        }
    }

    fn release(&mut self, caller: &str, bytes: usize) {
        self.all -= bytes;
        if let Some(own) = self.by_caller.get_mut(caller) {
            *own -= bytes;
            if *own == 0 {
                self.by_caller.remove(caller);
            }
        }
    }
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        self.state.lock().release(&self.caller, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    const LIMIT: ByteLimit = ByteLimit {
        of_caller: 256 << 10,
        of_all: 1 << 20,
    };

    fn large() -> Response {
        answer::text(StatusCode::OK, vec![b'x'; LIMIT.of_caller / 2])
    }

    #[test]
    fn caller_with_many_unread_responses_receives_429() {
        let sending = MemoryLimiter::new(LIMIT);
        let one = sending.guard("greedy", large());
        let two = sending.guard("greedy", large());
        assert_eq!(
            (one.status(), two.status()),
            (StatusCode::OK, StatusCode::OK)
        );
        let three = sending.guard("greedy", large());
        assert_eq!(three.status(), StatusCode::TOO_MANY_REQUESTS);
        let small = answer::text(StatusCode::OK, "x");
        assert_eq!(sending.guard("greedy", small).status(), StatusCode::OK);
        assert_eq!(sending.guard("modest", large()).status(), StatusCode::OK);
        drop(one);
        assert_eq!(sending.guard("greedy", large()).status(), StatusCode::OK);
        drop(two);
        assert!(sending.0.lock().by_caller.is_empty());
    }

    #[test]
    fn single_response_above_the_memory_limit_is_sent() {
        let sending = MemoryLimiter::new(LIMIT);
        let alone = sending.hold("a", 2 * LIMIT.of_all).unwrap();
        assert!(sending.hold("b", 1).is_err());
        drop(alone);
        assert!(sending.hold("b", 1).is_ok());
    }
    #[test]
    fn resized_memory_reservation_is_counted_once_and_cannot_exceed_the_limit() {
        let sending = MemoryLimiter::new(LIMIT);
        let mut one = sending.hold("a", 100 << 10).unwrap();
        let mut two = sending.hold("a", 100 << 10).unwrap();
        one.resize(200 << 10).unwrap_err();
        assert_eq!(
            sending.0.lock().all,
            100 << 10,
            "the rejected resize counts no bytes"
        );
        one.resize(150 << 10).unwrap();
        two.resize(10 << 10).unwrap();
        assert_eq!(sending.0.lock().all, 160 << 10);
        drop((one, two));
        assert_eq!(sending.0.lock().all, 0);
        assert!(sending.0.lock().by_caller.is_empty());
    }
}
