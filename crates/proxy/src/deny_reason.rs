//! Adds a hint to a 403 response of a cluster or the hub. The hint is a `Warning` header. The
//! response body is unchanged.

use drover_access::permit::{Holder, Permit};
use http::header::WARNING;
use http::{HeaderMap, HeaderValue, StatusCode};

/// Maximum number of roles in the hint.
const MAX_ROLES: usize = 5;

/// Adds the user's roles on the cluster as a `Warning` header (RFC 9111 section 5.5), which kubectl
/// prints.
pub(super) fn add_warning(
    status: StatusCode,
    headers: &mut HeaderMap,
    permit: &Permit,
    cluster: &str,
) {
    if status != StatusCode::FORBIDDEN {
        return;
    }
    let Holder::User { provenance, .. } = permit.holder() else {
        return;
    };
    let roles = provenance.roles();
    let named: Vec<_> = roles.iter().take(MAX_ROLES).copied().collect();
    let more = match roles.len().saturating_sub(MAX_ROLES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let text = format!(
        "299 - \"your roles in {cluster}: {}{more}; run \"drover access explain\" to list permissions and their sources\"",
        named.join(", ")
    );
    // Names of roles and clusters are valid header text. Skip the header if the text is not valid.
    if let Ok(value) = HeaderValue::from_str(&text) {
        headers.append(WARNING, value);
    }
}
