//! What people whom nobody knows can put into the audit log: little, however much they send.
//!
//! The first request from a network with one outcome is written whole; the next ones are counted,
//! and the count is one record once a second. While they go on, the counts come ever more seldom,
//! once a minute at last. Networks beyond a bounded number share one count for each outcome. So
//! strangers, be they many, fill some MiB of log an hour at most, and cannot push out of it what
//! people did. Pure: the caller brings the time.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Serialize;

use super::record::{Outcome, Record, Stage};
use drover_http_edge::networks::{NOWHERE, has_room, network};

/// Networks and outcomes that are counted apart.
const MOST: usize = 64;
/// The same of one network.
const OF_A_NETWORK: usize = 16;
/// Records written whole: at once, and then one each so often.
const WHOLE_BURST: u32 = 32;
const WHOLE_EVERY: Duration = Duration::from_secs(2);
/// Most of a target that is kept.
const TARGET_BYTES: usize = 256;
/// First and longest time that one count covers.
const WINDOWS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// How a stranger's request ended.
type Cause = (Option<&'static str>, Option<u16>);

/// So many requests of strangers ended alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tally {
    /// When the first of them came.
    time: Timestamp,
    stage: Stage,
    /// Their network; absent if they came from too many.
    source: Option<IpAddr>,
    outcome: Outcome,
    code: Option<u16>,
    reason: Option<&'static str>,
    /// How many.
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

/// What becomes of a stranger's record.
pub(super) enum Fate {
    /// It is written whole.
    Whole(Record),
    /// It is counted; whether nobody counted its like before.
    Counted { first: bool },
}

/// Counts what strangers do.
pub(super) struct Strangers {
    slots: BTreeMap<(Option<IpAddr>, Cause), Slot>,
    /// Records that may still be written whole, and since when another one is on its way.
    whole: (u32, Instant),
}

impl Strangers {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            slots: BTreeMap::new(),
            whole: (WHOLE_BURST, now),
        }
    }

    /// Takes a record without a person in; `room` says whether the log takes more at present.
    pub(super) fn take_in(&mut self, mut record: Record, now: Instant, room: bool) -> Fate {
        let cause = (record.reason, record.code);
        let source = record.subject.source.map(network);
        let received = record.subject.received;
        if let Some(slot) = self.slots.get_mut(&(source, cause)) {
            if slot.count == 0 {
                slot.first = received;
            }
            slot.count += 1;
            return Fate::Counted { first: false };
        }
        if room && self.has_slot(source) && self.may_write_whole(now) {
            let slot = Slot::new(now, received, 0);
            self.slots.insert((source, cause), slot);
            record.cut_target(TARGET_BYTES);
            return Fate::Whole(record);
        }
        let mut first = false;
        let slot = self.slots.entry((None, cause)).or_insert_with(|| {
            first = true;
            Slot::new(now, received, 0)
        });
        slot.count += 1;
        Fate::Counted { first }
    }

    /// Whether there is a slot for one more cause from this network.
    fn has_slot(&self, source: Option<IpAddr>) -> bool {
        let sources = self
            .slots
            .keys()
            .map(|(source, _)| source.unwrap_or(NOWHERE));
        has_room(sources, source.unwrap_or(NOWHERE), (MOST, OF_A_NETWORK))
    }

    fn may_write_whole(&mut self, now: Instant) -> bool {
        let (left, since) = &mut self.whole;
        while *left < WHOLE_BURST && now.saturating_duration_since(*since) >= WHOLE_EVERY {
            *left += 1;
            *since += WHOLE_EVERY;
        }
        if *left == WHOLE_BURST {
            *since = now;
        }
        let may = *left > 0;
        *left = left.saturating_sub(1);
        may
    }

    /// The counts whose time is over.
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

    /// Every count so far, its time over or not.
    pub(super) fn drain(&mut self, now: Instant) -> Vec<Tally> {
        let counted = self.slots.iter_mut().filter(|(_, slot)| slot.count > 0);
        counted
            .map(|((source, cause), slot)| tally(*source, *cause, slot, now))
            .collect()
    }

    /// When the next count is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.slots.values().map(Slot::due).min()
    }
}

/// Reads a count and begins the next.
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

    use super::super::record::{Asked, RequestId, Subject};
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
            place: None,
            object: None,
            verb: Verb::Other,
            method: Method::GET,
            target: Asked::of(&"x".repeat(3000)),
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

    /// Bytes of log that come of so many requests a millisecond, each from the address given.
    fn flooded(
        seconds: u64,
        each_millisecond: usize,
        address: impl Fn(usize) -> [u8; 4],
    ) -> (usize, u64) {
        let start = Instant::now();
        let mut strangers = Strangers::new(start);
        let (mut bytes, mut accounted, mut n) = (0, 0, 0);
        for millisecond in 0..seconds * 1000 {
            let now = start + Duration::from_millis(millisecond);
            for _ in 0..each_millisecond {
                n += 1;
                let fate = strangers.take_in(record(address(n), "NoIdentity"), now, true);
                if let Fate::Whole(record) = fate {
                    bytes += serde_json::to_vec(&record).unwrap().len();
                    accounted += 1;
                }
            }
            for tally in strangers.due(now) {
                bytes += serde_json::to_vec(&tally).unwrap().len();
                accounted += tally.count;
            }
        }
        let rest = strangers.drain(start + Duration::from_secs(seconds));
        accounted += rest.iter().map(|tally| tally.count).sum::<u64>();
        assert!(strangers.slots.len() <= MOST + 1);
        assert_eq!(accounted, n as u64, "every request is accounted for");
        (bytes, accounted)
    }

    #[test]
    fn strangers_cannot_flood_the_log_from_one_place_or_from_many() {
        let (one, _) = flooded(120, 2, |_| [192, 0, 2, 1]);
        assert!(one < 5_000, "{one} bytes in two minutes");
        let (many, _) = flooded(120, 2, |n| {
            let [_, a, b, c] = u32::try_from(n).unwrap().to_be_bytes();
            [10, a, b, c]
        });
        assert!(many < 100_000, "{many} bytes in two minutes");
    }

    #[test]
    fn a_single_refusal_is_written_whole_and_another_cause_too() {
        let now = Instant::now();
        let mut strangers = Strangers::new(now);
        for reason in ["NoIdentity", "BadPath"] {
            let fate = strangers.take_in(record([192, 0, 2, 1], reason), now, true);
            let Fate::Whole(record) = fate else {
                panic!("{reason} is counted only")
            };
            assert!(serde_json::to_vec(&record).unwrap().len() < 1024);
        }
        assert!(strangers.due(now + WINDOWS.1).is_empty());
        assert!(strangers.next_due().is_none(), "nothing is kept");
    }

    #[test]
    fn a_log_without_room_gets_counts_only() {
        let now = Instant::now();
        let mut strangers = Strangers::new(now);
        let fate = strangers.take_in(record([192, 0, 2, 1], "BadPath"), now, false);
        assert!(matches!(fate, Fate::Counted { first: true }));
        assert_eq!(strangers.due(now + WINDOWS.0).len(), 1);
    }

    #[test]
    fn flood_from_one_16_leaves_the_source_of_others_in_the_log() {
        let now = Instant::now();
        let mut strangers = Strangers::new(now);
        for n in 0..=255_u8 {
            // Over time, so that records may be written whole.
            let now = now + WHOLE_EVERY * u32::from(n);
            let _ = strangers.take_in(record([198, 51, n, 1], "NoIdentity"), now, true);
        }
        let later = now + WHOLE_EVERY * 300;
        let fate = strangers.take_in(record([192, 0, 2, 1], "NoIdentity"), later, true);
        assert!(matches!(fate, Fate::Whole(_)));
    }
}
