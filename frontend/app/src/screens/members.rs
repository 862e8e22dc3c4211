//! Who has which role in a cluster, in a project or everywhere: shown, given and taken away.

mod columns;
mod give;
mod take;

use std::sync::Arc;

use drover_api::rest::{GlobalRoleView, MemberView, RoleView};
use drover_ui_core::member::{Giveable, Place, may_take, passes, role_title};
use drover_ui_core::readiness::{Readiness, Standing};
use drover_ui_kit::badge::Tone;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::field::SearchField;
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{Absence, Nothing, Skeleton};
use drover_ui_kit::table::{Table, sorted};
use leptos::prelude::*;

use crate::follow::{Followed, until_cleanup};
use crate::freshness::{Freshness, MissingBanner};
use crate::gate::Gate;
use crate::live::listing::{Listing, ask_again, every_page};
use crate::network::rest;
use crate::screens::list::{Refused, What, counted};
use columns::{BY_DEFAULT, MemberRow, columns};
use give::GiveRole;
use take::{TakeRole, Taking};

/// What a standing means for who looks at it.
pub(crate) const fn tone(standing: Standing) -> Tone {
    match standing {
        Standing::Failing => Tone::Bad,
        Standing::Coming => Tone::Busy,
        Standing::Ready => Tone::Good,
    }
}

/// The roles of a place, each with whether the person may give and take it there.
type Roles = Followed<Giveable>;
type Rows = Memo<Arc<Vec<MemberRow>>>;

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
    let (roles, typed) = (roles(&place), RwSignal::new(String::new()));
    let sorting = RwSignal::new(BY_DEFAULT);
    let (giving, taking) = (RwSignal::new(false), Taking::provide());
    let rows: Rows = Memo::new(move |_| {
        // Until the roles are known their names serve, and nothing is offered.
        let (items, known) = (listing.items().unwrap_or_default(), roles.items());
        let roles = known.clone().unwrap_or_default();
        let rows = items.iter().map(|member| MemberRow {
            role: role_title(&roles, &member.role),
            may_take: known.is_some() && may_take(&roles, &member.role),
            readiness: Readiness::of(&member.conditions),
            member: member.clone(),
        });
        Arc::new(sorted(rows.collect(), &columns(), sorting.get()))
    });
    let shown: Rows = Memo::new(move |_| {
        let (rows, typed) = (rows.get(), typed.get());
        let fits = |row: &&MemberRow| passes(&row.member, &row.role, &typed);
        Arc::new(rows.iter().filter(fits).cloned().collect())
    });
    let what = Memo::new(move |_| {
        let (all, some) = (rows.with(|it| it.len()), shown.with(|it| it.len()));
        What::of(listing.items().is_some(), listing.freshness(), all, some)
    });
    let counted = move || counted(shown.with(|it| it.len()), rows.with(|it| it.len()));
    // Who may not even see the members has nothing to press.
    let seen = move || listing.items().is_some();
    let may_give = Memo::new(move |_| {
        let roles = roles.items().unwrap_or_default();
        roles.iter().any(|role| role.may_give)
    });
    view! {
        <Show when=seen>
            <div class="page-head">
                <div class="home-filter">
                    <SearchField label="Filter members" hint="name, role, group" value=typed/>
                </div>
                <span class="soft">{counted}</span>
                <span class="grow"></span>
                <Show when=move || may_give.get()>
                    <Button weight=Weight::Primary icon=Icon::Plus on_press=move |()| giving.set(true)>
                        "Give a role"
                    </Button>
                </Show>
            </div>
            <MissingBanner
                freshness=Signal::derive(move || roles.freshness())
                known=Signal::derive(move || roles.is_known())
                words="The roles cannot be read, and until then none can be given or taken."
            />
        </Show>
        <div class="home-list">
            {move || match what.get() {
                What::Loading => view! { <Skeleton lines=4/> }.into_any(),
                What::Problem(problem) => view! { <Refused problem=problem things="members"/> }.into_any(),
                What::Empty => view! { <NoMembers/> }.into_any(),
                What::NoMatch => view! { <NoMatch typed=typed/> }.into_any(),
                What::Rows => view! {
                    <Table label="Members" columns=columns() rows=shown sorting=sorting/>
                }.into_any(),
            }}
        </div>
        <GiveRole open=giving place=place.clone() roles=roles listing=listing/>
        <TakeRole taking=taking place=place listing=listing/>
    }
}

#[component]
fn NoMembers() -> impl IntoView {
    view! {
        <Nothing
            why=Absence::Empty
            title="Nobody has a role here"
            advice="Those who administer Drover, or have a role in all clusters, may still do what that allows."
        />
    }
}

#[component]
fn NoMatch(typed: RwSignal<String>) -> impl IntoView {
    view! {
        <Nothing why=Absence::NoMatch title="No member fits" advice="Fewer words show more.">
            <Button on_press=move |()| typed.set(String::new())>"Show all members"</Button>
        </Nothing>
    }
}
