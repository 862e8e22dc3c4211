//! Specs of objects, as they are sent.

use drover_api::strict::unknown_field;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use drover_http_edge::status::Status;

/// Reads a spec; an error names the field, as one that means nothing does.
pub(super) fn read<S: Serialize + DeserializeOwned>(sent: &Value) -> Result<S, Status> {
    let read: Result<S, _> = serde_path_to_error::deserialize(sent);
    let spec = read.map_err(|error| {
        let field = format!("spec.{}", error.path());
        Status::invalid(&field, error.inner().to_string())
    })?;
    let known = serde_json::to_value(&spec).unwrap_or_default();
    match unknown_field(sent, &known, "spec") {
        Some(field) => Err(Status::invalid(&field, "there is no such field")),
        None => Ok(spec),
    }
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::RoleTemplateSpec;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_role_is_read_whole_or_refused_with_the_field() {
        let rule = json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] });
        let whole =
            json!({ "context": "Project", "rules": [rule], "inherits": [], "locked": true });
        let spec: RoleTemplateSpec = read(&whole).unwrap();
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
