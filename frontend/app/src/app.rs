//! The root component: the sign-in page, or the frame with the screens.

use drover_ui_core::messages::t;
use drover_ui_kit::notice::{EmptyReason, EmptyState, Skeleton};
use drover_ui_kit::theme::ThemeChoice;
use drover_ui_kit::toast::{ToastCorner, Toasts};
use leptos::prelude::*;
use leptos_router::components::{Route, Router, Routes};
use leptos_router::path;

use crate::clock::Clock;
use crate::frame::Frame;
use crate::screens::about::About;
use crate::screens::access::Access;
use crate::screens::audit::Audit;
use crate::screens::cluster::{ClusterMembers, ClusterPage};
use crate::screens::device::Device;
use crate::screens::home::Home;
use crate::screens::import::ImportCluster;
use crate::screens::kinds::KindPage;
use crate::screens::kit::Kit;
use crate::screens::not_found::NotFound;
use crate::screens::object::ObjectPage;
use crate::screens::password::{ChangePassword, MustChangePassword};
use crate::screens::projects::{ProjectPage, Projects};
use crate::screens::providers::{ProviderPage, Providers};
use crate::screens::roles::{
    GlobalMembers, GlobalRolePage, NewGlobalRole, NewRole, RolePage, Roles,
};
use crate::screens::settings::SettingsPage;
use crate::screens::sign_in::SignIn;
use crate::screens::tokens::Tokens;
use crate::screens::users::{UserPage, Users};
use crate::session::{Session, SessionState};
use crate::unsaved::UnsavedGuard;

/// Mounts the page and removes the loading message.
pub(crate) fn mount() {
    if let Some(starting) = document().get_element_by_id("starting") {
        starting.remove();
    }
    mount_to_body(App);
}

#[component]
fn App() -> impl IntoView {
    ThemeChoice::provide();
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
    view! {
        <Router>
            <Frame>
                <Routes fallback=NotFound>
                    <Route path=path!("/") view=Home/>
                    <Route path=path!("/clusters/:cluster") view=ClusterPage/>
                    <Route path=path!("/clusters/:cluster/members") view=ClusterMembers/>
                    <Route path=path!("/clusters/:cluster/:kind") view=KindPage/>
                    <Route path=path!("/clusters/:cluster/:kind/:namespace/:name") view=ObjectPage/>
                    <Route path=path!("/projects") view=Projects/>
                    <Route path=path!("/projects/:project") view=ProjectPage/>
                    <Route path=path!("/roles") view=Roles/>
                    <Route path=path!("/roles/:role") view=RolePage/>
                    <Route path=path!("/global-roles/:role") view=GlobalRolePage/>
                    <Route path=path!("/new-role") view=NewRole/>
                    <Route path=path!("/new-global-role") view=NewGlobalRole/>
                    <Route path=path!("/global-members") view=GlobalMembers/>
                    <Route path=path!("/access") view=Access/>
                    <Route path=path!("/import") view=ImportCluster/>
                    <Route path=path!("/tokens") view=Tokens/>
                    <Route path=path!("/users") view=Users/>
                    <Route path=path!("/users/:user") view=UserPage/>
                    <Route path=path!("/providers") view=Providers/>
                    <Route path=path!("/providers/:provider") view=ProviderPage/>
                    <Route path=path!("/audit") view=Audit/>
                    <Route path=path!("/settings") view=SettingsPage/>
                    <Route path=path!("/about") view=About/>
                    <Route path=path!("/device") view=Device/>
                    <Route path=path!("/password") view=ChangePassword/>
                    <Route path=path!("/kit") view=Kit/>
                </Routes>
            </Frame>
        </Router>
    }
}
