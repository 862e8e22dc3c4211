use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::hub::{Keys, Stores};

const PULLER: &str = "system:serviceaccount:apps:puller";

/// A hub that judges every token alike, and counts.
#[derive(Clone, Default)]
struct Judge {
    reviews: Arc<AtomicUsize>,
    mood: Arc<AtomicU8>,
}

const ACCEPTS: u8 = 0;
const REFUSES: u8 = 1;
const IS_DOWN: u8 = 2;
/// It takes the token as before, but the account was deleted and made again.
const IS_ANOTHER: u8 = 3;

impl Judge {
    fn accounts(&self) -> Accounts {
        let judge = self.clone();
        let service = tower::service_fn(move |asked: http::Request<kube::client::Body>| {
            let review = asked.uri().path().ends_with("/tokenreviews");
            judge
                .reviews
                .fetch_add(usize::from(review), Ordering::SeqCst);
            let mood = judge.mood.load(Ordering::SeqCst);
            async move {
                tokio::time::sleep(Duration::from_millis(5)).await;
                if mood == IS_DOWN {
                    return Err(tower::BoxError::from("nobody answers"));
                }
                let object = json!({
                    "apiVersion": "v1",
                    "kind": "ServiceAccount",
                    "metadata": {"name": "puller", "uid": if mood == IS_ANOTHER { "u2" } else { "u1" }},
                });
                let answer = json!({
                    "apiVersion": "authentication.k8s.io/v1",
                    "kind": "TokenReview",
                    "metadata": {},
                    "spec": {"token": ""},
                    "status": if mood == REFUSES { json!({"authenticated": false}) } else { json!({
                        "authenticated": true,
                        "user": {
                            "username": PULLER,
                            "uid": "u1",
                            "extra": {CREDENTIAL_ID: ["JTI=1"]},
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
    AccountToken::parse(&text, Timestamp::UNIX_EPOCH).unwrap()
}

#[tokio::test(start_paused = true)]
async fn many_requests_with_one_token_are_one_review() {
    let judge = Judge::default();
    let accounts = judge.accounts();
    let asking = (0..100).map(|_| accounts.identify(token(0)));
    for known in futures::future::join_all(asking).await {
        let account = known.unwrap().unwrap();
        assert_eq!(account.name.as_str(), PULLER);
        assert_eq!(
            (&*account.uid, account.token_id.as_deref()),
            ("u1", Some("JTI=1"))
        );
    }
    assert_eq!(judge.reviews(), 1);
    tokio::time::advance(FRESH).await;
    accounts.identify(token(0)).await.unwrap().unwrap();
    assert_eq!(judge.reviews(), 2);
}

#[tokio::test(start_paused = true)]
async fn invented_tokens_cost_the_hub_few_reviews_and_accepted_ones_are_reviewed_all_the_same() {
    let judge = Judge::default();
    let accounts = judge.accounts();
    accounts.identify(token(0)).await.unwrap().unwrap();
    judge.is(REFUSES);
    let mut limited = 0;
    for number in 1..200 {
        match accounts.identify(token(number)).await {
            Ok(account) => assert_eq!(account, None),
            Err(LookupError::TooMany) => limited += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(limited > 50, "{} reviews reached the hub", judge.reviews());
    tokio::time::advance(FRESH).await;
    judge.is(ACCEPTS);
    let reviews = judge.reviews();
    accounts.identify(token(0)).await.unwrap().unwrap();
    assert_eq!(judge.reviews(), reviews + 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_is_not_shown_to_the_hub_again_and_again() {
    let judge = Judge::default();
    let accounts = judge.accounts();
    judge.is(REFUSES);
    for _ in 0..10 {
        assert_eq!(accounts.identify(token(0)).await.unwrap(), None);
    }
    assert_eq!(judge.reviews(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_token_of_an_account_that_was_made_again_is_nobodys() {
    let judge = Judge::default();
    judge.is(IS_ANOTHER);
    let known = judge.accounts().identify(token(0)).await.unwrap();
    assert_eq!(known, None);
}

#[tokio::test(start_paused = true)]
async fn what_something_open_stands_on_is_withdrawn_soon_after_the_hub_withdrew_it() {
    let judge = Judge::default();
    let accounts = judge.accounts();
    let stop = CancellationToken::new();
    tokio::spawn(accounts.clone().review_regularly(stop.clone()));
    let account = accounts.identify(token(0)).await.unwrap().unwrap();
    let hold = async |seconds: u32| {
        for _ in 0..seconds {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if accounts.standing(account.token) != Standing::Good {
                break;
            }
        }
        accounts.standing(account.token)
    };
    assert_eq!(hold(60).await, Standing::Good);
    judge.is(REFUSES);
    assert_eq!(hold(4).await, Standing::Withdrawn);
    stop.cancel();
}

#[tokio::test(start_paused = true)]
async fn a_silent_hub_withdraws_nothing_for_a_while_and_lets_nobody_in() {
    let judge = Judge::default();
    let accounts = judge.accounts();
    let stop = CancellationToken::new();
    tokio::spawn(accounts.clone().review_regularly(stop.clone()));
    let account = accounts.identify(token(0)).await.unwrap().unwrap();
    judge.is(IS_DOWN);
    let mut held = Duration::ZERO;
    while accounts.standing(account.token) == Standing::Good {
        tokio::time::sleep(Duration::from_secs(1)).await;
        held += Duration::from_secs(1);
        assert!(held < 2 * HELD_FOR, "it is held for ever");
    }
    assert!(held >= HELD_FOR / 2, "held for {held:?} only");
    assert_eq!(accounts.standing(account.token), Standing::Unsure);
    let error = accounts.identify(token(0)).await.unwrap_err();
    assert!(matches!(error, LookupError::Hub(_)), "{error}");
    stop.cancel();
}

#[tokio::test(start_paused = true)]
async fn tokens_that_nobody_uses_are_forgotten() {
    let judge = Judge::default();
    let accounts = judge.accounts();
    let account = accounts.identify(token(0)).await.unwrap().unwrap();
    tokio::time::advance(UNUSED_FOR).await;
    assert!(accounts.due().is_empty());
    assert!(accounts.shared.known.lock().is_empty());
    assert_eq!(accounts.standing(account.token), Standing::Withdrawn);
}

#[test]
fn only_a_service_account_that_the_hub_vouches_for_is_one() {
    for (what, status, wanted) in [
        (
            "a service account",
            json!({"authenticated": true, "user": {"username": PULLER}}),
            true,
        ),
        (
            "a person of the hub's",
            json!({"authenticated": true, "user": {"username": "ann"}}),
            false,
        ),
        (
            "a node",
            json!({"authenticated": true, "user": {"username": "system:node:a"}}),
            false,
        ),
        (
            "somebody whom the hub does not vouch for",
            json!({"authenticated": false, "user": {"username": PULLER}}),
            false,
        ),
        ("nobody", json!({"authenticated": true}), false),
        ("an error", json!({"error": "the token has expired"}), false),
    ] {
        let answer = serde_json::from_value(json!({"spec": {"token": ""}, "status": status}));
        let account = account(&token(0), answer.unwrap());
        assert_eq!(account.is_some(), wanted, "{what}");
    }
}
