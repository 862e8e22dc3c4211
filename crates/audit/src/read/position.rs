//! Where a page ended, as it stands in `continue`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Everything older than a place in the log; `f-<file>-<offset>` or `m-<start>-<number>`,
/// hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// In a file.
    File(FilePosition),
    /// In the memory of one start of the server.
    Memory {
        /// Which start.
        start: u64,
        /// Number of the first record that is too new.
        before: u64,
    },
}

/// A place in a file, by whatever name the file goes by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePosition {
    /// Fingerprint of the file's first line, which stays when it is turned over.
    pub(crate) file: u64,
    /// Bytes of it that are older.
    pub(crate) before: u64,
}

/// A text that no page gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be what the page before gave; begin without it")]
pub struct PositionError;

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(FilePosition { file, before }) => write!(f, "f-{file:x}-{before:x}"),
            Self::Memory { start, before } => write!(f, "m-{start:x}-{before:x}"),
        }
    }
}

impl FromStr for Position {
    type Err = PositionError;

    fn from_str(text: &str) -> Result<Self, PositionError> {
        let number = |text: &str| {
            // `from_str_radix` would take a sign as well.
            let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
            let number = plain.then(|| u64::from_str_radix(text, 16).ok());
            number.flatten().ok_or(PositionError)
        };
        let mut parts = text.split('-');
        let (Some(kind), Some(of), Some(before), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(PositionError);
        };
        let (of, before) = (number(of)?, number(before)?);
        match kind {
            "f" => Ok(Self::File(FilePosition { file: of, before })),
            "m" => Ok(Self::Memory { start: of, before }),
            _ => Err(PositionError),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_no_page_gave_is_no_position() {
        for text in [
            "",
            "f",
            "f-1",
            "f-1-",
            "f-1-2-3",
            "x-1-2",
            "f-+1-2",
            "f--1-2",
            "f-1-10000000000000000",
            "m-é-1",
        ] {
            assert_eq!(text.parse::<Position>(), Err(PositionError), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_position_is_read_as_it_was_written(of: u64, before: u64) {
            for position in [
                Position::File(FilePosition { file: of, before }),
                Position::Memory { start: of, before },
            ] {
                prop_assert_eq!(position.to_string().parse(), Ok(position));
            }
        }

        #[test]
        fn no_text_panics_the_reader(text: String) {
            let _ = text.parse::<Position>();
        }
    }
}
