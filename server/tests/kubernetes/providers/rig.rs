//! A server on the embedded hub, with identity providers.

use std::time::Duration;

use drover_api::group::PROVIDER_SECRET_LABEL;
use drover_api::kinds::{AuthProvider, AuthProviderSpec};
use drover_e2e::eventually;
use drover_testkit::openid::{CLIENT, Provider, SECRET, Settings};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use reqwest::{Method, Url};
use serde_json::{Value, json};

use crate::place::TestHub;
use crate::server::{Answer, Server};

pub(super) const SOON: Duration = Duration::from_secs(10);

/// A server, the session of its administrator, and its hub.
pub(super) struct Rig {
    pub(super) server: Server,
    pub(super) admin: String,
    _hub: TestHub,
}

/// The cookie and the CSRF token of a browser session.
#[derive(Clone)]
pub(super) struct SignedIn {
    pub(super) cookie: String,
    pub(super) csrf: String,
}

impl Rig {
    pub(super) async fn start() -> Self {
        let hub = TestHub::embedded();
        let server = Server::start(&hub).await;
        let admin = server.administrator().await;
        Self {
            server,
            admin,
            _hub: hub,
        }
    }

    fn providers(&self) -> Api<AuthProvider> {
        Api::all(self.server.hub.client())
    }

    /// Creates the Secret of a provider.
    pub(super) async fn secret(&self, name: &str, key: &str, value: &str) {
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels: Some([(PROVIDER_SECRET_LABEL.to_owned(), name.to_owned())].into()),
                ..ObjectMeta::default()
            },
            string_data: Some([(key.to_owned(), value.to_owned())].into()),
            ..Secret::default()
        };
        let secrets = self.server.hub.secrets();
        secrets
            .create(&PostParams::default(), &secret)
            .await
            .unwrap();
    }

    /// Creates a provider and waits until users can sign in with the provider.
    pub(super) async fn provider(&self, name: &str, spec: AuthProviderSpec) -> AuthProvider {
        let provider = AuthProvider::new(name, spec);
        let (providers, params) = (self.providers(), PostParams::default());
        let created = providers.create(&params, &provider).await.unwrap();
        let stores = self.server.hub.stores();
        assert!(stores.auth_providers.wait_for(&created).await);
        created
    }

    pub(super) async fn change(&self, name: &str, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        let changed = self.providers();
        let changed = changed.patch(name, &PatchParams::default(), &patch).await;
        let stores = self.server.hub.stores();
        assert!(stores.auth_providers.wait_for(&changed.unwrap()).await);
    }

    pub(super) async fn delete(&self, name: &str) {
        let owned = self.providers().get(name).await.unwrap();
        let params = DeleteParams::default();
        self.providers().delete(name, &params).await.unwrap();
        let stores = self.server.hub.stores();
        let uid = owned.uid().unwrap();
        assert!(stores.auth_providers.wait_until_gone(&uid).await);
    }

    /// Starts an OpenID provider, and configures the provider in Drover with this name.
    pub(super) async fn openid(&self, name: &str) -> Provider {
        let provider = Provider::start(&Settings {
            back: format!("{}/v1/providers/{name}/callback", self.server.url),
            home: format!("{}/", self.server.url),
            ..Settings::default()
        })
        .await;
        self.secret(name, "clientSecret", SECRET).await;
        self.provider(name, spec_of(name, &provider)).await;
        provider
    }

    /// Starts a sign-in. Returns the redirect URL and the cookie of the sign-in.
    pub(super) async fn begin(&self, name: &str) -> (Url, String) {
        let path = format!("/v1/providers/{name}/sign-in");
        let headers = [("origin", self.server.url.as_str())];
        let body = json!({ "returnTo": "/clusters" });
        let answer = self
            .server
            .call_with(Method::POST, &path, &headers, Some(body));
        let answer = answer.await;
        let cookie = set_cookie(&answer).expect("the response sets a cookie");
        let (pair, attributes) = cookie.split_once("; ").unwrap();
        let kept = format!("__Host-drover-sign-in-{name}=");
        assert!(pair.starts_with(&kept), "{pair}");
        let here = "Path=/; Secure; HttpOnly; SameSite=Lax";
        assert!(attributes.starts_with(here), "{attributes}");
        let url = answer.expect(200)["url"].as_str().unwrap().parse();
        (url.unwrap(), pair.to_owned())
    }

    /// Sends a request for the callback URL with this cookie.
    pub(super) async fn come_back(&self, at: &Url, cookie: &str) -> Answer {
        let path = format!("{}?{}", at.path(), at.query().unwrap_or_default());
        let headers = [("cookie", cookie)];
        self.server
            .call_with(Method::GET, &path, &headers, None)
            .await
    }

    /// Signs a user in with an OpenID provider in a new browser.
    pub(super) async fn sign_in(&self, name: &str, provider: &Provider, login: &str) -> SignedIn {
        let (url, cookie) = self.begin(name).await;
        let back = provider.browser().sign_in(url, login).await;
        let answer = self.come_back(&back, &cookie).await;
        assert_eq!(answer.code.as_u16(), 200, "{:?}", answer.body);
        self.session(&answer).await
    }

    /// Returns the browser session whose cookie the response sets.
    pub(super) async fn session(&self, answer: &Answer) -> SignedIn {
        let cookie = set_cookie(answer).expect("the response sets a session cookie");
        let (cookie, attributes) = cookie.split_once("; ").unwrap();
        assert!(cookie.starts_with("__Host-drover="), "{cookie}");
        assert!(attributes.contains("SameSite=Strict"), "{attributes}");
        let headers = [("cookie", cookie), ("origin", self.server.url.as_str())];
        let session = self
            .server
            .call_with(Method::GET, "/v1/session", &headers, None);
        let session = session.await.expect(200);
        SignedIn {
            cookie: cookie.to_owned(),
            csrf: session["csrfToken"].as_str().unwrap().to_owned(),
        }
    }

    /// Sends a request with the cookie and the CSRF token of a user's session.
    pub(super) async fn by(
        &self,
        user: &SignedIn,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        let headers = [
            ("cookie", user.cookie.as_str()),
            ("origin", &self.server.url),
            ("x-drover-csrf", &user.csrf),
        ];
        self.server.call_with(method, path, &headers, body).await
    }

    pub(super) async fn me(&self, user: &SignedIn) -> Answer {
        self.by(user, Method::GET, "/v1/me", None).await
    }

    /// Creates an API token of a user.
    pub(super) async fn api_token(&self, user: &SignedIn) -> String {
        let wish = Some(json!({ "purpose": "Api", "ttlSeconds": 3600 }));
        let created = self.by(user, Method::POST, "/v1/tokens", wish).await;
        crate::server::token(&created.expect(201))
    }

    /// Waits until a request with a token gets this status code, and returns the response.
    pub(super) async fn until(&self, path: &str, token: &str, code: u16) -> Value {
        let requested = eventually(path, SOON, async || {
            let answer = self.server.get(path, token).await;
            let said = answer.code.as_u16();
            if said == code {
                Ok(answer.body)
            } else {
                Err(answer.body)
            }
        });
        requested.await.unwrap()
    }
}

/// Returns the configuration of a running OpenID provider.
pub(super) fn spec_of(name: &str, provider: &Provider) -> AuthProviderSpec {
    let spec = json!({
        "displayName": format!("The {name}"),
        "enabled": true,
        "oidc": {
            "issuer": provider.issuer,
            "clientId": CLIENT,
            "clientSecret": { "name": name, "key": "clientSecret" },
            "scopes": ["profile", "email", "groups", "offline_access"],
            "caBundle": provider.authority,
        },
    });
    serde_json::from_value(spec).unwrap()
}

/// Returns the first cookie in a response.
pub(super) fn set_cookie(answer: &Answer) -> Option<String> {
    let value = answer.headers.get("set-cookie")?;
    Some(value.to_str().unwrap().to_owned())
}
