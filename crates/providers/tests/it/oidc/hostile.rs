//! What becomes of people when an issuer is wrong, hostile or down.

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use drover_api::kinds::auth_provider::OidcSpec;
use drover_providers::ProviderError;
use drover_providers::error::Refusal;
use drover_providers::oidc::keys::Algorithm;
use drover_providers::oidc::{Oidc, Pending, SignedIn};
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::issuer::{Answer, DISCOVERY, Issuer, certified};
use super::signer::{Signer, claims, document};
use super::{CLIENT, NOW, SECRET, Verdict, after, now, shown, spec, verdict};

const BACK: &str = "https://drover.example.com/v1/auth/oidc/callback";

fn back() -> Url {
    BACK.parse().unwrap()
}

fn secret() -> SecretString {
    SECRET.into()
}

fn client(issuer: &Issuer) -> Oidc {
    Oidc::new(&spec(&issuer.url, &issuer.authority), Some(secret())).unwrap()
}

/// The parameters of a URL's query.
fn parameters(url: &Url) -> HashMap<String, String> {
    url.query_pairs().into_owned().collect()
}

/// A sign-in that waits for the browser to come back.
struct Begun {
    pending: Pending,
    sent: HashMap<String, String>,
}

impl Begun {
    async fn at(oidc: &Oidc) -> Self {
        let (url, pending) = oidc.authorize(&back(), now()).await.unwrap();
        Self {
            pending,
            sent: parameters(&url),
        }
    }

    fn nonce(&self) -> &str {
        &self.sent["nonce"]
    }

    /// The browser comes back with a code.
    async fn ends(&self, oidc: &Oidc) -> Result<SignedIn, ProviderError> {
        let query = format!("code=a-code&state={}", self.sent["state"]);
        oidc.redeem(&query, &self.pending, now()).await
    }
}

/// An issuer that signs people in with one key, and a client of it.
struct World {
    issuer: Issuer,
    oidc: Oidc,
    signer: Signer,
}

impl World {
    async fn start() -> Self {
        let issuer = Issuer::start().await;
        let signer = Signer::new("one", Algorithm::ES256);
        issuer.says("/keys", Answer::Json(200, document(&[signer.published()])));
        Self {
            oidc: client(&issuer),
            issuer,
            signer,
        }
    }

    fn claims(&self, nonce: &str) -> Value {
        claims(&self.issuer.url, nonce)
    }

    fn gives(&self, claims: &Value) {
        self.gives_token(&self.signer.sign(claims));
    }

    fn gives_token(&self, id_token: &str) {
        let tokens = json!({"access_token": "an-access-token", "token_type": "bearer", "id_token": id_token, "refresh_token": "refresh-2", "expires_in": 300});
        self.issuer.says("/token", Answer::Json(200, tokens));
    }

    /// Signs Ann in, whatever her token says.
    async fn sign_in_with(
        &self,
        token: impl FnOnce(&str) -> String,
    ) -> Result<SignedIn, ProviderError> {
        let begun = Begun::at(&self.oidc).await;
        self.gives_token(&token(begun.nonce()));
        begun.ends(&self.oidc).await
    }

    async fn sign_in(&self) -> Result<SignedIn, ProviderError> {
        self.sign_in_with(|nonce| self.signer.sign(&self.claims(nonce)))
            .await
    }

    async fn refresh(&self) -> Result<SignedIn, ProviderError> {
        let token = SecretString::from("refresh-1");
        self.oidc.refresh(&token, "ann-1", now()).await
    }
}

#[tokio::test]
async fn a_person_signs_in_by_code_with_pkce_and_a_secret_that_survives_the_header() {
    let world = World::start().await;
    let begun = Begun::at(&world.oidc).await;
    let sent = &begun.sent;
    assert_eq!(sent["response_type"], "code");
    assert_eq!(sent["client_id"], CLIENT);
    assert_eq!(sent["redirect_uri"], BACK);
    assert_eq!(sent["scope"], "openid profile email");
    assert_eq!(sent["code_challenge_method"], "S256");
    for name in ["state", "nonce", "code_challenge"] {
        assert_eq!(sent[name].len(), 43, "256 bits: {name}");
    }
    world.gives(&world.claims(begun.nonce()));
    let signed_in = begun.ends(&world.oidc).await.unwrap();
    assert_eq!(signed_in.person.id, "ann-1");
    assert_eq!(signed_in.person.login, "ann");
    let refresh = signed_in.refresh_token.unwrap();
    assert_eq!(refresh.expose_secret(), "refresh-2");

    let asked = &world.issuer.asked("/token")[0];
    let header = asked.authorization.as_deref().unwrap();
    let encoded = "drover:s%3Ae%2Fc%2Br+e%25t%26%3D%7E";
    assert_eq!(basic_header(encoded), header);
    let form: HashMap<String, String> = form_urlencoded::parse(asked.body.as_bytes())
        .into_owned()
        .collect();
    assert_eq!(form["grant_type"], "authorization_code");
    assert_eq!(form["code"], "a-code");
    assert_eq!(form["redirect_uri"], BACK);
    assert!(!form.contains_key("client_secret"));
    let hash =
        aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, form["code_verifier"].as_bytes());
    assert_eq!(base64url(hash.as_ref()), sent["code_challenge"]);
    assert!(world.issuer.asked("/me").is_empty(), "nothing was missing");
}

fn basic_header(text: &str) -> String {
    let encoded = STANDARD.encode(text);
    format!("Basic {encoded}")
}

fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[tokio::test]
async fn a_client_proves_itself_as_the_provider_takes_it() {
    let world = World::start().await;
    let methods = |list: Value| {
        let change = json!({ "token_endpoint_auth_methods_supported": list });
        world.issuer.describes_itself_with(&change);
    };
    methods(json!(["private_key_jwt", "client_secret_post"]));
    let begun = Begun::at(&world.oidc).await;
    world.gives(&world.claims(begun.nonce()));
    begun.ends(&world.oidc).await.unwrap();
    let asked = &world.issuer.asked("/token")[0];
    assert_eq!(asked.authorization, None);
    let secret = "client_id=drover&client_secret=s%3Ae%2Fc%2Br+e%25t%26%3D%7E";
    assert!(asked.body.ends_with(secret), "{}", asked.body);

    methods(json!(["private_key_jwt"]));
    let oidc = client(&world.issuer);
    let result = Begun::at(&oidc).await.ends(&oidc).await;
    assert_eq!(
        verdict(&result),
        Verdict::Misconfigured("oidc.clientSecret")
    );

    let public = OidcSpec {
        client_secret: None,
        ..spec(&world.issuer.url, &world.issuer.authority)
    };
    let oidc = Oidc::new(&public, None).unwrap();
    let begun = Begun::at(&oidc).await;
    world.gives(&world.claims(begun.nonce()));
    begun.ends(&oidc).await.unwrap();
    let asked = world.issuer.asked("/token").pop().unwrap();
    assert_eq!(asked.authorization, None);
    assert!(asked.body.ends_with("&client_id=drover"), "{}", asked.body);
}

#[tokio::test]
async fn an_address_keeps_its_own_query_and_offline_access_asks_for_consent() {
    let issuer = Issuer::start().await;
    let at = format!("{}/authorize?tenant=a%26b", issuer.url);
    issuer.describes_itself_with(&json!({ "authorization_endpoint": at }));
    let mut spec = spec(&issuer.url, &issuer.authority);
    spec.scopes = ["openid", "offline_access", "groups"]
        .map(str::to_owned)
        .to_vec();
    let oidc = Oidc::new(&spec, Some(secret())).unwrap();
    let sent = Begun::at(&oidc).await.sent;
    assert_eq!(sent["tenant"], "a&b");
    assert_eq!(sent["scope"], "openid offline_access groups");
    assert_eq!(sent["prompt"], "consent");
}

#[tokio::test]
async fn each_sign_in_has_secrets_of_its_own() {
    let issuer = Issuer::start().await;
    let oidc = client(&issuer);
    let (one, two) = (Begun::at(&oidc).await, Begun::at(&oidc).await);
    for name in ["state", "nonce", "code_challenge"] {
        assert_ne!(one.sent[name], two.sent[name], "{name}");
    }
    let shown = format!("{:?}", one.pending);
    assert!(!shown.contains(&one.sent["state"]) && !shown.contains(one.nonce()));
    // What was sealed ends the sign-in as well as what was not.
    let sealed = serde_json::to_string(&one.pending).unwrap();
    let opened: Pending = serde_json::from_str(&sealed).unwrap();
    let query = format!("error=access_denied&state={}", one.sent["state"]);
    let result = oidc.redeem(&query, &opened, now()).await;
    assert_eq!(verdict(&result), Verdict::Refused(Refusal::Denied));
}

#[tokio::test]
async fn only_the_own_answer_ends_a_sign_in() {
    let world = World::start().await;
    let begun = Begun::at(&world.oidc).await;
    world.gives(&world.claims(begun.nonce()));
    let state = &begun.sent["state"];
    let other = Begun::at(&world.oidc).await;
    for query in [
        String::new(),
        "code=a-code".to_owned(),
        "code=a-code&state=".to_owned(),
        format!("code=a-code&state={}", other.sent["state"]),
        format!("code=a-code&state={state}&state={state}"),
        format!("code=a-code&code=b-code&state={state}"),
        format!("code=a-code&error=access_denied&state={state}"),
        format!("code=&state={state}"),
        format!("state={state}"),
        format!("code=a-code&state={state}&iss=https://evil.example.com"),
        format!("code=a-code&state={state}&iss="),
        format!("code=a-code&state={state}&iss={}/", world.issuer.url),
        format!("error=access_denied&state={state}&iss=https://evil.example.com"),
        "error=access_denied".to_owned(),
        format!("code={}&state={state}", "c".repeat(20_000)),
    ] {
        let result = world.oidc.redeem(&query, &begun.pending, now()).await;
        assert_eq!(verdict(&result), Verdict::Unbelievable, "{query:.200}");
        let text = shown(result);
        assert!(!text.contains(state.as_str()), "{text}");
    }
    let good = format!("code=a-code&state={state}&iss={}", world.issuer.url);
    for late in [601, -61] {
        let result = world.oidc.redeem(&good, &begun.pending, after(late)).await;
        assert_eq!(verdict(&result), Verdict::Unbelievable, "{late} s");
    }
    assert!(world.issuer.asked("/token").is_empty(), "no code was sent");
    let result = world.oidc.redeem(&good, &begun.pending, after(300)).await;
    assert_eq!(verdict(&result), Verdict::Good);
}

#[tokio::test]
async fn one_providers_answer_is_no_answer_of_another() {
    let (world, evil) = (World::start().await, World::start().await);
    let begun = Begun::at(&world.oidc).await;
    world.gives(&world.claims(begun.nonce()));
    evil.gives(&evil.claims(begun.nonce()));
    // The same state and the same nonce, at the other.
    let result = begun.ends(&evil.oidc).await;
    assert_eq!(verdict(&result), Verdict::Unbelievable);
    assert!(evil.issuer.asked("/token").is_empty(), "it got the code");

    // One that says that it names itself must.
    let says = json!({"authorization_response_iss_parameter_supported": true});
    world.issuer.describes_itself_with(&says);
    let oidc = client(&world.issuer);
    let result = begun.ends(&oidc).await;
    assert_eq!(verdict(&result), Verdict::Unbelievable);
    let named = format!(
        "code=c&state={}&iss={}",
        begun.sent["state"], world.issuer.url
    );
    let result = oidc.redeem(&named, &begun.pending, now()).await;
    assert_eq!(verdict(&result), Verdict::Good);
}

#[tokio::test]
async fn only_a_persons_own_no_is_a_refusal_of_the_sign_in() {
    let world = World::start().await;
    for (error, wanted) in [
        ("access_denied", Verdict::Refused(Refusal::Denied)),
        ("temporarily_unavailable", Verdict::Unavailable),
        ("server_error", Verdict::Unavailable),
        ("invalid_scope", Verdict::Misconfigured("oidc.scopes")),
        (
            "unauthorized_client",
            Verdict::Misconfigured("oidc.clientId"),
        ),
        (
            "unsupported_response_type",
            Verdict::Misconfigured("oidc.clientId"),
        ),
        ("invalid_request", Verdict::Unbelievable),
        ("", Verdict::Unbelievable),
        ("Access_Denied", Verdict::Unbelievable),
    ] {
        let begun = Begun::at(&world.oidc).await;
        let query = format!("error={error}&state={}", begun.sent["state"]);
        let result = world.oidc.redeem(&query, &begun.pending, now()).await;
        assert_eq!(verdict(&result), wanted, "{error}");
    }
}

#[tokio::test]
async fn only_a_providers_own_no_is_a_refusal_of_a_renewal() {
    let world = World::start().await;
    let error = |status: u16, error: &str| Answer::Json(status, json!({ "error": error }));
    let page = |status: u16| Answer::Raw(status, "text/html", b"<h1>no</h1>".to_vec());
    let withdrawn = Verdict::Refused(Refusal::Withdrawn);
    for (answer, wanted) in [
        (error(400, "invalid_grant"), withdrawn),
        (error(401, "invalid_grant"), withdrawn),
        (error(403, "invalid_grant"), withdrawn),
        (error(400, "interaction_required"), withdrawn),
        (error(400, "login_required"), withdrawn),
        // Down, whatever the body says.
        (error(500, "invalid_grant"), Verdict::Unavailable),
        (error(502, "access_denied"), Verdict::Unavailable),
        (error(503, "invalid_grant"), Verdict::Unavailable),
        (error(429, "invalid_grant"), Verdict::Unavailable),
        (error(408, "invalid_grant"), Verdict::Unavailable),
        (error(400, "temporarily_unavailable"), Verdict::Unavailable),
        (error(400, "server_error"), Verdict::Unavailable),
        (page(500), Verdict::Unavailable),
        (page(504), Verdict::Unavailable),
        (page(429), Verdict::Unavailable),
        // Ours to put right.
        (
            error(401, "invalid_client"),
            Verdict::Misconfigured("oidc.clientSecret"),
        ),
        (
            error(400, "invalid_client"),
            Verdict::Misconfigured("oidc.clientSecret"),
        ),
        (page(401), Verdict::Misconfigured("oidc.clientSecret")),
        (
            error(400, "unauthorized_client"),
            Verdict::Misconfigured("oidc.clientId"),
        ),
        (
            error(400, "unsupported_grant_type"),
            Verdict::Misconfigured("oidc.clientId"),
        ),
        (
            error(400, "invalid_scope"),
            Verdict::Misconfigured("oidc.scopes"),
        ),
        // Anything else says nothing of the person.
        (error(400, "invalid_request"), Verdict::Unbelievable),
        (error(400, "INVALID_GRANT"), Verdict::Unbelievable),
        (page(400), Verdict::Unbelievable),
        (page(403), Verdict::Unbelievable),
        (page(404), Verdict::Unbelievable),
        (page(200), Verdict::Unbelievable),
        (error(200, "invalid_grant"), Verdict::Unbelievable),
        (
            Answer::Raw(400, "text/plain", b"{\"error\":\"invalid_grant\"".to_vec()),
            Verdict::Unbelievable,
        ),
        (Answer::Redirect("/keys"), Verdict::Unbelievable),
    ] {
        let said = match &answer {
            Answer::Json(status, body) => format!("{status} {body}"),
            Answer::Raw(status, ..) => format!("{status}"),
            _ => "a redirect".to_owned(),
        };
        world.issuer.says("/token", answer);
        let result = world.refresh().await;
        assert_eq!(verdict(&result), wanted, "{said}");
        let text = shown(result);
        assert!(
            !text.contains("refresh-1") && !text.contains("s:e/c"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn an_issuer_that_is_down_refuses_nobody() {
    let world = World::start().await;
    let (url, authority) = (world.issuer.url.clone(), world.issuer.authority.clone());
    world.sign_in().await.unwrap();
    drop(world.issuer);
    let token = SecretString::from("refresh-1");
    // What was learnt of it is still known, and then no more.
    for later in [0, 7200] {
        let result = world.oidc.refresh(&token, "ann-1", after(later)).await;
        assert_eq!(verdict(&result), Verdict::Unavailable, "after {later} s");
    }
    let oidc = Oidc::new(&spec(&url, &authority), Some(secret())).unwrap();
    let result = oidc.authorize(&back(), now()).await;
    assert_eq!(verdict(&result), Verdict::Unavailable);
}

#[tokio::test]
async fn an_impostor_with_another_certificate_refuses_nobody() {
    let issuer = Issuer::start().await;
    issuer.says(
        "/token",
        Answer::Json(400, json!({"error": "invalid_grant"})),
    );
    let oidc = Oidc::new(&spec(&issuer.url, &certified().authority), Some(secret())).unwrap();
    let token = SecretString::from("refresh-1");
    let result = oidc.refresh(&token, "ann-1", now()).await;
    assert_eq!(verdict(&result), Verdict::Unavailable);
    let text = shown(result);
    assert!(text.contains("oidc.caBundle"), "{text}");
    assert!(issuer.asked(DISCOVERY).is_empty());
}

#[tokio::test]
async fn no_redirect_is_followed_anywhere() {
    for path in [DISCOVERY, "/keys", "/token", "/me"] {
        let world = World::start().await;
        world
            .issuer
            .says("/elsewhere", Answer::Json(200, json!({})));
        let result = sign_in_to_the_end(&world, path, Answer::Redirect("/elsewhere")).await;
        assert_eq!(verdict(&result), Verdict::Unbelievable, "{path}");
        assert!(world.issuer.asked("/elsewhere").is_empty(), "{path}");
    }
}

#[tokio::test]
async fn an_answer_without_an_end_is_not_read_to_its_end() {
    for path in [DISCOVERY, "/keys", "/token", "/me"] {
        let world = World::start().await;
        let result = sign_in_to_the_end(&world, path, Answer::Endless).await;
        assert_eq!(verdict(&result), Verdict::Unbelievable, "{path}");
    }
}

#[tokio::test]
async fn an_answer_that_never_comes_is_not_waited_for() {
    for path in [DISCOVERY, "/keys", "/token", "/me"] {
        let world = World::start().await;
        let later = async {
            world.issuer.stalls().await;
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(10)).await;
        };
        let sign_in = sign_in_to_the_end(&world, path, Answer::Stalled);
        let (result, ()) = futures::future::join(sign_in, later).await;
        tokio::time::resume();
        assert_eq!(verdict(&result), Verdict::Unavailable, "{path}");
    }
}

#[tokio::test]
async fn an_issuer_that_fails_half_way_refuses_nobody() {
    for path in [DISCOVERY, "/keys", "/token", "/me"] {
        for status in [500, 503, 429] {
            let world = World::start().await;
            let answer = Answer::Json(status, json!({"error": "access_denied"}));
            let result = sign_in_to_the_end(&world, path, answer).await;
            assert_eq!(verdict(&result), Verdict::Unavailable, "{path} {status}");
        }
    }
}

/// Signs Ann in, with groups in userinfo, while one path answers something else.
async fn sign_in_to_the_end(
    world: &World,
    path: &str,
    answer: Answer,
) -> Result<SignedIn, ProviderError> {
    let document = world.issuer.document();
    world.issuer.says(DISCOVERY, Answer::Json(200, document));
    if path == DISCOVERY {
        world.issuer.says(path, answer);
        let begun = world.oidc.authorize(&back(), now()).await;
        return Err(begun.expect_err("it described itself"));
    }
    let begun = Begun::at(&world.oidc).await;
    let mut claims = world.claims(begun.nonce());
    claims.as_object_mut().unwrap().remove("groups");
    world.gives(&claims);
    world.issuer.says(path, answer);
    begun.ends(&world.oidc).await
}

#[tokio::test]
async fn a_token_for_somebody_or_something_else_signs_nobody_in() {
    let world = World::start().await;
    let forger = Signer::new("one", Algorithm::ES256);
    let change = |nonce: &str, name: &str, value: Value| {
        let mut claims = world.claims(nonce);
        claims[name] = value;
        claims
    };
    for (what, result) in [
        (
            "of another key",
            world
                .sign_in_with(|nonce| forger.sign(&world.claims(nonce)))
                .await,
        ),
        (
            "for another client",
            world
                .sign_in_with(|nonce| world.signer.sign(&change(nonce, "aud", "other".into())))
                .await,
        ),
        (
            "of another issuer",
            world
                .sign_in_with(|nonce| {
                    world
                        .signer
                        .sign(&change(nonce, "iss", "https://other.example.com".into()))
                })
                .await,
        ),
        (
            "of another sign-in",
            world
                .sign_in_with(|_| world.signer.sign(&world.claims("another-nonce")))
                .await,
        ),
        (
            "that is over",
            world
                .sign_in_with(|nonce| world.signer.sign(&change(nonce, "exp", (NOW - 100).into())))
                .await,
        ),
        ("that is none", world.sign_in_with(|_| String::new()).await),
    ] {
        assert_eq!(verdict(&result), Verdict::Unbelievable, "{what}");
        let text = shown(result);
        assert!(!text.contains("eyJ"), "a token is in the error: {text}");
    }
    assert_eq!(verdict(&world.sign_in().await), Verdict::Good);
}

#[tokio::test]
async fn groups_come_from_userinfo_if_the_token_has_none_and_only_of_the_same_person() {
    let world = World::start().await;
    let without_groups = |nonce: &str| {
        let mut claims = world.claims(nonce);
        claims.as_object_mut().unwrap().remove("groups");
        world.signer.sign(&claims)
    };
    let me = |sub: &str| json!({"sub": sub, "groups": ["team-b"], "preferred_username": "eve"});
    world.issuer.says("/me", Answer::Json(200, me("ann-1")));
    let person = world.sign_in_with(without_groups).await.unwrap().person;
    assert_eq!(person.groups[0].id, "team-b");
    assert_eq!(person.login, "ann", "the token goes first");
    let asked = &world.issuer.asked("/me")[0];
    assert_eq!(
        asked.authorization.as_deref(),
        Some("Bearer an-access-token")
    );

    let raw = |media| Answer::Raw(200, media, me("ann-1").to_string().into_bytes());
    for (what, answer) in [
        ("somebody else", Answer::Json(200, me("eve-1"))),
        ("somebody like her", Answer::Json(200, me("ANN-1"))),
        ("nobody", Answer::Json(200, json!({"groups": ["team-b"]}))),
        ("no object", Answer::Json(200, json!(["team-b"]))),
        ("another media type", raw("application/jwt")),
        ("no", Answer::Json(401, json!({"error": "invalid_token"}))),
        (
            "forbidden",
            Answer::Json(403, json!({"error": "insufficient_scope"})),
        ),
    ] {
        world.issuer.says("/me", answer);
        let result = world.sign_in_with(without_groups).await;
        assert_eq!(verdict(&result), Verdict::Unbelievable, "{what}");
    }
}

#[tokio::test]
async fn a_renewal_is_about_the_same_person_or_not_believed() {
    let world = World::start().await;
    let mut ann = world.claims("");
    ann.as_object_mut().unwrap().remove("nonce");
    ann["groups"] = json!(["team-c"]);
    world.gives(&ann);
    let renewed = world.refresh().await.unwrap();
    assert_eq!(renewed.person.groups[0].id, "team-c");
    let asked = &world.issuer.asked("/token")[0];
    assert_eq!(
        asked.body,
        "grant_type=refresh_token&refresh_token=refresh-1"
    );

    for (name, value) in [
        ("sub", "eve-1"),
        ("iss", "https://evil.example.com"),
        ("aud", "other"),
    ] {
        let mut other = ann.clone();
        other[name] = value.into();
        world.gives(&other);
        let result = world.refresh().await;
        assert_eq!(verdict(&result), Verdict::Unbelievable, "{name}");
    }
}

#[tokio::test]
async fn a_renewal_without_an_id_token_is_believed_if_userinfo_says_whose_it_is() {
    let world = World::start().await;
    let tokens = json!({"access_token": "an-access-token", "token_type": "Bearer"});
    world.issuer.says("/token", Answer::Json(200, tokens));
    let me = |sub: &str| Answer::Json(200, json!({"sub": sub, "groups": ["team-d"]}));
    world.issuer.says("/me", me("ann-1"));
    let renewed = world.refresh().await.unwrap();
    assert_eq!(renewed.person.groups[0].id, "team-d");
    assert!(renewed.refresh_token.is_none() && renewed.id_token.is_none());
    world.issuer.says("/me", me("eve-1"));
    assert_eq!(verdict(&world.refresh().await), Verdict::Unbelievable);

    let silent = json!({"userinfo_endpoint": null});
    world.issuer.describes_itself_with(&silent);
    let oidc = client(&world.issuer);
    let token = SecretString::from("refresh-1");
    let result = oidc.refresh(&token, "ann-1", now()).await;
    assert_eq!(verdict(&result), Verdict::Unbelievable);
}

#[tokio::test]
async fn a_new_key_is_fetched_once_and_made_up_ones_cause_no_flood() {
    let mut world = World::start().await;
    world.sign_in().await.unwrap();
    world.sign_in().await.unwrap();
    assert_eq!(world.issuer.asked("/keys").len(), 1, "keys are kept");

    // The issuer signs with another key from now on; a minute has to be over for each fetch.
    world.signer = Signer::new("two", Algorithm::ES256);
    let published = document(&[world.signer.published()]);
    world.issuer.says("/keys", Answer::Json(200, published));
    let begun = Begun::at(&world.oidc).await;
    world.gives(&world.claims(begun.nonce()));
    let query = format!("code=a-code&state={}", begun.sent["state"]);
    let result = world.oidc.redeem(&query, &begun.pending, now()).await;
    assert_eq!(verdict(&result), Verdict::Unbelievable, "within the minute");
    for _ in 0..3 {
        let result = world.oidc.redeem(&query, &begun.pending, after(60)).await;
        assert_eq!(verdict(&result), Verdict::Good);
    }
    assert_eq!(world.issuer.asked("/keys").len(), 2);

    let made_up = |number: u32| {
        let header = json!({"alg": "ES256", "kid": format!("made-up-{number}")});
        world
            .signer
            .sign_with(&header, &world.claims(begun.nonce()))
    };
    for number in 0..1000 {
        world.gives_token(&made_up(number));
        let result = world.oidc.redeem(&query, &begun.pending, after(121)).await;
        assert_eq!(verdict(&result), Verdict::Unbelievable);
    }
    assert_eq!(world.issuer.asked("/keys").len(), 3, "one in that minute");
}

#[tokio::test]
async fn who_comes_while_keys_are_fetched_waits_for_the_same_ones() {
    let world = World::start().await;
    let begun = Begun::at(&world.oidc).await;
    world.gives(&world.claims(begun.nonce()));
    let many = (0..20).map(|_| begun.ends(&world.oidc));
    for result in futures::future::join_all(many).await {
        assert_eq!(verdict(&result), Verdict::Good);
    }
    assert_eq!(world.issuer.asked("/keys").len(), 1);
    assert_eq!(world.issuer.asked(DISCOVERY).len(), 1);
}

#[tokio::test]
async fn keys_that_cannot_be_fetched_refuse_nobody_and_are_asked_for_again() {
    let mut world = World::start().await;
    world.sign_in().await.unwrap();
    world.signer = Signer::new("two", Algorithm::ES256);
    world.issuer.says("/keys", Answer::Json(503, json!({})));
    let begun = Begun::at(&world.oidc).await;
    world.gives(&world.claims(begun.nonce()));
    let query = format!("code=a-code&state={}", begun.sent["state"]);
    for _ in 0..2 {
        let result = world.oidc.redeem(&query, &begun.pending, after(90)).await;
        assert_eq!(verdict(&result), Verdict::Unavailable);
    }
    let published = document(&[world.signer.published()]);
    world.issuer.says("/keys", Answer::Json(200, published));
    let result = world.oidc.redeem(&query, &begun.pending, after(90)).await;
    assert_eq!(verdict(&result), Verdict::Good);
}

#[tokio::test]
async fn a_withdrawn_key_is_believed_no_longer_than_an_hour() {
    let world = World::start().await;
    world.sign_in().await.unwrap();
    let other = Signer::new("two", Algorithm::ES256);
    world
        .issuer
        .says("/keys", Answer::Json(200, document(&[other.published()])));
    let mut claims = world.claims("");
    claims["exp"] = (NOW + 86_400).into();
    world.gives(&claims);
    let token = SecretString::from("refresh-1");
    let result = world.oidc.refresh(&token, "ann-1", after(3599)).await;
    assert_eq!(verdict(&result), Verdict::Good);
    let result = world.oidc.refresh(&token, "ann-1", after(3600)).await;
    assert_eq!(verdict(&result), Verdict::Unbelievable);
}

#[tokio::test]
async fn keys_that_nothing_can_be_checked_with_sign_nobody_in() {
    let enc = {
        let mut key = Signer::new("one", Algorithm::ES256).published();
        key["use"] = "enc".into();
        key
    };
    let many: Vec<Value> = (0..101)
        .map(|_| Signer::new("one", Algorithm::ES256).published())
        .collect();
    for (what, answer) in [
        ("none", Answer::Json(200, document(&[]))),
        ("for encryption", Answer::Json(200, document(&[enc]))),
        ("101", Answer::Json(200, document(&many))),
        ("no set", Answer::Json(200, json!([]))),
        (
            "no JSON",
            Answer::Raw(200, "application/json", b"<html>".to_vec()),
        ),
        ("nowhere", Answer::Json(404, json!({}))),
    ] {
        let world = World::start().await;
        world.issuer.says("/keys", answer);
        let result = world.sign_in().await;
        assert_eq!(verdict(&result), Verdict::Unbelievable, "{what}");
    }
}

#[tokio::test]
async fn signing_out_there_too_is_offered_where_there_is_an_address() {
    let issuer = Issuer::start().await;
    let oidc = client(&issuer);
    let hint = SecretString::from("an-id-token");
    let home: Url = "https://drover.example.com/".parse().unwrap();
    let url = oidc.logout_url(&hint, &home, now()).await.unwrap().unwrap();
    assert!(url.as_str().starts_with(&format!("{}/bye?", issuer.url)));
    let sent = parameters(&url);
    assert_eq!(sent["id_token_hint"], "an-id-token");
    assert_eq!(sent["post_logout_redirect_uri"], home.as_str());
    assert_eq!(sent["client_id"], CLIENT);
    issuer.describes_itself_with(&json!({"end_session_endpoint": null}));
    let url = client(&issuer).logout_url(&hint, &home, now()).await;
    assert_eq!(url.unwrap(), None);
}

#[tokio::test]
async fn a_test_before_enabling_says_what_was_found_and_what_is_wrong() {
    let world = World::start().await;
    let error = |error: &str| Answer::Json(400, json!({ "error": error }));
    let words = async |oidc: &Oidc| -> Vec<(&str, Verdict)> {
        let checks = oidc.check(now()).await;
        checks
            .iter()
            .map(|check| (check.what, verdict(&check.found)))
            .collect()
    };
    world.issuer.says("/token", error("invalid_grant"));
    let checks = words(&world.oidc).await;
    let all = ["Discovery", "Signing in", "Keys", "Client", "Signing out"];
    assert_eq!(checks, all.map(|what| (what, Verdict::Good)));
    assert_eq!(world.issuer.asked("/keys").len(), 1);

    world.issuer.says("/token", error("invalid_client"));
    world.issuer.says("/keys", Answer::Json(500, json!({})));
    let checks = words(&world.oidc).await;
    assert_eq!(checks[2], ("Keys", Verdict::Unavailable));
    assert_eq!(
        checks[3],
        ("Client", Verdict::Misconfigured("oidc.clientSecret"))
    );

    world.issuer.says("/token", error("invalid_request"));
    assert_eq!(words(&world.oidc).await[3], ("Client", Verdict::Good));

    world
        .issuer
        .describes_itself_with(&json!({"issuer": "https://other.example.com"}));
    let checks = words(&world.oidc).await;
    assert_eq!(
        checks,
        [("Discovery", Verdict::Misconfigured("oidc.issuer"))]
    );
}
