//! Callers' names, and those of service accounts among them.

use std::collections::BTreeMap;
use std::fmt;

/// Members may do everything; RBAC is not asked.
pub(crate) const MASTERS: &str = "system:masters";
/// Everyone who proved who they are.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// Everyone else.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of everyone else.
pub(crate) const ANONYMOUS: &str = "system:anonymous";
/// The group of all nodes.
pub(crate) const NODES: &str = "system:nodes";

const USER_PREFIX: &str = "system:serviceaccount:";
const ALL_SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
const NODE_PREFIX: &str = "system:node:";

/// Who asks (apiserver `user.Info`); a request extension for callers in this process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The user's name.
    pub name: String,
    /// May be empty.
    pub uid: String,
    /// All groups, the standing ones such as `system:authenticated` included.
    pub groups: Vec<String>,
    /// What else the authenticator knows.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Caller {
    /// A caller with a name and groups.
    pub fn user<'a>(name: impl Into<String>, groups: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            name: name.into(),
            groups: groups.into_iter().map(str::to_owned).collect(),
            ..Self::default()
        }
    }

    /// A request that proves nothing.
    pub fn anonymous() -> Self {
        Self::user(ANONYMOUS, [UNAUTHENTICATED])
    }

    /// Someone who may do everything, as kube-apiserver's own loopback client.
    pub fn privileged(name: impl Into<String>) -> Self {
        Self::user(name, [MASTERS, AUTHENTICATED])
    }

    /// Whether a member of `system:masters`.
    pub fn is_privileged(&self) -> bool {
        self.in_group(MASTERS)
    }

    /// Whether a member of the group.
    pub fn in_group(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// Adds a group unless it is there.
    pub(crate) fn join(&mut self, group: &str) {
        if !self.in_group(group) {
            self.groups.push(group.to_owned());
        }
    }

    /// The one value of an extra; with several, none can be trusted.
    pub(crate) fn extra_value(&self, key: &str) -> Option<&str> {
        match self.extra.get(key)?.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }
}

/// A service account's namespace and name; its user is `system:serviceaccount:NS:NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServiceAccountName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ServiceAccountName {
    /// Of these parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The service account that a user name stands for, if it is the name of one.
    pub fn parse(user: &str) -> Option<Self> {
        let (namespace, name) = user.strip_prefix(USER_PREFIX)?.split_once(':')?;
        (is_dns_label(namespace) && is_dns_subdomain(name)).then(|| Self::new(namespace, name))
    }

    /// Groups that all service accounts of the namespace have.
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

/// The node that a user name stands for.
pub(crate) fn node_name(user: &str) -> Option<&str> {
    let name = user.strip_prefix(NODE_PREFIX)?;
    is_dns_subdomain(name).then_some(name)
}

/// RFC 1123 label: at most 63 of `[a-z0-9-]`, alphanumeric at both ends.
pub(crate) fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_label_of_any_length(text)
}

/// RFC 1123 subdomain: labels with dots between them, at most 253 characters.
pub(crate) fn is_dns_subdomain(text: &str) -> bool {
    // Unlike a lone label, apimachinery bounds only the whole.
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
    fn a_service_accounts_user_name_reads_back_as_the_same_service_account() {
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
    fn names_that_only_resemble_service_accounts_are_plain_users() {
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
    fn nodes_are_users_with_a_dns_name_after_the_prefix() {
        assert_eq!(node_name("system:node:n-1.example"), Some("n-1.example"));
        assert_eq!(node_name("system:node:"), None);
        assert_eq!(node_name("system:node:N"), None);
        assert_eq!(node_name("system:nodes"), None);
    }
}
