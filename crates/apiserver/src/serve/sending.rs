//! Answers that are made and not yet taken: a client that asks for much and reads nothing is
//! refused more of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::response::Response;
use http_body_util::BodyExt as _;
use parking_lot::Mutex;

use super::answer;
use crate::status::ApiError;

/// Bytes of answers that wait for one caller.
const OF_CALLER: usize = 256 << 20;
/// Bytes of answers that wait for all callers.
const OF_ALL: usize = 1 << 30;
/// Answers up to this are not counted.
const SMALL: usize = 64 * 1024;

/// The answers of all callers. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sending(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    all: usize,
    by_caller: BTreeMap<Arc<str>, usize>,
}

/// Bytes that wait for a caller; no longer when dropped.
#[derive(Debug)]
pub(crate) struct Held {
    state: Arc<Mutex<State>>,
    caller: Arc<str>,
    bytes: usize,
}

impl Sending {
    /// Counts bytes that wait for a caller.
    ///
    /// # Errors
    /// 429 if too many wait already. One answer alone is never too large.
    pub(crate) fn hold(&self, caller: &str, bytes: usize) -> Result<Held, ApiError> {
        let mut state = self.0.lock();
        let own = state.by_caller.get(caller).copied().unwrap_or(0);
        let is_too_much = own > 0 && own.saturating_add(bytes) > OF_CALLER
            || state.all > 0 && state.all.saturating_add(bytes) > OF_ALL;
        if is_too_much {
            return Err(ApiError::too_many_requests(
                "too many answers wait to be read, please read them first",
                1,
            ));
        }
        let caller: Arc<str> = caller.into();
        state.all += bytes;
        state.by_caller.insert(Arc::clone(&caller), own + bytes);
        Ok(Held {
            state: Arc::clone(&self.0),
            caller,
            bytes,
        })
    }

    /// Counts an answer for as long as it is not sent, or refuses it.
    pub(crate) fn guard(&self, caller: &str, response: Response) -> Response {
        let exact = response.body().size_hint().exact();
        let Some(bytes) = exact.and_then(|bytes| usize::try_from(bytes).ok()) else {
            return response;
        };
        if bytes <= SMALL {
            return response;
        }
        match self.hold(caller, bytes) {
            // The body keeps what it is mapped with, and its length.
            Ok(held) => response.map(|body| {
                Body::new(body.map_err(move |error| {
                    let _until_it_is_dropped = &held;
                    error
                }))
            }),
            Err(error) => answer::status(&error),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        state.all -= self.bytes;
        if let Some(own) = state.by_caller.get_mut(&self.caller) {
            *own -= self.bytes;
            if *own == 0 {
                state.by_caller.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn large() -> Response {
        answer::text(StatusCode::OK, vec![b'x'; OF_CALLER / 2])
    }

    #[test]
    fn who_reads_no_answers_gets_no_more_of_them() {
        let sending = Sending::default();
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
    fn one_answer_is_never_too_large_by_itself() {
        let sending = Sending::default();
        let alone = sending.hold("a", 2 * OF_ALL).unwrap();
        assert!(sending.hold("b", 1).is_err());
        drop(alone);
        assert!(sending.hold("b", 1).is_ok());
    }
}
