//! The chunks with screens. A chunk contains the screens that a user opens together.

#![expect(
    clippy::unnecessary_wraps,
    reason = "a call of an entry function returns the error of loading its chunk"
)]

use leptos::prelude::*;
use leptos::wasm_split::wasm_split;

use super::about::About;
use super::access::Access;
use super::audit::Audit;
use super::cluster::{ClusterMembers, ClusterPage};
use super::device::Device;
use super::forwards::PortForwards;
use super::import::ImportCluster;
use super::kinds::{EverywherePage, KindPage};
use super::kit::Kit;
use super::object::{ObjectPage, SeveralLogs};
use super::password::ChangePassword;
use super::problems::Problems;
use super::projects::{ProjectPage, Projects};
use super::providers::{ProviderPage, Providers};
use super::roles::{GlobalMembers, GlobalRolePage, NewGlobalRole, NewRole, RolePage, Roles};
use super::settings::SettingsPage;
use super::tokens::Tokens;
use super::users::{UserPage, Users};
use super::views::ViewDialogs;
use crate::chunk::{LoadResult, Screen};
use crate::palette::PaletteContent;
use crate::terminals::Dock;

/// A screen of a cluster or a Kubernetes object, or the dock with the terminals.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClusterScreen {
    Cluster,
    Members,
    Kind,
    Everywhere,
    Object,
    Problems,
    Logs,
    Dock,
}

/// The screens of a cluster and of Kubernetes objects, and the dock with the terminals.
#[wasm_split(
    clusters,
    wasm_split_path = leptos::wasm_split,
    preload(preload_clusters),
    fallible
)]
pub(crate) fn clusters(screen: ClusterScreen) -> LoadResult {
    let screen: Screen = match screen {
        ClusterScreen::Cluster => || view! { <ClusterPage/> }.into_any(),
        ClusterScreen::Members => || view! { <ClusterMembers/> }.into_any(),
        ClusterScreen::Kind => || view! { <KindPage/> }.into_any(),
        ClusterScreen::Everywhere => || view! { <EverywherePage/> }.into_any(),
        ClusterScreen::Object => || view! { <ObjectPage/> }.into_any(),
        ClusterScreen::Problems => || view! { <Problems/> }.into_any(),
        ClusterScreen::Logs => || view! { <SeveralLogs/> }.into_any(),
        ClusterScreen::Dock => || view! { <Dock/> }.into_any(),
    };
    Ok(screen)
}

/// A screen of the administration.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AdministrationScreen {
    Projects,
    Project,
    Roles,
    Role,
    GlobalRole,
    NewRole,
    NewGlobalRole,
    GlobalMembers,
    Access,
    Users,
    User,
    Providers,
    Provider,
    Audit,
    Settings,
}

/// The screens of the administration.
#[wasm_split(
    administration,
    wasm_split_path = leptos::wasm_split,
    preload(preload_administration),
    fallible
)]
pub(crate) fn administration(screen: AdministrationScreen) -> LoadResult {
    let screen: Screen = match screen {
        AdministrationScreen::Projects => || view! { <Projects/> }.into_any(),
        AdministrationScreen::Project => || view! { <ProjectPage/> }.into_any(),
        AdministrationScreen::Roles => || view! { <Roles/> }.into_any(),
        AdministrationScreen::Role => || view! { <RolePage/> }.into_any(),
        AdministrationScreen::GlobalRole => || view! { <GlobalRolePage/> }.into_any(),
        AdministrationScreen::NewRole => || view! { <NewRole/> }.into_any(),
        AdministrationScreen::NewGlobalRole => || view! { <NewGlobalRole/> }.into_any(),
        AdministrationScreen::GlobalMembers => || view! { <GlobalMembers/> }.into_any(),
        AdministrationScreen::Access => || view! { <Access/> }.into_any(),
        AdministrationScreen::Users => || view! { <Users/> }.into_any(),
        AdministrationScreen::User => || view! { <UserPage/> }.into_any(),
        AdministrationScreen::Providers => || view! { <Providers/> }.into_any(),
        AdministrationScreen::Provider => || view! { <ProviderPage/> }.into_any(),
        AdministrationScreen::Audit => || view! { <Audit/> }.into_any(),
        AdministrationScreen::Settings => || view! { <SettingsPage/> }.into_any(),
    };
    Ok(screen)
}

/// A screen of the user's account, a screen that users rarely open, or a dialog.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AccountScreen {
    Import,
    Tokens,
    Forwards,
    About,
    Device,
    Password,
    Kit,
    Palette,
    ViewDialogs,
}

/// The screens of the user's account, the screens that users rarely open, and dialogs.
#[wasm_split(
    account,
    wasm_split_path = leptos::wasm_split,
    preload(preload_account),
    fallible
)]
pub(crate) fn account(screen: AccountScreen) -> LoadResult {
    let screen: Screen = match screen {
        AccountScreen::Import => || view! { <ImportCluster/> }.into_any(),
        AccountScreen::Tokens => || view! { <Tokens/> }.into_any(),
        AccountScreen::Forwards => || view! { <PortForwards/> }.into_any(),
        AccountScreen::About => || view! { <About/> }.into_any(),
        AccountScreen::Device => || view! { <Device/> }.into_any(),
        AccountScreen::Password => || view! { <ChangePassword/> }.into_any(),
        AccountScreen::Kit => || view! { <Kit/> }.into_any(),
        AccountScreen::Palette => || view! { <PaletteContent/> }.into_any(),
        AccountScreen::ViewDialogs => || view! { <ViewDialogs/> }.into_any(),
    };
    Ok(screen)
}

/// Loads all chunks. A failed load has no effect, because the screens load their chunk again.
pub(crate) async fn preload_all() {
    let _ = preload_clusters().await;
    let _ = preload_administration().await;
    let _ = preload_account().await;
}
