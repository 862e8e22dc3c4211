//! Requests a user's profile, organizations and teams.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use jiff::Timestamp;
use reqwest::header::LINK;
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use url::Url;

use super::classification::{RequestedAs, TemporaryFailure};
use super::client::{Client, GithubResponse, ReadResult};
use super::link;
use super::people::{
    MAX_GROUPS, Membership, Team, User, UserProfile, active, organization, person,
};
use crate::ProviderError;
use crate::error::Refusal;

/// Maximum number of requests per user, for pages and parent teams.
const MAX_REQUESTS: u32 = 100;

/// Reads `GET /user`, the organization memberships, the teams, and the parent teams. A member of a
/// team is also a member of its parent teams.
pub(super) async fn read(
    client: &Client,
    token: &SecretString,
    now: Timestamp,
) -> Result<UserProfile, ProviderError> {
    let mut reader = ProfileReader {
        client,
        token,
        now,
        requests_left: MAX_REQUESTS,
        withheld: BTreeSet::new(),
    };
    let user = reader.user().await?;
    if user.suspended_at.is_some() {
        return Err(ProviderError::Refused(Refusal::Disabled));
    }
    let memberships: Vec<Membership> = reader
        .list("user/memberships/orgs", "state=active&per_page=100")
        .await?;
    let mut organizations = active(memberships);
    let teams: Vec<Team> = reader.list("user/teams", "per_page=50").await?;
    organizations.retain(|id, _| !reader.withheld.contains(&organization(*id)));
    let teams = reader.with_parent_teams(teams, &organizations).await?;
    person(user, &organizations, &teams)
        .map(|person| UserProfile {
            person,
            withheld: reader.withheld.into_iter().collect(),
        })
        .map_err(|problem| client.invalid_response(problem))
}

/// State while Drover reads the data of a user.
struct ProfileReader<'a> {
    client: &'a Client,
    token: &'a SecretString,
    now: Timestamp,
    requests_left: u32,
    withheld: BTreeSet<String>,
}

impl ProfileReader<'_> {
    async fn get(&mut self, action: &str, url: Url) -> Result<ReadResult, ProviderError> {
        self.requests_left = self
            .requests_left
            .checked_sub(1)
            .ok_or_else(|| self.too_many(&format!("{MAX_REQUESTS} pages")))?;
        self.client.get(action, url, self.token, self.now).await
    }

    fn too_many(&self, limit: &str) -> ProviderError {
        self.client.invalid_response(format!(
            "the user is in more organizations and teams than the limit of Drover ({limit}); remove \
             the user from some"
        ))
    }

    async fn user(&mut self) -> Result<User, ProviderError> {
        let action = "read the user's profile";
        match self.get(action, self.client.endpoints.rest("user")).await? {
            ReadResult::Response(answer) => self.client.parse(&answer),
            // The IP allow list of an enterprise can apply to all requests of its users.
            ReadResult::HiddenByOrganization => Err(self.client.unavailable(
                action,
                TemporaryFailure {
                    status: 403,
                    until: None,
                    requested_as: RequestedAs::User,
                },
            )),
            ReadResult::Absent => Err(self.client.invalid_response(
                "GET /user returned 404; check that github.url is the address of a GitHub server",
            )),
        }
    }

    /// Reads all pages of a list.
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
            let action = "read the organizations and teams of the user";
            let answer = match self.get(action, url).await? {
                ReadResult::Response(answer) => answer,
                ReadResult::HiddenByOrganization => break,
                // A 404 is not an empty list, which would end the user's access.
                ReadResult::Absent => {
                    return Err(self
                        .client
                        .invalid_response("the list of organizations and teams returned 404"));
                }
            };
            items.append(&mut self.client.parse::<Vec<T>>(&answer)?);
            if items.len() > MAX_GROUPS {
                return Err(self.too_many(&format!("{MAX_GROUPS} groups")));
            }
            self.record_withheld(&answer);
            next = self.following(&answer)?;
        }
        Ok(items)
    }

    fn following(&self, answer: &GithubResponse) -> Result<Option<Url>, ProviderError> {
        let values = answer.headers.get_all(LINK).iter();
        let values: Result<Vec<_>, _> = values.map(|value| value.to_str()).collect();
        values
            .map_err(|_| link::LinkError::Malformed)
            .and_then(|values| link::next(&values.join(", "), &self.client.endpoints.api))
            .map_err(|error| self.client.invalid_response(error.to_string()))
    }

    fn record_withheld(&mut self, answer: &GithubResponse) {
        let values = answer.headers.get_all("x-github-sso").iter();
        let ids = values.filter_map(|value| value.to_str().ok());
        self.withheld
            .extend(ids.flat_map(link::withheld).map(organization));
    }

    /// Returns the teams of these organizations, and all parent teams of these teams. The map
    /// contains the name of each team by ID.
    ///
    /// GitHub treats members of a team as members of its parent teams. However, GitHub lists a user
    /// only as a member of the lowest team, and returns only the direct parent of a team.
    async fn with_parent_teams(
        &mut self,
        teams: Vec<Team>,
        organizations: &BTreeMap<NonZeroU64, String>,
    ) -> Result<BTreeMap<NonZeroU64, String>, ProviderError> {
        let mut found = BTreeMap::new();
        let mut parents = Vec::new();
        for team in teams {
            let organization = team.organization.map(|organization| organization.id);
            let Some((id, name)) = organization.and_then(|id| organizations.get_key_value(&id))
            else {
                continue;
            };
            found.insert(team.itself.id, format!("{name}/{}", team.itself.slug));
            parents.extend(team.parent.map(|parent| (*id, name, parent)));
        }
        while let Some((organization, name, team)) = parents.pop() {
            if found.contains_key(&team.id) {
                continue;
            }
            found.insert(team.id, format!("{name}/{}", team.slug));
            if found.len() > MAX_GROUPS {
                return Err(self.too_many(&format!("{MAX_GROUPS} groups")));
            }
            let path = format!("organizations/{organization}/team/{}", team.id);
            let url = self.client.endpoints.rest(&path);
            // A parent team that the user cannot see does not count.
            if let ReadResult::Response(answer) = self.get("read a parent team", url).await? {
                let answer: Team = self.client.parse(&answer)?;
                if answer.itself.id != team.id {
                    let problem = "the REST API returned another team than requested";
                    return Err(self.client.invalid_response(problem));
                }
                parents.extend(answer.parent.map(|parent| (organization, name, parent)));
            }
        }
        Ok(found)
    }
}
