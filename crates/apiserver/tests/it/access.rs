//! Authentication, authorization and impersonation through the public API.

mod impersonation;
mod index;
mod reviews;
mod tokens;

use std::collections::BTreeMap;
use std::sync::Arc;

use drover_apiserver::access::{Objects, Rbac, RbacKind};
use drover_apiserver::status::ApiError;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// An in-memory object store. The key of an object consists of its resource, namespace and name.
#[derive(Default)]
pub(crate) struct Live(Mutex<BTreeMap<(String, String, String), Value>>);

impl Live {
    pub(crate) fn put(&self, resource: &str, object: Value) {
        let part = |key: &str| {
            object["metadata"][key]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let key = (resource.to_owned(), part("namespace"), part("name"));
        self.0.lock().insert(key, object);
    }

    pub(crate) fn remove(&self, resource: &str, namespace: &str, name: &str) {
        let key = (resource.to_owned(), namespace.to_owned(), name.to_owned());
        self.0.lock().remove(&key).unwrap();
    }
}

impl Objects for Live {
    fn find<'a>(
        &'a self,
        group: &'a str,
        resource: &'a str,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, ApiError>> {
        assert_eq!(group, "");
        let key = (resource.to_owned(), namespace.to_owned(), name.to_owned());
        let found = self.0.lock().get(&key).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }
}

/// Returns a store with the service account `d/sa`, UID `u-sa`.
pub(crate) fn with_account() -> Arc<Live> {
    let live = Arc::new(Live::default());
    live.put("serviceaccounts", object("d", "sa", "u-sa"));
    live
}

pub(crate) fn object(namespace: &str, name: &str, uid: &str) -> Value {
    json!({"metadata": {"namespace": namespace, "name": name, "uid": uid}})
}

/// Returns RBAC objects that bind each user to a ClusterRole with the given rules.
pub(crate) fn granting(grants: &[(&str, Value)]) -> Rbac {
    let rbac = Rbac::new();
    for (user, rules) in grants {
        rbac.apply(
            RbacKind::ClusterRole,
            &json!({"metadata": {"name": user}, "rules": rules}),
        );
        rbac.apply(
            RbacKind::ClusterRoleBinding,
            &json!({
                "metadata": {"name": user},
                "subjects": [{"kind": "User", "name": user}],
                "roleRef": {"kind": "ClusterRole", "name": user},
            }),
        );
    }
    rbac
}
