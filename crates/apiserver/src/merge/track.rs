//! The bookkeeping of owners: what an update or an apply takes from whom.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::{ApplyError, Conflict};
use super::kind::MergeKind;
use super::managers::{ManagerId, Managers, Owned};
use super::path::Path;
use super::set::Set;
use super::typed::{
    self, Comparison, Misfits, combine, compare, field_set, remove, with_named_fields,
};

/// Whether conflicts are an error, or lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Force {
    No,
    Yes,
}

/// Why the bookkeeping cannot go on.
#[derive(Debug)]
pub(super) enum TrackError {
    Conflicts(Vec<Conflict>),
    Compare(Misfits),
    Merge(Misfits),
}

impl From<TrackError> for ApplyError {
    fn from(error: TrackError) -> Self {
        match error {
            TrackError::Conflicts(conflicts) => Self::Conflicts(conflicts),
            TrackError::Compare(why) => Self::Invalid(format!("failed to compare objects: {why}")),
            TrackError::Merge(why) => Self::Invalid(format!("failed to merge config: {why}")),
        }
    }
}

impl MergeKind {
    fn without_reset(&self, set: &Set) -> Set {
        set.recursive_difference(&self.reset)
    }

    /// Managers as they read with the schemas of today; those of versions that are gone are too.
    fn reconciled(&self, managers: &Managers) -> Managers {
        let kept = managers.0.iter().filter_map(|(id, owned)| {
            let ty = self.ty_at(&owned.api_version)?;
            let mut owned = owned.clone();
            if let Some(set) = typed::reconcile(&owned.set, ty) {
                owned.set = set;
            }
            Some((id.clone(), owned))
        });
        Managers(kept.collect())
    }

    /// Takes what changed from all but one manager, and tells what changed.
    fn take(
        &self,
        managers: &mut Managers,
        old: &Value,
        new: &Value,
        by: Option<&ManagerId>,
        force: Force,
    ) -> Result<Comparison, TrackError> {
        let mut comparisons: BTreeMap<String, Comparison> = BTreeMap::new();
        let compared = compare(old, new, self.ty()).map_err(TrackError::Compare)?;
        let compared = compared.without(Some(&self.reset));
        comparisons.insert(self.api_version.clone(), compared.clone());
        let mut conflicts: Vec<(ManagerId, Set)> = Vec::new();
        for (id, owned) in &managers.0 {
            if by == Some(id) {
                continue;
            }
            if !comparisons.contains_key(&owned.api_version)
                && let Some(ty) = self.ty_at(&owned.api_version)
            {
                let other = compare(old, new, ty).map_err(TrackError::Compare)?;
                comparisons.insert(owned.api_version.clone(), other);
            }
            if let Some(compared) = comparisons.get(&owned.api_version) {
                let changed = compared.modified.union(&compared.added);
                let taken = owned.set.intersection(&changed);
                if !taken.is_empty() {
                    conflicts.push((id.clone(), taken));
                }
            }
        }
        if force == Force::No && !conflicts.is_empty() {
            return Err(TrackError::Conflicts(listed(conflicts)));
        }
        for (id, taken) in conflicts {
            if let Some(owned) = managers.0.get_mut(&id) {
                owned.set = owned.set.difference(&taken);
            }
        }
        managers.0.retain(|id, owned| {
            if by != Some(id)
                && let Some(compared) = comparisons.get(&owned.api_version)
                && !compared.removed.is_empty()
            {
                owned.set = owned.set.difference(&compared.removed);
            }
            !owned.set.is_empty()
        });
        Ok(compared)
    }

    /// What an update owns for having made the new object of the old one; `None` is nothing.
    pub(super) fn track_update(
        &self,
        managers: &mut Managers,
        old: &Value,
        new: &Value,
    ) -> Result<Option<Set>, TrackError> {
        *managers = self.reconciled(managers);
        let compared = self.take(managers, old, new, None, Force::Yes)?;
        let set = compared.modified.union(&compared.added);
        let set = self.without_reset(&set);
        Ok((!set.is_empty()).then_some(set))
    }

    /// Merges an applied configuration, with the new owners.
    pub(super) fn track_apply(
        &self,
        managers: &mut Managers,
        live: &Value,
        applied: &Value,
        by: &ManagerId,
        force: Force,
    ) -> Result<Value, TrackError> {
        *managers = self.reconciled(managers);
        let merged = combine(live, applied, self.ty()).map_err(TrackError::Merge)?;
        let owned = Owned {
            api_version: self.api_version.clone(),
            set: self.without_reset(&field_set(applied, self.ty())),
            time: managers.0.get(by).and_then(|last| last.time),
        };
        let last = managers.0.insert(by.clone(), owned);
        let pruned = match last {
            Some(last) if !last.set.is_empty() => self.pruned(merged, managers, &last),
            _ => merged,
        };
        self.take(managers, live, &pruned, Some(by), force)?;
        Ok(pruned)
    }

    /// Without what the manager applied before and does not any more, unless others own it.
    fn pruned(&self, merged: Value, managers: &Managers, last: &Owned) -> Value {
        let Some(ty) = self.ty_at(&last.api_version) else {
            return merged;
        };
        let last_set = with_named_fields(&last.set, Some(ty));
        let mut pruned = remove(&merged, &last_set, ty);
        let mut owned_at: BTreeMap<&str, Set> = BTreeMap::new();
        for owned in managers.0.values() {
            owned_at
                .entry(&owned.api_version)
                .or_default()
                .absorb(&owned.set);
        }
        // The version that was pruned first: others may need what it brings back.
        if let Some(owned) = owned_at.remove(last.api_version.as_str()) {
            pruned = self.with_owned(&merged, &pruned, &last.api_version, &owned);
        }
        for (version, owned) in owned_at {
            pruned = self.with_owned(&merged, &pruned, version, &owned);
        }
        // What was never applied by this manager stays, even if it stood in something pruned.
        let named = |value: &Value| with_named_fields(&field_set(value, ty), Some(ty));
        let gone = named(&merged).difference(&named(&pruned));
        remove(&merged, &gone.intersection(&last_set), ty)
    }

    /// The pruned object with what some manager owns put back.
    fn with_owned(&self, merged: &Value, pruned: &Value, version: &str, owned: &Set) -> Value {
        let Some(ty) = self.ty_at(version) else {
            return pruned.clone();
        };
        let named = |set: &Set| with_named_fields(set, Some(ty));
        let kept = named(&field_set(pruned, ty)).union(&named(owned));
        let gone = named(&field_set(merged, ty)).difference(&kept);
        remove(merged, &gone, ty)
    }
}

fn listed(conflicts: Vec<(ManagerId, Set)>) -> Vec<Conflict> {
    let mut listed = Vec::new();
    for (manager, set) in conflicts {
        for path in set.paths() {
            let manager = manager.clone();
            listed.push(Conflict { manager, path });
        }
    }
    listed
}

/// Fields that nobody ever owns.
pub(super) fn ownerless() -> Set {
    let metadata = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let top = ["apiVersion", "kind", "metadata"];
    Set::of(
        top.iter().map(|name| Path::fields(&[name])).chain(
            metadata
                .iter()
                .map(|name| Path::fields(&["metadata", name])),
        ),
    )
}
