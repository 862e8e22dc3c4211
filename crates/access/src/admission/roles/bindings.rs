//! Admission of role bindings.

use drover_api::kinds::{
    ClusterRoleTemplateBindingSpec, GlobalRoleBindingSpec, ProjectRoleTemplateBindingSpec,
};
use serde_json::Value;

use super::{HubRoles, WriterRights, require_all_rights, spec};
use crate::admission::{Operation, Refusal, Write};
use crate::grants::{Binding, Names, Problem, Roles};

pub(super) fn admit(
    write: &Write<'_>,
    writer: &WriterRights,
    hub_roles: HubRoles<'_>,
) -> Result<(), Refusal> {
    match write.operation {
        Operation::Update if !write.changes("/spec") => Ok(()),
        Operation::Update => Err(Refusal::new(
            "cannot change the spec of a binding, because the spec is immutable: delete the \
             binding and create a new binding",
        )),
        Operation::Create => {
            let spec = BindingSpec::read(write, write.object)?;
            spec.unpinned()?;
            spec.admit_create(writer, hub_roles)
        }
        Operation::Delete => match BindingSpec::read(write, write.old) {
            Ok(spec) => spec.admit_delete(writer, hub_roles),
            Err(_) => require_all_rights(writer, hub_roles),
        },
    }
}

/// The spec of a binding.
enum BindingSpec {
    Global(GlobalRoleBindingSpec),
    Cluster(ClusterRoleTemplateBindingSpec),
    Project(ProjectRoleTemplateBindingSpec),
}

impl BindingSpec {
    fn read(write: &Write<'_>, object: Option<&Value>) -> Result<Self, Refusal> {
        let missing = || Refusal::new("the object has no spec: add spec");
        Ok(match write.resource {
            "globalrolebindings" => Self::Global(spec(object)?.ok_or_else(missing)?),
            "clusterroletemplatebindings" => Self::Cluster(spec(object)?.ok_or_else(missing)?),
            _ => Self::Project(spec(object)?.ok_or_else(missing)?),
        })
    }

    fn binding(&self) -> Binding<'_> {
        match self {
            Self::Global(spec) => Binding::Global(spec),
            Self::Cluster(spec) => Binding::Cluster(spec),
            Self::Project(spec) => Binding::Project(spec),
        }
    }

    /// Rejects a new binding that contains a UID, because the name and the UID could identify two
    /// different objects.
    fn unpinned(&self) -> Result<(), Refusal> {
        let binding = self.binding();
        let subject = binding.subject();
        let user = subject.user.as_ref().is_some_and(|user| user.uid.is_some());
        let group = subject.group.as_ref();
        let group = group.is_some_and(|group| group.provider_uid.is_some());
        let target = match self {
            Self::Global(_) => false,
            Self::Cluster(spec) => spec.cluster.uid.is_some(),
            Self::Project(spec) => spec.project.uid.is_some(),
        };
        let pinned = target || user || group || binding.role().uid.is_some();
        if !pinned {
            return Ok(());
        }
        Err(Refusal::new(
            "only Drover's server can write the uid of a reference: remove the uid from the \
             binding",
        ))
    }

    fn admit_create(&self, writer: &WriterRights, hub_roles: HubRoles<'_>) -> Result<(), Refusal> {
        let binding = self.binding();
        let mut roles = Roles::new(hub_roles.facts, Names::Current);
        let refused = |problem: Problem| Refusal::new(problem.to_string());
        let granted = roles.resolve(binding).map_err(refused)?;
        roles.subject(binding.subject()).map_err(refused)?;
        let templates = &hub_roles.facts.role_templates;
        let locked = granted.0.iter().find(|(_, role)| {
            let stored = templates.get(role.name.as_str());
            stored.is_some_and(|stored| stored.uid == role.uid && stored.spec.locked)
        });
        if let Some((_, role)) = locked {
            return Err(Refusal::new(format!(
                "cannot create a binding of the role {role:?}, because the role is locked: use a \
                 different role, or unset spec.locked of the role",
                role = role.name
            )));
        }
        writer.check(|holder| granted.check_grantable(hub_roles.grants, holder))
    }

    /// Checks the deletion of a binding. The deletion requires the same permissions as the creation
    /// of the binding.
    fn admit_delete(&self, writer: &WriterRights, hub_roles: HubRoles<'_>) -> Result<(), Refusal> {
        let mut roles = Roles::new(hub_roles.facts, Names::Current);
        match roles.resolve(self.binding()) {
            Ok(granted) => writer.check(|holder| granted.check_grantable(hub_roles.grants, holder)),
            // A role that is unusable at present may grant its former permissions again.
            Err(Problem::Role { .. }) => require_all_rights(writer, hub_roles),
            // The binding can never grant permissions, so its deletion revokes none.
            Err(_) => Ok(()),
        }
    }
}
