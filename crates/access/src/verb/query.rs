//! Parses query parameters like Go's `url.ParseQuery`.

use std::borrow::Cow;

/// Returns the first value of a query parameter, decoded. Ignores a pair with a semicolon or an
/// invalid escape, as Go's `url.ParseQuery` does.
pub fn parameter<'a>(query: Option<&'a str>, name: &str) -> Option<Cow<'a, str>> {
    query?.split('&').find_map(|pair| {
        if pair.contains(';') {
            return None;
        }
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(key)? == name).then(|| decoded(value))?
    })
}

/// Reports whether a boolean parameter is true, parsed like Kubernetes: `0` and `false` are false.
pub(super) fn asks(query: Option<&str>, name: &str) -> bool {
    parameter(query, name).is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
}

/// Decodes `%XX` and `+`. Returns `None` for an invalid escape.
fn decoded(text: &str) -> Option<Cow<'_, str>> {
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        return Some(Cow::Owned(unescaped(&spaced)?.into_owned()));
    }
    unescaped(text)
}

/// Decodes `%XX`. Returns `None` for an invalid escape.
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
    fn query_parameters_are_parsed_as_in_kube_apiserver() {
        for (query, expected) in [
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
                expected,
                "{query}"
            );
        }
    }
}
