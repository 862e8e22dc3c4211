//! The position from which a log stream resumes. The parameter `sinceTime` has a resolution of one
//! second, so the page detects repeated lines by timestamp and text.

use std::collections::HashMap;

use jiff::Timestamp;

use super::line::Entry;

/// The lines of the last second before an interruption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumePosition {
    since: Timestamp,
    newest: Timestamp,
    /// The time of the oldest line in the buffer. The page has already read the earlier lines.
    oldest: Timestamp,
    read: HashMap<(Timestamp, String), usize>,
}

impl ResumePosition {
    /// Creates the position from the stored lines, newest first.
    pub(super) fn after<'a>(newest_first: impl Iterator<Item = &'a Entry>) -> Option<Self> {
        let stamped = newest_first.filter_map(|entry| Some((entry.at?, &entry.text)));
        let mut position: Option<Self> = None;
        for (at, text) in stamped {
            let position = position.get_or_insert_with(|| Self {
                since: Timestamp::from_second(at.as_second()).unwrap_or(at),
                newest: at,
                oldest: at,
                read: HashMap::new(),
            });
            if at < position.since {
                // All lines of the last second are stored.
                position.oldest = position.since;
                return Some(position.clone());
            }
            position.newest = position.newest.max(at);
            position.oldest = position.oldest.min(at);
            *position.read.entry((at, text.clone())).or_default() += 1;
        }
        position
    }

    /// Returns the time from which the stream resumes.
    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// Reports whether a received line is new. Each stored line matches at most one received line.
    pub(super) fn is_new(&mut self, entry: &Entry) -> bool {
        let Some(at) = entry.at else {
            return true;
        };
        if at > self.newest {
            return true;
        }
        if at < self.oldest {
            return false;
        }
        match self.read.get_mut(&(at, entry.text.clone())) {
            Some(times) if *times > 0 => {
                *times -= 1;
                false
            }
            _ => true,
        }
    }
}
