//! Converts REST API responses to a user and groups.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use serde::Deserialize;

use crate::provider_user::is_plain;
use crate::{Group, ProviderUser};

/// Maximum number of organizations and teams of one user.
pub(super) const MAX_GROUPS: usize = 1000;
/// Maximum length of a displayed name in characters. GitHub's limits are lower.
const MAX_NAME_CHARS: usize = 255;

/// Profile of a user at GitHub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserProfile {
    /// The user. The ID is GitHub's numeric user ID. The groups are organizations and teams:
    /// `org:<number>` with names such as `acme`, and `team:<number>` with names such as
    /// `acme/platform`.
    pub person: ProviderUser,
    /// Organizations (`org:<number>`) that hide the membership until the user signs in with the
    /// organization's single sign-on. The groups do not contain these organizations and their
    /// teams. Sorted.
    pub withheld: Vec<String>,
}

/// Response of `GET /user`.
#[derive(Deserialize)]
pub(super) struct User {
    pub(super) id: NonZeroU64,
    pub(super) login: String,
    pub(super) name: Option<String>,
    pub(super) email: Option<String>,
    /// Time of the user's suspension. Only Enterprise Servers report this time.
    pub(super) suspended_at: Option<String>,
}

/// Item of `GET /user/memberships/orgs`.
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

/// Item of `GET /user/teams`, or response of `GET /organizations/{id}/team/{id}`.
#[derive(Deserialize)]
pub(super) struct Team {
    #[serde(flatten)]
    pub(super) itself: TeamName,
    /// Organization of the team. `None` for a team of an enterprise.
    pub(super) organization: Option<Organization>,
    /// Direct parent team. GitHub omits the parents of the parent team.
    pub(super) parent: Option<TeamName>,
}

#[derive(Clone, Deserialize)]
pub(super) struct TeamName {
    pub(super) id: NonZeroU64,
    pub(super) slug: String,
}

/// Returns the group ID of an organization.
pub(super) fn organization(id: NonZeroU64) -> String {
    format!("org:{id}")
}

/// Returns the organizations in which the user is an active member. The map contains the name of
/// each organization by ID.
///
/// The request already filters the memberships by state. The second check in this function ensures
/// that an invited user is not a member even if GitHub lists the membership.
pub(super) fn active(memberships: Vec<Membership>) -> BTreeMap<NonZeroU64, String> {
    memberships
        .into_iter()
        .filter(|membership| membership.state == "active")
        .map(|membership| (membership.organization.id, membership.organization.login))
        .collect()
}

/// Creates the user. Returns the reason as an error if the response is invalid.
pub(super) fn person(
    user: User,
    organizations: &BTreeMap<NonZeroU64, String>,
    teams: &BTreeMap<NonZeroU64, String>,
) -> Result<ProviderUser, &'static str> {
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
    if groups.len() > MAX_GROUPS {
        return Err(
            "the user is in more than 1,000 organizations and teams; remove the user from some",
        );
    }
    if !is_name(&user.login) || !groups.iter().all(|group| is_name(&group.name)) {
        return Err("a login, organization name or team name is invalid");
    }
    Ok(ProviderUser {
        id: user.id.to_string(),
        login: user.login,
        // Users choose these values freely.
        display_name: user.name.filter(|name| is_name(name)),
        email: user.email.filter(|email| is_name(email)),
        groups,
    })
}

/// Reports whether a name is safe to display, not empty and not too long.
fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= MAX_NAME_CHARS && is_plain(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(json: serde_json::Value) -> Result<ProviderUser, String> {
        let user = serde_json::from_value(json).map_err(|error| error.to_string())?;
        person(user, &BTreeMap::new(), &BTreeMap::new()).map_err(str::to_owned)
    }

    #[test]
    fn user_id_is_the_numeric_github_id() {
        let person = user(serde_json::json!({
            "id": 583_231, "login": "octocat", "node_id": "MDQ6", "name": null, "email": null,
        }));
        let person = person.unwrap();
        assert_eq!(person.id, "583231");
        assert_eq!((person.display_name, person.email), (None, None));
    }

    #[test]
    fn user_without_a_positive_numeric_id_is_rejected() {
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
    fn names_with_control_or_bidirectional_characters_are_not_displayed() {
        let long = "a".repeat(MAX_NAME_CHARS + 1);
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
            let displayed = plain.then(|| name.to_owned());
            assert_eq!(
                (person.display_name, person.email),
                (displayed.clone(), displayed)
            );
            let person = user(serde_json::json!({ "id": 1, "login": name }));
            assert_eq!(person.is_ok(), plain, "{name:?}");
        }
    }

    #[test]
    fn pending_invitation_is_not_a_membership() {
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
    fn groups_are_sorted_and_ids_distinguish_organizations_and_teams() {
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
