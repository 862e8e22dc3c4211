//! Splits a stream of bytes into lines.

/// Collects bytes until a line is complete.
#[derive(Clone, Debug)]
pub struct Lines {
    rest: Vec<u8>,
    longest: usize,
    surplus: LongLine,
}

/// The handling of lines above the maximum length: an error, or truncation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LongLine {
    Refused,
    LeftOut,
}

/// The error for a line above the maximum length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl Lines {
    /// Creates a splitter that fails for a line with more than `longest` bytes.
    pub fn of_at_most(longest: usize) -> Self {
        Self {
            rest: Vec::new(),
            longest,
            surplus: LongLine::Refused,
        }
    }

    /// Creates a splitter that truncates a line to at most `longest` bytes.
    pub fn cut_at(longest: usize) -> Self {
        Self {
            surplus: LongLine::LeftOut,
            ..Self::of_at_most(longest)
        }
    }

    /// Adds bytes and returns the completed lines, without newlines.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut whole = Vec::new();
        let mut parts = piece.split(|byte| *byte == b'\n');
        // The last part of `split` is the start of an incomplete line.
        let last = parts.next_back().unwrap_or_default();
        for part in parts {
            self.add(part)?;
            whole.extend(self.finish());
        }
        self.add(last)?;
        Ok(whole)
    }

    /// Returns the incomplete last line. Call the method for streams whose last line has no
    /// newline.
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.rest);
        (!line.is_empty()).then_some(line)
    }

    fn add(&mut self, part: &[u8]) -> Result<(), TooLong> {
        let room = self.longest - self.rest.len();
        if part.len() > room && self.surplus == LongLine::Refused {
            return Err(TooLong);
        }
        self.rest.extend_from_slice(&part[..part.len().min(room)]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn decoded_lines_do_not_depend_on_chunk_boundaries(
            text in "[a-c\n]{0,40}", cuts in prop::collection::vec(1_usize..6, 0..40),
        ) {
            let mut lines = Lines::of_at_most(64);
            let mut seen = Vec::new();
            let mut bytes = text.as_bytes();
            for cut in cuts {
                let (piece, rest) = bytes.split_at(cut.min(bytes.len()));
                seen.extend(lines.push(piece).unwrap());
                bytes = rest;
            }
            seen.extend(lines.push(bytes).unwrap());
            let mut expected: Vec<&str> = text.split('\n').collect();
            let last = expected.pop().filter(|last| !last.is_empty());
            expected.retain(|line| !line.is_empty());
            prop_assert_eq!(seen, expected.iter().map(|l| l.as_bytes().to_vec()).collect::<Vec<_>>());
            prop_assert_eq!(lines.finish(), last.map(|l| l.as_bytes().to_vec()));
        }
    }

    #[test]
    fn last_line_without_newline_is_returned() {
        let mut lines = Lines::cut_at(4);
        assert_eq!(lines.push(b"a\nbc"), Ok(vec![b"a".to_vec()]));
        assert_eq!(lines.push(b"def"), Ok(vec![]));
        assert_eq!(lines.finish(), Some(b"bcde".to_vec()));
        assert_eq!(lines.finish(), None);
        assert_eq!(lines.push(b"x\n"), Ok(vec![b"x".to_vec()]));
        assert_eq!(lines.finish(), None, "finish returns no empty line");
    }

    #[test]
    fn unterminated_line_above_the_limit_is_an_error() {
        let mut lines = Lines::of_at_most(4);
        assert_eq!(lines.push(b"abcd\nab"), Ok(vec![b"abcd".to_vec()]));
        assert_eq!(lines.push(b"cde"), Err(TooLong));
    }

    #[test]
    fn rest_of_a_truncated_line_is_not_returned_as_a_new_line() {
        let mut lines = Lines::cut_at(3);
        assert_eq!(lines.push(b"abcd"), Ok(vec![]));
        assert_eq!(
            lines.push(b"ef\nx\n"),
            Ok(vec![b"abc".to_vec(), b"x".to_vec()])
        );
    }
}
