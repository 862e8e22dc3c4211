//! Prints the results of recipes.

use std::io::{self, Write as _};

/// Writes a line to standard output. Ignores errors, because standard output may be closed.
pub(crate) fn print_line(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}
