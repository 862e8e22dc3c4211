//! Modes of impersonation (KEP-5284).

use super::super::identity::{MASTERS, NODES, ServiceAccountName, is_dns_subdomain, node_name};
use crate::access::{Attributes, Authorizer, Caller, Target, forbidden, with_authenticated_group};
use crate::status::ApiError;

const AUTHENTICATION: &str = "authentication.k8s.io";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
/// Minimum number of names for a combined check. From this number on, the server first checks the
/// permission for all names at once.
const BULK_CHECK_FROM: usize = 4;

/// A mode of impersonation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// A service account impersonates the node on which the account's pod runs.
    AssociatedNode,
    /// The impersonated user is a node.
    ArbitraryNode,
    /// The impersonated user is a service account.
    ServiceAccount,
    /// The impersonated user is neither a node nor a service account.
    UserInfo,
    /// The verb `impersonate`, without constraints on the action.
    Legacy,
}

impl Mode {
    /// All modes, in the order of the checks.
    pub(super) const ALL: [Self; 5] = [
        Self::AssociatedNode,
        Self::ArbitraryNode,
        Self::ServiceAccount,
        Self::UserInfo,
        Self::Legacy,
    ];

    /// Returns the name of the mode in the verb `impersonate:NAME`, or `None` for [`Self::Legacy`].
    const fn name(self) -> Option<&'static str> {
        match self {
            Self::AssociatedNode => Some("associated-node"),
            Self::ArbitraryNode => Some("arbitrary-node"),
            Self::ServiceAccount => Some("serviceaccount"),
            Self::UserInfo => Some("user-info"),
            Self::Legacy => None,
        }
    }

    /// Checks whether the requestor may impersonate the user `requested` in this mode. Returns `None`
    /// if the mode does not apply to the user.
    pub(super) fn check(
        self,
        requested: &Caller,
        attributes: &Attributes<'_>,
        authorizer: &dyn Authorizer,
    ) -> Option<Result<Caller, ApiError>> {
        self.applies(requested, attributes.caller).then(|| {
            let requestor = self.requestor(attributes.caller);
            if let Some(mode) = self.name() {
                let verb = format!("impersonate-on:{mode}:{}", attributes.verb);
                allow(authorizer, &requestor, &verb, attributes.target)?;
            }
            Check {
                mode: self,
                verb: self.name().map_or_else(
                    || "impersonate".to_owned(),
                    |mode| format!("impersonate:{mode}"),
                ),
                requestor: &requestor,
                authorizer,
            }
            .check(requested)
        })
    }

    fn applies(self, requested: &Caller, requestor: &Caller) -> bool {
        let only_name =
            requested.uid.is_empty() && requested.groups.is_empty() && requested.extra.is_empty();
        let node = node_name(&requested.name);
        let account = ServiceAccountName::parse(&requested.name);
        match self {
            Self::AssociatedNode => {
                only_name
                    && node.is_some()
                    && ServiceAccountName::parse(&requestor.name).is_some()
                    && requestor.extra_value(NODE_NAME) == node
            }
            Self::ArbitraryNode => only_name && node.is_some(),
            Self::ServiceAccount => only_name && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }

    /// Returns the requestor for the authorization checks. For the mode [`Self::AssociatedNode`],
    /// removes the node name, because the service account has the same permissions on each node.
    fn requestor(self, requestor: &Caller) -> Caller {
        let mut requestor = requestor.clone();
        if self == Self::AssociatedNode {
            let keys = requestor.extra.into_keys().collect();
            let key = "authentication.kubernetes.io/associated-node-keys".to_owned();
            requestor.extra = [(key, keys)].into();
        }
        requestor
    }
}

/// An authorization check for one impersonated user, group, UID or extra.
struct Check<'a> {
    mode: Mode,
    verb: String,
    requestor: &'a Caller,
    authorizer: &'a dyn Authorizer,
}

impl Check<'_> {
    fn check(&self, requested: &Caller) -> Result<Caller, ApiError> {
        let mut caller = requested.clone();
        self.name(requested, &mut caller)?;
        if !requested.uid.is_empty() {
            self.allow(AUTHENTICATION, "uids", "", &requested.uid)?;
        }
        self.groups(&requested.groups)?;
        self.extra(requested)?;
        Ok(with_authenticated_group(caller))
    }

    fn constrained(&self) -> bool {
        self.mode != Mode::Legacy
    }

    /// Returns the API group of the check. For users and groups, the verb `impersonate` uses the
    /// core group.
    fn group(&self) -> &'static str {
        if self.constrained() {
            AUTHENTICATION
        } else {
            ""
        }
    }

    fn name(&self, requested: &Caller, caller: &mut Caller) -> Result<(), ApiError> {
        let group = self.group();
        if let Some(account) = ServiceAccountName::parse(&requested.name) {
            if requested.groups.is_empty() {
                caller.groups = account.groups();
            }
            let target = Target::Resource {
                group,
                version: "v1",
                resource: "serviceaccounts",
                subresource: "",
                namespace: &account.namespace,
                name: &account.name,
            };
            return allow(self.authorizer, self.requestor, &self.verb, target);
        }
        match node_name(&requested.name) {
            Some(node) if self.constrained() => {
                caller.groups = vec![NODES.to_owned()];
                let node = if self.mode == Mode::AssociatedNode {
                    "*"
                } else {
                    node
                };
                self.allow(group, "nodes", "", node)
            }
            _ => self.allow(group, "users", "", &requested.name),
        }
    }

    fn groups(&self, groups: &[String]) -> Result<(), ApiError> {
        if self.constrained() {
            if groups.iter().any(String::is_empty) {
                let reason = "impersonating the empty string group is not allowed";
                return Err(self.refuse("groups", "", reason));
            }
            if groups.iter().any(|group| group == MASTERS) {
                let reason = "impersonating the system:masters group is not allowed";
                return Err(self.refuse("groups", MASTERS, reason));
            }
            if groups.len() >= BULK_CHECK_FROM
                && self.allow(self.group(), "groups", "", "*").is_ok()
            {
                return Ok(());
            }
        }
        groups
            .iter()
            .try_for_each(|group| self.allow(self.group(), "groups", "", group))
    }

    fn extra(&self, requested: &Caller) -> Result<(), ApiError> {
        if self.constrained() {
            for (key, values) in &requested.extra {
                if let Some(reason) = unfit_extra(key, values) {
                    return Err(self.refuse("userextras", "", &reason));
                }
            }
            let many = requested.extra.len() >= BULK_CHECK_FROM
                || requested.extra.values().map(Vec::len).sum::<usize>() >= BULK_CHECK_FROM;
            if many && self.allow(AUTHENTICATION, "userextras", "*", "*").is_ok() {
                return Ok(());
            }
        }
        requested.extra.iter().try_for_each(|(key, values)| {
            values
                .iter()
                .try_for_each(|value| self.allow(AUTHENTICATION, "userextras", key, value))
        })
    }

    fn allow(
        &self,
        group: &str,
        resource: &str,
        subresource: &str,
        name: &str,
    ) -> Result<(), ApiError> {
        let target = Target::Resource {
            group,
            version: "v1",
            resource,
            subresource,
            namespace: "",
            name,
        };
        allow(self.authorizer, self.requestor, &self.verb, target)
    }

    fn refuse(&self, resource: &str, name: &str, reason: &str) -> ApiError {
        let target = Target::Resource {
            group: AUTHENTICATION,
            version: "v1",
            resource,
            subresource: "",
            namespace: "",
            name,
        };
        let attributes = Attributes {
            caller: self.requestor,
            verb: &self.verb,
            target,
        };
        forbidden(&attributes, reason)
    }
}

fn allow(
    authorizer: &dyn Authorizer,
    caller: &Caller,
    verb: &str,
    target: Target<'_>,
) -> Result<(), ApiError> {
    let attributes = Attributes {
        caller,
        verb,
        target,
    };
    let decision = authorizer.authorize(&attributes);
    if decision.allowed {
        Ok(())
    } else {
        Err(forbidden(&attributes, &decision.reason))
    }
}

/// Returns the error for an extra that the constrained modes do not permit.
fn unfit_extra(key: &str, values: &[String]) -> Option<String> {
    let prefix = "impersonating an invalid key in extra is not allowed: extra.key: Invalid value";
    let domain = key
        .split_once('/')
        .filter(|(host, path)| !host.is_empty() && !path.is_empty());
    match domain {
        _ if key.is_empty() => {
            Some("impersonating the empty string key in extra is not allowed".to_owned())
        }
        None => Some(format!(
            "{prefix}: {key:?}: must be a domain-prefixed path (such as \"acme.io/foo\")"
        )),
        Some((host, _)) if !is_dns_subdomain(host) => Some(format!(
            "{prefix}: {host:?}: a lowercase RFC 1123 subdomain must consist of lower case \
             alphanumeric characters, '-' or '.', and must start and end with an alphanumeric \
             character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        )),
        Some((_, path)) if !is_http_path(path) => Some(format!(
            "{prefix}: {path:?}: Invalid path (regex used for validation is \
             '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"
        )),
        _ if key.chars().any(char::is_uppercase) => Some(format!(
            "impersonating a non-lowercase key in extra is not allowed: {key:?}"
        )),
        _ if values.iter().any(String::is_empty) => {
            Some("impersonating the empty string value in extra is not allowed".to_owned())
        }
        _ => None,
    }
}

fn is_http_path(path: &str) -> bool {
    path.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte))
}
