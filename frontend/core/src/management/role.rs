//! Roles: what they are called, the rules as a matrix and as text, and what others changed meanwhile.

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

/// The two kinds of roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// In clusters and projects: a RoleTemplate.
    Template,
    /// On the hub and in every cluster: a GlobalRole.
    Global,
}

impl Kind {
    /// Where roles of it are listed and made.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Template => "/v1/roles",
            Self::Global => "/v1/global-roles",
        }
    }

    /// Where one of them is.
    pub fn path_of(self, name: &str) -> String {
        format!("{}/{}", self.path(), segment(name))
    }

    /// The screen of one of them.
    pub fn screen(self, name: &str) -> String {
        match self {
            Self::Template => format!("/roles/{}", segment(name)),
            Self::Global => format!("/global-roles/{}", segment(name)),
        }
    }

    /// The screen on which another is made, as a copy of one or of none.
    pub fn screen_of_new(self, copied: Option<&str>) -> String {
        let kind = match self {
            Self::Template => "role",
            Self::Global => "global-role",
        };
        match copied {
            None => format!("/new-{kind}"),
            Some(name) => format!("/new-{kind}?copy={}", segment(name)),
        }
    }

    /// The command that does something with one of them.
    pub fn command(self, action: &str, name: &str) -> String {
        let name = shell::word(name);
        match self {
            Self::Template => format!("drover role {action} {name}"),
            Self::Global => format!("drover role {action} {name} --global"),
        }
    }
}

/// A role of either kind, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its kind.
    pub kind: Kind,
    /// The object's name.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// What it is for; may be empty.
    pub description: String,
    /// Where people have it: `Cluster`, `Project` or `Everywhere`.
    pub place: &'static str,
    /// Whether it is there from the start, and stays as it is.
    pub built_in: bool,
    /// Whether nobody else is given it.
    pub locked: bool,
    /// How many bindings give it, if that may be known.
    pub bound: Option<u32>,
    /// What the person may do with it.
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
    /// What it is, in a word or two.
    pub fn origin(&self) -> &'static str {
        match (self.built_in, self.locked) {
            (_, true) => t().roles.locked(),
            (true, false) => t().roles.built_in(),
            (false, false) => t().roles.custom(),
        }
    }

    /// Whether it has every word that was typed, in what is shown of it.
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

/// Where people are given roles of a context.
pub fn place(context: RoleContext) -> &'static str {
    match context {
        RoleContext::Cluster => t().labels.cluster(),
        RoleContext::Project => t().labels.project(),
    }
}

/// What a role's deletion takes from people.
pub fn who_loses(bound: Option<u32>) -> String {
    t().roles.delete_effect(bound)
}

#[cfg(test)]
mod tests;
