use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn context(name: &str, server: &str) -> Context {
    Context {
        name: name.to_owned(),
        server: server.parse().unwrap(),
        announced: None,
        certificate_authority: Some(
            "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n".to_owned(),
        ),
        username: "yes".to_owned(),
        token: Some(Secret::new("drover_0123_456")),
        expires_at: Some("2026-11-21T04:00:00Z".parse().unwrap()),
    }
}

fn file_in(directory: &tempfile::TempDir) -> ConfigFile {
    ConfigFile::locate(None, Some(directory.path()), None).unwrap()
}

#[test]
fn logins_are_stored_in_and_read_from_a_file_of_mode_0600() {
    let directory = tempfile::tempdir().unwrap();
    let file = file_in(&directory);
    let expected = context("berlin", "https://b.example:8443");
    file.change(|config| {
        config.insert(expected.clone());
        Ok(())
    })
    .unwrap();
    assert_eq!(
        file.read().unwrap().selected(None).unwrap(),
        Some(&expected)
    );
    let path = directory.path().join("drover/config.yaml");
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let parent = fs::metadata(path.parent().unwrap()).unwrap();
    assert_eq!(parent.permissions().mode() & 0o777, 0o700);
}

#[test]
fn config_file_readable_by_other_users_is_rejected_with_advice() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.yaml");
    fs::write(&path, "contexts: []\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let file = ConfigFile::locate(Some(&path), None, None).unwrap();
    let error = file.read().unwrap_err().to_string();
    assert!(
        error.contains("mode 0644") && error.contains("chmod 600"),
        "{error}"
    );
}

#[test]
fn error_of_invalid_config_file_shows_the_line_and_hides_the_token() {
    let directory = tempfile::tempdir().unwrap();
    let file = file_in(&directory);
    for text in [
        "contexts: drover_id_topsecret\n",
        "contexts:\n- name: a\n  server: https://a\n  username: b\n  drover_id_topsecret: 1\n",
        "contexts:\n- name: a\n  server: drover_id_topsecret?\n  username: b\n",
        "token: drover_id_topsecret\n",
        "contexts: [drover_id_topsecret\n",
        "\u{0}drover_id_topsecret",
    ] {
        let error = file.parse(text).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("topsecret"), "{shown}");
        assert!(shown.contains("line "), "{shown}");
        assert!(shown.contains("log in again"), "{shown}");
    }
}

#[test]
fn config_file_path_matches_the_xdg_specification() {
    let path = |flag: Option<&str>, xdg: Option<&str>, home: Option<&str>| {
        ConfigFile::locate(flag.map(Path::new), xdg.map(Path::new), home.map(Path::new))
            .map(|file| file.path)
    };
    assert_eq!(
        path(Some("x.yaml"), Some("/c"), Some("/h")).unwrap(),
        Path::new("x.yaml")
    );
    assert_eq!(
        path(None, Some("/c"), Some("/h")).unwrap(),
        Path::new("/c/drover/config.yaml")
    );
    assert_eq!(
        path(None, Some("relative"), Some("/h")).unwrap(),
        Path::new("/h/.config/drover/config.yaml")
    );
    assert!(matches!(path(None, None, None), Err(ConfigError::NoHome)));
}

#[test]
fn current_context_is_preferred_over_other_contexts_of_its_server() {
    let mut config = Config::default();
    config.insert(context("one", "https://a.example"));
    config.insert(context("two", "https://a.example"));
    config.insert(context("three", "https://c.example"));
    let server = "https://a.example".parse().unwrap();
    assert_eq!(config.for_server(&server).unwrap().name, "one");
    config.select("two").unwrap();
    assert_eq!(config.for_server(&server).unwrap().name, "two");
    config.remove("two").unwrap();
    assert_eq!(config.current, None);
    assert!(matches!(
        config.remove("two"),
        Err(ConfigError::NoContext(_))
    ));
}

#[test]
fn concurrent_logins_are_all_stored() {
    let directory = tempfile::tempdir().unwrap();
    let file = file_in(&directory);
    std::thread::scope(|scope| {
        for i in 0..8 {
            let file = &file;
            scope.spawn(move || {
                file.change(|config| {
                    config.insert(context(&format!("c{i}"), "https://a.example"));
                    Ok(())
                })
                .unwrap();
            });
        }
    });
    assert_eq!(file.read().unwrap().contexts.len(), 8);
}
