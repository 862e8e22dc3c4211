use std::fs;

use clap::Parser as _;
use drover_gitops::fleet_yaml::read_repository;

use super::*;
use crate::args::{ClientArgs, ClientCommand};

fn parsed(args: &[&str]) -> FleetApply {
    let args = ["drover", "fleet", "apply"].iter().chain(args);
    let args = ClientArgs::try_parse_from(args).unwrap();
    let ClientCommand::Fleet(FleetArgs {
        command: FleetCommand::Apply(mut apply),
        ..
    }) = args.command
    else {
        panic!("another command");
    };
    // The variables of the machine must not affect a test.
    apply.folder.options.commit = Some("c1".to_owned());
    *apply
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn read(root: &Path, args: &[&str]) -> Result<Vec<Bundle>, String> {
    read_with(root, args, None)
}

fn read_with(root: &Path, args: &[&str], program: Option<&Path>) -> Result<Vec<Bundle>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let args = parsed(args);
    check_flags(&args).map_err(|error| error.text())?;
    let read = bundles(&args.folder, root, program);
    runtime
        .unwrap()
        .block_on(read)
        .map_err(|error| error.text())
}

/// Returns the names of bundles with the names of their files.
fn names(bundles: &[Bundle]) -> Vec<(&str, Vec<&str>)> {
    bundles
        .iter()
        .map(|bundle| {
            let files = bundle.spec.resources.iter().map(|it| &*it.name).collect();
            (bundle.metadata.name.as_deref().unwrap(), files)
        })
        .collect()
}

#[test]
fn bundles_of_a_folder_equal_the_bundles_of_a_repository() {
    let files = [
        (
            "shop/fleet.yaml",
            "helm:\n  chart: .\n  valuesFiles: [../common/values.yaml]\nlabels: {app: shop}\n",
        ),
        ("shop/Chart.yaml", "name: shop\nversion: 1.0.0\n"),
        ("shop/templates/a.yaml", "kind: ConfigMap\n"),
        ("shop/.hidden", "x"),
        ("shop/notes.txt", "x"),
        ("shop/.fleetignore", "notes.txt\n"),
        ("shop/.git/config", "x"),
        ("common/values.yaml", "color: red\n"),
        ("other/x.yaml", "kind: Secret\n"),
    ];
    let local = folder(&files);
    let args = [
        "repo",
        "shop",
        "-l",
        "env=test",
        "--paused",
        "-a",
        "deployer",
        "--sync-generation",
        "3",
        "--target-namespace",
        "n",
        "--keep-resources",
        "--delete-namespace",
        "--correct-drift",
        "--correct-drift-force",
    ];
    let found = read(local.path(), &args).unwrap();
    assert_eq!(
        names(&found),
        [("repo-shop", vec!["Chart.yaml", "templates/a.yaml"])]
    );

    let repo: GitRepo = serde_json::from_value(serde_json::json!({
        "metadata": { "name": "repo", "namespace": "fleet-default", "labels": { "env": "test" } },
        "spec": { "paths": ["shop"], "paused": true, "serviceAccount": "deployer",
                  "forceSyncGeneration": 3, "targetNamespace": "n", "keepResources": true,
                  "deleteNamespace": true, "correctDrift": { "enabled": true, "force": true } },
        "status": { "commit": "c1" },
    }))
    .unwrap();
    let committed = files.iter().filter(|(path, _)| !path.contains("/.git/"));
    let committed = committed.map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
    let limits = Limits::default();
    let tree = Tree::new(committed.collect(), &limits).unwrap();
    let draft = read_repository(&repo, &tree, &limits).unwrap().remove(0);
    let mut expected = draft.finish(&BTreeMap::new(), &[]).unwrap();
    // Only the server's bundles belong to a GitRepo, and have its targets as restrictions.
    let labels = expected.metadata.labels.as_mut().unwrap();
    assert_eq!(labels.remove(REPO_NAME).as_deref(), Some("repo"));
    expected.spec.target_restrictions.clear();
    assert_eq!(found, [expected]);
}

#[test]
fn paths_select_folders_and_driven_scans_select_options_files() {
    let local = folder(&[
        ("apps/a/x.yaml", ""),
        ("apps/b/fleet.yaml", "name: inner"),
        ("apps/b/y.yaml", ""),
        (
            "base/prod.yaml",
            "helm:\n  valuesFiles: [../apps/a/x.yaml]\n",
        ),
        ("base/z.yaml", ""),
    ]);
    let found = read(local.path(), &["s", "apps/*"]).unwrap();
    assert_eq!(
        names(&found),
        [("s-apps-a", vec!["x.yaml"]), ("inner", vec!["y.yaml"])]
    );
    let absolute = local.path().join("apps/a");
    let found = read(local.path(), &["s", absolute.to_str().unwrap()]).unwrap();
    assert_eq!(names(&found), [("s-apps-a", vec!["x.yaml"])]);
    let found = read(local.path(), &["s", "--driven-scan", "base:prod.yaml"]).unwrap();
    assert_eq!(names(&found), [("s-base-prod", vec!["z.yaml"])]);
    for (args, reason) in [
        (&["s", "../x"][..], "leaves the current folder"),
        (&["s", "/etc"], "not below the current folder"),
        (&["s", "none"], "correct PATH"),
        (&["s", "--driven-scan", "a:b:c"], "FOLDER:FILE"),
        (&["s", "--driven-scan", "base:none.yaml"], "base/none.yaml"),
        (&["s", "-l", "fleet.cattle.io/repo-name=r"], "GitRepo"),
        (&["s", "-f", "x"], "does not support the flag --file"),
        (&["s", "--ssh-privatekey-file", "k"], "git repositories"),
    ] {
        let error = read(local.path(), args).unwrap_err();
        assert!(error.contains(reason), "{args:?}: {error}");
    }
}

#[test]
fn local_dependency_of_a_chart_is_read_outside_of_the_path() {
    let local = folder(&[
        (
            "a/Chart.yaml",
            "dependencies: [{name: lib, repository: 'file://../libs/lib'}]",
        ),
        ("libs/lib/Chart.yaml", "name: lib"),
        ("other/x.yaml", ""),
    ]);
    let found = read(local.path(), &["s", "a"]).unwrap();
    let expected = vec!["Chart.yaml", "charts/lib/Chart.yaml"];
    assert_eq!(names(&found), [("s-a", expected)]);
}

#[cfg(target_os = "linux")]
#[test]
fn charts_outside_of_the_folder_need_drover_render_and_an_expression_for_credentials() {
    let local = folder(&[
        (
            "a/fleet.yaml",
            "helm: {repo: 'https://127.0.0.1:1', chart: c}",
        ),
        (
            "b/fleet.yaml",
            "helm: {chart: 'git::https://u:p@git.example/x.git//c'}",
        ),
        ("password", "secret"),
        ("paths.yaml", "a: {username: u, password: secret"),
    ]);
    let error = read(local.path(), &["s", "a"]).unwrap_err();
    assert!(
        error.contains("s-a") && error.contains("drover-render"),
        "{error}"
    );
    let file = |name: &str| local.path().join(name).to_str().unwrap().to_owned();
    let (password, paths) = (file("password"), file("paths.yaml"));
    let program = Path::new("/no/drover-render");
    for (args, reason) in [
        (&["s", "a"][..], "cannot start /no/drover-render"),
        (&["s", "b"], "https://git.example/x.git is a git repository"),
        (&["s", "a", "--username", "u"], "needs --password-file"),
        (
            &["s", "a", "--password-file", &password],
            "needs --username",
        ),
        (
            &["s", "a", "--username", "u", "--password-file", &password],
            "--helm-repo-url-regex",
        ),
        (
            &["s", "a", "--helm-credentials-by-path-file", &paths],
            "is not valid",
        ),
        (
            &["s", "a", "--cacerts-file", "/no/file"],
            "cannot read /no/file",
        ),
        (
            &["s", "a", "--helm-repo-url-regex", "("],
            "--helm-repo-url-regex",
        ),
    ] {
        let error = read_with(local.path(), args, Some(program)).unwrap_err();
        assert!(error.contains(reason), "{args:?}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn values_file_and_options_cannot_leave_the_current_folder() {
    let outer = folder(&[
        ("secret.yaml", "password: x"),
        (
            "root/a/fleet.yaml",
            "helm:\n  chart: .\n  valuesFiles: [../../secret.yaml]\n",
        ),
        ("root/a/x.yaml", ""),
    ]);
    let error = read(&outer.path().join("root"), &["s", "a"]).unwrap_err();
    assert!(error.contains("leaves the repository"), "{error}");
}

#[cfg(unix)]
#[test]
fn symbolic_link_is_read_only_if_it_leads_to_a_file_below_the_current_folder() {
    use std::os::unix::fs::symlink;

    let outer = folder(&[
        ("secret.yaml", "password: x"),
        ("root/common/x.yaml", "a: 1"),
        ("root/a/y.yaml", ""),
    ]);
    let root = outer.path().join("root");
    symlink("../common/x.yaml", root.join("a/inside.yaml")).unwrap();
    for (target, reason) in [
        ("../../secret.yaml", "leads out of the current folder"),
        ("/etc/passwd", "leads out of the current folder"),
        ("../common", "leads to a folder"),
        ("link", "does not exist"),
        ("none", "does not exist"),
    ] {
        let link = root.join("a/link");
        symlink(target, &link).unwrap();
        let error = read(&root, &["s", "a"]).unwrap_err();
        assert!(
            error.contains("a/link") && error.contains(reason),
            "{error}"
        );
        fs::remove_file(&link).unwrap();
    }
    let found = read(&root, &["s", "a"]).unwrap();
    assert_eq!(names(&found), [("s-a", vec!["inside.yaml", "y.yaml"])]);
    assert_eq!(found[0].spec.resources[0].content, "a: 1");
    // Also a folder of the path must be below the current folder.
    symlink("..", root.join("out")).unwrap();
    let error = read(&root, &["s", "out"]).unwrap_err();
    assert!(error.contains("leads out of the current folder"), "{error}");
}

#[test]
fn files_above_the_limits_are_rejected_before_they_are_read() {
    let local = folder(&[
        ("a/x.yaml", "12345"),
        ("a/y.yaml", "12345"),
        ("b/c/z.yaml", ""),
    ]);
    let limits = Limits {
        files: 2,
        bytes: 9,
        depth: 2,
        ..Limits::default()
    };
    let add = |limits: Limits, path: &str| {
        let mut files = LocalFiles::open(local.path(), &limits).unwrap();
        files.add(path, "").map_err(|error| error.text())
    };
    assert!(add(limits, "a").unwrap_err().contains("9 bytes"));
    let bytes = 10;
    assert_eq!(add(Limits { bytes, ..limits }, "a"), Ok(()));
    let limits = Limits { bytes, ..limits };
    assert!(
        add(Limits { files: 1, ..limits }, "a")
            .unwrap_err()
            .contains("1 files")
    );
    assert!(
        add(Limits { depth: 1, ..limits }, "b")
            .unwrap_err()
            .contains("folders")
    );
}

#[test]
fn printed_bundles_are_yaml_documents_with_the_values_and_targets() {
    let local = folder(&[
        ("a/fleet.yaml", "helm:\n  values: {on: \"yes\", port: 80}\n"),
        ("a/x.yaml", "kind: ConfigMap\ndata: {}\n"),
        ("b/y.yaml", "{}"),
        (
            "targets.yaml",
            "targets: [{clusterName: one}]\ntargetRestrictions: [{clusterName: one}]\n",
        ),
    ]);
    let targets = local.path().join("targets.yaml");
    let targets = targets.to_str().unwrap();
    let found = read(local.path(), &["s", "a", "b", "--targets-file", targets]).unwrap();
    let found_json: Vec<Value> = found.iter().map(|bundle| json!(bundle)).collect();
    let text = documents(&found_json);
    insta::assert_snapshot!(text);
    let documents = text.split("---\n");
    let again: Vec<Bundle> = documents
        .map(|text| serde_saphyr::from_str(text).unwrap())
        .collect();
    assert_eq!(again, found);
    let file = local.path().join("out/bundles.yaml");
    write(&file, &text).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}
