//! Rendered results by the digest of their request, with a maximum size.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::protocol::Rendered;

/// SHA-256 digest of a request.
pub(super) type RequestDigest = [u8; 32];

/// The newest results whose total size does not exceed the maximum.
#[derive(Debug)]
pub(super) struct Cache {
    results: HashMap<RequestDigest, (Arc<Rendered>, usize)>,
    order: VecDeque<RequestDigest>,
    size: usize,
    max_size: usize,
}

impl Cache {
    pub(super) fn new(max_size: usize) -> Self {
        Self {
            results: HashMap::new(),
            order: VecDeque::new(),
            size: 0,
            max_size,
        }
    }

    pub(super) fn get(&self, digest: &RequestDigest) -> Option<Arc<Rendered>> {
        self.results
            .get(digest)
            .map(|(rendered, _)| Arc::clone(rendered))
    }

    pub(super) fn insert(&mut self, digest: RequestDigest, rendered: Arc<Rendered>) {
        let size = rendered.size;
        if size > self.max_size || self.results.contains_key(&digest) {
            return;
        }
        self.results.insert(digest, (rendered, size));
        self.order.push_back(digest);
        self.size += size;
        while self.size > self.max_size {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            if let Some((_, size)) = self.results.remove(&oldest) {
                self.size -= size;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(size: usize) -> Arc<Rendered> {
        Arc::new(Rendered {
            size,
            ..Rendered::default()
        })
    }

    #[test]
    fn oldest_results_leave_a_full_cache() {
        let mut cache = Cache::new(10);
        for number in 0..3 {
            cache.insert([number; 32], rendered(5));
        }
        let cached = [0, 1, 2].map(|number| cache.get(&[number; 32]).is_some());
        assert_eq!(cached, [false, true, true]);
        assert_eq!(cache.size, 10);
    }

    #[test]
    fn result_above_the_maximum_is_not_cached() {
        let mut cache = Cache::new(10);
        cache.insert([1; 32], rendered(11));
        assert!(cache.get(&[1; 32]).is_none());
        assert_eq!(cache.size, 0);
    }
}
