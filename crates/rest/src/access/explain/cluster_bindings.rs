//! Finds the unmanaged RBAC bindings in a cluster, and the permissions that these bindings grant to
//! Drover's users. Drover did not create unmanaged bindings.

use std::collections::BTreeMap;
use std::time::Duration;

use drover_access::grants::{Downstream, Subject as DroverSubject};
use drover_access::roles::Rights;
use drover_api::agent::Lane;
use drover_api::ids::ClusterUid;
use drover_api::rest::{PermissionOrigin, ThroughView};
use drover_rbac::RuleTarget;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};

use drover_agent_gateway::tunnels::Tunnels;
use drover_apply::unmanaged::{RoleBindingLike, UnmanagedBindings, person};
use drover_apply::{ApplyError, call};
use drover_http_edge::concurrency::{ConcurrencyGuard, ConcurrencyLimiter, LimitReached};

/// Timeout of all requests to the cluster.
pub(super) const QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of ClusterRoles that the server reads for one query. A binding of an unread
/// ClusterRole is reported as a possible grant.
const MAX_CLUSTER_ROLES: usize = 50;

/// Maximum number of users with concurrent queries for bindings in clusters. The limit exists
/// because responses can be large.
const MAX_CONCURRENT: usize = 4;

/// Limiter for concurrent queries for bindings in clusters. Clones share the limit.
#[derive(Clone, Debug)]
pub struct ClusterQueryLimiter(ConcurrencyLimiter);

impl Default for ClusterQueryLimiter {
    fn default() -> Self {
        Self(ConcurrencyLimiter::of(MAX_CONCURRENT))
    }
}

impl ClusterQueryLimiter {
    /// Starts a query of the user with this UID. Returns the reason if the limit is reached.
    pub(super) fn acquire(&self, user: &str) -> Result<ConcurrencyGuard, &'static str> {
        self.0.take(user).map_err(|reason| match reason {
            LimitReached::SameUser => {
                "another of your queries is still running; wait for its end and try again"
            }
            LimitReached::AllUsers => "the server runs too many queries at present; try again",
        })
    }
}

/// A query for the RBAC bindings in a cluster that grant a permission.
pub(super) struct ClusterBindings<'a> {
    pub(super) limiter: &'a ClusterQueryLimiter,
    /// UID of the caller.
    pub(super) caller: &'a str,
    pub(super) tunnels: &'a Tunnels,
    /// Users and groups with access to the cluster through Drover. A binding in the cluster has no
    /// effect on Drover users without this access.
    pub(super) members: &'a Downstream,
    pub(super) cluster: &'a ClusterUid,
    pub(super) verb: &'a str,
    pub(super) target: RuleTarget<'a>,
    pub(super) namespace: Option<&'a str>,
}

/// An RBAC binding in the cluster, and one of its subjects that the query includes.
struct SubjectBinding {
    subject: DroverSubject,
    kind: &'static str,
    binding: String,
    role_kind: String,
    role: String,
}

impl ClusterBindings<'_> {
    /// Returns the bindings that certainly or possibly grant the permission to subjects for which
    /// `matches` returns true. The second value contains the reason if the list may be incomplete.
    pub(super) async fn find(
        &self,
        matches: impl Fn(&str) -> bool,
    ) -> (Vec<ThroughView>, Option<String>) {
        let unknown = |reason: String| (Vec::new(), Some(reason));
        if !self.tunnels.is_connected(self.cluster) {
            return unknown("no agent of the cluster is connected".to_owned());
        }
        let _permit = match self.limiter.acquire(self.caller) {
            Ok(permit) => permit,
            Err(reason) => return unknown(reason.to_owned()),
        };
        let client = self.tunnels.client(self.cluster, Lane::Controller);
        match tokio::time::timeout(QUERY_TIMEOUT, self.query(&client, matches)).await {
            Ok(Ok((views, false))) => (views, None),
            Ok(Ok((views, true))) => (views, Some("the cluster has too many bindings".to_owned())),
            Ok(Err(error)) => unknown(error.to_string()),
            Err(_) => unknown(format!(
                "the cluster did not respond within {} s",
                QUERY_TIMEOUT.as_secs()
            )),
        }
    }

    async fn query(
        &self,
        client: &Client,
        matches: impl Fn(&str) -> bool,
    ) -> Result<(Vec<ThroughView>, bool), ApplyError> {
        let named = |person: &DroverSubject| matches(person.as_str()) && self.has_access(person);
        let unmanaged = UnmanagedBindings::read(client, named).await?;
        let mut found = Vec::new();
        for binding in &unmanaged.everywhere {
            add(&mut found, binding, "ClusterRoleBinding", named);
        }
        for binding in &unmanaged.within {
            // Without a namespace, the query is about all namespaces, which a RoleBinding cannot
            // grant.
            if binding.namespace().as_deref() == self.namespace && self.namespace.is_some() {
                add(&mut found, binding, "RoleBinding", named);
            }
        }
        let mut roles = BTreeMap::new();
        let mut views = Vec::new();
        for one in found {
            let through = if one.role_kind == "ClusterRole" {
                if !roles.contains_key(&one.role) && roles.len() < MAX_CLUSTER_ROLES {
                    roles.insert(one.role.clone(), read(client, &one.role).await?);
                }
                self.through(roles.get(&one.role))
            } else {
                // The server's service account in the cluster cannot read Roles.
                Some(PermissionOrigin::Perhaps)
            };
            views.extend(through.map(|through| view(one, through)));
        }
        Ok((views, unmanaged.more))
    }

    fn has_access(&self, person: &DroverSubject) -> bool {
        match person {
            DroverSubject::User(user) => self.members.users.contains(user),
            DroverSubject::Group(group) => self.members.groups.contains(group),
        }
    }

    /// Returns how the role grants the permission: through a rule, or possibly if the role was not
    /// read. Returns `None` if the role does not grant the permission.
    fn through(&self, role: Option<&Option<Rights>>) -> Option<PermissionOrigin> {
        let Some(role) = role else {
            return Some(PermissionOrigin::Perhaps);
        };
        let rules = &role.as_ref()?.rules;
        let allows = rules.iter().any(|rule| rule.allows(self.verb, self.target));
        allows.then_some(PermissionOrigin::Rule)
    }
}

fn add<K: RoleBindingLike>(
    found: &mut Vec<SubjectBinding>,
    binding: &K,
    kind: &'static str,
    named: impl Fn(&DroverSubject) -> bool,
) {
    let people = binding.subjects().iter().filter_map(person).filter(named);
    let name = match binding.namespace() {
        Some(namespace) => format!("{namespace}/{}", binding.name_any()),
        None => binding.name_any(),
    };
    found.extend(people.map(|subject| SubjectBinding {
        subject,
        kind,
        binding: name.clone(),
        role_kind: binding.role().kind.clone(),
        role: binding.role().name.clone(),
    }));
}

/// Reads the rules of a ClusterRole. Lists with a field selector on the name, because the server's
/// service account has only the permission to list.
async fn read(client: &Client, name: &str) -> Result<Option<Rights>, ApplyError> {
    let api: Api<ClusterRole> = Api::all(client.clone());
    let params = ListParams::default().fields(&format!("metadata.name={name}"));
    let operation = format!("read the ClusterRole {name}");
    let found = call(operation, api.list(&params)).await?.items;
    // A name with special characters could select another role.
    let found = found.into_iter().find(|role| role.name_any() == name);
    Ok(found.map(|role| Rights::of(&role.rules.unwrap_or_default())))
}

fn view(found: SubjectBinding, through: PermissionOrigin) -> ThroughView {
    ThroughView {
        subject: found.subject.to_string(),
        user: None,
        role: found.role.clone(),
        binding_kind: found.kind.to_owned(),
        binding: found.binding,
        through,
        cluster_role: Some(found.role),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_at_most_one_explain_query_and_the_total_is_limited() {
        let limiter = ClusterQueryLimiter::default();
        let ann = limiter.acquire("ann").unwrap();
        let error = limiter.acquire("ann").unwrap_err();
        assert!(error.contains("another of your queries"), "{error}");
        let others = ["b", "c", "d"].map(|holder| limiter.acquire(holder));
        assert!(others.iter().all(Result::is_ok));
        let error = limiter.acquire("eve").unwrap_err();
        assert!(error.starts_with("the server runs too many"), "{error}");
        drop(ann);
        assert!(limiter.acquire("eve").is_ok());
    }
}
