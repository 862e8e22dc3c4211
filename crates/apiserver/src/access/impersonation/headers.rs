//! Parses `Impersonate-*` headers.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::access::Caller;
use crate::status::ApiError;

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA_PREFIX: &str = "impersonate-extra-";

/// Removes the `Impersonate-*` headers, and returns the user in these headers.
pub(crate) fn take(headers: &mut HeaderMap) -> Result<Option<Caller>, ApiError> {
    let requested = read(headers)?;
    let extras: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().starts_with(EXTRA_PREFIX))
        .cloned()
        .collect();
    for name in [USER, UID, GROUP] {
        headers.remove(name);
    }
    for name in extras {
        headers.remove(name);
    }
    Ok(requested)
}

fn read(headers: &HeaderMap) -> Result<Option<Caller>, ApiError> {
    let first = |name: &str| headers.get(name).map_or(Ok(String::new()), text);
    let mut requested = Caller {
        name: first(USER)?,
        uid: first(UID)?,
        ..Caller::default()
    };
    for group in headers.get_all(GROUP) {
        requested.groups.push(text(group)?);
    }
    for (name, value) in headers {
        if let Some(key) = name.as_str().strip_prefix(EXTRA_PREFIX) {
            let key = percent_decode(key).unwrap_or_else(|| key.to_owned());
            requested.extra.entry(key).or_default().push(text(value)?);
        }
    }
    let anything =
        !requested.uid.is_empty() || !requested.groups.is_empty() || !requested.extra.is_empty();
    match (requested.name.is_empty(), anything) {
        (true, true) => Err(ApiError::bad_request(format!(
            "requested {attributes} without impersonating a user name",
            attributes = go_syntax(&requested)
        ))),
        (true, false) => Ok(None),
        (false, _) => Ok(Some(requested)),
    }
}

/// Decodes a header value. The value must be UTF-8, because bindings contain UTF-8 names.
fn text(value: &HeaderValue) -> Result<String, ApiError> {
    std::str::from_utf8(value.as_bytes())
        .map(str::to_owned)
        .map_err(|_| ApiError::bad_request("impersonation headers must be UTF-8"))
}

/// Decodes percent-encoding, as Go's `url.PathUnescape` does. Returns `None` for invalid escapes.
fn percent_decode(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            let (high, low) = (digit()?, digit()?);
            decoded.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok()
}

/// Formats a caller as Go's `%#v` does, for error messages.
fn go_syntax(caller: &Caller) -> String {
    let list = |items: &[String]| {
        let items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
        format!("[]string{{{}}}", items.join(", "))
    };
    let groups = if caller.groups.is_empty() {
        "[]string(nil)".to_owned()
    } else {
        list(&caller.groups)
    };
    let extra = if caller.extra.is_empty() {
        "map[string][]string(nil)".to_owned()
    } else {
        let entries: Vec<String> = caller
            .extra
            .iter()
            .map(|(key, values)| format!("{key:?}:{}", list(values)))
            .collect();
        format!("map[string][]string{{{}}}", entries.join(", "))
    };
    format!(
        "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{groups}, Extra:{extra}}}",
        caller.name, caller.uid
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn all_impersonation_headers_are_parsed_and_removed() {
        let mut headers = headers(&[
            ("impersonate-user", "bob"),
            ("impersonate-uid", "7"),
            ("impersonate-group", "g1"),
            ("impersonate-group", "g2"),
            ("impersonate-extra-acme.com%2ffoo", "Bar"),
            ("impersonate-extra-acme.com%2Ffoo", "Baz"),
            ("accept", "*/*"),
        ]);
        let expected = take(&mut headers).unwrap().unwrap();
        assert_eq!(
            (expected.name.as_str(), expected.uid.as_str()),
            ("bob", "7")
        );
        assert_eq!(expected.groups, ["g1", "g2"]);
        assert_eq!(expected.extra["acme.com/foo"], ["Bar", "Baz"]);
        assert_eq!(headers.len(), 1);
    }

    #[test]
    fn impersonated_groups_without_user_are_rejected() {
        let refused = |list| take(&mut headers(list)).unwrap_err().message;
        assert_eq!(
            refused(&[("impersonate-group", "g")]),
            "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"g\"}, \
             Extra:map[string][]string(nil)} without impersonating a user name"
        );
        assert_eq!(
            refused(&[("impersonate-extra-a", "g"), ("impersonate-uid", "3")]),
            "requested &user.DefaultInfo{Name:\"\", UID:\"3\", Groups:[]string(nil), \
             Extra:map[string][]string{\"a\":[]string{\"g\"}}} without impersonating a user name"
        );
        assert_eq!(
            take(&mut headers(&[("impersonate-user", "")])).unwrap(),
            None
        );
    }

    #[test]
    fn malformed_percent_encoding_in_extra_key_is_unchanged() {
        for (key, expected) in [
            ("a%2", "a%2"),
            ("a%zz", "a%zz"),
            ("a%ff", "a%ff"),
            ("a%2Fb", "a/b"),
        ] {
            assert_eq!(
                percent_decode(key).unwrap_or_else(|| key.to_owned()),
                expected
            );
        }
    }
}
