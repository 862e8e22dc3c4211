//! Why a target said no: the short form, beside its own answer, which stays as it is.

use drover_access::permit::{Holder, Permit};
use http::header::WARNING;
use http::{HeaderMap, HeaderValue, StatusCode};

/// Roles that are named.
const NAMED: usize = 5;

/// Names the person's roles there in a `Warning` (RFC 9111 section 5.5), which kubectl prints.
pub(super) fn note(status: StatusCode, headers: &mut HeaderMap, permit: &Permit, cluster: &str) {
    if status != StatusCode::FORBIDDEN {
        return;
    }
    let Holder::Person { basis, .. } = permit.holder() else {
        return;
    };
    let roles = basis.roles();
    let named: Vec<_> = roles.iter().take(NAMED).copied().collect();
    let more = match roles.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let text = format!(
        "299 - \"your roles in {cluster}: {}{more}; who can, and why, says: drover access explain\"",
        named.join(", ")
    );
    // Names of roles and clusters are plain; what is not would be no header.
    if let Ok(value) = HeaderValue::from_str(&text) {
        headers.append(WARNING, value);
    }
}
