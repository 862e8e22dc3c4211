//! Writes that several controllers share.

use http::StatusCode;
use serde_json::Value;

use super::feed::Metadata;
use super::run::ReconcileError;
use super::{Act, Hub, ObjectPath, Propagation};
use crate::resource::GroupResource;

impl dyn Hub {
    /// Replaces an object or a subresource.
    pub(super) async fn update(
        &self,
        manager: &'static str,
        path: &ObjectPath,
        object: Value,
        subresource: &'static str,
    ) -> Result<(), ReconcileError> {
        let act = Act::Update {
            object,
            subresource,
        };
        let outcome = self.act(manager, path, act).await;
        outcome.map_err(ReconcileError::write(path))
    }

    /// Deletes a listed object in the background. With `resource_version`, deletes the object only
    /// if the object still has this version. Ignores a missing or recreated object.
    pub(super) async fn delete_listed(
        &self,
        manager: &'static str,
        resource: &GroupResource,
        item: &Value,
        resource_version: Option<String>,
    ) -> Result<(), ReconcileError> {
        let part = |key: &str| {
            let text = item["metadata"][key].as_str();
            text.unwrap_or_default().to_owned()
        };
        let path = ObjectPath {
            resource: resource.clone(),
            namespace: part("namespace"),
            name: part("name"),
        };
        let act = Act::Delete {
            uid: Metadata::of(item).uid,
            resource_version,
            propagation: Propagation::Background,
        };
        match self.act(manager, &path, act).await {
            Err(error) if matches!(error.code, StatusCode::NOT_FOUND | StatusCode::CONFLICT) => {
                Ok(())
            }
            outcome => outcome.map_err(ReconcileError::write(&path)),
        }
    }
}
