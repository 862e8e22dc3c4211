//! The namespace filter that all lists of a cluster share.

use leptos::prelude::*;

use crate::served_kinds::ServedKinds;

/// The namespace filter of the lists, as a context of the page. All lists of a cluster use the same
/// filter.
#[derive(Clone, Copy)]
pub(crate) struct ChosenNamespace(RwSignal<String>);

impl ChosenNamespace {
    /// Provides the filter as a context. Another cluster has no filter.
    pub(crate) fn provide() -> Self {
        let (chosen, cluster) = (RwSignal::default(), expect_context::<ServedKinds>().cluster);
        Effect::new(move || {
            cluster.track();
            chosen.set(String::new());
        });
        provide_context(Self(chosen));
        Self(chosen)
    }

    /// Returns the filter; empty for all namespaces.
    pub(crate) fn get(self) -> String {
        self.0.get()
    }

    /// Sets the filter; empty for all namespaces.
    pub(crate) fn set(self, namespace: String) {
        self.0.set(namespace);
    }
}
