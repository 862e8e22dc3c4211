//! Mapping of claims to a user and groups.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::id_token::subject;
use crate::provider_user::is_plain;
use crate::{Group, ProviderError, ProviderUser};

/// Maximum number of groups per user.
const MAX_GROUPS: usize = 1000;
/// Maximum length of a group ID in bytes, so that the ID fits into a group name in clusters.
const MAX_GROUP_ID_BYTES: usize = 253;
/// Maximum length of a displayed name or email address, in characters.
const MAX_DISPLAY_CHARS: usize = 253;

/// Path of a claim: the claim's name, or the names of nested objects, separated by dots.
///
/// A claim whose name is the complete path takes precedence over a nested claim. Many providers
/// require a URL as the name of a custom claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimPath(String);

impl ClaimPath {
    /// Parses a claim path in the spec field `field`. Returns `Misconfigured` if a segment is
    /// empty.
    pub fn parse(field: &'static str, text: &str) -> Result<Self, ProviderError> {
        if text.split('.').any(str::is_empty) {
            return Err(ProviderError::Misconfigured {
                field,
                problem: "is not a claim name, or a path of names separated by dots such as \
                          realm_access.roles"
                    .to_owned(),
            });
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the value at the path. Returns `None` for a missing value and for `null`.
    fn find<'a>(&self, claims: &'a Map<String, Value>) -> Option<&'a Value> {
        let whole = claims.get(&self.0);
        let found = whole.or_else(|| {
            let mut names = self.0.split('.');
            let first = claims.get(names.next()?)?;
            names.try_fold(first, |value, name| value.as_object()?.get(name))
        });
        found.filter(|value| !value.is_null())
    }

    /// Reports whether the claim is a distributed claim in `_claim_names` (OpenID Connect Core
    /// §5.6.2). Some providers use distributed claims for users with too many groups.
    fn is_distributed(&self, claims: &Map<String, Value>) -> bool {
        let names = claims.get("_claim_names").and_then(Value::as_object);
        let first = self.0.split('.').next().unwrap_or_default();
        names.is_some_and(|names| names.contains_key(&self.0) || names.contains_key(first))
    }
}

/// Claims that contain the groups and the login name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimMapping {
    /// Groups of the user: a string, or an array of strings.
    pub groups: ClaimPath,
    /// Login name of the user.
    pub login: ClaimPath,
}

impl ClaimMapping {
    /// Reports whether the ID token lacks the groups or the login name. The userinfo endpoint may
    /// return the missing claims.
    pub fn is_incomplete(&self, claims: &Map<String, Value>) -> bool {
        self.groups.find(claims).is_none() || self.login.find(claims).is_none()
    }

    /// Builds the user from the claims. Claims of the ID token take precedence over userinfo.
    ///
    /// A user without a groups claim has no groups. Groups with an empty or too long ID are
    /// dropped, because no role can refer to them. A claim with more than 1,000 groups or with a
    /// wrong type is an error, because a subset of the groups would be arbitrary.
    pub fn person(
        &self,
        id: &str,
        token: &Map<String, Value>,
        userinfo: &Map<String, Value>,
    ) -> Result<ProviderUser, ProviderError> {
        let shown = |find: &dyn Fn(&Map<String, Value>) -> Option<String>| {
            find(token).or_else(|| find(userinfo))
        };
        let member = |name: &'static str| {
            move |claims: &Map<String, Value>| claims.get(name).and_then(displayable)
        };
        let login = shown(&|claims| self.login.find(claims).and_then(displayable));
        let unverified = [token, userinfo]
            .iter()
            .any(|claims| claims.get("email_verified") == Some(&Value::Bool(false)));
        Ok(ProviderUser {
            id: id.to_owned(),
            login: login.unwrap_or_else(|| id.to_owned()),
            display_name: shown(&member("name")),
            email: shown(&member("email")).filter(|_| !unverified),
            groups: self.groups(token, userinfo)?,
        })
    }

    fn groups(
        &self,
        token: &Map<String, Value>,
        userinfo: &Map<String, Value>,
    ) -> Result<Vec<Group>, ProviderError> {
        let problem = |problem: &str| ProviderError::Misconfigured {
            field: "oidc.groupsClaim",
            problem: problem.to_owned(),
        };
        let found = self.groups.find(token);
        let Some(found) = found.or_else(|| self.groups.find(userinfo)) else {
            if self.groups.is_distributed(token) || self.groups.is_distributed(userinfo) {
                return Err(problem(
                    "the provider omits the groups of a user with too many groups: configure it to \
                     send only the groups that Drover needs",
                ));
            }
            return Ok(Vec::new());
        };
        let texts: Option<Vec<&str>> = match found {
            Value::String(one) => Some(vec![one]),
            Value::Array(many) if many.len() > MAX_GROUPS => {
                return Err(problem(
                    "contains more than 1,000 groups of a user: configure the provider to send only \
                     the groups that Drover needs",
                ));
            }
            Value::Array(many) => many.iter().map(Value::as_str).collect(),
            _ => None,
        };
        let texts = texts
            .ok_or_else(|| problem("is not a string or an array of strings: name another claim"))?;
        let mut groups: Vec<Group> = texts.into_iter().filter_map(group).collect();
        groups.sort();
        groups.dedup();
        Ok(groups)
    }
}

/// Reports whether the `sub` claim of a userinfo response equals this user ID (OpenID Connect Core
/// §5.3.2).
pub(super) fn is_about(claims: &Map<String, Value>, id: &str) -> bool {
    subject(claims) == Some(id)
}

/// Builds a group from the value of a claim.
///
/// The group ID is the claim value, but `%` and all bytes that are not visible ASCII are
/// percent-encoded. Group names with spaces or umlauts are therefore valid in clusters, and
/// distinct names stay distinct.
fn group(text: &str) -> Option<Group> {
    let mut id = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            id.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(id, "%{byte:02X}");
        }
        if id.len() > MAX_GROUP_ID_BYTES {
            return None;
        }
    }
    let name = if is_plain(text) { text } else { &id };
    let name = name.to_owned();
    (!id.is_empty()).then_some(Group { id, name })
}

/// Returns the text of a string value. Returns `None` for an empty or long text, and for a text
/// that is not safe to display.
fn displayable(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let fits = !text.is_empty() && text.chars().count() <= MAX_DISPLAY_CHARS && is_plain(text);
    fits.then(|| text.to_owned())
}
