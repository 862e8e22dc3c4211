//! Tests of commands with a token that the server rejects.

use std::os::unix::fs::PermissionsExt as _;

use crate::Demo;

/// The exit code of a command without a valid login.
const NOT_LOGGED_IN: i32 = 3;

pub(crate) async fn search_and_top_fail_with_a_wrong_token(demo: &mut Demo) {
    let drover = demo.server().command_line();
    let stored = demo
        .server()
        .folder()
        .join("home/.config/drover/config.yaml");
    let config = std::fs::read_to_string(&stored).unwrap();
    let (_, rest) = config.split_once("token: ").unwrap();
    let token = rest.lines().next().unwrap();
    let (id, secret) = token.rsplit_once('_').unwrap();
    let wrong_secret: String = secret.chars().rev().collect();
    assert_ne!(secret, wrong_secret);
    let wrong = config.replace(token, &format!("{id}_{wrong_secret}"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    for words in [
        "search web",
        "search web -o json --cluster demo-small",
        "top nodes",
        "top pods -A --cluster demo-small",
    ] {
        // The file belongs to the test, because a command can change its file.
        std::fs::write(&file, &wrong).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let drover = drover.clone().env("DROVER_CONFIG", &file);
        let output = drover.output(words.split(' ')).await.unwrap();
        assert_eq!(
            output.status.code(),
            Some(NOT_LOGGED_IN),
            "{words}: {output:?}"
        );
        assert_eq!(output.stdout, "", "{words}");
        assert!(
            output.stderr.contains("drover login"),
            "{words}: {output:?}"
        );
        assert!(
            !output.stderr.contains(&wrong_secret),
            "{words}: {output:?}"
        );
    }
}
