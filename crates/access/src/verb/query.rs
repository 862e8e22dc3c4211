//! Parameters of a query, read as Go reads them.

use std::borrow::Cow;

/// The first value of a query parameter, decoded.
///
/// A pair with a semicolon or a broken escape does not count, as in Go's `url.ParseQuery`.
pub fn parameter<'a>(query: Option<&'a str>, name: &str) -> Option<Cow<'a, str>> {
    query?.split('&').find_map(|pair| {
        if pair.contains(';') {
            return None;
        }
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(key)? == name).then(|| decoded(value))?
    })
}

/// Whether a boolean parameter is set, read as Kubernetes reads it: `0` and `false` are no.
pub(super) fn asks(query: Option<&str>, name: &str) -> bool {
    parameter(query, name).is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
}

/// Decodes `%XX` and `+`; `None` where an escape is broken.
fn decoded(text: &str) -> Option<Cow<'_, str>> {
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        return Some(Cow::Owned(unescaped(&spaced)?.into_owned()));
    }
    unescaped(text)
}

/// Decodes `%XX`; `None` where an escape is broken.
pub(super) fn unescaped(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        plain.push(if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            u8::try_from(digit()? * 16 + digit()?).ok()?
        } else {
            byte
        });
    }
    Some(Cow::Owned(String::from_utf8_lossy(&plain).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_the_api_server_reads_them() {
        for (query, wanted) in [
            ("a=1&watch=x%20y+z&watch=2", Some("x y z")),
            ("%77%61tch=1", Some("1")),
            ("watch", Some("")),
            ("watch=1;b&watch=2", Some("2")),
            ("watch=%4&watch=2", Some("2")),
            ("watch=%4g", None),
            ("%=1&watch=3", Some("3")),
            ("watcher=1", None),
            ("", None),
        ] {
            assert_eq!(
                parameter(Some(query), "watch").as_deref(),
                wanted,
                "{query}"
            );
        }
    }
}
