//! Reads the permissions and the requests of a service account from a real API server.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, Role, RoleBinding, RoleRef, Subject,
};
use kube::api::{Api, ListParams};
use serde_json::json;

use super::{Excess, Right, TooWide, Use, granted, too_wide, used};
use crate::{AuditEvent, ControlPlane, StartError};

/// A service account whose permissions a test compares with its requests.
#[derive(Clone, Copy)]
pub struct Account<'a> {
    /// The cluster of the service account. Requires [`Options::audit`](crate::Options::audit).
    pub cluster: &'a ControlPlane,
    /// The namespace of the service account.
    pub namespace: &'a str,
    /// The name of the service account.
    pub name: &'a str,
}

/// Permissions that are not too wide, although the audit log does not show the use of their whole
/// scope. Each entry has a reason.
#[derive(Clone, Copy)]
pub struct Exemptions {
    /// Permissions whose use the audit log does not show.
    pub not_audited: &'static [(&'static str, &'static str)],
    /// Permissions for all namespaces that a test uses in one namespace only.
    pub not_limited_by_namespace: &'static [(&'static str, &'static str)],
    /// Resources that a role cannot restrict by name.
    pub not_limited_by_name: &'static [(&'static str, &'static str)],
}

impl Account<'_> {
    /// Returns all permissions that RoleBindings and ClusterRoleBindings grant to the account.
    pub async fn granted(&self) -> Result<Vec<Right>, kube::Error> {
        let (client, all) = (self.cluster.client(), ListParams::default());
        let bindings = Api::<RoleBinding>::all(client.clone()).list(&all).await?;
        let bindings = bindings.items.into_iter();
        let bindings = bindings.map(|one| (one.metadata.namespace, one.subjects, one.role_ref));
        let everywhere = Api::<ClusterRoleBinding>::all(client).list(&all).await?;
        let everywhere = everywhere.items.into_iter();
        let everywhere = everywhere.map(|one| (None, one.subjects, one.role_ref));
        let mut rights = Vec::new();
        for (namespace, subjects, role) in bindings.chain(everywhere) {
            if subjects.iter().flatten().any(|subject| self.is(subject)) {
                rights.extend(self.of_role(&role, namespace.as_deref()).await?);
            }
        }
        Ok(rights)
    }

    fn is(&self, subject: &Subject) -> bool {
        subject.kind == "ServiceAccount"
            && subject.name == self.name
            && subject.namespace.as_deref() == Some(self.namespace)
    }

    async fn of_role(
        &self,
        role: &RoleRef,
        namespace: Option<&str>,
    ) -> Result<Vec<Right>, kube::Error> {
        let client = self.cluster.client();
        let role = match namespace.filter(|_| role.kind == "Role") {
            Some(namespace) => {
                json!(
                    Api::<Role>::namespaced(client, namespace)
                        .get(&role.name)
                        .await?
                )
            }
            None => json!(Api::<ClusterRole>::all(client).get(&role.name).await?),
        };
        Ok(granted(&role, namespace))
    }

    /// Returns the audit events of the account's requests.
    pub fn events(&self) -> Result<Vec<AuditEvent>, StartError> {
        let user = format!("system:serviceaccount:{}:{}", self.namespace, self.name);
        let mut events = self.cluster.audit_events()?;
        events.retain(|event| event.user.username == user);
        Ok(events)
    }

    /// Compares permissions with the requests. The error names the permissions that are wider than
    /// necessary and not exempt.
    pub fn check(&self, granted: &[Right], exemptions: Exemptions) -> Result<(), String> {
        let events = self.events().map_err(|error| error.to_string())?;
        let uses: BTreeSet<Use> = events.iter().flat_map(used).collect();
        let wide = too_wide(granted, &uses).into_iter();
        let wide = wide.filter(|found| !exemptions.contain(found));
        let wide: Vec<_> = wide.map(|found| found.to_string()).collect();
        wide.is_empty().then_some(()).ok_or_else(|| wide.join("\n"))
    }
}

impl Exemptions {
    fn contain(&self, found: &TooWide) -> bool {
        let (right, resource) = (found.right.to_string(), found.right.deed.to_what());
        let has = |list: &[(&str, &str)], text: &str| list.iter().any(|(known, _)| *known == text);
        match found.excess {
            Excess::Idle => has(self.not_audited, &right),
            Excess::OneNamespace(_) => has(self.not_limited_by_namespace, &right),
            Excess::OneName(_) => {
                let whole = resource.trim_end_matches("/status");
                has(self.not_limited_by_name, whole)
            }
        }
    }
}

/// Returns the verbs and URIs of the requests that the API server refused.
pub fn forbidden<'a>(events: impl IntoIterator<Item = &'a AuditEvent>) -> Vec<String> {
    let decision = "authorization.k8s.io/decision";
    let refused = events.into_iter().filter(|event| {
        let decided = event.annotations.get(decision).map(String::as_str);
        decided == Some("forbid")
    });
    refused
        .map(|event| format!("{} {}", event.verb, event.request_uri))
        .collect()
}
