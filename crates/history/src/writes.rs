//! The writes of users through the proxy.

use drover_access::verb::{Verb, parameter};
use drover_proxy::{AcceptedWrite, WriteObserver};
use http::uri::PathAndQuery;
use serde::Deserialize;

use crate::api_path::{ApiPath, MAX_NAME};
use crate::object::MAX_ID;
use crate::store::{HistoryStore, ObjectKey, UserWrite};

/// The fields of a response that identify the written object.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    name: String,
    namespace: String,
    resource_version: String,
}

#[derive(Deserialize)]
struct WireObject {
    metadata: Metadata,
}

impl WriteObserver for HistoryStore {
    fn wants(&self, verb: Verb, path: &PathAndQuery) -> bool {
        let is_write = matches!(
            verb,
            Verb::Create | Verb::Update | Verb::Patch | Verb::Delete
        );
        is_write
            && parameter(path.query(), "dryRun").is_none()
            && ApiPath::parse(path.path())
                .is_some_and(|path| matches!(path.subresource, None | Some("scale")))
    }

    fn accepted(&self, write: AcceptedWrite) {
        let Some(path) = ApiPath::parse(write.path.path()) else {
            return;
        };
        let is_deletion = write.verb == Verb::Delete;
        let written = Metadata::read(&write.body).unwrap_or_default();
        // The path of a deletion contains the name. The response can be a `Status`.
        let (name, version) = if is_deletion {
            (path.name.unwrap_or_default(), None)
        } else {
            (&*written.name, Some(written.resource_version))
        };
        // A hostile cluster can send long values.
        let is_name = !name.is_empty() && name.len() <= MAX_NAME;
        let is_id = |id: &String| !id.is_empty() && id.len() <= MAX_ID;
        if !is_name || !version.as_ref().is_none_or(is_id) {
            return;
        }
        let key = ObjectKey::new(path.kind, path.namespace, name);
        self.add_write(
            &write.target,
            key,
            UserWrite {
                user: write.user,
                resource_version: version,
                began: write.began,
                ended: write.ended,
            },
        );
    }
}

impl Metadata {
    /// Reads the metadata of an object in JSON, or in YAML as API servers write it.
    fn read(body: &[u8]) -> Option<Self> {
        if body.first() == Some(&b'{') {
            return serde_json::from_slice(body)
                .ok()
                .map(|it: WireObject| it.metadata);
        }
        let mut metadata = Self::default();
        let mut in_metadata = false;
        for line in std::str::from_utf8(body).ok()?.lines() {
            if !line.starts_with([' ', '-']) {
                in_metadata = line == "metadata:";
            } else if in_metadata
                && let Some(field) = line.strip_prefix("  ")
                && let Some((key, value)) = field.split_once(": ")
            {
                let value = value.trim_matches(['"', '\'']);
                match key {
                    "name" => value.clone_into(&mut metadata.name),
                    "namespace" => value.clone_into(&mut metadata.namespace),
                    "resourceVersion" => value.clone_into(&mut metadata.resource_version),
                    _ => {}
                }
            }
        }
        Some(metadata)
    }
}

#[cfg(test)]
mod tests {
    use drover_access::permit::Target;
    use drover_api::ids::ClusterUid;

    use super::*;

    fn wants(verb: Verb, path: &str) -> bool {
        HistoryStore::new(0).wants(verb, &path.parse().unwrap())
    }

    #[test]
    fn only_accepted_writes_of_recorded_kinds_are_observed() {
        let web = "/apis/apps/v1/namespaces/shop/deployments/web";
        assert!(wants(Verb::Patch, web));
        assert!(wants(Verb::Update, &format!("{web}/scale?fieldManager=x")));
        assert!(wants(Verb::Delete, web));
        assert!(!wants(Verb::Get, web));
        assert!(!wants(Verb::Update, &format!("{web}?dryRun=All")));
        assert!(!wants(Verb::Update, &format!("{web}/status")));
        assert!(!wants(
            Verb::Update,
            "/api/v1/namespaces/shop/secrets/token"
        ));
    }

    #[test]
    fn write_with_a_long_name_or_resource_version_is_not_stored() {
        let store = HistoryStore::new(1 << 20);
        let accept = |name: &str, version: &str| {
            let body =
                format!(r#"{{"metadata":{{"name":"{name}","resourceVersion":"{version}"}}}}"#);
            store.accepted(AcceptedWrite {
                target: Target::Cluster(ClusterUid::new("a")),
                path: PathAndQuery::from_static("/api/v1/namespaces/shop/configmaps"),
                verb: Verb::Create,
                user: "ann".into(),
                began: jiff::Timestamp::UNIX_EPOCH,
                ended: jiff::Timestamp::UNIX_EPOCH,
                body: body.into_bytes(),
            });
            store.used()
        };
        assert_eq!(accept("web", &"1".repeat(MAX_ID + 1)), 0);
        assert_eq!(accept(&"x".repeat(MAX_NAME + 1), "1"), 0);
        assert!(accept("web", "1") > 0);
    }

    #[test]
    fn metadata_is_read_from_json_and_yaml() {
        let expected = Metadata {
            name: "web".to_owned(),
            namespace: "shop".to_owned(),
            resource_version: "12".to_owned(),
        };
        let json = br#"{"kind":"Deployment","metadata":{"name":"web","namespace":"shop",
            "resourceVersion":"12","labels":{}},"spec":{"metadata":{"name":"other"}}}"#;
        assert_eq!(Metadata::read(json).as_ref(), Some(&expected));
        let yaml =
            b"apiVersion: apps/v1\nmetadata:\n  annotations:\n    x: |\n      metadata:\n        \
            name: wrong\n  labels:\n    name: wrong\n  name: web\n  namespace: shop\n  \
            ownerReferences:\n  - name: wrong\n  resourceVersion: \"12\"\nspec:\n  name: wrong\n";
        assert_eq!(Metadata::read(yaml).as_ref(), Some(&expected));
        assert_eq!(Metadata::read(b"{"), None);
        assert_eq!(Metadata::read(&[0xff]), None);
    }
}
