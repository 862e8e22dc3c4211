//! Headers of upgrade requests and responses inside the tunnel.

use http::HeaderName;

/// Original method of the upgrade request. The tunnel replaces this method with CONNECT.
pub const METHOD_HEADER: HeaderName = HeaderName::from_static("drover-upgrade-method");
/// Value of the `Upgrade` header, which HTTP/2 does not have. A request contains the client's
/// value, and a response contains the upstream's value.
pub const TOKEN_HEADER: HeaderName = HeaderName::from_static("drover-upgrade");
/// Present on a 200 response if the upstream switched protocols.
pub const SWITCHED_HEADER: HeaderName = HeaderName::from_static("drover-upgrade-switched");
/// The upstream's 2xx status without a switch. A 2xx response would open the CONNECT stream, so the
/// tunnel sends a different status.
pub const STATUS_HEADER: HeaderName = HeaderName::from_static("drover-upgrade-status");
