//! Who of a provider's people may sign in.

use drover_api::kinds::auth_provider::Allowed;
use thiserror::Error;

use crate::Person;

/// Somebody is who they say, but is not among those who may sign in.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{login} is not among those who may sign in here: an administrator can add the id {id:?} to \
     allowed.users, or the id of one of their groups to allowed.groups"
)]
pub struct NotAllowed {
    /// What they typed to sign in; for people only.
    pub login: String,
    /// What would have to be in the list.
    pub id: String,
}

/// Whether a person may sign in: everybody without a list; with one, whoever is one of its users or in
/// one of its groups, and nobody if it is empty.
///
/// Ids are compared as they are, and names never: a login or a group's name can become another's.
pub fn check(allowed: Option<&Allowed>, person: &Person) -> Result<(), NotAllowed> {
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

    fn alice() -> Person {
        let group = |id: &str, name: &str| Group {
            id: id.to_owned(),
            name: name.to_owned(),
        };
        Person {
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
    fn who_is_listed_by_id_signs_in_and_nobody_else() {
        assert_eq!(check(None, &alice()), Ok(()));
        let table = [
            (listed(&["583231"], &[]), true),
            (listed(&[], &["org:10"]), true),
            (listed(&[], &["team:19", "team:20"]), true),
            (listed(&["1"], &["team:20"]), true),
            (listed(&["583231"], &["org:11"]), true),
            // An empty list allows nobody, since it is there.
            (listed(&[], &[]), false),
            (
                listed(&["1", "58323", "5832310"], &["org:1", "org:100"]),
                false,
            ),
            // What people are called, and where mail reaches them, is nobody's.
            (
                listed(&["alice", "Alice Liddell", "alice@acme.example"], &[]),
                false,
            ),
            (listed(&[], &["acme", "acme/platform"]), false),
            // A user is no group, and a team no organization.
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
    fn who_is_in_no_group_is_in_none_of_the_list() {
        let nobody = Person {
            groups: Vec::new(),
            ..alice()
        };
        let error = check(Some(&listed(&["1"], &["org:10", ""])), &nobody).unwrap_err();
        assert!(error.to_string().contains("\"583231\""), "{error}");
    }
}
