//! Properties of merges, selectors and stored values for arbitrary bytes. The fuzzer and `cargo
//! test` check these properties.

use std::sync::{Arc, LazyLock};

use drover_apiserver::builtin;
use drover_apiserver::merge::{
    ApplyError, ApplyOptions, Managers, MergeKind, Set, UpdateOptions, apply, json_patch,
    keep_times, merge_patch, strategic, update,
};
use drover_apiserver::select::{FieldSelector, LabelSelector};
use drover_apiserver::store::Stored;
use jiff::Timestamp;
use serde_json::Value;

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

fn json(data: &[u8]) -> Option<Value> {
    serde_json::from_slice(data).ok()
}

/// Checks that encoding and decoding do not change a field set. Checks that the union of a field
/// set with itself is the same field set.
pub(crate) fn fields(data: &[u8]) {
    let Some(Ok(set)) = json(data).map(|fields| Set::from_fields(&fields)) else {
        return;
    };
    assert_eq!(Set::from_fields(&set.to_fields()).as_ref(), Ok(&set));
    let written: Value =
        serde_json::from_str(&set.to_json()).expect("a serialized set is valid JSON");
    assert_eq!(written, set.to_fields());
    assert_eq!(set.union(&set), set);
    assert_eq!(set.intersection(&set), set);
    assert!(set.difference(&set).is_empty());
    assert_eq!(Set::of(set.paths()), set);
}

/// Checks that formatting and parsing do not change a label selector.
pub(crate) fn labels(data: &[u8]) {
    if let Some(Ok(selector)) = text(data).map(str::parse::<LabelSelector>) {
        assert_eq!(selector.to_string().parse(), Ok(selector));
    }
}

/// Checks that formatting and parsing do not change a field selector.
pub(crate) fn field_selector(data: &[u8]) {
    if let Some(Ok(selector)) = text(data).map(str::parse::<FieldSelector>) {
        assert_eq!(selector.to_string().parse(), Ok(selector));
    }
}

static POD: LazyLock<MergeKind> = LazyLock::new(|| kind("", "v1", "pods"));
static DEPLOYMENT: LazyLock<MergeKind> = LazyLock::new(|| kind("apps", "v1", "deployments"));

fn kind(group: &str, version: &str, plural: &str) -> MergeKind {
    let catalog = builtin::catalog(builtin::Kinds::Cluster);
    let resource = catalog
        .find(group, version, plural)
        .expect("the kind has a built-in schema");
    MergeKind::new(resource, "", [Arc::as_ref(resource)])
}

/// Checks that no patch causes a panic, and that a merge patch is idempotent. The input is a JSON
/// list of object and patch.
pub(crate) fn patch(data: &[u8]) {
    let Some(Value::Array(case)) = json(data) else {
        return;
    };
    let [live, patch] = case.as_slice() else {
        return;
    };
    if let Ok(patched) = json_patch(live, patch) {
        assert!(serde_json::from_str::<Value>(&patched.to_string()).is_ok());
    }
    if let Ok(merged) = merge_patch(live, patch) {
        assert_eq!(merge_patch(&merged, patch).as_ref(), Ok(&merged));
    }
    let _ = strategic(live, patch, &POD.schema);
}

/// Checks that apply is idempotent, and that an update with the same object does not change any
/// field owner. The input is a JSON list of the object and the applied configuration.
pub(crate) fn owners(data: &[u8]) {
    let Some(Value::Array(case)) = json(data) else {
        return;
    };
    let [live, applied] = case.as_slice() else {
        return;
    };
    let options = ApplyOptions {
        manager: "fuzzer",
        force: true,
        now: Timestamp::UNIX_EPOCH,
    };
    let live = live.is_object().then_some(live);
    let Ok(first) = apply(live, applied, &DEPLOYMENT, options) else {
        return;
    };
    let later = ApplyOptions {
        force: false,
        now: Timestamp::MAX,
        ..options
    };
    match apply(Some(&first), applied, &DEPLOYMENT, later) {
        Ok(mut second) => {
            // Explicit nulls count as changes until the times are restored.
            keep_times(&first, &mut second);
            assert_eq!(second, first);
        }
        Err(ApplyError::Conflicts(conflicts)) => {
            panic!("the second apply of a manager conflicts with the first: {conflicts:?}")
        }
        // Some live objects cannot be the target of an apply.
        Err(_) => return,
    }
    let mut same = first.clone();
    let options = UpdateOptions {
        manager: "other",
        now: Timestamp::MAX,
    };
    update(Some(&first), &mut same, &DEPLOYMENT, options);
    assert_eq!(Managers::of(&same), Managers::of(&first));
}

/// Checks that [`Stored::write_json`] and [`Stored::object`] return the same JSON for arbitrary
/// bytes.
pub(crate) fn stored(data: &[u8]) {
    let Ok(stored) = Stored::new("/core/things/ns/a".into(), 42, data.to_vec().into()) else {
        return;
    };
    let mut written = Vec::new();
    stored.write_json(&mut written);
    // serde limits the depth of values that it builds, not of values that it skips.
    if let Ok(object) = stored.object() {
        assert_eq!(json(&written), Some(object));
    }
}
