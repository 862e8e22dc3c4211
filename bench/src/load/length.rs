//! The length of an HTTP/1.1 response body.

/// The method that determines the end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// The body has a `Content-Length`.
    Known(u64),
    /// The body ends with the last chunk.
    Chunked,
}

/// Parses the status code and the body length of a response head. Returns `None` if the head is
/// invalid.
pub(crate) fn body_length(head: &[u8]) -> Option<(u16, Length)> {
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines
        .next()?
        .strip_prefix("HTTP/1.1 ")?
        .get(..3)?
        .parse()
        .ok()?;
    lines
        .filter_map(|line| line.split_once(':'))
        .find_map(|(name, value)| {
            if name.eq_ignore_ascii_case("content-length") {
                value.trim().parse().ok().map(Length::Known)
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                Some(Length::Chunked)
            } else {
                None
            }
        })
        .map(|length| (status, length))
}

/// An incremental parser of a chunked body.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    state: State,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// The parser is in the size of a chunk. Contains the value of the hexadecimal digits read so
    /// far.
    Size(u64),
    /// The parser is after the chunk size, before the end of the line.
    Extension(u64),
    /// The parser is in a chunk. Contains the number of bytes until the end of the chunk, including
    /// the line end.
    Data(u64),
    /// The parser is after the last chunk. Contains the length of the current line.
    Trailer(usize),
    Ended,
}

impl Default for State {
    fn default() -> Self {
        Self::Size(0)
    }
}

impl Chunks {
    /// Parses the next bytes. Returns true if the body is complete, or `None` if the body is
    /// malformed.
    pub(crate) fn feed(&mut self, mut piece: &[u8]) -> Option<bool> {
        while let Some((&byte, rest)) = piece.split_first() {
            if let State::Data(missing) = self.state {
                let taken = usize::try_from(missing)
                    .unwrap_or(usize::MAX)
                    .min(piece.len());
                piece = &piece[taken..];
                let missing = missing - taken as u64;
                self.state = if missing == 0 {
                    State::Size(0)
                } else {
                    State::Data(missing)
                };
                continue;
            }
            self.state = self.step(byte)?;
            piece = rest;
        }
        Some(matches!(self.state, State::Ended))
    }

    fn step(&mut self, byte: u8) -> Option<State> {
        match (self.state, byte) {
            (State::Size(size) | State::Extension(size), b'\n') if size == 0 => {
                Some(State::Trailer(0))
            }
            (State::Size(size) | State::Extension(size), b'\n') => {
                self.bytes += size;
                Some(State::Data(size + 2))
            }
            (State::Size(size), b'\r' | b';') | (State::Extension(size), _) => {
                Some(State::Extension(size))
            }
            (State::Size(size), digit) => {
                let value = char::from(digit).to_digit(16)?;
                Some(State::Size(
                    size.checked_mul(16)?.checked_add(value.into())?,
                ))
            }
            (State::Trailer(0), b'\n') => Some(State::Ended),
            (State::Trailer(_), b'\n') => Some(State::Trailer(0)),
            (State::Trailer(length), b'\r') => Some(State::Trailer(length)),
            (State::Trailer(length), _) => Some(State::Trailer(length + 1)),
            // No byte follows the end, and `feed` skips chunk data.
            (State::Ended | State::Data(_), _) => None,
        }
    }

    /// Returns the sum of the chunk sizes, which is the length of the body.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_length_is_parsed_from_the_response_head() {
        for (head, expected) in [
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 1024\r\n\r\n",
                Some((200, Length::Known(1024))),
            ),
            (
                "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n",
                Some((404, Length::Chunked)),
            ),
            ("HTTP/1.1 200 OK\r\n\r\n", None),
            ("HTTP/2 200\r\ncontent-length: 1\r\n\r\n", None),
        ] {
            assert_eq!(body_length(head.as_bytes()), expected, "{head:?}");
        }
    }

    #[test]
    fn http_chunks_are_parsed_incrementally() {
        let body = b"4;x=y\r\nwiki\r\n10\r\n0123456789abcdef\r\n0\r\nA: b\r\n\r\n";
        for size in 1..=body.len() {
            let mut chunks = Chunks::default();
            let mut ended = false;
            for piece in body.chunks(size) {
                assert!(!ended);
                ended = chunks.feed(piece).unwrap();
            }
            assert!(ended, "parts of {size}");
            assert_eq!(chunks.bytes(), 20);
        }
    }

    #[test]
    fn malformed_http_chunks_are_rejected() {
        for body in ["g\r\n", "0\r\n\r\nmore", "fffffffffffffffff\r\n"] {
            assert_eq!(Chunks::default().feed(body.as_bytes()), None, "{body:?}");
        }
    }
}
