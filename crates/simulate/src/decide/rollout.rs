//! Computes the next sizes of a Deployment's ReplicaSets during a rollout.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// The desired state of a rollout, from the spec of the Deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Desired {
    pub(super) replicas: i32,
    /// The value of `maxSurge`, as a number of pods.
    pub(super) surge: i32,
    /// The value of `maxUnavailable`, as a number of pods.
    pub(super) unavailable: i32,
    /// True if the strategy is `Recreate`.
    pub(super) recreate: bool,
    pub(super) paused: bool,
}

impl Desired {
    pub(super) fn of(deployment: &Deployment) -> Self {
        let spec = deployment.spec.as_ref();
        let replicas = spec.and_then(|spec| spec.replicas).unwrap_or(1);
        let strategy = spec.and_then(|spec| spec.strategy.as_ref());
        let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        let share = |of: Option<&IntOrString>, up| share(of, replicas, up);
        let surge = share(rolling.and_then(|r| r.max_surge.as_ref()), true);
        let unavailable = share(rolling.and_then(|r| r.max_unavailable.as_ref()), false);
        Self {
            replicas,
            surge,
            // If both values were 0, the rollout could not progress.
            unavailable: if surge == 0 {
                unavailable.max(1)
            } else {
                unavailable
            }
            .min(replicas),
            recreate: strategy.and_then(|s| s.type_.as_deref()) == Some("Recreate"),
            paused: spec.and_then(|spec| spec.paused).unwrap_or(false),
        }
    }

    pub(super) fn min_available(&self) -> i32 {
        self.replicas - self.unavailable
    }
}

/// Converts a number or a percentage of `whole` to a number. Rounds a percentage up if `up` is
/// true, and down if `up` is false.
pub(super) fn share(part: Option<&IntOrString>, whole: i32, up: bool) -> i32 {
    match part {
        None => {
            let quarter = f64::from(whole) / 4.0;
            rounded(quarter, up)
        }
        Some(IntOrString::Int(number)) => *number,
        Some(IntOrString::String(text)) => {
            let percent: f64 = text.trim_end_matches('%').parse().unwrap_or(25.0);
            rounded(f64::from(whole) * percent / 100.0, up)
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a share of an i32, bounded just before"
)]
fn rounded(number: f64, up: bool) -> i32 {
    let whole = if up { number.ceil() } else { number.floor() };
    whole.clamp(0.0, f64::from(i32::MAX)) as i32
}

/// The numbers of pods of one ReplicaSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Requested number of pods, from `spec.replicas`.
    pub(super) wanted: i32,
    /// Number of pods from `status.replicas`. `None` if the status is older than the spec.
    pub(super) present: Option<i32>,
    /// Number of available pods, from `status.availableReplicas`.
    pub(super) available: i32,
}

impl Size {
    pub(super) fn of(set: &ReplicaSet) -> Self {
        let status = set.status.as_ref();
        let observed = status.and_then(|status| status.observed_generation);
        Self {
            wanted: set
                .spec
                .as_ref()
                .and_then(|spec| spec.replicas)
                .unwrap_or(1),
            present: status
                .filter(|_| observed >= set.metadata.generation)
                .map(|status| status.replicas),
            available: status
                .and_then(|status| status.available_replicas)
                .unwrap_or(0),
        }
    }
}

/// Returns the next sizes of the new ReplicaSet and of all old ReplicaSets. The old ReplicaSets are
/// sorted from oldest to newest.
pub(super) fn step(desired: &Desired, new: Option<Size>, old: &[Size]) -> (i32, Vec<i32>) {
    let unchanged: Vec<i32> = old.iter().map(|size| size.wanted).collect();
    let old_total: i32 = unchanged.iter().sum();
    let new_wanted = new.map_or(0, |size| size.wanted);
    if desired.recreate && !desired.paused {
        let none_left = old.iter().all(|size| size.present == Some(0));
        let size = if none_left { desired.replicas } else { 0 };
        return (size, vec![0; old.len()]);
    }
    if old_total == 0 {
        return (desired.replicas, unchanged);
    }
    if desired.paused {
        // A paused rollout scales only the newest ReplicaSet.
        return match new {
            Some(_) => ((desired.replicas - old_total).max(0), unchanged),
            None => (0, paused(desired, old)),
        };
    }
    let room = (desired.replicas + desired.surge - old_total - new_wanted).max(0);
    let grown = (new_wanted + room).min(desired.replicas);
    if grown != new_wanted {
        return (grown, unchanged);
    }
    (grown, shrink(desired, new, old))
}

fn paused(desired: &Desired, old: &[Size]) -> Vec<i32> {
    let mut sizes: Vec<i32> = old.iter().map(|size| size.wanted).collect();
    if let Some((newest, older)) = sizes.split_last_mut() {
        *newest = (desired.replicas - older.iter().sum::<i32>()).max(0);
    }
    sizes
}

/// Scales down the old ReplicaSets within `maxUnavailable`. Removes unavailable pods first.
fn shrink(desired: &Desired, new: Option<Size>, old: &[Size]) -> Vec<i32> {
    let mut sizes: Vec<i32> = old.iter().map(|size| size.wanted).collect();
    if old.iter().any(|size| size.present.is_none()) {
        return sizes;
    }
    let total: i32 = sizes.iter().sum::<i32>() + new.map_or(0, |size| size.wanted);
    let missing = new.map_or(0, |size| (size.wanted - size.available).max(0));
    let mut spare = total - desired.min_available() - missing;
    for (size, set) in sizes.iter_mut().zip(old) {
        let broken = (set.wanted - set.available).clamp(0, spare.max(0));
        *size -= broken;
        spare -= broken;
    }
    let available: i32 = old.iter().chain(&new).map(|size| size.available).sum();
    let mut spare = (available - desired.min_available()).max(0);
    for size in &mut sizes {
        let taken = (*size).min(spare);
        *size -= taken;
        spare -= taken;
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(expected: i32, available: i32) -> Size {
        Size {
            wanted: expected,
            present: Some(expected),
            available,
        }
    }

    fn desired(replicas: i32, surge: i32, unavailable: i32) -> Desired {
        Desired {
            replicas,
            surge,
            unavailable,
            recreate: false,
            paused: false,
        }
    }

    #[test]
    fn rolling_update_does_not_exceed_max_surge_and_max_unavailable() {
        for (case, desired, new, old, expected) in [
            ("first rollout", desired(3, 1, 0), None, vec![], (3, vec![])),
            (
                "scaling",
                desired(5, 1, 0),
                Some(size(3, 3)),
                vec![size(0, 0)],
                (5, vec![0]),
            ),
            (
                "new template",
                desired(4, 1, 1),
                None,
                vec![size(4, 4)],
                (1, vec![4]),
            ),
            (
                "no new pod is available",
                desired(4, 1, 1),
                Some(size(1, 0)),
                vec![size(4, 4)],
                (1, vec![3]),
            ),
            (
                "one new pod is available",
                desired(4, 1, 0),
                Some(size(1, 1)),
                vec![size(4, 4)],
                (1, vec![3]),
            ),
            (
                "unavailable pods first",
                desired(4, 1, 1),
                Some(size(1, 0)),
                vec![size(2, 0), size(2, 2)],
                (1, vec![1, 2]),
            ),
            (
                "no surge",
                desired(2, 0, 1),
                None,
                vec![size(2, 2)],
                (0, vec![1]),
            ),
        ] {
            assert_eq!(step(&desired, new, &old), expected, "{case}");
        }
    }

    #[test]
    fn recreate_strategy_waits_until_old_pods_are_deleted() {
        let desired = Desired {
            recreate: true,
            ..desired(3, 0, 1)
        };
        assert_eq!(step(&desired, None, &[size(3, 3)]), (0, vec![0]));
        let going = Size {
            wanted: 0,
            present: Some(2),
            available: 0,
        };
        assert_eq!(step(&desired, None, &[going]), (0, vec![0]));
        assert_eq!(step(&desired, None, &[size(0, 0)]), (3, vec![0]));
    }

    #[test]
    fn max_surge_is_rounded_up_and_max_unavailable_is_rounded_down() {
        let text = |text: &str| Some(IntOrString::String(text.to_owned()));
        for (part, whole, up, expected) in [
            (None, 10, true, 3),
            (None, 10, false, 2),
            (text("30%"), 3, true, 1),
            (text("30%"), 3, false, 0),
            (Some(IntOrString::Int(7)), 3, true, 7),
        ] {
            assert_eq!(
                share(part.as_ref(), whole, up),
                expected,
                "{part:?} of {whole}"
            );
        }
    }
}
