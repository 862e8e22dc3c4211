//! OpenAPI v3: an index with hashes, and a document per group and version.
//!
//! The committed files have one path or definition per line. The server concatenates these lines to
//! the document of a built-in group and version, without parsing the JSON of the lines.

mod custom;
mod gnostic;
mod v2;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, OnceLock};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::builtin;
use crate::discovery::hash;
use crate::resource::{Catalog, GroupVersion, Origin, Resource};

const REFERENCE: &str = "#/components/schemas/";
/// An OpenAPI v3 document with its hash for `ETag` and `?hash=`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The document as JSON.
    pub body: Bytes,
    /// SHA-512 in upper-case hexadecimal, as in the index.
    pub hash: String,
}

/// The OpenAPI documents of one catalog. Each document is built on the first request.
#[derive(Debug)]
pub struct Documents {
    catalog: Arc<Catalog>,
    index: OnceLock<Value>,
    made: BTreeMap<String, OnceLock<Option<Document>>>,
    v2: OnceLock<OpenApiV2>,
}

/// The OpenAPI v2 document, which contains all groups.
#[derive(Debug)]
pub struct OpenApiV2 {
    /// The document as JSON.
    pub json: Bytes,
    /// The document as Protobuf.
    pub protobuf: Bytes,
    /// SHA-512 of the JSON document in upper-case hexadecimal.
    pub hash: String,
}

impl From<Arc<Catalog>> for Documents {
    fn from(catalog: Arc<Catalog>) -> Self {
        let paths = documents(&catalog).into_iter().map(|source| source.path());
        let made = paths.map(|path| (path, OnceLock::new())).collect();
        Self {
            catalog,
            index: OnceLock::new(),
            made,
            v2: OnceLock::new(),
        }
    }
}

impl Documents {
    /// Reports whether the index (`None`) or the document of a path is already built.
    pub fn is_built(&self, path: Option<&str>) -> bool {
        match path {
            None => self.index.get().is_some(),
            Some(path) => self.made.get(path).is_none_or(|one| one.get().is_some()),
        }
    }

    /// Reports whether the OpenAPI v2 document is already built.
    pub fn is_v2_built(&self) -> bool {
        self.v2.get().is_some()
    }

    /// Returns the OpenAPI v2 document at `/openapi/v2`.
    pub fn v2(&self) -> &OpenApiV2 {
        self.v2.get_or_init(|| {
            let document = v2::document(self);
            let json = document.to_string().into_bytes();
            OpenApiV2 {
                hash: hash(&json),
                protobuf: gnostic::document(&document).into(),
                json: json.into(),
            }
        })
    }

    /// Returns the index at `/openapi/v3`: the URL of each document, with its hash.
    pub fn index(&self) -> &Value {
        self.index.get_or_init(|| {
            let mut paths = Map::new();
            for source in documents(&self.catalog) {
                let path = source.path();
                let hash = match &source {
                    Source::BuiltIn { .. } => source.hash(),
                    Source::Custom { .. } => self
                        .document(&path)
                        .map_or_else(String::new, |made| made.hash.clone()),
                };
                let url = format!("/openapi/v3/{path}?hash={hash}");
                paths.insert(path, json!({"serverRelativeURL": url}));
            }
            json!({"paths": paths})
        })
    }

    /// Returns the document of a path below `/openapi/v3/`, such as `apis/apps/v1`.
    pub fn document(&self, path: &str) -> Option<&Document> {
        let make = || {
            let all = documents(&self.catalog);
            let source = all.iter().find(|source| source.path() == path)?;
            let body = source.body();
            let hash = match source {
                Source::BuiltIn { .. } => source.hash(),
                Source::Custom { .. } => hash(&body),
            };
            Some(Document {
                body: body.into(),
                hash,
            })
        };
        self.made.get(path)?.get_or_init(make).as_ref()
    }
}

/// The hash of all built-in definitions. Each document contains the definitions that its paths
/// refer to.
static DEFINITIONS_HASH: LazyLock<String> = LazyLock::new(|| hash(builtin::DEFINITIONS.as_bytes()));

enum Source<'a> {
    BuiltIn {
        path: &'static str,
        lines: &'static str,
        catalog: &'a Catalog,
    },
    Custom {
        group_version: &'a GroupVersion,
        resources: Vec<&'a Arc<Resource>>,
    },
}

fn documents(catalog: &Catalog) -> Vec<Source<'_>> {
    let mut all: Vec<Source<'_>> = builtin::PATHS
        .iter()
        .filter(|(path, _)| is_any_served(catalog, path))
        .map(|(path, lines)| Source::BuiltIn {
            path,
            lines,
            catalog,
        })
        .collect();
    let mut custom: BTreeMap<&GroupVersion, Vec<&Arc<Resource>>> = BTreeMap::new();
    for resource in catalog.iter().filter(|one| one.origin == Origin::Custom) {
        custom
            .entry(&resource.group_version)
            .or_default()
            .push(resource);
    }
    all.extend(
        custom
            .into_iter()
            .map(|(group_version, resources)| Source::Custom {
                group_version,
                resources,
            }),
    );
    all
}

/// Splits a path such as `apis/apps/v1/deployments` into group, version and remaining path.
fn group_version(path: &str) -> (&str, &str, &str) {
    let (group, rest) = match path.strip_prefix("apis/") {
        Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
        None => ("", path.strip_prefix("api/").unwrap_or_default()),
    };
    let (version, rest) = rest.split_once('/').unwrap_or((rest, ""));
    (group, version, rest)
}

/// Reports whether the catalog contains a built-in resource of the group and version of `path`.
fn is_any_served(catalog: &Catalog, path: &str) -> bool {
    let (group, version, _) = group_version(path);
    catalog.iter().any(|resource| {
        let own = &resource.group_version;
        resource.origin == Origin::BuiltIn && own.group == group && own.version == version
    })
}

/// Reports whether the catalog contains the resource of `path`. The result is always true for the
/// path of a resource list.
fn is_served(catalog: &Catalog, path: &str) -> bool {
    let (group, version, rest) = group_version(path.trim_start_matches('/'));
    let inside = rest.strip_prefix("namespaces/{namespace}/");
    let plural = inside.unwrap_or(rest).split('/').next().unwrap_or_default();
    plural.is_empty() || catalog.find(group, version, plural).is_some()
}

impl Source<'_> {
    fn path(&self) -> String {
        match self {
            Self::BuiltIn { path, .. } => (*path).to_owned(),
            Self::Custom { group_version, .. } => format!("apis/{group_version}"),
        }
    }

    fn hash(&self) -> String {
        match self {
            Self::BuiltIn {
                path,
                lines,
                catalog,
            } => {
                let mut text = format!("{path}\n{}\n", *DEFINITIONS_HASH);
                for (path, item) in served_entries(catalog, lines) {
                    text.extend([path, item, "\n"]);
                }
                hash(text.as_bytes())
            }
            Self::Custom { .. } => hash(&self.body()),
        }
    }

    fn body(&self) -> Vec<u8> {
        match self {
            Self::BuiltIn { lines, catalog, .. } => {
                let paths: Vec<(&str, &str)> = served_entries(catalog, lines).collect();
                built_in(&paths, &BTreeMap::new())
            }
            Self::Custom { resources, .. } => custom::document(resources),
        }
    }
}

/// Returns the paths that the catalog serves.
fn served_entries<'a>(
    catalog: &'a Catalog,
    lines: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    entries(lines).filter(|(path, _)| is_served(catalog, path))
}

/// Parses the lines of a committed file to pairs of name and JSON.
fn entries(lines: &str) -> impl Iterator<Item = (&str, &str)> {
    lines.lines().filter_map(|line| {
        let line = line.strip_suffix(',').unwrap_or(line);
        let (name, value) = line.strip_prefix('"')?.split_once("\":")?;
        Some((name, value))
    })
}

/// Assembles a document from paths and definitions, including all referenced definitions.
fn built_in(paths: &[(&str, &str)], own: &BTreeMap<String, String>) -> Vec<u8> {
    let published: BTreeMap<&str, &str> = entries(builtin::DEFINITIONS).collect();
    let mut requested: Vec<&str> = paths
        .iter()
        .flat_map(|(_, item)| references(item))
        .collect();
    let mut definitions: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, definition) in own {
        requested.extend(references(definition));
        definitions.insert(name, definition);
    }
    let mut seen: BTreeSet<&str> = definitions.keys().copied().collect();
    while let Some(name) = requested.pop() {
        if let Some(definition) = published.get(name).filter(|_| seen.insert(name)) {
            requested.extend(references(definition));
            definitions.insert(name, definition);
        }
    }
    let join = |entries: &mut dyn Iterator<Item = (&str, &str)>| {
        let lines: Vec<String> = entries
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        lines.join(",")
    };
    format!(
        "{{\"openapi\":\"3.0.0\",\"info\":{{\"title\":\"Kubernetes\",\"version\":\"1.36\"}},\
         \"paths\":{{{}}},\"components\":{{\"schemas\":{{{}}},\"securitySchemes\":{{\
         \"BearerToken\":{{\"type\":\"apiKey\",\"description\":\"Bearer Token authentication\",\
         \"name\":\"authorization\",\"in\":\"header\"}}}}}}}}",
        join(&mut paths.iter().copied()),
        join(&mut definitions.into_iter()),
    )
    .into_bytes()
}

fn references(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(REFERENCE).filter_map(|(at, _)| {
        let rest = &text[at + REFERENCE.len()..];
        rest.split('"').next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::field;
    use crate::resource::CatalogCache;

    fn all() -> Catalog {
        let mut all = builtin::catalog(builtin::Kinds::Cluster);
        for resource in crate::crd::resources(&crate::crd::tests::widgets()).unwrap() {
            all.insert(resource.into());
        }
        all
    }

    fn read(path: &str) -> Value {
        let documents = Documents::from(Arc::new(all()));
        serde_json::from_slice(&documents.document(path).unwrap().body).unwrap()
    }

    #[test]
    fn openapi_of_hub_kinds_excludes_workload_kinds() {
        for (kinds, is_cluster) in [
            (builtin::Kinds::Hub, false),
            (builtin::Kinds::Cluster, true),
        ] {
            let catalog = builtin::catalog(kinds);
            let group = crate::discovery::group(&catalog, "autoscaling");
            let preferred = group.map(|group| group["preferredVersion"]["version"].clone());
            assert_eq!(preferred, is_cluster.then(|| "v2".into()));
            let documents = Documents::from(Arc::new(catalog));
            let ingresses = documents.document("apis/networking.k8s.io/v1");
            assert_eq!(ingresses.is_some(), is_cluster);
            let core = documents.document("api/v1").unwrap();
            let core: Value = serde_json::from_slice(&core.body).unwrap();
            let paths = core["paths"].as_object().unwrap();
            assert!(paths.contains_key("/api/v1/namespaces/{namespace}/configmaps"));
            for plural in ["pods", "limitranges"] {
                let path = format!("/api/v1/namespaces/{{namespace}}/{plural}");
                assert_eq!(paths.contains_key(&path), is_cluster, "{plural}");
            }
            let schemas = core["components"]["schemas"].as_object().unwrap();
            assert_eq!(schemas.contains_key("io.k8s.api.core.v1.Pod"), is_cluster);
        }
    }

    #[test]
    fn openapi_documents_are_built_once_per_catalog() {
        let (catalog, cache) = (Arc::new(all()), CatalogCache::<Documents>::default());
        let documents = cache.get(&catalog);
        assert!(!documents.is_built(None) && !documents.is_built(Some("apis/example.com/v1")));
        let index = documents.index();
        assert!(documents.is_built(None) && documents.is_built(Some("apis/example.com/v1")));
        let again = cache.get(&catalog);
        assert!(std::ptr::eq(again.index(), index));
        let (one, two) = (documents.document("api/v1"), again.document("api/v1"));
        assert!(std::ptr::eq(one.unwrap(), two.unwrap()));
        let other = cache.get(&Arc::new(builtin::catalog(builtin::Kinds::Cluster)));
        assert_eq!(other.document("apis/example.com/v1"), None);
        assert!(Arc::ptr_eq(&cache.get(&other.catalog), &other));
    }

    /// Checks that all references in the document resolve.
    fn check(document: &Value) {
        let text = document.to_string();
        for name in references(&text) {
            let found = field(field(document, "components"), "schemas").get(name);
            assert!(found.is_some(), "{name}");
        }
    }

    #[test]
    fn openapi_documents_resolve_all_references() {
        let all = Documents::from(Arc::new(all()));
        let index = all.index();
        let paths = index["paths"].as_object().unwrap();
        assert_eq!(paths.len(), 20);
        for (path, entry) in paths {
            let document = all.document(path).unwrap();
            let url = entry["serverRelativeURL"].as_str().unwrap();
            assert_eq!(url, format!("/openapi/v3/{path}?hash={}", document.hash));
            check(&serde_json::from_slice(&document.body).unwrap());
        }
        assert_eq!(all.document("apis/nope/v1"), None);
    }

    #[test]
    fn openapi_v2_contains_all_served_kinds() {
        let documents = Documents::from(Arc::new(all()));
        let v2 = documents.v2();
        let document: Value = serde_json::from_slice(&v2.json).unwrap();
        let definitions = &document["definitions"];
        for name in ["io.k8s.api.core.v1.Pod", "com.example.v1.Widget"] {
            assert_eq!(definitions[name]["type"], "object", "{name}");
        }
        let text = String::from_utf8_lossy(&v2.json);
        for (at, start) in text.match_indices("#/definitions/") {
            let name = text[at + start.len()..].split('"').next().unwrap();
            assert!(definitions.get(name).is_some(), "{name}");
        }
        let path = "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}";
        let get = &document["paths"][path]["get"];
        assert_eq!(get["x-kubernetes-group-version-kind"]["kind"], "Widget");
        assert!(v2.protobuf.len() > 100_000);
    }

    #[test]
    fn built_in_openapi_document_matches_the_published_document() {
        let apps = read("apis/apps/v1");
        let item = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale";
        assert_eq!(apps["paths"][item]["get"]["x-kubernetes-action"], "get");
        let schemas = &apps["components"]["schemas"];
        assert!(schemas["io.k8s.api.core.v1.PodSpec"]["description"].is_string());
        assert!(schemas.get("io.k8s.api.core.v1.Node").is_none());
    }

    #[test]
    fn openapi_document_of_custom_kinds_matches_apiextensions() {
        let document = read("apis/example.com/v1");
        let paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
        assert_eq!(
            paths,
            [
                "/apis/example.com/v1/namespaces/{namespace}/widgets",
                "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}",
                "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}/scale",
                "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}/status",
                "/apis/example.com/v1/widgets",
            ]
        );
        let patches = &document["paths"][paths[1]]["patch"]["requestBody"]["content"];
        let patches: Vec<&String> = patches.as_object().unwrap().keys().collect();
        let (merge, strategic) = ("application/merge-patch+json", "strategic");
        assert!(patches.iter().any(|kind| *kind == merge), "{patches:?}");
        assert!(
            !patches.iter().any(|kind| kind.contains(strategic)),
            "{patches:?}"
        );
        let put = &document["paths"][paths[1]]["put"];
        assert_eq!(put["operationId"], "replaceExampleComV1NamespacedWidget");
        assert_eq!(put["tags"], json!(["exampleCom_v1"]));
        assert_eq!(put["x-kubernetes-group-version-kind"]["kind"], "Widget");
        let widget = &document["components"]["schemas"]["com.example.v1.Widget"];
        assert_eq!(widget["description"], "A widget.");
        assert_eq!(
            widget["properties"]["spec"]["properties"]["ports"]["items"]["properties"]["port"],
            json!({"anyOf": [{"type": "integer"}, {"type": "string"}],
                   "x-kubernetes-int-or-string": true})
        );
        assert_eq!(
            widget["x-kubernetes-selectable-fields"],
            json!([{"fieldPath": "spec.color"}])
        );
    }
}
