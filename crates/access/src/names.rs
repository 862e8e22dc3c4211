//! The names of users and groups in clusters. Only this module creates these names.
//!
//! The name of a user is `drover:user:<uid>`. The name of a group is `drover:<provider>:<id>`.
//! Because of the prefix, the input of a user or a provider cannot produce a Kubernetes name such
//! as `system:masters`.

use std::fmt;

use drover_api::ids::UserUid;

/// Prefix of all names that Drover assigns.
pub const PREFIX: &str = "drover:";
/// Group of all authenticated users in Kubernetes.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Extra with the user's display name.
pub const EXTRA_DISPLAY_NAME: &str = "management.drover.dev/display-name";
/// Extra with the ID of the presented token.
pub const EXTRA_TOKEN_ID: &str = "management.drover.dev/token-id";
/// Prefix of the names of service accounts, before `<namespace>:<name>`.
pub const ACCOUNT_PREFIX: &str = "system:serviceaccount:";
/// Prefix of the names of users, before the UID.
const USER_PREFIX: &str = "drover:user:";
/// Maximum length of a provider name or group ID in bytes.
const MAX_PART: usize = 253;

/// A user's name in clusters: `drover:user:<uid>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserName(String);

impl UserName {
    /// Creates the name of the user with this UID.
    pub fn of(uid: &UserUid) -> Self {
        Self([USER_PREFIX, uid.as_str()].concat())
    }

    /// Parses a name from a request. Returns `None` if the name is not the name of a Drover user.
    pub fn parse(text: &str) -> Option<Self> {
        let uid = text.strip_prefix(USER_PREFIX)?;
        is_part(uid).then(|| Self(text.to_owned()))
    }

    /// Returns the complete name, for RBAC objects and impersonation headers.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the UID of the User object, which is part of the name.
    pub fn uid(&self) -> UserUid {
        UserUid::new(&self.0[USER_PREFIX.len()..])
    }
}

/// A group's name in clusters: `drover:<provider>:<id>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupName(String);

impl GroupName {
    /// Returns the name of a provider's group, or `None` if the provider or the ID is invalid.
    ///
    /// `user` is an invalid provider name, because group names must differ from user names.
    pub fn of(provider: &str, id: &str) -> Option<Self> {
        (is_provider(provider) && is_part(id)).then(|| Self(format!("{PREFIX}{provider}:{id}")))
    }

    /// Parses a name from a request. Returns `None` if the name is not the name of a Drover group.
    pub fn parse(text: &str) -> Option<Self> {
        let (provider, id) = text.strip_prefix(PREFIX)?.split_once(':')?;
        Self::of(provider, id)
    }

    /// Returns the provider in the name: the name of the AuthProvider object.
    pub fn provider(&self) -> &str {
        self.parts().0
    }

    /// Returns the provider and the ID.
    fn parts(&self) -> (&str, &str) {
        let parts = self.0[PREFIX.len()..].split_once(':');
        parts.expect("a group's name contains the provider and the ID")
    }

    /// Returns the complete name, for RBAC objects and impersonation headers.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Name of a service account on the hub: `system:serviceaccount:<namespace>:<name>`.
///
/// The name is valid on the hub only. In a managed cluster, the same name belongs to a different
/// account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountName(String);

impl AccountName {
    /// Parses a name. Returns `None` if the name is not the name of a service account.
    pub fn parse(text: &str) -> Option<Self> {
        let (namespace, name) = account(text)?;
        let fits = is_dns_name(namespace, 63) && !namespace.contains('.');
        (fits && is_dns_name(name, 253)).then(|| Self(text.to_owned()))
    }

    /// Returns the complete name, for RBAC objects and impersonation headers.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the namespace and the name of the ServiceAccount.
    pub fn object(&self) -> (&str, &str) {
        self.parts()
    }

    fn parts(&self) -> (&str, &str) {
        account(&self.0).expect("the name is the name of a service account")
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the namespace and the name of a service account, or `None` for other users.
pub fn account(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(ACCOUNT_PREFIX)?.split_once(':')
}

/// Reports whether a text is a valid name of a namespace, a service account or a node (RFC 1123).
pub fn is_dns_name(text: &str, longest: usize) -> bool {
    !text.is_empty()
        && text.len() <= longest
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.'))
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reports whether a text is a valid provider name: lower-case letters, digits and `-`, a letter or
/// digit at both ends, and not `user`.
fn is_provider(text: &str) -> bool {
    let dashed = text.starts_with('-') || text.ends_with('-');
    text != "user"
        && !text.is_empty()
        && text.len() <= 63
        && !dashed
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Reports whether a text is a valid group ID: visible ASCII, which a header carries unchanged.
fn is_part(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_PART && text.bytes().all(|b| b.is_ascii_graphic())
}

/// The identity that a request impersonates in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubernetesIdentity {
    user: UserName,
    groups: Vec<GroupName>,
    extras: Vec<(&'static str, String)>,
}

impl KubernetesIdentity {
    /// Creates an identity that has no extras. The API server adds the group
    /// `system:authenticated`.
    pub fn new(user: UserName, groups: Vec<GroupName>) -> Self {
        Self {
            user,
            groups,
            extras: Vec::new(),
        }
    }

    /// Adds an extra. The key must be one of the constants of this module.
    #[must_use]
    pub fn with_extra(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.extras.push((key, value.into()));
        self
    }

    /// Returns the user's name in clusters.
    pub fn user(&self) -> &UserName {
        &self.user
    }

    /// Returns the names of the user's groups, in the order of [`KubernetesIdentity::new`].
    pub fn groups(&self) -> &[GroupName] {
        &self.groups
    }

    /// Returns the key and the value of each extra.
    pub fn extras(&self) -> &[(&'static str, String)] {
        &self.extras
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_user_and_group_names_with_drover_prefix_are_parsed() {
        for (text, user, group) in [
            ("drover:user:1f", true, false),
            ("drover:github:42", false, true),
            ("drover:user:", false, false),
            ("drover:user", false, false),
            ("drover::x", false, false),
            ("drover:Git:x", false, false),
            ("drover:-git:x", false, false),
            ("drover:git-:x", false, false),
            ("Drover:user:1f", false, false),
            ("system:masters", false, false),
            ("system:authenticated", false, false),
            ("drover:user:a b", false, false),
            ("drover:oidc:a\nb", false, false),
            ("drover:oidc:ü", false, false),
            ("", false, false),
        ] {
            assert_eq!(UserName::parse(text).is_some(), user, "user {text:?}");
            assert_eq!(GroupName::parse(text).is_some(), group, "group {text:?}");
        }
    }

    #[test]
    fn only_service_account_user_names_are_parsed_as_service_accounts() {
        for (text, expected) in [
            ("system:serviceaccount:apps:puller", true),
            ("system:serviceaccount:apps:puller.v2", true),
            ("system:serviceaccount:a.b:puller", false),
            ("system:serviceaccount:apps:", false),
            ("system:serviceaccount::puller", false),
            ("system:serviceaccount:apps", false),
            ("system:serviceaccount:apps:pull:er", false),
            ("system:serviceaccount:apps:Puller", false),
            ("system:serviceaccount:apps:pul\nler", false),
            ("system:serviceaccounts:apps:puller", false),
            ("system:node:a", false),
            ("system:masters", false),
            ("drover:user:1f", false),
            ("", false),
        ] {
            let parsed = AccountName::parse(text);
            assert_eq!(parsed.is_some(), expected, "{text:?}");
            if let Some(name) = parsed {
                let (namespace, name) = name.object();
                assert_eq!(format!("{ACCOUNT_PREFIX}{namespace}:{name}"), text);
            }
        }
    }

    #[test]
    fn provider_group_named_like_a_system_group_receives_the_provider_prefix() {
        assert_eq!(
            GroupName::of("oidc", "system:masters").map(|g| g.to_string()),
            Some("drover:oidc:system:masters".to_owned())
        );
        assert_eq!(GroupName::of("user", "1f"), None);
    }
}
