//! Selects the headers to forward, and sets impersonation headers. No other module sets
//! impersonation headers.
//!
//! Headers that `Connection` names are removed *first*, and Drover's headers are set *last*. A
//! client therefore cannot name `Impersonate-User` in `Connection` to remove Drover's header
//! (CVE-2021-31999, CVE-2022-23652).

use http::header::{
    AUTHORIZATION, CONNECTION, COOKIE, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};
use thiserror::Error;

use crate::identity::Account;
use crate::names::{EXTRA_DISPLAY_NAME, EXTRA_TOKEN_ID, KubernetesIdentity};

/// Header `Impersonate-User`: name of the impersonated user.
pub const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");
/// Header `Impersonate-Group`: one group of the impersonated user.
pub const IMPERSONATE_GROUP: HeaderName = HeaderName::from_static("impersonate-group");
/// Header `Impersonate-Uid`: UID of the impersonated user.
pub const IMPERSONATE_UID: HeaderName = HeaderName::from_static("impersonate-uid");
/// Prefix of the headers `Impersonate-Extra-<key>`.
pub const IMPERSONATE_EXTRA: &str = "impersonate-extra-";

/// Hop-by-hop headers (RFC 9110 §7.6.1). Does not include the headers that `Connection` names.
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("http2-settings"),
];

/// Removes hop-by-hop headers from a request or response.
pub fn strip_hop_by_hop(headers: &mut HeaderMap) {
    strip_connection(headers, &HOP_BY_HOP);
}

/// Removes the headers of one connection: the headers that `Connection` names, and `hop_by_hop`.
pub fn strip_connection(headers: &mut HeaderMap, hop_by_hop: &[HeaderName]) {
    let nominated: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in &nominated {
        headers.remove(name);
    }
    remove_if(headers, |name| hop_by_hop.contains(name));
}

/// Removes all headers for whose names `matches` returns true. Does not allocate if no header
/// matches.
fn remove_if(headers: &mut HeaderMap, matches: impl Fn(&HeaderName) -> bool) {
    let removed: Vec<HeaderName> = headers.keys().filter(|n| matches(n)).cloned().collect();
    for name in &removed {
        headers.remove(name);
    }
}

/// Removes all headers that claim an identity, as described in the module documentation.
///
/// Also removes Drover's private headers (`drover-*`) and the origin headers of untrusted clients.
pub fn strip_inbound(headers: &mut HeaderMap) {
    strip_hop_by_hop(headers);
    crate::credential::strip_websocket_bearer(headers);
    remove_if(headers, is_claim);
}

/// Reports whether a header can claim an identity for the request.
fn is_claim(name: &HeaderName) -> bool {
    // Some servers treat `_` as `-` (CVE-2025-64484), so compare both spellings.
    let name = name.as_str();
    // Most headers begin with a different letter than each of the names and prefixes below.
    if !matches!(
        name.as_bytes(),
        [b'a' | b'c' | b'd' | b'f' | b'i' | b'x', ..]
    ) {
        return false;
    }
    let starts = |prefix: &str| {
        name.len() >= prefix.len()
            && name
                .bytes()
                .zip(prefix.bytes())
                .all(|(n, p)| n == p || (n == b'_' && p == b'-'))
    };
    *name == *AUTHORIZATION.as_str()
        || *name == *COOKIE.as_str()
        || name == "forwarded"
        || starts("impersonate")
        || starts("x-remote-")
        || starts("x-forwarded-")
        || starts("x-real-ip")
        || starts("drover-")
        || starts("x-drover-")
}

/// The error for an identity with characters that are invalid in a header. Identities of Drover
/// users and groups never cause this error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("cannot write the {value} into a header", value = .0)]
pub struct Unrepresentable(&'static str);

/// The impersonation headers of an identity. Requests share the memory of the values.
#[derive(Clone, Debug)]
pub struct ImpersonationHeaders {
    single: Vec<(HeaderName, HeaderValue)>,
    groups: Vec<HeaderValue>,
    /// The extras of a service account. A key can occur more than once.
    extras: Vec<(HeaderName, HeaderValue)>,
}

impl ImpersonationHeaders {
    /// Returns the headers for a user's identity.
    pub fn of_user(identity: &KubernetesIdentity) -> Result<Self, Unrepresentable> {
        let user = value(identity.user().as_str(), "user's name")?;
        let mut single = Vec::with_capacity(1 + identity.extras().len());
        single.push((IMPERSONATE_USER, user));
        for (key, text) in identity.extras() {
            single.push((extra_name(key)?, extra_value(text)?));
        }
        let groups = identity.groups().iter();
        let groups = groups.map(|group| value(group.as_str(), "group's name"));
        Ok(Self {
            single,
            groups: groups.collect::<Result<_, _>>()?,
            extras: Vec::new(),
        })
    }

    /// Returns the headers for a service account of the hub. The hub adds the account's groups.
    pub fn of_account(account: &Account) -> Result<Self, Unrepresentable> {
        let extras = account.extras.iter();
        let extras =
            extras.map(|(key, text)| Ok((extra_name(key)?, value(text, "extra's value")?)));
        Ok(Self {
            single: vec![
                (
                    IMPERSONATE_USER,
                    value(account.name.as_str(), "account's name")?,
                ),
                (IMPERSONATE_UID, value(&account.uid, "account's UID")?),
            ],
            groups: Vec::new(),
            extras: extras.collect::<Result<_, _>>()?,
        })
    }

    /// Sets the headers. Call after [`strip_inbound`].
    pub fn set(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.single {
            headers.insert(name.clone(), value.clone());
        }
        headers.remove(IMPERSONATE_GROUP);
        for group in &self.groups {
            headers.append(IMPERSONATE_GROUP, group.clone());
        }
        for (name, value) in &self.extras {
            headers.append(name.clone(), value.clone());
        }
    }
}

/// Sets the impersonation headers for a user's identity.
///
/// Call after [`strip_inbound`]. After an error, do not forward the request.
pub fn impersonate(
    headers: &mut HeaderMap,
    identity: &KubernetesIdentity,
) -> Result<(), Unrepresentable> {
    ImpersonationHeaders::of_user(identity)?.set(headers);
    Ok(())
}

fn value(text: &str, field: &'static str) -> Result<HeaderValue, Unrepresentable> {
    HeaderValue::from_str(text).map_err(|_| Unrepresentable(field))
}

/// Header of [`EXTRA_TOKEN_ID`].
const TOKEN_ID_HEADER: HeaderName =
    HeaderName::from_static("impersonate-extra-management.drover.dev%2ftoken-id");
/// Header of [`EXTRA_DISPLAY_NAME`].
const DISPLAY_NAME_HEADER: HeaderName =
    HeaderName::from_static("impersonate-extra-management.drover.dev%2fdisplay-name");

fn extra_name(key: &str) -> Result<HeaderName, Unrepresentable> {
    match key {
        EXTRA_TOKEN_ID => Ok(TOKEN_ID_HEADER),
        EXTRA_DISPLAY_NAME => Ok(DISPLAY_NAME_HEADER),
        key => encoded_extra_name(key),
    }
}

fn encoded_extra_name(key: &str) -> Result<HeaderName, Unrepresentable> {
    let name = format!("{IMPERSONATE_EXTRA}{}", percent_encode(key));
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| Unrepresentable("extra's key"))
}

/// Encodes the value of an extra for a header. Replaces invalid characters with `?`, because extras
/// are for display only.
fn extra_value(text: &str) -> Result<HeaderValue, Unrepresentable> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return value(text.trim(), "extra's value");
    }
    let printable: String = text
        .chars()
        .map(|c| if matches!(c, ' '..='~') { c } else { '?' })
        .collect();
    HeaderValue::from_str(printable.trim()).map_err(|_| Unrepresentable("extra's value"))
}

/// Percent-encodes an extra key for a header name, like client-go.
fn percent_encode(key: &str) -> String {
    use std::fmt::Write as _;
    key.bytes()
        .fold(String::with_capacity(key.len() + 4), |mut out, b| {
            if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~') {
                out.push(char::from(b.to_ascii_lowercase()));
            } else {
                write!(out, "%{b:02x}").expect("writing to a String cannot fail");
            }
            out
        })
}

#[cfg(test)]
mod tests {
    use drover_api::ids::UserUid;

    use super::*;
    use crate::names::{GroupName, UserName};

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(n, v)| {
                (
                    HeaderName::from_bytes(n.as_bytes()).unwrap(),
                    HeaderValue::from_str(v).unwrap(),
                )
            })
            .fold(HeaderMap::new(), |mut map, (n, v)| {
                map.append(n, v);
                map
            })
    }

    #[test]
    fn identity_headers_of_client_are_removed() {
        let mut headers = map(&[
            ("Impersonate-User", "system:admin"),
            ("Impersonate-Group", "system:masters"),
            ("Impersonate-Uid", "1"),
            ("Impersonate-Extra-Scopes", "a"),
            ("Impersonate-Extra-a%2fb", "a"),
            ("Impersonate_User", "system:admin"),
            ("impersonate_extra_x", "y"),
            ("IMPERSONATE-", ""),
            ("X-Remote-User", "root"),
            ("X_Remote_Group", "root"),
            ("Authorization", "Bearer x"),
            ("Cookie", "a=b"),
            ("X-Forwarded-For", "1.2.3.4"),
            ("Forwarded", "for=1.2.3.4"),
            ("Drover-Lane", "controller"),
            ("drover_lane", "controller"),
            ("Accept", "application/json"),
            ("X-Stream-Protocol-Version", "v4.channel.k8s.io"),
        ]);
        strip_inbound(&mut headers);
        let mut remaining: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        remaining.sort_unstable();
        assert_eq!(remaining, ["accept", "x-stream-protocol-version"]);
    }

    #[test]
    fn constant_extra_header_names_are_equal_to_encoded_names() {
        for key in [EXTRA_TOKEN_ID, EXTRA_DISPLAY_NAME] {
            assert_eq!(extra_name(key), encoded_extra_name(key), "{key}");
        }
    }

    #[test]
    fn connection_header_does_not_remove_drover_headers() {
        let mut headers = map(&[
            ("Connection", "Keep-Alive, TE, impersonate-USER"),
            (
                "Connection",
                "Impersonate-Group,Impersonate-Extra-management.drover.dev%2ftoken-id",
            ),
            ("Connection", "Accept"),
            ("Keep-Alive", "timeout=5"),
            ("Accept", "x"),
        ]);
        strip_inbound(&mut headers);
        assert!(headers.is_empty(), "{headers:?}");
        let identity = KubernetesIdentity::new(
            UserName::of(&UserUid::new("1")),
            vec![GroupName::of("github", "7").unwrap()],
        )
        .with_extra(EXTRA_TOKEN_ID, "t\u{e9}\r\nx: y");
        impersonate(&mut headers, &identity).unwrap();
        assert_eq!(headers[IMPERSONATE_USER], "drover:user:1");
        assert_eq!(headers[IMPERSONATE_GROUP], "drover:github:7");
        assert_eq!(
            headers["impersonate-extra-management.drover.dev%2ftoken-id"],
            "t???x: y"
        );
    }
}
