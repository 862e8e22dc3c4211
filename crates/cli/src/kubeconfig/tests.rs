use std::os::unix::fs::PermissionsExt;

use super::*;

const OLD: &str = "\
apiVersion: v1
kind: Config
current-context: mine
preferences: {colors: true}
clusters:
- name: mine
  cluster: {server: https://mine.example, extensions: [{name: x, extension: {a: 1}}]}
- name: berlin
  cluster: {server: https://old.example}
users:
- name: mine
  user: {token: topsecret}
contexts:
- name: mine
  context: {cluster: mine, user: mine}
";

const NEW: &str = "\
apiVersion: v1
kind: Config
current-context: berlin
clusters:
- name: berlin
  cluster: {server: https://new.example/k8s/clusters/berlin}
users:
- name: drover-berlin
  user: {exec: {command: drover, args: [credential]}}
contexts:
- name: berlin
  context: {cluster: berlin, user: drover-berlin}
";

fn merged(old: &str, new: &str) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/config");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    std::fs::write(&path, old).unwrap();
    assert_eq!(merge_into(&path, new, true).unwrap(), ["berlin"]);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    serde_saphyr::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()
}

#[test]
fn kubeconfig_overwrite_replaces_only_entries_with_equal_names() {
    let result = merged(OLD, NEW);
    let before: Value = serde_saphyr::from_str(OLD).unwrap();
    assert_eq!(result["current-context"], "mine");
    assert_eq!(result["preferences"], before["preferences"]);
    assert_eq!(result["clusters"][0], before["clusters"][0]);
    assert_eq!(
        result["clusters"][1]["cluster"]["server"],
        "https://new.example/k8s/clusters/berlin"
    );
    assert_eq!(result["users"].as_array().unwrap().len(), 2);
    assert_eq!(result["contexts"].as_array().unwrap().len(), 2);
}

#[test]
fn kubeconfig_entry_for_a_different_server_is_not_replaced_without_overwrite() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config");
    let theirs = "\
users:
- name: drover-berlin
  user: {exec: {command: other}}
contexts:
- name: berlin
  context: {cluster: theirs, user: mine}
";
    for (old, names) in [
        (OLD, &["cluster \"berlin\""][..]),
        (theirs, &["user \"drover-berlin\"", "context \"berlin\""]),
    ] {
        std::fs::write(&path, old).unwrap();
        match merge_into(&path, NEW, false) {
            Err(KubeconfigError::Conflict { names: found, .. }) => assert_eq!(found, names),
            other => panic!("{other:?}"),
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), old);
    }
}

#[test]
fn newer_kubeconfig_of_the_same_server_replaces_the_old_entries() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config");
    merge_into(&path, NEW, false).unwrap();
    let with_token = NEW.replace(
        "{exec: {command: drover, args: [credential]}}",
        "{token: drover_a_b}",
    );
    for newer in [NEW, &with_token, NEW] {
        merge_into(&path, newer, false).unwrap();
        let merged = std::fs::read_to_string(&path).unwrap();
        assert_eq!(merged.contains("drover_a_b"), newer != NEW);
    }
}

#[test]
fn kubeconfig_exec_command_other_than_drover_credential_is_detected() {
    let own = parse(NEW).unwrap();
    assert_eq!(foreign_commands(&own), Vec::<String>::new());
    for exec in [
        "{command: sh, args: [-c, x]}",
        "{command: ./drover, args: [credential]}",
        "{command: drover, args: [login]}",
        "{command: drover, args: [credential], env: [{name: LD_PRELOAD, value: x}]}",
    ] {
        let text = NEW.replace("{command: drover, args: [credential]}", exec);
        assert_eq!(foreign_commands(&parse(&text).unwrap()).len(), 1, "{exec}");
    }
}

#[test]
fn kubeconfig_merge_creates_a_missing_file() {
    let new: Value = serde_saphyr::from_str(NEW).unwrap();
    for old in ["", "\n", "clusters: null\n", "current-context: \"\"\n"] {
        assert_eq!(merged(old, NEW), new, "{old:?}");
    }
}

#[test]
fn invalid_kubeconfig_is_unchanged_and_error_omits_its_content() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config");
    for old in [
        "- topsecret\n",
        "topsecret",
        "users: topsecret\n",
        "a: [topsecret\n",
    ] {
        std::fs::write(&path, old).unwrap();
        let error = merge_into(&path, NEW, false).unwrap_err();
        assert!(
            matches!(error, KubeconfigError::Invalid { .. }),
            "{error:?}"
        );
        assert!(
            !format!("{error} {error:?}").contains("topsecret"),
            "{error:?}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), old);
    }
}

#[test]
fn symbolic_link_to_the_kubeconfig_is_preserved() {
    let directory = tempfile::tempdir().unwrap();
    let (file, link) = (directory.path().join("real"), directory.path().join("link"));
    std::fs::write(&file, OLD).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    merge_into(&link, NEW, true).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains("new.example")
    );
}

#[test]
fn kubeconfig_names_that_yaml_parsers_read_as_other_types_are_quoted() {
    for name in [
        "yes",
        "No",
        "on",
        "OFF",
        "true",
        "null",
        "~",
        "0123",
        "0o17",
        "0x1f",
        "1e3",
        "1_000",
        "12:30:45",
        "2026-11-21",
        ".5",
        "=",
        "<<",
    ] {
        let text = serde_saphyr::to_string(&json!({ "name": name })).unwrap();
        let value = text.trim().strip_prefix("name: ").unwrap();
        assert!(
            value.starts_with(['"', '\'']),
            "kubectl would not read {text:?} as text"
        );
    }
}
