use std::collections::BTreeMap;
use std::path::Path;

use drover_api::fleet::{BundleSpec, GitRepo};
use drover_gitops::fleet_yaml::{Limits, Tree, read_repository};
use drover_gitops::ids::{Manifest, bundle_values, go_json};
use serde::Deserialize;
use serde_json::Value;

use crate::{folder, read};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expected {
    name: String,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    spec: BundleSpec,
    #[serde(rename = "contentID")]
    content_id: String,
    values_hash: String,
}

fn add_files(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_files(root, &path, files);
        } else {
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
}

#[test]
fn bundles_of_repositories_equal_fleet() {
    let mut seen = 0;
    for entry in std::fs::read_dir(folder().join("repositories")).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        seen += 1;
        let name = path.file_name().unwrap().to_str().unwrap();
        let repo: GitRepo = read(&format!("repositories/{name}.json"));
        let mut files = BTreeMap::new();
        add_files(&path, &path, &mut files);
        let tree = Tree::new(files, &Limits::default()).unwrap();
        let drafts = read_repository(&repo, &tree, &Limits::default());
        let expected: Value = read(&format!("expected/bundles-{name}.json"));
        if expected == "error" {
            assert!(drafts.is_err(), "{name}");
            continue;
        }
        let expected: Vec<Expected> = serde_json::from_value(expected).unwrap();
        let mut bundles: Vec<_> = drafts
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .into_iter()
            .map(|draft| draft.finish(&BTreeMap::new(), &[]).unwrap())
            .collect();
        bundles.sort_by_key(|bundle| bundle.metadata.name.clone());
        assert_eq!(bundles.len(), expected.len(), "{name}");
        for (bundle, expected) in bundles.iter().zip(expected) {
            let metadata = &bundle.metadata;
            assert_eq!(metadata.name.as_ref(), Some(&expected.name));
            assert_eq!(metadata.labels, expected.labels);
            assert_eq!(metadata.annotations, expected.annotations);
            assert_eq!(
                go_json::to_string(&bundle.spec),
                go_json::to_string(&expected.spec),
                "{name}"
            );
            let resources = bundle.spec.resources.clone();
            assert_eq!(Manifest { resources }.id(), expected.content_id);
            assert_eq!(bundle_values(bundle).hash, expected.values_hash);
        }
    }
    assert!(seen >= 5, "{seen}");
}
