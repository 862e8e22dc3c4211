//! Who the person is whose token it is, and which organizations and teams they are in.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use jiff::Timestamp;
use reqwest::header::LINK;
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::client::{Answer, Client, Got};
use super::link;
use super::verdict::NotNow;
use crate::error::Refusal;
use crate::{Group, Person, ProviderError};

/// Pages, and teams above teams, that are read for one person.
const MOST_REQUESTS: u32 = 100;
/// Organizations and teams of one person.
const MOST_GROUPS: usize = 1000;
/// Characters of a name that is shown; GitHub's own limits are lower.
const MOST_NAME_CHARS: usize = 255;

/// What GitHub says of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Who they are. The id is GitHub's number; groups are `org:<number>`, called like `acme`, and
    /// `team:<number>`, called like `acme/platform`.
    pub person: Person,
    /// Organizations (`org:<number>`) that keep back whether the person is in them until the person
    /// has signed in to them; they and their teams are not among the groups. Sorted.
    pub withheld: Vec<String>,
}

/// `GET /user`.
#[derive(Deserialize)]
struct User {
    id: NonZeroU64,
    login: String,
    name: Option<String>,
    email: Option<String>,
    /// Enterprise Servers say so before they refuse.
    suspended_at: Option<String>,
}

/// One of `GET /user/memberships/orgs`.
#[derive(Deserialize)]
struct Membership {
    state: String,
    organization: Organization,
}

#[derive(Clone, Deserialize)]
struct Organization {
    id: NonZeroU64,
    login: String,
}

/// One of `GET /user/teams`, or `GET /organizations/{id}/team/{id}`.
#[derive(Deserialize)]
struct Team {
    #[serde(flatten)]
    itself: TeamName,
    /// None if it is an enterprise's.
    organization: Option<Organization>,
    /// One level only; it does not say what is above that.
    parent: Option<TeamName>,
}

#[derive(Clone, Deserialize)]
struct TeamName {
    id: NonZeroU64,
    slug: String,
}

/// Reads all of it: `GET /user`, the memberships of organizations, the teams, and the teams above
/// those, whose members they are as well.
pub(super) async fn read(
    client: &Client,
    token: &SecretString,
    now: Timestamp,
) -> Result<Seen, ProviderError> {
    let mut reading = Reading {
        client,
        token,
        now,
        requests_left: MOST_REQUESTS,
        withheld: BTreeSet::new(),
    };
    let user = reading.user().await?;
    if user.suspended_at.is_some() {
        return Err(ProviderError::Refused(Refusal::Disabled));
    }
    let memberships: Vec<Membership> = reading
        .list("user/memberships/orgs?state=active&per_page=100")
        .await?;
    let mut organizations = active(memberships);
    let teams: Vec<Team> = reading.list("user/teams?per_page=50").await?;
    organizations.retain(|id, _| !reading.withheld.contains(&organization(*id)));
    let teams = reading.with_those_above(teams, &organizations).await?;
    person(user, &organizations, &teams)
        .map(|person| Seen {
            person,
            withheld: reading.withheld.into_iter().collect(),
        })
        .map_err(|problem| client.unbelievable(problem))
}

/// What is read of one person.
struct Reading<'a> {
    client: &'a Client,
    token: &'a SecretString,
    now: Timestamp,
    requests_left: u32,
    withheld: BTreeSet<String>,
}

impl Reading<'_> {
    async fn get(&mut self, what: &str, url: Url) -> Result<Got, ProviderError> {
        self.requests_left = self
            .requests_left
            .checked_sub(1)
            .ok_or_else(|| self.too_many(&format!("{MOST_REQUESTS} pages")))?;
        self.client.get(what, url, self.token, self.now).await
    }

    fn at(&self, path: &str) -> Result<Url, ProviderError> {
        let joined = self.client.endpoints.api.join(path);
        joined.map_err(|error| {
            self.client
                .unbelievable(format!("it has no {path} ({error})"))
        })
    }

    fn too_many(&self, limit: &str) -> ProviderError {
        self.client.unbelievable(format!(
            "the person is in more organizations and teams than Drover takes in ({limit}); let \
             them leave some"
        ))
    }

    async fn user(&mut self) -> Result<User, ProviderError> {
        let what = "read who the person is";
        match self.get(what, self.at("user")?).await? {
            Got::Answer(answer) => self.client.parse(&answer),
            // An enterprise's list of addresses can hold for everything that its people do.
            Got::Withheld => Err(self.client.unavailable(
                what,
                NotNow {
                    status: 403,
                    until: None,
                },
            )),
            Got::Absent => Err(self.client.unbelievable(
                "it answered 404 to who the person is; is github.url the address of a GitHub?",
            )),
        }
    }

    /// All pages of a list.
    async fn list<T: DeserializeOwned>(&mut self, path: &str) -> Result<Vec<T>, ProviderError> {
        let mut items = Vec::new();
        let mut next = Some(self.at(path)?);
        while let Some(url) = next {
            let what = "read which organizations and teams the person is in";
            let answer = match self.get(what, url).await? {
                Got::Answer(answer) => answer,
                Got::Withheld => break,
                // Not an empty list, for which access would end.
                Got::Absent => {
                    return Err(self.client.unbelievable(
                        "it answered 404 to which organizations and teams the person is in",
                    ));
                }
            };
            items.append(&mut self.client.parse::<Vec<T>>(&answer)?);
            if items.len() > MOST_GROUPS {
                return Err(self.too_many(&format!("{MOST_GROUPS} of them")));
            }
            self.note_withheld(&answer);
            next = self.following(&answer)?;
        }
        Ok(items)
    }

    fn following(&self, answer: &Answer) -> Result<Option<Url>, ProviderError> {
        let values = answer.headers.get_all(LINK).iter();
        let values: Result<Vec<_>, _> = values.map(|value| value.to_str()).collect();
        values
            .map_err(|_| link::LinkError::Malformed)
            .and_then(|values| link::next(&values.join(", "), &self.client.endpoints.api))
            .map_err(|error| self.client.unbelievable(error.to_string()))
    }

    fn note_withheld(&mut self, answer: &Answer) {
        let values = answer.headers.get_all("x-github-sso").iter();
        let ids = values.filter_map(|value| value.to_str().ok());
        self.withheld
            .extend(ids.flat_map(link::withheld).map(organization));
    }

    /// The teams of these organizations by number, with their organizations' names, and every team
    /// above them. GitHub takes the members of a team for members of all that are above it, but lists
    /// them only in the lowest, and names one parent of each.
    async fn with_those_above(
        &mut self,
        teams: Vec<Team>,
        organizations: &BTreeMap<NonZeroU64, String>,
    ) -> Result<BTreeMap<NonZeroU64, String>, ProviderError> {
        let mut found = BTreeMap::new();
        let mut above = Vec::new();
        for team in teams {
            let organization = team.organization.map(|organization| organization.id);
            let Some((id, name)) = organization.and_then(|id| organizations.get_key_value(&id))
            else {
                continue;
            };
            found.insert(team.itself.id, format!("{name}/{}", team.itself.slug));
            above.extend(team.parent.map(|parent| (*id, name, parent)));
        }
        while let Some((organization, name, team)) = above.pop() {
            if found.contains_key(&team.id) {
                continue;
            }
            found.insert(team.id, format!("{name}/{}", team.slug));
            if found.len() > MOST_GROUPS {
                return Err(self.too_many(&format!("{MOST_GROUPS} of them")));
            }
            let url = self.at(&format!("organizations/{organization}/team/{}", team.id))?;
            // What the person may not see of it, they are not in.
            if let Got::Answer(answer) = self.get("read a team that is above another", url).await? {
                let answer: Team = self.client.parse(&answer)?;
                if answer.itself.id != team.id {
                    let problem = "asked for one team, it answered another";
                    return Err(self.client.unbelievable(problem));
                }
                above.extend(answer.parent.map(|parent| (organization, name, parent)));
            }
        }
        Ok(found)
    }
}

/// The id of an organization as a group.
fn organization(id: NonZeroU64) -> String {
    format!("org:{id}")
}

/// Names of the organizations that the person is a member of, by number. The state was asked for, but
/// whoever is only invited is no member, even if they are listed.
fn active(memberships: Vec<Membership>) -> BTreeMap<NonZeroU64, String> {
    memberships
        .into_iter()
        .filter(|membership| membership.state == "active")
        .map(|membership| (membership.organization.id, membership.organization.login))
        .collect()
}

/// Puts a person together, or says what is not to be believed.
fn person(
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
    if !is_plain(&user.login) || !groups.iter().all(|group| is_plain(&group.name)) {
        return Err("a login, or the name of an organization or a team, is no name");
    }
    Ok(Person {
        id: user.id.to_string(),
        login: user.login,
        // People write these as they like.
        display_name: user.name.filter(|name| is_plain(name)),
        email: user.email.filter(|email| is_plain(email)),
        groups,
    })
}

/// Whether a name can be shown: not empty, not long, and nothing in it that changes how what stands
/// beside it looks.
fn is_plain(name: &str) -> bool {
    let reorders = |c| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    !name.trim().is_empty()
        && name.chars().count() <= MOST_NAME_CHARS
        && !name.chars().any(|c| c.is_control() || reorders(c))
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
