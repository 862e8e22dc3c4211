use std::collections::BTreeMap;

use drover_api::fleet::{Bundle, GitRepo};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn tree(files: &[(&str, &str)]) -> Tree {
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
    Tree::new(files.collect(), &Limits::default()).unwrap()
}

fn repo(spec: Value) -> GitRepo {
    let mut repo = GitRepo {
        spec: serde_json::from_value(spec).unwrap(),
        ..GitRepo::default()
    };
    repo.metadata.name = Some("repo".to_owned());
    repo.metadata.namespace = Some("fleet-default".to_owned());
    repo
}

fn drafts(spec: Value, files: &[(&str, &str)]) -> Result<Vec<BundleDraft>, ReadError> {
    read_repository(&repo(spec), &tree(files), &Limits::default())
}

fn bundles(spec: Value, files: &[(&str, &str)]) -> Vec<Bundle> {
    let drafts = drafts(spec, files).unwrap().into_iter();
    drafts
        .map(|draft| draft.finish(&BTreeMap::new(), &[]).unwrap())
        .collect()
}

fn names(bundles: &[Bundle]) -> Vec<&str> {
    bundles
        .iter()
        .map(|bundle| bundle.metadata.name.as_deref().unwrap())
        .collect()
}

fn resources(bundle: &Bundle) -> Vec<&str> {
    bundle
        .spec
        .resources
        .iter()
        .map(|resource| resource.name.as_str())
        .collect()
}

fn error(spec: Value, files: &[(&str, &str)]) -> String {
    drafts(spec, files).unwrap_err().to_string()
}

#[test]
fn folder_with_fleet_yaml_is_a_bundle_of_its_own() {
    let files = [
        ("a/x.yaml", "a: 1"),
        ("a/b/fleet.yaml", "name: inner"),
        ("a/b/y.yaml", "b: 1"),
        ("c/z.yaml", "c: 1"),
    ];
    let found = bundles(json!({ "paths": ["a", "/c/"] }), &files);
    assert_eq!(names(&found), ["repo-a", "inner", "repo-c"]);
    assert_eq!(resources(&found[0]), ["b/fleet.yaml", "b/y.yaml", "x.yaml"]);
    assert_eq!(resources(&found[1]), ["y.yaml"]);
}

#[test]
fn paths_can_have_patterns() {
    let files = [
        ("apps/a/x.yaml", ""),
        ("apps/b/x.yaml", ""),
        ("other/x.yaml", ""),
    ];
    assert_eq!(
        names(&bundles(json!({ "paths": ["apps/[a-z]"] }), &files)),
        ["repo-apps-a", "repo-apps-b"]
    );
    assert!(error(json!({ "paths": ["apps/["] }), &files).contains("\"[\""));
    assert!(error(json!({ "paths": ["none/*"] }), &files).contains("spec.paths"));
    assert!(error(json!({ "paths": ["../other"] }), &files).contains("leaves the repository"));
}

#[test]
fn driven_scan_reads_only_the_named_folders_and_files() {
    let files = [
        ("a/prod.yaml", "defaultNamespace: prod"),
        ("a/x.yaml", ""),
        ("a/b/fleet.yaml", ""),
        ("c/y.yaml", ""),
    ];
    let spec = json!({ "bundles": [{ "base": "a", "options": "prod.yaml" }, { "base": "c" }] });
    let found = bundles(spec, &files);
    assert_eq!(names(&found), ["repo-a-prod", "repo-c"]);
    assert_eq!(found[0].spec.options.default_namespace, "prod");
    assert_eq!(resources(&found[0]), ["b/fleet.yaml", "x.yaml"]);
    assert!(
        error(
            json!({ "bundles": [{ "base": "a", "options": "no.yaml" }] }),
            &files
        )
        .contains("a/no.yaml")
    );
    assert!(error(json!({ "bundles": [{ "base": "no" }] }), &files).contains("\"no\""));
}

#[test]
fn hidden_and_ignored_files_are_not_in_the_bundle() {
    let files = [
        (".fleetignore", "*.md  \n# comment\n\ntests/*\n"),
        ("README.md", ""),
        (".hidden/x.yaml", ""),
        ("tests/x.yaml", ""),
        ("sub/tests/y.yaml", ""),
        ("sub/.fleetignore", "z.yaml"),
        ("sub/z.yaml", ""),
        ("z.yaml", ""),
        ("sub/a.md", ""),
        ("sub/keep.yaml", ""),
    ];
    let found = bundles(json!({}), &files);
    assert_eq!(resources(&found[0]), ["sub/keep.yaml", "z.yaml"]);
}

#[test]
fn bundle_with_a_file_that_was_left_out_has_an_error_unless_the_file_is_ignored() {
    let read = |ignored: &str| {
        let files = [
            ("a/x.yaml", ""),
            ("a/.fleetignore", ignored),
            ("b/y.yaml", ""),
        ];
        let rejected = [("a/large.bin", "too large"), ("other/link", "leads out")];
        let rejected = rejected.map(|(path, reason)| (path.to_owned(), reason.to_owned()));
        let tree = tree(&files).with_rejected(rejected.into());
        read_repository(
            &repo(json!({ "paths": ["a", "b"] })),
            &tree,
            &Limits::default(),
        )
    };
    let error = read("*.md").unwrap_err().to_string();
    assert!(
        error.starts_with("cannot use the file \"a/large.bin\": too large"),
        "{error}"
    );
    assert_eq!(read("*.bin").unwrap().len(), 2);
}

#[test]
fn values_files_merge_over_values_and_are_not_resources() {
    let files = [
        (
            "fleet.yaml",
            "helm:\n  chart: chart\n  values: {a: 1, b: {c: 1}}\n  valuesFiles: [v.yaml]\ntargetCustomizations:\n- clusterName: x\n  helm:\n    valuesFiles: [chart/w.yaml]\n",
        ),
        ("v.yaml", "b: {d: 2}"),
        ("chart/Chart.yaml", "name: chart"),
        ("chart/w.yaml", "e: 5"),
    ];
    let found = bundles(json!({}), &files);
    let spec = &found[0].spec;
    let helm = spec.options.helm.as_ref().unwrap();
    assert_eq!(
        helm.values,
        Some(json!({ "a": 1, "b": { "c": 1, "d": 2 } }))
    );
    let custom = spec.targets[0].options.helm.as_ref().unwrap();
    assert_eq!(
        (custom.chart.as_str(), &custom.values),
        ("chart", &Some(json!({ "e": 5 })))
    );
    assert_eq!(resources(&found[0]), ["chart/Chart.yaml"]);
}

#[test]
fn remote_charts_are_listed_and_inserted() {
    let files = [(
        "fleet.yaml",
        "helm:\n  repo: https://charts.example\n  chart: c\n  version: '1.1'\n",
    )];
    let draft = drafts(json!({}), &files).unwrap().remove(0);
    let [
        chart @ Chart::Remote {
            folder, version, ..
        },
    ] = draft.charts()
    else {
        panic!("{:?}", draft.charts());
    };
    assert_eq!(version, "1.1");
    let (chart, folder) = (chart.clone(), folder.clone());
    assert!(draft.clone().finish(&BTreeMap::new(), &[]).is_err());
    let fetched = |path: &str| {
        BTreeMap::from([(
            chart.clone(),
            BTreeMap::from([(path.to_owned(), b"x".to_vec())]),
        )])
    };
    assert!(draft.clone().finish(&fetched("../x"), &[]).is_err());
    let bundle = draft.finish(&fetched("c/Chart.yaml"), &[]).unwrap();
    assert_eq!(resources(&bundle), [format!("{folder}/c/Chart.yaml")]);
}

#[test]
fn missing_chart_and_missing_dependencies_are_reported() {
    let files = [("fleet.yaml", "helm: {chart: ./no}"), ("x.yaml", "")];
    assert!(error(json!({}), &files).contains("./no"));
    let files = [
        (
            "Chart.yaml",
            "dependencies: [{name: d, repository: https://r}]",
        ),
        ("x.yaml", ""),
    ];
    let draft = drafts(json!({}), &files).unwrap().remove(0);
    assert_eq!(
        draft.charts(),
        [Chart::Dependencies {
            folder: String::new()
        }]
    );
}

#[test]
fn dependency_with_an_alias_is_missing_until_each_version_is_there() {
    let chart = "dependencies: [{name: db, version: 1.0.0, alias: old, repository: https://r},\
                 {name: db, version: 2.0.0, alias: new, repository: https://r}]";
    let missing = |others: &[(&str, &str)]| {
        let files = [[("Chart.yaml", chart)].as_slice(), others].concat();
        let found = missing_dependencies(drafts(json!({}), &files).unwrap()[0].files(), "");
        let versions = found.into_iter().map(|it| it.version);
        versions.collect::<Vec<String>>()
    };
    assert_eq!(missing(&[]), ["1.0.0", "2.0.0"]);
    assert_eq!(missing(&[("charts/db-1.0.0.tgz", "x")]), ["2.0.0"]);
    assert_eq!(
        missing(&[("charts/db-other-1.0.0.tgz", "x")]),
        ["1.0.0", "2.0.0"]
    );
    let folder = ("charts/any/Chart.yaml", "{name: db, version: 2.0.0}");
    assert_eq!(missing(&[folder]), ["1.0.0"]);
}

#[test]
fn chart_with_an_exact_version_does_not_satisfy_the_range_of_another_dependency() {
    let missing = |range: &str, others: &[&str]| {
        let chart = format!(
            "dependencies: [{{name: db, version: 1.0.0, alias: old, repository: https://r}},\
             {{name: db, version: '{range}', alias: new, repository: https://r}}]"
        );
        let others: Vec<_> = others.iter().map(|name| (*name, "x")).collect();
        let files = [[("Chart.yaml", &*chart)].as_slice(), &others].concat();
        let found = missing_dependencies(drafts(json!({}), &files).unwrap()[0].files(), "");
        let versions = found.into_iter().map(|it| it.version);
        versions.collect::<Vec<String>>()
    };
    let (old, new) = ("charts/db-1.0.0.tgz", "charts/db-2.1.0.tgz");
    for range in ["^2", "2.x || 3.x"] {
        assert_eq!(missing(range, &[old]), [range]);
        assert!(missing(range, &[old, new]).is_empty(), "{range}");
        assert_eq!(missing(range, &[new]), ["1.0.0"]);
    }
    assert_eq!(
        missing("1.1", &["charts/db-1.0.0.tgz", "charts/db-1.9.0.tgz"]),
        ["1.1"]
    );
    // One archive can satisfy both dependencies.
    assert!(missing("^1", &[old]).is_empty());
}

#[test]
fn equal_dependencies_of_a_chart_with_thousands_of_charts_are_missing_once() {
    let numbers = || (0..3_000).map(|number| number.to_string());
    let list =
        |number: String| format!("- {{name: c{number}, version: 1.0.0, repository: https://r}}\n");
    let mut files = FetchedFiles::new();
    let list: String = numbers().map(list).collect();
    let chart = format!("name: web\ndependencies:\n{list}{list}");
    files.insert("Chart.yaml".to_owned(), chart.into());
    for number in numbers().skip(1) {
        let text = format!("{{name: c{number}, version: 1.0.0}}");
        files.insert(format!("charts/x{number}/Chart.yaml"), text.into());
    }
    // A comparison of each dependency with each chart would take minutes.
    let missing = missing_dependencies(&files, "");
    assert_eq!(
        missing.iter().map(|it| &*it.name).collect::<Vec<_>>(),
        ["c0"]
    );
}

#[test]
fn local_dependencies_are_copied_from_their_folders() {
    let files = [
        ("apps/web/fleet.yaml", "{}"),
        (
            "apps/web/Chart.yaml",
            "dependencies: [{name: lib, repository: file://../../libs/lib},\
             {name: lib, alias: again, repository: file://../../libs/lib},\
             {name: db, repository: https://r}]",
        ),
        (
            "libs/lib/Chart.yaml",
            "{name: lib, dependencies: [{name: base, repository: 'file://../base/'}]}",
        ),
        ("libs/lib/templates/a.yaml", "a"),
        ("libs/lib/.hidden", "a"),
        ("libs/base/Chart.yaml", "name: base"),
    ];
    let draft = drafts(json!({ "paths": ["apps"] }), &files)
        .unwrap()
        .remove(0);
    let paths: Vec<&str> = draft.files().keys().map(String::as_str).collect();
    let expected = [
        "Chart.yaml",
        "charts/lib/Chart.yaml",
        "charts/lib/charts/base/Chart.yaml",
        "charts/lib/templates/a.yaml",
    ];
    assert_eq!(paths, expected);
    let missing = draft.missing_dependencies("");
    assert_eq!(
        missing.iter().map(|it| &*it.name).collect::<Vec<_>>(),
        ["db"]
    );
    let disabled = [(
        "apps/web/fleet.yaml",
        "helm: {disableDependencyUpdate: true}",
    )];
    let files = [&disabled, &files[1..]].concat();
    let draft = drafts(json!({ "paths": ["apps"] }), &files)
        .unwrap()
        .remove(0);
    assert_eq!((draft.files().len(), draft.charts().len()), (1, 0));
}

#[test]
fn local_dependency_cannot_leave_the_repository_or_contain_itself() {
    for (repository, reason) in [
        ("file://../../../etc", "leads out of the repository"),
        ("file:///etc", "relative"),
        ("file://", "relative"),
        ("file://../no", "no folder with a Chart.yaml"),
        ("file://../other", "another name"),
        ("file://.", "depends on itself"),
        ("file://../a", "depends on itself"),
    ] {
        let text = |name| {
            format!("{{name: {name}, dependencies: [{{name: b, repository: '{repository}'}}]}}")
        };
        let (own, other) = (
            text("b"),
            "{name: b, dependencies: [{name: b, repository: 'file://../x'}]}",
        );
        let files = [
            ("x/fleet.yaml", "{}"),
            ("x/Chart.yaml", &own),
            ("a/Chart.yaml", other),
            ("other/Chart.yaml", "name: c"),
        ];
        let error = error(json!({ "paths": ["x"] }), &files);
        assert!(error.contains(reason), "{repository}: {error}");
    }
}

#[test]
fn name_of_a_local_dependency_cannot_lead_out_of_the_folder_charts() {
    for name in ["..", "../../a", ".", "a/b", "a\\b"] {
        let dependency = json!({ "name": name, "repository": "file://../a" });
        let own = json!({ "name": "x", "dependencies": [dependency] }).to_string();
        let other = json!({ "name": name }).to_string();
        let files = [
            ("x/fleet.yaml", "{}"),
            ("x/Chart.yaml", &*own),
            ("a/Chart.yaml", &*other),
        ];
        let error = error(json!({ "paths": ["x"] }), &files);
        assert!(error.contains("the name of a folder"), "{name}: {error}");
    }
}

#[test]
fn credentials_are_sent_only_to_urls_that_match_from_the_start() {
    let sent = |regex, repo| may_send_credential(regex, repo, "chart").unwrap();
    assert!(!sent("", "https://a.example"));
    assert!(sent("https://a\\.example/", "https://a.example/x"));
    assert!(!sent(
        "https://a\\.example/",
        "https://b.example/?https://a.example/"
    ));
    assert!(!sent(
        "https://x/|https://a.example",
        "https://b/https://a.example"
    ));
    assert!(may_send_credential("a)|(b", "", "b").is_err());
}

#[test]
fn errors_name_the_field() {
    let field = |yaml: &str| FleetYaml::parse(yaml.as_bytes()).unwrap_err().to_string();
    assert!(field("helm: {timeoutSeconds: abc}").starts_with("helm.timeoutSeconds:"));
    assert!(
        field("targetCustomizations: [{}, {helm: {force: abc}}]")
            .starts_with("targetCustomizations[1].helm.force:")
    );
    assert!(field("helm: {values: [1]}").starts_with("helm.values:"));
    assert!(field("rolloutStrategy: {partitions: 1}").starts_with("rolloutStrategy.partitions:"));
    assert!(field("dependsOn: [{}]").starts_with("dependsOn[0]:"));
    assert!(field("dependsOn: [{name: a, acceptedStates: [Good]}]").contains("Good"));
    assert!(field("name: A_b").starts_with("name:"));
    assert!(field("a: [").contains("YAML"));
    assert!(field("- a").contains("object"));
}

#[test]
fn number_in_place_of_a_text_is_an_error() {
    let error = FleetYaml::parse(b"helm: {version: 1.10}")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("helm.version:") && error.contains("string"),
        "{error}"
    );
}

#[test]
fn bundles_with_the_same_name_are_an_error() {
    let files = [
        ("a/fleet.yaml", "name: same"),
        ("a/x.yaml", ""),
        ("b/fleet.yaml", "name: same"),
        ("b/x.yaml", ""),
    ];
    let text = error(json!({}), &files);
    assert!(text.contains("\"a\"") && text.contains("\"b\""), "{text}");
}

#[test]
fn large_bundles_are_compressed() {
    let large = "a".repeat(999_000);
    let found = bundles(json!({}), &[("x.yaml", &large)]);
    assert_eq!(found[0].spec.resources[0].encoding, "");
    let large = "a".repeat(1_000_000);
    let found = bundles(json!({}), &[("x.yaml", &large)]);
    assert_eq!(found[0].spec.resources[0].encoding, "base64+gz");
}

#[test]
fn unchanged_compressed_files_keep_their_bytes() {
    let files = BTreeMap::from([("x.bin".to_owned(), vec![0xff; 100])]);
    let tree = Tree::new(files, &Limits::default()).unwrap();
    let draft = read_repository(
        &repo(json!({ "bundles": [{ "base": "" }] })),
        &tree,
        &Limits::default(),
    );
    let draft = draft.unwrap().remove(0);
    let bundle = draft.clone().finish(&BTreeMap::new(), &[]).unwrap();
    let mut other = bundle.spec.resources.clone();
    // The byte after the compression method and the flags is a part of the time.
    other[0].content.replace_range(6..7, "B");
    let kept = draft.clone().finish(&BTreeMap::new(), &other).unwrap();
    assert_eq!(kept.spec.resources, other);
    other[0].name = "y.bin".to_owned();
    assert_eq!(draft.finish(&BTreeMap::new(), &other).unwrap(), bundle);
}

#[test]
fn nested_bundles_and_patterns_over_limits_are_rejected() {
    let limits = Limits {
        bundle_bytes: 25,
        ..Limits::default()
    };
    let files = [
        ("a/fleet.yaml", ""),
        ("a/b/fleet.yaml", ""),
        ("a/b/x.yaml", "0123456789abcdef"),
    ];
    let error = read_repository(&repo(json!({})), &tree(&files), &limits).unwrap_err();
    assert!(error.to_string().contains("25 bytes"), "{error}");
    let patterns = "x\n".repeat(1001);
    assert!(error_of(&[(".fleetignore", &patterns), ("x.yaml", "")]).contains("patterns"));
    let files = format!(
        "helm: {{chart: c, valuesFiles: [{}]}}",
        "v.yaml,".repeat(201)
    );
    assert!(error_of(&[("fleet.yaml", &files), ("c/v.yaml", "")]).contains("values files"));
    let values = format!("a: {}", "b".repeat(1 << 20));
    let yaml = "helm: {chart: c, valuesFiles: [v.yaml]}";
    assert!(
        error_of(&[("fleet.yaml", yaml), ("c/x.yaml", ""), ("v.yaml", &values)]).contains("v.yaml")
    );
}

fn error_of(files: &[(&str, &str)]) -> String {
    error(json!({}), files)
}

#[test]
fn trees_with_paths_outside_or_over_limits_are_rejected() {
    let limits = Limits {
        files: 2,
        bytes: 10,
        depth: 3,
        bundles: 1,
        bundle_bytes: 10,
    };
    let new = |files: &[(&str, usize)]| {
        let files = files
            .iter()
            .map(|(path, size)| ((*path).to_owned(), vec![b'a'; *size]));
        Tree::new(files.collect(), &limits).map(|_| ())
    };
    assert_eq!(new(&[("a/b/c", 1)]), Ok(()));
    assert!(matches!(
        new(&[("a/b/c/d", 1)]),
        Err(TreeError::Depth { .. })
    ));
    assert_eq!(
        new(&[("a", 1), ("b", 1), ("c", 1)]),
        Err(TreeError::Files(2))
    );
    assert_eq!(new(&[("a", 11)]), Err(TreeError::Bytes(10)));
    for path in ["../a", "/a", "a/../b", "a//b", "./a", ""] {
        assert!(
            matches!(new(&[(path, 1)]), Err(TreeError::Outside(_))),
            "{path}"
        );
    }
}

proptest! {
    #[test]
    fn any_fleet_yaml_is_parsed_without_panic(text in "\\PC{0,60}") {
        let _ = FleetYaml::parse(text.as_bytes());
    }

    #[test]
    fn star_matches_each_name_and_literals_match_themselves(name in "[a-z.-]{1,12}", pattern in "\\PC{0,12}") {
        prop_assert_eq!(matches("*", &name), Ok(true));
        prop_assert_eq!(matches(&name, &name), Ok(true));
        let _ = matches(&pattern, &name);
    }
}

#[test]
fn repository_cannot_replace_the_service_account_of_its_git_repo() {
    let fleet = "serviceAccount: other\ntargetCustomizations:\n- {clusterSelector: {}, serviceAccount: '-'}\n\
                 - {clusterSelector: {}, serviceAccount: admin}\n";
    let files = [("fleet.yaml", fleet), ("x.yaml", "")];
    let found = bundles(json!({ "serviceAccount": "team-a" }), &files);
    let spec = &found[0].spec;
    assert_eq!(spec.options.service_account, "team-a");
    assert_eq!(spec.targets[0].options.service_account, "team-a");
    assert_eq!(spec.targets[1].options.service_account, "team-a");
}

#[test]
fn repository_cannot_give_a_bundle_another_owner() {
    let fleet = "labels: {fleet.cattle.io/repo-name: other, team: web}\n";
    let found = bundles(json!({}), &[("fleet.yaml", fleet), ("x.yaml", "")]);
    let labels = found[0].metadata.labels.clone().unwrap();
    assert_eq!(labels[drover_api::fleet::labels::REPO_NAME], "repo");
    assert_eq!(labels["team"], "web");
}

#[test]
fn repository_cannot_give_a_bundle_the_label_of_a_helm_op() {
    let fleet = "labels: {fleet.cattle.io/fleet-helm-name: other}\n";
    let found = bundles(json!({}), &[("fleet.yaml", fleet), ("x.yaml", "")]);
    let labels = found[0].metadata.labels.as_ref().unwrap();
    assert!(!labels.contains_key(drover_api::fleet::labels::HELM_OP_NAME));
}

#[test]
fn bundles_of_local_folders_have_the_placement_and_no_label_of_a_git_repo() {
    let files = [
        ("a/x.yaml", "a: 1"),
        ("b/fleet.yaml", "labels: {app: b}\noverrideTargets: []"),
        ("b/x.yaml", ""),
    ];
    let placement = Placement::parse(
        b"targets: [{clusterName: one, defaultNamespace: shop}]\ntargetRestrictions: [{clusterName: one}]",
    )
    .unwrap();
    let read = |placement: &Placement, compression| {
        let options = repo(json!({ "paths": ["a", "b"], "serviceAccount": "deployer" }));
        let drafts = read_folders(&options, placement, &tree(&files), &Limits::default()).unwrap();
        let finished = drafts.into_iter().map(|draft| {
            let draft = draft.compressed(compression);
            draft.finish(&BTreeMap::new(), &[]).unwrap()
        });
        finished.collect::<Vec<_>>()
    };
    let found = read(&placement, Compression::Large);
    assert_eq!(names(&found), ["repo-a", "repo-b"]);
    let [first, second] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(first.metadata.labels, None);
    assert_eq!(first.spec.options.service_account, "deployer");
    assert_eq!(first.spec.targets, placement.targets);
    assert_eq!(first.spec.target_restrictions, placement.restrictions);
    assert_eq!(second.metadata.labels.as_ref().unwrap().len(), 1);
    assert_eq!(second.spec.target_restrictions, []);
    // Without a placement, a bundle has Fleet's default target.
    let found = read(&Placement::default(), Compression::All);
    assert_eq!(found[0].spec.targets[0].cluster_group, "default");
    assert_eq!(found[0].spec.target_restrictions, []);
    assert_eq!(found[0].spec.resources[0].encoding, "base64+gz");
    for wrong in [
        "targets: 1",
        "[]",
        "targets: [{helm: 1}]",
        "targetRestrictions: {}",
    ] {
        assert!(Placement::parse(wrong.as_bytes()).is_err(), "{wrong}");
    }
}
