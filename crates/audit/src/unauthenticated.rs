//! Limits the size of the audit records that unauthenticated clients cause.
//!
//! The log contains the first request of a network with each outcome in full. The log counts
//! further requests, and writes one record with the count each second. While the requests continue,
//! the interval doubles up to one minute. Networks beyond a fixed number share one count per
//! outcome. The records of all unauthenticated clients therefore take at most a few MiB an hour,
//! and do not displace the records of users. The functions have no side effects: the caller passes
//! the time.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Serialize;

use super::record::{Outcome, Record, Stage};
use drover_http_edge::networks::{NOWHERE, has_room, network};

/// Maximum number of (network, outcome) pairs that are counted separately.
const MAX_SLOTS: usize = 64;
/// Maximum number of (network, outcome) pairs of one network that are counted separately.
const MAX_SLOTS_PER_NETWORK: usize = 16;
/// Number of records that are written in full in a burst. After a burst, one record per
/// `WHOLE_INTERVAL` is written in full.
const WHOLE_BURST: u32 = 32;
const WHOLE_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum recorded length of a target, in bytes.
const TARGET_BYTES: usize = 256;
/// Initial and maximum interval between two records of one count.
const WINDOWS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// Reason and status code of an unauthenticated request.
type Cause = (Option<&'static str>, Option<u16>);

/// The count of unauthenticated requests with the same outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tally {
    /// Time at which the first of these requests arrived.
    time: Timestamp,
    stage: Stage,
    /// Network of the requests. `None` for more than one network.
    source: Option<IpAddr>,
    outcome: Outcome,
    code: Option<u16>,
    reason: Option<&'static str>,
    /// Number of counted requests.
    count: u64,
    duration_ms: f64,
}

struct Slot {
    since: Instant,
    window: Duration,
    first: Timestamp,
    count: u64,
}

impl Slot {
    fn new(now: Instant, first: Timestamp, count: u64) -> Self {
        Self {
            since: now,
            window: WINDOWS.0,
            first,
            count,
        }
    }

    fn due(&self) -> Instant {
        self.since + self.window
    }
}

/// The decision about a record of an unauthenticated request.
pub(super) enum Disposition {
    /// Write the record in full.
    Whole(Record),
    /// Count the record without writing it. `first` is true if the record starts a new count.
    Counted { first: bool },
}

/// Counts unauthenticated requests per network and outcome.
pub(super) struct UnauthenticatedCounts {
    slots: BTreeMap<(Option<IpAddr>, Cause), Slot>,
    /// Number of records that may still be written in full, and the start of the current refill
    /// interval.
    whole: (u32, Instant),
}

impl UnauthenticatedCounts {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            slots: BTreeMap::new(),
            whole: (WHOLE_BURST, now),
        }
    }

    /// Decides whether to write a record that has no user, or only to count the record. `room` is
    /// true if the queue is not full.
    pub(super) fn handle(&mut self, mut record: Record, now: Instant, room: bool) -> Disposition {
        let cause = (record.reason, record.code);
        let source = record.subject.source.map(network);
        let received = record.subject.received;
        if let Some(slot) = self.slots.get_mut(&(source, cause)) {
            if slot.count == 0 {
                slot.first = received;
            }
            slot.count += 1;
            return Disposition::Counted { first: false };
        }
        if room && self.has_slot(source) && self.may_write_whole(now) {
            let slot = Slot::new(now, received, 0);
            self.slots.insert((source, cause), slot);
            record.truncate_target(TARGET_BYTES);
            return Disposition::Whole(record);
        }
        let mut first = false;
        let slot = self.slots.entry((None, cause)).or_insert_with(|| {
            first = true;
            Slot::new(now, received, 0)
        });
        slot.count += 1;
        Disposition::Counted { first }
    }

    /// Returns true if the limits allow a further count for this network.
    fn has_slot(&self, source: Option<IpAddr>) -> bool {
        let sources = self
            .slots
            .keys()
            .map(|(source, _)| source.unwrap_or(NOWHERE));
        has_room(
            sources,
            source.unwrap_or(NOWHERE),
            (MAX_SLOTS, MAX_SLOTS_PER_NETWORK),
        )
    }

    fn may_write_whole(&mut self, now: Instant) -> bool {
        let (remaining, since) = &mut self.whole;
        while *remaining < WHOLE_BURST && now.saturating_duration_since(*since) >= WHOLE_INTERVAL {
            *remaining += 1;
            *since += WHOLE_INTERVAL;
        }
        if *remaining == WHOLE_BURST {
            *since = now;
        }
        let may = *remaining > 0;
        *remaining = remaining.saturating_sub(1);
        may
    }

    /// Removes and returns the counts whose interval has ended.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Tally> {
        let mut tallies = Vec::new();
        self.slots.retain(|(source, cause), slot| {
            if now < slot.due() {
                return true;
            }
            if slot.count == 0 {
                return false;
            }
            tallies.push(tally(*source, *cause, slot, now));
            slot.window = (slot.window * 2).min(WINDOWS.1);
            true
        });
        tallies
    }

    /// Removes and returns all counts, regardless of their interval.
    pub(super) fn drain(&mut self, now: Instant) -> Vec<Tally> {
        let counted = self.slots.iter_mut().filter(|(_, slot)| slot.count > 0);
        counted
            .map(|((source, cause), slot)| tally(*source, *cause, slot, now))
            .collect()
    }

    /// Returns the time at which the next interval ends.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.slots.values().map(Slot::due).min()
    }
}

/// Returns a count and starts the next interval.
fn tally(source: Option<IpAddr>, cause: Cause, slot: &mut Slot, now: Instant) -> Tally {
    let (reason, code) = cause;
    let since = std::mem::replace(&mut slot.since, now);
    let refused = code.is_none_or(|code| code >= 400);
    Tally {
        time: slot.first,
        stage: Stage::End,
        source,
        outcome: if refused {
            Outcome::Refused
        } else {
            Outcome::Complete
        },
        code,
        reason,
        count: std::mem::take(&mut slot.count),
        duration_ms: now.saturating_duration_since(since).as_secs_f64() * 1e3,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::Method;

    use super::super::record::{RequestId, RequestTarget, Subject};
    use super::*;
    use drover_access::verb::Verb;

    fn record(source: [u8; 4], reason: &'static str) -> Record {
        let subject = Subject {
            id: RequestId {
                start: 0,
                number: 0,
            },
            received: Timestamp::UNIX_EPOCH,
            source: Some(source.into()),
            person: None,
            cluster: None,
            object: None,
            verb: Verb::Other,
            method: Method::GET,
            target: RequestTarget::of(&"x".repeat(3000)),
        };
        Record {
            subject: Arc::new(subject),
            stage: Stage::End,
            outcome: Outcome::Refused,
            code: Some(401),
            reason: Some(reason),
            bytes_in: 0,
            bytes_out: 0,
            duration: Duration::ZERO,
        }
    }

    fn json(record: &Record) -> Vec<u8> {
        let mut line = Vec::new();
        record.write_json(&mut line).unwrap();
        line
    }

    /// Simulates a flood of requests in each millisecond. `address` returns the address of the
    /// `n`th request. Returns the log size in bytes, and the number of requests in the log.
    fn flooded(
        seconds: u64,
        each_millisecond: usize,
        address: impl Fn(usize) -> [u8; 4],
    ) -> (usize, u64) {
        let start = Instant::now();
        let mut unauthenticated = UnauthenticatedCounts::new(start);
        let (mut bytes, mut accounted, mut n) = (0, 0, 0);
        for millisecond in 0..seconds * 1000 {
            let now = start + Duration::from_millis(millisecond);
            for _ in 0..each_millisecond {
                n += 1;
                let fate = unauthenticated.handle(record(address(n), "NoIdentity"), now, true);
                if let Disposition::Whole(record) = fate {
                    bytes += json(&record).len();
                    accounted += 1;
                }
            }
            for tally in unauthenticated.due(now) {
                bytes += serde_json::to_vec(&tally).unwrap().len();
                accounted += tally.count;
            }
        }
        let rest = unauthenticated.drain(start + Duration::from_secs(seconds));
        accounted += rest.iter().map(|tally| tally.count).sum::<u64>();
        assert!(unauthenticated.slots.len() <= MAX_SLOTS + 1);
        assert_eq!(accounted, n as u64, "every request is written or counted");
        (bytes, accounted)
    }

    #[test]
    fn unauthenticated_requests_cannot_fill_the_audit_log() {
        let (one, _) = flooded(120, 2, |_| [192, 0, 2, 1]);
        assert!(one < 5_000, "{one} bytes in two minutes");
        let (many, _) = flooded(120, 2, |n| {
            let [_, a, b, c] = u32::try_from(n).unwrap().to_be_bytes();
            [10, a, b, c]
        });
        assert!(many < 100_000, "{many} bytes in two minutes");
    }

    #[test]
    fn first_refusal_of_each_cause_has_a_complete_audit_record() {
        let now = Instant::now();
        let mut unauthenticated = UnauthenticatedCounts::new(now);
        for reason in ["NoIdentity", "BadPath"] {
            let fate = unauthenticated.handle(record([192, 0, 2, 1], reason), now, true);
            let Disposition::Whole(record) = fate else {
                panic!("{reason} is only counted")
            };
            assert!(json(&record).len() < 1024);
        }
        assert!(unauthenticated.due(now + WINDOWS.1).is_empty());
        assert!(unauthenticated.next_due().is_none(), "no entry is left");
    }

    #[test]
    fn full_audit_log_receives_only_counts_of_refusals() {
        let now = Instant::now();
        let mut unauthenticated = UnauthenticatedCounts::new(now);
        let fate = unauthenticated.handle(record([192, 0, 2, 1], "BadPath"), now, false);
        assert!(matches!(fate, Disposition::Counted { first: true }));
        assert_eq!(unauthenticated.due(now + WINDOWS.0).len(), 1);
    }

    #[test]
    fn refusals_from_one_ipv4_slash_16_prefix_leave_audit_records_for_other_networks() {
        let now = Instant::now();
        let mut unauthenticated = UnauthenticatedCounts::new(now);
        for n in 0..=255_u8 {
            // Spread the requests over time, so that the log contains records in full.
            let now = now + WHOLE_INTERVAL * u32::from(n);
            let _ = unauthenticated.handle(record([198, 51, n, 1], "NoIdentity"), now, true);
        }
        let later = now + WHOLE_INTERVAL * 300;
        let fate = unauthenticated.handle(record([192, 0, 2, 1], "NoIdentity"), later, true);
        assert!(matches!(fate, Disposition::Whole(_)));
    }
}
