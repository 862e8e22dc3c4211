//! What the REST API says of people, and who that makes them.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use serde::Deserialize;

use crate::person::is_plain;
use crate::{Group, Person};

/// Organizations and teams of one person.
pub(super) const MOST_GROUPS: usize = 1000;
/// Characters of a name that is shown; GitHub's own limits are lower.
const MOST_NAME_CHARS: usize = 255;

/// What GitHub says of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserProfile {
    /// Who they are. The id is GitHub's number; groups are `org:<number>`, called like `acme`, and
    /// `team:<number>`, called like `acme/platform`.
    pub person: Person,
    /// Organizations (`org:<number>`) that keep back whether the person is in them until the person
    /// has signed in to them; they and their teams are not among the groups. Sorted.
    pub withheld: Vec<String>,
}

/// `GET /user`.
#[derive(Deserialize)]
pub(super) struct User {
    pub(super) id: NonZeroU64,
    pub(super) login: String,
    pub(super) name: Option<String>,
    pub(super) email: Option<String>,
    /// Enterprise Servers say so before they refuse.
    pub(super) suspended_at: Option<String>,
}

/// One of `GET /user/memberships/orgs`.
#[derive(Deserialize)]
pub(super) struct Membership {
    pub(super) state: String,
    pub(super) organization: Organization,
}

#[derive(Clone, Deserialize)]
pub(super) struct Organization {
    pub(super) id: NonZeroU64,
    pub(super) login: String,
}

/// One of `GET /user/teams`, or `GET /organizations/{id}/team/{id}`.
#[derive(Deserialize)]
pub(super) struct Team {
    #[serde(flatten)]
    pub(super) itself: TeamName,
    /// None if it is an enterprise's.
    pub(super) organization: Option<Organization>,
    /// One level only; it does not say what is above that.
    pub(super) parent: Option<TeamName>,
}

#[derive(Clone, Deserialize)]
pub(super) struct TeamName {
    pub(super) id: NonZeroU64,
    pub(super) slug: String,
}

/// The id of an organization as a group.
pub(super) fn organization(id: NonZeroU64) -> String {
    format!("org:{id}")
}

/// Names of the organizations that the person is a member of, by number. The state was asked for, but
/// whoever is only invited is no member, even if they are listed.
pub(super) fn active(memberships: Vec<Membership>) -> BTreeMap<NonZeroU64, String> {
    memberships
        .into_iter()
        .filter(|membership| membership.state == "active")
        .map(|membership| (membership.organization.id, membership.organization.login))
        .collect()
}

/// Puts a person together, or says what is not to be believed.
pub(super) fn person(
    user: User,
    organizations: &BTreeMap<NonZeroU64, String>,
    teams: &BTreeMap<NonZeroU64, String>,
) -> Result<Person, &'static str> {
    let organizations = organizations
        .iter()
        .map(|(id, name)| (organization(*id), name));
    let teams = teams.iter().map(|(id, name)| (format!("team:{id}"), name));
    let mut groups: Vec<Group> = organizations
        .chain(teams)
        .map(|(id, name)| Group {
            id,
            name: name.clone(),
        })
        .collect();
    groups.sort();
    if groups.len() > MOST_GROUPS {
        return Err(
            "the person is in more than 1,000 organizations and teams; let them leave some",
        );
    }
    if !is_name(&user.login) || !groups.iter().all(|group| is_name(&group.name)) {
        return Err("a login, or the name of an organization or a team, is no name");
    }
    Ok(Person {
        id: user.id.to_string(),
        login: user.login,
        // People write these as they like.
        display_name: user.name.filter(|name| is_name(name)),
        email: user.email.filter(|email| is_name(email)),
        groups,
    })
}

/// Whether it is a name: not empty, not long, and one that can be shown.
fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= MOST_NAME_CHARS && is_plain(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(json: serde_json::Value) -> Result<Person, String> {
        let user = serde_json::from_value(json).map_err(|error| error.to_string())?;
        person(user, &BTreeMap::new(), &BTreeMap::new()).map_err(str::to_owned)
    }

    #[test]
    fn a_person_is_their_number() {
        let person = user(serde_json::json!({
            "id": 583_231, "login": "octocat", "node_id": "MDQ6", "name": null, "email": null,
        }));
        let person = person.unwrap();
        assert_eq!(person.id, "583231");
        assert_eq!((person.display_name, person.email), (None, None));
    }

    #[test]
    fn what_is_no_number_is_nobody() {
        for id in [
            serde_json::json!(0),
            serde_json::json!(-1),
            serde_json::json!("1"),
            serde_json::json!(1.5),
            serde_json::json!(null),
        ] {
            let person = user(serde_json::json!({ "id": id, "login": "octocat" }));
            assert!(person.is_err(), "{person:?}");
        }
    }

    #[test]
    fn names_are_shown_only_if_they_change_nothing_beside_them() {
        let long = "a".repeat(MOST_NAME_CHARS + 1);
        for (name, plain) in [
            ("octocat", true),
            ("Zoë Ünal 山田", true),
            ("", false),
            (" ", false),
            ("a\nb", false),
            ("a\u{1b}[2J", false),
            ("\u{202e}nimda", false),
            ("ad\u{200b}min", false),
            (&long, false),
        ] {
            let json = serde_json::json!({ "id": 1, "login": "l", "name": name, "email": name });
            let person = user(json).unwrap();
            let shown = plain.then(|| name.to_owned());
            assert_eq!((person.display_name, person.email), (shown.clone(), shown));
            let person = user(serde_json::json!({ "id": 1, "login": name }));
            assert_eq!(person.is_ok(), plain, "{name:?}");
        }
    }

    #[test]
    fn an_invitation_is_no_membership() {
        let memberships = ["active", "pending", "", "Active"].iter().zip(1..);
        let memberships = memberships.map(|(state, id)| Membership {
            state: (*state).to_owned(),
            organization: Organization {
                id: NonZeroU64::new(id).unwrap(),
                login: format!("org{id}"),
            },
        });
        let found = active(memberships.collect());
        assert_eq!(found.into_values().collect::<Vec<_>>(), ["org1"]);
    }

    #[test]
    fn groups_are_sorted_and_an_organization_is_no_team() {
        let number = |id| NonZeroU64::new(id).unwrap();
        let named = |of: &[(u64, &str)]| {
            of.iter()
                .map(|(id, name)| (number(*id), (*name).to_owned()))
                .collect()
        };
        let user = User {
            id: number(1),
            login: "octocat".to_owned(),
            name: None,
            email: None,
            suspended_at: None,
        };
        let organizations = named(&[(10, "acme"), (9, "zoo")]);
        let teams = named(&[(10, "acme/platform"), (2, "zoo/acme")]);
        let groups = person(user, &organizations, &teams).unwrap().groups;
        let found: Vec<_> = groups.iter().map(|it| (&*it.id, &*it.name)).collect();
        let expected = [
            ("org:10", "acme"),
            ("org:9", "zoo"),
            ("team:10", "acme/platform"),
            ("team:2", "zoo/acme"),
        ];
        assert_eq!(found, expected);
    }
}
