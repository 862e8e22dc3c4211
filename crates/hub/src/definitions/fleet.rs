//! The definitions of the kinds of `fleet.cattle.io/v1alpha1`.
//!
//! The files in `fleet-definitions` contain Fleet's schemas without descriptions. The program in
//! `fleet-definitions/generate` writes the files.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(include_str!(concat!("../../fleet-definitions/", $name, ".json"))),*]
    };
}

const FILES: [&str; 14] = files![
    "bundledeployments",
    "bundlenamespacemappings",
    "bundles",
    "clustergroups",
    "clusterregistrations",
    "clusterregistrationtokens",
    "clusters",
    "contents",
    "gitreporestrictions",
    "gitrepos",
    "helmops",
    "imagescans",
    "policies",
    "schedules",
];

/// Returns the definitions of all kinds of Fleet.
pub(super) fn definitions() -> Vec<CustomResourceDefinition> {
    let parse = |text| serde_json::from_str(text).expect("a test parses each file");
    FILES.into_iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use kube::ResourceExt as _;

    use super::*;

    #[test]
    fn each_file_defines_a_namespaced_kind_of_fleet_except_content() {
        for definition in definitions() {
            let spec = &definition.spec;
            assert_eq!(
                definition.name_any(),
                format!("{}.fleet.cattle.io", spec.names.plural)
            );
            let versions: Vec<&str> = spec.versions.iter().map(|version| &*version.name).collect();
            assert_eq!(versions, ["v1alpha1"], "{}", spec.names.kind);
            let scope = if spec.names.kind == "Content" {
                "Cluster"
            } else {
                "Namespaced"
            };
            assert_eq!(spec.scope, scope, "{}", spec.names.kind);
        }
    }
}
