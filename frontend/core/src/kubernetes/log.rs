//! The log of a container: a bounded buffer without duplicate lines.

mod ansi;
mod choice;
mod level;
mod line;
mod next;
mod options;
mod resume;

use std::collections::VecDeque;

pub use ansi::{Color, Style};
pub use choice::{LogRequest, SINCES, Since, TAILS};
pub use level::Level;
pub use line::{Entry, Line, Segment};
pub use next::{LogStreamEnd, Next, next};
pub use options::LogOptions;
pub use resume::ResumePosition;

use crate::find::Find;

/// The maximum number of lines in the buffer.
pub const MAX_LINES: usize = 10_000;
/// The maximum number of bytes in the buffer.
const MAX_BYTES: usize = 24 * 1024 * 1024;

/// The log of a container. While the log is paused, the buffer of shown lines does not change.
#[derive(Clone, Debug, Default)]
pub struct Log {
    shown: LineBuffer,
    waiting: LineBuffer,
    paused: bool,
    next: u64,
    dropped: u64,
    find: Find,
    found: usize,
}

#[derive(Clone, Debug, Default)]
struct LineBuffer {
    lines: VecDeque<Line>,
    bytes: usize,
}

impl LineBuffer {
    fn push(&mut self, line: Line) {
        self.bytes += line.bytes();
        self.lines.push_back(line);
    }

    /// Drops the oldest lines above the limits.
    fn shorten(&mut self, mut each: impl FnMut(&Line)) {
        while self.lines.len() > MAX_LINES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.lines.pop_front() else {
                return;
            };
            self.bytes = self.bytes.saturating_sub(oldest.bytes());
            each(&oldest);
        }
    }
}

impl Log {
    /// Adds a raw line that starts with a timestamp.
    pub fn push(&mut self, raw: &[u8]) {
        let entry = Entry::read(raw);
        self.add(entry);
    }

    /// Adds a new line. Ignores a line that the log received before an interruption. Returns true
    /// if the line is new.
    pub fn push_new(&mut self, raw: &[u8], position: Option<&mut ResumePosition>) -> bool {
        let entry = Entry::read(raw);
        let is_new = position.is_none_or(|position| position.is_new(&entry));
        if is_new {
            self.add(entry);
        }
        is_new
    }

    /// Adds a note, such as an interruption. Notes are not part of the container's output.
    pub fn note(&mut self, words: &str) {
        self.add(Entry::note(words));
    }

    fn add(&mut self, entry: Entry) {
        let line = Line {
            number: self.next,
            is_found: self.find.is_in(&entry.text),
            entry,
        };
        self.next += 1;
        if self.paused {
            self.waiting.push(line);
            let dropped = &mut self.dropped;
            self.waiting.shorten(|_| *dropped += 1);
        } else {
            self.show(line);
        }
    }

    fn show(&mut self, line: Line) {
        self.found += usize::from(line.is_found);
        self.shown.push(line);
        let (dropped, found) = (&mut self.dropped, &mut self.found);
        self.shown.shorten(|line| {
            *dropped += 1;
            *found = found.saturating_sub(usize::from(line.is_found));
        });
    }

    /// Pauses or resumes the log.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
        if !paused {
            if self.gap() > 0 {
                // Consecutive numbers require that all shown lines are dropped.
                self.dropped += self.shown.lines.len() as u64;
                self.shown = LineBuffer::default();
                self.found = 0;
            }
            for line in std::mem::take(&mut self.waiting).lines {
                self.show(line);
            }
        }
    }

    /// Reports whether the log is paused.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Returns the number of new lines that a paused log does not show yet.
    pub fn waiting(&self) -> usize {
        self.waiting.lines.len()
    }

    /// Returns the number of dropped lines.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the shown lines, oldest first.
    pub fn lines(&self) -> &VecDeque<Line> {
        &self.shown.lines
    }

    /// Sets the search text, and marks all lines that match the search text.
    pub fn find(&mut self, find: Find) {
        let all = self.shown.lines.iter_mut();
        for line in all.chain(self.waiting.lines.iter_mut()) {
            line.is_found = find.is_in(&line.entry.text);
        }
        self.found = self.shown.lines.iter().filter(|line| line.is_found).count();
        self.find = find;
    }

    /// Returns the number of lines that match the search text.
    pub fn found(&self) -> usize {
        self.found
    }

    /// Returns the search text.
    pub fn wanted(&self) -> &Find {
        &self.find
    }

    /// Returns the position from which a new stream resumes the log. Returns `None` without lines.
    pub fn resume_position(&self) -> Option<ResumePosition> {
        let lines = self
            .waiting
            .lines
            .iter()
            .rev()
            .chain(self.shown.lines.iter().rev());
        ResumePosition::after(lines.map(|line| &line.entry))
    }

    /// Returns the number of dropped lines between the shown lines and the new lines of a paused
    /// log.
    fn gap(&self) -> u64 {
        let (last, first) = (self.shown.lines.back(), self.waiting.lines.front());
        let between = last
            .zip(first)
            .map(|(last, first)| first.number - last.number);
        between.map_or(0, |numbers| numbers.saturating_sub(1))
    }

    /// Returns the number of dropped lines that [`Self::text`] does not contain.
    pub fn missing(&self) -> u64 {
        self.gap()
    }

    /// Returns the lines of the container as text, without notes.
    pub fn text(&self, with_times: bool) -> String {
        let mut text = String::new();
        add_lines(&mut text, &self.shown, with_times);
        add_lines(&mut text, &self.waiting, with_times);
        text
    }
}

fn add_lines(text: &mut String, kept: &LineBuffer, with_times: bool) {
    for line in kept.lines.iter().filter(|line| !line.entry.is_note) {
        if let Some(at) = line.entry.at.filter(|_| with_times) {
            text.push_str(&at.to_string());
            text.push(' ');
        }
        text.push_str(&line.entry.text);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests;
