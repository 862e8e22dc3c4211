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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_name_is_encoded_as_one_path_segment() {
        assert_eq!(segment("../secrets?x#ü"), "..%2Fsecrets%3Fx%23%C3%BC");
        assert_eq!(segment("web-0.shop_~"), "web-0.shop_~");
    }
}
