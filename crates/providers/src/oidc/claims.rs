//! Who the claims of a provider are about.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::id_token::subject;
use crate::person::is_plain;
use crate::{Group, Person, ProviderError};

/// Most groups of one person.
const MOST_GROUPS: usize = 1000;
/// Longest id of a group, in bytes: what may stand in a group's name in clusters.
const LONGEST_GROUP: usize = 253;
/// Longest name or mail address that is shown, in characters.
const LONGEST_TEXT: usize = 253;

/// Where a claim is found: its name, or the names of objects that lead to it with dots between.
///
/// A claim whose whole name has the dots goes first: providers that want a URL as the name of a
/// claim of one's own are common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimPath(String);

impl ClaimPath {
    /// Reads a field of the spec; `Misconfigured` if a name in it is empty.
    pub fn parse(field: &'static str, text: &str) -> Result<Self, ProviderError> {
        if text.split('.').any(str::is_empty) {
            return Err(ProviderError::Misconfigured {
                field,
                problem: "is not the name of a claim, or of objects that lead to one with dots \
                          between, such as realm_access.roles"
                    .to_owned(),
            });
        }
        Ok(Self(text.to_owned()))
    }

    /// What is there; `null` is nothing.
    fn find<'a>(&self, claims: &'a Map<String, Value>) -> Option<&'a Value> {
        let whole = claims.get(&self.0);
        let found = whole.or_else(|| {
            let mut names = self.0.split('.');
            let first = claims.get(names.next()?)?;
            names.try_fold(first, |value, name| value.as_object()?.get(name))
        });
        found.filter(|value| !value.is_null())
    }

    /// Whether the provider says that it is elsewhere, as some do with groups that are too many
    /// (OpenID Connect Core §5.6.2).
    fn is_elsewhere(&self, claims: &Map<String, Value>) -> bool {
        let names = claims.get("_claim_names").and_then(Value::as_object);
        let first = self.0.split('.').next().unwrap_or_default();
        names.is_some_and(|names| names.contains_key(&self.0) || names.contains_key(first))
    }
}

/// Which claims say what of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimMapping {
    /// Which groups they are in: a text, or a list of texts.
    pub groups: ClaimPath,
    /// What they type to sign in.
    pub login: ClaimPath,
}

impl ClaimMapping {
    /// Whether an ID token leaves something out that the provider may say elsewhere.
    pub fn is_incomplete(&self, claims: &Map<String, Value>) -> bool {
        self.groups.find(claims).is_none() || self.login.find(claims).is_none()
    }

    /// Reads who the claims are about; those of the ID token go before what is said beside it.
    ///
    /// Who has no groups claim is in no group. A group that no role could name, because its id
    /// would be empty or too long, is left out: it can mean nothing here. More than 1,000 groups,
    /// and a claim that is no list of texts, are errors: a part of them would be arbitrary.
    pub fn person(
        &self,
        id: &str,
        token: &Map<String, Value>,
        beside: &Map<String, Value>,
    ) -> Result<Person, ProviderError> {
        let shown = |find: &dyn Fn(&Map<String, Value>) -> Option<String>| {
            find(token).or_else(|| find(beside))
        };
        let member = |name: &'static str| {
            move |claims: &Map<String, Value>| claims.get(name).and_then(showable)
        };
        let login = shown(&|claims| self.login.find(claims).and_then(showable));
        let doubted = [token, beside]
            .iter()
            .any(|claims| claims.get("email_verified") == Some(&Value::Bool(false)));
        Ok(Person {
            id: id.to_owned(),
            login: login.unwrap_or_else(|| id.to_owned()),
            display_name: shown(&member("name")),
            email: shown(&member("email")).filter(|_| !doubted),
            groups: self.groups(token, beside)?,
        })
    }

    fn groups(
        &self,
        token: &Map<String, Value>,
        beside: &Map<String, Value>,
    ) -> Result<Vec<Group>, ProviderError> {
        let problem = |problem: &str| ProviderError::Misconfigured {
            field: "oidc.groupsClaim",
            problem: problem.to_owned(),
        };
        let found = self.groups.find(token);
        let Some(found) = found.or_else(|| self.groups.find(beside)) else {
            if self.groups.is_elsewhere(token) || self.groups.is_elsewhere(beside) {
                return Err(problem(
                    "the provider left a person's groups out, as it does when they are too many: \
                     let it send only those that Drover needs",
                ));
            }
            return Ok(Vec::new());
        };
        let texts: Option<Vec<&str>> = match found {
            Value::String(one) => Some(vec![one]),
            Value::Array(many) if many.len() > MOST_GROUPS => {
                return Err(problem(
                    "lists more than 1,000 groups of a person: let the provider send only those \
                     that Drover needs",
                ));
            }
            Value::Array(many) => many.iter().map(Value::as_str).collect(),
            _ => None,
        };
        let texts = texts.ok_or_else(|| {
            problem("is neither a text nor a list of texts: name a claim that is")
        })?;
        let mut groups: Vec<Group> = texts.into_iter().filter_map(group).collect();
        groups.sort();
        groups.dedup();
        Ok(groups)
    }
}

/// Whether what a provider says beside the ID token is about the same person (OpenID Connect Core
/// §5.3.2).
pub(super) fn is_about(claims: &Map<String, Value>, id: &str) -> bool {
    subject(claims) == Some(id)
}

/// A group, whose id is the claim's value where it is visible ASCII without `%`.
///
/// Every other byte is written as `%` and two digits, so that groups with spaces or umlauts can
/// stand in clusters' names and no two become one.
fn group(text: &str) -> Option<Group> {
    let mut id = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            id.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(id, "%{byte:02X}");
        }
        if id.len() > LONGEST_GROUP {
            return None;
        }
    }
    let name = if is_plain(text) { text } else { &id };
    let name = name.to_owned();
    (!id.is_empty()).then_some(Group { id, name })
}

/// A text that can be shown to others, if it is one.
fn showable(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let fits = !text.is_empty() && text.chars().count() <= LONGEST_TEXT && is_plain(text);
    fits.then(|| text.to_owned())
}
