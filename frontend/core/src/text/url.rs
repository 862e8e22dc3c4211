//! Encodes parts of URLs.

use std::fmt::Write as _;

/// Percent-encodes a text as a segment of a path or a query (RFC 3986 §2.3).
pub fn segment(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            written.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(written, "%{byte:02X}");
        }
    }
    written
}

/// Returns a URL path with a query of the parameters whose values are not empty.
pub fn with_query(path: &str, parameters: &[(&str, String)]) -> String {
    let parameters = parameters.iter().filter(|(_, value)| !value.is_empty());
    let query: Vec<_> = parameters
        .map(|(name, value)| format!("{name}={}", segment(value)))
        .collect();
    if query.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", query.join("&"))
    }
}

/// Formats a sort order for the URL: the column, with `-` for descending.
pub fn sort_parameter(column: &str, descending: bool) -> String {
    let sign = if descending { "-" } else { "" };
    format!("{sign}{column}")
}

/// Parses the sort order of a URL: the column, and true for descending.
pub fn parse_sort_parameter(text: &str) -> (&str, bool) {
    match text.strip_prefix('-') {
        Some(column) => (column, true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_contains_only_parameters_with_values() {
        let query = |values: [&str; 2]| {
            let [q, sort] = values.map(str::to_owned);
            with_query("/clusters", &[("q", q), ("sort", sort)])
        };
        assert_eq!(query(["", ""]), "/clusters");
        assert_eq!(query(["", "-name"]), "/clusters?sort=-name");
        assert_eq!(query(["a&b=c", "age"]), "/clusters?q=a%26b%3Dc&sort=age");
    }

    #[test]
    fn formatted_sort_order_is_parsed() {
        for (column, descending, text) in [
            ("name", false, "name"),
            ("age", true, "-age"),
            ("", true, "-"),
        ] {
            assert_eq!(sort_parameter(column, descending), text);
            assert_eq!(parse_sort_parameter(text), (column, descending));
        }
    }

    #[test]
    fn object_name_is_encoded_as_one_path_segment() {
        assert_eq!(segment("../secrets?x#ü"), "..%2Fsecrets%3Fx%23%C3%BC");
        assert_eq!(segment("web-0.shop_~"), "web-0.shop_~");
    }
}
