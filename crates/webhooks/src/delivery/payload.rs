//! The shapes of the bodies.

use serde_json::Value;

use super::{Change, Push, Reference};
use crate::provider::Provider;

/// Returns the changes in a body, or nothing if the event is not a push.
pub(super) fn push(provider: Provider, body: &Value) -> Option<Push> {
    match provider {
        Provider::GitHub | Provider::Gitea => Some(like_github(body)),
        Provider::Gogs => Some(gogs(body)),
        Provider::GitLab => gitlab(body),
        Provider::BitbucketCloud => Some(bitbucket_cloud(body)),
        Provider::BitbucketServer => Some(bitbucket_server(body)),
        Provider::AzureDevOps => azure(body),
    }
}

/// Returns the text at a JSON pointer, or an empty text.
fn text<'b>(body: &'b Value, pointer: &str) -> &'b str {
    let found = body.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

fn items<'b>(body: &'b Value, pointer: &str) -> &'b [Value] {
    let found = body.pointer(pointer).and_then(Value::as_array);
    found.map(Vec::as_slice).unwrap_or_default()
}

/// Returns the texts at the JSON pointers that are not empty.
fn urls(body: &Value, pointers: &[&str]) -> Vec<String> {
    let texts = pointers.iter().map(|pointer| text(body, pointer));
    let texts = texts.filter(|text| !text.is_empty());
    texts.map(str::to_owned).collect()
}

/// Returns a commit in hexadecimal digits. Zeros mean a deleted branch or tag.
fn commit(hash: &str) -> Option<String> {
    let is_hash = matches!(hash.len(), 40 | 64)
        && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        && hash.bytes().any(|byte| byte != b'0');
    is_hash.then(|| hash.to_ascii_lowercase())
}

/// Returns the change of a full name such as `refs/heads/main`.
fn change(name: &str, hash: &str) -> Option<Change> {
    let reference = if let Some(branch) = name.strip_prefix("refs/heads/") {
        Reference::Branch(branch.to_owned())
    } else {
        Reference::Tag(name.strip_prefix("refs/tags/")?.to_owned())
    };
    let commit = commit(hash);
    Some(Change { reference, commit })
}

const REPOSITORY: &[&str] = &[
    "/repository/html_url",
    "/repository/clone_url",
    "/repository/ssh_url",
];

/// <https://docs.github.com/webhooks/webhook-events-and-payloads#push>
fn like_github(body: &Value) -> Push {
    let change = change(text(body, "/ref"), text(body, "/after"));
    Push {
        urls: urls(body, REPOSITORY),
        changes: change.into_iter().collect(),
    }
}

/// Gogs sends no push for a created tag, but an event `create`.
fn gogs(body: &Value) -> Push {
    let (name, kind) = (text(body, "/ref"), text(body, "/ref_type"));
    let reference = match kind {
        "tag" => Reference::Tag(name.to_owned()),
        "branch" => Reference::Branch(name.to_owned()),
        _ => return like_github(body),
    };
    let commit = commit(text(body, "/sha"));
    Push {
        urls: urls(body, REPOSITORY),
        changes: vec![Change { reference, commit }],
    }
}

/// <https://docs.gitlab.com/user/project/integrations/webhook_events/>
fn gitlab(body: &Value) -> Option<Push> {
    if !matches!(text(body, "/object_kind"), "push" | "tag_push") {
        return None;
    }
    let hash = match text(body, "/checkout_sha") {
        "" => text(body, "/after"),
        hash => hash,
    };
    let pointers = [
        "/project/web_url",
        "/project/git_http_url",
        "/project/git_ssh_url",
    ];
    Some(Push {
        urls: urls(body, &pointers),
        changes: change(text(body, "/ref"), hash).into_iter().collect(),
    })
}

/// <https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/#Push>
fn bitbucket_cloud(body: &Value) -> Push {
    let changes = items(body, "/push/changes").iter().filter_map(|change| {
        let is_deleted = change.pointer("/new/name").is_none();
        let side = if is_deleted { "/old" } else { "/new" };
        let name = text(change, &format!("{side}/name")).to_owned();
        let reference = match text(change, &format!("{side}/type")) {
            "branch" => Reference::Branch(name),
            "tag" => Reference::Tag(name),
            _ => return None,
        };
        let commit = commit(text(change, "/new/target/hash"));
        Some(Change { reference, commit })
    });
    Push {
        urls: urls(body, &["/repository/links/html/href"]),
        changes: changes.collect(),
    }
}

/// <https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html>
fn bitbucket_server(body: &Value) -> Push {
    let links = items(body, "/repository/links/clone").iter();
    let links = links.map(|link| text(link, "/href"));
    let changes = items(body, "/changes").iter().filter_map(|it| {
        let name = match text(it, "/ref/id") {
            "" => text(it, "/refId"),
            name => name,
        };
        change(name, text(it, "/toHash"))
    });
    Push {
        urls: links
            .filter(|url| !url.is_empty())
            .map(str::to_owned)
            .collect(),
        changes: changes.collect(),
    }
}

/// <https://learn.microsoft.com/azure/devops/service-hooks/events#git.push>
fn azure(body: &Value) -> Option<Push> {
    if text(body, "/eventType") != "git.push" {
        return None;
    }
    let updates = items(body, "/resource/refUpdates").iter();
    let changes = updates.filter_map(|it| change(text(it, "/name"), text(it, "/newObjectId")));
    Some(Push {
        urls: urls(body, &["/resource/repository/remoteUrl"]),
        changes: changes.collect(),
    })
}
