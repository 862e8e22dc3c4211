//! Says on RoleTemplates and GlobalRoles whether what they allow can be known.
//!
//! For people's eyes only: grants are gathered from what the roles say.

pub mod built_in;

use std::time::Duration;

use drover_access::grants::{Names, Roles};
use drover_access::roles::resolve;
use drover_api::conditions::{READY, Verdict};
use drover_api::kinds::{GlobalRole, RoleTemplate};
use jiff::Timestamp;
use kube::{Api, ResourceExt as _};
use tokio::time::Instant;

use super::outdated::{Pace, held, no, outdated, write_all, yes};
use drover_hub::stores::grants::Objects;
use drover_hub::{Hub, HubError};

/// Changes that come together, a role and those that inherit it above all, are looked at together.
const SETTLE: Duration = Duration::from_secs(1);
/// The longest time between two looks, should the hub have been out of reach.
const LOOK_EVERY: Duration = Duration::from_mins(5);
const WRITE: &str = "write the condition of a role";

/// Keeps the conditions for as long as it is polled.
pub(super) async fn keep(hub: &Hub) {
    let stores = hub.stores();
    let what = "conditions of roles are";
    let mut pace = Pace::new(stores.grants.changed(), SETTLE, what);
    loop {
        pace.turn(stores, look(hub), || Instant::now() + LOOK_EVERY)
            .await;
    }
}

async fn look(hub: &Hub) -> Result<(), HubError> {
    let (stores, now) = (hub.stores(), Timestamp::now());
    let (templates, globals) = {
        let objects = Objects::of(stores);
        let facts = objects.facts();
        let names = built_in::names::<RoleTemplate>();
        let templates = outdated(&stores.role_templates, READY, now, |role| {
            let name = role.name_any();
            let find = |name: &str| facts.role_templates.get(name).map(|role| role.spec);
            let resolved = resolve(&name, find);
            let verdict = resolved.map(|resolved| match resolved {
                Ok(_) => usable(built_in::is_in_the_way(role, &names)),
                Err(problem) => no("Unresolved", format!("it allows nothing: {problem}")),
            });
            let status = role.status.as_ref();
            (verdict, held(status.map(|status| &status.conditions)))
        });
        let global_names = built_in::names::<GlobalRole>();
        let globals = outdated(&stores.global_roles, READY, now, |role| {
            let mut roles = Roles::new(&facts, Names::AsTheyAre);
            let given = roles.by_global_role(&role.name_any(), "", &role.spec);
            let verdict = match given {
                Ok(_) => usable(built_in::is_in_the_way(role, &global_names)),
                Err(problem) => no("Unresolved", format!("it allows nothing: {problem}")),
            };
            let status = role.status.as_ref();
            (Some(verdict), held(status.map(|status| &status.conditions)))
        });
        (templates, globals)
    };
    // Both: a role that the hub refuses shall not keep others from being written.
    let client = hub.client();
    let api = Api::all(client.clone());
    let results = [
        write_all(WRITE, &api, &stores.role_templates, &templates).await,
        write_all(WRITE, &Api::all(client), &stores.global_roles, &globals).await,
    ];
    results.into_iter().collect()
}

/// What a role says of itself that can be used.
fn usable(is_in_the_way: bool) -> Verdict {
    if is_in_the_way {
        return yes(
            "InTheWay",
            "it allows what it says, but has the name of a role of the start, which the server \
             cannot make: make this one anew under another name, and delete it",
        );
    }
    yes("Resolved", "it allows what it says")
}
