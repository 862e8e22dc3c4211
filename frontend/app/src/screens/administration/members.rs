//! Who has which role in a cluster, in a project or everywhere: shown, given and taken away.

mod columns;
mod give;
mod take;
mod whom;

use drover_api::rest::{GlobalRoleView, MemberView, RoleView};
use drover_ui_core::member::{Giveable, Place, may_take, passes, role_title};
use drover_ui_core::messages::Noun;
use drover_ui_core::messages::t;
use drover_ui_core::readiness::Readiness;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{Absence, Nothing};
use leptos::prelude::*;

use crate::follow::{Followed, until_cleanup};
use crate::freshness::{Freshness, MissingBanner};
use crate::gate::Gate;
use crate::live::listing::{Listing, ask_again, every_page};
use crate::network::rest;
use crate::screens::list::{Contents, ListBody, ListFilter, Things, View};
use columns::{BY_DEFAULT, MemberRow, columns};
use give::GiveRole;
use take::{TakeRole, Taking};

/// What is listed.
const MEMBERS: Things = Things {
    noun: Noun::Members,
    lines: 4,
};

/// The roles of a place, each with whether the person may give and take it there.
type Roles = Followed<Giveable>;

fn roles(place: &Place) -> Roles {
    let (gate, roles) = (expect_context::<Gate>(), Followed::new());
    let (path, place) = (place.roles(), place.clone());
    until_cleanup(async move {
        match place {
            Place::Cluster(_) | Place::Project(_) => {
                let ask = async || every_page::<RoleView>(gate, &path).await;
                ask_again(gate, ask, roles, Giveable::from, rest).await;
            }
            Place::Everywhere => {
                let ask = async || every_page::<GlobalRoleView>(gate, &path).await;
                ask_again(gate, ask, roles, Giveable::from, rest).await;
            }
        }
    });
    roles
}

/// The members of one place: the list, and what can be done with it where it may be seen.
#[component]
pub(crate) fn Members(
    /// Where.
    place: Place,
    /// Told how new the list is.
    follows: impl FnOnce(Signal<Freshness>) + 'static,
) -> impl IntoView {
    let listing = Listing::<MemberView>::follow(place.members());
    follows(Signal::derive(move || listing.freshness()));
    let roles = roles(&place);
    let (giving, taking) = (RwSignal::new(false), Taking::provide());
    let rows = move || {
        // Until the roles are known their names serve, and nothing is offered.
        let (items, known) = (listing.items().unwrap_or_default(), roles.items());
        let roles = known.clone().unwrap_or_default();
        let rows = items.iter().map(|member| MemberRow {
            role: role_title(&roles, &member.role),
            may_take: known.is_some() && may_take(&roles, &member.role),
            readiness: Readiness::of(&member.conditions),
            member: member.clone(),
        });
        rows.collect()
    };
    let passing = |typed: String| move |row: &MemberRow| passes(&row.member, &row.role, &typed);
    let view = View::in_order(BY_DEFAULT);
    let contents = Contents::new(listing, view, columns(), rows, passing);
    // Who may not even see the members has nothing to press.
    let seen = move || listing.items().is_some();
    let may_give = Memo::new(move |_| {
        let roles = roles.items().unwrap_or_default();
        roles.iter().any(|role| role.may_give)
    });
    view! {
        <Show when=seen>
            <div class="page-head">
                <ListFilter things=MEMBERS contents=contents/>
                <span class="soft">{move || contents.counted()}</span>
                <span class="grow"></span>
                <Show when=move || may_give.get()>
                    <Button weight=Weight::Primary icon=Icon::Plus on_press=move |()| giving.set(true)>
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
        <ListBody things=MEMBERS contents=contents empty=Some(NoMembers.into())/>
        <GiveRole open=giving place=place.clone() roles=roles listing=listing/>
        <TakeRole taking=taking place=place listing=listing/>
    }
}

#[component]
fn NoMembers() -> impl IntoView {
    view! {
        <Nothing
            why=Absence::Empty
            title=t().members.empty()
            advice=t().members.empty_advice()
        />
    }
}
