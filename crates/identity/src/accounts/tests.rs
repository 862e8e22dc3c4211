use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use drover_access::account_token::BoundKind;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::Api;
use kube::api::{DeleteParams, PostParams};

use super::review::account;
use super::watched_objects::Object;
use super::*;
use drover_hub::connect::{HubOptions, connect};
use drover_hub::embedded::data_dir::DataDir;
use drover_hub::stores::reflector::Sink as _;
use drover_hub::{Keys, Stores};

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::BROADCAST);
const PULLER: &str = "system:serviceaccount:apps:puller";

/// A fake hub that returns the same result for every token. Records the number of reviews.
#[derive(Clone, Default)]
struct FakeHub {
    reviews: Arc<AtomicUsize>,
    /// The current number of concurrent requests. `most` is the maximum since the start.
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    mood: Arc<AtomicU8>,
}

const ACCEPTS: u8 = 0;
const REFUSES: u8 = 1;
const IS_DOWN: u8 = 2;
/// The hub accepts the token, but the account was recreated with a different UID.
const IS_ANOTHER: u8 = 3;
/// The hub accepts the token, but the account is being deleted.
const IS_LEAVING: u8 = 4;
/// The hub rejects the token once.
const REFUSES_ONCE: u8 = 5;

impl FakeHub {
    fn accounts(&self) -> Accounts {
        let hub = self.clone();
        let service = tower::service_fn(move |requested: http::Request<kube::client::Body>| {
            let review = requested.uri().path().ends_with("/tokenreviews");
            hub.reviews.fetch_add(usize::from(review), Ordering::SeqCst);
            let mood = hub.mood.load(Ordering::SeqCst);
            if mood == REFUSES_ONCE {
                hub.is(ACCEPTS);
            }
            let hub = hub.clone();
            async move {
                let now = hub.now.fetch_add(1, Ordering::SeqCst) + 1;
                hub.most.fetch_max(now, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(5)).await;
                hub.now.fetch_sub(1, Ordering::SeqCst);
                if mood == IS_DOWN {
                    return Err(tower::BoxError::from("the hub is unreachable"));
                }
                let object = json!({
                    "apiVersion": "v1",
                    "kind": "ServiceAccount",
                    "metadata": {
                        "name": "puller",
                        "uid": if mood == IS_ANOTHER { "u2" } else { "u1" },
                        "deletionTimestamp": (mood == IS_LEAVING).then_some("2026-01-01T00:00:00Z"),
                    },
                });
                let answer = json!({
                    "apiVersion": "authentication.k8s.io/v1",
                    "kind": "TokenReview",
                    "metadata": {},
                    "spec": {"token": ""},
                    "status": if matches!(mood, REFUSES | REFUSES_ONCE) { json!({"authenticated": false}) } else { json!({
                        "authenticated": true,
                        "user": {
                            "username": PULLER,
                            "uid": "u1",
                            "extra": {
                            "authentication.kubernetes.io/credential-id": ["JTI=1"],
                            "scopes": ["all"],
                        },
                        },
                    }) },
                });
                let body = serde_json::to_vec(if review { &answer } else { &object })?;
                Ok(http::Response::new(kube::client::Body::from(body)))
            }
        });
        let client = kube::Client::new(service, "default");
        Accounts::new(Hub::new(client, Stores::new(), Keys::generate().unwrap()))
    }

    fn is(&self, mood: u8) {
        self.mood.store(mood, Ordering::SeqCst);
    }

    fn reviews(&self) -> usize {
        self.reviews.load(Ordering::SeqCst)
    }
}

fn token(number: usize) -> AccountToken {
    let claims = json!({"sub": PULLER, "jti": number}).to_string();
    let text = format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims));
    AccountToken::parse(&text).unwrap()
}

/// Returns a token whose claims name its account.
fn bound_token(number: usize) -> AccountToken {
    let claims = json!({"sub": PULLER, "jti": number, "kubernetes.io": {
        "namespace": "apps", "serviceaccount": {"name": "puller", "uid": "u1"},
    }});
    let text = format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims.to_string()));
    AccountToken::parse(&text).unwrap()
}

fn accepted(account: &Account, token: AccountToken) -> CacheEntry {
    let account = Account {
        token: token.digest(),
        ..account.clone()
    };
    let accepted = Accepted::new(&account, &Arc::new(token), Instant::now());
    CacheEntry::Accepted(Box::new(accepted))
}

fn runtime(stop: &CancellationToken) -> Runtime {
    Runtime {
        metrics: drover_reconcile::Metrics::default(),
        leader: drover_reconcile::LeaderGate::always_open(),
        stop: stop.clone(),
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_with_one_token_share_one_token_review() {
    let hub = FakeHub::default();
    let accounts = hub.accounts();
    let asking = (0..100).map(|_| accounts.identify(token(0), HERE));
    for cached in futures::future::join_all(asking).await {
        let account = cached.unwrap().unwrap();
        assert_eq!(account.name.as_str(), PULLER);
        assert_eq!(account.extras.len(), 1, "only the extras of Kubernetes");
        assert_eq!((&*account.uid, account.token_id()), ("u1", Some("JTI=1")));
    }
    assert_eq!(hub.reviews(), 1);
    tokio::time::advance(POLLED_REVIEW_TTL).await;
    accounts.identify(token(0), HERE).await.unwrap().unwrap();
    assert_eq!(hub.reviews(), 2);
}

#[tokio::test(start_paused = true)]
async fn unknown_tokens_are_rate_limited_and_do_not_block_known_accounts() {
    let hub = FakeHub::default();
    let accounts = hub.accounts();
    accounts.identify(token(0), HERE).await.unwrap().unwrap();
    // The account is active only occasionally.
    tokio::time::advance(MAX_UNUSED / 2).await;
    hub.is(REFUSES);
    let mut limited = 0;
    for number in 1..200 {
        match accounts.identify(token(number), ELSEWHERE).await {
            Ok(account) => assert_eq!(account, None),
            Err(LookupError::TooMany) => limited += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(limited > 50, "{} reviews reached the hub", hub.reviews());
    hub.is(ACCEPTS);
    let reviews = hub.reviews();
    // A known token is accepted from the limited network, and an unknown token from another
    // network.
    accounts
        .identify(token(0), ELSEWHERE)
        .await
        .unwrap()
        .unwrap();
    accounts.identify(token(200), HERE).await.unwrap().unwrap();
    assert_eq!(hub.reviews(), reviews + 2);
}

#[tokio::test(start_paused = true)]
async fn rejected_token_is_reviewed_once() {
    let hub = FakeHub::default();
    let accounts = hub.accounts();
    hub.is(REFUSES);
    for _ in 0..10 {
        assert_eq!(accounts.identify(token(0), HERE).await.unwrap(), None);
    }
    assert_eq!(hub.reviews(), 1);
}

#[tokio::test(start_paused = true)]
async fn token_of_deleted_or_recreated_account_is_rejected() {
    for mood in [IS_ANOTHER, IS_LEAVING] {
        let hub = FakeHub::default();
        hub.is(mood);
        let cached = hub.accounts().identify(token(0), HERE).await.unwrap();
        assert_eq!(cached, None, "{mood}");
    }
}

#[tokio::test(start_paused = true)]
async fn token_of_open_stream_is_revoked_soon_after_the_hub_rejects_the_token() {
    let hub = FakeHub::default();
    let accounts = hub.accounts();
    let stop = CancellationToken::new();
    tokio::spawn(accounts.clone().run(WatchableKinds::All, runtime(&stop)));
    let account = accounts.identify(token(0), HERE).await.unwrap().unwrap();
    let hold = async |seconds: u32| {
        for _ in 0..seconds {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if accounts.validity(account.token) != TokenValidity::Valid {
                break;
            }
        }
        accounts.validity(account.token)
    };
    assert_eq!(hold(60).await, TokenValidity::Valid);
    hub.is(REFUSES);
    assert_eq!(hold(4).await, TokenValidity::Revoked);
    stop.cancel();
}

#[tokio::test(start_paused = true)]
async fn open_streams_continue_for_limited_time_while_hub_is_unreachable() {
    let hub = FakeHub::default();
    let accounts = hub.accounts();
    let stop = CancellationToken::new();
    tokio::spawn(accounts.clone().run(WatchableKinds::All, runtime(&stop)));
    let account = accounts.identify(token(0), HERE).await.unwrap().unwrap();
    hub.is(IS_DOWN);
    let mut owned = Duration::ZERO;
    while accounts.validity(account.token) == TokenValidity::Valid {
        tokio::time::sleep(Duration::from_secs(1)).await;
        owned += Duration::from_secs(1);
        assert!(owned < 2 * MAX_UNCONFIRMED, "the stream stays open forever");
    }
    assert!(owned >= MAX_UNCONFIRMED / 2, "open for {owned:?} only");
    assert_eq!(accounts.validity(account.token), TokenValidity::Unknown);
    let error = accounts.identify(token(0), HERE).await.unwrap_err();
    assert!(matches!(error, LookupError::Hub(_)), "{error}");
    stop.cancel();
}

#[tokio::test(start_paused = true)]
async fn account_cache_is_limited_and_removes_text_of_unused_tokens() {
    let hub = FakeHub::default();
    let accounts = hub.accounts();
    let account = accounts.identify(token(0), HERE).await.unwrap().unwrap();
    {
        let mut cached = accounts.shared.cached.lock();
        let one = || accepted(&account, token(0));
        cached.extend((1..MAX_TOKENS).map(|number| (token(number).digest(), one())));
    }
    tokio::time::advance(POLLED_REVIEW_TTL).await;
    assert_eq!(accounts.validity(token(7).digest()), TokenValidity::Valid);
    let newest = accounts.identify(token(MAX_TOKENS), HERE).await.unwrap();
    let cached = accounts.shared.cached.lock().len();
    assert!(cached < MAX_TOKENS, "{cached}");
    assert_eq!(
        accounts.validity(newest.unwrap().token),
        TokenValidity::Valid
    );
    assert_eq!(accounts.validity(token(7).digest()), TokenValidity::Valid);
    let stop = CancellationToken::new();
    tokio::spawn(accounts.clone().run(WatchableKinds::All, runtime(&stop)));
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(accounts.validity(token(7).digest()), TokenValidity::Valid);
    }
    stop.cancel();
    let cached = accounts.shared.cached.lock();
    let kept = cached.values().filter(
        |cached| matches!(cached, CacheEntry::Accepted(accepted) if accepted.token.is_some()),
    );
    assert_eq!(kept.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn number_of_concurrent_reviews_of_tokens_of_open_streams_is_limited() {
    let hub = FakeHub::default();
    let accounts = hub.accounts();
    let count = 40;
    for number in 0..count {
        accounts
            .identify(token(number), HERE)
            .await
            .unwrap()
            .unwrap();
    }
    let stop = CancellationToken::new();
    tokio::spawn(accounts.clone().run(WatchableKinds::All, runtime(&stop)));
    let reviews = hub.reviews();
    hub.most.store(0, Ordering::SeqCst);
    for _ in 0..5 {
        for number in 0..count {
            assert_eq!(
                accounts.validity(token(number).digest()),
                TokenValidity::Valid
            );
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(hub.reviews() >= reviews + count);
    let most = hub.most.load(Ordering::SeqCst);
    assert!((2..=MAX_CONCURRENT).contains(&most), "{most} at a time");
    stop.cancel();
}

#[tokio::test(start_paused = true)]
async fn unknown_tokens_from_many_networks_do_not_block_networks_of_known_accounts() {
    let hub = FakeHub::default();
    let accounts = hub.accounts();
    accounts.identify(token(0), HERE).await.unwrap().unwrap();
    hub.is(REFUSES);
    let networks = (0..u32::MAX).map(|bits| IpAddr::V4(std::net::Ipv4Addr::from_bits(bits)));
    let mut flood = (1..).zip(networks);
    let limited = loop {
        let (number, from) = flood.next().unwrap();
        if let Err(error) = accounts.identify(token(number), from).await {
            break error;
        }
    };
    assert!(matches!(limited, LookupError::TooMany), "{limited}");
    hub.is(ACCEPTS);
    // The account's next token, which is unknown.
    let (number, _) = flood.next().unwrap();
    let renewed = accounts.identify(token(number), HERE).await;
    renewed.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn single_rejection_does_not_revoke_an_accepted_token() {
    let hub = FakeHub::default();
    let accounts = hub.accounts();
    let account = accounts.identify(token(0), HERE).await.unwrap().unwrap();
    tokio::time::advance(POLLED_REVIEW_TTL).await;
    hub.is(REFUSES_ONCE);
    accounts.identify(token(0), HERE).await.unwrap().unwrap();
    assert_eq!(accounts.validity(account.token), TokenValidity::Valid);
}

/// Opens a stream for each of `count` tokens whose bound objects are watched. Returns the number of
/// reviews in the first minute, and the number of reviews in the 30 seconds after the reviews of
/// all tokens become due.
async fn reviews_of_open_streams(count: usize) -> (usize, usize) {
    let hub = FakeHub::default();
    let accounts = hub.accounts();
    let account = accounts.identify(bound_token(0), HERE).await.unwrap();
    let account = account.unwrap();
    let tokens: Vec<_> = (0..count).map(bound_token).collect();
    let open: Vec<_> = tokens.iter().map(AccountToken::digest).collect();
    let cached = tokens
        .into_iter()
        .map(|token| (token.digest(), accepted(&account, token)));
    accounts.shared.cached.lock().extend(cached);
    let watched = accounts.shared.watched.sink(BoundKind::ServiceAccount);
    watched.replace(vec![("apps/puller".to_owned(), Object::new("u1", "1"))]);
    let stop = CancellationToken::new();
    tokio::spawn(accounts.clone().run(WatchableKinds::All, runtime(&stop)));
    let hold = async |seconds: u32| {
        let before = hub.reviews();
        for _ in 0..seconds {
            watched.touch();
            for token in &open {
                assert_eq!(accounts.validity(*token), TokenValidity::Valid);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        hub.reviews() - before
    };
    let quiet = hold(60).await;
    for _ in 0..8 {
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(hold(1).await, 0);
    }
    tokio::time::advance(Duration::from_secs(59)).await;
    let due = hold(31).await;
    stop.cancel();
    (quiet, due)
}

#[tokio::test(start_paused = true)]
async fn tokens_of_open_streams_are_reviewed_only_at_their_regular_interval() {
    assert_eq!(reviews_of_open_streams(10).await, (0, 10));
    let (quiet, due) = reviews_of_open_streams(5_000).await;
    assert_eq!(quiet, 0);
    assert!((200..=310).contains(&due), "{due} reviews in 30 s");
}

#[tokio::test(start_paused = true)]
async fn tokens_of_a_deleted_account_are_revoked_without_review() {
    let hub = FakeHub::default();
    let accounts = hub.accounts();
    let watched = accounts.shared.watched.sink(BoundKind::ServiceAccount);
    watched.replace(vec![("apps/puller".to_owned(), Object::new("u1", "1"))]);
    let stop = CancellationToken::new();
    tokio::spawn(accounts.clone().run(WatchableKinds::All, runtime(&stop)));
    let identify = async |number| accounts.identify(bound_token(number), HERE).await.unwrap();
    let (open, idle) = (identify(0).await.unwrap(), identify(1).await.unwrap());
    assert_eq!(accounts.validity(open.token), TokenValidity::Valid);
    assert_eq!(identify(1).await, Some(idle));
    tokio::time::sleep(Duration::from_secs(10)).await;
    watched.remove(Some("apps"), "puller");
    // One token has an open stream, and the other token is presented again.
    assert_eq!(accounts.validity(open.token), TokenValidity::Valid);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(accounts.validity(open.token), TokenValidity::Revoked);
    assert_eq!(identify(1).await, None);
    assert_eq!(hub.reviews(), 2);
    stop.cancel();
}

/// Returns a client and the counter of its token reviews.
fn counted(client: kube::Client) -> (kube::Client, Arc<AtomicUsize>) {
    let reviews = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&reviews);
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let review = request.uri().path().ends_with("/tokenreviews");
        counter.fetch_add(usize::from(review), Ordering::SeqCst);
        let client = client.clone();
        async move { client.send(request).await }
    });
    (kube::Client::new(service, "default"), reviews)
}

#[tokio::test]
async fn embedded_hub_revokes_token_within_5_seconds_of_bound_object_deletion() {
    const PROMISE: Duration = Duration::from_secs(5);
    let folder = tempfile::tempdir().unwrap();
    let options = HubOptions::Embedded(DataDir::new(folder.path()));
    let connection = connect(&options).await.unwrap();
    let (client, reviews) = counted(connection.client());
    let named = |name: &str| kube::api::ObjectMeta {
        name: Some(name.to_owned()),
        ..kube::api::ObjectMeta::default()
    };
    let robots: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "default");
    let params = PostParams::default();
    robots
        .create(
            &params,
            &ServiceAccount {
                metadata: named("robot"),
                ..ServiceAccount::default()
            },
        )
        .await
        .unwrap();
    let secret = Secret {
        metadata: named("s"),
        ..Secret::default()
    };
    let secret = secrets.create(&params, &secret).await.unwrap();
    let issue = async |bound: Option<BoundObjectReference>| {
        let spec = TokenRequestSpec {
            bound_object_ref: bound,
            ..TokenRequestSpec::default()
        };
        let request = TokenRequest {
            spec: Some(spec),
            ..TokenRequest::default()
        };
        let created = robots
            .create_token_request("robot", &params, &request)
            .await;
        let text = created.unwrap().status.unwrap().token.unwrap();
        AccountToken::parse(&text).unwrap()
    };
    let of_secret = issue(Some(BoundObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Secret".to_owned()),
        name: Some("s".to_owned()),
        uid: secret.metadata.uid,
    }))
    .await;
    let of_account = issue(None).await;
    let accounts = Accounts::new(Hub::new(client, Stores::new(), Keys::generate().unwrap()));
    let stop = CancellationToken::new();
    tokio::spawn(accounts.clone().run(WatchableKinds::All, runtime(&stop)));
    let identify = async |token| accounts.identify(token, HERE).await.unwrap().unwrap().token;
    let (of_secret, of_account) = (identify(of_secret).await, identify(of_account).await);
    let hold = async |token, limit: Duration| {
        let begun = Instant::now();
        while begun.elapsed() < limit && accounts.validity(token) == TokenValidity::Valid {
            let _ = accounts.validity(of_account);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        accounts.validity(token)
    };
    // The first check starts the watches. Then the hub gets no more reviews.
    assert_eq!(
        hold(of_secret, Duration::from_secs(2)).await,
        TokenValidity::Valid
    );
    let before = reviews.load(Ordering::SeqCst);
    assert_eq!(hold(of_secret, PROMISE).await, TokenValidity::Valid);
    assert_eq!(reviews.load(Ordering::SeqCst), before);
    secrets.delete("s", &DeleteParams::default()).await.unwrap();
    assert_eq!(hold(of_secret, PROMISE).await, TokenValidity::Revoked);
    assert_eq!(accounts.validity(of_account), TokenValidity::Valid);
    robots
        .delete("robot", &DeleteParams::default())
        .await
        .unwrap();
    assert_eq!(hold(of_account, PROMISE).await, TokenValidity::Revoked);
    assert_eq!(reviews.load(Ordering::SeqCst), before);
    stop.cancel();
}

#[test]
fn token_is_accepted_only_if_its_review_returns_a_service_account() {
    for (case, status, expected) in [
        (
            "a service account",
            json!({"authenticated": true, "user": {"username": PULLER}}),
            true,
        ),
        (
            "a user of the hub",
            json!({"authenticated": true, "user": {"username": "ann"}}),
            false,
        ),
        (
            "a node",
            json!({"authenticated": true, "user": {"username": "system:node:a"}}),
            false,
        ),
        (
            "an unauthenticated service account",
            json!({"authenticated": false, "user": {"username": PULLER}}),
            false,
        ),
        ("no user", json!({"authenticated": true}), false),
        ("an error", json!({"error": "the token has expired"}), false),
    ] {
        let answer = serde_json::from_value(json!({"spec": {"token": ""}, "status": status}));
        let account = account(&token(0), answer.unwrap());
        assert_eq!(account.is_some(), expected, "{case}");
    }
}
