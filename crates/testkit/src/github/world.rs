//! The state of the fake GitHub server, and its responses.

use std::collections::{BTreeMap, HashMap};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hyper::header::{ACCEPT, AUTHORIZATION, USER_AGENT};
use hyper::http::request::Parts;
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

pub const CLIENT: &str = "Ov23liTheFakeClient1";
pub const SECRET: &str = "the-secret-of-the-client";

/// A user account of the fake GitHub server.
pub struct Account {
    pub login: String,
    pub suspended: bool,
}

/// A team with the IDs of its organization, parent team and members.
pub struct Team {
    pub slug: String,
    pub organization: u64,
    pub parent: Option<u64>,
    pub members: Vec<u64>,
    /// True if non-members can see the team.
    pub visible: bool,
}

struct Code {
    account: u64,
    challenge: String,
    redirect_uri: String,
}

pub struct World {
    api: Url,
    pub accounts: BTreeMap<u64, Account>,
    /// Logins of organizations.
    pub organizations: BTreeMap<u64, String>,
    /// Membership state of an account in an organization.
    pub memberships: BTreeMap<(u64, u64), &'static str>,
    pub teams: BTreeMap<u64, Team>,
    codes: HashMap<String, Code>,
    /// The user ID of each access token.
    pub tokens: HashMap<String, u64>,
    /// The redirect URI that the OAuth app allows.
    pub callback: String,
    /// The scopes that the server grants, independent of the requested scopes.
    pub scope: String,
    made: u32,
}

#[derive(Default)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

impl World {
    pub fn new(api: Url) -> Self {
        Self {
            api,
            accounts: BTreeMap::new(),
            organizations: BTreeMap::new(),
            memberships: BTreeMap::new(),
            teams: BTreeMap::new(),
            codes: HashMap::new(),
            tokens: HashMap::new(),
            callback: "https://drover.test/v1/sign-in/".to_owned(),
            scope: "read:org".to_owned(),
            made: 0,
        }
    }

    pub fn account(&mut self, id: u64, login: &str) {
        let login = login.to_owned();
        let suspended = false;
        self.accounts.insert(id, Account { login, suspended });
    }

    /// Adds an organization with the account as member.
    pub fn organization(&mut self, id: u64, login: &str, member: u64) {
        self.organizations.insert(id, login.to_owned());
        self.memberships.insert((member, id), "active");
    }

    pub fn team(
        &mut self,
        id: u64,
        slug: &str,
        organization: u64,
        parent: Option<u64>,
        members: &[u64],
    ) {
        let team = Team {
            slug: slug.to_owned(),
            organization,
            parent,
            members: members.to_vec(),
            visible: true,
        };
        self.teams.insert(id, team);
    }

    /// Simulates a user who gives consent on the authorization page. Returns the parameters of the
    /// redirect.
    pub fn allow(&mut self, page: &Url, account: u64) -> String {
        let requested: HashMap<_, _> = page.query_pairs().into_owned().collect();
        assert_eq!(page.path(), "/login/oauth/authorize");
        assert_eq!(requested["client_id"], CLIENT);
        assert_eq!(requested["code_challenge_method"], "S256");
        let code = self.make("code");
        let redirect_uri = requested["redirect_uri"].clone();
        let state = &requested["state"];
        let query = format!("code={code}&state={state}");
        let created = Code {
            account,
            challenge: requested["code_challenge"].clone(),
            redirect_uri,
        };
        self.codes.insert(code, created);
        query
    }

    /// Simulates a user who denies consent on the authorization page. Returns the parameters of the
    /// redirect.
    pub fn deny(page: &Url) -> String {
        let requested: HashMap<_, _> = page.query_pairs().into_owned().collect();
        format!(
            "error=access_denied&error_description=The+user+has+denied+your+application+access.\
             &error_uri=https%3A%2F%2Fdocs.github.com&state={}",
            requested["state"]
        )
    }

    fn make(&mut self, name: &str) -> String {
        self.made += 1;
        format!("{name}_{:08}", self.made)
    }

    pub fn answer(&mut self, head: &Parts, body: &[u8]) -> Answer {
        let agent = head.headers.get(USER_AGENT);
        if !agent.is_some_and(|agent| agent.to_str().unwrap().starts_with("drover/")) {
            return error_response(403, "Request forbidden by administrative rules.");
        }
        let path: Vec<&str> = head.uri.path().split('/').skip(1).collect();
        match (head.method.as_str(), path.as_slice()) {
            ("POST", ["login", "oauth", "access_token"]) => self.token(head, body),
            (_, ["api", "v3", rest @ ..]) => {
                let version = head.headers.get("x-github-api-version");
                let accept = head.headers.get(ACCEPT);
                if version.is_none_or(|version| version != "2022-11-28")
                    || accept.is_none_or(|accept| accept != "application/vnd.github+json")
                {
                    return error_response(400, "unsupported API version");
                }
                self.rest(head, rest, body)
            }
            _ => error_response(404, "Not Found"),
        }
    }

    /// Responds to `POST /login/oauth/access_token`. The response is a form unless the request
    /// accepts JSON.
    fn token(&mut self, head: &Parts, body: &[u8]) -> Answer {
        let form: HashMap<_, _> = form_urlencoded::parse(body).into_owned().collect();
        let field = |name: &str| form.get(name).map_or("", String::as_str);
        if field("client_id") != CLIENT {
            return json_response(404, &json!({ "error": "Not Found" }));
        }
        let result = if field("client_secret") == SECRET {
            self.exchange(field("code"), field("code_verifier"), field("redirect_uri"))
        } else {
            Err("incorrect_client_credentials")
        };
        let fields = match &result {
            Ok(token) => vec![
                ("access_token", token.as_str()),
                ("scope", &self.scope),
                ("token_type", "bearer"),
            ],
            Err(error) => vec![
                ("error", *error),
                ("error_description", "A longer description."),
            ],
        };
        if head
            .headers
            .get(ACCEPT)
            .is_some_and(|it| it == "application/json")
        {
            let object: serde_json::Map<_, _> = fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), json!(value)))
                .collect();
            return json_response(200, &Value::Object(object));
        }
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        Answer {
            status: 200,
            headers: vec![(
                "content-type",
                "application/x-www-form-urlencoded".to_owned(),
            )],
            body: form.finish(),
        }
    }

    fn exchange(
        &mut self,
        code: &str,
        verifier: &str,
        redirect_uri: &str,
    ) -> Result<String, &'static str> {
        // A code is valid for one attempt, also if it fails.
        let code = self.codes.remove(code).ok_or("bad_verification_code")?;
        if redirect_uri != code.redirect_uri || !redirect_uri.starts_with(&self.callback) {
            return Err("redirect_uri_mismatch");
        }
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        if challenge != code.challenge {
            return Err("bad_verification_code");
        }
        let token = self.make("gho");
        self.tokens.insert(token.clone(), code.account);
        Ok(token)
    }

    fn rest(&mut self, head: &Parts, path: &[&str], body: &[u8]) -> Answer {
        let authorization = head.headers.get(AUTHORIZATION);
        let authorization = authorization.map_or("", |value| value.to_str().unwrap());
        if let ["applications", client, "token"] = path {
            let right = STANDARD.encode(format!("{CLIENT}:{SECRET}"));
            if *client != CLIENT || authorization != format!("Basic {right}") {
                return error_response(401, "Bad credentials");
            }
            return self.about_token(head.method.as_str(), body);
        }
        let token = authorization.strip_prefix("Bearer ").unwrap_or_default();
        let Some(id) = self.tokens.get(token).copied() else {
            return error_response(401, "Bad credentials");
        };
        let Some(account) = self.accounts.get(&id) else {
            return error_response(401, "Bad credentials");
        };
        if account.suspended {
            return error_response(403, "Sorry. Your account was suspended.");
        }
        let mut answer = match path {
            ["user"] => json_response(
                200,
                &json!({ "id": id, "login": account.login, "type": "User",
                "name": account.login.to_uppercase(), "email": null }),
            ),
            ["user", "memberships", "orgs"] => self.memberships(head, id),
            ["user", "teams"] => self.teams(head, id),
            ["organizations", organization, "team", team] => self.one_team(organization, team, id),
            _ => error_response(404, "Not Found"),
        };
        answer
            .headers
            .push(("x-oauth-scopes", self.scope.replace(',', ", ")));
        answer
            .headers
            .push(("x-ratelimit-remaining", "4999".to_owned()));
        answer
            .headers
            .push(("x-ratelimit-reset", "1795341600".to_owned()));
        answer
    }

    fn about_token(&mut self, method: &str, body: &[u8]) -> Answer {
        let requested: Value = serde_json::from_slice(body).unwrap();
        let token = requested["access_token"].as_str().unwrap();
        match (method, self.tokens.contains_key(token)) {
            (_, false) => error_response(404, "Not Found"),
            ("DELETE", true) => {
                self.tokens.remove(token);
                Answer {
                    status: 204,
                    ..Answer::default()
                }
            }
            (_, true) => json_response(200, &json!({ "id": 1, "scopes": [self.scope] })),
        }
    }

    fn memberships(&self, head: &Parts, account: u64) -> Answer {
        let expected = query(head, "state");
        let of_account = self
            .memberships
            .iter()
            .filter(|((who, _), _)| *who == account);
        let items = of_account
            .filter(|(_, state)| expected.is_empty() || expected == **state)
            .map(|((_, id), state)| {
                json!({ "state": state, "role": "member", "organization": self.named(*id) })
            });
        self.page(head, items.collect())
    }

    fn teams(&self, head: &Parts, account: u64) -> Answer {
        let of_account = self
            .teams
            .iter()
            .filter(|(_, team)| team.members.contains(&account));
        let items = of_account.map(|(id, team)| self.challenge(*id, team));
        self.page(head, items.collect())
    }

    fn one_team(&self, organization: &str, team: &str, account: u64) -> Answer {
        let id: u64 = team.parse().unwrap();
        match self.teams.get(&id) {
            Some(team)
                if team.organization.to_string() == organization
                    && (team.visible || team.members.contains(&account)) =>
            {
                json_response(200, &self.challenge(id, team))
            }
            _ => error_response(404, "Not Found"),
        }
    }

    fn named(&self, organization: u64) -> Value {
        json!({ "id": organization, "login": self.organizations[&organization] })
    }

    fn challenge(&self, id: u64, team: &Team) -> Value {
        let parent = team.parent.map(|id| {
            let slug = &self.teams[&id].slug;
            json!({ "id": id, "slug": slug, "name": slug.to_uppercase() })
        });
        json!({ "id": id, "slug": team.slug, "name": team.slug.to_uppercase(),
            "organization": self.named(team.organization), "parent": parent })
    }

    /// Returns one page of the items, with links to the other pages.
    fn page(&self, head: &Parts, items: Vec<Value>) -> Answer {
        let number = |name: &str, otherwise: usize| query(head, name).parse().unwrap_or(otherwise);
        let size = number("per_page", 30).clamp(1, 100);
        let page = number("page", 1).max(1);
        let last = items.len().div_ceil(size).max(1);
        let path = head.uri.path().strip_prefix("/api/v3/").unwrap();
        let link = |page: usize, relation: &str| {
            let state = query(head, "state");
            format!(
                "<{}{path}?state={state}&per_page={size}&page={page}>; rel=\"{relation}\"",
                self.api
            )
        };
        let mut links = Vec::new();
        if page > 1 {
            links.extend([link(page - 1, "prev"), link(1, "first")]);
        }
        if page < last {
            links.extend([link(page + 1, "next"), link(last, "last")]);
        }
        let challenge: Vec<_> = items
            .into_iter()
            .skip((page - 1) * size)
            .take(size)
            .collect();
        let mut answer = json_response(200, &Value::Array(challenge));
        if !links.is_empty() {
            answer.headers.push(("link", links.join(", ")));
        }
        answer
    }
}

fn query(head: &Parts, name: &str) -> String {
    let query = head.uri.query().unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let found = pairs.find(|(found, _)| found == name);
    found.map_or_else(String::new, |(_, value)| value.into_owned())
}

fn json_response(status: u16, body: &Value) -> Answer {
    Answer {
        status,
        headers: vec![("content-type", "application/json; charset=utf-8".to_owned())],
        body: body.to_string(),
    }
}

fn error_response(status: u16, message: &str) -> Answer {
    json_response(
        status,
        &json!({ "message": message, "documentation_url": "https://docs.github.com/rest" }),
    )
}
