//! Limits on memory per caller: unsent responses, initial objects of watches, and request bodies. A
//! request above the limit receives 429.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
pub(crate) struct MemoryLimiter(Arc<State>);

#[derive(Debug)]
struct State {
    limit: ByteLimit,
    all: AtomicUsize,
    /// The counters of callers. A [`CountedBytes`] holds its caller's counter, so that it changes
    /// the number without this lock.
    by_caller: Mutex<BTreeMap<Arc<str>, CallerCounter>>,
}

#[derive(Debug, Default)]
struct CallerCounter {
    bytes: Arc<AtomicUsize>,
    /// The number of [`CountedBytes`] that hold the counter.
    holders: usize,
}

/// Counted bytes of a caller, released on drop.
#[derive(Debug)]
pub(crate) struct CountedBytes {
    state: Arc<State>,
    caller: Arc<str>,
    own: Arc<AtomicUsize>,
    bytes: usize,
}

impl MemoryLimiter {
    pub(crate) fn new(limit: ByteLimit) -> Self {
        Self(Arc::new(State {
            limit,
            all: AtomicUsize::new(0),
            by_caller: Mutex::default(),
        }))
    }

    /// Counts bytes of a caller.
    ///
    /// # Errors
    ///
    /// Returns 429 if the limit is exceeded. If no bytes of the caller are counted yet, one
    /// response can exceed the limit.
    pub(crate) fn hold(&self, caller: &str, bytes: usize) -> Result<CountedBytes, ApiError> {
        let (caller, own) = self.0.hold(caller);
        let mut reserved = CountedBytes {
            state: Arc::clone(&self.0),
            caller,
            own,
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
    /// Returns 429 if growth exceeds the limit. The number of counted bytes is then 0.
    pub(crate) fn resize(&mut self, bytes: usize) -> Result<(), ApiError> {
        let before = self.bytes;
        self.settle(bytes);
        // The bytes are counted before the check, so that concurrent requests cannot exceed the
        // limit together.
        if bytes > before && self.is_too_much() {
            self.settle(0);
            return Err(ApiError::too_many_requests(
                "too many open responses contain unread data; read the responses first",
                1,
            ));
        }
        Ok(())
    }

    /// Changes the number of counted bytes without a limit, because the bytes are already in
    /// memory.
    pub(crate) fn settle(&mut self, bytes: usize) {
        for counter in [&self.state.all, &*self.own] {
            if bytes > self.bytes {
                counter.fetch_add(bytes - self.bytes, Ordering::Relaxed);
            } else if bytes < self.bytes {
                counter.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
            }
        }
        self.bytes = bytes;
    }

    /// Reports whether the counted bytes exceed a limit. If no other bytes are counted, these bytes
    /// can exceed the limit.
    fn is_too_much(&self) -> bool {
        let exceeds = |counter: &AtomicUsize, limit: usize| {
            let all = counter.load(Ordering::Relaxed);
            all > self.bytes && all > limit
        };
        let limit = self.state.limit;
        exceeds(&self.own, limit.of_caller) || exceeds(&self.state.all, limit.of_all)
    }
}

impl State {
    /// Returns the counter of a caller. The caller of this method must release the counter.
    fn hold(&self, caller: &str) -> (Arc<str>, Arc<AtomicUsize>) {
        let mut all = self.by_caller.lock();
        let caller = match all.get_key_value(caller) {
            Some((caller, _)) => Arc::clone(caller),
            None => caller.into(),
        };
        let counter = all.entry(Arc::clone(&caller)).or_default();
        counter.holders += 1;
        (caller, Arc::clone(&counter.bytes))
    }

    fn release(&self, caller: &str) {
        let mut all = self.by_caller.lock();
        if let Some(counter) = all.get_mut(caller) {
            counter.holders -= 1;
            if counter.holders == 0 {
                all.remove(caller);
            }
        }
    }
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        self.settle(0);
        self.state.release(&self.caller);
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
        assert!(sending.0.by_caller.lock().is_empty());
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
            sending.0.all.load(Ordering::Relaxed),
            100 << 10,
            "the rejected resize counts no bytes"
        );
        one.resize(150 << 10).unwrap();
        two.resize(10 << 10).unwrap();
        assert_eq!(sending.0.all.load(Ordering::Relaxed), 160 << 10);
        drop((one, two));
        assert_eq!(sending.0.all.load(Ordering::Relaxed), 0);
        assert!(sending.0.by_caller.lock().is_empty());
    }
}
