//! HTTP requests to the server through the browser's Fetch API.

use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::source::AS_OBJECTS;
use js_sys::{Promise, Reflect};
use leptos::prelude::window;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    AbortSignal, Headers, RequestCache, RequestCredentials, RequestInit, RequestRedirect, Response,
};

/// The default timeout of a response, in milliseconds.
const TIMEOUT_MS: u32 = 30_000;

/// The HTTP method. Methods other than `GET` require the CSRF token.
#[derive(Clone, Debug)]
pub(crate) enum Method {
    /// A `GET` request.
    Get,
    /// A request that changes state, with its method.
    Changing(&'static str),
}

/// An HTTP request before it is sent.
#[derive(Debug)]
pub(crate) struct Request {
    method: Method,
    path: String,
    body: Option<Body>,
    csrf: Option<String>,
    accept: &'static str,
    timeout_ms: u32,
    parse_problem: fn(u16, &[u8]) -> Problem,
}

/// The body of a request and its media type.
#[derive(Debug)]
struct Body {
    text: String,
    content_type: &'static str,
}

impl Body {
    fn of(body: &impl Serialize, content_type: &'static str) -> Option<Self> {
        let text = serde_json::to_string(body).ok()?;
        Some(Self { text, content_type })
    }
}

impl Request {
    /// Creates a `GET` request.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::Get, path)
    }

    /// Creates a request that changes state.
    pub(crate) fn changing(method: &'static str, path: impl Into<String>) -> Self {
        Self::new(Method::Changing(method), path)
    }

    fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            body: None,
            csrf: None,
            accept: AS_OBJECTS,
            timeout_ms: TIMEOUT_MS,
            parse_problem: Problem::of_answer,
        }
    }

    /// Sets the function that parses the body of an error response, for errors that are not in JSON.
    pub(crate) fn parsing_problems_with(mut self, parse: fn(u16, &[u8]) -> Problem) -> Self {
        self.parse_problem = parse;
        self
    }

    /// Sets the timeout of the response, in milliseconds.
    pub(crate) fn within(mut self, timeout_ms: u32) -> Self {
        self.timeout_ms = timeout_ms;
        self
    }

    /// Sets a JSON body.
    pub(crate) fn with(mut self, body: &impl Serialize) -> Self {
        self.body = Body::of(body, "application/json");
        self
    }

    /// Sets a merge patch (RFC 7396) as the body.
    pub(crate) fn patching_with(mut self, patch: &impl Serialize) -> Self {
        self.body = Body::of(patch, "application/merge-patch+json");
        self
    }

    /// Sets a body with another media type.
    pub(crate) fn with_body(mut self, body: &impl Serialize, content_type: &'static str) -> Self {
        self.body = Body::of(body, content_type);
        self
    }

    /// Sets a text as the body.
    pub(crate) fn with_text(mut self, text: String, content_type: &'static str) -> Self {
        self.body = Some(Body { text, content_type });
        self
    }

    /// Adds the CSRF token of the session.
    pub(crate) fn proven_by(mut self, csrf: Option<String>) -> Self {
        if matches!(self.method, Method::Changing(_)) {
            self.csrf = csrf;
        }
        self
    }

    /// Sets the `Accept` header.
    pub(crate) fn accepting(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    /// Sends the request and parses the JSON response.
    pub(crate) async fn answer<T: DeserializeOwned>(self) -> Result<T, Problem> {
        let body = self.bytes().await?;
        serde_json::from_slice(&body).map_err(|error| Problem::strange(&error.to_string()))
    }

    /// Sends the request and ignores the body of the response.
    pub(crate) async fn done(self) -> Result<(), Problem> {
        self.bytes().await.map(|_| ())
    }

    /// Sends the request and returns the raw response body.
    pub(crate) async fn bytes(self) -> Result<Vec<u8>, Problem> {
        let timeout = AbortSignal::timeout_with_u32(self.timeout_ms);
        body(self.send(&timeout).await?).await
    }

    /// Sends the request and returns the media type and the text of the response.
    pub(crate) async fn text(self) -> Result<(String, String), Problem> {
        let timeout = AbortSignal::timeout_with_u32(self.timeout_ms);
        let response = self.send(&timeout).await?;
        let media_type = response.headers().get("Content-Type").ok().flatten();
        let text = String::from_utf8_lossy(&body(response).await?).into_owned();
        Ok((media_type.unwrap_or_default(), text))
    }

    /// Sends the request and returns when the response headers arrive. For an error status, the
    /// method also reads the body.
    pub(crate) async fn send(self, signal: &AbortSignal) -> Result<Response, Problem> {
        let init = RequestInit::new();
        init.set_credentials(RequestCredentials::SameOrigin);
        init.set_cache(RequestCache::NoStore);
        // Drover's API never redirects, so a redirect comes from a proxy.
        init.set_redirect(RequestRedirect::Error);
        init.set_signal(Some(signal));
        let headers = Headers::new().map_err(|_| Problem::strange(t().problems.bad_header()))?;
        let set = |name: &str, value: &str| {
            let refused = |_| Problem::strange(t().problems.bad_header());
            headers.set(name, value).map_err(refused)
        };
        set("Accept", self.accept)?;
        if let Method::Changing(method) = &self.method {
            init.set_method(method);
        }
        if let Some(csrf) = &self.csrf {
            set("X-Drover-CSRF", csrf)?;
        }
        if let Some(body) = &self.body {
            set("Content-Type", body.content_type)?;
            init.set_body(&JsValue::from_str(&body.text));
        }
        init.set_headers(&headers);
        let fetch = || window().fetch_with_str_and_init(&self.path, &init);
        let early = match self.method {
            Method::Get => early_response(&self.path),
            Method::Changing(_) => None,
        };
        let going = JsFuture::from(early.unwrap_or_else(fetch));
        let response: Response = going
            .await
            .and_then(JsCast::dyn_into)
            .map_err(|_| Problem::offline())?;
        if response.ok() {
            return Ok(response);
        }
        let code = response.status();
        Err((self.parse_problem)(code, &body(response).await?))
    }
}

/// Takes the response of a request that `start.js` sent while the browser compiled the program.
/// After the first other request, the function discards these responses, because they are old.
fn early_response(path: &str) -> Option<Promise> {
    const REQUESTS: &str = "droverRequests";
    let (window, name) = (window(), JsValue::from_str(REQUESTS));
    let requests = Reflect::get(&window, &name).ok()?;
    if !requests.is_object() {
        return None;
    }
    let path = JsValue::from_str(path);
    let response = Reflect::get(&requests, &path).ok()?;
    // The body of a response can be read only once.
    let taken = match response.dyn_into() {
        Ok(response) => Reflect::set(&requests, &path, &JsValue::UNDEFINED).map(|_| response),
        Err(none) => Reflect::set(&window, &name, &JsValue::UNDEFINED).and(Err(none)),
    };
    taken.ok()
}

async fn body(response: Response) -> Result<Vec<u8>, Problem> {
    let cut = |_| Problem::offline();
    let read = JsFuture::from(response.array_buffer().map_err(cut)?);
    let buffer = read.await.map_err(cut)?;
    Ok(js_sys::Uint8Array::new(buffer.unchecked_ref()).to_vec())
}
