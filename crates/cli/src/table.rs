//! Tables, pages and durations in human-readable form.

use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

/// Separator between columns.
const GAP: &str = "   ";
/// The text of an empty cell.
pub(crate) const DASH: &str = "-";

/// A table with a header.
#[derive(Debug)]
pub(crate) struct Table {
    headings: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates an empty table.
    pub(crate) fn new(headings: &'static [&'static str]) -> Self {
        Self {
            headings,
            rows: Vec::new(),
        }
    }

    /// Adds a row. Drops cells beyond the number of headings. Adds empty cells if the row has fewer
    /// cells than headings.
    pub(crate) fn row(&mut self, cells: &[String]) {
        let clean = cells.iter().map(|cell| one_line(cell)).collect();
        self.rows.push(clean);
    }

    /// Renders the table with aligned columns and without trailing spaces.
    pub(crate) fn render(&self) -> String {
        let mut widths: Vec<usize> = self.headings.iter().map(|h| h.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        let mut text = String::new();
        push_line(&mut text, &widths, self.headings.iter().copied());
        for row in &self.rows {
            push_line(&mut text, &widths, row.iter().map(String::as_str));
        }
        text
    }
}

/// Appends a line with padded cells. Drops cells without a width.
pub(crate) fn push_line<'a>(
    text: &mut String,
    widths: &[usize],
    cells: impl Iterator<Item = &'a str>,
) {
    let start = text.len();
    for (cell, width) in cells.zip(widths) {
        text.push_str(cell);
        let padding = width.saturating_sub(cell.width());
        text.extend(std::iter::repeat_n(' ', padding));
        text.push_str(GAP);
    }
    let end = text[start..].trim_end_matches(' ').len();
    text.truncate(start + end);
    text.push('\n');
}

/// Renders fields as `Key:  value` lines with aligned values.
pub fn describe(fields: &[(&str, String)]) -> String {
    let width = fields.iter().map(|(key, _)| key.width()).max().unwrap_or(0) + 1;
    let mut text = String::new();
    for (key, value) in fields {
        let key = format!("{key}:");
        let line = format!("{key:<width$}  {}", printable(value));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Replaces control characters, except line feeds. Names and descriptions come from other users and
/// can contain terminal control sequences.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| {
            if is_unsafe(c) && c != '\n' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

/// Replaces control characters, except tabs and line feeds, which templates print.
pub(crate) fn printable_layout(text: &str) -> String {
    let safe = |c: char| matches!(c, '\n' | '\t') || !is_unsafe(c);
    text.chars()
        .map(|c| if safe(c) { c } else { '\u{fffd}' })
        .collect()
}

/// Replaces control characters. Line feeds and tabs become spaces.
pub(crate) fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => ' ',
            c if is_unsafe(c) => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// Reports whether a character controls the terminal or the direction of text.
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Formats the time since `of` in at most two units: `5s`, `12m`, `3h20m`, `9d`, `2y40d`.
pub(crate) fn age(of: Timestamp, now: Timestamp) -> String {
    span(
        now.as_second()
            .saturating_sub(of.as_second())
            .max(0)
            .unsigned_abs(),
    )
}

/// Formats the remaining time until `end`, such as `in 3h`, or `expired`.
pub(crate) fn until(end: Timestamp, now: Timestamp) -> String {
    let remaining = end.as_second().saturating_sub(now.as_second());
    match u64::try_from(remaining) {
        Ok(remaining) if remaining > 0 => format!("in {}", span(remaining)),
        _ => "expired".to_owned(),
    }
}

/// Formats a duration in at most two units, such as `3h20m`, like kubectl's AGE column.
pub(crate) fn span(seconds: u64) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    const YEAR: u64 = 365 * DAY;
    let two = |big: u64, big_unit, small: u64, small_unit| {
        let whole = seconds / big;
        match seconds % big / small {
            0 => format!("{whole}{big_unit}"),
            rest => format!("{whole}{big_unit}{rest}{small_unit}"),
        }
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(MINUTE, 'm', 1, 's'),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(HOUR, 'h', MINUTE, 'm'),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(DAY, 'd', HOUR, 'h'),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        _ => two(YEAR, 'y', DAY, 'd'),
    }
}

/// Returns the text, or [`DASH`] if the text is empty.
pub(crate) fn or_dash(text: Option<&str>) -> String {
    match text {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => DASH.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_columns_are_aligned() {
        let mut table = Table::new(&["NAME", "STATE", "NOTE"]);
        table.row(&["berlin".into(), "ready".into(), String::new()]);
        table.row(&[
            "東京".into(),
            "not ready: \x1b[31mred".into(),
            "a\nb".into(),
        ]);
        insta::assert_snapshot!(table.render(), @r"
        NAME     STATE                 NOTE
        berlin   ready
        東京     not ready: �[31mred   a b
        ");
    }

    #[test]
    fn durations_are_formatted_like_in_kubectl() {
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (330, "5m30s"),
            (3_600, "60m"),
            (10_800, "3h"),
            (12_000, "3h20m"),
            (90_000, "25h"),
            (180_000, "2d2h"),
            (864_000, "10d"),
            (66_528_000, "2y40d"),
        ] {
            assert_eq!(span(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn expiry_time_in_the_past_is_printed_as_expired() {
        let at = |s| Timestamp::from_second(s).unwrap();
        assert_eq!(until(at(100), at(100)), "expired");
        assert_eq!(until(at(130), at(100)), "in 30s");
        assert_eq!(age(at(130), at(100)), "0s", "clocks differ a little");
    }

    #[test]
    fn control_characters_in_table_cells_are_replaced() {
        assert_eq!(
            printable("a\x1b]0;x\x07\u{202e}b\nc"),
            "a\u{fffd}]0;x\u{fffd}\u{fffd}b\nc"
        );
    }
}
