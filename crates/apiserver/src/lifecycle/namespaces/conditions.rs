//! Conditions of terminating namespaces.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Remaining;
use crate::access::seconds_only;

struct Condition {
    kind: &'static str,
    /// Reason and message of a condition that reports no problem.
    fine: (&'static str, &'static str),
    trouble: Option<(&'static str, String)>,
}

/// Returns the new conditions, or `None` if the stored conditions are up to date.
pub(super) fn conditions(
    old: &[Value],
    remaining: &Remaining,
    now: Timestamp,
) -> Option<Vec<Value>> {
    let mut conditions = old.to_vec();
    for condition in desired_conditions(remaining) {
        let (status, reason, message) = match &condition.trouble {
            None => ("False", condition.fine.0, condition.fine.1),
            Some((reason, message)) => ("True", *reason, message.as_str()),
        };
        let now = seconds_only(now.as_second());
        match conditions
            .iter_mut()
            .find(|old| old["type"] == condition.kind)
        {
            None => conditions.push(json!({
                "type": condition.kind, "status": status, "lastTransitionTime": now,
                "reason": reason, "message": message,
            })),
            Some(own) => {
                if own["status"] != status {
                    own["lastTransitionTime"] = now.into();
                }
                own["status"] = status.into();
                own["reason"] = reason.into();
                own["message"] = message.into();
            }
        }
    }
    (conditions != old).then_some(conditions)
}

fn desired_conditions(remaining: &Remaining) -> [Condition; 5] {
    [
        Condition {
            kind: "NamespaceDeletionDiscoveryFailure",
            fine: (
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            trouble: None,
        },
        Condition {
            kind: "NamespaceDeletionGroupVersionParsingFailure",
            fine: (
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            trouble: None,
        },
        Condition {
            kind: "NamespaceDeletionContentFailure",
            fine: (
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            trouble: failures(remaining),
        },
        Condition {
            kind: "NamespaceContentRemaining",
            fine: ("ContentRemoved", "All content successfully removed"),
            trouble: content(remaining),
        },
        Condition {
            kind: "NamespaceFinalizersRemaining",
            fine: (
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            ),
            trouble: finalizers(remaining),
        },
    ]
}

fn failures(remaining: &Remaining) -> Option<(&'static str, String)> {
    if remaining.errors.is_empty() {
        return None;
    }
    let mut errors = remaining.errors.clone();
    errors.sort();
    let message = format!(
        "Failed to delete all resource types, {} remaining: {}",
        errors.len(),
        errors.join(", ")
    );
    Some(("ContentDeletionFailed", message))
}

fn content(remaining: &Remaining) -> Option<(&'static str, String)> {
    let mut list: Vec<String> = remaining
        .resources
        .iter()
        .map(|(of, count)| {
            format!(
                "{}.{} has {count} resource instances",
                of.resource, of.group
            )
        })
        .collect();
    list.sort();
    let message = format!("Some resources are remaining: {}", list.join(", "));
    (!list.is_empty()).then_some(("SomeResourcesRemain", message))
}

fn finalizers(remaining: &Remaining) -> Option<(&'static str, String)> {
    let list: Vec<String> = remaining
        .finalizers
        .iter()
        .map(|(finalizer, count)| format!("{finalizer} in {count} resource instances"))
        .collect();
    let message = format!(
        "Some content in the namespace has finalizers remaining: {}",
        list.join(", ")
    );
    (!list.is_empty()).then_some(("SomeFinalizersRemain", message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::GroupResource;

    fn stuck() -> Remaining {
        let pods = GroupResource {
            group: String::new(),
            resource: "pods".to_owned(),
        };
        Remaining {
            resources: [(pods, 2)].into(),
            finalizers: [("example.com/wait".to_owned(), 1)].into(),
            ..Remaining::default()
        }
    }

    fn find<'a>(conditions: &'a [Value], kind: &str) -> &'a Value {
        conditions.iter().find(|own| own["type"] == kind).unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn empty_terminating_namespace_has_success_conditions() {
        let conditions = conditions(&[], &Remaining::default(), at(0)).unwrap();
        assert_eq!(conditions.len(), 5);
        assert!(conditions.iter().all(|own| own["status"] == "False"));
    }

    #[test]
    fn namespace_conditions_list_remaining_resources_and_finalizers() {
        let conditions = conditions(&[], &stuck(), at(0)).unwrap();
        assert_eq!(
            find(&conditions, "NamespaceContentRemaining"),
            &json!({
                "type": "NamespaceContentRemaining", "status": "True",
                "lastTransitionTime": "1970-01-01T00:00:00Z", "reason": "SomeResourcesRemain",
                "message": "Some resources are remaining: pods. has 2 resource instances",
            })
        );
        assert_eq!(
            find(&conditions, "NamespaceFinalizersRemaining")["message"],
            "Some content in the namespace has finalizers remaining: example.com/wait in 1 \
             resource instances"
        );
    }

    #[test]
    fn namespace_deletion_condition_lists_errors_in_sorted_order() {
        let remaining = Remaining {
            errors: vec!["b".to_owned(), "a".to_owned()],
            ..Remaining::default()
        };
        let conditions = conditions(&[], &remaining, at(0)).unwrap();
        assert_eq!(
            find(&conditions, "NamespaceDeletionContentFailure")["message"],
            "Failed to delete all resource types, 2 remaining: a, b"
        );
    }

    #[test]
    fn unchanged_namespace_conditions_retain_transition_time() {
        let first = conditions(&[], &stuck(), at(0)).unwrap();
        assert_eq!(conditions(&first, &stuck(), at(9)), None);
        let second = conditions(&first, &Remaining::default(), at(9)).unwrap();
        let time = |kind: &str| find(&second, kind)["lastTransitionTime"].clone();
        assert_eq!(time("NamespaceContentRemaining"), "1970-01-01T00:00:09Z");
        assert_eq!(
            time("NamespaceDeletionContentFailure"),
            "1970-01-01T00:00:00Z"
        );
    }
}
