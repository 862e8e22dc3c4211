//! The HorizontalPodAutoscaler of a workload.

use serde_json::Value;

use crate::kubectl::KubectlObject;
use crate::object::read;
use crate::url::segment;

/// Returns the API path of the autoscalers in the namespace of a workload.
pub fn autoscalers_path(target: &KubectlObject) -> String {
    list_path(target, "autoscaling/v2", "horizontalpodautoscalers")
}

/// Returns the name of the autoscaler that changes the replicas of a workload.
pub fn autoscaler_of(target: &KubectlObject, autoscalers: &Value) -> Option<String> {
    let mut items = read::list(autoscalers, "/items").iter();
    let found = items.find(|item| {
        let of = read::at(item, "/spec/scaleTargetRef");
        read::text(of, "/kind") == Some(target.kind.name)
            && read::text(of, "/name") == Some(target.name.as_str())
    })?;
    read::owned(found, "/metadata/name")
}

/// Returns the API path of a list in the namespace of an object.
pub(super) fn list_path(target: &KubectlObject, api_version: &str, plural: &str) -> String {
    format!(
        "/k8s/clusters/{}/apis/{api_version}/namespaces/{}/{plural}",
        segment(&target.cluster),
        segment(target.namespace.as_deref().unwrap_or_default())
    )
}
