//! The session of the user, and the client of the server's API.

mod cluster_change;
pub(crate) mod preferences;
mod provider_sign_out;
mod sign_out;

use std::time::Duration;

use drover_api::rest::{
    CallerRights, LoginRequest, PasswordChange, ProviderRedirect, ProviderSignIn, Secret,
    Session as SessionView,
};
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::sign_in::Provider;
use drover_ui_core::url::segment;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::clock::sleep;
use crate::fetch::Request;
pub(crate) use sign_out::{Closing, sign_out};

/// The state of the session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SessionState {
    /// The first response has not arrived.
    Unknown,
    /// The server does not respond.
    Unreachable(Problem),
    /// No user is signed in.
    SignedOut {
        /// The reason why the session ended.
        why: Option<String>,
    },
    /// The user must change the password. The variant contains the current password if the user
    /// entered the password on this page. After a reload, the form asks for the password.
    MustChangePassword(Option<Secret>),
    /// A user is signed in.
    SignedIn,
}

/// The session, as a context of the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    state: RwSignal<SessionState>,
    view: RwSignal<Option<SessionView>>,
    /// True while a verification request is pending.
    verifying: StoredValue<bool>,
    /// The provider whose sign-out form the page posts.
    onward: StoredValue<Option<String>>,
    /// The work before a sign-out, for credentials that do not end with the session.
    before_sign_out: StoredValue<Option<Callback<(), Closing>>>,
}

impl Session {
    /// Provides the session as a context.
    pub(crate) fn provide() -> Self {
        let session = Self {
            state: RwSignal::new(SessionState::Unknown),
            view: RwSignal::new(None),
            verifying: StoredValue::new(false),
            onward: StoredValue::new(None),
            before_sign_out: StoredValue::new(None),
        };
        provide_context(session);
        // Another tab can change the session while this tab is hidden.
        let seen = window_event_listener(leptos::ev::visibilitychange, move |_| {
            if !document().hidden() {
                session.verify();
            }
        });
        on_cleanup(move || seen.remove());
        // The content security policy contains the providers that existed when the page was loaded.
        let listener = window_event_listener_untyped("securitypolicyviolation", move |_| {
            session.report_provider_session();
        });
        on_cleanup(move || listener.remove());
        session
    }

    /// Returns the state of the session.
    pub(crate) fn state(self) -> SessionState {
        self.state.get()
    }

    /// Returns the session. The caller subscribes to changes.
    pub(crate) fn view(self) -> Option<SessionView> {
        self.view.get()
    }

    /// Reports whether the user is an administrator. The value only controls the page; the server
    /// checks permissions.
    ///
    /// The read is not tracked, because [`Session::replace`] mounts all screens again when the
    /// value changes.
    pub(crate) fn is_administrator(self) -> bool {
        self.view
            .with_untracked(|session| session.as_ref().is_some_and(|it| it.me.administrator))
    }

    /// Returns the user's permissions on the hub. The permissions only control the page; the server
    /// checks permissions.
    ///
    /// The read is not tracked, because [`Session::replace`] mounts all screens again when a
    /// permission changes.
    pub(crate) fn rights(self) -> CallerRights {
        let rights = |session: &SessionView| session.me.rights;
        self.view
            .with_untracked(|session| session.as_ref().map(rights).unwrap_or_default())
    }

    /// Returns the identity provider of the session. Returns `None` for local users. The value is
    /// not reactive, because each sign-in creates all screens again.
    pub(crate) fn provider(self) -> Option<String> {
        self.view
            .with_untracked(|session| session.as_ref()?.me.token.provider.clone())
    }

    /// Requests the session of this browser from the server.
    pub(crate) fn load(self) {
        self.state.set(SessionState::Unknown);
        spawn_local(async move {
            match Request::get("/v1/session").answer::<SessionView>().await {
                Ok(session) => self.enter(session, None),
                Err(problem) if problem.kind == ProblemKind::SignedOut => self.close(None),
                Err(problem) => self.state.set(SessionState::Unreachable(problem)),
            }
        });
    }

    /// Signs in a local user.
    pub(crate) async fn sign_in(self, username: String, password: Secret) -> Result<(), Problem> {
        let request = LoginRequest {
            username,
            password: password.clone(),
        };
        let request = Request::changing("POST", "/v1/session").with(&request);
        let session: SessionView = request.answer().await?;
        self.enter(session, Some(password));
        Ok(())
    }

    /// Signs in with user name and password of a provider.
    pub(crate) async fn sign_in_at(
        self,
        provider: &Provider,
        login: String,
        password: Secret,
    ) -> Result<(), Problem> {
        let request = ProviderSignIn {
            login: Some(login),
            password: Some(password),
            ..ProviderSignIn::default()
        };
        let request = Request::changing("POST", path_of(provider)).with(&request);
        // Drover cannot change passwords of providers.
        self.enter(request.answer().await?, None);
        Ok(())
    }

    /// Starts a sign-in by redirect and returns the URL of the provider. The provider redirects
    /// back to `return_to`.
    pub(crate) async fn begin_at(
        self,
        provider: &Provider,
        return_to: Option<String>,
    ) -> Result<String, Problem> {
        let request = ProviderSignIn {
            return_to,
            ..ProviderSignIn::default()
        };
        let request = Request::changing("POST", path_of(provider)).with(&request);
        let redirect: ProviderRedirect = request.answer().await?;
        Ok(redirect.url)
    }

    fn enter(self, session: SessionView, typed: Option<Secret>) {
        let must_change = session.me.must_change_password;
        self.view.set(Some(session));
        self.state.set(if must_change {
            SessionState::MustChangePassword(typed)
        } else {
            SessionState::SignedIn
        });
    }

    fn close(self, reason: Option<&str>) {
        self.view.set(None);
        self.state.set(SessionState::SignedOut {
            why: reason.map(str::to_owned),
        });
    }

    /// Changes the password and signs in again, because the server ends the session.
    pub(crate) async fn change_password(self, current: Secret, new: Secret) -> Result<(), Problem> {
        let Some(username) = self.view.with_untracked(name) else {
            return Err(Problem::new(
                ProblemKind::SignedOut,
                t().session.sign_in_first(),
            ));
        };
        let change = PasswordChange {
            current,
            new: new.clone(),
        };
        // A wrong current password must not end the session, so the code does not use `send`.
        let request = Request::changing("POST", "/v1/me/password").with(&change);
        request.proven_by(self.csrf()).done().await?;
        self.sign_in(username, new).await
    }

    fn csrf(self) -> Option<String> {
        self.view
            .with_untracked(|session| Some(session.as_ref()?.csrf_token.expose().to_owned()))
    }

    /// Sends a `GET` request.
    pub(crate) async fn get<T: DeserializeOwned>(self, path: &str) -> Result<T, Problem> {
        let answer = Request::get(path).answer().await;
        answer.inspect_err(|problem| self.handle(problem))
    }

    /// Sends a change and returns the response.
    pub(crate) async fn send<T: DeserializeOwned>(
        self,
        method: &'static str,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Problem> {
        let request = Request::changing(method, path).with(body);
        let answer = request.proven_by(self.csrf()).answer().await;
        answer.inspect_err(|problem| self.handle(problem))
    }

    /// Sends a `POST` request whose response must arrive within `timeout_ms`.
    pub(crate) async fn send_within<T: DeserializeOwned>(
        self,
        path: &str,
        body: &impl Serialize,
        timeout_ms: u32,
    ) -> Result<T, Problem> {
        let request = Request::changing("POST", path)
            .with(body)
            .within(timeout_ms);
        let answer = request.proven_by(self.csrf()).answer().await;
        answer.inspect_err(|problem| self.handle(problem))
    }

    /// Sends a change and ignores the response body.
    pub(crate) async fn send_only(
        self,
        method: &'static str,
        path: &str,
        body: &impl Serialize,
    ) -> Result<(), Problem> {
        let request = Request::changing(method, path).with(body);
        let answer = request.proven_by(self.csrf()).done().await;
        answer.inspect_err(|problem| self.handle(problem))
    }

    /// Sends a merge patch to a Kubernetes API.
    pub(crate) async fn patch(self, path: &str, change: &impl Serialize) -> Result<(), Problem> {
        let request = Request::changing("PATCH", path).patching_with(change);
        let answer = request.proven_by(self.csrf()).done().await;
        answer.inspect_err(|problem| self.handle(problem))
    }

    /// Sends a `DELETE` request.
    pub(crate) async fn delete(self, path: &str) -> Result<(), Problem> {
        let request = Request::changing("DELETE", path).proven_by(self.csrf());
        let answer = request.done().await;
        answer.inspect_err(|problem| self.handle(problem))
    }

    /// Verifies the session after a response with status 401 or 403. The status itself does not end
    /// the session, because clusters can also respond with status 401 or 403.
    pub(crate) fn handle(self, problem: &Problem) {
        if matches!(
            problem.kind,
            ProblemKind::SignedOut | ProblemKind::Forbidden
        ) {
            self.verify();
        }
    }

    /// Loads the session again. If the session has ended, the sign-in page appears. If the user has
    /// changed, the page creates all screens again.
    fn verify(self) {
        let is_open = self
            .state
            .with_untracked(|state| *state == SessionState::SignedIn);
        if !is_open || self.verifying.get_value() {
            return;
        }
        self.verifying.set_value(true);
        let asked_as = self.csrf();
        spawn_local(async move {
            let answer = Request::get("/v1/session").answer::<SessionView>().await;
            self.verifying.set_value(false);
            let is_open = self
                .state
                .with_untracked(|state| *state == SessionState::SignedIn);
            if !is_open || self.csrf() != asked_as {
                // The session changed during the request, so the response is outdated.
                return;
            }
            match answer {
                Ok(session) => self.replace(session).await,
                Err(problem) if problem.kind == ProblemKind::SignedOut => {
                    self.close(Some(t().session.ended()));
                }
                // The requests of the screens report other errors.
                Err(_) => {}
            }
        });
    }

    async fn replace(self, session: SessionView) {
        let same = self.view.with_untracked(|known| {
            known.as_ref().is_some_and(|known| {
                known.me.username == session.me.username
                    && known.me.administrator == session.me.administrator
                    && known.me.rights == session.me.rights
                    && known.me.token.provider == session.me.token.provider
            })
        });
        if !same || session.me.must_change_password {
            // The screens of the previous user are disposed first.
            self.state.set(SessionState::Unknown);
            sleep(Duration::ZERO).await;
            self.enter(session, None);
        } else if self.csrf().as_deref() != Some(session.csrf_token.expose()) {
            self.view.set(Some(session));
        }
    }
}

fn path_of(provider: &Provider) -> String {
    format!("/v1/providers/{}/sign-in", segment(&provider.name))
}

/// Returns the display name, or the user name without a display name.
pub(crate) fn display_name(session: &SessionView) -> String {
    let shown = session.me.display_name.as_ref();
    shown.unwrap_or(&session.me.username).clone()
}

#[expect(
    clippy::ref_option,
    reason = "Signal::with passes a reference to the Option"
)]
fn name(session: &Option<SessionView>) -> Option<String> {
    Some(session.as_ref()?.me.username.clone())
}
