//! Headers of an upgrade on its way through the tunnel.

use http::HeaderName;

/// The method of the upgrade request, which the tunnel replaces by CONNECT.
pub const METHOD_HEADER: HeaderName = HeaderName::from_static("drover-upgrade-method");
/// The value of the `Upgrade` header, which HTTP/2 does not have: the client's in the request, the
/// upstream's in the response.
pub const TOKEN_HEADER: HeaderName = HeaderName::from_static("drover-upgrade");
/// On a 200: the upstream switched protocols.
pub const SWITCHED_HEADER: HeaderName = HeaderName::from_static("drover-upgrade-switched");
/// The upstream's 2xx status when it did not switch: a 2xx response opens a CONNECT stream, so the
/// tunnel carries another status.
pub const STATUS_HEADER: HeaderName = HeaderName::from_static("drover-upgrade-status");
