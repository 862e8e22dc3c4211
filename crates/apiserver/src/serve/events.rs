//! Events have two shapes, `v1` and `events.k8s.io/v1`; the first is stored.

use serde_json::Value;

/// Names of the same field in `events.k8s.io/v1` and in `v1`.
const FIELDS: [(&str, &str); 7] = [
    ("deprecatedCount", "count"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedSource", "source"),
    ("note", "message"),
    ("regarding", "involvedObject"),
    ("reportingController", "reportingComponent"),
];

/// Makes a stored Event one of `events.k8s.io/v1`.
pub(crate) fn from_stored(event: &mut Value) {
    for (new, old) in FIELDS {
        rename(event, old, new);
    }
    // Here these are left out when nothing is in them; in `v1` they are always written.
    if let Some(fields) = event.as_object_mut() {
        fields.retain(|name, value| {
            !(value == "" && ["reportingController", "reportingInstance"].contains(&name.as_str()))
        });
    }
}

/// Makes an Event of `events.k8s.io/v1` what is stored.
pub(crate) fn to_stored(event: &mut Value) {
    for (new, old) in FIELDS {
        rename(event, new, old);
    }
}

fn rename(event: &mut Value, from: &str, to: &str) {
    if let Some(fields) = event.as_object_mut()
        && let Some(value) = fields.remove(from)
    {
        fields.insert(to.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_comes_back_as_it_was() {
        let event = json!({"note": "n", "regarding": {"name": "p"}, "reason": "r",
            "reportingController": "c", "deprecatedCount": 2});
        let mut stored = event.clone();
        to_stored(&mut stored);
        assert_eq!(
            stored,
            json!({"message": "n", "involvedObject": {"name": "p"}, "reason": "r",
                "reportingComponent": "c", "count": 2})
        );
        from_stored(&mut stored);
        assert_eq!(stored, event);
    }
}
