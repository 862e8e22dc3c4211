//! Tests with a misconfigured, hostile or unavailable issuer.

mod forged;
mod refusals;
mod rotation;
mod sign_in;

use std::collections::HashMap;

use drover_providers::ProviderError;
use drover_providers::oidc::keys::Algorithm;
use drover_providers::oidc::{Oidc, Pending, SignedIn};
use reqwest::Url;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::issuer::{DISCOVERY, Issuer, ScriptedResponse};
use super::signer::{Signer, claims, document};
use super::{SECRET, as_sign_in, now, spec};

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

/// Returns the query parameters of a URL.
fn parameters(url: &Url) -> HashMap<String, String> {
    url.query_pairs().into_owned().collect()
}

/// A started sign-in whose callback has not arrived.
struct StartedSignIn {
    pending: Pending,
    sent: HashMap<String, String>,
}

impl StartedSignIn {
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

    /// Completes the sign-in with a code.
    async fn complete(&self, oidc: &Oidc) -> Result<SignedIn, ProviderError> {
        let query = format!("code=a-code&state={}", self.sent["state"]);
        oidc.redeem(&query, &self.pending, now()).await
    }
}

/// A test issuer with one signing key, and Drover's client for this issuer.
struct World {
    issuer: Issuer,
    oidc: Oidc,
    signer: Signer,
}

impl World {
    async fn start() -> Self {
        let issuer = Issuer::start().await;
        let signer = Signer::new("one", Algorithm::ES256);
        issuer.says(
            "/keys",
            ScriptedResponse::Json(200, document(&[signer.published()])),
        );
        Self {
            oidc: client(&issuer),
            issuer,
            signer,
        }
    }

    fn claims(&self, nonce: &str) -> Value {
        claims(&self.issuer.url, nonce)
    }

    fn sends_claims(&self, claims: &Value) {
        self.sends_token(&self.signer.sign(claims));
    }

    fn sends_token(&self, id_token: &str) {
        let tokens = json!({"access_token": "an-access-token", "token_type": "bearer", "id_token": id_token, "refresh_token": "refresh-2", "expires_in": 300});
        self.issuer
            .says("/token", ScriptedResponse::Json(200, tokens));
    }

    /// Signs in user `ann-1` with this ID token.
    async fn sign_in_with(
        &self,
        token: impl FnOnce(&str) -> String,
    ) -> Result<SignedIn, ProviderError> {
        let started = StartedSignIn::at(&self.oidc).await;
        self.sends_token(&token(started.nonce()));
        started.complete(&self.oidc).await
    }

    async fn sign_in(&self) -> Result<SignedIn, ProviderError> {
        self.sign_in_with(|nonce| self.signer.sign(&self.claims(nonce)))
            .await
    }

    async fn refresh(&self) -> Result<SignedIn, ProviderError> {
        let token = SecretString::from("refresh-1");
        as_sign_in(self.oidc.refresh(&token, "ann-1", now()).await)
    }
}

/// Signs in user `ann-1` with groups from userinfo. The issuer returns `answer` for requests to
/// `path`.
async fn sign_in_with_response(
    world: &World,
    path: &str,
    answer: ScriptedResponse,
) -> Result<SignedIn, ProviderError> {
    let document = world.issuer.document();
    world
        .issuer
        .says(DISCOVERY, ScriptedResponse::Json(200, document));
    if path == DISCOVERY {
        world.issuer.says(path, answer);
        let started = world.oidc.authorize(&back(), now()).await;
        return Err(started.expect_err("the discovery document is invalid"));
    }
    let started = StartedSignIn::at(&world.oidc).await;
    let mut claims = world.claims(started.nonce());
    claims.as_object_mut().unwrap().remove("groups");
    world.sends_claims(&claims);
    world.issuer.says(path, answer);
    started.complete(&world.oidc).await
}
