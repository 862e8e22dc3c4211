//! Texts for users.

use drover_api::kinds::IdentityState;
use drover_api::rest::{HeldRole, MAX_CONFIRMATION_AGE, UserView};
use jiff::Timestamp;

use crate::messages::t;
use crate::search::has_words;

/// The minimum number of characters of a password. The server also checks the length.
pub const MIN_PASSWORD: usize = 12;

/// The state of a user account, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccountState {
    /// The user cannot sign in.
    Disabled,
    /// The user must change the password at the next sign-in.
    MustChange,
    /// The user can sign in.
    Enabled,
}

impl AccountState {
    /// All states, worst first.
    pub const ALL: [Self; 3] = [Self::Disabled, Self::MustChange, Self::Enabled];

    /// Returns the account state of a user.
    pub const fn of(user: &UserView) -> Self {
        match (user.enabled, user.must_change_password) {
            (false, _) => Self::Disabled,
            (true, true) => Self::MustChange,
            (true, false) => Self::Enabled,
        }
    }

    /// Returns the text for the account state.
    pub fn words(self) -> &'static str {
        match self {
            Self::Disabled => t().users.disabled(),
            Self::MustChange => t().users.must_change_password(),
            Self::Enabled => t().users.enabled(),
        }
    }

    /// Returns the key of the account state in URLs.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::MustChange => "must-change",
            Self::Enabled => "enabled",
        }
    }
}

/// Returns the text for the most recent state of an identity.
pub fn state_words(state: IdentityState) -> &'static str {
    match state {
        IdentityState::Confirmed => t().users.confirmed(),
        IdentityState::Refused => t().users.refused(),
        IdentityState::Unreachable => t().users.unreachable(),
    }
}

/// A group of a user, as reported by an identity provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserGroup {
    /// The subject of bindings: `drover:<provider>:<id>`.
    pub name: String,
    /// The name of the group at the provider.
    pub display_name: String,
    /// The most recent state of the identity with the group.
    pub state: IdentityState,
}

/// Returns the groups of a user, ordered by provider.
pub fn groups(user: &UserView) -> Vec<UserGroup> {
    let identities = user.identities.iter();
    let groups = identities.flat_map(|identity| {
        identity.groups.iter().map(|group| UserGroup {
            name: group.name.clone(),
            display_name: group.display_name.clone(),
            state: identity.state,
        })
    });
    groups.collect()
}

/// Formats a role of a user with its scope.
pub fn held(role: &HeldRole) -> String {
    match (&role.cluster, &role.project) {
        (Some(cluster), _) => t().users.role_in_cluster(&role.role, cluster),
        (None, Some(project)) => t().users.role_in_project(&role.role, project),
        (None, None) => t().users.role_everywhere(&role.role),
    }
}

/// Returns the names of the providers for which the identity of the user `from` can move to the
/// user `to`.
pub fn movable(from: &UserView, to: &UserView, now: Timestamp) -> Vec<String> {
    let identities = from.identities.iter().filter(|one| {
        one.state == IdentityState::Confirmed
            && now.duration_since(one.confirmed_at) <= MAX_CONFIRMATION_AGE
            && to.identities.iter().all(|other| other.id != one.id)
    });
    identities.map(|one| one.provider.clone()).collect()
}

/// Returns the sign-in methods: the providers, or the local password.
pub fn signs_in_with(user: &UserView) -> String {
    let providers = user.identities.iter().map(|it| it.provider.as_str());
    let providers: Vec<_> = providers.collect();
    match (providers.is_empty(), user.enabled) {
        (true, true) => t().users.password().to_owned(),
        (true, false) => t().users.no_credential().to_owned(),
        (false, _) => providers.join(", "),
    }
}

/// Formats the display name and the provider logins, to distinguish users with equal names. The
/// result can be empty.
pub fn distinguishing_name<'a>(
    display_name: Option<&str>,
    identities: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> String {
    let identities = identities.into_iter();
    let known = identities.map(|(provider, login)| format!("{provider}: {login}"));
    let shown = display_name.map(str::to_owned).into_iter();
    shown.chain(known).collect::<Vec<_>>().join(", ")
}

/// Reports whether the shown texts of a user contain all entered words.
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

/// Returns the error of an entered password. Returns `None` for an empty or valid password.
pub fn input_error(password: &str) -> Option<String> {
    let letters = password.chars().count();
    (letters > 0 && letters < MIN_PASSWORD).then(|| t().forms.too_short(MIN_PASSWORD))
}

/// Reports whether the user is the last enabled administrator.
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
    fn users_are_filtered_by_login_and_provider_and_their_groups_are_listed() {
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
    fn users_with_the_same_display_name_show_provider_and_login() {
        let ann = Some("Ann Lee");
        for (name, identities, expected) in [
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
            assert_eq!(distinguishing_name(name, identities), expected);
        }
    }

    #[test]
    fn identity_link_requires_recent_confirmation_and_no_identity_of_the_same_provider() {
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
    fn role_of_a_user_is_displayed_with_its_scope() {
        let role = |cluster: Option<&str>, project: Option<&str>| HeldRole {
            role: "viewer".to_owned(),
            cluster: cluster.map(str::to_owned),
            project: project.map(str::to_owned),
        };
        for (role, expected) in [
            (role(Some("berlin"), None), "viewer in cluster berlin"),
            (role(None, Some("shop")), "viewer in project shop"),
            (role(None, None), "viewer in all clusters"),
        ] {
            assert_eq!(held(&role), expected);
        }
    }

    #[test]
    fn user_filter_matches_displayed_values() {
        let ann = user("ann", true, true);
        for (typed, expected) in [
            ("", true),
            ("LEE", true),
            ("admin", true),
            ("enabled ann", true),
            ("disabled", false),
            ("bob", false),
        ] {
            assert_eq!(passes(&ann, typed), expected, "{typed}");
        }
    }

    #[test]
    fn last_enabled_administrator_is_detected() {
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
    fn too_short_password_shows_an_error_and_empty_input_does_not() {
        assert_eq!(input_error(""), None);
        assert!(input_error("elf letters").is_some());
        assert_eq!(input_error("twelve chars"), None);
    }
}
