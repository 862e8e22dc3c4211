//! Where a log goes on after a cut. The server counts in whole seconds, so it sends some lines
//! again; those are known by their time and their words.

use std::collections::HashMap;

use jiff::Timestamp;

use super::line::Entry;

/// What was read of the second in which a log was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seam {
    since: Timestamp,
    newest: Timestamp,
    /// Lines before this one were read, and are not kept any more.
    oldest: Timestamp,
    read: HashMap<(Timestamp, String), usize>,
}

impl Seam {
    /// From the lines that are kept, the newest first.
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
                // All of the second is known.
                seam.oldest = seam.since;
                return Some(seam.clone());
            }
            seam.newest = seam.newest.max(at);
            seam.oldest = seam.oldest.min(at);
            *seam.read.entry((at, text.clone())).or_default() += 1;
        }
        seam
    }

    /// From when on to ask again.
    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// Whether a line is new; each that was read is known once.
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
