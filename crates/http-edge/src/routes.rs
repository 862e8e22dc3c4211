//! Routes of the server. Each route is declared once with its handler, its required permission and
//! its OpenAPI operation.
//!
//! A [`Routes`] builds the router, the OpenAPI document and the list of routes from the same
//! declarations. A test of the server calls each listed route without its required permission.

use std::borrow::Cow;
use std::fmt;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, get};
use http::Method;
use utoipa::openapi::{OpenApi, PathItem};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

/// The permission that a route requires of its caller. The handler's extractor enforces the
/// permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// The route requires no authentication.
    Anyone,
    /// An agent's registration token or signature.
    Agent,
    /// A valid token of any purpose.
    AnyToken,
    /// A user's token that is not limited to one cluster or one purpose.
    User,
    /// A token as for [`Right::User`]. The user's global roles must also allow the request. The
    /// route of a single object returns 404 if the user has no role for the object.
    Role,
    /// A token as for [`Right::User`]. The user must also be an administrator.
    Administrator,
    /// A permit for the cluster in the path.
    Permit,
}

/// A route: one method of one path, with the required permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The HTTP method. For a route that accepts all methods, the method that tests use to call the
    /// route.
    pub method: Method,
    /// The path in axum's syntax, for example `/v1/users/{name}`.
    pub path: Cow<'static, str>,
    /// The permission that the handler requires.
    pub right: Right,
}

/// Declarations of routes with handlers of the state `S`.
pub struct Routes<S> {
    router: OpenApiRouter<S>,
    list: Vec<Route>,
}

impl<S> fmt::Debug for Routes<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Routes").field(&self.list).finish()
    }
}

impl<S: Clone + Send + Sync + 'static> Default for Routes<S> {
    fn default() -> Self {
        Self {
            router: OpenApiRouter::default(),
            list: Vec::new(),
        }
    }
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// Adds handlers of one path that require `right`.
    ///
    /// `utoipa_axum::routes!` creates `handlers` from functions with `#[utoipa::path]`. This
    /// attribute declares the path, the method and the operation.
    #[must_use]
    pub fn add(mut self, right: Right, handlers: UtoipaMethodRouter<S>) -> Self {
        for (path, item) in &handlers.1.paths {
            self.list.extend(methods(item).map(|method| Route {
                method,
                path: path.clone().into(),
                right,
            }));
        }
        self.router = self.router.routes(handlers);
        self
    }

    /// Adds a `GET` route that is not in the OpenAPI document.
    #[must_use]
    pub fn add_undocumented<H, T>(mut self, right: Right, path: &'static str, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        self.list.push(Route {
            method: Method::GET,
            path: path.into(),
            right,
        });
        self.router = OpenApiRouter::route(self.router, path, get(handler));
        self
    }

    /// Adds a route for WebSockets. Over HTTP/2, the method of a WebSocket is `CONNECT` (RFC 8441),
    /// which OpenAPI cannot describe. `handler` also serves this method.
    #[must_use]
    pub fn add_web_socket<H, T>(
        self,
        right: Right,
        mut handlers: UtoipaMethodRouter<S>,
        handler: H,
    ) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        handlers.2 = handlers.2.on(MethodFilter::CONNECT, handler);
        self.add(right, handlers)
    }

    /// Returns the router of all handlers.
    pub fn into_router(self) -> Router<S> {
        self.router.split_for_parts().0
    }

    /// Returns the methods, paths and permissions of all routes, and the OpenAPI paths and schemas
    /// of their operations.
    pub fn into_parts(self) -> (Vec<Route>, OpenApi) {
        (self.list, self.router.into_openapi())
    }
}

/// Returns the HTTP methods for which the OpenAPI path item `item` has an operation.
fn methods(item: &PathItem) -> impl Iterator<Item = Method> {
    [
        (&item.get, Method::GET),
        (&item.put, Method::PUT),
        (&item.post, Method::POST),
        (&item.delete, Method::DELETE),
        (&item.options, Method::OPTIONS),
        (&item.head, Method::HEAD),
        (&item.patch, Method::PATCH),
        (&item.trace, Method::TRACE),
    ]
    .into_iter()
    .filter_map(|(operation, method)| operation.is_some().then_some(method))
}
