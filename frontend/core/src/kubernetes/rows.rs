//! Layout of long texts in rows of equal height.

use std::ops::Range;

/// The maximum number of text columns in a row. Browsers become unresponsive if they render longer
/// rows.
pub const WIDEST: usize = 4_000;

/// The number of text columns in the margins of a row.
const MARGINS: usize = 2;
/// The minimum number of text columns in a row.
const NARROWEST: usize = 10;

/// Returns the number of columns for text, without the gutter. `room` is the width of the view if
/// lines wrap.
pub fn columns(room: Option<usize>, gutter: usize) -> usize {
    let text = room.unwrap_or(WIDEST).saturating_sub(gutter + MARGINS);
    text.max(NARROWEST)
}

/// Returns the width in columns of the longest row with its gutter; 0 if lines wrap.
pub fn widest(columns: usize, gutter: usize, longest: impl FnOnce() -> Option<usize>) -> usize {
    if columns < WIDEST / 2 {
        return 0;
    }
    longest().unwrap_or_default().min(columns) + gutter + MARGINS
}

/// Returns the width of a character in columns of a fixed-width font.
fn width(letter: char) -> usize {
    match u32::from(letter) {
        // Combining marks take no column.
        0x0300..=0x036F | 0x200B..=0x200F | 0xFE00..=0xFE0F => 0,
        // East Asian characters and emoji take two columns.
        0x1100..=0x115F
        | 0x2E80..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0x1F300..=0x1FAFF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

/// Splits a line into rows. An empty line has one row.
pub fn parts(line: &str, columns: usize) -> Vec<Range<usize>> {
    let columns = columns.clamp(1, WIDEST);
    let (mut parts, mut start, mut taken) = (Vec::new(), 0, 0);
    for (at, letter) in line.char_indices() {
        let width = width(letter);
        if taken + width > columns && at > start {
            parts.push(start..at);
            (start, taken) = (at, 0);
        }
        taken += width;
    }
    parts.push(start..line.len());
    parts
}

/// Returns the number of rows of a line.
pub fn height(line: &str, columns: usize) -> usize {
    let columns = columns.clamp(1, WIDEST);
    if line.len() <= columns {
        // A character is not wider than its number of bytes.
        return 1;
    }
    if line.is_ascii() {
        return line.len().div_ceil(columns);
    }
    parts(line, columns).len()
}

/// Maps lines of a text to rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The first row of each line, and the total number of rows.
    starts: Vec<usize>,
}

impl Layout {
    /// Creates the layout from the heights of the lines in rows.
    pub fn of(heights: impl IntoIterator<Item = usize>) -> Self {
        let mut starts = vec![0];
        let mut row = 0;
        for height in heights {
            row += height;
            starts.push(row);
        }
        Self { starts }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.starts.last().copied().unwrap_or_default()
    }

    /// Returns the line of a row, and the index of the row within the line.
    pub fn line_at(&self, row: usize) -> Option<(usize, usize)> {
        if row >= self.rows() {
            return None;
        }
        let line = self.starts.partition_point(|start| *start <= row) - 1;
        Some((line, row - self.starts[line]))
    }

    /// Returns the first row of a line.
    pub fn row_of(&self, line: usize) -> Option<usize> {
        self.starts
            .get(line)
            .copied()
            .filter(|row| *row < self.rows())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn concatenated_rows_of_a_wrapped_line_equal_the_line(line in "\\PC{0,60}", columns in 0_usize..20) {
            let parts = parts(&line, columns);
            let whole: String = parts.iter().map(|part| &line[part.clone()]).collect();
            prop_assert_eq!(&whole, &line);
            prop_assert_eq!(parts.len(), height(&line, columns));
            for part in parts {
                let text = &line[part];
                let fits = text.chars().map(width).sum::<usize>() <= columns.max(1);
                prop_assert!(fits || text.chars().count() == 1, "{}", text);
            }
        }

        #[test]
        fn log_layout_maps_each_row_to_a_line(heights in prop::collection::vec(1_usize..4, 0..20)) {
            let layout = Layout::of(heights.clone());
            let mut row = 0;
            for (line, height) in heights.into_iter().enumerate() {
                prop_assert_eq!(layout.row_of(line), Some(row));
                for part in 0..height {
                    prop_assert_eq!(layout.line_at(row), Some((line, part)));
                    row += 1;
                }
            }
            prop_assert_eq!(layout.rows(), row);
            prop_assert_eq!(layout.line_at(row), None);
        }
    }

    #[test]
    fn wrapped_rows_fit_the_view_and_unwrapped_rows_fit_the_longest_line() {
        let wrapped = columns(Some(100), 25);
        assert_eq!((wrapped, widest(wrapped, 25, || Some(5_000))), (73, 0));
        let whole = columns(None, 25);
        assert_eq!(widest(whole, 25, || Some(200)), 227);
        assert_eq!(widest(whole, 25, || Some(5_000)), WIDEST);
        assert_eq!(columns(Some(20), 25), NARROWEST);
    }

    #[test]
    fn wide_characters_occupy_two_columns() {
        assert_eq!(parts("日本語", 4), [0..6, 6..9]);
        assert_eq!(height("abcdef", 3), 2);
        assert_eq!(height("", 3), 1);
    }
}
