//! Members of clusters, projects and all clusters.

use drover_api::rest::{
    GlobalRoleView, MemberCreate, MemberIdentity, MemberView, PersonView, RoleRights, RoleView,
};

use crate::messages::t;
use crate::readiness::Readiness;
use crate::role::Kind;
use crate::search::has_words;
use crate::shell;
use crate::url::segment;
use crate::user::distinguishing_name;

/// The scope of a membership: a cluster, a project, or all clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The cluster with this name.
    Cluster(String),
    /// The project with this name.
    Project(String),
    /// The hub and all clusters.
    Everywhere,
}

/// A role that can be granted in a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantableRole {
    /// The name of the role.
    pub name: String,
    /// The display name of the role, or the name if the role has no display name.
    pub title: String,
    /// The description of the role.
    pub description: Option<String>,
    /// True if the user can grant the role.
    pub may_grant: bool,
    /// True if the user can remove the role from members.
    pub may_remove: bool,
}

impl GrantableRole {
    fn new(
        name: String,
        display_name: Option<String>,
        description: Option<String>,
        rights: RoleRights,
    ) -> Self {
        Self {
            title: display_name.unwrap_or_else(|| name.clone()),
            name,
            description,
            may_grant: rights.may_give == Some(true),
            may_remove: rights.may_take == Some(true),
        }
    }
}

impl From<RoleView> for GrantableRole {
    fn from(role: RoleView) -> Self {
        Self::new(role.name, role.display_name, role.description, role.rights)
    }
}

impl From<GlobalRoleView> for GrantableRole {
    fn from(role: GlobalRoleView) -> Self {
        Self::new(role.name, role.display_name, role.description, role.rights)
    }
}

impl Scope {
    /// Returns the API path of the members.
    pub fn members(&self) -> String {
        match self {
            Self::Cluster(name) => format!("/v1/clusters/{}/members", segment(name)),
            Self::Project(name) => format!("/v1/projects/{}/members", segment(name)),
            Self::Everywhere => "/v1/global-members".to_owned(),
        }
    }

    /// Returns the API path of the roles that can be granted in the scope.
    pub fn roles(&self) -> String {
        match self {
            Self::Cluster(name) => format!("/v1/roles?cluster={}", segment(name)),
            Self::Project(name) => format!("/v1/roles?project={}", segment(name)),
            Self::Everywhere => "/v1/global-roles".to_owned(),
        }
    }

    /// Returns the URL path of a role of the scope.
    pub fn role_screen(&self, role: &str) -> String {
        match self {
            Self::Cluster(_) | Self::Project(_) => Kind::Template.screen(role),
            Self::Everywhere => Kind::Global.screen(role),
        }
    }

    /// Returns the API path of the user search.
    pub fn people(&self, name: &str) -> String {
        let name = segment(name);
        match self {
            Self::Cluster(place) => {
                format!("/v1/access/people?name={name}&cluster={}", segment(place))
            }
            Self::Project(place) => {
                format!("/v1/access/people?name={name}&project={}", segment(place))
            }
            Self::Everywhere => format!("/v1/access/people?name={name}"),
        }
    }

    /// Returns the API path of a member.
    pub fn member(&self, id: &str) -> String {
        format!("{}/{}", self.members(), segment(id))
    }

    /// Returns the title of the dialog that grants a role.
    pub fn grant_title(&self) -> String {
        match self {
            Self::Cluster(name) => t().members.grant_in_cluster(name),
            Self::Project(name) => t().members.grant_in_project(name),
            Self::Everywhere => t().members.grant_everywhere().to_owned(),
        }
    }

    /// Returns the effect of removing a role from a subject.
    pub fn remove_effect(&self, subject: &str) -> String {
        match self {
            Self::Cluster(name) => t().members.remove_effect_in_cluster(subject, name),
            Self::Project(name) => t().members.remove_effect_in_project(subject, name),
            Self::Everywhere => t().members.remove_effect_everywhere(subject),
        }
    }

    /// Returns the command that lists the members.
    pub fn list_command(&self) -> String {
        format!("drover access list {}", self.option())
    }

    /// Returns the command that grants a role.
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

    /// Returns the command that removes a role.
    pub fn revoke_command(&self, id: &str) -> String {
        format!("drover access revoke {} {}", shell::word(id), self.option())
    }

    fn option(&self) -> String {
        match self {
            Self::Cluster(name) => format!("--cluster={}", shell::word(name)),
            Self::Project(name) => format!("--project={}", shell::word(name)),
            Self::Everywhere => "--global".to_owned(),
        }
    }
}

/// Creates the request that grants a role to the subject in the text field. The subject is a group
/// if the text contains a colon, else a user.
pub fn wish(role: &str, subject: &str) -> MemberCreate {
    let subject = subject.trim().to_owned();
    let is_group = is_group(&subject);
    MemberCreate {
        role: role.to_owned(),
        user: (!is_group).then(|| subject.clone()),
        group: is_group.then_some(subject),
    }
}

/// Reports whether the text can be a user name.
pub fn may_be_user_name(subject: &str) -> bool {
    !subject.is_empty() && !is_group(subject)
}

/// Describes a found user by display name and logins.
pub fn person(person: &PersonView) -> String {
    let detail = distinguishing_name(person.display_name.as_deref(), logins(&person.identities));
    match (detail.as_str(), person.identities.is_empty()) {
        ("", true) => t().members.local_password().to_owned(),
        (_, true) => t().members.with_local_password(&detail),
        (_, false) => detail,
    }
}

/// Describes a member by display name and logins.
pub fn beside(member: &MemberView) -> String {
    match member.group {
        Some(_) => t().members.group_members().to_owned(),
        None => distinguishing_name(member.display_name.as_deref(), logins(&member.identities)),
    }
}

fn logins(identities: &[MemberIdentity]) -> impl Iterator<Item = (&str, &str)> {
    let identities = identities.iter();
    identities.map(|it| (it.provider.as_str(), it.login.as_str()))
}

/// Reports whether the text is a group. Groups contain a colon; user names do not.
fn is_group(subject: &str) -> bool {
    subject.contains(':')
}

/// Returns the user name or the group of a member.
pub fn subject_name(member: &MemberView) -> &str {
    let subject = member.user.as_deref().or(member.group.as_deref());
    subject.unwrap_or_default()
}

/// Returns the display name of a role, or the name if the role is unknown.
pub fn role_title(roles: &[GrantableRole], name: &str) -> String {
    let found = roles.iter().find(|role| role.name == name);
    found.map_or_else(|| name.to_owned(), |role| role.title.clone())
}

/// Reports whether the user can remove a role from members. For a deleted role, the server decides.
pub fn may_remove(roles: &[GrantableRole], name: &str) -> bool {
    let found = roles.iter().find(|role| role.name == name);
    found.is_none_or(|role| role.may_remove)
}

/// Reports whether the shown texts of a member contain all entered words.
pub fn passes(member: &MemberView, role_title: &str, typed: &str) -> bool {
    let status = Readiness::of(&member.conditions).words;
    let shown = [
        subject_name(member),
        &beside(member),
        &member.role,
        role_title,
        &status,
    ];
    has_words(shown, typed)
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::RoleContext;

    use super::*;

    fn role(name: &str, may_grant: bool) -> GrantableRole {
        let rights = RoleRights {
            may_give: Some(may_grant),
            ..RoleRights::default()
        };
        GrantableRole::from(RoleView {
            name: name.to_owned(),
            display_name: Some("Cluster Owner".to_owned()),
            description: None,
            context: RoleContext::Cluster,
            built_in: true,
            locked: false,
            bound: None,
            rights,
        })
    }

    fn berlin() -> Scope {
        Scope::Cluster("berlin".to_owned())
    }

    #[test]
    fn subject_with_a_group_prefix_is_a_group() {
        let person = wish("cluster-viewer", " ann ");
        assert_eq!((person.user.as_deref(), person.group), (Some("ann"), None));
        let group = wish("cluster-viewer", "drover:corp:developers");
        assert_eq!(group.group.as_deref(), Some("drover:corp:developers"));
        assert_eq!(group.user, None);
    }

    #[test]
    fn member_page_shows_equivalent_cli_commands() {
        assert_eq!(
            berlin().grant_command(&wish("cluster-viewer", "ann")),
            "drover access grant cluster-viewer --cluster=berlin --user=ann"
        );
        let shop = Scope::Project("shop".to_owned());
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
    fn remove_button_requires_permission_except_for_members_of_deleted_roles() {
        let roles = [role("cluster-owner", true)];
        assert!(roles[0].may_grant && !may_remove(&roles, "cluster-owner"));
        assert!(may_remove(&roles, "gone"));
    }

    #[test]
    fn each_member_scope_has_its_own_rest_paths_and_command() {
        assert_eq!(berlin().roles(), "/v1/roles?cluster=berlin");
        assert_eq!(Scope::Everywhere.member("m-1"), "/v1/global-members/m-1");
        assert_eq!(
            Scope::Everywhere.grant_command(&wish("viewer", "ann")),
            "drover access grant viewer --global --user=ann"
        );
        assert_eq!(
            Scope::Everywhere.role_screen("viewer"),
            "/global-roles/viewer"
        );
        assert_eq!(berlin().grant_title(), "Grant role in cluster berlin");
    }

    #[test]
    fn user_search_url_contains_the_entered_name_and_the_project() {
        let shop = Scope::Project("shop".to_owned());
        assert_eq!(
            shop.people("ann&co"),
            "/v1/access/people?name=ann%26co&project=shop"
        );
        let everywhere = Scope::Everywhere.people("ann");
        assert_eq!(everywhere, "/v1/access/people?name=ann");
        for (typed, expected) in [("ann", true), ("", false), ("drover:corp:7", false)] {
            assert_eq!(may_be_user_name(typed), expected, "{typed}");
        }
        let ann = |identities: Vec<MemberIdentity>| PersonView {
            name: "ann".to_owned(),
            display_name: None,
            identities,
        };
        let login = MemberIdentity {
            provider: "corp".to_owned(),
            login: "ann.lee".to_owned(),
        };
        assert_eq!(person(&ann(vec![login])), "corp: ann.lee");
        assert_eq!(person(&ann(Vec::new())), "local password");
    }

    #[test]
    fn member_filter_matches_displayed_values() {
        let member = MemberView {
            id: "m-1".to_owned(),
            role: "cluster-owner".to_owned(),
            user: Some("ann".to_owned()),
            display_name: Some("Ann Lee".to_owned()),
            identities: vec![MemberIdentity {
                provider: "corp".to_owned(),
                login: "ann@corp.example".to_owned(),
            }],
            group: None,
            created_at: jiff::Timestamp::UNIX_EPOCH,
            conditions: Vec::new(),
        };
        let title = role_title(&[role("cluster-owner", true)], "cluster-owner");
        assert_eq!(title, "Cluster Owner");
        for (typed, expected) in [
            ("", true),
            ("lee OWNER", true),
            ("pending", true),
            ("corp.EXAMPLE", true),
            ("bob", false),
        ] {
            assert_eq!(passes(&member, &title, typed), expected, "{typed}");
        }
        assert_eq!(role_title(&[], "gone"), "gone");
    }
}
