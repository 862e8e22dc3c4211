//! The bundles of the recipe. Each bundle has one ConfigMap with the name of the bundle.

use serde_json::{Value, json};

/// Namespace of the bundles on the hub.
pub(super) const NAMESPACE: &str = "fleet-default";
/// Label of the cluster, which the bundles select.
pub(super) const LABEL: &str = "compat";
/// Namespace of the objects in the cluster.
pub(super) const DEPLOYED: &str = "compat";

/// Returns a bundle with a YAML file, whose drift the agent corrects.
pub(super) fn plain() -> Value {
    yaml("plain", &json!({ "correctDrift": { "enabled": true } }))
}

/// Returns a bundle with a YAML file, whose drift the agent reports.
pub(super) fn reported() -> Value {
    yaml("reported", &json!({}))
}

/// Returns a bundle whose files are in an OCI registry, and the Secret with the registry.
pub(super) fn in_registry() -> [Value; 2] {
    let id = "s-0123456789abcdef";
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": id, "namespace": NAMESPACE },
        "type": "fleet.cattle.io/bundle-oci-storage/v1alpha1",
        "stringData": { "reference": "registry.invalid/bundles" },
    });
    let bundle = bundle("registry", &json!([]), &json!({ "contentsId": id }));
    [secret, bundle]
}

fn yaml(name: &str, options: &Value) -> Value {
    let content = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name },
        "data": { "color": "green" },
    });
    let file = json!([{ "name": format!("{name}.yaml"), "content": content.to_string() }]);
    bundle(name, &file, options)
}

/// Returns a bundle with a chart, whose values contain a label of the cluster.
pub(super) fn chart(color: &str) -> Value {
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: chart}\n\
                    data: {color: {{ .Values.color | quote }}, label: {{ .Values.label | quote }}}\n";
    let files = json!([
        { "name": "Chart.yaml", "content": "apiVersion: v2\nname: chart\nversion: 1.0.0\n" },
        { "name": "templates/chart.yaml", "content": template },
    ]);
    let values = json!({ "color": color, "label": "${ .ClusterLabels.compat }" });
    let options = json!({ "helm": { "releaseName": "chart", "values": values } });
    bundle("chart", &files, &options)
}

fn bundle(name: &str, resources: &Value, options: &Value) -> Value {
    let mut bundle = json!({
        "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Bundle",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": {
            "defaultNamespace": DEPLOYED, "resources": resources,
            "targets": [{ "clusterSelector": { "matchLabels": { LABEL: "true" } } }],
        },
    });
    for (key, option) in options.as_object().into_iter().flatten() {
        bundle["spec"][key] = option.clone();
    }
    bundle
}
