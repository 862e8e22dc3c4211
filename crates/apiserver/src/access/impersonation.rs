//! Requests in another's name: the `Impersonate-*` headers.
//!
//! Since v1.36 a right can be constrained to what is done in the other's name (KEP-5284): the
//! constrained modes are asked first, then the plain verb `impersonate`.

mod headers;
mod mode;

use std::collections::HashMap;

use http::HeaderMap;
use parking_lot::Mutex;

use self::mode::Mode;
use super::{Attributes, Authorizer, Caller};
use crate::status::ApiError;

/// Requestors whose last mode is remembered.
const REMEMBERED: usize = 10_000;

/// Decides who may act in whose name.
#[derive(Debug, Default)]
pub struct Impersonation {
    /// Requestor → the mode that let them last: it is asked first, and its refusal is told.
    last: Mutex<HashMap<String, Mode>>,
}

impl Impersonation {
    /// The caller that the headers name, if they name one and the requestor may; the headers are
    /// taken away, so that nothing behind this sees them.
    ///
    /// `attributes` are the request's, with the requestor as their caller.
    pub fn impersonate(
        &self,
        headers: &mut HeaderMap,
        attributes: &Attributes<'_>,
        authorizer: &dyn Authorizer,
    ) -> Result<Option<Caller>, ApiError> {
        let Some(wanted) = headers::take(headers)? else {
            return Ok(None);
        };
        let requestor = &attributes.caller.name;
        let last = self.last.lock().get(requestor).copied();
        let others = Mode::ALL.into_iter().filter(|&mode| Some(mode) != last);
        let mut refusal = None;
        for mode in last.into_iter().chain(others) {
            match mode.check(&wanted, attributes, authorizer) {
                None => {}
                Some(Err(error)) => {
                    refusal.get_or_insert(error);
                }
                Some(Ok(caller)) => {
                    if Some(mode) != last {
                        self.remember(requestor, mode);
                    }
                    return Ok(Some(caller));
                }
            }
        }
        Err(refusal.unwrap_or_else(|| ApiError::internal("all impersonation modes failed")))
    }

    fn remember(&self, requestor: &str, mode: Mode) {
        let mut last = self.last.lock();
        if last.len() >= REMEMBERED {
            last.clear();
        }
        last.insert(requestor.to_owned(), mode);
    }
}
