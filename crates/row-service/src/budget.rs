//! The memory of all rows, and of the sorted lists of pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory of all rows of all sources, and of the sorted lists of all pages.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) limit: usize,
    used: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicUsize::new(0),
        })
    }

    /// Returns the used memory in bytes.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns the maximum memory of all rows. The sorted lists have the remaining memory, so that
    /// the rows of one cluster cannot prevent all lists.
    pub(crate) const fn row_limit(&self) -> usize {
        self.limit - self.limit / 8
    }

    /// Returns the memory of rows and samples above which sources store no samples. Rows are more
    /// important than samples.
    pub(crate) const fn sample_limit(&self) -> usize {
        self.row_limit() / 2
    }

    /// Returns the free memory for rows in bytes.
    pub(crate) fn room(&self) -> usize {
        let used = self.used.load(Ordering::Relaxed);
        self.row_limit().saturating_sub(used)
    }

    /// Takes memory for rows. Returns false, and takes nothing, above the limit.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        self.take_up_to(bytes, self.row_limit())
    }

    fn take_up_to(&self, bytes: usize, limit: usize) -> bool {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if bytes > 0 && used > limit {
            self.free(bytes);
            return false;
        }
        true
    }

    pub(crate) fn free(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Memory of a budget. Dropping the value frees the memory.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Reservation {
    pub(crate) fn empty(budget: &Arc<Budget>) -> Self {
        Self {
            budget: Arc::clone(budget),
            bytes: 0,
        }
    }

    /// Changes the size. Returns false, and keeps the previous size, above the limit.
    pub(crate) fn resize(&mut self, bytes: usize) -> bool {
        self.resize_up_to(bytes, self.budget.limit)
    }

    /// Changes the size for samples. Returns false, and frees the memory, above the limit of samples.
    pub(crate) fn resize_for_samples(&mut self, bytes: usize) -> bool {
        self.resize(0);
        self.resize_up_to(bytes, self.budget.sample_limit())
    }

    fn resize_up_to(&mut self, bytes: usize, limit: usize) -> bool {
        let grown = bytes.saturating_sub(self.bytes);
        let fits = self.budget.take_up_to(grown, limit);
        if fits {
            self.budget.free(self.bytes.saturating_sub(bytes));
            self.bytes = bytes;
        }
        fits
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.free(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservation_stays_below_the_limit_and_is_freed_at_its_end() {
        let budget = Budget::new(80);
        let mut first = Reservation::empty(&budget);
        let mut second = Reservation::empty(&budget);
        assert!(first.resize(60) && second.resize(20));
        assert!(!first.resize(61), "the budget is full");
        assert!(second.resize(10) && first.resize(70));
        assert_eq!((budget.used(), budget.room()), (80, 0));
        drop(first);
        assert_eq!(budget.used(), 10);
    }

    #[test]
    fn rows_leave_memory_for_sorted_lists() {
        let budget = Budget::new(80);
        assert!(budget.take(70) && !budget.take(1));
        assert_eq!(budget.room(), 0);
        assert!(Reservation::empty(&budget).resize(10));
    }

    #[test]
    fn samples_leave_memory_for_rows() {
        let budget = Budget::new(80);
        let mut samples = Reservation::empty(&budget);
        assert!(samples.resize_for_samples(35) && !samples.resize_for_samples(36));
        assert_eq!(budget.used(), 0, "samples above the limit are deleted");
        assert!(samples.resize_for_samples(20) && budget.take(20));
        assert!(!samples.resize_for_samples(20), "rows need the memory");
        assert_eq!(budget.used(), 20);
    }
}
