//! The head of the output of `git http-backend`, a CGI program (RFC 3875, section 6).

use http::header::{CACHE_CONTROL, CONTENT_TYPE, EXPIRES, HeaderName, PRAGMA};
use http::{HeaderMap, HeaderValue, StatusCode};
use thiserror::Error;

/// Maximum length of the head, in bytes.
pub const MAX_HEAD: usize = 16 * 1024;
/// The headers that a response can have. The parser removes all other headers.
const ALLOWED: [HeaderName; 4] = [CACHE_CONTROL, CONTENT_TYPE, EXPIRES, PRAGMA];

/// The status and headers of a response.
#[derive(Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status. The default is 200.
    pub status: StatusCode,
    /// The headers that a response can have.
    pub headers: HeaderMap,
}

/// The output has no valid head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HeadError {
    /// The head exceeds the limit.
    #[error("the head of the output exceeds {MAX_HEAD} bytes")]
    TooLong,
    /// A line is not a header, or the status is not a status code.
    #[error("the head of the output has an invalid line")]
    Malformed,
}

/// Parses the head at the beginning of the output. Returns the head, and the offset of the body.
/// Returns `None` if the output does not yet contain the complete head.
pub fn parse(output: &[u8]) -> Result<Option<(ResponseHead, usize)>, HeadError> {
    let mut head = ResponseHead {
        status: StatusCode::OK,
        headers: HeaderMap::new(),
    };
    let mut offset = 0;
    loop {
        let rest = &output[offset..];
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            return if output.len() >= MAX_HEAD {
                Err(HeadError::TooLong)
            } else {
                Ok(None)
            };
        };
        offset += end + 1;
        if offset > MAX_HEAD {
            return Err(HeadError::TooLong);
        }
        let line = &rest[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return Ok(Some((head, offset)));
        }
        add(&mut head, line).ok_or(HeadError::Malformed)?;
    }
}

fn add(head: &mut ResponseHead, line: &[u8]) -> Option<()> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    if name.eq_ignore_ascii_case(b"status") {
        let code = value.split(|byte| *byte == b' ').next()?;
        head.status = StatusCode::from_bytes(code).ok()?;
        // An informational status is not a response.
        return (!head.status.is_informational()).then_some(());
    }
    let name = HeaderName::from_bytes(name).ok()?;
    let value = HeaderValue::from_bytes(value).ok()?;
    if ALLOWED.contains(&name) {
        head.headers.insert(name, value);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_has_the_status_and_the_allowed_headers() {
        let output = b"Status: 403 Forbidden\r\nContent-Type: text/plain\r\nSet-Cookie: a=b\r\n\
            Connection: close\r\n\r\nbody";
        let (head, offset) = parse(output).unwrap().unwrap();
        assert_eq!(head.status, StatusCode::FORBIDDEN);
        assert_eq!(head.headers.len(), 1, "{:?}", head.headers);
        assert_eq!(head.headers[CONTENT_TYPE], "text/plain");
        assert_eq!(&output[offset..], b"body");
        let (head, offset) = parse(b"\nbody").unwrap().unwrap();
        assert_eq!((head.status, offset), (StatusCode::OK, 1));
    }

    #[test]
    fn incomplete_head_is_not_an_error_until_the_limit() {
        for output in [
            &b""[..],
            b"Status: 200",
            b"Status: 200 OK\r\n",
            b"Status: 200 OK\r\n\r",
        ] {
            assert_eq!(parse(output), Ok(None), "{output:?}");
        }
        assert_eq!(parse(&[b'a'; MAX_HEAD]), Err(HeadError::TooLong));
        let lines = b"A: b\n".repeat(MAX_HEAD);
        assert_eq!(parse(&lines), Err(HeadError::TooLong));
        for output in [
            &b"no header\n"[..],
            b": b\n",
            b"Status: x\n",
            b"Status: 101 a\n\n",
            b"a b: c\n",
        ] {
            assert_eq!(parse(output), Err(HeadError::Malformed), "{output:?}");
        }
    }
}
