//! The owners of `spec.replicas`, as the scale subresource shows them.

use std::collections::BTreeMap;

use super::managers::{Managers, Owned};
use super::path::Path;
use super::set::Set;

/// The version of `Scale`.
const SCALE: &str = "autoscaling/v1";

/// Carries owners between an object and its scale, both ways.
///
/// A write to the scale is tracked as any write is, on the `Scale` object with the managers that
/// [`to_scale`](Self::to_scale) gives it; what comes out of that goes back with
/// [`to_object`](Self::to_object).
#[derive(Debug, Clone, Copy)]
pub struct ScaleManagers<'a> {
    /// The object's own managers.
    pub object: &'a Managers,
    /// The version of the object that is scaled, such as `apps/v1`.
    pub api_version: &'a str,
    /// Where the replicas are at each version; `None` at one without a scale.
    pub replicas: &'a BTreeMap<String, Option<Path>>,
}

impl ScaleManagers<'_> {
    /// The managers of the scale: those that own the replicas, and nothing else.
    pub fn to_scale(self) -> Managers {
        let owners = self.object.0.iter().filter(|(_, owned)| {
            self.replicas
                .get(&owned.api_version)
                .and_then(Option::as_ref)
                .is_some_and(|path| owned.set.has(path))
        });
        let of_scale = owners.map(|(id, owned)| {
            let owned = Owned {
                api_version: SCALE.to_owned(),
                set: Set::of([replicas()]),
                time: owned.time,
            };
            (id.clone(), owned)
        });
        Managers(of_scale.collect())
    }

    /// The object's managers after a write to its scale.
    pub fn to_object(self, scale: &Managers) -> Managers {
        let mut scale = scale.clone();
        let mut out = BTreeMap::new();
        for (id, owned) in &self.object.0 {
            let Some(path) = self.replicas.get(&owned.api_version) else {
                continue;
            };
            let mut owned = owned.clone();
            if let Some(path) = path
                && owned.set.has(path)
                && scale.0.remove(id).is_none()
            {
                // Somebody else has the replicas now.
                owned.set = owned.set.difference(&Set::of([path.clone()]));
                if owned.set.is_empty() {
                    continue;
                }
            }
            out.insert(id.clone(), owned);
        }
        let path = self.replicas.get(self.api_version).cloned().flatten();
        for (id, owned) in scale.0 {
            if !owned.set.has(&replicas()) {
                continue;
            }
            let time = self.object.0.get(&id).and_then(|owned| owned.time);
            let owned = Owned {
                api_version: self.api_version.to_owned(),
                set: Set::of(path.clone()),
                time,
            };
            out.insert(id, owned);
        }
        Managers(out)
    }
}

fn replicas() -> Path {
    Path::fields(&["spec", "replicas"])
}
