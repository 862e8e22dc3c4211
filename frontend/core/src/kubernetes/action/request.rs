//! The HTTP request of a change.

use serde_json::{Value, json};

use crate::source::AS_OBJECTS;

/// The field manager of all changes by the web UI.
const FIELD_MANAGER: &str = "drover-ui";

/// A merge patch (RFC 7396).
pub(super) const MERGE_PATCH: &str = "application/merge-patch+json";
/// A patch that merges lists by the keys that Kubernetes defines for each list.
pub(super) const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
/// A JSON patch (RFC 6902).
pub(super) const JSON_PATCH: &str = "application/json-patch+json";

/// The HTTP request of a change to a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeRequest {
    /// The HTTP method.
    pub method: &'static str,
    /// The API path without a query.
    path: String,
    /// The media type of the body.
    pub media_type: &'static str,
    /// The body.
    pub body: Value,
    is_dry_run: bool,
}

impl ChangeRequest {
    pub(super) fn patch(path: String, media_type: &'static str, body: Value) -> Self {
        Self {
            method: "PATCH",
            path,
            media_type,
            body,
            is_dry_run: false,
        }
    }

    pub(super) fn send(method: &'static str, path: String, body: Value) -> Self {
        Self {
            method,
            ..Self::patch(path, AS_OBJECTS, body)
        }
    }

    /// Adds the UID of the object to a patch. The API server does not change the UID of an object, and
    /// therefore rejects a patch with a different UID.
    pub(super) fn only_for(mut self, uid: &str) -> Self {
        match self.media_type {
            MERGE_PATCH | STRATEGIC_PATCH if !uid.is_empty() => self.set_uid(uid),
            JSON_PATCH => {
                if let Value::Array(operations) = &mut self.body {
                    let path = "/metadata/uid";
                    operations.push(json!({"op": "replace", "path": path, "value": uid}));
                }
            }
            _ => {}
        }
        self
    }

    /// Sets the UID in a patch. The patch of a rollback is the data of a revision, which can contain
    /// any values. Such a patch contains no other metadata than the UID.
    fn set_uid(&mut self, uid: &str) {
        let metadata = &mut self.body["metadata"];
        if !metadata.is_object() {
            *metadata = json!({});
        }
        metadata["uid"] = Value::from(uid);
    }

    /// Returns the request that the server validates without a change.
    #[must_use]
    pub fn dry_run(self) -> Self {
        Self {
            is_dry_run: true,
            ..self
        }
    }

    /// Returns the path with the query.
    pub fn path(&self) -> String {
        let mut query = Vec::new();
        // Deletions have no field manager.
        if self.method != "DELETE" {
            query.push(format!("fieldManager={FIELD_MANAGER}"));
        }
        if self.is_dry_run {
            query.push("dryRun=All".to_owned());
        }
        let separator = if query.is_empty() { "" } else { "?" };
        format!("{}{separator}{}", self.path, query.join("&"))
    }
}
