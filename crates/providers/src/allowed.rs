//! Checks whether a user may sign in, according to the list `allowed` of an AuthProvider.

use drover_api::kinds::auth_provider::Allowed;
use thiserror::Error;

use crate::ProviderUser;

/// The user is authenticated but not in the list of allowed users and groups.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "user {login} is not allowed to sign in: an administrator can add the ID {id:?} to \
     allowed.users, or the ID of a group of this user to allowed.groups"
)]
pub struct NotAllowed {
    /// Login name at the provider, for display only.
    pub login: String,
    /// The user ID to add to `allowed.users`.
    pub id: String,
}

/// Checks whether a user may sign in.
///
/// Without a list, every user may sign in. With a list, only the listed users and the members of
/// the listed groups may sign in. An empty list allows no user. The check compares only IDs, byte
/// for byte, because users and groups can change their names.
pub fn check(allowed: Option<&Allowed>, person: &ProviderUser) -> Result<(), NotAllowed> {
    let Some(Allowed { users, groups }) = allowed else {
        return Ok(());
    };
    let is_listed =
        users.contains(&person.id) || person.groups.iter().any(|group| groups.contains(&group.id));
    if is_listed {
        return Ok(());
    }
    Err(NotAllowed {
        login: person.login.clone(),
        id: person.id.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Group;

    fn alice() -> ProviderUser {
        let group = |id: &str, name: &str| Group {
            id: id.to_owned(),
            name: name.to_owned(),
        };
        ProviderUser {
            id: "583231".to_owned(),
            login: "alice".to_owned(),
            display_name: Some("Alice Liddell".to_owned()),
            email: Some("alice@acme.example".to_owned()),
            groups: vec![group("org:10", "acme"), group("team:20", "acme/platform")],
        }
    }

    fn listed(users: &[&str], groups: &[&str]) -> Allowed {
        let owned = |list: &[&str]| list.iter().map(|id| (*id).to_owned()).collect();
        Allowed {
            users: owned(users),
            groups: owned(groups),
        }
    }

    #[test]
    fn only_users_listed_by_id_are_allowed_to_sign_in() {
        assert_eq!(check(None, &alice()), Ok(()));
        let table = [
            (listed(&["583231"], &[]), true),
            (listed(&[], &["org:10"]), true),
            (listed(&[], &["team:19", "team:20"]), true),
            (listed(&["1"], &["team:20"]), true),
            (listed(&["583231"], &["org:11"]), true),
            // An empty list allows no user.
            (listed(&[], &[]), false),
            (
                listed(&["1", "58323", "5832310"], &["org:1", "org:100"]),
                false,
            ),
            // Login names, display names and email addresses do not match.
            (
                listed(&["alice", "Alice Liddell", "alice@acme.example"], &[]),
                false,
            ),
            (listed(&[], &["acme", "acme/platform"]), false),
            // User IDs do not match in `groups`, and team IDs do not match organizations.
            (listed(&["org:10", "team:20"], &["583231"]), false),
            (listed(&[], &["team:10", "org:20"]), false),
            (listed(&[""], &[""]), false),
            (listed(&[" 583231"], &["ORG:10"]), false),
        ];
        for (allowed, expected) in table {
            let found = check(Some(&allowed), &alice());
            assert_eq!(found.is_ok(), expected, "{allowed:?}");
        }
    }

    #[test]
    fn user_without_groups_is_not_allowed_by_a_list_of_groups() {
        let groupless = ProviderUser {
            groups: Vec::new(),
            ..alice()
        };
        let error = check(Some(&listed(&["1"], &["org:10", ""])), &groupless).unwrap_err();
        assert!(error.to_string().contains("\"583231\""), "{error}");
    }
}
