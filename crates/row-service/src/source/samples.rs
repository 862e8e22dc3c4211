//! The last samples of the usage of a source's rows.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use drover_rows::Amounts;
use drover_rows::protocol::RowId;
use drover_rows::samples::{MAX_SAMPLES, RoundedAmount, UsageSamples};
use tokio::time::Instant;

use crate::budget::{Budget, Reservation};

/// Approximate memory of the samples of a row: the ring, its allocation and the map entry.
const RING_BYTES: usize = size_of::<Ring>() + 56;

/// The last samples of the usage of a source's rows.
pub(crate) struct SampleStore {
    rings: HashMap<RowId, Box<Ring>>,
    /// The times of the last measurements, at most [`MAX_SAMPLES`].
    measured_at: VecDeque<Instant>,
    /// The number of changes of the samples.
    revision: u64,
    memory: Reservation,
}

/// The last samples of a row. The last `count` values are samples, oldest first.
#[derive(Default)]
struct Ring {
    values: [(RoundedAmount, RoundedAmount); MAX_SAMPLES],
    count: usize,
}

impl SampleStore {
    pub(super) fn empty(budget: &Arc<Budget>) -> Self {
        Self {
            rings: HashMap::new(),
            measured_at: VecDeque::new(),
            revision: 0,
            memory: Reservation::empty(budget),
        }
    }

    /// Returns the number of changes of the samples.
    pub(crate) const fn revision(&self) -> u64 {
        self.revision
    }

    /// Adds a sample to each row of a measurement, and removes the samples of all other rows.
    /// Removes all samples if they exceed the memory limit.
    pub(super) fn record(
        &mut self,
        usage: impl Iterator<Item = (RowId, Amounts)> + Clone,
        now: Instant,
    ) {
        self.revision += 1;
        let bytes = usage.clone().count() * RING_BYTES;
        if !self.memory.resize_for_samples(bytes) {
            self.rings = HashMap::new();
            self.measured_at.clear();
            return;
        }
        let mut known = std::mem::take(&mut self.rings);
        let rings = usage.map(|(id, amounts)| {
            let mut ring = known.remove(&id).unwrap_or_default();
            ring.push(amounts);
            (id, ring)
        });
        self.rings = rings.collect();
        if self.measured_at.len() == MAX_SAMPLES {
            self.measured_at.pop_front();
        }
        self.measured_at.push_back(now);
    }

    /// Removes all samples.
    pub(super) fn clear(&mut self) {
        self.record(std::iter::empty(), Instant::now());
    }

    /// Returns the samples of a row. Returns `None` for fewer than two samples.
    pub(crate) fn of(&self, id: RowId) -> Option<UsageSamples> {
        let ring = self.rings.get(&id)?;
        let samples = ring.samples();
        let first = self.measured_at.len().checked_sub(samples.len())?;
        let (first, last) = (self.measured_at.get(first)?, self.measured_at.back()?);
        let seconds = last.duration_since(*first).as_secs();
        (samples.len() > 1).then(|| UsageSamples {
            seconds: u32::try_from(seconds).unwrap_or(u32::MAX),
            cpu: samples.iter().map(|(cpu, _)| *cpu).collect(),
            memory: samples.iter().map(|(_, memory)| *memory).collect(),
        })
    }
}

impl Ring {
    fn push(&mut self, usage: Amounts) {
        self.values.rotate_left(1);
        self.values[MAX_SAMPLES - 1] = (
            RoundedAmount::new(usage.cpu),
            RoundedAmount::new(usage.memory),
        );
        self.count = (self.count + 1).min(MAX_SAMPLES);
    }

    fn samples(&self) -> &[(RoundedAmount, RoundedAmount)] {
        &self.values[MAX_SAMPLES - self.count..]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const USAGE: Amounts = Amounts {
        cpu: 250,
        memory: 3 << 20,
    };

    fn cpu(store: &SampleStore, id: RowId) -> Option<Vec<u64>> {
        let amounts = store.of(id)?.cpu;
        Some(amounts.into_iter().map(RoundedAmount::amount).collect())
    }

    #[test]
    fn row_keeps_its_last_samples_with_their_period() {
        let budget = Budget::new(1 << 20);
        let mut store = SampleStore::empty(&budget);
        let mut now = Instant::now();
        for number in 0..30 {
            let usage = Amounts {
                cpu: number,
                ..USAGE
            };
            store.record([(7, usage)].into_iter(), now);
            now += Duration::from_secs(15);
        }
        assert_eq!(cpu(&store, 7), Some((10..30).collect()));
        assert_eq!(store.of(7).unwrap().seconds, 19 * 15);
        assert_eq!(budget.used(), RING_BYTES);
    }

    #[test]
    fn row_has_samples_from_its_second_measurement() {
        let mut store = SampleStore::empty(&Budget::new(1 << 20));
        let now = Instant::now();
        store.record([(1, USAGE)].into_iter(), now);
        assert_eq!(store.of(1), None);
        store.record([(1, USAGE), (2, USAGE)].into_iter(), now);
        assert_eq!((cpu(&store, 1), store.of(2)), (Some(vec![250; 2]), None));
    }

    #[test]
    fn row_without_usage_loses_its_samples_and_their_memory() {
        let budget = Budget::new(1 << 20);
        let mut store = SampleStore::empty(&budget);
        let now = Instant::now();
        for _ in 0..2 {
            store.record([(1, USAGE), (2, USAGE)].into_iter(), now);
        }
        store.record([(2, USAGE)].into_iter(), now);
        assert_eq!((store.of(1), cpu(&store, 2).unwrap().len()), (None, 3));
        assert_eq!(budget.used(), RING_BYTES);
        store.record([(1, USAGE), (2, USAGE)].into_iter(), now);
        assert_eq!(store.of(1), None, "a gap ends the samples");
        drop(store);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn samples_above_the_memory_limit_are_deleted_until_they_fit() {
        let budget = Budget::new(100 * RING_BYTES);
        let mut store = SampleStore::empty(&budget);
        let now = Instant::now();
        let rows = |count| (0..count).map(|id| (id, USAGE));
        store.record(rows(40), now);
        store.record(rows(1_000_000), now);
        assert_eq!((store.rings.len(), budget.used()), (0, 0));
        store.record(rows(40), now);
        store.record(rows(40), now);
        assert_eq!(cpu(&store, 39).unwrap().len(), 2);
        assert!(budget.take(40 * RING_BYTES), "rows are more important");
        store.record(rows(40), now);
        assert_eq!((store.rings.len(), store.of(39)), (0, None));
    }
}
