//! A log line: timestamp, text, styles and level.

use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;

use super::ansi::{self, Style};
use super::level::Level;
use crate::find::Find;
use crate::messages::t;

/// The maximum number of bytes of a line. Longer lines are truncated, with a note.
const MAX_LENGTH: usize = 32 * 1024;

/// A log line without its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The timestamp, if the server sent one.
    pub at: Option<Timestamp>,
    /// The text of the line without escape sequences.
    pub text: String,
    /// The styles of the text, each with the byte offset at which the style starts.
    pub styles: Vec<(usize, Style)>,
    /// The detected level of the line.
    pub level: Level,
    /// True if the entry is a note of the page, not a line of the container.
    pub is_note: bool,
    /// The container that wrote the line, in a log of many containers.
    pub source: Option<LogSource>,
}

/// A container in a log of many containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSource {
    /// The name of the pod and of the container: `web-0/app`.
    pub label: Arc<str>,
    /// The number of the color.
    pub color: usize,
}

impl LogSource {
    /// The number of different colors.
    pub const COLORS: usize = 6;

    /// Creates the source for the container with this number in the log.
    pub fn of(pod: &str, container: &str, number: usize) -> Self {
        Self::with_path(&[pod, container], number)
    }

    /// Creates the source for the container with this number in a log of several clusters. `path`
    /// contains the names of the cluster, the namespace if the log has several namespaces, the pod
    /// and the container.
    pub fn with_path(path: &[&str], number: usize) -> Self {
        Self {
            label: path.join("/").into(),
            color: number % Self::COLORS,
        }
    }
}

/// A numbered log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The number of the line, from 0, unique within the log.
    pub number: u64,
    /// True if the line matches the search text.
    pub is_found: bool,
    /// True if a filter hides the line.
    pub is_hidden: bool,
    /// The content of the line.
    pub entry: Entry,
}

/// A part of a row with one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The text of the segment.
    pub text: &'a str,
    /// The style of the segment.
    pub style: Style,
    /// True if the segment is a search match.
    pub is_found: bool,
}

impl Entry {
    /// Parses a line with a timestamp (`timestamps=true`).
    pub fn read(raw: &[u8]) -> Self {
        let raw = String::from_utf8_lossy(raw);
        let raw = raw.strip_suffix('\r').unwrap_or(&raw);
        let stamped = raw.split_once(' ').unwrap_or((raw, ""));
        let at: Option<Timestamp> = stamped.0.parse().ok();
        let rest = if at.is_some() { stamped.1 } else { raw };
        let (mut text, styles) = ansi::read(rest);
        if text.len() > MAX_LENGTH {
            let left_out = text.len() - text.floor_char_boundary(MAX_LENGTH);
            text.truncate(text.floor_char_boundary(MAX_LENGTH));
            text.push_str(&t().log.cut_line(left_out));
        }
        Self {
            at,
            level: Level::of(&text),
            text,
            styles,
            is_note: false,
            source: None,
        }
    }

    /// Parses a line of a container in a log of many containers.
    pub fn of_source(raw: &[u8], source: Option<&LogSource>) -> Self {
        Self {
            source: source.cloned(),
            ..Self::read(raw)
        }
    }

    /// Creates a note of the page.
    pub(super) fn note(words: &str) -> Self {
        Self {
            at: None,
            text: words.to_owned(),
            styles: Vec::new(),
            level: Level::Plain,
            is_note: true,
            source: None,
        }
    }

    fn style_at(&self, place: usize) -> Style {
        let behind = self.styles.partition_point(|(from, _)| *from <= place);
        let found = behind.checked_sub(1).and_then(|last| self.styles.get(last));
        found.map(|(_, style)| *style).unwrap_or_default()
    }

    /// Splits a part of the line by style and match.
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
    /// Returns the estimated memory use of the line, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let styles = self.entry.styles.len() * size_of::<(usize, Style)>();
        self.entry.text.len() + styles + size_of::<Self>()
    }
}
