//! Writes conditions of RoleTemplates and GlobalRoles. The conditions show whether the server can
//! resolve the rules of a role. The conditions are for display only. Grants are computed from the
//! roles.

pub(crate) mod built_in;

use std::time::Duration;

use drover_access::grants::{Names, Roles};
use drover_access::roles::resolve;
use drover_api::conditions::{ConditionValue, READY};
use drover_api::kinds::{GlobalRole, RoleTemplate};
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::BATCH_TIMEOUT;
use super::changes::{changes, condition_false, condition_true, conditions_of, write_all};
use drover_hub::stores::grants::Objects;
use drover_hub::{Hub, HubError};

/// Debounce delay. Merges the creation of a role and of the roles that inherit this role into one
/// reconciliation.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// Maximum time between two reconciliations.
const INTERVAL: Duration = Duration::from_mins(5);
const WRITE: &str = "write the condition of a role";

/// The reconciler that writes the conditions of roles.
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

/// Runs the controller of roles' conditions.
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
            let condition_value = resolved.map(|resolved| match resolved {
                Ok(_) => usable(built_in::has_reserved_name(role, &names)),
                Err(problem) => {
                    condition_false("Unresolved", format!("the role grants nothing: {problem}"))
                }
            });
            let status = role.status.as_ref();
            (
                condition_value,
                conditions_of(status.map(|status| &status.conditions)),
            )
        });
        let global_names = built_in::names::<GlobalRole>();
        let globals = changes(&stores.global_roles, READY, now, |role| {
            let mut roles = Roles::new(&facts, Names::Current);
            let granted = roles.resolve_global_role(&role.name_any(), "", &role.spec);
            let condition_value = match granted {
                Ok(_) => usable(built_in::has_reserved_name(role, &global_names)),
                Err(problem) => {
                    condition_false("Unresolved", format!("the role grants nothing: {problem}"))
                }
            };
            let status = role.status.as_ref();
            (
                Some(condition_value),
                conditions_of(status.map(|status| &status.conditions)),
            )
        });
        (templates, globals)
    };
    // Write both kinds, even if the hub rejects an object of one kind.
    let results = [
        write_all(hub, WRITE, &templates).await,
        write_all(hub, WRITE, &globals).await,
    ];
    results.into_iter().collect()
}

/// Returns the condition of a role whose rules can be resolved.
fn usable(has_reserved_name: bool) -> ConditionValue {
    if has_reserved_name {
        return condition_true(
            "InTheWay",
            "the role is usable, but the server cannot create the built-in role with the same name: \
             copy this role to a different name, then delete this role",
        );
    }
    condition_true("Resolved", "the role grants the rules of its spec")
}
