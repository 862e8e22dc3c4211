//! The samples of the usage that a page already has.

use std::collections::HashMap;
use std::sync::Arc;

use drover_rows::protocol::RowId;
use drover_rows::samples::UsageSamples;
use drover_rows::view::Item;

use super::Member;

/// The rows whose samples a page has, with the revision of the samples.
#[derive(Default)]
pub(super) struct SentSamples(HashMap<RowId, u64>);

impl SentSamples {
    /// Returns the samples of the window's rows that the page does not have, and stores that the
    /// page has them. Empty samples replace samples that the source no longer has.
    pub(super) fn advance(
        &mut self,
        window: &[Arc<Item>],
        members: &[Member],
    ) -> Vec<(RowId, UsageSamples)> {
        let mut of_clusters: HashMap<&str, Vec<&Item>> = HashMap::new();
        for item in window {
            let items = of_clusters.entry(&*item.row.cluster).or_default();
            items.push(item);
        }
        let (previous, mut new) = (std::mem::take(&mut self.0), Vec::new());
        for member in members {
            let Some(items) = of_clusters.get(&*member.cluster) else {
                continue;
            };
            let Ok(handle) = &member.source else { continue };
            let samples = handle.source.samples();
            let revision = samples.revision();
            for item in items.iter().filter(|item| member.contains(item)) {
                let known = previous.get(&item.id);
                if known == Some(&revision) {
                    self.0.insert(item.id, revision);
                } else if let Some(samples) = samples.of(item.id) {
                    self.0.insert(item.id, revision);
                    new.push((item.id, samples));
                } else if known.is_some() {
                    new.push((item.id, UsageSamples::default()));
                }
            }
        }
        new
    }

    /// Forgets all samples, so that the next update contains the samples of the complete window.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
