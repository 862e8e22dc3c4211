//! Computes the status of a CRD, in the same steps as kube-apiserver.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::access::seconds_only;
use crate::crd;

/// The finalizer that delays deletion until all objects are deleted.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The reason of `Established` after names are accepted.
pub(crate) const INSTALLING: &str = "Installing";

/// The progress of deleting a CRD's objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cleanup {
    Running,
    Completed,
    NeverEstablished,
    Failed(String),
}

/// Status, reason and message of a condition.
type ConditionText<'a> = (&'a str, &'a str, &'a str);

/// Returns the next status of a CRD, or `None` if the status does not change.
///
/// `others` are all other CRDs. The function reads only their names. The first update accepts the
/// names, and a later update establishes the CRD.
pub fn next_status(object: &Value, others: &[Value], now: Timestamp) -> Option<Value> {
    let names = crd::accept(object, others);
    let mut status = object["status"].clone();
    let accepted = names.all_accepted();
    let was_accepted = is_true(&status, "NamesAccepted");
    let part = |key: &str| names.condition[key].as_str().unwrap_or_default();
    let condition = (part("status"), part("reason"), part("message"));
    set(&mut status, "NamesAccepted", condition, now);
    let given = without_empty(&names.accepted);
    let fresh = without_empty(&status["acceptedNames"]) != given || was_accepted != accepted;
    if fresh {
        status["acceptedNames"] = given;
    }
    if !is_true(&status, "Established") {
        let condition = match (accepted, fresh) {
            (true, true) => ("False", INSTALLING, "the initial names have been accepted"),
            (true, false) => (
                "True",
                "InitialNamesAccepted",
                "the initial names have been accepted",
            ),
            (false, _) => ("False", "NotAccepted", "not all names are accepted"),
        };
        set(&mut status, "Established", condition, now);
    }
    (status != object["status"]).then_some(status)
}

/// Returns the status during the deletion of a CRD's objects, or `None` if the status is up to
/// date.
pub(super) fn terminating(object: &Value, cleanup: &Cleanup, now: Timestamp) -> Option<Value> {
    let condition = match cleanup {
        Cleanup::Running => (
            "True",
            "InstanceDeletionInProgress",
            "CustomResource deletion is in progress",
        ),
        Cleanup::Completed => (
            "False",
            "InstanceDeletionCompleted",
            "removed all instances",
        ),
        Cleanup::NeverEstablished => (
            "False",
            "NeverEstablished",
            "resource was never established",
        ),
        Cleanup::Failed(why) => ("True", "InstanceDeletionFailed", why.as_str()),
    };
    let mut status = object["status"].clone();
    // A reported failure stays until the next result, because each status update would trigger
    // another attempt.
    let pending = has_reason(&status, "Terminating", "InstanceDeletionPending");
    if *cleanup == Cleanup::Running && is_true(&status, "Terminating") && !pending {
        return None;
    }
    set(&mut status, "Terminating", condition, now);
    (status != object["status"]).then_some(status)
}

/// Sets the status of a CRD whose deletion starts.
pub(crate) fn marked_for_deletion(object: &Value, now: Timestamp) -> Value {
    let mut status = object["status"].clone();
    let condition = (
        "True",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    );
    set(&mut status, "Terminating", condition, now);
    status
}

/// Returns the names of a CRD without the fields that are empty.
fn without_empty(names: &Value) -> Value {
    let names = names.as_object().into_iter().flatten();
    names
        .filter(|(_, name)| !name.is_null() && **name != "" && **name != json!([]))
        .map(|(key, name)| (key.clone(), name.clone()))
        .collect()
}

/// Reports whether a condition is true.
pub(super) fn is_true(status: &Value, kind: &str) -> bool {
    let conditions = status["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|own| own["type"] == kind && own["status"] == "True")
}

fn has_reason(status: &Value, kind: &str, reason: &str) -> bool {
    let conditions = status["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|own| own["type"] == kind && own["reason"] == reason)
}

fn set(
    status: &mut Value,
    kind: &str,
    (is_true, reason, message): ConditionText<'_>,
    now: Timestamp,
) {
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(conditions) = status["conditions"].as_array_mut() else {
        return;
    };
    let now = seconds_only(now.as_second());
    match conditions.iter_mut().find(|own| own["type"] == kind) {
        None => conditions.push(json!({
            "type": kind, "status": is_true, "lastTransitionTime": now,
            "reason": reason, "message": message,
        })),
        Some(own) => {
            if own["status"] != is_true {
                own["lastTransitionTime"] = now.into();
            }
            own["status"] = is_true.into();
            own["reason"] = reason.into();
            own["message"] = message.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> Value {
        json!({
            "metadata": {"name": "widgets.g"},
            "spec": {"group": "g", "names": {"plural": "widgets", "kind": "Widget",
                                             "singular": "widget", "listKind": "WidgetList"}},
            "status": {"storedVersions": ["v1"]},
        })
    }

    fn conditions(object: &Value) -> Vec<String> {
        let list = object["status"]["conditions"].as_array();
        let text = |own: &Value| {
            let part = |key: &str| own[key].as_str().unwrap().to_owned();
            format!("{}={} {}", part("type"), part("status"), part("reason"))
        };
        list.into_iter().flatten().map(text).collect()
    }

    #[test]
    fn crd_without_optional_names_is_established() {
        let mut object = fresh();
        object["spec"]["names"] = json!({"plural": "widgets", "kind": "Widget"});
        while step(&mut object, &[]) {}
        assert!(is_true(&object["status"], "Established"));
        assert_eq!(object["status"]["acceptedNames"], object["spec"]["names"]);
    }

    fn step(object: &mut Value, others: &[Value]) -> bool {
        match next_status(object, others, Timestamp::UNIX_EPOCH) {
            None => false,
            Some(status) => {
                object["status"] = status;
                true
            }
        }
    }

    #[test]
    fn crd_is_established_after_its_names_are_accepted() {
        let mut object = fresh();
        assert!(step(&mut object, &[]));
        assert_eq!(
            conditions(&object),
            [
                "NamesAccepted=True NoConflicts",
                "Established=False Installing"
            ]
        );
        assert_eq!(object["status"]["acceptedNames"], object["spec"]["names"]);
        assert!(step(&mut object, &[]));
        assert_eq!(
            conditions(&object),
            [
                "NamesAccepted=True NoConflicts",
                "Established=True InitialNamesAccepted"
            ]
        );
        assert_eq!(object["status"]["storedVersions"], json!(["v1"]));
        assert!(!step(&mut object, &[]));
    }

    #[test]
    fn crd_with_conflicting_names_is_established_after_names_become_free() {
        let other = json!({"metadata": {"name": "other.g"}, "spec": {"group": "g"},
                           "status": {"acceptedNames": fresh()["spec"]["names"]}});
        let mut object = fresh();
        assert!(step(&mut object, std::slice::from_ref(&other)));
        assert_eq!(
            conditions(&object),
            [
                "NamesAccepted=False ListKindConflict",
                "Established=False NotAccepted"
            ]
        );
        assert!(!step(&mut object, &[other]));
        assert!(step(&mut object, &[]));
        assert!(step(&mut object, &[]));
        assert!(is_true(&object["status"], "Established"));
    }

    #[test]
    fn established_crd_remains_established_after_a_name_conflict() {
        let mut object = fresh();
        while step(&mut object, &[]) {}
        let other = json!({"metadata": {"name": "other.g"}, "spec": {"group": "g"},
                           "status": {"acceptedNames": {"plural": "taken"}}});
        object["spec"]["names"]["shortNames"] = json!(["taken"]);
        assert!(step(&mut object, &[other]));
        assert!(is_true(&object["status"], "Established"));
        assert!(!is_true(&object["status"], "NamesAccepted"));
    }

    #[test]
    fn crd_terminating_condition_is_updated_when_deletion_ends() {
        let mut object = fresh();
        let now = Timestamp::UNIX_EPOCH;
        object["status"] = marked_for_deletion(&object, now);
        assert_eq!(
            conditions(&object),
            ["Terminating=True InstanceDeletionPending"]
        );
        object["status"] = terminating(&object, &Cleanup::Running, now).unwrap();
        assert_eq!(terminating(&object, &Cleanup::Running, now), None);
        let failed = Cleanup::Failed("why".to_owned());
        object["status"] = terminating(&object, &failed, now).unwrap();
        assert_eq!(terminating(&object, &Cleanup::Running, now), None);
        object["status"] = terminating(&object, &Cleanup::Completed, now).unwrap();
        assert_eq!(
            conditions(&object),
            ["Terminating=False InstanceDeletionCompleted"]
        );
    }
}
