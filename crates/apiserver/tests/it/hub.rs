//! A server with its own store, and an in-process client that can act as any user.

use axum::Router;
use axum::body::Body;
use drover_apiserver::access::Caller;
use drover_apiserver::builtin::Kinds;
use drover_apiserver::server::{ApiServer, Options};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

/// A server and its temporary folder.
pub(crate) struct Hub {
    pub(crate) server: ApiServer,
    router: Router,
    _folder: Option<tempfile::TempDir>,
}

/// A response with its complete body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    async fn of(response: http::Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Self {
            code: parts.status,
            headers: parts.headers,
            text: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    /// Parses the body as JSON; other text becomes a string.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| self.text.clone().into())
    }

    /// Returns the field `message` of the Status.
    pub(crate) fn message(&self) -> String {
        self.json()["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Returns the values of the `Warning` headers.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let all = self.headers.get_all("warning").iter();
        all.map(|value| value.to_str().unwrap().to_owned())
            .collect()
    }

    /// Returns the body; panics unless the response has this code.
    #[track_caller]
    pub(crate) fn expect(self, code: u16) -> Value {
        assert_eq!(self.code.as_u16(), code, "{}", self.text);
        self.json()
    }
}

/// A request builder.
pub(crate) struct Call<'h> {
    hub: &'h Hub,
    caller: Caller,
    request: http::request::Builder,
    typed: bool,
}

impl Call<'_> {
    /// Sets the user of the request.
    pub(crate) fn by(mut self, caller: Caller) -> Self {
        self.caller = caller;
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.typed |= name.eq_ignore_ascii_case("content-type");
        self.request = self.request.header(name, value);
        self
    }

    pub(crate) async fn send(self, body: Value) -> Answer {
        self.send_text(&body.to_string()).await
    }

    pub(crate) async fn none(self) -> Answer {
        self.send_text("").await
    }

    pub(crate) async fn send_text(self, body: &str) -> Answer {
        Answer::of(self.stream(body).await).await
    }

    /// Sends the request, and returns the response with its unread body.
    pub(crate) async fn stream(mut self, body: &str) -> http::Response<Body> {
        if !body.is_empty() && !self.typed {
            self.request = self.request.header("content-type", "application/json");
        }
        let mut request = self.request.body(Body::from(body.to_owned())).unwrap();
        request.extensions_mut().insert(self.caller);
        self.hub.router.clone().oneshot(request).await.unwrap()
    }
}

impl Hub {
    /// Creates a server whose controllers do not run.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Options)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = Options::new(folder.path().join("hub.db"));
        options.kinds = Kinds::Cluster;
        change(&mut options);
        let server = ApiServer::open(options).await.unwrap();
        let router = server.router();
        Self {
            server,
            router,
            _folder: Some(folder),
        }
    }

    /// Creates a client of this open server. The caller owns the folder of the server's store.
    pub(crate) fn of(server: ApiServer) -> Self {
        let router = server.router();
        Self {
            server,
            router,
            _folder: None,
        }
    }

    /// Builds a request of a privileged user.
    pub(crate) fn call(&self, method: Method, path: &str) -> Call<'_> {
        Call {
            hub: self,
            caller: Caller::privileged("admin"),
            request: Request::builder()
                .method(method)
                .uri(path)
                .header("user-agent", "it/1"),
            typed: false,
        }
    }

    /// Sends a request like an external client. The server authenticates the request by the
    /// `Authorization` header.
    pub(crate) async fn outside(&self, method: Method, path: &str, authorization: &str) -> Answer {
        self.outside_with(method, path, authorization, &Value::Null)
            .await
    }

    pub(crate) async fn outside_with(
        &self,
        method: Method,
        path: &str,
        authorization: &str,
        body: &Value,
    ) -> Answer {
        let body = match body {
            Value::Null => Body::empty(),
            body => Body::from(body.to_string()),
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", authorization)
            .body(body)
            .unwrap();
        Answer::of(self.router.clone().oneshot(request).await.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path).none().await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Method::POST, path).send(body).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.call(Method::PUT, path).send(body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.call(Method::DELETE, path).none().await
    }

    pub(crate) async fn patch(&self, path: &str, kind: &str, body: Value) -> Answer {
        let media_type = match kind {
            "apply" => "application/apply-patch+yaml".to_owned(),
            "json" => "application/json-patch+json".to_owned(),
            kind => format!("application/{kind}-patch+json"),
        };
        self.call(Method::PATCH, path)
            .header("content-type", &media_type)
            .send(body)
            .await
    }

    /// Creates an object; panics on error.
    #[track_caller]
    pub(crate) fn create(&self, path: &str, body: Value) -> impl Future<Output = Value> {
        let sent = self.post(path, body);
        async move { sent.await.expect(201) }
    }
}

/// Returns a ConfigMap with this name.
pub(crate) fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
        "data": {"key": "value"}})
}

/// The path of ConfigMaps in namespace `default`.
pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";
