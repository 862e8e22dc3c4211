//! Updates the RBAC index when roles and bindings in the store change.

use std::sync::Arc;

use serde_json::Value;

use super::feed::{Observed, ObservedObject};
use crate::access::{Rbac, RbacKind};

/// Updates an index from one feed.
#[derive(Debug)]
pub struct RbacIndexUpdater {
    rbac: Arc<Rbac>,
    /// The roles and bindings since a restart of the feed. The index stays unchanged until the
    /// initial list is complete.
    pending: Option<Vec<(RbacKind, Value)>>,
}

impl RbacIndexUpdater {
    /// Creates a handler that updates this index.
    pub fn new(rbac: Arc<Rbac>) -> Self {
        Self {
            rbac,
            pending: None,
        }
    }

    /// Applies an element of the feed to the index.
    pub fn observe(&mut self, observed: &Observed) {
        match observed {
            Observed::Restart => self.pending = Some(Vec::new()),
            Observed::Synced => {
                if let Some(pending) = self.pending.take() {
                    self.rbac
                        .reset(pending.iter().map(|(kind, object)| (*kind, object)));
                }
            }
            Observed::Put(seen) => {
                let Some((kind, object)) = kind(seen).zip(serde_json::from_slice(&seen.value).ok())
                else {
                    return;
                };
                match &mut self.pending {
                    Some(pending) => pending.push((kind, object)),
                    None => self.rbac.apply(kind, &object),
                }
            }
            Observed::Gone(seen) => {
                if let Some(kind) = kind(seen) {
                    self.rbac
                        .remove(kind, &seen.path.namespace, &seen.path.name);
                }
            }
        }
    }
}

fn kind(seen: &ObservedObject) -> Option<RbacKind> {
    let resource = &seen.path.resource;
    RbacKind::of_resource(&resource.group, &resource.resource)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::access::{Authorizer, Caller};
    use crate::lifecycle::ObjectPath;

    const GROUP: &str = "rbac.authorization.k8s.io";

    fn seen(resource: &str, object: &Value) -> ObservedObject {
        let name = object["metadata"]["name"].as_str().unwrap();
        let path = ObjectPath::new(GROUP, resource, "", name);
        ObservedObject::parse(path, object.to_string().into()).unwrap()
    }

    fn role() -> ObservedObject {
        seen(
            "clusterroles",
            &json!({"metadata": {"name": "r"}, "rules": [{"verbs": ["get"]}]}),
        )
    }

    fn binding() -> ObservedObject {
        let role = json!({"kind": "ClusterRole", "name": "r"});
        seen(
            "clusterrolebindings",
            &json!({"metadata": {"name": "b"}, "roleRef": role,
                    "subjects": [{"kind": "User", "name": "u"}]}),
        )
    }

    fn rights(rbac: &Rbac) -> usize {
        rbac.rules_for(&Caller::user("u", []), "").0.len()
    }

    #[test]
    fn rbac_index_is_replaced_after_the_initial_list() {
        let rbac = Arc::new(Rbac::new());
        let mut feed = RbacIndexUpdater::new(Arc::clone(&rbac));
        let first = [
            Observed::Restart,
            Observed::Put(binding()),
            Observed::Put(role()),
        ];
        for observed in &first {
            feed.observe(observed);
            assert_eq!(rights(&rbac), 0);
        }
        feed.observe(&Observed::Synced);
        assert_eq!(rights(&rbac), 1);
        feed.observe(&Observed::Restart);
        assert_eq!(rights(&rbac), 1);
        feed.observe(&Observed::Synced);
        assert_eq!(rights(&rbac), 0);
    }

    #[test]
    fn rbac_changes_after_the_initial_list_apply_immediately() {
        let rbac = Arc::new(Rbac::new());
        let mut feed = RbacIndexUpdater::new(Arc::clone(&rbac));
        feed.observe(&Observed::Put(role()));
        feed.observe(&Observed::Put(binding()));
        assert_eq!(rights(&rbac), 1);
        feed.observe(&Observed::Gone(binding()));
        assert_eq!(rights(&rbac), 0);
    }
}
