//! Splits a stream of bytes into lines.

use bytes::{Buf as _, Bytes, BytesMut};

/// Maximum length of a line in bytes. The rows of pods, nodes and events contain complete objects.
const MAX_LINE: usize = 4 << 20;

/// Splits a stream of bytes into lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    buffer: BytesMut,
    /// The number of bytes at the start of the buffer that contain no newline.
    searched: usize,
}

/// A line exceeds the maximum length.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cluster sent an object of more than {mib} MiB", mib = MAX_LINE >> 20)]
pub(crate) struct LongLine;

impl Lines {
    /// Adds the next bytes of the stream.
    pub(crate) fn push(&mut self, bytes: &Bytes) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete line without its newline.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, LongLine> {
        loop {
            let rest = &self.buffer[self.searched..];
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.buffer.len();
                if self.searched > MAX_LINE {
                    return Err(LongLine);
                }
                return Ok(None);
            };
            let line = self.buffer.split_to(self.searched + end).freeze();
            self.buffer.advance(1);
            self.searched = 0;
            if !line.is_empty() {
                return Ok(Some(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_independent_of_the_chunks_of_the_stream() {
        let text = b"one\n\ntwo\nthree\nrest";
        for size in 1..text.len() {
            let (mut lines, mut found) = (Lines::default(), Vec::new());
            for chunk in text.chunks(size) {
                lines.push(&Bytes::copy_from_slice(chunk));
                while let Some(line) = lines.next().unwrap() {
                    found.push(line);
                }
            }
            assert_eq!(found, ["one", "two", "three"], "{size}");
        }
    }

    #[test]
    fn endless_line_is_an_error() {
        let mut lines = Lines::default();
        let chunk = Bytes::from(vec![b'x'; MAX_LINE]);
        lines.push(&chunk);
        assert_eq!(lines.next(), Ok(None));
        lines.push(&Bytes::from_static(b"x"));
        assert_eq!(lines.next(), Err(LongLine));
    }
}
