//! Lines of a stream.

use crate::client::{CallError, ResponseStream};

/// A line of a stream, or a part of a line that is longer than the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The bytes without the line feed.
    pub(crate) bytes: Vec<u8>,
    /// True if the bytes continue the previous part of the same line.
    pub(crate) is_continued: bool,
}

/// Splits a stream into lines of a limited length.
#[derive(Debug)]
pub(crate) struct Lines {
    stream: ResponseStream,
    buffer: LineBuffer,
}

impl Lines {
    /// Returns the lines of a stream. A line that is longer than `limit` bytes is split.
    pub(crate) fn new(stream: ResponseStream, limit: usize) -> Self {
        Self {
            stream,
            buffer: LineBuffer::new(limit),
        }
    }

    /// Returns the next line without the line feed. Returns `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Line>, CallError> {
        loop {
            if let Some(line) = self.buffer.line() {
                return Ok(Some(line));
            }
            match self.stream.chunk().await? {
                Some(chunk) => self.buffer.add(&chunk),
                None => return Ok(self.buffer.rest()),
            }
        }
    }
}

/// Bytes that are not yet returned as lines.
#[derive(Debug)]
struct LineBuffer {
    bytes: Vec<u8>,
    /// Number of bytes at the start that are already returned.
    returned: usize,
    /// Number of bytes at the start without another line feed.
    searched: usize,
    /// True if the last returned part was not the end of its line.
    is_inside: bool,
    limit: usize,
}

impl LineBuffer {
    const fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            returned: 0,
            searched: 0,
            is_inside: false,
            limit,
        }
    }

    fn add(&mut self, chunk: &[u8]) {
        // Each byte moves at most once for each chunk, and not for each line.
        self.bytes.drain(..self.returned);
        self.searched -= self.returned;
        self.returned = 0;
        self.bytes.extend_from_slice(chunk);
    }

    fn line(&mut self) -> Option<Line> {
        let found = self.bytes[self.searched..].iter().position(|b| *b == b'\n');
        let end = found.map(|found| self.searched + found);
        let longest = self.returned + self.limit;
        let (end, next) = match end {
            Some(end) if end <= longest => (end, end + 1),
            _ if self.bytes.len() > longest => (longest, longest),
            _ => {
                self.searched = self.bytes.len();
                return None;
            }
        };
        let bytes = self.bytes[self.returned..end].to_vec();
        (self.returned, self.searched) = (next, next);
        let is_continued = std::mem::replace(&mut self.is_inside, next == end);
        Some(Line {
            bytes,
            is_continued,
        })
    }

    fn rest(&mut self) -> Option<Line> {
        let bytes = self.bytes.split_off(self.returned);
        let is_continued = self.is_inside;
        *self = Self::new(self.limit);
        (!bytes.is_empty()).then_some(Line {
            bytes,
            is_continued,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&str], limit: usize) -> Vec<String> {
        let mut buffer = LineBuffer::new(limit);
        let mut lines = Vec::new();
        for chunk in chunks {
            buffer.add(chunk.as_bytes());
            lines.extend(std::iter::from_fn(|| buffer.line()));
        }
        let lines = lines.into_iter().chain(buffer.rest());
        let shown = lines.map(|line| {
            let sign = if line.is_continued { "+" } else { "" };
            format!("{sign}{}", String::from_utf8(line.bytes).unwrap())
        });
        shown.collect()
    }

    #[test]
    fn chunks_are_joined_and_split_at_line_feeds() {
        assert_eq!(lines(&["a\nb", "c\n\n", "d"], 10), ["a", "bc", "", "d"]);
        assert_eq!(lines(&["a", "\n"], 10), ["a"]);
        assert!(lines(&[""], 10).is_empty());
    }

    #[test]
    fn long_line_is_split_at_the_limit() {
        assert_eq!(lines(&["abcdefg\nh\n"], 3), ["abc", "+def", "+g", "h"]);
        assert_eq!(lines(&["abc\nd"], 3), ["abc", "d"]);
        assert_eq!(lines(&["ab", "cd"], 3), ["abc", "+d"]);
    }
}
