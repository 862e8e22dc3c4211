//! Checks of role and binding writes against privilege escalation. A user can grant only
//! permissions that the user has.

use drover_rbac::{Rule, describe_missing, everything, missing, quoted_list};
use serde_json::{Map, Value};

use super::rbac::{GROUP, Rbac, RbacKind, RoleRef};
use super::{Attributes, Authorizer, Caller, Target};
use crate::status::ApiError;

/// A create, update or patch of a role or binding.
#[derive(Debug, Clone, Copy)]
pub struct RoleWrite<'a> {
    /// The kind of the object: Role, ClusterRole, RoleBinding or ClusterRoleBinding.
    pub kind: RbacKind,
    /// The namespace in the request path. Empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// The name in the request path. Empty for a create request.
    pub request_name: &'a str,
    /// The object to store.
    pub object: &'a Value,
    /// The stored object. `None` on create.
    pub old: Option<&'a Value>,
}

/// Rejects a write that grants permissions that the caller does not have, unless the caller may
/// `escalate` the role or `bind` it.
pub fn check_role_write(
    caller: &Caller,
    rbac: &Rbac,
    authorizer: &dyn Authorizer,
    write: &RoleWrite<'_>,
) -> Result<(), ApiError> {
    if caller.is_privileged() || write.changes_only_collection() {
        return Ok(());
    }
    if write.kind.binds() {
        check_binding(caller, rbac, authorizer, write)
    } else {
        check_role(caller, authorizer, write)
    }
}

fn check_role(
    caller: &Caller,
    authorizer: &dyn Authorizer,
    write: &RoleWrite<'_>,
) -> Result<(), ApiError> {
    let resource = write.kind.resource();
    if may(
        caller,
        authorizer,
        "escalate",
        write.namespace,
        GROUP,
        resource,
        write.request_name,
    ) {
        return Ok(());
    }
    confirm(caller, authorizer, write, &Rule::parse_all(write.object))?;
    let aggregates = write.kind == RbacKind::ClusterRole
        && (aggregates(write.object) || write.old.is_some_and(aggregates));
    // An aggregated role can collect any rule, so the caller needs all permissions to set the
    // selectors.
    if aggregates && confirm(caller, authorizer, write, &everything()).is_err() {
        let reason = "must have cluster-admin privileges to use the aggregationRule";
        return Err(write.forbidden(reason));
    }
    Ok(())
}

fn check_binding(
    caller: &Caller,
    rbac: &Rbac,
    authorizer: &dyn Authorizer,
    write: &RoleWrite<'_>,
) -> Result<(), ApiError> {
    let role = RoleRef::parse(write.object);
    let resource = match role.kind.as_str() {
        "ClusterRole" => Some("clusterroles"),
        "Role" => Some("roles"),
        _ => None,
    };
    let may_bind = resource.is_some_and(|resource| {
        may(
            caller,
            authorizer,
            "bind",
            write.namespace,
            &role.group,
            resource,
            &role.name,
        )
    });
    if may_bind {
        return Ok(());
    }
    let rules = rbac
        .role_rules(&role, write.namespace)
        .map_err(|missing| missing.api_error(write.kind))?;
    confirm(caller, authorizer, write, &rules)
}

fn may(
    caller: &Caller,
    authorizer: &dyn Authorizer,
    verb: &str,
    namespace: &str,
    group: &str,
    resource: &str,
    name: &str,
) -> bool {
    let target = Target::Resource {
        group,
        version: "*",
        resource,
        subresource: "",
        namespace,
        name,
    };
    authorizer
        .authorize(&Attributes {
            caller,
            verb,
            target,
        })
        .allowed
}

/// Checks that the caller has all permissions of the rules `requested`, in the namespace of the write.
fn confirm(
    caller: &Caller,
    authorizer: &dyn Authorizer,
    write: &RoleWrite<'_>,
    requested: &[Rule],
) -> Result<(), ApiError> {
    let (owned, error) = authorizer.rules_for(caller, write.namespace);
    let missing = missing(&owned, requested);
    if missing.is_empty() {
        return Ok(());
    }
    let mut reason = format!(
        "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        caller.name,
        quoted_list(&caller.groups),
        describe_missing(&missing)
    );
    if !error.is_empty() {
        reason = format!("{reason}; resolution errors: [{error}]");
    }
    Err(write.forbidden(&reason))
}

fn aggregates(role: &Value) -> bool {
    role["aggregationRule"]["clusterRoleSelectors"]
        .as_array()
        .is_some_and(|selectors| !selectors.is_empty())
}

impl RoleWrite<'_> {
    fn forbidden(&self, reason: &str) -> ApiError {
        let name = self.object["metadata"]["name"].as_str().unwrap_or_default();
        ApiError::forbidden(GROUP, self.kind.resource(), name, reason)
    }

    /// Reports whether the write changes only finalizers and owner references. The garbage
    /// collector may write these fields of a role, even if the garbage collector does not have the
    /// permissions of the role.
    fn changes_only_collection(&self) -> bool {
        self.old
            .is_some_and(|old| substance(self.object) == substance(old))
    }
}

/// Returns the object without the fields that the garbage collector changes.
fn substance(object: &Value) -> (Map<String, Value>, Map<String, Value>) {
    let mut whole = object.as_object().cloned().unwrap_or_default();
    let mut metadata = match whole.remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    for own in [
        "ownerReferences",
        "finalizers",
        "managedFields",
        "selfLink",
        "resourceVersion",
    ] {
        metadata.remove(own);
    }
    (whole, metadata)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn index(rules: &Value) -> Rbac {
        let rbac = Rbac::new();
        rbac.apply(
            RbacKind::ClusterRole,
            &json!({"metadata": {"name": "own"}, "rules": rules}),
        );
        rbac.apply(
            RbacKind::ClusterRoleBinding,
            &json!({"metadata": {"name": "own"}, "subjects": [{"kind": "User", "name": "alice"}],
                    "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "own"}}),
        );
        rbac
    }

    fn alice() -> Caller {
        Caller::user("alice", ["team", "system:authenticated"])
    }

    fn write(kind: RbacKind, namespace: &'static str, object: &Value) -> Result<(), ApiError> {
        check(&index(&json!([])), kind, namespace, object, None)
    }

    fn check(
        rbac: &Rbac,
        kind: RbacKind,
        namespace: &str,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<(), ApiError> {
        let request_name = if old.is_some() { "x" } else { "" };
        let write = RoleWrite {
            kind,
            namespace,
            request_name,
            object,
            old,
        };
        check_role_write(&alice(), rbac, rbac, &write)
    }

    fn role(rules: &Value) -> Value {
        json!({"metadata": {"name": "x"}, "rules": rules})
    }

    fn binding(kind: &str, name: &str) -> Value {
        json!({"metadata": {"name": "x"}, "roleRef": {"apiGroup": GROUP, "kind": kind, "name": name}})
    }

    // kube-apiserver v1.36.3 returns these messages for the same writes.

    #[test]
    fn rejection_of_role_lists_permissions_that_the_writer_lacks() {
        let object = role(&json!([
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]},
            {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
        ]));
        let error = write(RbacKind::ClusterRole, "", &object).unwrap_err();
        assert_eq!(
            error.message,
            "clusterroles.rbac.authorization.k8s.io \"x\" is forbidden: user \"alice\" \
             (groups=[\"team\" \"system:authenticated\"]) is attempting to grant RBAC permissions \
             not currently held:\n\
             {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}\n\
             {NonResourceURLs:[\"/metrics\"], Verbs:[\"get\"]}"
        );
    }

    #[test]
    fn user_can_grant_own_permissions() {
        let rules =
            json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}]);
        let rbac = index(&rules);
        let fewer = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"],
                            "resourceNames": ["a"]}]);
        check(&rbac, RbacKind::Role, "d", &role(&fewer), None).unwrap();
        check(
            &rbac,
            RbacKind::ClusterRoleBinding,
            "",
            &binding("ClusterRole", "own"),
            None,
        )
        .unwrap();
    }

    #[test]
    fn user_with_verb_escalate_or_bind_can_grant_permissions_that_the_user_lacks() {
        let rbac = index(&json!([
            {"apiGroups": [GROUP], "resources": ["roles"], "verbs": ["escalate"]},
            {"apiGroups": [GROUP], "resources": ["clusterroles"], "verbs": ["bind"],
             "resourceNames": ["big"]},
        ]));
        let secrets = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]);
        rbac.apply(
            RbacKind::ClusterRole,
            &json!({"metadata": {"name": "big"}, "rules": secrets}),
        );
        check(&rbac, RbacKind::Role, "d", &role(&secrets), None).unwrap();
        check(&rbac, RbacKind::ClusterRole, "", &role(&secrets), None).unwrap_err();
        check(
            &rbac,
            RbacKind::RoleBinding,
            "d",
            &binding("ClusterRole", "big"),
            None,
        )
        .unwrap();
    }

    #[test]
    fn aggregation_rule_requires_all_permissions_of_the_writer() {
        let aggregated = json!({"metadata": {"name": "x"}, "rules": [],
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}});
        let expected = "clusterroles.rbac.authorization.k8s.io \"x\" is forbidden: must have \
                        cluster-admin privileges to use the aggregationRule";
        let error = write(RbacKind::ClusterRole, "", &aggregated).unwrap_err();
        assert_eq!(error.message, expected);
        let plain = role(&json!([]));
        let rbac = index(&json!([]));
        let error = check(&rbac, RbacKind::ClusterRole, "", &plain, Some(&aggregated)).unwrap_err();
        assert_eq!(error.message, expected);
        let rbac = index(&json!([
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
            {"nonResourceURLs": ["*"], "verbs": ["*"]},
        ]));
        check(&rbac, RbacKind::ClusterRole, "", &aggregated, None).unwrap();
    }

    #[test]
    fn binding_to_missing_role_returns_404() {
        let error = write(
            RbacKind::ClusterRoleBinding,
            "",
            &binding("ClusterRole", "nope"),
        );
        assert_eq!(
            error.unwrap_err().message,
            "clusterrolebindings.rbac.authorization.k8s.io \"nope\" not found"
        );
        let error = write(RbacKind::RoleBinding, "d", &binding("Role", "nope")).unwrap_err();
        assert_eq!(
            error.message,
            "rolebindings.rbac.authorization.k8s.io \"nope\" not found"
        );
        assert_eq!(error.code, 404);
    }

    #[test]
    fn role_update_of_finalizers_and_owners_skips_escalation_check() {
        let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]);
        let old = role(&rules);
        let mut new = old.clone();
        new["metadata"]["finalizers"] = json!(["a"]);
        let rbac = index(&json!([]));
        check(&rbac, RbacKind::Role, "d", &new, Some(&old)).unwrap();
        new["metadata"]["labels"] = json!({"a": "b"});
        check(&rbac, RbacKind::Role, "d", &new, Some(&old)).unwrap_err();
    }

    #[test]
    fn member_of_system_masters_can_grant_all_permissions() {
        let rbac = index(&json!([]));
        let object = binding("ClusterRole", "nope");
        let write = RoleWrite {
            kind: RbacKind::ClusterRoleBinding,
            namespace: "",
            request_name: "",
            object: &object,
            old: None,
        };
        check_role_write(&Caller::privileged("root"), &rbac, &rbac, &write).unwrap();
    }
}
