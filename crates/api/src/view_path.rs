//! The path of a saved view: a path of the web UI with its query.

use std::fmt;

/// The maximum length of a path, in bytes.
pub const MAX_BYTES: usize = 2048;

/// First segments of the paths that the server itself serves. The web UI has no screens there.
const SERVER_SEGMENTS: [&str; 11] = [
    "assets", "configdb", "edge", "git", "hub", "k8s", "livez", "metrics", "readyz", "v1",
    "webhooks",
];

/// The path segment of Secrets, and the parameter with the text that a user searches in a manifest.
/// The text can be a value of the Secret, so the web UI never puts the text into the URL.
const SECRETS: &str = "secrets";
const SEARCHED_TEXT: &str = "find";

/// The reason why a text is not the path of a saved view, with the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewPathError {
    /// The text is longer than [`MAX_BYTES`].
    TooLong,
    /// The text does not begin with exactly one slash. A browser would read the text as the address
    /// of a different server.
    NotRelative,
    /// The text contains a character that a URL path with a query cannot contain.
    Character,
    /// The text contains a percent sign without two hexadecimal digits, or an encoded control
    /// character, slash or backslash.
    Encoding,
    /// A segment of the path is empty, `.` or `..`.
    Segment,
    /// The server itself serves the path.
    ServerPath,
    /// The query contains the text that a user searches in a Secret.
    SecretText,
}

impl fmt::Display for ViewPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "must have at most {MAX_BYTES} bytes"),
            Self::NotRelative => f.write_str(
                "must begin with one \"/\": use the path and the query of a page of the web UI, \
                 such as /objects/pods?state=failed",
            ),
            Self::Character => f.write_str(
                "must contain only the characters of a URL path with a query: percent-encode all \
                 other characters",
            ),
            Self::Encoding => f.write_str(
                "must not contain \"%\" without two hexadecimal digits, or an encoded control \
                 character, \"/\" or \"\\\"",
            ),
            Self::Segment => f.write_str("must not contain an empty path segment, \".\" or \"..\""),
            Self::ServerPath => f.write_str(
                "must be the path of a page of the web UI, and not of the API or of a cluster",
            ),
            Self::SecretText => f.write_str(
                "must not contain the parameter \"find\" for a Secret, because the text can be a \
                 value of the Secret",
            ),
        }
    }
}

impl std::error::Error for ViewPathError {}

/// Checks the path of a saved view.
pub fn check(text: &str) -> Result<(), ViewPathError> {
    if text.len() > MAX_BYTES {
        return Err(ViewPathError::TooLong);
    }
    let Some(rest) = text.strip_prefix('/').filter(|rest| !rest.starts_with('/')) else {
        return Err(ViewPathError::NotRelative);
    };
    if !text.bytes().all(is_url_byte) {
        return Err(ViewPathError::Character);
    }
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    if decode(query)?.iter().any(u8::is_ascii_control) {
        return Err(ViewPathError::Encoding);
    }
    let segments = segments(path)?;
    let first = segments.first().map_or(&b""[..], Vec::as_slice);
    if SERVER_SEGMENTS.iter().any(|own| own.as_bytes() == first) {
        return Err(ViewPathError::ServerPath);
    }
    let of_secrets = segments.iter().any(|segment| segment == SECRETS.as_bytes());
    if of_secrets && has_parameter(query, SEARCHED_TEXT)? {
        return Err(ViewPathError::SecretText);
    }
    Ok(())
}

/// Reports whether a URL path with a query can contain the byte (RFC 3986 §3.3 and §3.4).
fn is_url_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%".contains(&byte)
}

/// Decodes the segments of a path. The path `/` has no segments.
fn segments(path: &str) -> Result<Vec<Vec<u8>>, ViewPathError> {
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let mut segments = Vec::new();
    for segment in path.split('/') {
        let segment = decode(segment)?;
        let hidden = |byte: &u8| byte.is_ascii_control() || b"/\\".contains(byte);
        if segment.iter().any(hidden) {
            return Err(ViewPathError::Encoding);
        }
        if [&b""[..], b".", b".."].contains(&segment.as_slice()) {
            return Err(ViewPathError::Segment);
        }
        segments.push(segment);
    }
    Ok(segments)
}

/// Reports whether a query contains the parameter, also with an encoded name.
fn has_parameter(query: &str, name: &str) -> Result<bool, ViewPathError> {
    for parameter in query.split('&') {
        let key = parameter.split('=').next().unwrap_or_default();
        if decode(key)? == name.as_bytes() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Decodes percent-encoded bytes (RFC 3986 §2.1).
fn decode(text: &str) -> Result<Vec<u8>, ViewPathError> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || {
            let digit = bytes.next().map(char::from)?.to_digit(16)?;
            u8::try_from(digit).ok()
        };
        match (digit(), digit()) {
            (Some(high), Some(low)) => decoded.push(high << 4 | low),
            _ => return Err(ViewPathError::Encoding),
        }
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_screens_are_accepted() {
        for path in [
            "/",
            "/?q=env%3Dprod&sort=-name",
            "/objects/pods?q=image%3Anginx&state=failed&wide=true",
            "/clusters/berlin/deployments.apps?namespace=shop",
            "/clusters/berlin/secrets?q=web",
            "/clusters/berlin/clusterroles/-/system%3Anode",
            "/clusters/berlin/configmaps/shop/web?tab=yaml&find=port",
            "/problems",
        ] {
            assert_eq!(check(path), Ok(()), "{path}");
        }
    }

    #[test]
    fn path_that_leaves_the_web_ui_is_rejected() {
        use ViewPathError::{Character, Encoding, NotRelative, Segment, ServerPath, TooLong};
        let long = format!("/{}", "a".repeat(MAX_BYTES));
        for (path, expected) in [
            ("", NotRelative),
            ("objects/pods", NotRelative),
            ("https://evil.example/", NotRelative),
            ("javascript:alert(1)", NotRelative),
            ("//evil.example/", NotRelative),
            ("/\\evil.example/", Character),
            ("/objects\\pods", Character),
            ("/objects/pods?q=a\\b", Character),
            ("/objects/pods\n", Character),
            ("/objects/pods?q=a b", Character),
            ("/objects/pods#x", Character),
            ("/objects/pöds", Character),
            ("/objects/<script>", Character),
            ("/objects/%0apods", Encoding),
            ("/objects/pods?q=%00", Encoding),
            ("/objects/%2Fpods", Encoding),
            ("/%5Cevil.example/", Encoding),
            ("/objects/pods?q=%", Encoding),
            ("/objects/pods?q=%g0", Encoding),
            ("/objects//pods", Segment),
            ("/objects/", Segment),
            ("/objects/../v1/me", Segment),
            ("/objects/%2E%2e/v1/me", Segment),
            ("/v1/logout", ServerPath),
            ("/v%31/logout", ServerPath),
            ("/k8s/clusters/local/api", ServerPath),
            (&long, TooLong),
        ] {
            assert_eq!(check(path), Err(expected), "{path:?}");
            assert!(expected.to_string().starts_with("must"), "{expected}");
        }
    }

    #[test]
    fn searched_text_of_a_secret_is_rejected() {
        for path in [
            "/clusters/berlin/secrets/shop/web?tab=yaml&find=hunter2",
            "/clusters/berlin/secret%73/shop/web?fin%64=hunter2",
        ] {
            assert_eq!(check(path), Err(ViewPathError::SecretText), "{path}");
        }
    }
}
