//! Default objects of namespaces: the service account `default` and the ConfigMap
//! `kube-root-ca.crt`.

use std::sync::Arc;

use futures::future::BoxFuture;
use http::StatusCode;
use serde_json::{Value, json};

use super::feed::Observed;
use super::run::{Controller, Next, ReconcileError};
use super::{Act, Hub, MANAGER, ObjectPath};

const ACCOUNT: &str = "default";
const ROOT_CA: &str = "kube-root-ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
/// The value of the annotation `kubernetes.io/description` of the ConfigMap.
const DESCRIPTION_TEXT: &str = "Contains a CA bundle that can be used to verify the \
    kube-apiserver when using internal endpoints such as the internal service IP or \
    kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes \
    clusters.";

/// The controller of default objects.
pub(super) struct NamespaceDefaults {
    hub: Arc<dyn Hub>,
    root_ca: Option<String>,
}

impl NamespaceDefaults {
    pub(super) fn new(hub: Arc<dyn Hub>, root_ca: Option<String>) -> Self {
        Self { hub, root_ca }
    }

    async fn namespace_defaults(&self, name: &str) -> Result<Next, ReconcileError> {
        let path = ObjectPath::new("", "namespaces", "", name);
        let namespace = self.read(&path).await?;
        if !namespace.is_some_and(|namespace| is_active(&namespace)) {
            return Ok(None);
        }
        let account = ObjectPath::new("", "serviceaccounts", name, ACCOUNT);
        let stored = self.read(&account).await?;
        self.act(&account, decide_account(name, stored.as_ref()))
            .await?;
        if let Some(root_ca) = &self.root_ca {
            let map = ObjectPath::new("", "configmaps", name, ROOT_CA);
            let stored = self.read(&map).await?;
            self.act(&map, decide_root_ca(name, root_ca, stored))
                .await?;
        }
        Ok(None)
    }

    async fn read(&self, path: &ObjectPath) -> Result<Option<Value>, ReconcileError> {
        self.hub.get(path).await.map_err(ReconcileError::read(path))
    }

    async fn act(&self, path: &ObjectPath, act: Option<Act>) -> Result<(), ReconcileError> {
        let Some(act) = act else {
            return Ok(());
        };
        match self.hub.act(MANAGER, path, act).await {
            // Another writer created the object, or the namespace is terminating.
            Err(error) if matches!(error.code, StatusCode::NOT_FOUND | StatusCode::FORBIDDEN) => {
                Ok(())
            }
            Err(error) if error.reason == "AlreadyExists" => Ok(()),
            outcome => outcome.map_err(ReconcileError::write(path)),
        }
    }
}

impl Controller for NamespaceDefaults {
    type Key = String;

    const NAME: &'static str = "namespace_defaults";

    fn observe(&self, observed: &Observed) -> Vec<String> {
        let (seen, gone) = match observed {
            Observed::Put(seen) => (seen, false),
            Observed::Gone(seen) => (seen, true),
            Observed::Restart | Observed::Synced => return Vec::new(),
        };
        let path = &seen.path;
        if !path.resource.group.is_empty() {
            return Vec::new();
        }
        match (path.resource.resource.as_str(), path.name.as_str()) {
            ("namespaces", name) if !gone => vec![name.to_owned()],
            ("serviceaccounts", ACCOUNT) if gone => vec![path.namespace.clone()],
            ("configmaps", ROOT_CA) => vec![path.namespace.clone()],
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(
        &'a self,
        key: &'a String,
        _also: &'a (dyn Fn(String) + Send + Sync),
    ) -> BoxFuture<'a, Result<Next, ReconcileError>> {
        Box::pin(self.namespace_defaults(key))
    }
}

fn is_active(namespace: &Value) -> bool {
    namespace["metadata"].get("deletionTimestamp").is_none()
        && namespace["status"]["phase"] == "Active"
}

fn decide_account(namespace: &str, stored: Option<&Value>) -> Option<Act> {
    stored.is_none().then(|| {
        Act::Create(json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "name": ACCOUNT, "namespace": namespace },
        }))
    })
}

fn decide_root_ca(namespace: &str, root_ca: &str, stored: Option<Value>) -> Option<Act> {
    let data = json!({ "ca.crt": root_ca });
    let Some(mut object) = stored else {
        return Some(Act::Create(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": ROOT_CA, "namespace": namespace,
                "annotations": { DESCRIPTION: DESCRIPTION_TEXT },
            },
            "data": data,
        })));
    };
    let described = object["metadata"]["annotations"][DESCRIPTION]
        .as_str()
        .is_some_and(|text| !text.is_empty());
    if described && object["data"] == data {
        return None;
    }
    object["data"] = data;
    object["metadata"]["annotations"][DESCRIPTION] = DESCRIPTION_TEXT.into();
    Some(Act::Update {
        object,
        subresource: "",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_service_account_is_created_if_missing() {
        assert!(matches!(decide_account("d", None), Some(Act::Create(_))));
        assert_eq!(decide_account("d", Some(&json!({}))), None);
    }

    #[test]
    fn changed_root_certificate_config_map_is_restored() {
        let Some(Act::Create(created)) = decide_root_ca("d", "PEM", None) else {
            panic!("the missing ConfigMap is not created");
        };
        assert_eq!(decide_root_ca("d", "PEM", Some(created.clone())), None);
        for (pointer, value) in [("data", json!({"ca.crt": "x"})), ("metadata", json!({}))] {
            let mut changed = created.clone();
            changed[pointer] = value;
            let Some(Act::Update { object, .. }) = decide_root_ca("d", "PEM", Some(changed)) else {
                panic!("the changed {pointer} is not restored");
            };
            assert_eq!(object["data"], created["data"]);
            assert_eq!(
                object["metadata"]["annotations"],
                created["metadata"]["annotations"]
            );
        }
    }
}
