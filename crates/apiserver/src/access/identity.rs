//! Users and service accounts as callers of the API.

use std::collections::BTreeMap;
use std::fmt;

/// The group whose members have all permissions without RBAC.
pub(crate) const MASTERS: &str = "system:masters";
/// The group of all authenticated users.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of all unauthenticated users.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user name of unauthenticated requests.
pub(crate) const ANONYMOUS: &str = "system:anonymous";
/// The group of all nodes.
pub(crate) const NODES: &str = "system:nodes";

const USER_PREFIX: &str = "system:serviceaccount:";
const ALL_SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
const NODE_PREFIX: &str = "system:node:";

/// A user (apiserver `user.Info`). A request from the same process contains the user as a request
/// extension of this type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The user name.
    pub name: String,
    /// The user's UID; may be empty.
    pub uid: String,
    /// The groups of the user, including implicit groups such as `system:authenticated`.
    pub groups: Vec<String>,
    /// Extra attributes of the user, from the authenticator.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Caller {
    /// Creates a user without UID and extras.
    pub fn user<'a>(name: impl Into<String>, groups: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            name: name.into(),
            groups: groups.into_iter().map(str::to_owned).collect(),
            ..Self::default()
        }
    }

    /// Returns the unauthenticated user.
    pub fn anonymous() -> Self {
        Self::user(ANONYMOUS, [UNAUTHENTICATED])
    }

    /// Creates a user in `system:masters`, such as kube-apiserver's loopback client.
    pub fn privileged(name: impl Into<String>) -> Self {
        Self::user(name, [MASTERS, AUTHENTICATED])
    }

    /// Reports whether the user is in `system:masters`.
    pub fn is_privileged(&self) -> bool {
        self.in_group(MASTERS)
    }

    /// Reports whether the user is in the group.
    pub fn in_group(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// Adds the user to the group, if the user is not a member.
    pub(crate) fn join(&mut self, group: &str) {
        if !self.in_group(group) {
            self.groups.push(group.to_owned());
        }
    }

    /// Returns the value of an extra that has exactly one value. Several values are ambiguous, so
    /// the result is `None`.
    pub(crate) fn extra_value(&self, key: &str) -> Option<&str> {
        match self.extra.get(key)?.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }
}

/// A service account, with the user name `system:serviceaccount:NAMESPACE:NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServiceAccountName {
    /// The namespace of the ServiceAccount object.
    pub namespace: String,
    /// The name of the ServiceAccount object.
    pub name: String,
}

impl ServiceAccountName {
    /// Creates a name from the namespace and the name of a ServiceAccount object.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Parses the user name of a service account. Returns `None` for other users.
    pub fn parse(user: &str) -> Option<Self> {
        let (namespace, name) = user.strip_prefix(USER_PREFIX)?.split_once(':')?;
        (is_dns_label(namespace) && is_dns_subdomain(name)).then(|| Self::new(namespace, name))
    }

    /// Returns the implicit groups of the service account, such as `system:serviceaccounts`.
    pub fn groups(&self) -> Vec<String> {
        vec![
            ALL_SERVICE_ACCOUNTS.to_owned(),
            format!("{ALL_SERVICE_ACCOUNTS}:{}", self.namespace),
        ]
    }
}

impl fmt::Display for ServiceAccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{USER_PREFIX}{}:{}", self.namespace, self.name)
    }
}

/// Returns the node name in a user name `system:node:NAME`, or `None` for other users.
pub(crate) fn node_name(user: &str) -> Option<&str> {
    let name = user.strip_prefix(NODE_PREFIX)?;
    is_dns_subdomain(name).then_some(name)
}

/// Reports whether the text is an RFC 1123 label: at most 63 characters of `[a-z0-9-]`, with a
/// letter or a digit at both ends.
pub(crate) fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_label_of_any_length(text)
}

/// Reports whether the text is an RFC 1123 subdomain: labels, separated by dots, with at most 253
/// characters in total.
pub(crate) fn is_dns_subdomain(text: &str) -> bool {
    // apimachinery limits the length of the whole subdomain, not of its labels.
    text.len() <= 253 && text.split('.').all(is_label_of_any_length)
}

fn is_label_of_any_length(text: &str) -> bool {
    let alphanumeric = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let bytes = text.as_bytes();
    alphanumeric(bytes.first())
        && alphanumeric(bytes.last())
        && bytes
            .iter()
            .all(|byte| alphanumeric(Some(byte)) || *byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_account_user_name_round_trips() {
        let account = ServiceAccountName::new("team-a", "build.bot");
        assert_eq!(
            account.to_string(),
            "system:serviceaccount:team-a:build.bot"
        );
        assert_eq!(
            ServiceAccountName::parse(&account.to_string()),
            Some(account)
        );
    }

    #[test]
    fn malformed_service_account_name_parses_as_ordinary_user() {
        for name in [
            "system:serviceaccount:a",
            "system:serviceaccount:a:b:c",
            "system:serviceaccount::b",
            "system:serviceaccount:a:",
            "system:serviceaccount:A:b",
            "system:serviceaccount:a.b:c",
            "system:serviceaccounts:a:b",
            "alice",
        ] {
            assert_eq!(ServiceAccountName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn node_user_names_contain_a_dns_name() {
        assert_eq!(node_name("system:node:n-1.example"), Some("n-1.example"));
        assert_eq!(node_name("system:node:"), None);
        assert_eq!(node_name("system:node:N"), None);
        assert_eq!(node_name("system:nodes"), None);
    }
}
