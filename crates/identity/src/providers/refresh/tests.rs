use std::collections::BTreeSet;
use std::sync::Arc;

use drover_api::kinds::AuthProvider;
use parking_lot::Mutex;

use super::*;
use drover_hub::{Keys, Stores};
use drover_testkit::kinds::{person, provider};

/// Creates a refresher with a fake hub that fails every request. The second value records the
/// request paths.
fn refresher() -> (Refresher, Arc<Mutex<BTreeSet<String>>>) {
    let requested: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let seen = Arc::clone(&requested);
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        seen.lock().insert(request.uri().path().to_owned());
        async { Err::<http::Response<kube::client::Body>, tower::BoxError>("no hub".into()) }
    });
    let client = kube::Client::new(service, "default");
    let hub = Hub::new(client, Stores::synced_empty(), Keys::generate().unwrap());
    let refresher = Refresher::new(hub.clone(), Providers::new(hub), KeyedLock::default());
    (refresher, requested)
}

/// Returns a user with an identity at provider `p1`. The user's name, UID and ID at the provider
/// equal `name`.
fn somebody(name: &str) -> User {
    let mut user = person();
    user.metadata.name = Some(name.to_owned());
    user.metadata.uid = Some(name.to_owned());
    name.clone_into(&mut user.status.as_mut().unwrap().identities[0].id);
    user
}

fn with_list(users: &[&str]) -> AuthProvider {
    let mut provider = provider("corp", "p1", true);
    provider.spec.allowed = Some(Allowed {
        users: users.iter().map(|&user| user.to_owned()).collect(),
        groups: Vec::new(),
    });
    provider
}

#[tokio::test(start_paused = true)]
async fn failed_write_for_one_removed_user_does_not_stop_writes_for_other_users() {
    let (refresher, requested) = refresher();
    let stores = refresher.hub.stores();
    for name in ["ann", "bob", "listed"] {
        stores.users.apply(somebody(name));
    }
    let provider = with_list(&["listed"]);
    let list = provider.spec.allowed.clone();
    stores.auth_providers.apply(provider);
    let uid = ProviderUid::new("p1");
    let applied = refresher.apply_list(&uid, list.as_ref()).await;
    assert!(applied.is_err());
    let requested = requested.lock();
    let tried = |name: &str| {
        requested
            .iter()
            .any(|path| path.ends_with(&format!("/{name}")))
    };
    assert!(tried("ann") && tried("bob"), "{requested:?}");
    assert!(!tried("listed"), "{requested:?}");
}

#[tokio::test(start_paused = true)]
async fn user_readded_to_allow_list_before_the_lock_is_acquired_keeps_access() {
    let (refresher, requested) = refresher();
    let stores = refresher.hub.stores();
    stores.users.apply(somebody("ann"));
    stores.auth_providers.apply(with_list(&[]));
    let uid = ProviderUid::new("p1");
    let busy = refresher.locks.lock_identity(&uid, "ann").await;
    let old = with_list(&["nobody"]).spec.allowed;
    let applying = refresher.apply_list(&uid, old.as_ref());
    let change = async {
        tokio::task::yield_now().await;
        stores.auth_providers.apply(with_list(&["ann"]));
        drop(busy);
    };
    let (applied, ()) = tokio::join!(applying, change);
    applied.unwrap();
    assert!(requested.lock().is_empty(), "no identity is written");
}
