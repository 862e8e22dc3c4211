//! The access of a page to clusters, during one check of all its lists.

use std::collections::HashMap;
use std::sync::Arc;

use drover_proxy::AccessKey;
use drover_rows::protocol::ListProblem;
use tokio::sync::Notify;

use crate::clusters::Credential;
use crate::pool::Pool;
use crate::source::{SourceHandle, SourceKey};

/// The access of a page to clusters. Several lists of one cluster need one check.
pub(crate) struct PageAccess<'a> {
    pool: &'a Pool,
    credential: &'a Arc<Credential>,
    changed: &'a Arc<Notify>,
    identities: HashMap<Arc<str>, Result<AccessKey, ListProblem>>,
}

impl<'a> PageAccess<'a> {
    pub(crate) fn new(
        pool: &'a Pool,
        credential: &'a Arc<Credential>,
        changed: &'a Arc<Notify>,
    ) -> Self {
        Self {
            pool,
            credential,
            changed,
            identities: HashMap::new(),
        }
    }

    /// Returns the identity of the page in a cluster, if the page has access to the cluster.
    pub(crate) async fn identity(&mut self, cluster: &Arc<str>) -> Result<AccessKey, ListProblem> {
        if let Some(known) = self.identities.get(cluster) {
            return known.clone();
        }
        let identity = self.pool.identity(self.credential, cluster).await;
        self.identities
            .insert(Arc::clone(cluster), identity.clone());
        identity
    }

    /// Adds the page to a source.
    pub(crate) fn attach(&self, key: SourceKey) -> Result<SourceHandle, ListProblem> {
        let (credential, changed) = (Arc::clone(self.credential), Arc::clone(self.changed));
        self.pool.attach(key, credential, changed)
    }
}
