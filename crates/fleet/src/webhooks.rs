//! `POST /webhooks/git`: a git server reports a push, and the matching GitRepos poll at once.
//!
//! A request only starts a poll, so a repeated request changes nothing. The server never deploys the
//! commit that a request names.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::post;
use drover_api::fleet::GitRepo;
use drover_http_edge::status::Status;
use drover_hub::call;
use drover_reconcile::Trigger;
use drover_webhooks::{Delivery, Provider, Push, Reference, matches};
use governor::DefaultDirectRateLimiter;
use http::{HeaderMap, StatusCode};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};

use crate::mirror::Key;
use crate::repos::RepoStates;
use crate::world::World;

/// Maximum size of a request, in bytes. Events of large pushes have some MiB.
const MAX_BODY: usize = 8 << 20;
/// Namespace and name of the Secret with the keys of webhooks, for GitRepos without
/// `spec.webhookSecret`.
const SHARED_SECRET: (&str, &str) = ("cattle-fleet-system", "gitjob-webhook");
/// Maximum number of requests in a second, and in a burst.
const PER_SECOND: std::num::NonZeroU32 = std::num::NonZeroU32::new(20).expect("20 is not zero");
const BURST: std::num::NonZeroU32 = std::num::NonZeroU32::new(100).expect("100 is not zero");

/// The state of the handler. Clones share the state.
#[derive(Clone)]
pub struct Webhooks {
    pub(crate) client: Client,
    pub(crate) world: World,
    pub(crate) states: RepoStates,
    pub(crate) repos: Trigger<Key>,
    rate: Arc<DefaultDirectRateLimiter>,
}

impl std::fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Webhooks")
    }
}

impl Webhooks {
    pub(crate) fn new(
        client: Client,
        world: World,
        states: RepoStates,
        repos: Trigger<Key>,
    ) -> Self {
        let quota = governor::Quota::per_second(PER_SECOND).allow_burst(BURST);
        Self {
            client,
            world,
            states,
            repos,
            rate: Arc::new(DefaultDirectRateLimiter::direct(quota)),
        }
    }

    /// Verifies the signature of a request, if there is a Secret for the GitRepo.
    async fn verify(
        &self,
        repo: &GitRepo,
        provider: Provider,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<(), Status> {
        let Some(secret) = self.secret(repo).await? else {
            return Ok(());
        };
        let data = secret.data.unwrap_or_default();
        let value = |key: &str| data.get(key).map(|value| value.0.as_slice());
        let verified = provider.verify(headers, body, value);
        verified.map_err(|error| Status::forbidden(error.to_string()))
    }

    /// Returns the Secret that a request for a GitRepo must prove.
    async fn secret(&self, repo: &GitRepo) -> Result<Option<Secret>, Status> {
        let namespace = repo.namespace().unwrap_or_default();
        let (namespace, name, is_required) = match &*repo.spec.webhook_secret {
            "" => (SHARED_SECRET.0, SHARED_SECRET.1, false),
            name => (&*namespace, name, true),
        };
        let secrets = Api::<Secret>::namespaced(self.client.clone(), namespace);
        let secret = call("read the Secret of a webhook", secrets.get_opt(name)).await?;
        if secret.is_none() && is_required {
            let message = format!("the Secret {name} of the GitRepo's webhook does not exist");
            return Err(Status::forbidden(message));
        }
        Ok(secret)
    }
}

/// Returns the router with the route for webhooks.
pub fn router(state: Webhooks) -> Router {
    Router::new()
        .route("/webhooks/git", post(receive))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(state)
}

/// Receives the event of a git server. GitRepos with a matching URL and branch or tag poll at once.
async fn receive(
    State(state): State<Webhooks>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, Status> {
    if state.rate.check().is_err() {
        return Err(Status::too_many_requests("too many webhooks; try again", 5));
    }
    let provider = Provider::detect(&headers).ok_or_else(|| {
        Status::bad_request("the request has no header of a supported git server".to_owned())
    })?;
    let delivery = provider.parse(&headers, &body);
    let push = match delivery.map_err(|error| Status::bad_request(error.to_string()))? {
        Delivery::Push(push) => push,
        Delivery::Ping | Delivery::Other => return Ok(StatusCode::OK),
    };
    let all = state.world.git_repos.all();
    let (mut refused, mut is_accepted) = (None, false);
    for repo in all.iter().filter(|repo| concerns(&push, repo)) {
        if let Err(status) = state.verify(repo, provider, &headers, &body).await {
            refused = Some(status);
            continue;
        }
        is_accepted = true;
        let key = Key::of(&**repo);
        if state.states.request(&key) {
            state.repos.enqueue(key);
        }
    }
    // The Secret of one GitRepo does not affect the GitRepos of other namespaces.
    match refused {
        Some(status) if !is_accepted => Err(status),
        _ => Ok(StatusCode::ACCEPTED),
    }
}

/// Reports whether a push changed the branch or tag of a GitRepo.
fn concerns(push: &Push, repo: &GitRepo) -> bool {
    let spec = &repo.spec;
    let changed = |name: &str, is_tag: bool| {
        push.changes.iter().any(|change| match &change.reference {
            Reference::Branch(branch) => !is_tag && branch == name,
            Reference::Tag(tag) => is_tag && tag == name,
        })
    };
    let is_changed = match (&*spec.revision, &*spec.branch) {
        ("", "") => changed("master", false),
        ("", branch) => changed(branch, false),
        (revision, _) => changed(revision, true),
    };
    is_changed && push.urls.iter().any(|url| matches(url, &spec.repo))
}

#[cfg(test)]
mod tests {
    use drover_webhooks::Change;

    use super::*;

    #[test]
    fn push_concerns_repositories_with_its_url_and_its_branch_or_tag() {
        let push = |reference| Push {
            urls: vec!["https://git.example/team/shop".to_owned()],
            changes: vec![Change {
                reference,
                commit: None,
            }],
        };
        let (main, tag) = (
            push(Reference::Branch("main".to_owned())),
            push(Reference::Tag("v1".to_owned())),
        );
        let repo = |url: &str, branch: &str, revision: &str| {
            let mut repo = GitRepo::default();
            repo.spec.repo = url.to_owned();
            repo.spec.branch = branch.to_owned();
            repo.spec.revision = revision.to_owned();
            repo
        };
        let url = "https://git.example/team/shop.git";
        for (repo, on_main, on_tag) in [
            (repo(url, "main", ""), true, false),
            (repo(url, "", ""), false, false),
            (repo(url, "main", "v1"), false, true),
            (
                repo("https://git.example/team/other", "main", ""),
                false,
                false,
            ),
        ] {
            assert_eq!(concerns(&main, &repo), on_main, "{:?}", repo.spec);
            assert_eq!(concerns(&tag, &repo), on_tag, "{:?}", repo.spec);
        }
    }
}
