//! Users in words.

use drover_api::kinds::IdentityState;
use drover_api::rest::{HeldRole, LINKED_WITHIN, UserView};
use jiff::Timestamp;

use crate::messages::t;
use crate::search::has_words;

/// The fewest letters of a password; the server has the last word.
pub const SHORTEST_PASSWORD: usize = 12;

/// The state of an account, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccountState {
    /// Sign-ins are blocked.
    Disabled,
    /// The password must be changed first.
    MustChange,
    /// Enabled.
    Enabled,
}

impl AccountState {
    /// All of them, worst first.
    pub const ALL: [Self; 3] = [Self::Disabled, Self::MustChange, Self::Enabled];

    /// The state of a user.
    pub const fn of(user: &UserView) -> Self {
        match (user.enabled, user.must_change_password) {
            (false, _) => Self::Disabled,
            (true, true) => Self::MustChange,
            (true, false) => Self::Enabled,
        }
    }

    /// The same in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Disabled => t().users.disabled(),
            Self::MustChange => t().users.must_change_password(),
            Self::Enabled => t().users.enabled(),
        }
    }

    /// A short key for URLs.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::MustChange => "must-change",
            Self::Enabled => "enabled",
        }
    }
}

/// The last state of an identity in a word.
pub fn state_words(state: IdentityState) -> &'static str {
    match state {
        IdentityState::Confirmed => t().users.confirmed(),
        IdentityState::Refused => t().users.refused(),
        IdentityState::Unreachable => t().users.unreachable(),
    }
}

/// A group of a user, as reported by a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupOf {
    /// `drover:<provider>:<id>`: the subject of bindings.
    pub name: String,
    /// The name at the provider.
    pub display_name: String,
    /// The last state of the identity.
    pub state: IdentityState,
}

/// The groups of a user by provider.
pub fn groups(user: &UserView) -> Vec<GroupOf> {
    let identities = user.identities.iter();
    let groups = identities.flat_map(|identity| {
        identity.groups.iter().map(|group| GroupOf {
            name: group.name.clone(),
            display_name: group.display_name.clone(),
            state: identity.state,
        })
    });
    groups.collect()
}

/// A role of a user with its scope.
pub fn held(role: &HeldRole) -> String {
    match (&role.cluster, &role.project) {
        (Some(cluster), _) => t().users.role_in_cluster(&role.role, cluster),
        (None, Some(project)) => t().users.role_in_project(&role.role, project),
        (None, None) => t().users.role_everywhere(&role.role),
    }
}

/// The providers whose identity can move between two users.
pub fn movable(from: &UserView, to: &UserView, now: Timestamp) -> Vec<String> {
    let identities = from.identities.iter().filter(|one| {
        one.state == IdentityState::Confirmed
            && now.duration_since(one.confirmed_at) <= LINKED_WITHIN
            && to.identities.iter().all(|other| other.id != one.id)
    });
    identities.map(|one| one.provider.clone()).collect()
}

/// The sign-in methods: providers, or a local password.
pub fn signs_in_with(user: &UserView) -> String {
    let providers = user.identities.iter().map(|it| it.provider.as_str());
    let providers: Vec<_> = providers.collect();
    match (providers.is_empty(), user.enabled) {
        (true, true) => t().users.password().to_owned(),
        (true, false) => t().users.no_credential().to_owned(),
        (false, _) => providers.join(", "),
    }
}

/// Display name and provider logins, which distinguish users; may be empty.
pub fn told_apart<'a>(
    display_name: Option<&str>,
    identities: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> String {
    let identities = identities.into_iter();
    let known = identities.map(|(provider, login)| format!("{provider}: {login}"));
    let shown = display_name.map(str::to_owned).into_iter();
    shown.chain(known).collect::<Vec<_>>().join(", ")
}

/// Whether the shown texts of a user contain all typed words.
pub fn passes(user: &UserView, typed: &str) -> bool {
    let rights = if user.administrator {
        t().users.administrator()
    } else {
        ""
    };
    let shown = [
        user.name.as_str(),
        user.display_name.as_deref().unwrap_or_default(),
        AccountState::of(user).words(),
        rights,
        &signs_in_with(user),
    ];
    let logins = user.identities.iter().map(|it| it.login.as_str());
    has_words(shown.into_iter().chain(logins), typed)
}

/// The error of a typed password; none while it is empty.
pub fn complaint(password: &str) -> Option<String> {
    let letters = password.chars().count();
    (letters > 0 && letters < SHORTEST_PASSWORD).then(|| t().forms.too_short(SHORTEST_PASSWORD))
}

/// Whether the user is the last enabled administrator.
pub fn is_last_administrator(users: &[UserView], name: &str) -> bool {
    let can = |user: &&UserView| user.administrator && user.enabled;
    let mut others = users.iter().filter(can).map(|user| user.name.as_str());
    others.clone().any(|other| other == name) && others.all(|other| other == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str, administrator: bool, enabled: bool) -> UserView {
        UserView {
            name: name.to_owned(),
            uid: name.to_owned(),
            display_name: Some("Ann Lee".to_owned()),
            enabled,
            administrator,
            must_change_password: false,
            created_at: Timestamp::UNIX_EPOCH,
            last_login_at: None,
            identities: Vec::new(),
            rights: drover_api::rest::UserRights::default(),
        }
    }

    #[test]
    fn whoever_comes_by_a_provider_is_found_by_it_and_has_its_groups() {
        let identity = serde_json::json!({
            "id": "p-1",
            "provider": "corp",
            "login": "ann.lee@corp.example",
            "groups": [{ "name": "drover:corp:7", "displayName": "Platform" }],
            "confirmedAt": "2026-11-22T10:00:00Z",
            "state": "Refused",
        });
        let identity = serde_json::from_value(identity).unwrap();
        let ann = UserView {
            identities: vec![identity],
            ..user("ann", false, true)
        };
        assert!(passes(&ann, "corp.example") && passes(&ann, "ann CORP"));
        assert!(!passes(&ann, "password"));
        assert!(passes(&user("bob", false, true), "password"));
        assert_eq!(signs_in_with(&user("eve", false, false)), "not set");
        let groups = groups(&ann);
        assert_eq!(groups[0].name, "drover:corp:7");
        assert_eq!(state_words(groups[0].state), "refused");
    }

    #[test]
    fn two_of_one_display_name_are_told_apart_by_provider_and_login() {
        let ann = Some("Ann Lee");
        for (name, identities, wanted) in [
            (ann, vec![("corp", "ann.lee")], "Ann Lee, corp: ann.lee"),
            (ann, vec![("github", "lee")], "Ann Lee, github: lee"),
            (
                None,
                vec![("corp", "ann"), ("github", "lee")],
                "corp: ann, github: lee",
            ),
            (ann, vec![], "Ann Lee"),
            (None, vec![], ""),
        ] {
            assert_eq!(told_apart(name, identities), wanted);
        }
    }

    #[test]
    fn only_what_a_provider_confirmed_of_late_moves_to_who_has_none_of_it() {
        let with = |name: &str, state: &str| UserView {
            identities: vec![
                serde_json::from_value(serde_json::json!({
                    "id": "p-1",
                    "provider": "corp",
                    "login": name,
                    "confirmedAt": "2026-11-22T10:00:00Z",
                    "state": state,
                }))
                .unwrap(),
            ],
            ..user(name, false, true)
        };
        let (ann, bob) = (with("ann", "Confirmed"), user("bob", false, true));
        let at = |time: &str| time.parse::<Timestamp>().unwrap();
        let soon = at("2026-11-22T12:00:00Z");
        assert_eq!(movable(&ann, &bob, soon), ["corp"]);
        for (from, to, now) in [
            (&ann, &bob, at("2026-11-24T10:00:00Z")),
            (&with("ann", "Refused"), &bob, soon),
            (&ann, &with("bob", "Confirmed"), soon),
        ] {
            assert!(movable(from, to, now).is_empty());
        }
    }

    #[test]
    fn a_role_says_where_it_was_given() {
        let role = |cluster: Option<&str>, project: Option<&str>| HeldRole {
            role: "viewer".to_owned(),
            cluster: cluster.map(str::to_owned),
            project: project.map(str::to_owned),
        };
        for (role, wanted) in [
            (role(Some("berlin"), None), "viewer in cluster berlin"),
            (role(None, Some("shop")), "viewer in project shop"),
            (role(None, None), "viewer in all clusters"),
        ] {
            assert_eq!(held(&role), wanted);
        }
    }

    #[test]
    fn users_are_found_by_what_is_shown_of_them() {
        let ann = user("ann", true, true);
        for (typed, wanted) in [
            ("", true),
            ("LEE", true),
            ("admin", true),
            ("enabled ann", true),
            ("disabled", false),
            ("bob", false),
        ] {
            assert_eq!(passes(&ann, typed), wanted, "{typed}");
        }
    }

    #[test]
    fn the_last_administrator_is_known() {
        let users = [
            user("ann", true, true),
            user("bob", true, false),
            user("eve", false, true),
        ];
        assert!(is_last_administrator(&users, "ann"));
        assert!(!is_last_administrator(&users, "bob"), "he cannot already");
        assert!(!is_last_administrator(&users, "eve"));
        let two = [user("ann", true, true), user("bob", true, true)];
        assert!(!is_last_administrator(&two, "ann"));
    }

    #[test]
    fn a_short_password_is_complained_of_once_it_is_begun() {
        assert_eq!(complaint(""), None);
        assert!(complaint("elf letters").is_some());
        assert_eq!(complaint("twelve chars"), None);
    }
}
