//! Impersonation by a client: `kubectl --as`.
//!
//! A client can impersonate only users and groups with Drover names, because the agent rejects all
//! other names. A cluster's `system:` names must never be reachable through the hub, even if the
//! cluster's RBAC permits the impersonation (CVE-2026-44945 in a similar product).

use drover_api::ids::UserUid;
use http::HeaderMap;
use thiserror::Error;

use crate::headers::{IMPERSONATE_EXTRA, IMPERSONATE_GROUP, IMPERSONATE_UID, IMPERSONATE_USER};
use crate::names::{AUTHENTICATED, GroupName, KubernetesIdentity, UserName};

/// Reasons to reject a requested impersonation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImpersonationError {
    /// The request has impersonation headers for a group, a UID or an extra, but not for a user.
    #[error("impersonation requires a user: add --as NAME")]
    NoUser,
    /// A header occurs twice, is empty, or is not text.
    #[error("the {header} header must occur once and contain a name", header = .0)]
    Malformed(&'static str),
    /// The client set the impersonated UID or an extra. Only Drover sets these headers.
    #[error(
        "cannot impersonate with the {header} header: only Drover sets this header",
        header = .0
    )]
    NotSettable(&'static str),
    /// The user does not exist.
    #[error(
        "cannot impersonate user {user:?}: the user does not exist; use the name of a Drover \
         user (see \"drover user list\")", user = .0
    )]
    UnknownUser(String),
    /// The name of the group is not the name of a Drover group.
    #[error(
        "cannot impersonate group {group:?}: the name of a group must be drover:<provider>:<id>",
        group = .0
    )]
    ForeignGroup(String),
}

/// Reports whether the request has an impersonation header. Check the caller's permission before
/// the call of [`requested`], because errors of [`requested`] disclose the names of existing users.
pub fn is_requested(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| is_impersonation(name.as_str()))
}

/// Returns the identity to impersonate, or `None` if the request has no impersonation headers.
///
/// `resolve` returns the UID of an enabled user by name. Call this function before
/// [`strip_inbound`](crate::headers::strip_inbound).
pub fn requested(
    headers: &HeaderMap,
    resolve: impl Fn(&str) -> Option<UserUid>,
) -> Result<Option<KubernetesIdentity>, ImpersonationError> {
    if !is_requested(headers) {
        return Ok(None);
    }
    if headers.contains_key(IMPERSONATE_UID) {
        return Err(ImpersonationError::NotSettable("Impersonate-Uid"));
    }
    if headers
        .keys()
        .any(|name| name.as_str().starts_with(IMPERSONATE_EXTRA))
    {
        return Err(ImpersonationError::NotSettable("Impersonate-Extra"));
    }
    let known = [IMPERSONATE_USER, IMPERSONATE_GROUP];
    if headers
        .keys()
        .any(|name| is_impersonation(name.as_str()) && !known.contains(name))
    {
        return Err(ImpersonationError::NotSettable(
            "an unknown impersonation header",
        ));
    }
    let user = user(headers, resolve)?;
    let groups = headers
        .get_all(IMPERSONATE_GROUP)
        .iter()
        .map(|value| {
            value
                .to_str()
                .map_err(|_| ImpersonationError::Malformed("Impersonate-Group"))
        })
        .filter(|group| *group != Ok(AUTHENTICATED))
        .map(|group| {
            let group = group?;
            GroupName::parse(group)
                .ok_or_else(|| ImpersonationError::ForeignGroup(group.to_owned()))
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Some(KubernetesIdentity::new(user, groups)))
}

fn user(
    headers: &HeaderMap,
    resolve: impl Fn(&str) -> Option<UserUid>,
) -> Result<UserName, ImpersonationError> {
    let mut values = headers.get_all(IMPERSONATE_USER).iter();
    let first = values.next().ok_or(ImpersonationError::NoUser)?;
    let name = first
        .to_str()
        .ok()
        .filter(|name| !name.is_empty() && values.next().is_none())
        .ok_or(ImpersonationError::Malformed("Impersonate-User"))?;
    if let Some(user) = UserName::parse(name) {
        return Ok(user);
    }
    resolve(name)
        .map(|uid| UserName::of(&uid))
        .ok_or_else(|| ImpersonationError::UnknownUser(name.to_owned()))
}

fn is_impersonation(name: &str) -> bool {
    name.starts_with("impersonate")
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn ask(pairs: &[(&str, &str)]) -> Result<Option<String>, ImpersonationError> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        let resolve = |name: &str| (name == "ann").then(|| UserUid::new("7"));
        let requested_value = requested(&headers, resolve)?;
        Ok(requested_value.map(|i| {
            let groups: Vec<_> = i.groups().iter().map(ToString::to_string).collect();
            format!("{} {}", i.user(), groups.join(","))
        }))
    }

    #[test]
    fn only_user_and_group_names_of_drover_can_be_impersonated() {
        use ImpersonationError::{ForeignGroup, Malformed, NoUser, NotSettable, UnknownUser};
        let (user, group) = ("impersonate-user", "impersonate-group");
        let cases: [(&[(&str, &str)], _); 15] = [
            (&[("accept", "x")], Ok(None)),
            (&[(user, "ann")], Ok(Some("drover:user:7 ".to_owned()))),
            (
                &[(user, "drover:user:9")],
                Ok(Some("drover:user:9 ".to_owned())),
            ),
            (
                &[
                    (user, "ann"),
                    (group, AUTHENTICATED),
                    (group, "drover:github:1"),
                ],
                Ok(Some("drover:user:7 drover:github:1".to_owned())),
            ),
            (
                &[(user, "system:admin")],
                Err(UnknownUser("system:admin".to_owned())),
            ),
            (
                &[(user, "system:serviceaccount:kube-system:default")],
                Err(UnknownUser(
                    "system:serviceaccount:kube-system:default".to_owned(),
                )),
            ),
            (
                &[(user, "ann"), (group, "system:masters")],
                Err(ForeignGroup("system:masters".into())),
            ),
            (
                &[(user, "ann"), (group, "system:nodes")],
                Err(ForeignGroup("system:nodes".into())),
            ),
            (
                &[(user, "ann"), (group, "")],
                Err(ForeignGroup(String::new())),
            ),
            (&[(group, "drover:github:1")], Err(NoUser)),
            (&[(user, "")], Err(Malformed("Impersonate-User"))),
            (
                &[(user, "ann"), (user, "ann")],
                Err(Malformed("Impersonate-User")),
            ),
            (
                &[(user, "ann"), ("impersonate-uid", "1")],
                Err(NotSettable("Impersonate-Uid")),
            ),
            (
                &[("impersonate-extra-x", "1")],
                Err(NotSettable("Impersonate-Extra")),
            ),
            (
                &[(user, "ann"), ("impersonate_user", "root")],
                Err(NotSettable("an unknown impersonation header")),
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(ask(value), expected, "{value:?}");
        }
    }
}
