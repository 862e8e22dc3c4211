//! Who is signed in, and the one way by which screens ask the server.

mod provider_sign_out;

use std::time::Duration;

use drover_api::rest::{
    CallerRights, LoginRequest, PasswordChange, ProviderRedirect, ProviderSignIn, ProviderSignOut,
    Secret, Session as SessionView,
};
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::sign_in::Provider;
use drover_ui_core::url::segment;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::clock::sleep;
use crate::fetch::Request;
use provider_sign_out::post_sign_out;

/// What a person meets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SessionState {
    /// The server has not told yet.
    Unknown,
    /// The server does not tell.
    Unreachable(Problem),
    /// Nobody is signed in.
    SignedOut {
        /// Why not any more.
        why: Option<String>,
    },
    /// Nothing works before the password is changed. The present one is here if it was typed just
    /// now, and nowhere else: a page that is loaded anew asks for it.
    MustChangePassword(Option<Secret>),
    /// Somebody is signed in.
    SignedIn,
}

/// The state and the session behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    state: RwSignal<SessionState>,
    view: RwSignal<Option<SessionView>>,
    /// Whether the server is being asked who is signed in.
    verifying: StoredValue<bool>,
    /// The provider at which the browser is on its way to sign out.
    onward: StoredValue<Option<String>>,
}

impl Session {
    /// Gives the session to the page as a context.
    pub(crate) fn provide() -> Self {
        let session = Self {
            state: RwSignal::new(SessionState::Unknown),
            view: RwSignal::new(None),
            verifying: StoredValue::new(false),
            onward: StoredValue::new(None),
        };
        provide_context(session);
        // Another tab may have changed who is signed in, while nobody looked at this one.
        let seen = window_event_listener(leptos::ev::visibilitychange, move |_| {
            if !document().hidden() {
                session.verify();
            }
        });
        on_cleanup(move || seen.remove());
        // A page may post to the providers that there were when it was loaded.
        let held = window_event_listener_untyped("securitypolicyviolation", move |_| {
            session.report_provider_session()
        });
        on_cleanup(move || held.remove());
        session
    }

    /// What a person meets.
    pub(crate) fn state(self) -> SessionState {
        self.state.get()
    }

    /// The session; whoever asks is told of another.
    pub(crate) fn view(self) -> Option<SessionView> {
        self.view.get()
    }

    /// Whether the person may do everything. The server decides each time; this is for what to show.
    pub(crate) fn is_administrator(self) -> bool {
        self.view
            .with(|session| session.as_ref().is_some_and(|it| it.me.administrator))
    }

    /// What the person's roles let them do on the hub. The server decides each time; this is for what
    /// to show.
    pub(crate) fn rights(self) -> CallerRights {
        let rights = |session: &SessionView| session.me.rights;
        self.view
            .with(|session| session.as_ref().map(rights).unwrap_or_default())
    }

    /// The identity provider that the person signed in with; none if it was with a password of
    /// Drover's own. Screens stay with the person, and another sign-in brings others.
    pub(crate) fn provider(self) -> Option<String> {
        self.view
            .with_untracked(|session| session.as_ref()?.me.token.provider.clone())
    }

    /// Asks the server whether this browser has a session.
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

    /// Signs in a user of Drover itself.
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

    /// Signs in with a name and a password that a provider knows.
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
        // No password of a provider is Drover's to change.
        self.enter(request.answer().await?, None);
        Ok(())
    }

    /// Begins to sign in at a provider's own page; gives its URL. The way back leads to a path of
    /// this page.
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

    fn close(self, why: Option<&str>) {
        self.view.set(None);
        self.state.set(SessionState::SignedOut {
            why: why.map(str::to_owned),
        });
    }

    /// Sets another password, and signs in with it: the server has ended the session.
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
        // A wrong present password is no reason to end the session, so this is not `send`.
        let request = Request::changing("POST", "/v1/me/password").with(&change);
        request.proven_by(self.csrf()).done().await?;
        self.sign_in(username, new).await
    }

    /// Signs out of this browser; everywhere, and out of the command lines, if so wished.
    pub(crate) async fn sign_out(self, everywhere: bool) -> Result<(), Problem> {
        let (path, why) = if everywhere {
            ("/v1/sessions", t().session.signed_out_everywhere())
        } else {
            ("/v1/session", t().session.signed_out())
        };
        let request = Request::changing("DELETE", path).proven_by(self.csrf());
        match request.bytes().await {
            Err(problem) if problem.kind != ProblemKind::SignedOut => Err(problem),
            answer => {
                self.close(Some(why));
                // An answer without a body leads nowhere.
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

    /// Says that the way to the provider, if the browser is on it, leads nowhere.
    fn report_provider_session(self) {
        let provider = self.onward.try_update_value(Option::take).flatten();
        let is_closed = untrack(move || matches!(self.state.get(), SessionState::SignedOut { .. }));
        if let Some(provider) = provider.filter(|_| is_closed) {
            self.close(Some(&t().session.signed_in_at_provider(&provider)));
        }
    }

    fn csrf(self) -> Option<String> {
        self.view
            .with_untracked(|session| Some(session.as_ref()?.csrf_token.expose().to_owned()))
    }

    /// Asks the server for something.
    pub(crate) async fn get<T: DeserializeOwned>(self, path: &str) -> Result<T, Problem> {
        let answer = Request::get(path).answer().await;
        answer.inspect_err(|problem| self.handle(problem))
    }

    /// Changes something, and gives what the server answers.
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

    /// Has the server try something that may take as long as this.
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

    /// Changes something, and does not ask what came of it.
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

    /// Changes parts of an object of a Kubernetes API by a merge patch.
    pub(crate) async fn patch(self, path: &str, change: &impl Serialize) -> Result<(), Problem> {
        let request = Request::changing("PATCH", path).patching_with(change);
        let answer = request.proven_by(self.csrf()).done().await;
        answer.inspect_err(|problem| self.handle(problem))
    }

    /// Changes something to which the server answers nothing.
    pub(crate) async fn delete(self, path: &str) -> Result<(), Problem> {
        let request = Request::changing("DELETE", path).proven_by(self.csrf());
        let answer = request.done().await;
        answer.inspect_err(|problem| self.handle(problem))
    }

    /// A refusal may be the session's, or a cluster's that refuses Drover: the server tells.
    pub(crate) fn handle(self, problem: &Problem) {
        if matches!(
            problem.kind,
            ProblemKind::SignedOut | ProblemKind::Forbidden
        ) {
            self.verify();
        }
    }

    /// Asks who is signed in now. A session that ended brings the person back to the state, and the
    /// URL stays; another person gets another page.
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
                // Somebody has signed out or in here meanwhile: the answer is about another session.
                return;
            }
            match answer {
                Ok(session) => self.replace(session).await,
                Err(problem) if problem.kind == ProblemKind::SignedOut => {
                    self.close(Some(t().session.ended()))
                }
                // What else is wrong is told by who asks for something.
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
            // The screens of the former person go before those of this one come.
            self.state.set(SessionState::Unknown);
            sleep(Duration::ZERO).await;
            self.enter(session, None);
        } else if self.csrf().as_deref() != Some(session.csrf_token.expose()) {
            self.view.set(Some(session));
        }
    }
}

/// Signs out, or shows why that failed.
pub(crate) fn sign_out(session: Session, toasts: Toasts, everywhere: bool) {
    spawn_local(async move {
        if let Err(problem) = session.sign_out(everywhere).await {
            toasts.warn(problem.message);
        }
    });
}

fn path_of(provider: &Provider) -> String {
    format!("/v1/providers/{}/sign-in", segment(&provider.name))
}

/// What others call the person.
pub(crate) fn display_name(session: &SessionView) -> String {
    let shown = session.me.display_name.as_ref();
    shown.unwrap_or(&session.me.username).clone()
}

#[expect(
    clippy::ref_option,
    reason = "the form in which a signal lends its value"
)]
fn name(session: &Option<SessionView>) -> Option<String> {
    Some(session.as_ref()?.me.username.clone())
}
