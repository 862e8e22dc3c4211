//! The list of roles and global roles.

use drover_api::rest::{GlobalRoleView, RoleView};
use drover_ui_core::messages::{Noun, t};
use drover_ui_core::role::{Kind, Listed};
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use leptos::prelude::*;

use super::columns::{BY_DEFAULT, RoleRow, columns};
use crate::live::listing::Listing;
use crate::screens::list::{Contents, ListKind, ListScreen, View};
use crate::screens::title::title;

const SCREEN: &str = "/roles";

/// The kind of the listed objects, and the number of placeholder lines during loading.
const ROLES: ListKind = ListKind {
    noun: Noun::Roles,
    lines: 6,
};

#[component]
pub(crate) fn Roles() -> impl IntoView {
    title(t().lists.heading(ROLES.noun));
    let templates = Listing::<RoleView>::follow(Kind::Template.path());
    // Users that cannot list global roles see only cluster and project roles.
    let globals = Listing::<GlobalRoleView>::follow(Kind::Global.path());
    let view = View::of_url(SCREEN, &columns(), BY_DEFAULT, Vec::new());
    let rows = move || {
        let (templates, globals) = (templates.items(), globals.items());
        let templates = templates.iter().flat_map(|it| it.iter()).map(Listed::from);
        let globals = globals.iter().flat_map(|it| it.iter()).map(Listed::from);
        templates.chain(globals).map(RoleRow).collect()
    };
    let passing = |typed: String| move |row: &RoleRow| row.0.passes(&typed);
    let contents = Contents::new(templates, view, columns(), rows, passing);
    // A user that can copy a role can also create a role.
    let may_make = move |kind| {
        let is_model = |row: &RoleRow| row.0.kind == kind && row.0.rights.may_copy;
        contents.rows.with(|rows| rows.iter().any(is_model))
    };
    let new = move |kind: Kind, words: &'static str| {
        move || {
            may_make(kind)
                .then(|| view! { <a class="button" href=kind.create_screen(None)>{words}</a> })
        }
    };
    let everywhere = move || {
        let known = globals.items().is_some();
        known
            .then(|| view! { <a class="button" href="/global-members">{t().palette.global_members()}</a> })
    };
    view! {
        <ListScreen kind=ROLES contents=contents command="drover role list" empty=NoRoles>
            <nav class="row" aria-label=t().roles.actions()>
                {new(Kind::Template, t().roles.create())}
                {new(Kind::Global, t().roles.create_global())}
                {everywhere}
            </nav>
        </ListScreen>
    }
}

#[component]
fn NoRoles() -> impl IntoView {
    view! {
        <EmptyState
            reason=EmptyReason::Empty
            title=t().roles.empty()
            advice=t().roles.empty_advice()
        />
    }
}
