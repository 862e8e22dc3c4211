//! The position to resume a log from. `sinceTime` has a resolution of one second, so repeated lines
//! are recognized by time and text.

use std::collections::HashMap;

use jiff::Timestamp;

use super::line::Entry;

/// The lines read in the last second before an interruption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seam {
    since: Timestamp,
    newest: Timestamp,
    /// Earlier lines were read and dropped.
    oldest: Timestamp,
    read: HashMap<(Timestamp, String), usize>,
}

impl Seam {
    /// Builds the seam from the kept lines, newest first.
    pub(super) fn after<'a>(newest_first: impl Iterator<Item = &'a Entry>) -> Option<Self> {
        let stamped = newest_first.filter_map(|entry| Some((entry.at?, &entry.text)));
        let mut seam: Option<Self> = None;
        for (at, text) in stamped {
            let seam = seam.get_or_insert_with(|| Self {
                since: Timestamp::from_second(at.as_second()).unwrap_or(at),
                newest: at,
                oldest: at,
                read: HashMap::new(),
            });
            if at < seam.since {
                // The whole second is known.
                seam.oldest = seam.since;
                return Some(seam.clone());
            }
            seam.newest = seam.newest.max(at);
            seam.oldest = seam.oldest.min(at);
            *seam.read.entry((at, text.clone())).or_default() += 1;
        }
        seam
    }

    /// The time to resume from.
    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// Whether a line is new; each known line matches once.
    pub(super) fn is_beyond(&mut self, entry: &Entry) -> bool {
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
