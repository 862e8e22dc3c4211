//! What becomes of people when an issuer is wrong, hostile or down.

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

use super::issuer::{Answer, DISCOVERY, Issuer};
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
        as_sign_in(self.oidc.refresh(&token, "ann-1", now()).await)
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
