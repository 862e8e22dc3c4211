//! Implements `drover fleet bundlediff`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use drover_api::fleet::labels::{BUNDLE_NAME, BUNDLE_NAMESPACE};
use drover_api::fleet::status::{ModifiedStatus, NonReadyStatus, ObjectSummary};
use drover_api::fleet::{Bundle, BundleDeployment, ComparePatch, Operation};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{FleetBundleDiff, Format};
use crate::client::Client;
use crate::failure::Failure;
use crate::kubernetes::HubObjects;
use crate::output::encode;
use crate::table::printable;
use crate::terminal::{notice, print};

/// A BundleDeployment with differing or unready objects. The names are the names of Fleet.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Diff {
    bundle_deployment_name: String,
    bundle_name: String,
    namespace: String,
    modified_resources: Vec<ModifiedStatus>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    non_ready_resources: Vec<NonReadyStatus>,
    #[serde(skip)]
    bundle_namespace: String,
    /// True if the agent found more objects than it reports.
    #[serde(skip)]
    is_truncated: bool,
}

/// Prints the differing and unready objects of BundleDeployments.
pub(super) async fn run(client: &Client, args: &FleetBundleDiff) -> Result<(), Failure> {
    let deployments = HubObjects::fleet(client, "bundledeployments", args.namespace.as_deref());
    let found: Vec<BundleDeployment> = if let Some(name) = &args.bundle_deployment {
        vec![deployments.get(name).await?]
    } else {
        let labels = args.bundle.as_ref().map(|it| format!("{BUNDLE_NAME}={it}"));
        deployments.list(labels).await?
    };
    let diffs: Vec<Diff> = found.into_iter().filter_map(diff).collect();
    if args.json {
        let mut output = json!({
            "namespace": args.namespace.as_deref().unwrap_or_default(),
            "bundleDeploymentDiffs": diffs,
        });
        if let Some(bundle) = &args.bundle {
            output["bundleName"] = json!(bundle);
        }
        return Ok(print(&encode(&output, Format::Json)?)?);
    }
    if diffs.is_empty() {
        notice("No differing or unready objects.");
        return Ok(());
    }
    if let [diff] = &diffs[..]
        && args.fleet_yaml
    {
        let namespace = Some(&*diff.bundle_namespace);
        let bundles = HubObjects::fleet(client, "bundles", namespace);
        let bundle: Bundle = bundles.get(&diff.bundle_name).await?;
        return Ok(print(&fleet_yaml(&bundle, &diff.modified_resources)?)?);
    }
    Ok(print(&text(&diffs))?)
}

/// Returns the differing and unready objects of a BundleDeployment, if there are any.
fn diff(deployment: BundleDeployment) -> Option<Diff> {
    let status = deployment.status?;
    if status.modified_status.is_empty() && status.non_ready_status.is_empty() {
        return None;
    }
    let metadata = deployment.metadata;
    let mut labels = metadata.labels.unwrap_or_default();
    Some(Diff {
        bundle_deployment_name: metadata.name.unwrap_or_default(),
        bundle_name: labels.remove(BUNDLE_NAME).unwrap_or_default(),
        bundle_namespace: labels.remove(BUNDLE_NAMESPACE).unwrap_or_default(),
        namespace: metadata.namespace.unwrap_or_default(),
        modified_resources: status.modified_status,
        non_ready_resources: status.non_ready_status,
        is_truncated: status.incomplete_state,
    })
}

/// Returns the text for terminals, grouped by Bundle.
fn text(diffs: &[Diff]) -> String {
    let mut bundles: BTreeMap<(&str, &str), Vec<&Diff>> = BTreeMap::new();
    for diff in diffs {
        let key = (&*diff.bundle_namespace, &*diff.bundle_name);
        bundles.entry(key).or_default().push(diff);
    }
    let mut text = String::new();
    for ((namespace, name), diffs) in bundles {
        let gap = if text.is_empty() { "" } else { "\n" };
        // A write to a String does not fail.
        let _ = writeln!(text, "{gap}Bundle: {namespace}/{name}");
        let _ = writeln!(text, "BundleDeployments with diffs: {}", diffs.len());
        for diff in diffs {
            add_deployment(&mut text, diff);
        }
    }
    printable(&text)
}

fn add_deployment(text: &mut String, diff: &Diff) {
    let (namespace, name) = (&diff.namespace, &diff.bundle_deployment_name);
    let _ = writeln!(text, "\n  BundleDeployment: {namespace}/{name}");
    if !diff.modified_resources.is_empty() {
        let count = diff.modified_resources.len();
        let _ = writeln!(text, "  Modified Resources ({count}):");
    }
    for object in &diff.modified_resources {
        let (kind, version) = (&object.kind, &object.api_version);
        let name = full_name(&object.namespace, &object.name);
        let _ = writeln!(text, "    Resource: {kind}.{version} {name}");
        let status = match object {
            ModifiedStatus {
                create: true,
                exist: true,
                ..
            } => "The object exists and belongs to another owner",
            ModifiedStatus { create: true, .. } => "The object is missing",
            ModifiedStatus { delete: true, .. } => "The object is not part of the bundle",
            _ => "Modified",
        };
        let _ = writeln!(text, "    Status: {status}");
        if !object.patch.is_empty() {
            let parsed: Option<Value> = serde_json::from_str(&object.patch).ok();
            let pretty = parsed.and_then(|patch| serde_json::to_string_pretty(&patch).ok());
            let pretty = pretty.unwrap_or_else(|| object.patch.clone());
            let pretty = pretty.replace('\n', "\n      ");
            let _ = writeln!(text, "    Patch:\n      {pretty}");
        }
    }
    if !diff.non_ready_resources.is_empty() {
        let count = diff.non_ready_resources.len();
        let _ = writeln!(text, "  Non-Ready Resources ({count}):");
    }
    for object in &diff.non_ready_resources {
        let (kind, version) = (&object.kind, &object.api_version);
        let name = full_name(&object.namespace, &object.name);
        let _ = writeln!(text, "    Resource: {kind}.{version} {name}");
        let _ = writeln!(text, "    Status: {}", summary(&object.summary));
    }
    if diff.is_truncated {
        let _ = writeln!(text, "  The agent found more objects than it reports.");
    }
}

fn full_name(namespace: &str, name: &str) -> String {
    match namespace {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}

fn summary(summary: &ObjectSummary) -> String {
    let state = match &*summary.state {
        "" => "Not ready",
        state => state,
    };
    match &summary.message[..] {
        [] => state.to_owned(),
        causes => format!("{state}: {}", causes.join("; ")),
    }
}

/// Returns the entry `diff` for a fleet.yaml: the entry of the Bundle, and the differing fields.
fn fleet_yaml(bundle: &Bundle, modified: &[ModifiedStatus]) -> Result<String, Failure> {
    let own = bundle.spec.options.diff.as_ref();
    let mut patches = own.map_or_else(Vec::new, |own| own.compare_patches.clone());
    for object in modified.iter().filter(|object| !object.patch.is_empty()) {
        let patch: Value = serde_json::from_str(&object.patch).map_err(|error| {
            let name = full_name(&object.namespace, &object.name);
            Failure::Other(format!(
                "cannot read the patch of {} {name}: {error}",
                object.kind
            ))
        })?;
        let mut pointers = Vec::new();
        add_pointers(&patch, "", &mut pointers);
        add_patch(&mut patches, object, pointers);
    }
    let value = json!({ "diff": { "comparePatches": patches } });
    Ok(drover_gitops::targeting::yaml_text(&value))
}

/// Adds the JSON pointers (RFC 6901) of the fields in a JSON merge patch.
fn add_pointers(patch: &Value, parent: &str, pointers: &mut Vec<String>) {
    match patch {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                add_pointers(value, &format!("{parent}/{name}"), pointers);
            }
        }
        _ => pointers.push(parent.to_owned()),
    }
}

/// Adds pointers to the entry of an object. An existing entry keeps its fields.
fn add_patch(patches: &mut Vec<ComparePatch>, object: &ModifiedStatus, pointers: Vec<String>) {
    let is_same = |patch: &ComparePatch| {
        (&patch.api_version, &patch.kind) == (&object.api_version, &object.kind)
            && (&patch.namespace, &patch.name) == (&object.namespace, &object.name)
    };
    let index = patches.iter().position(is_same).unwrap_or_else(|| {
        patches.push(ComparePatch {
            api_version: object.api_version.clone(),
            kind: object.kind.clone(),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
            ..ComparePatch::default()
        });
        patches.len() - 1
    });
    let patch = &mut patches[index];
    for pointer in pointers {
        let is_known = |it: &Operation| it.op == "remove" && it.path == pointer;
        if !patch.operations.iter().any(is_known) {
            patch.operations.push(Operation {
                op: "remove".to_owned(),
                path: pointer.clone(),
                ..Operation::default()
            });
        }
        if !patch.json_pointers.contains(&pointer) {
            patch.json_pointers.push(pointer);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::from_value;

    use super::*;

    fn deployment(status: &Value) -> BundleDeployment {
        from_value(json!({
            "metadata": {
                "name": "shop", "namespace": "cluster-a",
                "labels": { BUNDLE_NAME: "shop", BUNDLE_NAMESPACE: "fleet-default" },
            },
            "spec": {},
            "status": status,
        }))
        .unwrap()
    }

    fn modified(name: &str, extra: &Value) -> Value {
        let mut object =
            json!({ "kind": "ConfigMap", "apiVersion": "v1", "namespace": "shop", "name": name });
        let fields = object.as_object_mut().unwrap();
        fields.extend(extra.as_object().unwrap().clone());
        object
    }

    #[test]
    fn text_shows_each_difference_with_its_cause() {
        let status = json!({
            "incompleteState": true,
            "modifiedStatus": [
                modified("a", &json!({ "patch": "{\"data\":{\"color\":\"red\"}}" })),
                modified("b", &json!({ "missing": true })),
                modified("c", &json!({ "missing": true, "exist": true })),
                modified("d", &json!({ "delete": true })),
            ],
            "nonReadyStatus": [{
                "kind": "Deployment", "apiVersion": "apps/v1", "namespace": "shop", "name": "web",
                "summary": { "state": "in-progress", "message": ["0 of 1\u{1b}[2J ready"] },
            }],
        });
        let ready = deployment(&json!({ "ready": true }));
        let diffs: Vec<Diff> = [deployment(&status), ready]
            .into_iter()
            .filter_map(diff)
            .collect();
        insta::assert_snapshot!(text(&diffs), @r#"
        Bundle: fleet-default/shop
        BundleDeployments with diffs: 1

          BundleDeployment: cluster-a/shop
          Modified Resources (4):
            Resource: ConfigMap.v1 shop/a
            Status: Modified
            Patch:
              {
                "data": {
                  "color": "red"
                }
              }
            Resource: ConfigMap.v1 shop/b
            Status: The object is missing
            Resource: ConfigMap.v1 shop/c
            Status: The object exists and belongs to another owner
            Resource: ConfigMap.v1 shop/d
            Status: The object is not part of the bundle
          Non-Ready Resources (1):
            Resource: Deployment.apps/v1 shop/web
            Status: in-progress: 0 of 1�[2J ready
          The agent found more objects than it reports.
        "#);
    }

    #[test]
    fn fleet_yaml_adds_the_differing_fields_to_the_entries_of_the_bundle() {
        let bundle: Bundle = from_value(json!({
            "metadata": { "name": "shop" },
            "spec": { "diff": { "comparePatches": [
                { "apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "a",
                  "jsonPointers": ["/data/old"] },
            ] } },
        }))
        .unwrap();
        let patch = "{\"data\":{\"a/b\":\"x\"},\"metadata\":{\"labels\":null}}";
        let objects = json!([
            modified("a", &json!({ "patch": patch })),
            modified("b", &json!({ "missing": true }))
        ]);
        let objects: Vec<ModifiedStatus> = from_value(objects).unwrap();
        insta::assert_snapshot!(fleet_yaml(&bundle, &objects).unwrap(), @r"
        diff:
          comparePatches:
          - apiVersion: v1
            jsonPointers:
            - /data/old
            - /data/a~1b
            - /metadata/labels
            kind: ConfigMap
            name: a
            namespace: shop
            operations:
            - op: remove
              path: /data/a~1b
            - op: remove
              path: /metadata/labels
        ");
    }
}
