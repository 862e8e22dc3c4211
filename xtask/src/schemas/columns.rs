//! The columns of built-in tables, parsed from the Go source of Kubernetes' table printers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::SchemasError;

/// The import names of Go packages in the table printers, each with the OpenAPI prefix of the
/// package.
const IMPORTS: &[(&str, &str)] = &[
    ("apiv1", "io.k8s.api.core.v1"),
    ("appsv1", "io.k8s.api.apps.v1"),
    ("autoscalingv1", "io.k8s.api.autoscaling.v1"),
    ("autoscalingv2", "io.k8s.api.autoscaling.v2"),
    ("certificatesv1beta1", "io.k8s.api.certificates.v1"),
    ("networkingv1", "io.k8s.api.networking.v1"),
    ("schedulingv1", "io.k8s.api.scheduling.v1"),
    ("storagev1", "io.k8s.api.storage.v1"),
    ("batchv1", "io.k8s.api.batch.v1"),
    ("rbacv1beta1", "io.k8s.api.rbac.v1"),
    ("rbacv1", "io.k8s.api.rbac.v1"),
    ("coordinationv1", "io.k8s.api.coordination.v1"),
    ("discoveryv1", "io.k8s.api.discovery.v1"),
    ("discoveryv1beta1", "io.k8s.api.discovery.v1"),
    ("metav1", "io.k8s.apimachinery.pkg.apis.meta.v1"),
];

/// Returns the columns of each kind.
pub(super) fn columns(
    kubernetes: &Path,
    definitions: &BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, SchemasError> {
    let path = kubernetes.join("pkg/printers/internalversion/printers.go");
    let text = fs::read_to_string(&path).map_err(|source| SchemasError::File {
        operation: "read",
        path,
        source,
    })?;
    let mut declared: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    let mut kinds = BTreeMap::new();
    let mut open: Option<&str> = None;
    for line in text.lines().map(str::trim) {
        if let Some((name, _)) = line.split_once(" := []metav1.TableColumnDefinition{") {
            declared.insert(name, Vec::new());
            open = Some(name);
        } else if line == "}" {
            open = None;
        } else if let (Some(name), Some(column)) = (open, column(line, definitions)) {
            declared.entry(name).or_default().push(column);
        } else if let Some((_, call)) = line.split_once("h.TableHandler(") {
            let mut arguments = call.trim_end_matches(')').split(", print");
            if let (Some(name), Some(kind)) = (arguments.next(), arguments.next())
                && let Some(columns) = declared.get(name)
                && !kind.ends_with("List")
            {
                // Two printers have shorter names than their kinds, so map them.
                let kind = match kind {
                    "MutatingWebhook" | "ValidatingWebhook" => format!("{kind}Configuration"),
                    kind => kind.to_owned(),
                };
                kinds.insert(kind, Value::from(columns.clone()));
            }
        }
    }
    let served = |kind: &String| {
        definitions
            .keys()
            .any(|name| name.rsplit('.').next() == Some(kind))
    };
    kinds.retain(|kind, _| served(kind));
    Ok(kinds)
}

fn column(line: &str, definitions: &BTreeMap<String, Value>) -> Option<Value> {
    let rest = line.strip_prefix('{')?;
    let text = |name: &str| {
        let (_, after) = rest.split_once(&format!("{name}: \""))?;
        after.split('"').next().map(str::to_owned)
    };
    let priority = rest
        .split_once("Priority: ")
        .and_then(|(_, after)| after.split([',', '}']).next()?.parse::<i32>().ok());
    let (_, described) = rest.split_once("Description: ")?;
    let description = match described.strip_prefix('"') {
        Some(literal) => literal.split('"').next()?.to_owned(),
        None => documentation(described, definitions).unwrap_or_default(),
    };
    Some(json!({
        "name": text("Name")?, "type": text("Type")?, "format": text("Format").unwrap_or_default(),
        "description": description, "priority": priority.unwrap_or_default(),
    }))
}

/// Returns the OpenAPI description of a field for a Go expression such as
/// `apiv1.PodStatus{}.SwaggerDoc()["podIP"]`.
fn documentation(code: &str, definitions: &BTreeMap<String, Value>) -> Option<String> {
    let (subject, field) = code.split_once(".SwaggerDoc()[\"")?;
    let field = field.split('"').next()?;
    let (import, name) = subject.split_once('.')?;
    let prefix = IMPORTS.iter().find(|(other, _)| *other == import)?.1;
    let name = match name.split_once("{}.") {
        Some((_, "InvolvedObject")) => "ObjectReference",
        _ => name.trim_end_matches("{}"),
    };
    let definition = definitions.get(&format!("{prefix}.{name}"))?;
    let path = format!("/properties/{field}/description");
    let text = definition.pointer(&path)?.as_str()?;
    // The documentation of the beta version applies, and lacks this sentence.
    let text = match import {
        "rbacv1beta1" => text.trim_end_matches(" This field is immutable."),
        _ => text,
    };
    Some(text.to_owned())
}
