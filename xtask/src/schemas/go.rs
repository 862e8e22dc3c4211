//! Determines how the Go encoder writes fields, from the Go type declarations.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Map, Value, json};

use super::{SchemasError, module};

/// A package of Go types: the module, the folder in the module, the prefix of OpenAPI definitions,
/// and the import name.
const PACKAGES: &[(&str, &str, &str, &str)] = &[
    ("k8s.io/api", "core/v1", "io.k8s.api.core.v1", "v1"),
    ("k8s.io/api", "apps/v1", "io.k8s.api.apps.v1", ""),
    ("k8s.io/api", "batch/v1", "io.k8s.api.batch.v1", ""),
    ("k8s.io/api", "rbac/v1", "io.k8s.api.rbac.v1", ""),
    (
        "k8s.io/api",
        "coordination/v1",
        "io.k8s.api.coordination.v1",
        "",
    ),
    ("k8s.io/api", "events/v1", "io.k8s.api.events.v1", ""),
    ("k8s.io/api", "discovery/v1", "io.k8s.api.discovery.v1", ""),
    (
        "k8s.io/api",
        "authentication/v1",
        "io.k8s.api.authentication.v1",
        "",
    ),
    (
        "k8s.io/api",
        "authorization/v1",
        "io.k8s.api.authorization.v1",
        "",
    ),
    (
        "k8s.io/api",
        "autoscaling/v1",
        "io.k8s.api.autoscaling.v1",
        "",
    ),
    (
        "k8s.io/api",
        "autoscaling/v2",
        "io.k8s.api.autoscaling.v2",
        "",
    ),
    (
        "k8s.io/api",
        "admissionregistration/v1",
        "io.k8s.api.admissionregistration.v1",
        "",
    ),
    (
        "k8s.io/api",
        "certificates/v1",
        "io.k8s.api.certificates.v1",
        "",
    ),
    (
        "k8s.io/api",
        "networking/v1",
        "io.k8s.api.networking.v1",
        "",
    ),
    ("k8s.io/api", "policy/v1", "io.k8s.api.policy.v1", ""),
    (
        "k8s.io/api",
        "scheduling/v1",
        "io.k8s.api.scheduling.v1",
        "",
    ),
    ("k8s.io/api", "storage/v1", "io.k8s.api.storage.v1", ""),
    (
        "k8s.io/apimachinery",
        "pkg/apis/meta/v1",
        "io.k8s.apimachinery.pkg.apis.meta.v1",
        "metav1",
    ),
    (
        "k8s.io/apiextensions-apiserver",
        "pkg/apis/apiextensions/v1",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
        "",
    ),
];

/// A field of a Go struct.
#[derive(Debug)]
struct Field {
    /// The JSON name of the field. Empty for an inlined field.
    name: String,
    /// The Go type of the field.
    go: String,
    omit_empty: bool,
    omit_zero: bool,
}

#[derive(Debug)]
enum Declared {
    Struct(Vec<Field>),
    /// A type with a different Go type as its underlying type.
    Named(String),
}

/// Go type declarations by OpenAPI definition name, which is the prefix and the Go name.
type Declarations = BTreeMap<String, Declared>;

/// Returns the fields of each Go struct with a special encoding. The value `"-"` means that the
/// encoder omits an empty value. Any other text is the encoded value of an unset field.
pub(super) fn encodings(
    definitions: &BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, SchemasError> {
    let mut declared = Declarations::new();
    for (module_name, folder, prefix, _) in PACKAGES {
        let folder = module(module_name)?.join(folder);
        let file = |source| SchemasError::File {
            operation: "read",
            path: folder.clone(),
            source,
        };
        for entry in fs::read_dir(&folder).map_err(file)? {
            let path = entry.map_err(file)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("types") && !name.contains("swagger") && name.ends_with(".go") {
                read(
                    &fs::read_to_string(&path).map_err(file)?,
                    prefix,
                    &mut declared,
                );
            }
        }
    }
    let mut encodings = BTreeMap::new();
    for name in definitions.keys() {
        let mut fields = Map::new();
        collect(name, &declared, &mut fields);
        if !fields.is_empty() {
            encodings.insert(name.clone(), Value::Object(fields));
        }
    }
    Ok(encodings)
}

/// Reads the type declarations of one file. The parser supports only files that gofmt has
/// formatted.
fn read(text: &str, prefix: &str, declared: &mut Declarations) {
    let mut open: Option<(String, Vec<Field>)> = None;
    for line in text.lines() {
        if let Some((name, mut fields)) = open.take() {
            if line == "}" {
                declared.insert(format!("{prefix}.{name}"), Declared::Struct(fields));
            } else {
                fields.extend(field(line));
                open = Some((name, fields));
            }
            continue;
        }
        let mut words = line.split_whitespace();
        if words.next() != Some("type") || line.starts_with(char::is_whitespace) {
            continue;
        }
        let (Some(name), Some(go)) = (words.next(), words.next()) else {
            continue;
        };
        if go == "struct" {
            open = Some((name.to_owned(), Vec::new()));
        } else {
            let go = Declared::Named(go.to_owned());
            declared.insert(format!("{prefix}.{name}"), go);
        }
    }
}

fn field(line: &str) -> Option<Field> {
    let line = line.trim();
    if line.starts_with("//") {
        return None;
    }
    let (declaration, rest) = line.split_once('`')?;
    let (_, tag) = rest.split_once("json:\"")?;
    let (tag, _) = tag.split_once('"')?;
    let mut options = tag.split(',');
    let name = options.next()?;
    let options: Vec<&str> = options.collect();
    if name == "-" {
        return None;
    }
    Some(Field {
        name: name.to_owned(),
        go: declaration.split_whitespace().last()?.to_owned(),
        omit_empty: options.contains(&"omitempty"),
        omit_zero: options.contains(&"omitzero"),
    })
}

fn collect(name: &str, declared: &Declarations, into: &mut Map<String, Value>) {
    let Some(Declared::Struct(fields)) = declared.get(name) else {
        return;
    };
    let (prefix, _) = name.rsplit_once('.').unwrap_or_default();
    for field in fields {
        if field.name.is_empty() {
            collect(&definition(&field.go, prefix), declared, into);
        } else if let Some(encoding) = encoding(field, prefix, declared) {
            into.insert(field.name.clone(), encoding);
        }
    }
}

/// Returns the OpenAPI definition name of a Go type in the package with this prefix.
fn definition(go: &str, prefix: &str) -> String {
    match go.split_once('.') {
        None => format!("{prefix}.{go}"),
        Some((import, name)) => PACKAGES
            .iter()
            .find(|package| package.3 == import.strip_prefix("core").unwrap_or(import))
            .map_or_else(|| go.to_owned(), |package| format!("{}.{name}", package.2)),
    }
}

fn encoding(field: &Field, prefix: &str, declared: &Declarations) -> Option<Value> {
    let zero = zero(&field.go, prefix, declared);
    let is_struct = matches!(zero, Zero::Struct(_));
    match zero {
        Zero::Pointer if field.omit_empty => None,
        _ if field.omit_zero => None,
        _ if field.omit_empty && !is_struct => Some(json!("-")),
        Zero::Pointer | Zero::Many => Some(Value::Null),
        Zero::Scalar(value) | Zero::Struct(value) => Some(value),
    }
}

/// The category of a Go type's zero value. The category determines how the encoder writes the
/// value.
enum Zero {
    Pointer,
    Many,
    Scalar(Value),
    /// The type is a struct, on which `omitempty` has no effect.
    Struct(Value),
}

fn zero(go: &str, prefix: &str, declared: &Declarations) -> Zero {
    match go {
        _ if go.starts_with('*') => Zero::Pointer,
        _ if go.starts_with('[') || go.starts_with("map[") => Zero::Many,
        "string" | "types.UID" | "types.NodeName" => Zero::Scalar(json!("")),
        "bool" => Zero::Scalar(json!(false)),
        "resource.Quantity" => Zero::Struct(json!("0")),
        "intstr.IntOrString" => Zero::Struct(json!(0)),
        "runtime.RawExtension" => Zero::Struct(Value::Null),
        _ if go.starts_with("int") || go.starts_with("uint") || go.starts_with("float") => {
            Zero::Scalar(json!(0))
        }
        _ => {
            let name = definition(go, prefix);
            match declared.get(&name) {
                Some(Declared::Named(inner)) => {
                    let (prefix, _) = name.rsplit_once('.').unwrap_or_default();
                    zero(inner, prefix, declared)
                }
                _ if name.ends_with("meta.v1.Time") || name.ends_with("meta.v1.MicroTime") => {
                    Zero::Struct(Value::Null)
                }
                Some(Declared::Struct(_)) => Zero::Struct(json!({})),
                // A type of another package with its own marshaller is not expanded.
                None => Zero::Pointer,
            }
        }
    }
}
