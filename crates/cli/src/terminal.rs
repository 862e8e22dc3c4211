//! Standard input, output and error, for terminals and pipes.

use std::io::{self, BufRead, IsTerminal, Write};

use drover_api::rest::Secret;

use crate::platform::{close_output, hidden};

/// Maximum length of a password or other line of input, in bytes.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// The error of writing to standard output.
#[derive(Debug, thiserror::Error)]
pub enum PrintError {
    /// The process that reads the pipe, for example `head`, closed the pipe.
    #[error("the reader of standard output closed the pipe")]
    ClosedPipe,
    /// A write error other than a closed pipe, such as a full disk.
    #[error("cannot write to standard output: {cause}", cause = .0)]
    Write(#[source] io::Error),
    /// The value cannot be encoded.
    #[error("cannot encode the output as {format}: {reason}")]
    Encode {
        /// The output format: JSON or YAML.
        format: &'static str,
        /// Error of the encoder.
        reason: String,
    },
}

impl From<io::Error> for PrintError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::Write(error)
        }
    }
}

/// The error of reading a value from the user.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Standard input is not a terminal.
    #[error(
        "cannot prompt for {value}: standard input is not a terminal; {advice}", advice = .instead
    )]
    NotInteractive {
        /// Description of the requested value, such as `the password`.
        value: &'static str,
        /// Advice for scripts: the flag that sets the value.
        instead: &'static str,
    },
    /// Standard input ended before the value.
    #[error("cannot read {value}: standard input ended", value = .0)]
    Ended(&'static str),
    /// The user entered an empty line.
    #[error("{value} is empty", value = .0)]
    Empty(&'static str),
    /// The line is too long or not UTF-8.
    #[error("{value} is longer than {MAX_LINE_BYTES} bytes or is not UTF-8", value = .0)]
    Unusable(&'static str),
    /// The repetition of the new password differs from the new password.
    #[error("the passwords differ; nothing was changed")]
    Differ,
    /// The user declined the confirmation.
    #[error("canceled; nothing was changed")]
    Declined,
    /// The terminal cannot be read.
    #[error("cannot read {value} from the terminal: {source}")]
    Terminal {
        /// Description of the requested value, such as `the password`.
        value: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Writes text to standard output, and flushes standard output.
pub fn print(text: &str) -> Result<(), PrintError> {
    print_bytes(text.as_bytes())
}

/// Writes bytes to standard output, and flushes standard output.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), PrintError> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// Closes standard output, so that the reader of a pipe receives the end of the output while this
/// program continues.
pub(crate) fn finish_output() -> Result<(), PrintError> {
    io::stdout().lock().flush()?;
    close_output().map_err(PrintError::Write)
}

/// Writes a line to standard error.
pub fn notice(text: &str) {
    // Ignore errors, because standard error may be closed.
    drop(writeln!(io::stderr().lock(), "{text}"));
}

/// Reports whether standard output is a terminal.
pub fn output_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Asks for a line of text.
pub(crate) fn ask(
    question: &str,
    value: &'static str,
    instead: &'static str,
) -> Result<String, AskError> {
    require_terminal(value, instead)?;
    prompt(question);
    read_line(value)
}

/// Asks a yes/no question. Returns [`AskError::Declined`] for all answers except `y` and `yes`.
pub(crate) fn confirm(
    question: &str,
    value: &'static str,
    instead: &'static str,
) -> Result<(), AskError> {
    require_terminal(value, instead)?;
    prompt(&format!("{question} [y/N] "));
    match read_line(value) {
        Ok(answer) if matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes") => Ok(()),
        Ok(_) | Err(AskError::Empty(_)) => Err(AskError::Declined),
        Err(error) => Err(error),
    }
}

/// Asks for a password, without echo.
pub(crate) fn ask_password(
    question: &str,
    value: &'static str,
    instead: &'static str,
) -> Result<Secret, AskError> {
    require_terminal(value, instead)?;
    let line = hidden(
        || prompt(question),
        || read_line(value),
        |source| AskError::Terminal { value, source },
    );
    notice("");
    match line {
        Ok(line) if line.is_empty() => Err(AskError::Empty(value)),
        line => line.map(Secret::new),
    }
}

/// Asks for a new password and its repetition.
pub(crate) fn ask_new_password(instead: &'static str) -> Result<Secret, AskError> {
    let value = "the new password";
    let first = ask_password("New password (12 characters or more): ", value, instead)?;
    let second = ask_password("Repeat the new password: ", value, instead)?;
    if first == second {
        Ok(first)
    } else {
        Err(AskError::Differ)
    }
}

/// Reads a password from the next line of standard input.
pub(crate) fn read_password(value: &'static str) -> Result<Secret, AskError> {
    read_line(value).map(Secret::new)
}

fn require_terminal(value: &'static str, instead: &'static str) -> Result<(), AskError> {
    if io::stdin().is_terminal() {
        Ok(())
    } else {
        Err(AskError::NotInteractive { value, instead })
    }
}

fn prompt(question: &str) {
    let mut err = io::stderr().lock();
    drop(
        err.write_all(question.as_bytes())
            .and_then(|()| err.flush()),
    );
}

fn read_line(value: &'static str) -> Result<String, AskError> {
    let mut line = Vec::new();
    let limit = u64::try_from(MAX_LINE_BYTES + 1).unwrap_or(u64::MAX);
    io::Read::take(io::stdin().lock(), limit)
        .read_until(b'\n', &mut line)
        .map_err(|source| AskError::Terminal { value, source })?;
    line_text(line, value)
}

/// Returns the text of a line without the line ending.
fn line_text(mut line: Vec<u8>, value: &'static str) -> Result<String, AskError> {
    if line.is_empty() {
        return Err(AskError::Ended(value));
    }
    if line.len() > MAX_LINE_BYTES {
        return Err(AskError::Unusable(value));
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
    if line.is_empty() {
        return Err(AskError::Empty(value));
    }
    String::from_utf8(line).map_err(|_| AskError::Unusable(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_input_excludes_line_end_and_includes_spaces() {
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
    fn empty_too_long_and_binary_password_input_is_rejected() {
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
