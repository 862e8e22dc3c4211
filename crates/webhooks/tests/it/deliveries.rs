//! Bodies of all providers, with the shapes of the providers' documentation.

use drover_fuzz_corpus::entries;
use drover_webhooks::{Change, Delivery, ParseError, Provider, Push, Reference};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const ZEROS: &str = "0000000000000000000000000000000000000000";

pub(crate) fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pairs = pairs.iter().map(|(name, value)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_str(value).unwrap(),
        )
    });
    pairs.collect()
}

fn parse(pairs: &[(&'static str, &str)], body: &Value) -> (Provider, Delivery) {
    let headers = headers(pairs);
    let provider = Provider::detect(&headers).unwrap();
    let delivery = provider.parse(&headers, body.to_string().as_bytes());
    (provider, delivery.unwrap())
}

fn push(urls: &[&str], changes: Vec<Change>) -> Delivery {
    let urls = urls.iter().map(|url| (*url).to_owned()).collect();
    Delivery::Push(Push { urls, changes })
}

fn branch(name: &str, commit: Option<&str>) -> Change {
    Change {
        reference: Reference::Branch(name.to_owned()),
        commit: commit.map(str::to_owned),
    }
}

fn tag(name: &str, commit: Option<&str>) -> Change {
    Change {
        reference: Reference::Tag(name.to_owned()),
        commit: commit.map(str::to_owned),
    }
}

fn github_body(reference: &str, after: &str) -> Value {
    json!({
        "ref": reference,
        "before": ZEROS,
        "after": after,
        "repository": {
            "id": 1,
            "full_name": "acme/fleet-config",
            "html_url": "https://github.example/acme/fleet-config",
            "clone_url": "https://github.example/acme/fleet-config.git",
            "ssh_url": "git@github.example:acme/fleet-config.git",
        },
        "pusher": {"name": "dev"},
        "commits": [{"id": COMMIT, "message": "Change values"}],
    })
}

const GITHUB_URLS: [&str; 3] = [
    "https://github.example/acme/fleet-config",
    "https://github.example/acme/fleet-config.git",
    "git@github.example:acme/fleet-config.git",
];

#[test]
fn github_push_has_branch_and_commit() {
    let event = [("x-github-event", "push")];
    for (reference, after, change) in [
        ("refs/heads/main", COMMIT, branch("main", Some(COMMIT))),
        ("refs/heads/a/b", COMMIT, branch("a/b", Some(COMMIT))),
        ("refs/tags/v1", COMMIT, tag("v1", Some(COMMIT))),
        ("refs/heads/gone", ZEROS, branch("gone", None)),
    ] {
        let (provider, delivery) = parse(&event, &github_body(reference, after));
        assert_eq!(provider, Provider::GitHub);
        assert_eq!(delivery, push(&GITHUB_URLS, vec![change]));
    }
    let (_, delivery) = parse(&event, &github_body("refs/notes/commits", COMMIT));
    assert_eq!(delivery, push(&GITHUB_URLS, Vec::new()));
}

#[test]
fn gitea_is_detected_before_gogs_and_github() {
    let body = github_body("refs/heads/main", COMMIT);
    let github = ("x-github-event", "push");
    let gogs = ("x-gogs-event", "push");
    let (provider, delivery) = parse(&[github, gogs, ("x-gitea-event", "push")], &body);
    assert_eq!(provider, Provider::Gitea);
    assert_eq!(
        delivery,
        push(&GITHUB_URLS, vec![branch("main", Some(COMMIT))])
    );
    let (provider, delivery) = parse(&[github, gogs], &body);
    assert_eq!(provider, Provider::Gogs);
    assert_eq!(
        delivery,
        push(&GITHUB_URLS, vec![branch("main", Some(COMMIT))])
    );
}

#[test]
fn gogs_sends_an_event_for_a_created_tag() {
    let mut body = github_body("v1.0", COMMIT);
    body["ref_type"] = json!("tag");
    body["sha"] = json!(COMMIT);
    let (_, delivery) = parse(&[("x-gogs-event", "create")], &body);
    assert_eq!(
        delivery,
        push(&GITHUB_URLS, vec![tag("v1.0", Some(COMMIT))])
    );
}

fn gitlab_body(kind: &str, reference: &str, checkout: &Value) -> Value {
    json!({
        "object_kind": kind,
        "event_name": kind,
        "ref": reference,
        "after": if checkout.is_null() { ZEROS } else { COMMIT },
        "checkout_sha": checkout,
        "project": {
            "web_url": "https://gitlab.example/group/sub/config",
            "git_http_url": "https://gitlab.example/group/sub/config.git",
            "git_ssh_url": "git@gitlab.example:group/sub/config.git",
        },
    })
}

#[test]
fn gitlab_push_has_branch_or_tag() {
    let urls = [
        "https://gitlab.example/group/sub/config",
        "https://gitlab.example/group/sub/config.git",
        "git@gitlab.example:group/sub/config.git",
    ];
    let commit = json!(COMMIT);
    for (event, kind, reference, checkout, change) in [
        (
            "Push Hook",
            "push",
            "refs/heads/main",
            &commit,
            branch("main", Some(COMMIT)),
        ),
        (
            "Tag Push Hook",
            "tag_push",
            "refs/tags/v1",
            &commit,
            tag("v1", Some(COMMIT)),
        ),
        (
            "System Hook",
            "push",
            "refs/heads/main",
            &commit,
            branch("main", Some(COMMIT)),
        ),
        (
            "Push Hook",
            "push",
            "refs/heads/gone",
            &Value::Null,
            branch("gone", None),
        ),
    ] {
        let body = gitlab_body(kind, reference, checkout);
        let (provider, delivery) = parse(&[("x-gitlab-event", event)], &body);
        assert_eq!(provider, Provider::GitLab);
        assert_eq!(delivery, push(&urls, vec![change]));
    }
    let body = json!({"object_kind": "project_create"});
    let (_, delivery) = parse(&[("x-gitlab-event", "System Hook")], &body);
    assert_eq!(delivery, Delivery::Other);
}

#[test]
fn bitbucket_cloud_push_has_all_changes() {
    let body = json!({
        "repository": {
            "full_name": "acme/config",
            "links": {"html": {"href": "https://bitbucket.example/acme/config"}},
        },
        "push": {"changes": [
            {"new": {"type": "branch", "name": "main", "target": {"hash": COMMIT}}, "old": null},
            {"new": {"type": "tag", "name": "v1", "target": {"hash": COMMIT}}},
            {"new": null, "old": {"type": "branch", "name": "gone", "target": {"hash": COMMIT}}},
            {"new": {"type": "unknown", "name": "x"}},
        ]},
    });
    let pairs = [("x-event-key", "repo:push"), ("x-hook-uuid", "an-id")];
    let (provider, delivery) = parse(&pairs, &body);
    assert_eq!(provider, Provider::BitbucketCloud);
    let changes = vec![
        branch("main", Some(COMMIT)),
        tag("v1", Some(COMMIT)),
        branch("gone", None),
    ];
    assert_eq!(
        delivery,
        push(&["https://bitbucket.example/acme/config"], changes)
    );
}

#[test]
fn bitbucket_server_push_has_all_clone_urls() {
    let body = json!({
        "eventKey": "repo:refs_changed",
        "repository": {
            "slug": "config",
            "links": {"clone": [
                {"href": "https://bitbucket.corp.example/scm/ops/config.git", "name": "http"},
                {"href": "ssh://git@bitbucket.corp.example:7999/ops/config.git", "name": "ssh"},
            ]},
        },
        "changes": [
            {"ref": {"id": "refs/heads/main", "type": "BRANCH"}, "refId": "refs/heads/main",
             "toHash": COMMIT, "type": "UPDATE"},
            {"refId": "refs/tags/v1", "toHash": ZEROS, "type": "DELETE"},
        ],
    });
    let (provider, delivery) = parse(&[("x-event-key", "repo:refs_changed")], &body);
    assert_eq!(provider, Provider::BitbucketServer);
    let urls = [
        "https://bitbucket.corp.example/scm/ops/config.git",
        "ssh://git@bitbucket.corp.example:7999/ops/config.git",
    ];
    let changes = vec![branch("main", Some(COMMIT)), tag("v1", None)];
    assert_eq!(delivery, push(&urls, changes));
}

#[test]
fn azure_push_has_the_remote_url() {
    let body = json!({
        "eventType": "git.push",
        "resource": {
            "refUpdates": [{"name": "refs/heads/main", "oldObjectId": ZEROS, "newObjectId": COMMIT}],
            "repository": {"remoteUrl": "https://dev.azure.com/org/My%20Project/_git/config"},
        },
    });
    let (provider, delivery) = parse(&[("x-vss-activityid", "1")], &body);
    assert_eq!(provider, Provider::AzureDevOps);
    let url = "https://dev.azure.com/org/My%20Project/_git/config";
    assert_eq!(delivery, push(&[url], vec![branch("main", Some(COMMIT))]));
    let (_, delivery) = parse(
        &[("x-vss-subscriptionid", "1")],
        &json!({"eventType": "workitem.created"}),
    );
    assert_eq!(delivery, Delivery::Other);
}

#[test]
fn pings_and_other_events_are_no_pushes() {
    for (pair, delivery) in [
        (("x-github-event", "ping"), Delivery::Ping),
        (("x-github-event", "issues"), Delivery::Other),
        (("x-event-key", "diagnostics:ping"), Delivery::Ping),
        (("x-event-key", "pr:opened"), Delivery::Other),
        (("x-gitlab-event", "Note Hook"), Delivery::Other),
        (("x-gitea-event", "issues"), Delivery::Other),
        (("x-gogs-event", "fork"), Delivery::Other),
    ] {
        assert_eq!(parse(&[pair], &json!({})).1, delivery, "{pair:?}");
    }
}

#[test]
fn requests_without_known_headers_have_no_provider() {
    assert_eq!(Provider::detect(&HeaderMap::new()), None);
    assert_eq!(
        Provider::detect(&headers(&[("user-agent", "GitHub-Hookshot/1")])),
        None
    );
}

#[test]
fn invalid_bodies_are_errors() {
    let headers = headers(&[("x-github-event", "push")]);
    for body in ["", "payload=%7B%7D", "[", "\u{0}"] {
        let result = Provider::GitHub.parse(&headers, body.as_bytes());
        assert!(matches!(result, Err(ParseError::Json { .. })), "{body:?}");
    }
    for body in [
        "{}",
        "[]",
        "null",
        "{\"repository\": 3}",
        "{\"repository\": {\"html_url\": 3}}",
    ] {
        let result = Provider::GitHub.parse(&headers, body.as_bytes());
        assert!(
            matches!(result, Err(ParseError::NoRepository { .. })),
            "{body}"
        );
    }
}

#[test]
fn corpus_of_the_fuzz_target_has_the_properties() {
    for entry in entries(env!("CARGO_MANIFEST_DIR"), "delivery", 7) {
        crate::properties::delivery(&entry);
    }
}

proptest::proptest! {
    #[test]
    fn no_body_panics(
        header in "(x-gitea-event: push|x-gogs-event: create|x-github-event: push|x-gitlab-event: Push Hook|x-hook-uuid: a\nx-event-key: repo:push|x-event-key: repo:refs_changed|x-vss-activityid: 1)",
        body in "[ -~]{0,200}",
    ) {
        crate::properties::delivery(format!("{header}\n\n{body}").as_bytes());
    }
}
