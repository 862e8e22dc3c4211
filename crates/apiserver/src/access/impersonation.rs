//! Impersonation by `Impersonate-*` headers.
//!
//! In Kubernetes v1.36, a role can permit impersonation for certain actions only (KEP-5284). The
//! server first checks these constrained modes, and then the verb `impersonate`.

mod headers;
mod mode;

use std::collections::HashMap;

use http::HeaderMap;
use parking_lot::Mutex;

use self::mode::Mode;
use super::{Attributes, Authorizer, Caller};
use crate::status::ApiError;

/// Maximum number of requestors for which the server stores the last allowed mode.
const MAX_REQUESTORS: usize = 10_000;

/// The authorizer of impersonation by `Impersonate-*` headers.
#[derive(Debug, Default)]
pub struct Impersonation {
    /// The last allowed mode of each requestor. The server checks this mode first for the
    /// requestor's next request. If all modes deny the request, the response contains the error of
    /// the first checked mode that applies to the user.
    last: Mutex<HashMap<String, Mode>>,
}

impl Impersonation {
    /// Returns the impersonated user, or `None` if the request has no `Impersonate-*` headers.
    /// Removes the headers, so that later code cannot read them.
    ///
    /// `attributes` describes the request. The caller in `attributes` is the requestor.
    pub fn impersonate(
        &self,
        headers: &mut HeaderMap,
        attributes: &Attributes<'_>,
        authorizer: &dyn Authorizer,
    ) -> Result<Option<Caller>, ApiError> {
        let Some(requested) = headers::take(headers)? else {
            return Ok(None);
        };
        let requestor = &attributes.caller.name;
        let last = self.last.lock().get(requestor).copied();
        let others = Mode::ALL.into_iter().filter(|&mode| Some(mode) != last);
        let mut refusal = None;
        for mode in last.into_iter().chain(others) {
            match mode.check(&requested, attributes, authorizer) {
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
        if last.len() >= MAX_REQUESTORS {
            last.clear();
        }
        last.insert(requestor.to_owned(), mode);
    }
}
