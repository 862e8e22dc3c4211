//! Parses the committed schemas and discovery documents.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use crate::schema::{Definition, Node, Reader};

/// OpenAPI definitions, one per line.
pub(crate) const DEFINITIONS: &str = include_str!("../../schemas/definitions.json");
const ENCODINGS: &str = include_str!("../../schemas/encodings.json");
const DISCOVERY: &str = include_str!("../../schemas/discovery.json");

const COLUMNS: &str = include_str!("../../schemas/columns.json");

/// OpenAPI paths of each group and version, one per line.
pub(crate) const PATHS: [(&str, &str); 18] = [
    ("api/v1", include_str!("../../schemas/paths/api__v1.json")),
    (
        "apis/apps/v1",
        include_str!("../../schemas/paths/apis__apps__v1.json"),
    ),
    (
        "apis/events.k8s.io/v1",
        include_str!("../../schemas/paths/apis__events.k8s.io__v1.json"),
    ),
    (
        "apis/authentication.k8s.io/v1",
        include_str!("../../schemas/paths/apis__authentication.k8s.io__v1.json"),
    ),
    (
        "apis/authorization.k8s.io/v1",
        include_str!("../../schemas/paths/apis__authorization.k8s.io__v1.json"),
    ),
    (
        "apis/autoscaling/v2",
        include_str!("../../schemas/paths/apis__autoscaling__v2.json"),
    ),
    (
        "apis/autoscaling/v1",
        include_str!("../../schemas/paths/apis__autoscaling__v1.json"),
    ),
    (
        "apis/batch/v1",
        include_str!("../../schemas/paths/apis__batch__v1.json"),
    ),
    (
        "apis/certificates.k8s.io/v1",
        include_str!("../../schemas/paths/apis__certificates.k8s.io__v1.json"),
    ),
    (
        "apis/networking.k8s.io/v1",
        include_str!("../../schemas/paths/apis__networking.k8s.io__v1.json"),
    ),
    (
        "apis/policy/v1",
        include_str!("../../schemas/paths/apis__policy__v1.json"),
    ),
    (
        "apis/rbac.authorization.k8s.io/v1",
        include_str!("../../schemas/paths/apis__rbac.authorization.k8s.io__v1.json"),
    ),
    (
        "apis/storage.k8s.io/v1",
        include_str!("../../schemas/paths/apis__storage.k8s.io__v1.json"),
    ),
    (
        "apis/admissionregistration.k8s.io/v1",
        include_str!("../../schemas/paths/apis__admissionregistration.k8s.io__v1.json"),
    ),
    (
        "apis/apiextensions.k8s.io/v1",
        include_str!("../../schemas/paths/apis__apiextensions.k8s.io__v1.json"),
    ),
    (
        "apis/scheduling.k8s.io/v1",
        include_str!("../../schemas/paths/apis__scheduling.k8s.io__v1.json"),
    ),
    (
        "apis/coordination.k8s.io/v1",
        include_str!("../../schemas/paths/apis__coordination.k8s.io__v1.json"),
    ),
    (
        "apis/discovery.k8s.io/v1",
        include_str!("../../schemas/paths/apis__discovery.k8s.io__v1.json"),
    ),
];

/// Table columns by kind, from the committed file.
pub(crate) fn committed_columns<T: for<'de> Deserialize<'de>>() -> T {
    committed(COLUMNS)
}

/// The resources of a group and version in discovery.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct List {
    group_version: String,
    pub(crate) resources: Vec<ApiResource>,
}

/// `metav1.APIResource`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ApiResource {
    pub(crate) name: String,
    pub(crate) singular_name: String,
    pub(crate) namespaced: bool,
    /// The API group of the response's kind. The group is empty if it equals the group of the
    /// resource list.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) verbs: Vec<String>,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) storage_version_hash: String,
}

/// Parsed schemas and discovery documents.
pub(crate) struct Published {
    reader: Mutex<Reader>,
    kinds: BTreeMap<(String, String, String), String>,
    pub(crate) lists: Vec<List>,
}

/// The order of groups in `/apis`: kube-apiserver's priorities of groups.
const GROUPS: [&str; 18] = [
    "v1",
    "apps/v1",
    "events.k8s.io/v1",
    "authentication.k8s.io/v1",
    "authorization.k8s.io/v1",
    "autoscaling/v2",
    "autoscaling/v1",
    "batch/v1",
    "certificates.k8s.io/v1",
    "networking.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "storage.k8s.io/v1",
    "admissionregistration.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "scheduling.k8s.io/v1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
];

/// Returns the committed documents. Parses the documents on the first call.
pub(crate) fn published() -> &'static Published {
    static PUBLISHED: LazyLock<Published> = LazyLock::new(|| {
        let definitions: BTreeMap<String, Definition> = committed(DEFINITIONS);
        let encodings: BTreeMap<String, BTreeMap<String, Value>> = committed(ENCODINGS);
        let lists: BTreeMap<String, List> = committed(DISCOVERY);
        let mut lists: Vec<List> = lists.into_values().collect();
        lists.sort_by_key(|list| GROUPS.iter().position(|group| *group == list.group_version));
        let reader = Reader::new(definitions, encodings);
        let mut kinds = BTreeMap::new();
        for (name, of) in reader.names() {
            for kind in of {
                let key = (kind.group.clone(), kind.version.clone(), kind.kind.clone());
                kinds.insert(key, name.clone());
            }
        }
        Published {
            reader: Mutex::new(reader),
            kinds,
            lists,
        }
    });
    &PUBLISHED
}

#[expect(clippy::expect_used, reason = "tests parse the committed documents")]
fn committed<T: for<'de> Deserialize<'de>>(text: &str) -> T {
    serde_json::from_str(text).expect("the committed documents have the format of xtask")
}

impl List {
    /// Splits `group_version` into the group (empty for core) and the version.
    pub(crate) fn group_version(&self) -> (&str, &str) {
        match self.group_version.split_once('/') {
            Some(both) => both,
            None => ("", &self.group_version),
        }
    }
}

impl Published {
    /// Returns the schema of an OpenAPI definition.
    pub(crate) fn node(&self, name: &str) -> Arc<Node> {
        self.reader.lock().named(name)
    }

    /// Returns the schema of a kind.
    pub(crate) fn kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Node>> {
        let key = (group.to_owned(), version.to_owned(), kind.to_owned());
        Some(self.node(self.kinds.get(&key)?))
    }
}
