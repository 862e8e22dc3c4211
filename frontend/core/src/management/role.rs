//! Roles: specs, the rule matrix, YAML, and edit conflicts.

pub mod conflict;
pub mod draft;
pub mod matrix;
pub mod merge;
pub mod spec;
pub mod words;

use drover_api::kinds::RoleContext;
use drover_api::rest::{GlobalRoleView, RoleRights, RoleView};

use crate::messages::t;
use crate::search::has_words;
use crate::shell;
use crate::url::segment;

/// The kind of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A RoleTemplate, whose rules apply in a cluster or a project.
    Template,
    /// A GlobalRole, whose rules apply on the hub and in all clusters.
    Global,
}

impl Kind {
    /// Returns the API path of the roles.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Template => "/v1/roles",
            Self::Global => "/v1/global-roles",
        }
    }

    /// Returns the API path of a role.
    pub fn path_of(self, name: &str) -> String {
        format!("{}/{}", self.path(), segment(name))
    }

    /// Returns the URL path of a role.
    pub fn screen(self, name: &str) -> String {
        match self {
            Self::Template => format!("/roles/{}", segment(name)),
            Self::Global => format!("/global-roles/{}", segment(name)),
        }
    }

    /// Returns the URL path of the create screen, optionally with a role to copy.
    pub fn create_screen(self, copied: Option<&str>) -> String {
        let kind = match self {
            Self::Template => "role",
            Self::Global => "global-role",
        };
        match copied {
            None => format!("/new-{kind}"),
            Some(name) => format!("/new-{kind}?copy={}", segment(name)),
        }
    }

    /// Returns a `drover role` command.
    pub fn command(self, action: &str, name: &str) -> String {
        let name = shell::word(name);
        match self {
            Self::Template => format!("drover role {action} {name}"),
            Self::Global => format!("drover role {action} {name} --global"),
        }
    }
}

/// A role in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The kind of the role.
    pub kind: Kind,
    /// The name of the role.
    pub name: String,
    /// The display name of the role, or the name if the role has no display name.
    pub title: String,
    /// The description of the role; empty if unset.
    pub description: String,
    /// The text for the scope of the role.
    pub place: &'static str,
    /// True for a built-in role.
    pub built_in: bool,
    /// True if the role cannot be granted.
    pub locked: bool,
    /// The number of bindings; `None` if the user cannot read the bindings.
    pub bound: Option<u32>,
    /// The user's permissions on the role.
    pub rights: RoleRights,
}

impl From<&RoleView> for Listed {
    fn from(role: &RoleView) -> Self {
        Self {
            kind: Kind::Template,
            name: role.name.clone(),
            title: title(&role.name, role.display_name.as_deref()),
            description: role.description.clone().unwrap_or_default(),
            place: place(role.context),
            built_in: role.built_in,
            locked: role.locked,
            bound: role.bound,
            rights: role.rights,
        }
    }
}

impl From<&GlobalRoleView> for Listed {
    fn from(role: &GlobalRoleView) -> Self {
        Self {
            kind: Kind::Global,
            name: role.name.clone(),
            title: title(&role.name, role.display_name.as_deref()),
            description: role.description.clone().unwrap_or_default(),
            place: t().roles.everywhere(),
            built_in: role.built_in,
            locked: false,
            bound: role.bound,
            rights: role.rights,
        }
    }
}

impl Listed {
    /// Returns `built-in` or `custom`.
    pub fn origin(&self) -> &'static str {
        match (self.built_in, self.locked) {
            (_, true) => t().roles.locked(),
            (true, false) => t().roles.built_in(),
            (false, false) => t().roles.custom(),
        }
    }

    /// Reports whether the shown texts of the role contain all entered words.
    pub fn passes(&self, typed: &str) -> bool {
        let shown = [
            self.name.as_str(),
            &self.title,
            &self.description,
            self.place,
            self.origin(),
        ];
        has_words(shown, typed)
    }
}

fn title(name: &str, display_name: Option<&str>) -> String {
    display_name.unwrap_or(name).to_owned()
}

/// Returns the text for a role context.
pub fn place(context: RoleContext) -> &'static str {
    match context {
        RoleContext::Cluster => t().labels.cluster(),
        RoleContext::Project => t().labels.project(),
    }
}

/// Returns the effect of deleting a role with this number of bindings.
pub fn deletion_effect(bound: Option<u32>) -> String {
    t().roles.delete_effect(bound)
}

#[cfg(test)]
mod tests;
