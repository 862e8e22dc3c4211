//! The recipe `xtask apiserver-schemas`: generates the documents that `crates/apiserver` serves.
//! The source is the Kubernetes module that the end-to-end tests build. The documents contain
//! OpenAPI definitions and paths, discovery, table columns, and the Go encoding of each field.
//! OpenAPI does not define whether the encoder writes an empty value, so the recipe reads the Go
//! types.

mod columns;
mod documents;
mod go;
mod protobuf;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The reason why the documents cannot be generated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemasError {
    /// Go is not installed, or a Go command failed.
    #[error("cannot find a Go module with `go list -m`: {cause}", cause = .0)]
    Go(String),
    /// A file cannot be read or written.
    #[error("cannot {operation} {path}")]
    File {
        /// The failed operation, such as `read`.
        operation: &'static str,
        /// Path of the file, or name of the document.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file has an unexpected format.
    #[error("cannot parse {path}: unexpected JSON")]
    Json {
        /// Path of the file, or name of the document.
        path: PathBuf,
        /// Error of the JSON parser.
        source: serde_json::Error,
    },
    /// A required part of a document does not exist.
    #[error("{document} has no {element}")]
    Lacks {
        /// Path of the file, or name of the document.
        document: String,
        /// The required part of the document.
        element: String,
    },
}

/// A version of an API group, with its served resources.
pub(crate) struct Served {
    /// Name of the API group. Empty for the core group.
    pub(crate) group: &'static str,
    /// Version of the API group, such as `v1`.
    pub(crate) version: &'static str,
    /// The served resources, as `plural` and `plural/subresource`.
    pub(crate) resources: &'static [&'static str],
}

impl Served {
    /// Returns the path prefix of the version, without the leading slash.
    pub(crate) fn root(&self) -> String {
        if self.group.is_empty() {
            format!("api/{}", self.version)
        } else {
            format!("apis/{}/{}", self.group, self.version)
        }
    }
}

const fn v1(group: &'static str, resources: &'static [&'static str]) -> Served {
    Served {
        group,
        version: "v1",
        resources,
    }
}

/// All served versions, in the order of `/apis`.
pub(crate) const SERVED: &[Served] = &[
    v1(
        "",
        &[
            "bindings",
            "configmaps",
            "endpoints",
            "events",
            "limitranges",
            "namespaces",
            "namespaces/finalize",
            "namespaces/status",
            "nodes",
            "nodes/status",
            "persistentvolumeclaims",
            "persistentvolumeclaims/status",
            "persistentvolumes",
            "persistentvolumes/status",
            "pods",
            "pods/binding",
            "pods/ephemeralcontainers",
            "pods/eviction",
            "pods/log",
            "pods/resize",
            "pods/status",
            "resourcequotas",
            "resourcequotas/status",
            "secrets",
            "serviceaccounts",
            "serviceaccounts/token",
            "services",
            "services/status",
        ],
    ),
    v1(
        "apps",
        &[
            "controllerrevisions",
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "deployments/scale",
            "deployments/status",
            "replicasets",
            "replicasets/scale",
            "replicasets/status",
            "statefulsets",
            "statefulsets/scale",
            "statefulsets/status",
        ],
    ),
    v1("events.k8s.io", &["events"]),
    v1(
        "authentication.k8s.io",
        &["tokenreviews", "selfsubjectreviews"],
    ),
    v1(
        "authorization.k8s.io",
        &[
            "localsubjectaccessreviews",
            "selfsubjectaccessreviews",
            "selfsubjectrulesreviews",
            "subjectaccessreviews",
        ],
    ),
    v1(
        "autoscaling",
        &[
            "horizontalpodautoscalers",
            "horizontalpodautoscalers/status",
        ],
    ),
    Served {
        group: "autoscaling",
        version: "v2",
        resources: &[
            "horizontalpodautoscalers",
            "horizontalpodautoscalers/status",
        ],
    },
    v1(
        "batch",
        &["cronjobs", "cronjobs/status", "jobs", "jobs/status"],
    ),
    v1(
        "certificates.k8s.io",
        &[
            "certificatesigningrequests",
            "certificatesigningrequests/approval",
            "certificatesigningrequests/status",
        ],
    ),
    v1(
        "networking.k8s.io",
        &[
            "ingressclasses",
            "ingresses",
            "ingresses/status",
            "networkpolicies",
        ],
    ),
    v1(
        "policy",
        &["poddisruptionbudgets", "poddisruptionbudgets/status"],
    ),
    v1(
        "rbac.authorization.k8s.io",
        &[
            "clusterrolebindings",
            "clusterroles",
            "rolebindings",
            "roles",
        ],
    ),
    v1("storage.k8s.io", &["storageclasses"]),
    v1(
        "admissionregistration.k8s.io",
        &[
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicies/status",
            "validatingadmissionpolicybindings",
            "validatingwebhookconfigurations",
        ],
    ),
    v1(
        "apiextensions.k8s.io",
        &[
            "customresourcedefinitions",
            "customresourcedefinitions/status",
        ],
    ),
    v1("scheduling.k8s.io", &["priorityclasses"]),
    v1("coordination.k8s.io", &["leases"]),
    v1("discovery.k8s.io", &["endpointslices"]),
];

/// Arguments of `xtask apiserver-schemas`.
#[derive(clap::Args)]
pub(crate) struct Schemas {
    /// Folder for the documents
    #[arg(long, default_value = "crates/apiserver/schemas")]
    out: PathBuf,
}

impl Schemas {
    pub(crate) fn run(self) -> Result<(), SchemasError> {
        let kubernetes = module("k8s.io/kubernetes")?;
        let mut definitions = BTreeMap::new();
        for served in SERVED {
            let document = documents::read(&kubernetes, served)?;
            definitions.extend(document.definitions);
            let name = served.root().replace('/', "__");
            self.write(&format!("paths/{name}.json"), &document.paths)?;
        }
        self.write("discovery.json", &documents::discovery(&kubernetes)?)?;
        self.write(
            "columns.json",
            &columns::columns(&kubernetes, &definitions)?,
        )?;
        self.write("encodings.json", &go::encodings(&definitions)?)?;
        self.write("protobuf.json", &protobuf::messages(&definitions)?)?;
        self.write("definitions.json", &definitions)
    }

    /// Writes an object with one line per entry, so that a diff contains only changed entries.
    fn write(&self, name: &str, entries: &BTreeMap<String, Value>) -> Result<(), SchemasError> {
        let lines: Vec<String> = entries
            .iter()
            .map(|(key, value)| format!("{}:{value}", Value::from(key.as_str())))
            .collect();
        let path = self.out.join(name);
        let file = |source| SchemasError::File {
            operation: "write",
            path: path.clone(),
            source,
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(file)?;
        }
        fs::write(&path, format!("{{\n{}\n}}\n", lines.join(",\n"))).map_err(file)
    }
}

/// Returns the folder of a Go module. The version of the module is the version that the tests
/// build.
fn module(name: &str) -> Result<PathBuf, SchemasError> {
    let output = Command::new("go")
        .args(["list", "-mod=mod", "-m", "-f", "{{.Dir}}", name])
        .current_dir("e2e/kubernetes")
        .output()
        .map_err(|error| SchemasError::Go(error.to_string()))?;
    let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() || folder.is_empty() {
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(SchemasError::Go(format!(
            "{stderr}; run `go mod download` in e2e/kubernetes"
        )));
    }
    Ok(PathBuf::from(folder))
}

fn read_json(path: &Path) -> Result<Value, SchemasError> {
    let bytes = fs::read(path).map_err(|source| SchemasError::File {
        operation: "read",
        path: path.to_owned(),
        source,
    })?;
    serde_json::from_slice(&bytes).map_err(|source| SchemasError::Json {
        path: path.to_owned(),
        source,
    })
}
