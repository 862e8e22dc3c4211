//! The root component: the sign-in page, or the frame with the screens.

use drover_ui_core::messages::t;
use drover_ui_kit::density::DensityChoice;
use drover_ui_kit::language::{self, LanguageChoice};
use drover_ui_kit::notice::{EmptyReason, EmptyState, Skeleton};
use drover_ui_kit::single_keys::SingleKeysChoice;
use drover_ui_kit::theme::ThemeChoice;
use drover_ui_kit::toast::{ToastCorner, Toasts};
use leptos::prelude::*;
use leptos_router::components::{Route, Router, Routes};
use leptos_router::path;

use crate::chunk::{self, LazyParts, lazy, lazy_part};
use crate::clock::Clock;
use crate::frame::Frame;
use crate::screens::chunks::{
    AccountScreen, AdministrationScreen, ClusterScreen, account, administration, clusters,
    preload_all,
};
use crate::screens::home::Home;
use crate::screens::not_found::NotFound;
use crate::screens::password::MustChangePassword;
use crate::screens::sign_in::SignIn;
use crate::session::{Session, SessionState};
use crate::unsaved::UnsavedGuard;

/// Selects the language, mounts the page and removes the loading message.
pub(crate) fn mount() {
    language::apply();
    if let Some(starting) = document().get_element_by_id("starting") {
        starting.remove();
    }
    mount_to_body(App);
}

#[component]
fn App() -> impl IntoView {
    ThemeChoice::provide();
    DensityChoice::provide();
    SingleKeysChoice::provide().provide_keys();
    LanguageChoice::provide();
    Clock::provide();
    let toasts = Toasts::provide();
    let session = Session::provide();
    session.load();
    // The memo renders the page again only when the state changes, not with every change of the
    // session.
    let state = Memo::new(move |_| session.state());
    view! {
        {move || match state.get() {
            SessionState::Unknown => view! { <div class="sign-in-page"><div class="sign-in-card"><Skeleton/></div></div> }.into_any(),
            SessionState::Unreachable(problem) => view! { <Unreachable advice=problem.message/> }.into_any(),
            SessionState::SignedOut { why: reason } => view! { <SignIn reason=reason/> }.into_any(),
            SessionState::MustChangePassword(_) => view! { <MustChangePassword/> }.into_any(),
            SessionState::SignedIn => view! { <Inside/> }.into_any(),
        }}
        <ToastCorner toasts=toasts/>
    }
}

#[component]
fn Unreachable(advice: String) -> impl IntoView {
    let session = expect_context::<Session>();
    view! {
        <main class="sign-in-page">
            <EmptyState reason=EmptyReason::Offline title=t().session.server_offline() advice=advice>
                <drover_ui_kit::button::Button on_press=move |()| session.load()>{t().buttons.try_again()}</drover_ui_kit::button::Button>
            </EmptyState>
        </main>
    }
}

#[component]
fn Inside() -> impl IntoView {
    UnsavedGuard::provide();
    provide_context(LazyParts {
        palette: || lazy_part(|| account(AccountScreen::Palette)),
        view_dialogs: || lazy_part(|| account(AccountScreen::ViewDialogs)),
        dock: || lazy_part(|| clusters(ClusterScreen::Dock)),
    });
    chunk::preload(preload_all);
    view! {
        <Router>
            <Frame>
                <Routes fallback=NotFound>
                    <Route path=path!("/") view=Home/>
                    <Route path=path!("/clusters/:cluster") view=lazy(|| clusters(ClusterScreen::Cluster))/>
                    <Route path=path!("/clusters/:cluster/members") view=lazy(|| clusters(ClusterScreen::Members))/>
                    <Route path=path!("/clusters/:cluster/:kind") view=lazy(|| clusters(ClusterScreen::Kind))/>
                    <Route path=path!("/clusters/:cluster/:kind/:namespace/:name") view=lazy(|| clusters(ClusterScreen::Object))/>
                    <Route path=path!("/problems") view=lazy(|| clusters(ClusterScreen::Problems))/>
                    <Route path=path!("/logs") view=lazy(|| clusters(ClusterScreen::Logs))/>
                    <Route path=path!("/objects/:kind") view=lazy(|| clusters(ClusterScreen::Everywhere))/>
                    <Route path=path!("/projects") view=lazy(|| administration(AdministrationScreen::Projects))/>
                    <Route path=path!("/projects/:project") view=lazy(|| administration(AdministrationScreen::Project))/>
                    <Route path=path!("/roles") view=lazy(|| administration(AdministrationScreen::Roles))/>
                    <Route path=path!("/roles/:role") view=lazy(|| administration(AdministrationScreen::Role))/>
                    <Route path=path!("/global-roles/:role") view=lazy(|| administration(AdministrationScreen::GlobalRole))/>
                    <Route path=path!("/new-role") view=lazy(|| administration(AdministrationScreen::NewRole))/>
                    <Route path=path!("/new-global-role") view=lazy(|| administration(AdministrationScreen::NewGlobalRole))/>
                    <Route path=path!("/global-members") view=lazy(|| administration(AdministrationScreen::GlobalMembers))/>
                    <Route path=path!("/access") view=lazy(|| administration(AdministrationScreen::Access))/>
                    <Route path=path!("/import") view=lazy(|| account(AccountScreen::Import))/>
                    <Route path=path!("/tokens") view=lazy(|| account(AccountScreen::Tokens))/>
                    <Route path=path!("/port-forwards") view=lazy(|| account(AccountScreen::Forwards))/>
                    <Route path=path!("/users") view=lazy(|| administration(AdministrationScreen::Users))/>
                    <Route path=path!("/users/:user") view=lazy(|| administration(AdministrationScreen::User))/>
                    <Route path=path!("/providers") view=lazy(|| administration(AdministrationScreen::Providers))/>
                    <Route path=path!("/providers/:provider") view=lazy(|| administration(AdministrationScreen::Provider))/>
                    <Route path=path!("/audit") view=lazy(|| administration(AdministrationScreen::Audit))/>
                    <Route path=path!("/settings") view=lazy(|| administration(AdministrationScreen::Settings))/>
                    <Route path=path!("/about") view=lazy(|| account(AccountScreen::About))/>
                    <Route path=path!("/device") view=lazy(|| account(AccountScreen::Device))/>
                    <Route path=path!("/password") view=lazy(|| account(AccountScreen::Password))/>
                    <Route path=path!("/kit") view=lazy(|| account(AccountScreen::Kit))/>
                </Routes>
            </Frame>
        </Router>
    }
}
