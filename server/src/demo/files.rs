//! The files of the example repository, which the folder `server/demo-repository` contains.

/// Embeds files of the folder `server/demo-repository`.
macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../demo-repository/", $path)))),+]
    };
}

/// Paths and contents of all files.
pub(super) const FILES: &[(&str, &str)] = files![
    "README.md",
    "chart/Chart.yaml",
    "chart/fleet.yaml",
    "chart/templates/configmap.yaml",
    "chart/templates/deployment.yaml",
    "chart/values.yaml",
    "fails/README.md",
    "fails/configmap.yaml",
    "fails/fleet.yaml",
    "kustomize/base/deployment.yaml",
    "kustomize/base/kustomization.yaml",
    "kustomize/fleet.yaml",
    "kustomize/overlays/dev/kustomization.yaml",
    "kustomize/overlays/prod/kustomization.yaml",
    "plain/configmap.yaml",
    "plain/deployment.yaml",
    "plain/fleet.yaml",
];

/// Folders of the repository that become bundles.
pub(super) const BUNDLES: [&str; 4] = ["plain", "kustomize", "chart", "fails"];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn collect(folder: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, root, found);
            } else {
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }

    #[test]
    fn server_embeds_every_file_of_the_example_repository() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo-repository");
        let mut found = Vec::new();
        collect(&root, &root, &mut found);
        found.sort();
        let embedded: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
        assert_eq!(embedded, found);
    }

    #[test]
    fn each_bundle_has_a_fleet_yaml() {
        for bundle in BUNDLES {
            let path = format!("{bundle}/fleet.yaml");
            assert!(FILES.iter().any(|(file, _)| *file == path), "{path}");
        }
    }
}
