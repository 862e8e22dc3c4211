//! Headers of upgrade requests and upgrade responses inside the tunnel.

use http::HeaderName;

/// Header with the original method of an upgrade request. The tunnel replaces the method with
/// CONNECT.
pub const METHOD_HEADER: HeaderName = HeaderName::from_static("drover-upgrade-method");
/// Header with the value of the `Upgrade` header, which HTTP/2 does not support. A request contains
/// the client's value. A response contains the API server's value.
pub const TOKEN_HEADER: HeaderName = HeaderName::from_static("drover-upgrade");
/// Header of a 200 response that marks a protocol switch by the API server.
pub const SWITCHED_HEADER: HeaderName = HeaderName::from_static("drover-upgrade-switched");
/// Header with the API server's 2xx status of a response without a protocol switch. The tunnel
/// sends a different status, because a 2xx status would open the CONNECT stream.
pub const STATUS_HEADER: HeaderName = HeaderName::from_static("drover-upgrade-status");
