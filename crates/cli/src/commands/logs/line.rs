//! Lines of logs on the terminal.

use std::borrow::Cow;

use super::source::Source;
use crate::table::is_unsafe;
use crate::terminal::{PrintError, output_is_terminal, print_bytes};

/// Ends the colors of a line.
const RESET: &str = "\x1b[0m";

/// Prints lines, optionally with their container.
#[derive(Debug)]
pub(super) struct LinePrinter {
    has_prefix: bool,
    is_terminal: bool,
}

impl LinePrinter {
    /// Creates a printer for standard output.
    pub(super) fn new(has_prefix: bool) -> Self {
        Self {
            has_prefix,
            is_terminal: output_is_terminal(),
        }
    }

    /// Prints a line.
    pub(super) fn print(&self, source: &Source, line: &[u8]) -> Result<(), PrintError> {
        print_bytes(&self.bytes(source, line))
    }

    fn bytes(&self, source: &Source, line: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(line.len() + 64);
        if self.has_prefix {
            let label = crate::table::one_line(&source.label());
            bytes.extend_from_slice(format!("[{label}] ").as_bytes());
        }
        if self.is_terminal {
            bytes.extend_from_slice(safe_line(&String::from_utf8_lossy(line)).as_bytes());
        } else {
            bytes.extend_from_slice(line);
        }
        bytes.push(b'\n');
        bytes
    }
}

/// Replaces control characters, except tabs and sequences that set colors. A container could
/// otherwise control the terminal of the user.
pub fn safe_line(line: &str) -> Cow<'_, str> {
    if !line.chars().any(|c| is_unsafe(c) && c != '\t') {
        return Cow::Borrowed(line);
    }
    let mut safe = String::with_capacity(line.len());
    let mut rest = line;
    let mut has_color = false;
    while let Some(c) = rest.chars().next() {
        if let Some(length) = color_length(rest) {
            safe.push_str(&rest[..length]);
            rest = &rest[length..];
            has_color = true;
            continue;
        }
        let is_allowed = c == '\t' || !is_unsafe(c);
        safe.push(if is_allowed { c } else { '\u{fffd}' });
        rest = &rest[c.len_utf8()..];
    }
    if has_color {
        safe.push_str(RESET);
    }
    Cow::Owned(safe)
}

/// Returns the length of the color sequence (`ESC [ … m`) at the start of the text, in bytes.
fn color_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|c: char| !(c.is_ascii_digit() || matches!(c, ';' | ':')))?;
    parameters[end..].starts_with('m').then_some(2 + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_other_than_colors_are_replaced_on_a_terminal() {
        for (line, safe) in [
            ("plain\ttext", "plain\ttext"),
            ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m\x1b[0m"),
            ("\x1b[1;38:5:9mx", "\x1b[1;38:5:9mx\x1b[0m"),
            ("\x1b[2J", "\u{fffd}[2J"),
            ("\x1b]0;title\x07", "\u{fffd}]0;title\u{fffd}"),
            ("a\rb\x08", "a\u{fffd}b\u{fffd}"),
            ("\u{9b}31m \u{202e}", "\u{fffd}31m \u{fffd}"),
            ("\x1b[31", "\u{fffd}[31"),
            ("ü\x1b[?25l", "ü\u{fffd}[?25l"),
        ] {
            assert_eq!(safe_line(line), safe, "{line:?}");
        }
    }

    #[test]
    fn line_in_a_pipe_is_unchanged_after_its_prefix() {
        let printer = LinePrinter {
            has_prefix: true,
            is_terminal: false,
        };
        let source = Source {
            cluster: "berlin".to_owned(),
            namespace: "shop".to_owned(),
            pod: "web".to_owned(),
            container: "a".to_owned(),
            container_id: String::new(),
        };
        let line = printer.bytes(&source, b"\x1b[2J\xff");
        assert_eq!(line, b"[berlin/web/a] \x1b[2J\xff\n");
    }
}
