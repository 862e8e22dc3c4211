//! The log of a container: a bounded buffer without duplicate lines.

mod ansi;
mod choice;
mod filter;
mod level;
mod line;
mod next;
mod options;
mod resume;
mod selection;

use std::collections::VecDeque;

pub use ansi::{Color, Style};
pub use choice::{LogRequest, SINCES, Since, TAILS};
pub use filter::{LineFilter, MinLevel};
pub use level::Level;
pub use line::{Entry, Line, LogSource, Segment};
pub use next::{LogStreamEnd, Next, next};
pub use options::LogOptions;
pub use resume::ResumePosition;
pub use selection::{LOGS_SCREEN, LogSelection, LogTarget, MAX_STREAMS, TargetPods};

use jiff::Timestamp;

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
    filter: LineFilter,
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

    /// Parses a line of a container for [`Self::merge`]. Returns `None` for a line that the log
    /// received before an interruption.
    pub fn read(
        raw: &[u8],
        source: &LogSource,
        position: Option<&mut ResumePosition>,
    ) -> Option<Entry> {
        let entry = Entry::of_source(raw, Some(source));
        let is_new = position.is_none_or(|position| position.is_new(&entry));
        is_new.then_some(entry)
    }

    /// Adds a note, such as an interruption. Notes are not part of the container's output.
    pub fn note(&mut self, words: &str) {
        self.add(Entry::note(words));
    }

    /// Creates a line. Hidden lines do not match the search text.
    fn line(&self, number: u64, entry: Entry) -> Line {
        let is_hidden = self.filter.hides(&entry);
        Line {
            number,
            is_found: !is_hidden && self.find.is_in(&entry.text),
            is_hidden,
            entry,
        }
    }

    /// Adds lines of many containers, and orders the lines by their time. Each container's lines
    /// are in the order of their time, but the page receives the containers at different times.
    pub fn merge(&mut self, mut entries: Vec<Entry>) {
        self.add_missing_times(&mut entries);
        entries.sort_by_key(|entry| entry.at);
        let newest = |buffer: &LineBuffer| buffer.lines.iter().rev().find_map(|line| line.entry.at);
        let newest = newest(&self.waiting).max(newest(&self.shown));
        let is_late = entries.first().is_some_and(|first| first.at < newest);
        if !is_late {
            for entry in entries {
                self.add(entry);
            }
        } else if self.paused {
            self.merge_waiting(entries);
        } else {
            self.merge_shown(entries);
        }
    }

    /// Sets the time of lines without a time to the time of the previous line of their container.
    /// The kubelet sends no time for the later parts of a long line and for its own errors.
    fn add_missing_times(&self, entries: &mut [Entry]) {
        let mut last: Vec<(LogSource, Option<Timestamp>)> = Vec::new();
        for entry in entries {
            let Some(source) = entry.source.clone() else {
                continue;
            };
            if let Some((_, time)) = last.iter_mut().find(|(known, _)| *known == source) {
                entry.at = entry.at.or(*time);
                *time = entry.at;
            } else {
                entry.at = entry.at.or_else(|| self.last_time(&source));
                last.push((source, entry.at));
            }
        }
    }

    /// Returns the time of the last line of a container.
    fn last_time(&self, source: &LogSource) -> Option<Timestamp> {
        let lines = [&self.waiting, &self.shown].into_iter();
        let mut newest_first = lines.flat_map(|buffer| buffer.lines.iter().rev());
        let of_source = |line: &&Line| line.entry.source.as_ref() == Some(source);
        newest_first.find(of_source).and_then(|line| line.entry.at)
    }

    /// Merges lines into the shown lines. All lines get new numbers, so that the page draws all
    /// rows again.
    fn merge_shown(&mut self, entries: Vec<Entry>) {
        let old = std::mem::take(&mut self.shown).lines;
        self.found = 0;
        for entry in in_order(old.into_iter().map(|line| line.entry), entries) {
            let line = self.line(self.next, entry);
            self.next += 1;
            self.show(line);
        }
    }

    /// Merges lines into the lines that a paused log does not show yet. Their numbers continue the
    /// numbers of the shown lines.
    fn merge_waiting(&mut self, entries: Vec<Entry>) {
        let old = std::mem::take(&mut self.waiting).lines;
        self.next = old.front().map_or(self.next, |line| line.number);
        for entry in in_order(old.into_iter().map(|line| line.entry), entries) {
            self.add(entry);
        }
    }

    fn add(&mut self, entry: Entry) {
        let line = self.line(self.next, entry);
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
            let waiting = std::mem::take(&mut self.waiting).lines;
            let newest = self.shown.lines.iter().rev().find_map(|line| line.entry.at);
            let first = waiting.front().and_then(|line| line.entry.at);
            if first.is_some_and(|first| newest.is_some_and(|newest| first < newest)) {
                self.merge_shown(waiting.into_iter().map(|line| line.entry).collect());
            } else {
                for line in waiting {
                    self.show(line);
                }
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

    /// Removes all lines. The search text and the filter remain.
    pub fn clear(&mut self) {
        *self = Self {
            find: std::mem::take(&mut self.find),
            filter: std::mem::take(&mut self.filter),
            next: self.next,
            ..Self::default()
        };
    }

    /// Sets the search text, and marks all lines that match the search text.
    pub fn find(&mut self, find: Find) {
        self.find = find;
        self.mark();
    }

    /// Sets the filter, and hides the lines that do not match.
    pub fn filter(&mut self, filter: LineFilter) {
        self.filter = filter;
        self.mark();
    }

    /// Marks hidden lines and matches again.
    fn mark(&mut self) {
        let all = self.shown.lines.iter_mut();
        for line in all.chain(self.waiting.lines.iter_mut()) {
            line.is_hidden = self.filter.hides(&line.entry);
            line.is_found = !line.is_hidden && self.find.is_in(&line.entry.text);
        }
        self.found = self.shown.lines.iter().filter(|line| line.is_found).count();
    }

    /// Returns the number of lines that the filter hides.
    pub fn hidden(&self) -> usize {
        let lines = self.shown.lines.iter();
        lines.filter(|line| line.is_hidden).count()
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
        self.resume_position_of(None)
    }

    /// Returns the position from which a new stream of a container resumes its lines.
    pub fn resume_position_of(&self, source: Option<&LogSource>) -> Option<ResumePosition> {
        let lines = self
            .waiting
            .lines
            .iter()
            .rev()
            .chain(self.shown.lines.iter().rev());
        let entries = lines.map(|line| &line.entry);
        ResumePosition::after(entries.filter(|entry| entry.source.as_ref() == source))
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

    /// Returns the lines of the container as text, without notes and hidden lines. A line of a log of
    /// many containers begins with its container.
    pub fn text(&self, with_times: bool) -> String {
        let mut text = String::new();
        add_lines(&mut text, &self.shown, with_times);
        add_lines(&mut text, &self.waiting, with_times);
        text
    }
}

/// Merges two lists that are ordered by time. A note stays behind the line before the note.
fn in_order(old: impl Iterator<Item = Entry>, new: Vec<Entry>) -> Vec<Entry> {
    let mut new = new.into_iter().peekable();
    let mut merged = Vec::new();
    for entry in old {
        while let Some(earlier) = new.next_if(|new| entry.at.is_some() && new.at < entry.at) {
            merged.push(earlier);
        }
        merged.push(entry);
    }
    merged.extend(new);
    merged
}

fn add_lines(text: &mut String, kept: &LineBuffer, with_times: bool) {
    let lines = kept.lines.iter();
    for line in lines.filter(|line| !line.entry.is_note && !line.is_hidden) {
        if let Some(source) = &line.entry.source {
            text.push_str(&source.label);
            text.push(' ');
        }
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
