//! Builds the representations of roles in the REST API: rules, permissions in clusters, and the
//! caller's permissions on the role.

use std::collections::HashMap;
use std::sync::Arc;

use drover_access::grants::{Facts, Names, Problem, ResolvedRoles, RoleFacts, Roles, Scope};
use drover_access::roles::{BUILT_IN_LABEL, Rights, Scoped, resolve};
use drover_api::kinds::{GlobalRole, RoleContext, RoleReference, RoleTemplate};
use drover_api::rest::{
    Allowed, GlobalRoleDetail, GlobalRoleView, RoleDependents, RoleDetail, RoleRights, RoleView,
};
use kube::ResourceExt as _;

use drover_hub::Stores;
use drover_hub::visibility::{Visibility, created_at};

const TEMPLATES: &str = "roletemplates";
const GLOBAL_ROLES: &str = "globalroles";
const GLOBAL_BINDINGS: &str = "globalrolebindings";
/// Maximum number of dependent roles in a response.
const MAX_DEPENDENTS: usize = 100;

/// The scope in which the caller may bind roles.
#[derive(Clone, Debug)]
pub(crate) struct BindingScope {
    /// The context (cluster or project) of roles that can be bound in the scope.
    pub(crate) context: RoleContext,
    /// The cluster or project of a new binding.
    pub(crate) scope: Scope,
}

/// Builder of the representations of roles in the REST API for a caller.
pub(crate) struct RoleViews {
    visibility: Visibility,
    stores: Stores,
    templates: Vec<Arc<RoleTemplate>>,
    at: Option<BindingScope>,
    /// Number of bindings of each role. Includes only the kinds of bindings that the caller can
    /// list.
    bound: Bound,
}

/// Number of bindings of each role. The key is the role's name and the role UID in the binding.
type BindingCounts = HashMap<(String, Option<String>), u32>;

#[derive(Default)]
struct Bound {
    in_clusters: Option<BindingCounts>,
    in_projects: Option<BindingCounts>,
    global: Option<BindingCounts>,
}

impl RoleViews {
    /// Creates a builder for a caller. Each view states whether the caller can bind the role in the
    /// scope `at`.
    pub(crate) fn of(stores: &Stores, visibility: Visibility, at: Option<BindingScope>) -> Self {
        let bound = Bound::of(stores, &visibility, |_| true);
        Self::with(stores, visibility, at, bound)
    }

    /// Builds the view of one role for a caller. Counts only the bindings of this role.
    pub(crate) fn of_one(stores: &Stores, visibility: Visibility, name: &str) -> Self {
        let bound = Bound::of(stores, &visibility, |role| role.name == name);
        Self::with(stores, visibility, None, bound)
    }

    fn with(
        stores: &Stores,
        visibility: Visibility,
        at: Option<BindingScope>,
        bound: Bound,
    ) -> Self {
        Self {
            visibility,
            stores: stores.clone(),
            templates: stores.role_templates.all(),
            at,
            bound,
        }
    }

    /// Returns the list entry of a role.
    pub(crate) fn template(&self, role: &RoleTemplate) -> RoleView {
        self.view(role, self.resolved(role).as_ref().ok())
    }

    fn view(&self, role: &RoleTemplate, allowed: Option<&Scoped>) -> RoleView {
        let counted = match role.spec.context {
            RoleContext::Cluster => &self.bound.in_clusters,
            RoleContext::Project => &self.bound.in_projects,
        };
        RoleView {
            name: role.name_any(),
            display_name: role.spec.display_name.clone(),
            description: role.spec.description.clone(),
            context: role.spec.context,
            built_in: is_built_in(role),
            locked: role.spec.locked,
            bound: count(counted.as_ref(), role),
            rights: self.rights(role, allowed),
        }
    }

    /// Returns the view of a role with its rules and permissions.
    pub(crate) fn template_detail(&self, role: &RoleTemplate) -> RoleDetail {
        let resolved = self.resolved(role);
        let view = self.view(role, resolved.as_ref().ok());
        let (allowed, problem) = match resolved {
            Ok(scoped) => (scoped, None),
            Err(problem) => (Scoped::default(), Some(problem)),
        };
        RoleDetail {
            role: view,
            uid: role.uid().unwrap_or_default(),
            resource_version: role.resource_version().unwrap_or_default(),
            created_at: created_at(role),
            spec: role.spec.clone(),
            cluster: allowed_view(&allowed.cluster),
            project: allowed_view(&allowed.project),
            problem,
            rests_on_it: self.dependents(&role.name_any()),
        }
    }

    /// Returns the list entry of a global role.
    pub(crate) fn global(&self, role: &GlobalRole) -> GlobalRoleView {
        self.global_view(role, self.resolve(role).as_ref().ok())
    }

    fn global_view(&self, role: &GlobalRole, granted: Option<&ResolvedRoles>) -> GlobalRoleView {
        GlobalRoleView {
            name: role.name_any(),
            display_name: role.spec.display_name.clone(),
            description: role.spec.description.clone(),
            built_in: is_built_in(role),
            new_user_default: role.spec.new_user_default,
            bound: count(self.bound.global.as_ref(), role),
            rights: self.global_rights(role, granted),
        }
    }

    /// Returns the view of a global role with its rules and permissions.
    pub(crate) fn global_detail(&self, role: &GlobalRole) -> GlobalRoleDetail {
        let granted = self.resolve(role);
        let view = self.global_view(role, granted.as_ref().ok());
        let mut every_cluster = Rights::default();
        let problem = match granted {
            Ok(ResolvedRoles(granted)) => {
                let everywhere = granted.iter().filter(|(scope, _)| *scope != Scope::Hub);
                for (_, role) in everywhere {
                    every_cluster.extend(&role.scoped.cluster);
                }
                None
            }
            Err(problem) => Some(problem.to_string()),
        };
        GlobalRoleDetail {
            role: view,
            uid: role.uid().unwrap_or_default(),
            resource_version: role.resource_version().unwrap_or_default(),
            created_at: created_at(role),
            spec: role.spec.clone(),
            every_cluster: allowed_view(&every_cluster),
            problem,
        }
    }

    fn known(&self, name: &str) -> Option<&RoleTemplate> {
        let at = self.templates.binary_search_by(|it| {
            let it = it.metadata.name.as_deref().unwrap_or_default();
            it.cmp(name)
        });
        at.ok().map(|at| &*self.templates[at])
    }

    fn resolved(&self, role: &RoleTemplate) -> Result<Scoped, String> {
        // A role in the response of a write can be newer than the role in the store.
        let own = role.name_any();
        let find = |name: &str| {
            if name == own {
                return Some(&role.spec);
            }
            self.known(name).map(|role| &role.spec)
        };
        let resolved = resolve(&own, find).unwrap_or_else(|| Ok(Scoped::default()));
        resolved.map_err(|problem| problem.to_string())
    }

    fn resolve(&self, role: &GlobalRole) -> Result<ResolvedRoles, Problem> {
        let mut facts = Facts::default();
        let mut pending: Vec<&str> = role
            .spec
            .in_every_cluster
            .iter()
            .map(String::as_str)
            .collect();
        while let Some(name) = pending.pop() {
            let Some(role) = self.known(name).filter(|role| role.metadata.uid.is_some()) else {
                continue;
            };
            let uid = role.metadata.uid.as_deref().unwrap_or_default();
            let spec = &role.spec;
            let first = facts
                .role_templates
                .insert(name, RoleFacts { uid, spec })
                .is_none();
            if first {
                pending.extend(spec.inherits.iter().map(String::as_str));
            }
        }
        let uid = role.uid().unwrap_or_default();
        Roles::new(&facts, Names::Current).resolve_global_role(&role.name_any(), &uid, &role.spec)
    }

    fn rights(&self, role: &RoleTemplate, allowed: Option<&Scoped>) -> RoleRights {
        let (grants, holder) = (self.visibility.grants(), self.visibility.rights_holder());
        let on_hub = |verb| self.visibility.may(verb, TEMPLATES, &Scope::Hub);
        // Only administrators have all permissions of a role that cannot be resolved.
        let all = match allowed {
            Some(allowed) => grants
                .may_write_template(holder, Some(allowed), None)
                .is_ok(),
            None => grants.administers(holder),
        };
        let own = !is_built_in(role);
        let at = |verb| {
            let BindingScope { context, scope } = self.at.as_ref()?;
            let bindings = match context {
                RoleContext::Cluster => "clusterroletemplatebindings",
                RoleContext::Project => "projectroletemplatebindings",
            };
            let all = match allowed {
                Some(allowed) => grants.may_grant(holder, allowed, scope).is_ok(),
                None => grants.administers(holder),
            };
            let fits = role.spec.context == *context;
            Some(fits && all && self.visibility.may(verb, bindings, scope))
        };
        RoleRights {
            may_change: own && all && on_hub("update"),
            may_delete: own && all && on_hub("delete"),
            may_copy: allowed.is_some()
                && all
                && on_hub("create")
                && !self.names_locked(&role.spec.inherits),
            may_give: at("create").map(|may| may && allowed.is_some() && !role.spec.locked),
            may_take: at("delete"),
        }
    }

    fn global_rights(&self, role: &GlobalRole, granted: Option<&ResolvedRoles>) -> RoleRights {
        let (grants, holder) = (self.visibility.grants(), self.visibility.rights_holder());
        let may = |verb, resource| self.visibility.may(verb, resource, &Scope::Hub);
        let all = match granted {
            Some(granted) => granted.check_grantable(grants, holder).is_ok(),
            None => grants.administers(holder),
        };
        let (own, usable) = (!is_built_in(role), granted.is_some());
        let locked = self.names_locked(&role.spec.in_every_cluster);
        RoleRights {
            may_change: own && all && may("update", GLOBAL_ROLES),
            may_delete: own && all && may("delete", GLOBAL_ROLES),
            may_copy: usable && all && !locked && may("create", GLOBAL_ROLES),
            may_give: Some(usable && all && !locked && may("create", GLOBAL_BINDINGS)),
            may_take: Some(all && may("delete", GLOBAL_BINDINGS)),
        }
    }

    /// Reports whether at least one of the named roles is locked. A locked role cannot be inherited
    /// or bound.
    fn names_locked(&self, names: &[String]) -> bool {
        let locked = |name: &String| self.known(name).is_some_and(|role| role.spec.locked);
        names.iter().any(locked)
    }

    fn dependents(&self, name: &str) -> RoleDependents {
        let names = |list: &[String]| list.iter().any(|other| other == name);
        let heirs = self.templates.iter();
        let heirs = heirs.filter(|role| names(&role.spec.inherits));
        let roles = heirs
            .map(|role| role.name_any())
            .take(MAX_DEPENDENTS)
            .collect();
        // Callers who cannot list global roles do not see them.
        let known = self.visibility.may("list", GLOBAL_ROLES, &Scope::Hub);
        let all = self.stores.global_roles.all().into_iter();
        let giving = all.filter(|role| known && names(&role.spec.in_every_cluster));
        RoleDependents {
            roles,
            global_roles: giving
                .map(|role| role.name_any())
                .take(MAX_DEPENDENTS)
                .collect(),
        }
    }
}

impl Bound {
    /// Counts the bindings of each role for which `selected` returns true.
    fn of(
        stores: &Stores,
        visibility: &Visibility,
        selected: impl Fn(&&RoleReference) -> bool,
    ) -> Self {
        let may = |resource| visibility.may("list", resource, &Scope::Hub);
        let mut bound = Self::default();
        if may("clusterroletemplatebindings") {
            let all = stores.cluster_role_template_bindings.all();
            let roles = all.iter().map(|binding| &binding.spec.role);
            bound.in_clusters = Some(counted(roles.filter(&selected)));
        }
        if may("projectroletemplatebindings") {
            let all = stores.project_role_template_bindings.all();
            let roles = all.iter().map(|binding| &binding.spec.role);
            bound.in_projects = Some(counted(roles.filter(&selected)));
        }
        if may(GLOBAL_BINDINGS) {
            let all = stores.global_role_bindings.all();
            let roles = all.iter().map(|binding| &binding.spec.role);
            bound.global = Some(counted(roles.filter(&selected)));
        }
        bound
    }
}

fn counted<'a>(roles: impl Iterator<Item = &'a RoleReference>) -> BindingCounts {
    let mut counted = BindingCounts::new();
    for role in roles {
        let uid = role.uid.as_ref().map(|uid| uid.as_str().to_owned());
        *counted.entry((role.name.clone(), uid)).or_default() += 1;
    }
    counted
}

/// Returns the number of bindings of a role. Includes bindings by name that contain no role UID
/// yet.
fn count(counted: Option<&BindingCounts>, role: &impl kube::Resource) -> Option<u32> {
    let (counted, meta) = (counted?, role.meta());
    let name = meta.name.clone().unwrap_or_default();
    let pinned = counted.get(&(name.clone(), meta.uid.clone()));
    let meant = counted.get(&(name, None));
    let other = meta.uid.is_some();
    Some(pinned.copied().unwrap_or_default() + meant.filter(|_| other).copied().unwrap_or_default())
}

fn is_built_in(role: &impl kube::ResourceExt) -> bool {
    role.labels().contains_key(BUILT_IN_LABEL)
}

fn allowed_view(rights: &Rights) -> Allowed {
    Allowed {
        rules: rights.policy_rules(),
        external: rights.external.iter().cloned().collect(),
    }
}

#[cfg(test)]
mod tests;
