//! The list source for the events of an object.

use super::Object;
use crate::kind::Kind;
use crate::source::Source;
use crate::url::segment;

/// Returns the list source for the events of an object. The source selects the events of a node by
/// name, because the kubelet does not know the UID of its Node.
pub fn events(cluster: &str, kind: Kind, object: &Object) -> Source {
    let path = Kind::EVENTS.list_path(cluster, object.namespace());
    let field = if kind == Kind::NODES {
        format!(
            "involvedObject.kind={},involvedObject.name={}",
            kind.name,
            object.name()
        )
    } else {
        format!("involvedObject.uid={}", object.uid())
    };
    Source::objects(path).choosing(&format!("fieldSelector={}", segment(&field)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::feed::NextRequest;

    #[test]
    fn events_are_selected_by_uid_and_node_events_by_name() {
        let of = |kind, value| events("berlin", kind, &Object::from(value)).url(&NextRequest::List);
        let pod = json!({"metadata": {"name": "p", "namespace": "shop", "uid": "u-1"}});
        let url = of(Kind::PODS, pod);
        assert!(
            url.starts_with("/k8s/clusters/berlin/api/v1/namespaces/shop/events?"),
            "{url}"
        );
        assert!(
            url.ends_with("&fieldSelector=involvedObject.uid%3Du-1"),
            "{url}"
        );
        let url = of(
            Kind::NODES,
            json!({"metadata": {"name": "n1", "uid": "u-2"}}),
        );
        assert!(
            url.starts_with("/k8s/clusters/berlin/api/v1/events?"),
            "{url}"
        );
        assert!(url.ends_with("involvedObject.name%3Dn1"), "{url}");
    }
}
