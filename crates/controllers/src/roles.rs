//! Says on RoleTemplates and GlobalRoles whether what they allow can be known.
//!
//! For people's eyes only: grants are gathered from what the roles say.

pub(crate) mod built_in;

use std::time::Duration;

use drover_access::grants::{Names, Roles};
use drover_access::roles::resolve;
use drover_api::conditions::{READY, Verdict};
use drover_api::kinds::{GlobalRole, RoleTemplate};
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use jiff::Timestamp;
use kube::{Api, ResourceExt as _};

use super::BATCH_TIMEOUT;
use super::status_writer::{StatusWriter, changes, condition_false, condition_true, conditions_of};
use drover_hub::stores::grants::Objects;
use drover_hub::{Hub, HubError};

/// A role and those that inherit it above all are reconciled together.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// The longest time between two reconciliations.
const INTERVAL: Duration = Duration::from_mins(5);
const WRITE: &str = "write the condition of a role";

/// Keeps the conditions of roles.
struct RoleConditions {
    hub: Hub,
}

impl Reconciler for RoleConditions {
    type Key = ();
    type Error = HubError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, HubError> {
        if self.hub.stores().health().is_trusted() {
            write_conditions(&self.hub).await?;
        }
        Ok(Action::requeue(INTERVAL))
    }
}

/// Runs the controller.
pub(super) async fn run(hub: &Hub, runtime: &Runtime) {
    let options = Options {
        debounce: DEBOUNCE,
        timeout: Some(BATCH_TIMEOUT),
        ..Options::new("roles")
    };
    let reconciler = RoleConditions { hub: hub.clone() };
    let changed = hub.stores().grants.changed();
    runtime.run_single(options, reconciler, [changed]).await;
}

async fn write_conditions(hub: &Hub) -> Result<(), HubError> {
    let (stores, now) = (hub.stores(), Timestamp::now());
    let (templates, globals) = {
        let objects = Objects::of(stores);
        let facts = objects.facts();
        let names = built_in::names::<RoleTemplate>();
        let templates = changes(&stores.role_templates, READY, now, |role| {
            let name = role.name_any();
            let find = |name: &str| facts.role_templates.get(name).map(|role| role.spec);
            let resolved = resolve(&name, find);
            let verdict = resolved.map(|resolved| match resolved {
                Ok(_) => usable(built_in::is_in_the_way(role, &names)),
                Err(problem) => {
                    condition_false("Unresolved", format!("it allows nothing: {problem}"))
                }
            });
            let status = role.status.as_ref();
            (
                verdict,
                conditions_of(status.map(|status| &status.conditions)),
            )
        });
        let global_names = built_in::names::<GlobalRole>();
        let globals = changes(&stores.global_roles, READY, now, |role| {
            let mut roles = Roles::new(&facts, Names::AsTheyAre);
            let given = roles.by_global_role(&role.name_any(), "", &role.spec);
            let verdict = match given {
                Ok(_) => usable(built_in::is_in_the_way(role, &global_names)),
                Err(problem) => {
                    condition_false("Unresolved", format!("it allows nothing: {problem}"))
                }
            };
            let status = role.status.as_ref();
            (
                Some(verdict),
                conditions_of(status.map(|status| &status.conditions)),
            )
        });
        (templates, globals)
    };
    let templates_writer = StatusWriter {
        operation: WRITE,
        api: Api::all(hub.client()),
        store: &stores.role_templates,
    };
    let globals_writer = StatusWriter {
        operation: WRITE,
        api: Api::all(hub.client()),
        store: &stores.global_roles,
    };
    // Both, although the hub may refuse an object of one kind.
    let results = [
        templates_writer.write_all(&templates).await,
        globals_writer.write_all(&globals).await,
    ];
    results.into_iter().collect()
}

/// What a role says of itself that can be used.
fn usable(is_in_the_way: bool) -> Verdict {
    if is_in_the_way {
        return condition_true(
            "InTheWay",
            "it allows what it says, but has the name of a role of the start, which the server \
             cannot make: make this one anew under another name, and delete it",
        );
    }
    condition_true("Resolved", "it allows what it says")
}
