//! Validation of distinguished names (RFC 4514) in the configuration.

use super::wire::filter::is_attribute;

/// Reports whether a text is a distinguished name with at least one `attribute=value` pair. Pairs
/// are separated by `,` or `+`. A backslash escapes a separator.
pub(super) fn is_name(text: &str) -> bool {
    parts(text).iter().all(|part| {
        let (attribute, value) = part.split_once('=').unwrap_or_default();
        is_attribute(attribute.trim()) && !value.trim().is_empty()
    })
}

/// Splits a name at each `,` and `+` that is not escaped.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, letter) in text.char_indices() {
        if !escaped && matches!(letter, ',' | '+') {
            parts.push(&text[start..at]);
            start = at + 1;
        }
        escaped = !escaped && letter == '\\';
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_distinguished_names_are_accepted() {
        for name in [
            "dc=example",
            "cn=drover,ou=services,dc=example,dc=org",
            "CN=Drover Service, OU=Services, DC=example",
            r"cn=Doe\, Jane+uid=jane,dc=example",
            r"cn=a\\,dc=example",
            "2.5.4.3=x,dc=example",
            "cn=Лука,dc=example",
        ] {
            assert!(is_name(name), "{name}");
        }
        for text in [
            "",
            "drover",
            "drover@example.org",
            r"EXAMPLE\drover",
            "cn=,dc=example",
            "cn=a,,dc=example",
            "cn=a,dc=example,",
            "=a",
            "c n=a",
        ] {
            assert!(!is_name(text), "{text}");
        }
    }
}
