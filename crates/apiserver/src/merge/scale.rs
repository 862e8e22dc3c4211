//! Ownership of `spec.replicas` through the scale subresource.

use std::collections::BTreeMap;

use super::managers::{Managers, Owned};
use super::path::Path;
use super::set::Set;

/// The API version of the kind `Scale`.
const SCALE: &str = "autoscaling/v1";

/// Converts owners between an object and its scale.
///
/// A write to the scale is tracked on the `Scale` object, with the managers from
/// [`to_scale`](Self::to_scale). [`to_object`](Self::to_object) converts the managers back.
#[derive(Debug, Clone, Copy)]
pub struct ScaleManagers<'a> {
    /// The managers of the scaled object.
    pub object: &'a Managers,
    /// The version of the scaled object, such as `apps/v1`.
    pub api_version: &'a str,
    /// The path of the replicas in each version. `None` for a version without scale.
    pub replicas: &'a BTreeMap<String, Option<Path>>,
}

impl ScaleManagers<'_> {
    /// Returns the managers of the scale: the managers that own the replicas of the object.
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

    /// Returns the managers of the object after a write to its scale.
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
                // Another manager now owns the replicas.
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
