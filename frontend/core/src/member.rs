//! Who has a role in a cluster or a project, and what may be typed of that.

use drover_api::kinds::RoleContext;
use drover_api::rest::{MemberCreate, MemberView, RoleView};

use crate::readiness::Readiness;
use crate::shell;
use crate::url::segment;

/// Where somebody has a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the cluster of this name.
    Cluster(String),
    /// In the project of this name.
    Project(String),
}

impl Place {
    /// Where its members are listed and added.
    pub fn members(&self) -> String {
        match self {
            Self::Cluster(name) => format!("/v1/clusters/{}/members", segment(name)),
            Self::Project(name) => format!("/v1/projects/{}/members", segment(name)),
        }
    }

    /// Where one of them is.
    pub fn member(&self, id: &str) -> String {
        format!("{}/{}", self.members(), segment(id))
    }

    /// The name of the cluster or project.
    pub fn name(&self) -> &str {
        match self {
            Self::Cluster(name) | Self::Project(name) => name,
        }
    }

    /// The kind, in a word.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Cluster(_) => "cluster",
            Self::Project(_) => "project",
        }
    }

    /// Whether a role can be given here.
    pub fn takes(&self, role: &RoleView) -> bool {
        let context = match self {
            Self::Cluster(_) => RoleContext::Cluster,
            Self::Project(_) => RoleContext::Project,
        };
        role.context == context && !role.locked
    }

    /// The command that lists its members.
    pub fn list_command(&self) -> String {
        format!("drover access list {}", self.option())
    }

    /// The command that gives a role here.
    pub fn grant_command(&self, wish: &MemberCreate) -> String {
        let word = |text: &str, unknown: &str| match text {
            "" => unknown.to_owned(),
            text => shell::word(text),
        };
        let subject = match (&wish.group, &wish.user) {
            (Some(group), _) => format!("--group={}", word(group, "GROUP")),
            (None, user) => {
                let user = user.as_deref().unwrap_or_default();
                format!("--user={}", word(user, "NAME"))
            }
        };
        let role = word(&wish.role, "ROLE");
        format!("drover access grant {role} {} {subject}", self.option())
    }

    /// The command that takes a role here away.
    pub fn revoke_command(&self, id: &str) -> String {
        format!("drover access revoke {} {}", shell::word(id), self.option())
    }

    fn option(&self) -> String {
        format!("--{}={}", self.kind(), shell::word(self.name()))
    }
}

/// A wish for a role for whom was typed: a group if it looks like one, which no name of a person
/// does.
pub fn wish(role: &str, who: &str) -> MemberCreate {
    let who = who.trim().to_owned();
    let is_group = who.contains(':');
    MemberCreate {
        role: role.to_owned(),
        user: (!is_group).then(|| who.clone()),
        group: is_group.then_some(who),
    }
}

/// Who it is: the name of a person or a group.
pub fn who(member: &MemberView) -> &str {
    let subject = member.user.as_deref().or(member.group.as_deref());
    subject.unwrap_or_default()
}

/// What people call a role; its name if nothing else is known of it.
pub fn role_title(roles: &[RoleView], name: &str) -> String {
    let found = roles.iter().find(|role| role.name == name);
    let title = found.and_then(|role| role.display_name.clone());
    title.unwrap_or_else(|| name.to_owned())
}

/// Whether a member has every word that was typed, in what is shown of them.
pub fn passes(member: &MemberView, role_title: &str, typed: &str) -> bool {
    let standing = Readiness::of(&member.conditions).words;
    let shown = [
        who(member),
        member.display_name.as_deref().unwrap_or_default(),
        &member.role,
        role_title,
        &standing,
    ];
    let shown = shown.map(str::to_lowercase);
    let mut words = typed.split_whitespace().map(str::to_lowercase);
    words.all(|word| shown.iter().any(|text| text.contains(&word)))
}

#[cfg(test)]
mod tests {
    use drover_api::rest::RoleRights;

    use super::*;

    fn role(name: &str, context: RoleContext, locked: bool) -> RoleView {
        RoleView {
            name: name.to_owned(),
            display_name: Some("Cluster Owner".to_owned()),
            description: None,
            context,
            built_in: true,
            locked,
            bound: None,
            rights: RoleRights::default(),
        }
    }

    fn berlin() -> Place {
        Place::Cluster("berlin".to_owned())
    }

    #[test]
    fn a_group_is_told_from_a_person_by_its_form() {
        let person = wish("cluster-viewer", " ann ");
        assert_eq!((person.user.as_deref(), person.group), (Some("ann"), None));
        let group = wish("cluster-viewer", "drover:corp:developers");
        assert_eq!(group.group.as_deref(), Some("drover:corp:developers"));
        assert_eq!(group.user, None);
    }

    #[test]
    fn commands_do_what_the_page_does() {
        assert_eq!(
            berlin().grant_command(&wish("cluster-viewer", "ann")),
            "drover access grant cluster-viewer --cluster=berlin --user=ann"
        );
        let shop = Place::Project("shop".to_owned());
        assert_eq!(
            shop.grant_command(&wish("", "drover:corp:all of us")),
            "drover access grant ROLE --project=shop --group='drover:corp:all of us'"
        );
        assert_eq!(
            berlin().grant_command(&wish("", "")),
            "drover access grant ROLE --cluster=berlin --user=NAME"
        );
        assert_eq!(
            shop.revoke_command("m-1"),
            "drover access revoke m-1 --project=shop"
        );
    }

    #[test]
    fn only_roles_that_can_be_given_here_are_offered() {
        let of = |context, locked| role("r", context, locked);
        assert!(berlin().takes(&of(RoleContext::Cluster, false)));
        assert!(!berlin().takes(&of(RoleContext::Cluster, true)));
        assert!(!berlin().takes(&of(RoleContext::Project, false)));
    }

    #[test]
    fn members_are_found_by_what_is_shown_of_them() {
        let member = MemberView {
            id: "m-1".to_owned(),
            role: "cluster-owner".to_owned(),
            user: Some("ann".to_owned()),
            display_name: Some("Ann Lee".to_owned()),
            group: None,
            created_at: jiff::Timestamp::UNIX_EPOCH,
            conditions: Vec::new(),
        };
        let title = role_title(
            &[role("cluster-owner", RoleContext::Cluster, false)],
            "cluster-owner",
        );
        assert_eq!(title, "Cluster Owner");
        for (typed, wanted) in [
            ("", true),
            ("lee OWNER", true),
            ("coming", true),
            ("bob", false),
        ] {
            assert_eq!(passes(&member, &title, typed), wanted, "{typed}");
        }
        assert_eq!(role_title(&[], "gone"), "gone");
    }
}
