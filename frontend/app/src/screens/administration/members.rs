//! The members of a cluster, of a project or of all clusters: list, and dialogs that grant and
//! remove roles.

mod columns;
mod grant;
mod remove;
mod subject;

use drover_api::rest::{GlobalRoleView, MemberView, RoleView};
use drover_ui_core::member::{GrantableRole, Scope, may_remove, passes, role_title};
use drover_ui_core::messages::Noun;
use drover_ui_core::messages::t;
use drover_ui_core::readiness::Readiness;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use leptos::prelude::*;

use crate::freshness::{Freshness, MissingBanner};
use crate::live::listing::{Listing, ask_again, every_page};
use crate::network::rest;
use crate::reflector::{Store, until_cleanup};
use crate::screens::list::{Contents, ListBody, ListFilter, ListKind, View};
use crate::session::Session;
use columns::{BY_DEFAULT, MemberRow, columns};
use grant::GrantRole;
use remove::{Removal, RemoveRole};

/// The kind of the listed objects, and the number of placeholder lines during loading.
const MEMBERS: ListKind = ListKind {
    noun: Noun::Members,
    lines: 4,
};

/// The roles of a scope, with the user's permissions to grant and remove each role.
type Roles = Store<GrantableRole>;

fn roles(scope: &Scope) -> Roles {
    let (session, roles) = (expect_context::<Session>(), Store::new());
    let (path, scope) = (scope.roles(), scope.clone());
    until_cleanup(async move {
        match scope {
            Scope::Cluster(_) | Scope::Project(_) => {
                let ask = async || every_page::<RoleView>(session, &path).await;
                ask_again(session, ask, roles, GrantableRole::from, rest).await;
            }
            Scope::Everywhere => {
                let ask = async || every_page::<GlobalRoleView>(session, &path).await;
                ask_again(session, ask, roles, GrantableRole::from, rest).await;
            }
        }
    });
    roles
}

/// Shows the members of a scope. The actions appear if the user can read the list.
#[component]
pub(crate) fn Members(
    /// The cluster, the project or all clusters to which the members have access.
    scope: Scope,
    /// The signal that the component sets to the freshness of the list.
    follows: impl FnOnce(Signal<Freshness>) + 'static,
) -> impl IntoView {
    let listing = Listing::<MemberView>::follow(scope.members());
    follows(Signal::derive(move || listing.freshness()));
    let roles = roles(&scope);
    let (granting, removal) = (RwSignal::new(false), Removal::provide());
    let rows = move || {
        // The list shows role names until the roles are loaded.
        let (items, known) = (listing.items().unwrap_or_default(), roles.items());
        let roles = known.clone().unwrap_or_default();
        let rows = items.iter().map(|member| MemberRow {
            role: role_title(&roles, &member.role),
            may_remove: known.is_some() && may_remove(&roles, &member.role),
            readiness: Readiness::of(&member.conditions),
            member: member.clone(),
        });
        rows.collect()
    };
    let passing = |typed: String| move |row: &MemberRow| passes(&row.member, &row.role, &typed);
    let view = View::in_order(BY_DEFAULT);
    let contents = Contents::new(listing, view, columns(), rows, passing);
    // Users that cannot list members have no actions.
    let seen = move || listing.items().is_some();
    let may_grant = Memo::new(move |_| {
        let roles = roles.items().unwrap_or_default();
        roles.iter().any(|role| role.may_grant)
    });
    view! {
        <Show when=seen>
            <div class="list-bar">
                <ListFilter kind=MEMBERS contents=contents/>
                <span class="muted">{move || contents.counted()}</span>
                <span class="grow"></span>
                <Show when=move || may_grant.get()>
                    <Button weight=Weight::Primary icon=Icon::Plus on_press=move |()| granting.set(true)>
                        {t().members.grant()}
                    </Button>
                </Show>
            </div>
            <MissingBanner
                freshness=Signal::derive(move || roles.freshness())
                known=Signal::derive(move || roles.is_known())
                words=t().members.roles_missing()
            />
        </Show>
        <ListBody kind=MEMBERS contents=contents empty=Some(NoMembers.into())/>
        <GrantRole open=granting scope=scope.clone() roles=roles listing=listing/>
        <RemoveRole removal=removal scope=scope listing=listing/>
    }
}

#[component]
fn NoMembers() -> impl IntoView {
    view! {
        <EmptyState
            reason=EmptyReason::Empty
            title=t().members.empty()
            advice=t().members.empty_advice()
        />
    }
}
