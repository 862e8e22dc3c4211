//! RoleTemplates and GlobalRoles.

use super::{Giver, Global, Known, Template, spec};
use crate::admission::{Operation, Refusal, Write};
use crate::grants::{Names, Roles};
use crate::roles::{Scoped, resolve};

pub(super) fn admit_template(
    write: &Write<'_>,
    giver: &Giver,
    known: Known<'_>,
) -> Result<(), Refusal> {
    let deleted = write.operation == Operation::Delete;
    if deleted {
        unused(write.called(), known)?;
    } else if !write.changes("/spec") {
        return Ok(());
    }
    let before: Option<Template> = spec(write.old)?;
    let after: Option<Template> = if deleted { None } else { spec(write.object)? };
    // What it said may not be resolvable any more: by then it gave nothing, and gives nothing back.
    let before = before.and_then(|spec| scoped(write.called(), &spec, known).ok());
    let after = after
        .map(|spec| scoped(write.called(), &spec, known))
        .transpose()?;
    giver.check(|who| {
        let grants = known.grants;
        grants.may_write_template(who, before.as_ref(), after.as_ref())
    })
}

/// What a role would allow if it said this.
fn scoped(name: &str, said: &Template, known: Known<'_>) -> Result<Scoped, Refusal> {
    let stored = &known.facts.role_templates;
    let find = |asked: &str| {
        if asked == name {
            Some(said)
        } else {
            stored.get(asked).map(|role| role.spec)
        }
    };
    match resolve(name, find) {
        Some(Ok(scoped)) => Ok(scoped),
        Some(Err(problem)) => Err(Refusal::new(format!(
            "the role {name:?} cannot be stored: {problem}"
        ))),
        None => Ok(Scoped::default()),
    }
}

/// Deleting what others rest on would take their rights from people who are not asked.
fn unused(name: &str, known: Known<'_>) -> Result<(), Refusal> {
    let facts = known.facts;
    let heirs = facts.role_templates.iter();
    let heir = heirs
        .filter(|(_, role)| role.spec.inherits.iter().any(|inherited| inherited == name))
        .map(|(heir, _)| *heir)
        .min();
    if let Some(heir) = heir {
        return Err(Refusal::new(format!(
            "the role {heir:?} inherits from {name:?}: take it out of its spec.inherits first"
        )));
    }
    let globals = facts.global_roles.iter();
    let global = globals
        .filter(|(_, role)| role.spec.in_every_cluster.iter().any(|given| given == name))
        .map(|(global, _)| *global)
        .min();
    if let Some(global) = global {
        return Err(Refusal::new(format!(
            "the global role {global:?} gives {name:?} in every cluster: take it out of its \
             spec.inEveryCluster first"
        )));
    }
    Ok(())
}

pub(super) fn admit_global(
    write: &Write<'_>,
    giver: &Giver,
    known: Known<'_>,
) -> Result<(), Refusal> {
    let deleted = write.operation == Operation::Delete;
    if !deleted && !write.changes("/spec") {
        return Ok(());
    }
    let before: Option<Global> = spec(write.old)?;
    let after: Option<Global> = if deleted { None } else { spec(write.object)? };
    let mut roles = Roles::new(known.facts, Names::AsTheyAre);
    let mut given = |said: Option<Global>| {
        said.map(|said| roles.by_global_role(write.called(), "", &said))
            .transpose()
    };
    let before = given(before).ok().flatten();
    let after = given(after).map_err(|problem| Refusal::new(problem.to_string()))?;
    giver.check(|who| {
        let both = [before, after];
        let mut both = both.iter().flatten();
        both.try_for_each(|given| given.may_be_given(known.grants, who))
    })
}
