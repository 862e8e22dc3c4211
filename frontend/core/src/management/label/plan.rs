//! Plans label changes of several clusters.

use std::collections::{BTreeMap, BTreeSet};

use drover_api::rest::ClusterView;
use serde_json::{Value, json};

use super::{Labels, is_reserved};
use crate::messages::t;
use crate::shell;

/// A label change. Each key gets a value, or is removed (`None`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change(BTreeMap<String, Option<String>>);

impl Change {
    /// Creates a change that sets and removes labels. Returns an error if a key is in both sets.
    pub fn of(set: Labels, remove: &BTreeSet<String>) -> Result<Self, String> {
        if let Some(key) = remove.iter().find(|key| set.contains_key(*key)) {
            return Err(t().cluster_labels.set_and_removed(key));
        }
        let set = set.into_iter().map(|(key, value)| (key, Some(value)));
        let gone = remove.iter().map(|key| (key.clone(), None));
        Ok(Self(set.chain(gone).collect()))
    }

    /// Returns the change from `before` to `after`.
    pub fn between(before: &Labels, after: Labels) -> Self {
        let gone = before.keys().filter(|key| !after.contains_key(*key));
        let gone: Vec<_> = gone.map(|key| (key.clone(), None)).collect();
        let set = after
            .into_iter()
            .filter(|(key, value)| before.get(key) != Some(value));
        let set = set.map(|(key, value)| (key, Some(value)));
        Self(set.chain(gone).collect())
    }

    /// Returns the labels after the change.
    pub fn apply(&self, mut labels: Labels) -> Labels {
        for (key, value) in &self.0 {
            match value {
                Some(value) => labels.insert(key.clone(), value.clone()),
                None => labels.remove(key),
            };
        }
        labels
    }

    /// Reports whether the change is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The effect of a change on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    key: String,
    wish: Option<String>,
    /// The number of clusters without the label.
    without: usize,
    /// The number of clusters that already have the new value.
    same: usize,
    /// The number of clusters per previous value, for clusters with a different value.
    other: BTreeMap<String, usize>,
}

/// The patch of one cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// The name of the cluster.
    pub name: String,
    /// A JSON merge patch (RFC 7396) with the changed labels. The patch contains the UID of the
    /// cluster, so that the hub rejects the patch for a new cluster with the same name.
    pub body: Value,
}

/// The plan of a label change for several clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The effect on each label.
    pub lines: Vec<Line>,
    /// The patches of the clusters that change.
    pub patches: Vec<Patch>,
}

impl Plan {
    /// Creates the plan of a change for the selected clusters.
    pub fn of<'a>(change: &Change, clusters: impl IntoIterator<Item = &'a ClusterView>) -> Self {
        let mut lines: Vec<Line> = change.0.iter().map(Line::new).collect();
        let mut patches = Vec::new();
        for cluster in clusters {
            for line in &mut lines {
                line.count(cluster.labels.get(&line.key));
            }
            let differs = |(key, wish): &(&String, &Option<String>)| {
                cluster.labels.get(*key) != wish.as_ref()
            };
            let labels: BTreeMap<_, _> = change.0.iter().filter(differs).collect();
            if !labels.is_empty() {
                patches.push(Patch {
                    name: cluster.name.clone(),
                    body: json!({"metadata": {"uid": cluster.uid, "labels": labels}}),
                });
            }
        }
        Self { lines, patches }
    }

    /// Returns the equivalent kubectl command for the context `local`. Returns `None` without
    /// changes.
    pub fn command(&self) -> Option<String> {
        if self.patches.is_empty() {
            return None;
        }
        let names = self.patches.iter().map(|patch| patch.name.clone());
        let words = names.chain(self.lines.iter().map(Line::argument));
        let words: Vec<_> = words.map(|word| shell::word(&word)).collect();
        Some(format!(
            "kubectl --context local label --overwrite clusters.management.drover.dev {}",
            words.join(" ")
        ))
    }
}

impl Line {
    fn new((key, wish): (&String, &Option<String>)) -> Self {
        Self {
            key: key.clone(),
            wish: wish.clone(),
            without: 0,
            same: 0,
            other: BTreeMap::new(),
        }
    }

    fn count(&mut self, found: Option<&String>) {
        match found {
            None => self.without += 1,
            Some(value) if Some(value) == self.wish.as_ref() => self.same += 1,
            Some(value) => *self.other.entry(value.clone()).or_default() += 1,
        }
    }

    fn argument(&self) -> String {
        match &self.wish {
            Some(value) => format!("{}={value}", self.key),
            None => format!("{}-", self.key),
        }
    }

    /// Reports whether the label change affects no cluster.
    pub fn is_idle(&self) -> bool {
        self.other.is_empty() && (self.wish.is_none() || self.without == 0)
    }

    /// Returns the effect on a label as text: `sets env=prod on 12 clusters, changes
    /// the label on 3 (before: test)`.
    pub fn words(&self) -> String {
        let others = self.other.values().sum();
        let Some(value) = &self.wish else {
            return self.words_of_removal(others);
        };
        let label = format!("{}={value}", self.key);
        let mut text = match (self.without, others) {
            (0, 0) => return t().cluster_labels.already_set(&label, self.same),
            (0, others) => t().cluster_labels.changes(&label, others, &self.was()),
            (new, 0) => t().cluster_labels.sets(&label, new),
            (new, others) => t()
                .cluster_labels
                .sets_and_changes(&label, new, others, &self.was()),
        };
        if self.same > 0 {
            text.push_str(&t().cluster_labels.and_already_set(self.same));
        }
        text
    }

    fn words_of_removal(&self, others: usize) -> String {
        let key = &self.key;
        if others == 0 {
            return t().cluster_labels.not_present(key);
        }
        let mut text = t().cluster_labels.removes(key, others, &self.was());
        if self.without > 0 {
            text.push_str(&t().cluster_labels.and_without(self.without));
        }
        text
    }

    /// Returns the previous values as text: `before: test`, `before: shop on 3 clusters`.
    fn was(&self) -> String {
        let shown = |value: &String| match value.as_str() {
            "" => t().cluster_labels.empty_value().to_owned(),
            value => value.to_owned(),
        };
        let alone = self.other.len() == 1;
        let parts = self.other.iter().map(|(value, count)| {
            if alone {
                shown(value)
            } else {
                t().cluster_labels.value_on(&shown(value), *count)
            }
        });
        let parts: Vec<_> = parts.collect();
        t().cluster_labels.before(&parts.join(", "))
    }
}

/// Counts the clusters per label key and value. The count ignores labels that users cannot change.
pub fn present<'a>(
    clusters: impl IntoIterator<Item = &'a ClusterView>,
) -> BTreeMap<String, BTreeMap<String, usize>> {
    let mut found: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    let labels = clusters.into_iter().flat_map(|cluster| &cluster.labels);
    for (key, value) in labels.filter(|(key, _)| !is_reserved(key)) {
        let values = found.entry(key.clone()).or_default();
        *values.entry(value.clone()).or_default() += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::HubCluster;
    use crate::label::read;

    fn cluster(name: &str, labels: &str) -> ClusterView {
        let labels = read(labels).unwrap();
        let object = json!({"metadata": {"name": name, "uid": format!("uid-{name}"), "labels": labels},
            "spec": {}});
        serde_json::from_value::<HubCluster>(object).unwrap().into()
    }

    fn change(set: &str, remove: &[&str]) -> Change {
        let remove = remove.iter().map(|key| (*key).to_owned()).collect();
        Change::of(read(set).unwrap(), &remove).unwrap()
    }

    fn words(plan: &Plan) -> Vec<String> {
        plan.lines.iter().map(Line::words).collect()
    }

    #[test]
    fn label_change_plan_shows_previous_values() {
        let clusters = [
            cluster("a", ""),
            cluster("b", "env=test team=shop"),
            cluster("c", "env=test team=web"),
            cluster("d", "env=prod team="),
        ];
        let plan = Plan::of(&change("env=prod", &["team"]), &clusters);
        assert_eq!(
            words(&plan),
            [
                "sets env=prod on 1 cluster, changes the label on 2 (before: test); already set on 1",
                "removes team from 3 clusters (before: empty on 1 cluster, shop on 1 cluster, web on 1 cluster); 1 without this label",
            ]
        );
        let plan = Plan::of(&change("env=prod", &["zone"]), &clusters[3..]);
        assert_eq!(
            words(&plan),
            [
                "env=prod is already set on 1 cluster",
                "no selected cluster has the label zone"
            ]
        );
        assert!(plan.lines.iter().all(Line::is_idle) && plan.patches.is_empty());
        assert_eq!(plan.command(), None);
    }

    #[test]
    fn label_patches_contain_only_changed_labels() {
        let clusters = [
            cluster("a", "env=prod"),
            cluster("b", "env=prod team=shop"),
            cluster("c", ""),
        ];
        let plan = Plan::of(&change("env=prod", &["team"]), &clusters);
        let sent: Vec<_> = plan
            .patches
            .iter()
            .map(|it| (&*it.name, &it.body))
            .collect();
        let body = |uid: &str, labels: Value| json!({"metadata": {"uid": uid, "labels": labels}});
        assert_eq!(
            sent,
            [
                ("b", &body("uid-b", json!({"team": null}))),
                ("c", &body("uid-c", json!({"env": "prod"}))),
            ]
        );
        assert_eq!(
            plan.command().unwrap(),
            "kubectl --context local label --overwrite clusters.management.drover.dev b c env=prod team-"
        );
    }

    #[test]
    fn label_change_plan_is_empty_after_its_patches_are_applied() {
        let change = change("env=prod a/b=", &["team"]);
        let mut one = cluster("a", "env=test team=shop other=1");
        let plan = Plan::of(&change, [&one]);
        let labels = plan.patches[0].body["metadata"]["labels"]
            .as_object()
            .unwrap();
        for (key, value) in labels {
            match value.as_str() {
                Some(value) => drop(one.labels.insert(key.clone(), value.to_owned())),
                None => drop(one.labels.remove(key)),
            }
        }
        assert_eq!(one.labels, read("env=prod a/b= other=1").unwrap());
        assert!(Plan::of(&change, [&one]).patches.is_empty());
    }

    #[test]
    fn label_cannot_be_both_set_and_removed() {
        let both = Change::of(read("env=prod").unwrap(), &["env".to_owned()].into());
        assert!(both.unwrap_err().contains("env"));
    }

    #[test]
    fn label_change_contains_the_difference_of_two_label_sets() {
        let before = read("env=test team=shop same=1").unwrap();
        let after = read("env=prod same=1 new=2").unwrap();
        let got = Change::between(&before, after);
        assert_eq!(got, change("env=prod new=2", &["team"]));
        assert!(Change::between(&before, before.clone()).is_empty());
    }

    #[test]
    fn clusters_are_counted_per_existing_label_value() {
        let clusters = [
            cluster("a", "env=prod"),
            cluster("b", "env=prod"),
            cluster("c", "env=test"),
        ];
        let found = present(&clusters);
        assert_eq!(found["env"]["prod"], 2);
        assert_eq!(found["env"]["test"], 1);
    }
}
