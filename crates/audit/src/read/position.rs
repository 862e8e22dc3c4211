//! The position at which a page of the log ended. Clients send this position in the query parameter
//! `continue`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Refers to all records before a position in the log. Encoded as `f-<file>-<offset>` or
/// `m-<start>-<number>`, in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// A position in one of the log's files.
    File(FilePosition),
    /// A position in the memory of one server process.
    Memory {
        /// ID of the server process.
        start: u64,
        /// Number of the first record after the position.
        before: u64,
    },
}

/// A position in a file, independent of the file's current name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePosition {
    /// Fingerprint of the file's first line, which rotation does not change.
    pub(crate) file: u64,
    /// Number of bytes before the position.
    pub(crate) before: u64,
}

/// The text is not an encoded position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be the value from the previous page; omit the parameter for the first page")]
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
            // Check the digits first, because `from_str_radix` also accepts a sign.
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
    fn invalid_audit_log_position_is_rejected() {
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
        fn audit_log_position_round_trips(of: u64, before: u64) {
            for position in [
                Position::File(FilePosition { file: of, before }),
                Position::Memory { start: of, before },
            ] {
                prop_assert_eq!(position.to_string().parse(), Ok(position));
            }
        }

        #[test]
        fn arbitrary_audit_log_position_does_not_panic(text: String) {
            let _ = text.parse::<Position>();
        }
    }
}
