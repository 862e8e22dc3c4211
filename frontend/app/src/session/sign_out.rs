//! The sign-out: the work before the end of the session, and the sign-out at the provider.

use std::pin::Pin;

use drover_api::rest::ProviderSignOut;
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::provider_sign_out::post_sign_out;
use super::{Session, SessionState};
use crate::fetch::Request;

/// The work before a sign-out.
pub(crate) type Closing = Pin<Box<dyn Future<Output = ()>>>;

impl Session {
    /// Runs `close` before each sign-out, until the reactive owner is cleaned up.
    pub(crate) fn close_before_sign_out(
        self,
        close: impl Fn(()) -> Closing + Send + Sync + 'static,
    ) {
        self.before_sign_out.set_value(Some(Callback::new(close)));
        on_cleanup(move || {
            // The session can be disposed before the owner.
            let _ = self.before_sign_out.try_set_value(None);
        });
    }

    /// Ends the session of this browser. With `everywhere`, ends all sessions of the user,
    /// including CLI sessions.
    async fn end(self, everywhere: bool) -> Result<(), Problem> {
        let (path, reason) = if everywhere {
            ("/v1/sessions", t().session.signed_out_everywhere())
        } else {
            ("/v1/session", t().session.signed_out())
        };
        let request = Request::changing("DELETE", path).proven_by(self.csrf());
        match request.bytes().await {
            Err(problem) if problem.kind != ProblemKind::SignedOut => Err(problem),
            answer => {
                self.close(Some(reason));
                // A response without a body contains no sign-out form.
                let onward = answer
                    .ok()
                    .and_then(|body| serde_json::from_slice::<ProviderSignOut>(&body).ok());
                if let Some(onward) = onward {
                    self.onward.set_value(Some(onward.provider.clone()));
                    if post_sign_out(&onward).is_none() {
                        self.report_provider_session();
                    }
                }
                Ok(())
            }
        }
    }

    /// Shows that the sign-out at the provider failed.
    pub(super) fn report_provider_session(self) {
        let provider = self.onward.try_update_value(Option::take).flatten();
        let is_closed = untrack(move || matches!(self.state.get(), SessionState::SignedOut { .. }));
        if let Some(provider) = provider.filter(|_| is_closed) {
            self.close(Some(&t().session.signed_in_at_provider(&provider)));
        }
    }
}

/// Signs out, or shows the error.
pub(crate) fn sign_out(session: Session, toasts: Toasts, everywhere: bool) {
    spawn_local(async move {
        if let Some(close) = session.before_sign_out.get_value() {
            close.run(()).await;
        }
        if let Err(problem) = session.end(everywhere).await {
            toasts.warn(problem.message);
        }
    });
}
