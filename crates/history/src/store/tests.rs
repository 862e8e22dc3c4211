use std::collections::BTreeMap;

use drover_api::ids::ClusterUid;
use drover_api::rest::history_kind;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::versions::MAX_VERSIONS;
use super::*;

const LIMIT: usize = 1 << 20;

fn deployments() -> &'static HistoryKind {
    history_kind("apps/v1", "deployments").unwrap()
}

fn cluster(name: &str) -> Target {
    Target::Cluster(ClusterUid::new(name))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn object(name: &str, version: u64, data: &str) -> Value {
    json!({"metadata": {
            "name": name, "namespace": "shop", "uid": "u", "resourceVersion": version.to_string(),
            "managedFields": [{"manager": "kubectl", "operation": "Update", "time": at(
                i64::try_from(version).unwrap()).to_string()}],
        }, "spec": {"data": data}})
}

fn observe(store: &HistoryStore, of: &str, object: &Value, second: i64) {
    store.observe(&cluster(of), deployments(), &object.to_string(), at(second));
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(deployments(), "shop", name)
}

/// Returns the resource versions of the stored versions, with their users.
fn stored(store: &HistoryStore, of: &str, name: &str) -> Vec<(String, Vec<String>)> {
    let versions = store.versions(&cluster(of), &key(name)).into_iter();
    let version = |(version, users): (StoredVersion, Vec<Arc<str>>)| {
        let users = users.iter().map(ToString::to_string).collect();
        (version.resource_version.to_string(), users)
    };
    versions.map(version).collect()
}

fn resource_versions(store: &HistoryStore, name: &str) -> Vec<String> {
    let stored = stored(store, "a", name).into_iter();
    stored.map(|(version, _)| version).collect()
}

fn write(store: &HistoryStore, user: &str, version: Option<u64>, second: i64) {
    store.add_write(
        &cluster("a"),
        key("web"),
        UserWrite {
            user: user.into(),
            resource_version: version.map(|version| version.to_string()),
            began: at(second),
            ended: at(second),
        },
    );
}

#[test]
fn only_states_with_changed_content_are_versions() {
    let store = HistoryStore::new(LIMIT);
    observe(&store, "a", &object("web", 1, "x"), 1);
    let mut status = object("web", 2, "x");
    status["status"] = json!({"replicas": 2});
    observe(&store, "a", &status, 2);
    observe(&store, "a", &object("web", 3, "y"), 3);
    observe(&store, "a", &object("web", 2, "x"), 4);
    assert_eq!(resource_versions(&store, "web"), ["1", "3"]);
}

#[test]
fn clusters_with_equal_objects_have_separate_histories() {
    let store = HistoryStore::new(LIMIT);
    observe(&store, "a", &object("web", 1, "x"), 1);
    assert!(stored(&store, "b", "web").is_empty());
}

#[test]
fn object_has_at_most_the_maximum_number_of_versions() {
    let store = HistoryStore::new(LIMIT);
    for version in 1..=50 {
        observe(
            &store,
            "a",
            &object("web", version, &version.to_string()),
            1,
        );
    }
    let versions = resource_versions(&store, "web");
    assert_eq!((versions.len(), &*versions[0]), (MAX_VERSIONS, "31"));
}

#[test]
fn object_above_the_size_limit_is_a_version_without_content() {
    let store = HistoryStore::new(LIMIT);
    observe(&store, "a", &object("web", 1, &"x".repeat(MAX_OBJECT)), 1);
    let versions = store.versions(&cluster("a"), &key("web"));
    assert!(matches!(versions[0].0.content, Content::TooLarge));
    assert!(store.used() < 4096);
}

#[test]
fn secret_is_never_stored() {
    let store = HistoryStore::new(LIMIT);
    let mut secret = object("web", 1, "password");
    secret["kind"] = "Secret".into();
    secret["apiVersion"] = "v1".into();
    observe(&store, "a", &secret, 1);
    assert_eq!(store.used(), 0);
    let is_secret = |kind: &HistoryKind| kind.plural == "secrets";
    assert!(!drover_api::rest::HISTORY_KINDS.iter().any(is_secret));
}

#[test]
fn endless_changes_of_a_cluster_remove_only_its_own_history() {
    let store = HistoryStore::new(64 << 10);
    observe(&store, "quiet", &object("web", 1, "x"), 1);
    observe(&store, "quiet", &object("web", 2, "y"), 2);
    for round in 0..2_000 {
        let name = format!("object-{}", round % 500);
        observe(
            &store,
            "loud",
            &object(&name, round + 1, &format!("{round}")),
            3,
        );
    }
    assert!(store.used() <= 64 << 10);
    let versions = stored(&store, "quiet", "web");
    assert_eq!(versions.len(), 2);
}

#[test]
fn objects_with_changes_stay_longer_than_objects_without_changes() {
    let store = HistoryStore::new(32 << 10);
    observe(&store, "a", &object("web", 1, "x"), 1);
    observe(&store, "a", &object("web", 2, "y"), 2);
    for number in 0..500 {
        observe(&store, "a", &object(&format!("new-{number}"), 3, "x"), 3);
    }
    assert_eq!(resource_versions(&store, "web"), ["1", "2"]);
}

#[test]
fn old_versions_are_removed() {
    let store = HistoryStore::new(LIMIT);
    observe(&store, "a", &object("web", 1, "x"), 1);
    observe(&store, "a", &object("web", 2, "y"), 1000);
    observe(&store, "a", &object("old", 2, "y"), 1);
    store.remove_old(at(500) + MAX_AGE);
    assert_eq!(resource_versions(&store, "web"), ["2"]);
    store.remove_old(at(2000) + MAX_AGE);
    assert_eq!(store.used(), 0);
}

#[test]
fn version_that_the_object_still_has_is_kept() {
    let store = HistoryStore::new(LIMIT);
    observe(&store, "a", &object("web", 1, "x"), 1);
    observe(&store, "a", &object("web", 2, "y"), 2);
    observe(&store, "a", &object("web", 2, "y"), 1000);
    store.remove_old(at(500) + MAX_AGE);
    assert_eq!(resource_versions(&store, "web"), ["2"]);
    store.remove_old(at(2000) + MAX_AGE);
    assert_eq!(store.used(), 0);
}

#[test]
fn repeated_events_of_a_deleted_object_are_no_versions_of_the_new_object() {
    let store = HistoryStore::new(LIMIT);
    let delete = |version| {
        let json = object("web", version, "x").to_string();
        store.observe_deleted(&cluster("a"), deployments(), &json, at(5));
    };
    let mut new = object("web", 3, "x");
    new["metadata"]["uid"] = "v".into();
    observe(&store, "a", &object("web", 1, "x"), 1);
    delete(2);
    observe(&store, "a", &new, 3);
    // A second watch reads the events later.
    observe(&store, "a", &object("web", 1, "x"), 4);
    delete(2);
    observe(&store, "a", &new, 5);
    assert_eq!(resource_versions(&store, "web"), ["1", "2", "3"]);
}

#[test]
fn version_has_the_users_whose_writes_led_to_it() {
    let store = HistoryStore::new(LIMIT);
    observe(&store, "a", &object("web", 10, "x"), 10);
    write(&store, "ann", Some(20), 20);
    // The status changed before the server read the object.
    let mut version = object("web", 21, "y");
    version["metadata"]["managedFields"][0]["time"] = at(20).to_string().into();
    observe(&store, "a", &version, 22);
    observe(&store, "a", &object("web", 30, "z"), 30);
    let users = |name: &str| vec![name.to_owned()];
    let expected = [
        ("10".to_owned(), vec![]),
        ("21".to_owned(), users("ann")),
        ("30".to_owned(), vec![]),
    ];
    assert_eq!(stored(&store, "a", "web"), expected);
}

#[test]
fn write_without_a_change_is_not_the_cause_of_a_version() {
    let store = HistoryStore::new(LIMIT);
    // The write returns the version that a controller wrote long before.
    write(&store, "bob", Some(10), 500);
    observe(&store, "a", &object("web", 10, "x"), 501);
    write(&store, "bob", Some(10), 502);
    assert_eq!(stored(&store, "a", "web"), [("10".to_owned(), vec![])]);
}

#[test]
fn deletion_is_a_version_with_the_user_who_deleted_the_object() {
    let store = HistoryStore::new(LIMIT);
    observe(&store, "a", &object("web", 1, "x"), 1);
    for _ in 0..2 {
        let json = object("web", 2, "x").to_string();
        store.observe_deleted(&cluster("a"), deployments(), &json, at(5));
    }
    write(&store, "ann", None, 6);
    let versions = stored(&store, "a", "web");
    assert_eq!(versions.len(), 2);
    assert_eq!(versions[1].1, ["ann"]);
    let unknown = object("unknown", 2, "x").to_string();
    store.observe_deleted(&cluster("a"), deployments(), &unknown, at(5));
    assert!(resource_versions(&store, "unknown").is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    Observe(u8, u8, u16),
    Delete(u8, u8),
    Write(u8),
    RemoveOld(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..3_u8, 0..12_u8, 0..4_000_u16).prop_map(|(a, b, c)| Step::Observe(a, b, c)),
        1 => (0..3_u8, 0..12_u8).prop_map(|(a, b)| Step::Delete(a, b)),
        1 => (0..12_u8).prop_map(Step::Write),
        1 => (0..400_i64).prop_map(Step::RemoveOld),
    ]
}

proptest! {
    #[test]
    fn store_stays_within_its_limit_and_its_sizes_are_exact(
        steps in proptest::collection::vec(step(), 1..200)
    ) {
        let limit = 16 << 10;
        let store = HistoryStore::new(limit);
        let mut versions = BTreeMap::new();
        for (second, step) in (0_i64..).zip(steps) {
            let mut next = |of: u8, name: u8| {
                let version: &mut u64 = versions.entry((of, name)).or_default();
                *version += 1;
                *version
            };
            match step {
                Step::Observe(of, name, size) => {
                    let data: String = (0..size).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
                    let object = object(&name.to_string(), next(of, name), &data);
                    observe(&store, &of.to_string(), &object, second);
                }
                Step::Delete(of, name) => {
                    let json = object(&name.to_string(), next(of, name), "").to_string();
                    store.observe_deleted(&cluster(&of.to_string()), deployments(), &json, at(second));
                }
                Step::Write(name) => {
                    let key = ObjectKey::new(deployments(), "shop", &name.to_string());
                    store.add_write(&cluster("0"), key, UserWrite {
                        user: "ann".into(),
                        resource_version: None,
                        began: at(second),
                        ended: at(second),
                    });
                }
                Step::RemoveOld(age) => store.remove_old(at(second - age) + MAX_AGE),
            }
            prop_assert!(store.used() <= limit);
            let state = store.state.lock();
            let sum: usize = state.clusters.values().map(ClusterHistory::used).sum();
            prop_assert_eq!(state.used, sum);
        }
        store.remove_old(at(10_000) + MAX_AGE);
        prop_assert_eq!(store.used(), 0);
    }
}
