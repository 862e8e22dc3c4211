//! Digests of the data from which the server computes the RBAC objects of a cluster. The server
//! skips the computation while the digest is unchanged. Most changes of roles and bindings affect
//! few clusters.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hash};
use std::sync::{Arc, OnceLock};

use drover_api::ids::ClusterUid;

use super::{Grant, Grants, Role, Scope, Subject};

/// Returns a keyed hash. The keys are random for each process, so an attacker cannot construct two
/// states that have the same digest.
fn hash(value: impl Hash) -> u64 {
    static KEYS: OnceLock<RandomState> = OnceLock::new();
    KEYS.get_or_init(RandomState::new).hash_one(value)
}

impl Grants {
    /// Returns the digest of the RBAC objects of a cluster. Digests of different processes are not
    /// comparable.
    pub fn digest_of(&self, cluster: &ClusterUid) -> u64 {
        let own = self.digests.get(cluster).copied().unwrap_or_default();
        own.wrapping_add(self.everywhere_digest)
    }

    /// Returns the digest of the RBAC objects on the hub. Digests of different processes are not
    /// comparable.
    pub fn digest_of_hub(&self) -> u64 {
        self.hub_digest
    }

    /// Computes all digests. A digest is the sum of the grants' hashes, because the order of grants
    /// is irrelevant.
    pub(super) fn digest(&mut self) {
        let mut roles: HashMap<*const Role, u64> = HashMap::new();
        let mut groups: HashMap<&str, u64> = HashMap::new();
        let (mut digests, mut everywhere, mut hub) = (HashMap::new(), 0_u64, 0_u64);
        for grant in &self.all {
            let role = *roles
                .entry(Arc::as_ptr(&grant.role))
                .or_insert_with(|| hash(&*grant.role));
            let members = match &grant.subject {
                Subject::User(_) => 0,
                Subject::Group(name) => *groups
                    .entry(name.as_str())
                    .or_insert_with(|| hash(self.members.get(name))),
            };
            let digest = hash((grant.subject.as_str(), members, role, self.extent(grant)));
            let sum: &mut u64 = match &grant.scope {
                Scope::Hub => &mut hub,
                Scope::EveryCluster => &mut everywhere,
                Scope::Cluster(cluster) | Scope::Project(cluster, _) => {
                    digests.entry(cluster.clone()).or_default()
                }
            };
            *sum = sum.wrapping_add(digest);
        }
        self.digests = digests;
        self.everywhere_digest = everywhere;
        self.hub_digest = hub;
    }

    fn extent<'a>(&'a self, grant: &'a Grant) -> (&'a Scope, &'a [String]) {
        let namespaces = match &grant.scope {
            Scope::Project(_, project) => self.namespaces(project),
            Scope::Hub | Scope::EveryCluster | Scope::Cluster(_) => &[],
        };
        (&grant.scope, namespaces)
    }
}
