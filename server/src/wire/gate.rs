//! What holds for every request, whichever module answers it.

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};

use crate::hub::lease::{Leadership, Standing};
use crate::status::Status;
use crate::ui;

/// The routes of all modules, behind what holds for every request.
pub(super) fn stand_before(routes: Router, leadership: Leadership) -> Router {
    routes
        .fallback(ui::screen_or_nothing)
        .method_not_allowed_fallback(async || Status::method_not_allowed())
        .layer(middleware::from_fn_with_state(
            leadership,
            only_when_serving,
        ))
}

/// A server that waits for its turn answers nothing but questions about its health.
async fn only_when_serving(
    State(leadership): State<Leadership>,
    request: Request,
    next: Next,
) -> Response {
    let standing = leadership.standing();
    if standing.may_serve() || matches!(request.uri().path(), "/livez" | "/readyz" | "/metrics") {
        return next.run(request).await;
    }
    let message = match standing {
        Standing::Waiting { holder } if !holder.is_empty() => format!(
            "this server waits: {holder} serves at present; send requests only to servers whose \
             /readyz answers 200"
        ),
        _ => "this server is not serving yet; try again in some seconds".to_owned(),
    };
    Status::unavailable(message, 5).into_response()
}
