//! One line of a log: when it was written, what it says, and how it looks.

use std::ops::Range;

use jiff::Timestamp;

use super::ansi::{self, Style};
use super::level::Level;
use crate::find::Find;
use crate::messages::t;

/// Of a longer line the rest is left out, and said so.
const LONGEST: usize = 32 * 1024;

/// What a line is, without its place in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it was written; none if the server did not say.
    pub at: Option<Timestamp>,
    /// What it says, without codes for colors.
    pub text: String,
    /// From where on it looks how.
    pub styles: Vec<(usize, Style)>,
    /// How bad it is.
    pub level: Level,
    /// Whether the page says it, and not the container.
    pub is_note: bool,
}

/// A line in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 0, never used again.
    pub number: u64,
    /// Whether what is looked for is in it.
    pub is_found: bool,
    /// What it is.
    pub entry: Entry,
}

/// A piece of a row that looks the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The letters.
    pub text: &'a str,
    /// How they look.
    pub style: Style,
    /// Whether they are what is looked for.
    pub is_found: bool,
}

impl Entry {
    /// Reads a line that begins with its time, as `timestamps=true` has it.
    pub fn read(raw: &[u8]) -> Self {
        let raw = String::from_utf8_lossy(raw);
        let raw = raw.strip_suffix('\r').unwrap_or(&raw);
        let stamped = raw.split_once(' ').unwrap_or((raw, ""));
        let at: Option<Timestamp> = stamped.0.parse().ok();
        let rest = if at.is_some() { stamped.1 } else { raw };
        let (mut text, styles) = ansi::read(rest);
        if text.len() > LONGEST {
            let left_out = text.len() - text.floor_char_boundary(LONGEST);
            text.truncate(text.floor_char_boundary(LONGEST));
            text.push_str(&t().log.cut_line(left_out));
        }
        Self {
            at,
            level: Level::of(&text),
            text,
            styles,
            is_note: false,
        }
    }

    /// Words of the page's own.
    pub(super) fn note(words: &str) -> Self {
        Self {
            at: None,
            text: words.to_owned(),
            styles: Vec::new(),
            level: Level::Plain,
            is_note: true,
        }
    }

    fn style_at(&self, place: usize) -> Style {
        let behind = self.styles.partition_point(|(from, _)| *from <= place);
        let found = behind.checked_sub(1).and_then(|last| self.styles.get(last));
        found.map(|(_, style)| *style).unwrap_or_default()
    }

    /// A part of the line in pieces that look the same.
    pub fn segments(&self, part: Range<usize>, find: &Find) -> Vec<Segment<'_>> {
        let found = if find.is_empty() {
            Vec::new()
        } else {
            find.places(&self.text)
        };
        let mut edges: Vec<usize> = vec![part.start, part.end];
        edges.extend(self.styles.iter().map(|(from, _)| *from));
        edges.extend(found.iter().flat_map(|place| [place.start, place.end]));
        edges.retain(|edge| part.start <= *edge && *edge <= part.end);
        edges.sort_unstable();
        edges.dedup();
        edges
            .windows(2)
            .filter_map(|pair| {
                Some(Segment {
                    text: self.text.get(pair[0]..pair[1])?,
                    style: self.style_at(pair[0]),
                    is_found: found.iter().any(|place| place.contains(&pair[0])),
                })
            })
            .collect()
    }
}

impl Line {
    /// How much of the memory it takes, nearly.
    pub(super) fn bytes(&self) -> usize {
        let styles = self.entry.styles.len() * size_of::<(usize, Style)>();
        self.entry.text.len() + styles + size_of::<Self>()
    }
}
