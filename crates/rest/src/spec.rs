//! Parses the specs of objects in request bodies.

use drover_api::strict::unknown_field;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use drover_http_edge::status::Status;

/// Parses the spec of an object. The error names the invalid or unknown field.
pub(super) fn read<S: Serialize + DeserializeOwned>(sent: &Value) -> Result<S, Status> {
    let read: Result<S, _> = serde_path_to_error::deserialize(sent);
    let spec = read.map_err(|error| {
        let field = format!("spec.{}", error.path());
        Status::invalid(&field, error.inner().to_string())
    })?;
    let parsed = serde_json::to_value(&spec).expect("a parsed spec can be serialized as JSON");
    match unknown_field(sent, &parsed, "spec") {
        Some(field) => Err(Status::invalid(&field, "unknown field")),
        None => Ok(spec),
    }
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::RoleTemplateSpec;
    use serde_json::json;

    use super::*;

    #[test]
    fn role_spec_with_invalid_field_is_rejected() {
        let rule = json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] });
        let complete =
            json!({ "context": "Project", "rules": [rule], "inherits": [], "locked": true });
        let spec: RoleTemplateSpec = read(&complete).unwrap();
        assert_eq!((spec.rules.len(), spec.locked), (1, true));
        for (sent, field) in [
            (
                json!({ "context": "Cluster", "inherit": ["a"] }),
                "spec.inherit",
            ),
            (
                json!({ "context": "Cluster", "rules": [rule, { "verb": ["get"] }] }),
                "spec.rules[1].verb",
            ),
            (
                json!({ "context": "Cluster", "rules": [{ "verbs": "get" }] }),
                "spec.rules[0].verbs",
            ),
            (json!({ "context": "Hub" }), "spec.context"),
            (json!({ "rules": [] }), "context"),
        ] {
            let refused = read::<RoleTemplateSpec>(&sent).unwrap_err();
            assert_eq!(refused.code(), 422);
            assert!(refused.message().contains(field), "{field}: {refused}");
        }
    }
}
