//! The latest records in memory, for a log on standard output.

use std::collections::VecDeque;
use std::sync::Arc;

use drover_api::rest::{AuditList, AuditSource};
use parking_lot::RwLock;

use super::{Page, PageRequest, Position, ReadAuditError, SearchStep, oldest_time};

/// Maximum number of stored records, and maximum size of all stored records in bytes.
const MAX: (usize, usize) = (10_000, 8 * 1024 * 1024);

/// The latest records. Clones share the records.
#[derive(Clone, Debug)]
pub(crate) struct Recent(Arc<RwLock<State>>);

#[derive(Debug)]
struct State {
    /// ID of this server process.
    start: u64,
    lines: VecDeque<Arc<[u8]>>,
    bytes: usize,
    /// Number of the oldest stored line.
    first: u64,
}

/// A snapshot of the lines before a position, oldest first.
struct Snapshot {
    lines: Vec<Arc<[u8]>>,
    start: u64,
    /// Number of the first line in the snapshot.
    first: u64,
}

impl Default for Recent {
    fn default() -> Self {
        Self(Arc::new(RwLock::new(State {
            start: uuid::Uuid::new_v4().as_u64_pair().0,
            lines: VecDeque::new(),
            bytes: 0,
            first: 0,
        })))
    }
}

impl Recent {
    /// Stores written lines and drops the oldest lines.
    pub(crate) fn keep(&self, lines: &[u8]) {
        let mut state = self.0.write();
        for line in lines.split(|byte| *byte == b'\n') {
            if !line.is_empty() {
                state.push(line.into());
            }
        }
    }

    /// Reads a page in order of time, newest record first.
    pub(super) fn read(&self, page_request: &PageRequest) -> Result<AuditList, ReadAuditError> {
        let older = self.older_than(page_request.after)?;
        let mut page = Page::new(page_request);
        let mut next = None;
        for (index, line) in older.lines.iter().enumerate().rev() {
            match page.take(line) {
                SearchStep::Continue => {}
                SearchStep::EndPage => {
                    next = (index > 0).then_some(Position::Memory {
                        start: older.start,
                        before: older.first + index as u64,
                    });
                    break;
                }
                SearchStep::End => break,
            }
        }
        let kept_since = older.lines.first().and_then(|oldest| oldest_time(oldest));
        Ok(page.done(AuditSource::Memory, kept_since, next))
    }

    fn older_than(&self, after: Option<Position>) -> Result<Snapshot, ReadAuditError> {
        let state = self.0.read();
        let count = match after {
            None => state.lines.len(),
            Some(Position::Memory { start, before }) if start == state.start => {
                state.older(before).ok_or(ReadAuditError::Gone)?
            }
            Some(_) => return Err(ReadAuditError::Gone),
        };
        Ok(Snapshot {
            lines: state.lines.iter().take(count).cloned().collect(),
            start: state.start,
            first: state.first,
        })
    }
}

impl State {
    fn push(&mut self, line: Arc<[u8]>) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > MAX.0 || self.bytes > MAX.1 {
            let gone = self.lines.pop_front().map_or(0, |line| line.len());
            self.bytes -= gone;
            self.first += 1;
        }
    }

    /// Returns how many stored lines are older than line number `before`. Returns `None` if the
    /// next older line is not stored.
    fn older(&self, before: u64) -> Option<usize> {
        let count = usize::try_from(before.checked_sub(self.first)?).ok()?;
        let there = count <= self.lines.len() && count > 0;
        there.then_some(count)
    }
}
