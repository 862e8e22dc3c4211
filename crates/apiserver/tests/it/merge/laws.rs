//! Properties of merges for arbitrary objects.

use drover_apiserver::merge::{
    ApplyOptions, Managers, MergeKind, Path, Set, apply, json_patch, merge_patch, update,
};
use drover_apiserver::select::{FieldSelector, LabelSelector};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{by, kind, updated_by};

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d"]).prop_map(str::to_owned)
}

fn texts() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(name(), "[xyz]{0,2}", 0..4)
        .prop_map(|map| map.into_iter().map(|(k, v)| (k, Value::from(v))).collect())
}

fn container() -> impl Strategy<Value = Value> {
    let port = (80..84_u16, prop::sample::select(vec!["TCP", "UDP"]))
        .prop_map(|(port, protocol)| json!({"containerPort": port, "protocol": protocol}));
    (
        name(),
        prop::option::of("[ij]"),
        prop::collection::vec(port, 0..3),
        prop::option::of(prop::collection::vec("[pq]", 0..3)),
    )
        .prop_map(|(name, image, mut ports, args)| {
            let mut container = json!({"name": name});
            if let Some(image) = image {
                container["image"] = image.into();
            }
            if let Some(args) = args {
                container["args"] = json!(args);
            }
            ports.sort_by_key(Value::to_string);
            ports.dedup();
            if !ports.is_empty() {
                container["ports"] = ports.into();
            }
            container
        })
}

/// Generates a Deployment as a client may apply it.
fn deployment() -> impl Strategy<Value = Value> {
    (
        prop::option::of(texts()),
        prop::option::of(0..3_u8),
        prop::option::of(texts()),
        prop::collection::vec(container(), 0..4),
    )
        .prop_map(|(labels, replicas, selected, containers)| {
            let mut object = super::deployment(&json!({}));
            if let Some(labels) = labels {
                object["metadata"]["labels"] = labels;
            }
            if let Some(replicas) = replicas {
                object["spec"]["replicas"] = replicas.into();
            }
            if let Some(selected) = selected {
                object["spec"]["selector"] = json!({"matchLabels": selected});
            }
            let mut unique: Vec<Value> = Vec::new();
            for container in containers {
                if !unique
                    .iter()
                    .any(|other| other["name"] == container["name"])
                {
                    unique.push(container);
                }
            }
            if !unique.is_empty() {
                object["spec"]["template"] = json!({"spec": {"containers": unique}});
            }
            object
        })
}

fn deployments() -> MergeKind {
    kind("apps", "deployments", "")
}

fn forced(manager: &str) -> ApplyOptions<'_> {
    ApplyOptions {
        force: true,
        ..by(manager)
    }
}

fn owned_by(object: &Value, manager: &str) -> Set {
    let managers = Managers::of(object).unwrap();
    let owned = managers.iter().find(|(id, _)| id.manager == manager);
    owned
        .map(|(_, owned)| owned.set.clone())
        .unwrap_or_default()
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c<&]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-d/~]{1,2}", inner, 0..4)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-d/~]{1,2}", any_json(), 0..5)
        .prop_map(|map| map.into_iter().collect())
}

/// Returns the merge patch that converts `from` to `to` (RFC 7396).
fn difference(from: &Map<String, Value>, to: &Map<String, Value>) -> Value {
    let mut patch = Map::new();
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, new) in to {
        let change = match (from.get(key), new) {
            (Some(old), new) if old == new => continue,
            (Some(Value::Object(old)), Value::Object(new)) => difference(old, new),
            (_, new) => new.clone(),
        };
        patch.insert(key.clone(), change);
    }
    Value::Object(patch)
}

proptest! {
    #[test]
    fn server_side_apply_is_idempotent(live in deployment(), applied in deployment()) {
        let kind = deployments();
        let live = apply(None, &live, &kind, by("first")).unwrap();
        let once = apply(Some(&live), &applied, &kind, forced("second")).unwrap();
        let later = ApplyOptions { now: jiff::Timestamp::MAX, ..by("second") };
        let twice = apply(Some(&once), &applied, &kind, later).unwrap();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn apply_sets_and_owns_all_applied_fields(live in deployment(), applied in deployment()) {
        let kind = deployments();
        let live = apply(None, &live, &kind, by("first")).unwrap();
        let merged = apply(Some(&live), &applied, &kind, forced("second")).unwrap();
        let again = apply(Some(&merged), &applied, &kind, by("third")).unwrap();
        // A third manager with the same values has no conflicts and owns the same fields.
        prop_assert_eq!(owned_by(&again, "third"), owned_by(&merged, "second"));
    }

    #[test]
    fn empty_apply_by_the_only_manager_removes_all_fields(applied in deployment()) {
        let kind = deployments();
        let live = apply(None, &applied, &kind, by("me")).unwrap();
        let bare = super::deployment(&json!({}));
        let remaining = apply(Some(&live), &bare, &kind, by("me")).unwrap();
        let nothing = apply(None, &bare, &kind, by("me")).unwrap();
        prop_assert_eq!(remaining["metadata"].get("labels"), None);
        // Decoding as in Go restores empty structs.
        let (remaining, nothing) = (super::stored(&kind, remaining), super::stored(&kind, nothing));
        prop_assert_eq!(&remaining["spec"], &nothing["spec"]);
    }

    #[test]
    fn update_without_changes_retains_field_owners(applied in deployment()) {
        let kind = deployments();
        let mut live = apply(None, &applied, &kind, by("me")).unwrap();
        live["metadata"]["uid"] = "1".into();
        let mut same = live.clone();
        update(Some(&live), &mut same, &kind, updated_by("other"));
        prop_assert_eq!(same, live);
    }

    #[test]
    fn each_field_has_at_most_one_update_manager(first in deployment(), second in deployment()) {
        let kind = deployments();
        let mut live = first;
        update(None, &mut live, &kind, updated_by("one"));
        live["metadata"]["uid"] = "1".into();
        let mut next = second;
        next["metadata"]["uid"] = "1".into();
        update(Some(&live), &mut next, &kind, updated_by("two"));
        let shared = owned_by(&next, "one").intersection(&owned_by(&next, "two"));
        prop_assert!(shared.is_empty(), "{}", shared.to_json());
    }

    #[test]
    fn merge_patch_with_the_difference_of_two_objects_converts_the_first_into_the_second(
        from in any_object(), to in any_object(),
    ) {
        let patch = difference(from.as_object().unwrap(), to.as_object().unwrap());
        prop_assert_eq!(merge_patch(&from, &patch).unwrap(), to);
    }

    #[test]
    fn json_patch_remove_reverts_add(object in any_object(), value in any_json()) {
        let patch = json!([
            {"op": "add", "path": "/new", "value": value},
            {"op": "test", "path": "/new", "value": value},
            {"op": "copy", "from": "/new", "path": "/other"},
            {"op": "move", "from": "/other", "path": "/new"},
            {"op": "remove", "path": "/new"},
        ]);
        prop_assert_eq!(json_patch(&object, &patch).unwrap(), object);
    }

    #[test]
    fn field_set_operations_satisfy_the_laws_of_set_algebra(remaining in prop::collection::vec("[abc]{1,3}", 0..6),
                                  right in prop::collection::vec("[abc]{1,3}", 0..6)) {
        let set = |paths: &[String]| {
            Set::of(paths.iter().map(|path| {
                let names: Vec<&str> = path.split("").filter(|name| !name.is_empty()).collect();
                Path::fields(&names)
            }))
        };
        let (remaining, right) = (set(&remaining), set(&right));
        let union = remaining.union(&right);
        prop_assert_eq!(&union, &right.union(&remaining));
        prop_assert_eq!(union.difference(&right), remaining.difference(&right));
        prop_assert_eq!(remaining.intersection(&right).union(&remaining.difference(&right)), remaining.clone());
        prop_assert_eq!(remaining.intersection(&union), remaining);
    }

    #[test]
    fn selectors_round_trip_through_text(
        key in "[a-z]{1,3}(\\.[a-z]{1,2}/[a-z])?", values in prop::collection::vec("[a-z0-9]{0,2}", 1..4),
        fields in prop::collection::vec(("[a-z.]{1,4}", any::<bool>(), "[a-z,=\\\\]{0,3}"), 0..4),
    ) {
        for text in [
            format!("{key} in ({})", values.join(",")),
            format!("{key}!={}", values[0]),
            format!("!{key},{key}"),
        ] {
            let selector: LabelSelector = text.parse().unwrap();
            prop_assert_eq!(selector.to_string().parse::<LabelSelector>().unwrap(), selector);
        }
        let escaped = |text: &str| text.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
        let terms: Vec<String> = fields.iter().map(|(field, negated, value)| {
            format!("{field}{}{}", if *negated { "!=" } else { "=" }, escaped(value))
        }).collect();
        let selector: FieldSelector = terms.join(",").parse().unwrap();
        prop_assert_eq!(selector.terms().len(), terms.len());
        prop_assert_eq!(selector.to_string().parse::<FieldSelector>().unwrap(), selector);
    }
}
