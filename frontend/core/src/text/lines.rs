//! Lines out of pieces of bytes, as a watch sends them.

/// Collects bytes until a line is whole.
#[derive(Clone, Debug)]
pub struct Lines {
    rest: Vec<u8>,
    longest: usize,
    surplus: Surplus,
}

/// What happens to what is longer than a line may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Surplus {
    Refused,
    LeftOut,
}

/// A line is longer than anything that makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl Lines {
    /// Lines of at most so many bytes.
    pub fn of_at_most(longest: usize) -> Self {
        Self {
            rest: Vec::new(),
            longest,
            surplus: Surplus::Refused,
        }
    }

    /// Lines of which only so many bytes count: the rest of a longer one is left out.
    pub fn cut_at(longest: usize) -> Self {
        Self {
            surplus: Surplus::LeftOut,
            ..Self::of_at_most(longest)
        }
    }

    /// Adds a piece and gives the lines that it ends, without their ends.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut whole = Vec::new();
        let mut parts = piece.split(|byte| *byte == b'\n');
        // `split` gives one part more than there are ends: the last is the start of a line.
        let last = parts.next_back().unwrap_or_default();
        for part in parts {
            self.add(part)?;
            whole.extend(self.finish());
        }
        self.add(last)?;
        Ok(whole)
    }

    /// Gives what has come of a line that was not ended, where what is after the last end counts.
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.rest);
        (!line.is_empty()).then_some(line)
    }

    fn add(&mut self, part: &[u8]) -> Result<(), TooLong> {
        let room = self.longest - self.rest.len();
        if part.len() > room && self.surplus == Surplus::Refused {
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
        fn lines_are_the_same_wherever_the_stream_is_cut(
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
            let mut wanted: Vec<&str> = text.split('\n').collect();
            let last = wanted.pop().filter(|last| !last.is_empty());
            wanted.retain(|line| !line.is_empty());
            prop_assert_eq!(seen, wanted.iter().map(|l| l.as_bytes().to_vec()).collect::<Vec<_>>());
            prop_assert_eq!(lines.finish(), last.map(|l| l.as_bytes().to_vec()));
        }
    }

    #[test]
    fn the_last_line_of_a_text_needs_no_end() {
        let mut lines = Lines::cut_at(4);
        assert_eq!(lines.push(b"a\nbc"), Ok(vec![b"a".to_vec()]));
        assert_eq!(lines.push(b"def"), Ok(vec![]));
        assert_eq!(lines.finish(), Some(b"bcde".to_vec()));
        assert_eq!(lines.finish(), None);
        assert_eq!(lines.push(b"x\n"), Ok(vec![b"x".to_vec()]));
        assert_eq!(lines.finish(), None, "no line is empty");
    }

    #[test]
    fn a_line_without_end_is_not_kept_for_ever() {
        let mut lines = Lines::of_at_most(4);
        assert_eq!(lines.push(b"abcd\nab"), Ok(vec![b"abcd".to_vec()]));
        assert_eq!(lines.push(b"cde"), Err(TooLong));
    }

    #[test]
    fn the_rest_of_a_line_that_is_cut_is_not_taken_for_another() {
        let mut lines = Lines::cut_at(3);
        assert_eq!(lines.push(b"abcd"), Ok(vec![]));
        assert_eq!(
            lines.push(b"ef\nx\n"),
            Ok(vec![b"abc".to_vec(), b"x".to_vec()])
        );
    }
}
