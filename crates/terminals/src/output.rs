//! The recent output of a terminal.

use std::collections::VecDeque;

use bytes::Bytes;

/// Number of output bytes that the server keeps. A browser that reloads its page sees this output.
pub(crate) const CAPACITY: usize = 256 * 1024;
/// Number of output bytes that the browser has not processed, above which the server reads no more
/// output from the container. The container's program then waits.
pub(crate) const WINDOW: u64 = 128 * 1024;

/// The last [`CAPACITY`] bytes of the output, and the number of bytes that the browser has
/// processed. An offset is a number of bytes since the beginning of the output.
#[derive(Debug, Default)]
pub(crate) struct Output {
    kept: VecDeque<u8>,
    end: u64,
    acknowledged: u64,
}

impl Output {
    /// Appends output, and removes the oldest bytes above the capacity.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.end += bytes.len() as u64;
        let bytes = &bytes[bytes.len().saturating_sub(CAPACITY)..];
        let excess = (self.kept.len() + bytes.len()).saturating_sub(CAPACITY);
        self.kept.drain(..excess);
        self.kept.extend(bytes);
    }

    /// Returns the offset of the first byte that the server can send to a browser that has received
    /// the output before `received`.
    pub(crate) fn resume_at(&self, received: u64) -> u64 {
        received.clamp(self.end - self.kept.len() as u64, self.end)
    }

    /// Returns at most `limit` bytes from the offset `from`.
    pub(crate) fn read(&self, from: u64, limit: usize) -> Bytes {
        let behind = usize::try_from(self.end - self.resume_at(from)).unwrap_or(usize::MAX);
        let start = self.kept.len().saturating_sub(behind);
        self.kept.range(start..).take(limit).copied().collect()
    }

    /// Records that the browser has processed the output before `offset`.
    pub(crate) fn acknowledge(&mut self, offset: u64) {
        self.acknowledged = self.acknowledged.max(offset.min(self.end));
    }

    /// Returns true if the browser has processed enough output for the server to read more.
    pub(crate) fn has_room(&self) -> bool {
        self.end - self.acknowledged < WINDOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_output_keeps_only_the_last_bytes_in_memory() {
        let mut output = Output::default();
        for _ in 0..1_000 {
            output.push(&[b'x'; 4096]);
        }
        output.push(&vec![b'y'; 2 * CAPACITY]);
        assert_eq!(output.kept.len(), CAPACITY);
        assert!(output.kept.capacity() <= 2 * CAPACITY);
        let begin = output.resume_at(0);
        assert_eq!(begin, output.end - CAPACITY as u64);
        assert_eq!(output.read(begin, 3), "yyy");
    }

    #[test]
    fn server_stops_reading_output_until_the_browser_has_processed_the_output() {
        let mut output = Output::default();
        assert!(output.has_room());
        output.push(&vec![0; usize::try_from(WINDOW).unwrap()]);
        assert!(!output.has_room());
        output.acknowledge(1);
        assert!(output.has_room());
        // An acknowledgement of output that does not exist has no effect on later output.
        output.acknowledge(u64::MAX);
        output.push(&vec![0; usize::try_from(WINDOW).unwrap()]);
        assert!(!output.has_room());
    }

    proptest::proptest! {
        #[test]
        fn browser_that_reconnects_at_its_offset_receives_every_byte_once(
            parts in proptest::collection::vec(proptest::collection::vec(0_u8.., 0..50), 0..20),
            limit in 1_usize..40,
        ) {
            let (mut output, mut received, mut sent) = (Output::default(), Vec::new(), Vec::new());
            for part in parts {
                output.push(&part);
                sent.extend(part);
                let from = output.resume_at(received.len() as u64);
                proptest::prop_assert_eq!(from, received.len() as u64);
                received.extend(output.read(from, limit));
            }
            while received.len() < sent.len() {
                received.extend(output.read(received.len() as u64, limit));
            }
            proptest::prop_assert_eq!(received, sent);
        }
    }
}
