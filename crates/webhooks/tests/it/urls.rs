//! URLs that name the same repository, and URLs that do not.

use drover_webhooks::matches;

#[test]
fn forms_of_a_url_name_the_same_repository() {
    for (event, repository) in [
        (
            "https://github.com/acme/config",
            "https://github.com/acme/config",
        ),
        (
            "https://github.com/acme/config",
            "https://github.com/acme/config.git",
        ),
        (
            "https://github.com/acme/config",
            "http://github.com/acme/config/",
        ),
        (
            "https://github.com/acme/config",
            "https://GitHub.com/acme/config",
        ),
        (
            "https://github.com/acme/config",
            "https://user:token@github.com/acme/config",
        ),
        (
            "https://github.com/acme/config",
            "https://github.com:443/acme/config",
        ),
        (
            "https://github.com/acme/config",
            "git@github.com:acme/config.git",
        ),
        ("https://github.com/acme/config", "github.com:acme/config"),
        (
            "https://github.com/acme/config",
            "ssh://git@github.com/acme/config",
        ),
        (
            "https://github.com/acme/config",
            "ssh://git@github.com:22/acme/config.git",
        ),
        (
            "https://github.com/Acme/Config",
            "https://github.com/acme/config",
        ),
        (
            "https://gitlab.example/a/b/c",
            "git@gitlab.example:a/b/c.git",
        ),
        (
            "https://gitlab.example/a/b/c",
            "git@gitlab.example:/a/b/c.git",
        ),
        (
            "ssh://git@bitbucket.corp.example:7999/ops/config.git",
            "ssh://git@bitbucket.corp.example:7999/ops/config",
        ),
        (
            "https://dev.azure.com/org/project/_git/config",
            "git@ssh.dev.azure.com:v3/org/project/config",
        ),
        (
            "https://dev.azure.com/org/project/_git/config",
            "https://org@dev.azure.com/org/project/_git/config",
        ),
        (
            "https://org.visualstudio.com/project/_git/config",
            "https://dev.azure.com/org/project/_git/config",
        ),
        (
            "https://org.visualstudio.com/DefaultCollection/project/_git/config",
            "org@vs-ssh.visualstudio.com:v3/org/project/config",
        ),
        (
            "https://dev.azure.com/org/_git/config",
            "https://dev.azure.com/org/config/_git/config",
        ),
        (
            "https://dev.azure.com/org/My%20Project/_git/config",
            "https://dev.azure.com/org/My Project/_git/config",
        ),
    ] {
        assert!(matches(event, repository), "{event} {repository}");
        assert!(matches(repository, event), "{repository} {event}");
    }
}

#[test]
fn other_repositories_do_not_match() {
    for (event, repository) in [
        (
            "https://github.com/acme/config",
            "https://github.com/acme/config2",
        ),
        (
            "https://github.com/acme/config",
            "https://github.com/acme/config/sub",
        ),
        ("https://github.com/acme/config", "https://github.com/acme"),
        (
            "https://github.com/acme/config",
            "https://github.com.evil.example/acme/config",
        ),
        (
            "https://github.com/acme/config",
            "https://evil.example/github.com/acme/config",
        ),
        (
            "https://github.com/acme/config",
            "https://evil-github.com/acme/config",
        ),
        (
            "https://github.com/acme/.*",
            "https://github.com/acme/config",
        ),
        (
            "https://github.com/acme/con.ig",
            "https://github.com/acme/config",
        ),
        ("https://github.com/a%2Fb", "https://github.com/a/b"),
        (
            "https://gitlab.example/v3/config",
            "https://gitlab.example/config",
        ),
        ("https://github.com/", "https://github.com/"),
        ("https://github.com", "https://github.com"),
        ("", ""),
        ("/local/path", "/local/path"),
        ("://", "://"),
        ("https://@/a", "https://@/a"),
    ] {
        assert!(!matches(event, repository), "{event} {repository}");
    }
}

proptest::proptest! {
    #[test]
    fn no_url_panics(one in "[ -~é]{0,60}", other in "[ -~]{0,60}") {
        let _ = matches(&one, &other);
        let _ = matches(&format!("https://dev.azure.com/{one}"), &format!("https://x.visualstudio.com/{other}"));
    }
}
