//! Tables whose rows arrive in pages.

use unicode_width::UnicodeWidthStr as _;

use crate::table::{one_line, push_line};

/// Number of rows that determine the widths of the columns. Later rows can be wider.
const MAX_PENDING_ROWS: usize = 1000;
/// Maximum number of characters in a cell.
const MAX_CELL_CHARACTERS: usize = 1024;

/// Aligns the rows of a table, and keeps only a limited number of rows in memory.
#[derive(Debug, Default)]
pub(super) struct RowWriter {
    headings: Vec<String>,
    widths: Vec<usize>,
    pending: Vec<Vec<String>>,
    has_headings: bool,
    is_first: bool,
    first_width: usize,
}

impl RowWriter {
    /// Creates a writer without rows.
    pub(super) fn new(has_headings: bool) -> Self {
        Self {
            has_headings,
            is_first: true,
            ..Self::default()
        }
    }

    /// Sets the minimum width of the first column, so that the rows of a watch are aligned.
    pub(super) const fn set_first_width(&mut self, width: usize) {
        self.first_width = width;
    }

    /// Adds rows. Returns the lines that are complete. Rows with other headings start a new table.
    pub(super) fn add(&mut self, headings: &[String], rows: Vec<Vec<String>>) -> String {
        let mut text = String::new();
        if rows.is_empty() {
            return text;
        }
        if self.headings != headings {
            text.push_str(&self.flush());
            if !self.is_first {
                text.push('\n');
            }
            self.start(headings);
        }
        self.is_first = false;
        let clean = |row: Vec<String>| row.iter().map(|cell| clean(cell)).collect();
        self.pending.extend(rows.into_iter().map(clean));
        if self.pending.len() >= MAX_PENDING_ROWS {
            text.push_str(&self.flush());
        }
        text
    }

    fn start(&mut self, headings: &[String]) {
        headings.clone_into(&mut self.headings);
        self.widths = vec![0; headings.len()];
        if let Some(first) = self.widths.first_mut() {
            *first = self.first_width;
        }
        if self.has_headings {
            self.pending
                .push(headings.iter().map(|h| clean(h)).collect());
        }
    }

    /// Returns the lines of all pending rows.
    pub(super) fn flush(&mut self) -> String {
        for row in &self.pending {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        let mut text = String::new();
        for row in std::mem::take(&mut self.pending) {
            push_line(&mut text, &self.widths, row.iter().map(String::as_str));
        }
        text
    }
}

/// Returns a cell without control characters and with a limited length.
fn clean(cell: &str) -> String {
    let mut characters = cell.chars();
    let mut short: String = characters.by_ref().take(MAX_CELL_CHARACTERS).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    one_line(&short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn rows_of_all_pages_are_aligned_and_other_headings_start_a_new_table() {
        let mut writer = RowWriter::new(true);
        let headings = words("CLUSTER NAME");
        let mut text = writer.add(&headings, vec![words("a x")]);
        text += &writer.add(
            &headings,
            vec![words("berlin yy"), vec!["b".into(), "\x1b[2J".into()]],
        );
        text += &writer.add(&words("CLUSTER NAME READY"), vec![words("c z 1/1")]);
        text += &writer.flush();
        assert_eq!(
            text,
            "CLUSTER   NAME\na         x\nberlin    yy\nb         \u{fffd}[2J\n\n\
             CLUSTER   NAME   READY\nc         z      1/1\n"
        );
    }

    #[test]
    fn large_number_of_rows_is_written_in_parts() {
        let mut writer = RowWriter::new(false);
        let headings = words("A");
        let rows = vec![words("x"); MAX_PENDING_ROWS + 1];
        assert_eq!(
            writer.add(&headings, rows).lines().count(),
            MAX_PENDING_ROWS + 1
        );
        assert_eq!(writer.add(&headings, vec![words("y")]), "");
        assert_eq!(writer.flush(), "y\n");
    }

    #[test]
    fn long_cell_is_truncated() {
        assert_eq!(
            clean(&"x".repeat(5000)).chars().count(),
            MAX_CELL_CHARACTERS + 1
        );
    }
}
