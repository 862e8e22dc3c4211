//! The bundles of the benchmark.

use drover_api::fleet::Bundle;
use drover_api::gitops::FLEET_NAMESPACE;
use serde_json::{Value, json};

/// Namespace of the deployed objects in each cluster.
pub(in crate::gitops) const NAMESPACE: &str = "bench";
/// Name of the bundle with the large chart.
pub(super) const LARGE: &str = "large";
/// Number of objects in the large chart.
pub(super) const LARGE_OBJECTS: u32 = 1000;
/// Label of Clusters for which [`one_config_map`] has other options.
pub(super) const TIER: &str = "tier";

/// The content of the bundles of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// One ConfigMap in a YAML file.
    ConfigMap,
    /// A chart with a constant ConfigMap and a ConfigMap that contains values of the cluster.
    Chart,
}

impl Content {
    const fn prefix(self) -> &'static str {
        match self {
            Self::ConfigMap => "map",
            Self::Chart => "chart",
        }
    }

    /// Returns the name of a bundle, which is also the name of its ConfigMap.
    pub(super) fn name(self, number: u32) -> String {
        format!("{}-{number:03}", self.prefix())
    }

    /// Returns bundles for all clusters.
    pub(super) fn bundles(self, count: u32) -> Vec<Bundle> {
        (0..count).map(|number| self.bundle(number, "1")).collect()
    }

    fn bundle(self, number: u32, version: &str) -> Bundle {
        let name = self.name(number);
        let resources = self.resources(number, version);
        let everywhere = json!([{ "clusterSelector": {} }]);
        match self {
            Self::ConfigMap => bundle(&name, &resources, &json!({}), &everywhere),
            Self::Chart => {
                let values = json!({ "values": {
                    "cluster": "${ .ClusterName }",
                    "region": "region-of-${ .ClusterName }",
                } });
                bundle(&name, &resources, &values, &everywhere)
            }
        }
    }

    /// Returns the files of a bundle. `version` is in the data of the bundle's ConfigMap.
    pub(super) fn resources(self, number: u32, version: &str) -> Value {
        let name = self.name(number);
        match self {
            Self::ConfigMap => json!([config_map(&name, version)]),
            Self::Chart => json!([
                chart(&name),
                config_map_in(
                    &format!("templates/{name}.yaml"),
                    &name,
                    &[("version", version),]
                ),
                config_map_in(
                    "templates/cluster.yaml",
                    &format!("{name}-cluster"),
                    &[
                        ("cluster", "{{ .Values.cluster }}"),
                        ("region", "{{ .Values.region }}"),
                    ]
                ),
            ]),
        }
    }
}

/// Returns a bundle with one ConfigMap for all clusters. Clusters with the label [`TIER`] have other
/// options.
pub(super) fn one_config_map() -> Bundle {
    let resources = json!([config_map("one", "1")]);
    let targets = json!([
        { "name": "tier", "clusterSelector": { "matchLabels": { TIER: "gold" } },
          "defaultNamespace": "gold" },
        { "name": "all", "clusterSelector": {} },
    ]);
    bundle("one", &resources, &json!({}), &targets)
}

/// Returns a bundle with a chart of [`LARGE_OBJECTS`] ConfigMaps for one cluster.
pub(super) fn large(cluster: &str) -> Bundle {
    let template = format!(
        "{{{{- range $number := until {LARGE_OBJECTS} }}}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  \
         name: large-{{{{ $number }}}}\ndata:\n  number: {{{{ $number | quote }}}}\n  \
         text: {{{{ repeat 20 \"configuration \" | quote }}}}\n{{{{- end }}}}\n"
    );
    let resources = json!([
        chart(LARGE),
        { "name": "templates/large.yaml", "content": template },
    ]);
    bundle(
        LARGE,
        &resources,
        &json!({}),
        &json!([{ "clusterName": cluster }]),
    )
}

fn bundle(name: &str, resources: &Value, helm: &Value, targets: &Value) -> Bundle {
    let bundle = json!({
        "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Bundle",
        "metadata": { "name": name, "namespace": FLEET_NAMESPACE },
        "spec": {
            "defaultNamespace": NAMESPACE, "resources": resources, "helm": helm, "targets": targets,
        },
    });
    serde_json::from_value(bundle).expect("the JSON is constant except for names")
}

fn chart(name: &str) -> Value {
    let text = format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n");
    json!({ "name": "Chart.yaml", "content": text })
}

fn config_map(name: &str, version: &str) -> Value {
    config_map_in(&format!("{name}.yaml"), name, &[("version", version)])
}

fn config_map_in(file: &str, name: &str, data: &[(&str, &str)]) -> Value {
    let mut text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n");
    for (key, value) in data {
        text.extend(["  ", *key, ": \"", *value, "\"\n"]);
    }
    json!({ "name": file, "content": text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bundle_of_the_benchmark_has_different_files() {
        for content in [Content::ConfigMap, Content::Chart] {
            let [first, second] = &content.bundles(2)[..] else {
                panic!("two bundles")
            };
            assert_ne!(first.spec.resources, second.spec.resources);
            assert_eq!(first.metadata.name, Some(content.name(0)));
        }
        assert_eq!(one_config_map().spec.targets.len(), 2);
        assert!(
            large("a").spec.resources[1]
                .content
                .contains("until 1000 }}\n---")
        );
    }
}
