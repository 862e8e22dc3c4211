//! Standard input, output and error as a person or a pipe has them.

use std::io::{self, BufRead, IsTerminal, Write};

use drover_api::rest::Secret;

use crate::platform::{close_output, hidden};

/// A password or an answer longer than this is a mistake.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// Why nothing could be printed.
#[derive(Debug, thiserror::Error)]
pub enum PrintError {
    /// Whoever read the output went away, as `head` does; not worth a word.
    #[error("nobody reads the output any more")]
    ReaderGone,
    /// Anything else, a full disk for instance.
    #[error("cannot write to standard output: {0}")]
    Write(#[source] io::Error),
    /// The value cannot be written in the format asked for.
    #[error("cannot write the answer as {format}: {reason}")]
    Encode {
        /// JSON or YAML.
        format: &'static str,
        /// What the encoder said.
        reason: String,
    },
}

impl From<io::Error> for PrintError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ReaderGone
        } else {
            Self::Write(error)
        }
    }
}

/// Why a person's answer could not be had.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// There is nobody to ask.
    #[error("standard input is no terminal, so nobody can be asked for {what}; {instead}")]
    Nobody {
        /// What is wanted.
        what: &'static str,
        /// The flag that gives it without asking.
        instead: &'static str,
    },
    /// It ended before the answer came.
    #[error("standard input ended before {0} came")]
    Ended(&'static str),
    /// The answer is empty.
    #[error("{0} is empty")]
    Empty(&'static str),
    /// The answer is no password.
    #[error("{0} is longer than {MAX_LINE_BYTES} bytes or is not UTF-8")]
    Unusable(&'static str),
    /// The new password was typed differently the second time.
    #[error("the two passwords differ; nothing was changed")]
    Differ,
    /// The question was answered with no.
    #[error("nothing was done")]
    Declined,
    /// The terminal failed.
    #[error("cannot read {what} from the terminal: {source}")]
    Terminal {
        /// What is wanted.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// Writes to standard output, all of it, now.
pub fn print(text: &str) -> Result<(), PrintError> {
    print_bytes(text.as_bytes())
}

/// Writes bytes to standard output, all of them, now.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), PrintError> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// Closes standard output, so that the reader of a pipe sees its end while this program runs on.
pub(crate) fn finish_output() -> Result<(), PrintError> {
    io::stdout().lock().flush()?;
    close_output().map_err(PrintError::Write)
}

/// Says something to the person, beside the output.
pub fn notice(text: &str) {
    // A closed standard error is no reason to stop.
    drop(writeln!(io::stderr().lock(), "{text}"));
}

/// Whether standard output shows on a screen.
pub fn output_is_screen() -> bool {
    io::stdout().is_terminal()
}

/// Asks for a line of text.
pub(crate) fn ask(
    question: &str,
    what: &'static str,
    instead: &'static str,
) -> Result<String, AskError> {
    someone_there(what, instead)?;
    prompt(question);
    read_line(what)
}

/// Asks yes or no; anything but `y` and `yes` is [`AskError::Declined`].
pub(crate) fn confirm(
    question: &str,
    what: &'static str,
    instead: &'static str,
) -> Result<(), AskError> {
    someone_there(what, instead)?;
    prompt(&format!("{question} [y/N] "));
    match read_line(what) {
        Ok(answer) if matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes") => Ok(()),
        Ok(_) | Err(AskError::Empty(_)) => Err(AskError::Declined),
        Err(error) => Err(error),
    }
}

/// Asks for a password, which does not show while it is typed.
pub(crate) fn ask_password(
    question: &str,
    what: &'static str,
    instead: &'static str,
) -> Result<Secret, AskError> {
    someone_there(what, instead)?;
    let line = hidden(
        || prompt(question),
        || read_line(what),
        |source| AskError::Terminal { what, source },
    );
    notice("");
    match line {
        Ok(line) if line.is_empty() => Err(AskError::Empty(what)),
        line => line.map(Secret::new),
    }
}

/// Asks for a new password, twice.
pub(crate) fn ask_new_password(instead: &'static str) -> Result<Secret, AskError> {
    let what = "the new password";
    let first = ask_password("New password (12 characters or more): ", what, instead)?;
    let second = ask_password("The same again: ", what, instead)?;
    if first == second {
        Ok(first)
    } else {
        Err(AskError::Differ)
    }
}

/// Reads a password from the next line of standard input.
pub(crate) fn read_password(what: &'static str) -> Result<Secret, AskError> {
    read_line(what).map(Secret::new)
}

fn someone_there(what: &'static str, instead: &'static str) -> Result<(), AskError> {
    if io::stdin().is_terminal() {
        Ok(())
    } else {
        Err(AskError::Nobody { what, instead })
    }
}

fn prompt(question: &str) {
    let mut err = io::stderr().lock();
    drop(
        err.write_all(question.as_bytes())
            .and_then(|()| err.flush()),
    );
}

fn read_line(what: &'static str) -> Result<String, AskError> {
    let mut line = Vec::new();
    let limit = u64::try_from(MAX_LINE_BYTES + 1).unwrap_or(u64::MAX);
    io::Read::take(io::stdin().lock(), limit)
        .read_until(b'\n', &mut line)
        .map_err(|source| AskError::Terminal { what, source })?;
    line_text(line, what)
}

/// The text of a line as read: without its end, and only if it is a whole, non-empty line.
fn line_text(mut line: Vec<u8>, what: &'static str) -> Result<String, AskError> {
    if line.is_empty() {
        return Err(AskError::Ended(what));
    }
    if line.len() > MAX_LINE_BYTES {
        return Err(AskError::Unusable(what));
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
    if line.is_empty() {
        return Err(AskError::Empty(what));
    }
    String::from_utf8(line).map_err(|_| AskError::Unusable(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_without_its_end_and_with_its_spaces() {
        for (bytes, text) in [
            ("secret\n", "secret"),
            ("secret\r\n", "secret"),
            ("secret", "secret"),
            (" se cret \n", " se cret "),
        ] {
            assert_eq!(line_text(bytes.into(), "it").unwrap(), text);
        }
    }

    #[test]
    fn a_line_that_is_no_password_is_refused() {
        assert!(matches!(line_text(vec![], "it"), Err(AskError::Ended(_))));
        assert!(matches!(
            line_text(b"\n".to_vec(), "it"),
            Err(AskError::Empty(_))
        ));
        assert!(matches!(
            line_text(b"\xff\n".to_vec(), "it"),
            Err(AskError::Unusable(_))
        ));
        let long = vec![b'a'; MAX_LINE_BYTES + 1];
        assert!(matches!(line_text(long, "it"), Err(AskError::Unusable(_))));
    }
}
