//! Admission of RoleTemplates and GlobalRoles.

use drover_api::kinds::{GlobalRoleSpec, RoleTemplateSpec};

use super::{HubRoles, PreviousSpec, WriterRights, spec};
use crate::admission::{Operation, Refusal, Write};
use crate::grants::{Names, ResolvedRoles, Roles, Scope};
use crate::roles::{Scoped, Unresolved, resolve};

pub(super) fn admit_template(
    write: &Write<'_>,
    writer: &WriterRights,
    hub_roles: HubRoles<'_>,
) -> Result<(), Refusal> {
    let name = write.object_name();
    let deleted = write.operation == Operation::Delete;
    if deleted {
        check_unused(name, hub_roles)?;
    } else if !write.changes("/spec") {
        return Ok(());
    }
    let old = PreviousSpec::read(write.old).and_then(|role_spec: RoleTemplateSpec| {
        let rights = resolved(name, &role_spec, hub_roles).ok()?;
        Some((role_spec, rights))
    });
    let after: Option<RoleTemplateSpec> = if deleted { None } else { spec(write.object)? };
    if let Some(after) = &after {
        let before = old
            .known()
            .map(|(role_spec, _)| role_spec.inherits.as_slice());
        unlocked("inherits", &after.inherits, before, hub_roles)?;
        check_inheriting_roles(name, after, hub_roles)?;
    }
    let after = after.map(|role_spec| {
        resolved(name, &role_spec, hub_roles)
            .map_err(|problem| Refusal::new(format!("cannot store the role {name:?}: {problem}")))
    });
    let after = after.transpose()?;
    old.check(writer, hub_roles)?;
    writer.check(|holder| {
        let before = old.known().map(|(_, rights)| rights);
        let grants = hub_roles.grants;
        grants.may_write_template(holder, before, after.as_ref())
    })
}

/// Returns the permissions of the role `name` after a write of the spec `spec`.
fn resolved(
    name: &str,
    spec: &RoleTemplateSpec,
    hub_roles: HubRoles<'_>,
) -> Result<Scoped, Unresolved> {
    resolved_with(name, name, spec, hub_roles)
}

/// Returns the permissions of the role `role` after a write of the spec `spec` to the role `name`.
/// The role `role` may inherit the role `name`.
fn resolved_with(
    role: &str,
    name: &str,
    spec: &RoleTemplateSpec,
    hub_roles: HubRoles<'_>,
) -> Result<Scoped, Unresolved> {
    let stored = &hub_roles.facts.role_templates;
    let find = |requested: &str| {
        if requested == name {
            Some(spec)
        } else {
            stored.get(requested).map(|role| role.spec)
        }
    };
    resolve(role, find).unwrap_or_else(|| Ok(Scoped::default()))
}

/// Checks that all roles that inherit the written role can be resolved after the write. A role that
/// cannot be resolved grants nothing.
fn check_inheriting_roles(
    name: &str,
    spec: &RoleTemplateSpec,
    hub_roles: HubRoles<'_>,
) -> Result<(), Refusal> {
    let stored = &hub_roles.facts.role_templates;
    let find = |requested: &str| stored.get(requested).map(|role| role.spec);
    let mut others: Vec<&str> = stored
        .keys()
        .copied()
        .filter(|other| *other != name)
        .collect();
    others.sort_unstable();
    for heir in others {
        let Err(problem) = resolved_with(heir, name, spec, hub_roles) else {
            continue;
        };
        if matches!(resolve(heir, find), Some(Ok(_))) {
            return Err(Refusal::new(format!(
                "cannot store the role {name:?}: the role {heir:?}, which inherits from \
                 {name:?}, would become invalid: {problem}"
            )));
        }
    }
    Ok(())
}

/// Rejects the inheritance of a locked role, because the inheriting role would create new grants of
/// the locked role.
fn unlocked(
    field: &str,
    now: &[String],
    before: Option<&[String]>,
    hub_roles: HubRoles<'_>,
) -> Result<(), Refusal> {
    let had = |name: &String| before.is_some_and(|before| before.contains(name));
    let locked = |name: &&String| {
        let role = hub_roles.facts.role_templates.get(name.as_str());
        !had(name) && role.is_some_and(|role| role.spec.locked)
    };
    match now.iter().find(locked) {
        None => Ok(()),
        Some(name) => Err(Refusal::new(format!(
            "spec.{field} contains the locked role {name:?}: use a different role, or unset \
             spec.locked of {name:?}"
        ))),
    }
}

/// Rejects the deletion of an inherited role, because users of the inheriting roles would lose
/// permissions.
fn check_unused(name: &str, hub_roles: HubRoles<'_>) -> Result<(), Refusal> {
    let facts = hub_roles.facts;
    let heirs = facts.role_templates.iter();
    let heir = heirs
        .filter(|(_, role)| role.spec.inherits.iter().any(|inherited| inherited == name))
        .map(|(heir, _)| *heir)
        .min();
    if let Some(heir) = heir {
        return Err(Refusal::new(format!(
            "cannot delete the role {name:?}: the role {heir:?} inherits from {name:?}; first \
             remove {name:?} from spec.inherits of {heir:?}"
        )));
    }
    let globals = facts.global_roles.iter();
    let global = globals
        .filter(|(_, role)| {
            role.spec
                .in_every_cluster
                .iter()
                .any(|granted| granted == name)
        })
        .map(|(global, _)| *global)
        .min();
    if let Some(global) = global {
        return Err(Refusal::new(format!(
            "cannot delete the role {name:?}: the global role {global:?} grants {name:?} in \
             every cluster; first remove {name:?} from spec.inEveryCluster of {global:?}"
        )));
    }
    Ok(())
}

pub(super) fn admit_global(
    write: &Write<'_>,
    writer: &WriterRights,
    hub_roles: HubRoles<'_>,
) -> Result<(), Refusal> {
    let name = write.object_name();
    let deleted = write.operation == Operation::Delete;
    if !deleted && !write.changes("/spec") {
        return Ok(());
    }
    let mut roles = Roles::new(hub_roles.facts, Names::Current);
    let old = PreviousSpec::read(write.old).and_then(|role_spec: GlobalRoleSpec| {
        let granted = roles.resolve_global_role(name, "", &role_spec).ok()?;
        Some((role_spec, granted))
    });
    let after: Option<GlobalRoleSpec> = if deleted { None } else { spec(write.object)? };
    if let Some(after) = &after {
        let before = old
            .known()
            .map(|(role_spec, _)| role_spec.in_every_cluster.as_slice());
        unlocked("inEveryCluster", &after.in_every_cluster, before, hub_roles)?;
        check_new_user_default(after, writer, hub_roles)?;
    }
    let after = after.map(|role_spec| {
        roles
            .resolve_global_role(name, "", &role_spec)
            .map_err(|problem| {
                Refusal::new(format!("cannot store the global role {name:?}: {problem}"))
            })
    });
    let after: Option<ResolvedRoles> = after.transpose()?;
    old.check(writer, hub_roles)?;
    writer.check(|holder| {
        let before = old.known().map(|(_, granted)| granted);
        let mut both = before.into_iter().chain(&after);
        both.try_for_each(|granted| granted.check_grantable(hub_roles.grants, holder))
    })
}

/// If the server binds the GlobalRole to each new user, checks that the writer may create
/// GlobalRoleBindings.
fn check_new_user_default(
    spec: &GlobalRoleSpec,
    writer: &WriterRights,
    hub_roles: HubRoles<'_>,
) -> Result<(), Refusal> {
    if !spec.new_user_default || writer.may(hub_roles, "create", "globalrolebindings", &Scope::Hub)
    {
        return Ok(());
    }
    Err(Refusal::new(
        "spec.newUserDefault grants the role to all new users, but you are not allowed to create \
         globalrolebindings: unset spec.newUserDefault, or ask an administrator",
    ))
}
