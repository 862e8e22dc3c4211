//! Tracks ownership changes of updates and applies.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::{ApplyError, Conflict};
use super::kind::MergeKind;
use super::managers::{ManagerId, Managers, Owned};
use super::path::Path;
use super::set::Set;
use super::typed::{
    self, Comparison, Duplicates, TypeMismatches, combine, compare, field_set, remove,
    with_named_fields,
};

/// Determines whether a write takes ownership of fields that other managers own with a different
/// value (`force`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Force {
    No,
    Yes,
}

/// The reason why the new field owners cannot be computed.
#[derive(Debug)]
pub(super) enum TrackError {
    Conflicts(Vec<Conflict>),
    Compare(TypeMismatches),
    Merge(TypeMismatches),
    /// The object cannot be converted to another version, because it does not match the schema of
    /// that version. The first field is the prefix of kube-apiserver's error message.
    Convert(&'static str, TypeMismatches),
}

impl From<TrackError> for ApplyError {
    fn from(error: TrackError) -> Self {
        Self::Invalid(match error {
            TrackError::Conflicts(conflicts) => return Self::Conflicts(conflicts),
            TrackError::Compare(why) => format!("failed to compare objects: {why}"),
            TrackError::Merge(why) => format!("failed to merge config: {why}"),
            TrackError::Convert(what, why) => format!("{what}{why}"),
        })
    }
}

impl MergeKind {
    fn without_reset(&self, set: &Set) -> Set {
        set.recursive_difference(&self.reset)
    }

    /// Checks that an object of the version `from` matches the schema of the version `to`.
    fn convert(
        &self,
        object: &Value,
        from: &str,
        to: &str,
        context: &'static str,
    ) -> Result<(), TrackError> {
        match self.ty_at(to) {
            Some(ty) if from != to => typed::validate(object, ty, Duplicates::Refused)
                .map_err(|reason| TrackError::Convert(context, reason)),
            _ => Ok(()),
        }
    }

    /// Returns the managers with field sets of the current schemas. Drops managers of removed
    /// versions.
    fn reconciled(&self, managers: &Managers, live: &Value) -> Result<Managers, TrackError> {
        let mut kept = BTreeMap::new();
        for (id, owned) in &managers.0 {
            let Some(ty) = self.ty_at(&owned.api_version) else {
                continue;
            };
            self.convert(live, &self.api_version, &owned.api_version, "")?;
            let mut owned = owned.clone();
            if let Some(set) = typed::reconcile(&owned.set, ty) {
                owned.set = set;
            }
            kept.insert(id.clone(), owned);
        }
        Ok(Managers(kept))
    }

    /// Removes the changed fields from the sets of all other managers, and returns the changes.
    fn take(
        &self,
        managers: &mut Managers,
        old: &Value,
        new: &Value,
        by: Option<&ManagerId>,
        force: Force,
    ) -> Result<Comparison, TrackError> {
        let compared = compare(old, new, self.ty()).map_err(TrackError::Compare)?;
        let compared = compared.without(Some(&self.reset));
        let mut comparisons = BTreeMap::from([(self.api_version.clone(), compared.clone())]);
        let conflicts = self.conflicts(managers, (old, new), by, &mut comparisons)?;
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

    /// Returns the changed fields that other managers own, by manager. `comparisons` contains the
    /// changes in each version.
    fn conflicts(
        &self,
        managers: &Managers,
        (old, new): (&Value, &Value),
        by: Option<&ManagerId>,
        comparisons: &mut BTreeMap<String, Comparison>,
    ) -> Result<Vec<(ManagerId, Set)>, TrackError> {
        let mut conflicts = Vec::new();
        for (id, owned) in managers.0.iter().filter(|(id, _)| by != Some(id)) {
            if !comparisons.contains_key(&owned.api_version)
                && let Some(ty) = self.ty_at(&owned.api_version)
            {
                let context = "failed to convert new object: ";
                self.convert(new, &self.api_version, &owned.api_version, context)?;
                let other = compare(old, new, ty).map_err(TrackError::Compare)?;
                comparisons.insert(owned.api_version.clone(), other);
            }
            let Some(compared) = comparisons.get(&owned.api_version) else {
                continue;
            };
            let taken = owned
                .set
                .intersection(&compared.modified.union(&compared.added));
            if !taken.is_empty() {
                conflicts.push((id.clone(), taken));
            }
        }
        Ok(conflicts)
    }

    /// Updates the field owners for a change from `old` (`None` on create) to `new`.
    pub(super) fn track_update(
        &self,
        managers: &mut Managers,
        old: &Value,
        new: &Value,
    ) -> Result<Option<Set>, TrackError> {
        *managers = self.reconciled(managers, old)?;
        let compared = self.take(managers, old, new, None, Force::Yes)?;
        let set = compared.modified.union(&compared.added);
        let set = self.without_reset(&set);
        Ok((!set.is_empty()).then_some(set))
    }

    /// Merges an applied configuration, and computes the new field owners.
    pub(super) fn track_apply(
        &self,
        managers: &mut Managers,
        live: &Value,
        applied: &Value,
        by: &ManagerId,
        force: Force,
    ) -> Result<Value, TrackError> {
        *managers = self.reconciled(managers, live)?;
        let merged = combine(live, applied, self.ty()).map_err(TrackError::Merge)?;
        let owned = Owned {
            api_version: self.api_version.clone(),
            set: self.without_reset(&field_set(applied, self.ty())),
            time: managers.0.get(by).and_then(|last| last.time),
        };
        let last = managers.0.insert(by.clone(), owned);
        let pruned = match last {
            Some(last) if !last.set.is_empty() => self.pruned(merged, managers, &last)?,
            _ => merged,
        };
        self.take(managers, live, &pruned, Some(by), force)?;
        Ok(pruned)
    }

    /// Removes fields that the manager applied earlier and does not apply now, unless another
    /// manager owns them.
    fn pruned(
        &self,
        merged: Value,
        managers: &Managers,
        last: &Owned,
    ) -> Result<Value, TrackError> {
        let last_version = last.api_version.as_str();
        let Some(ty) = self.ty_at(last_version) else {
            return Ok(merged);
        };
        let context = "failed to prune fields: failed to convert merged object to last applied \
                    version: ";
        self.convert(&merged, &self.api_version, last_version, context)?;
        let last_set = with_named_fields(&last.set, Some(ty));
        let mut pruned = remove(&merged, &last_set, ty);
        let mut owned_at: BTreeMap<&str, Set> = BTreeMap::new();
        for owned in managers.0.values() {
            owned_at
                .entry(&owned.api_version)
                .or_default()
                .absorb(&owned.set);
        }
        // The loop starts with the version of the last apply, because managers of other versions
        // may own restored fields.
        let mut at = last_version;
        let first = owned_at.remove_entry(last_version);
        for (version, owned) in first.into_iter().chain(owned_at) {
            pruned = self.with_owned(&merged, &pruned, (at, version), &owned)?;
            at = version;
        }
        let context = "failed to prune fields: failed add back dangling items: failed to convert \
                    pruned object to last applied version: ";
        self.convert(&pruned, at, last_version, context)?;
        // Fields that the manager never applied stay, even below a removed field.
        let named = |value: &Value| with_named_fields(&field_set(value, ty), Some(ty));
        let gone = named(&merged).difference(&named(&pruned));
        let pruned = remove(&merged, &gone.intersection(&last_set), ty);
        let context = "failed to prune fields: ";
        self.convert(&pruned, last_version, &self.api_version, context)?;
        Ok(pruned)
    }

    /// Returns `merged` without the pruned fields. Pruned fields in `owned` stay.
    fn with_owned(
        &self,
        merged: &Value,
        pruned: &Value,
        (from, to): (&str, &str),
        owned: &Set,
    ) -> Result<Value, TrackError> {
        let Some(ty) = self.ty_at(to) else {
            return Ok(pruned.clone());
        };
        let context =
            "failed to prune fields: failed add back owned items: failed to convert object: ";
        self.convert(merged, from, to, context)?;
        self.convert(pruned, from, to, context)?;
        let named = |set: &Set| with_named_fields(set, Some(ty));
        let kept = named(&field_set(pruned, ty)).union(&named(owned));
        let gone = named(&field_set(merged, ty)).difference(&kept);
        Ok(remove(merged, &gone, ty))
    }
}

fn listed(mut conflicts: Vec<(ManagerId, Set)>) -> Vec<Conflict> {
    conflicts.sort_by_cached_key(|(manager, _)| manager.sort_key());
    let mut listed = Vec::new();
    for (manager, set) in conflicts {
        for path in set.paths() {
            let manager = manager.clone();
            listed.push(Conflict { manager, path });
        }
    }
    listed
}

/// Returns the metadata fields that have no owner.
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
