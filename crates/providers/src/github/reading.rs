//! Reading who the person is whose token it is, and which organizations and teams they are in.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use jiff::Timestamp;
use reqwest::header::LINK;
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use url::Url;

use super::client::{Answer, Client, Got};
use super::link;
use super::people::{
    MOST_GROUPS, Membership, Team, User, UserProfile, active, organization, person,
};
use super::verdict::{RequestedAs, TemporaryFailure};
use crate::ProviderError;
use crate::error::Refusal;

/// Pages, and teams above teams, that are read for one person.
const MOST_REQUESTS: u32 = 100;

/// Reads all of it: `GET /user`, the memberships of organizations, the teams, and the teams above
/// those, whose members they are as well.
pub(super) async fn read(
    client: &Client,
    token: &SecretString,
    now: Timestamp,
) -> Result<UserProfile, ProviderError> {
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
        .list("user/memberships/orgs", "state=active&per_page=100")
        .await?;
    let mut organizations = active(memberships);
    let teams: Vec<Team> = reading.list("user/teams", "per_page=50").await?;
    organizations.retain(|id, _| !reading.withheld.contains(&organization(*id)));
    let teams = reading.with_those_above(teams, &organizations).await?;
    person(user, &organizations, &teams)
        .map(|person| UserProfile {
            person,
            withheld: reading.withheld.into_iter().collect(),
        })
        .map_err(|problem| client.invalid_response(problem))
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

    fn too_many(&self, limit: &str) -> ProviderError {
        self.client.invalid_response(format!(
            "the person is in more organizations and teams than Drover takes in ({limit}); let \
             them leave some"
        ))
    }

    async fn user(&mut self) -> Result<User, ProviderError> {
        let what = "read who the person is";
        match self.get(what, self.client.endpoints.rest("user")).await? {
            Got::Answer(answer) => self.client.parse(&answer),
            // An enterprise's list of addresses can hold for everything that its people do.
            Got::Withheld => Err(self.client.unavailable(
                what,
                TemporaryFailure {
                    status: 403,
                    until: None,
                    requested_as: RequestedAs::Person,
                },
            )),
            Got::Absent => Err(self.client.invalid_response(
                "it answered 404 to who the person is; is github.url the address of a GitHub?",
            )),
        }
    }

    /// All pages of a list.
    async fn list<T: DeserializeOwned>(
        &mut self,
        path: &str,
        query: &str,
    ) -> Result<Vec<T>, ProviderError> {
        let mut items = Vec::new();
        let mut first = self.client.endpoints.rest(path);
        first.set_query(Some(query));
        let mut next = Some(first);
        while let Some(url) = next {
            let what = "read which organizations and teams the person is in";
            let answer = match self.get(what, url).await? {
                Got::Answer(answer) => answer,
                Got::Withheld => break,
                // Not an empty list, for which access would end.
                Got::Absent => {
                    return Err(self.client.invalid_response(
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
            .map_err(|error| self.client.invalid_response(error.to_string()))
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
            let path = format!("organizations/{organization}/team/{}", team.id);
            let url = self.client.endpoints.rest(&path);
            // What the person may not see of it, they are not in.
            if let Got::Answer(answer) = self.get("read a team that is above another", url).await? {
                let answer: Team = self.client.parse(&answer)?;
                if answer.itself.id != team.id {
                    let problem = "asked for one team, it answered another";
                    return Err(self.client.invalid_response(problem));
                }
                above.extend(answer.parent.map(|parent| (organization, name, parent)));
            }
        }
        Ok(found)
    }
}
